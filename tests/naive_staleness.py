"""Slow twin of the looks at arms that were not played for long: what every round without one has lost is added up for each choice."""

from collections.abc import Sequence

from tests.naive_cloud import Cloud
from tests.naive_particles import Seen


class Staleness:
    """The explanation that the rewards of one arm tell nothing about the others: how likely it is, and what not looking has cost."""

    def __init__(self, arms: int, cloud: Cloud, is_on: bool) -> None:
        self.arms, self.cloud, self.is_on = arms, cloud, is_on
        self.lost: list[list[float]] = [[] for _ in range(arms)]
        self.begin()

    def begin(self) -> None:
        self.odds = 0.05
        self.plays: list[list[tuple[int, object]]] = [[] for _ in range(self.arms)]  # rounds, and the states then

    def changed(self, arm: int, number: int) -> float:
        """Return how likely it is that the state in which an arm was played last has ended since."""
        if not self.plays[arm]:
            return 1.0
        last, mark = self.plays[arm][-1]
        if all(entry.mark is not mark for entry in self.cloud.best.library):
            return 1.0
        return float(1 - self.cloud.best.stay() ** (number - last))

    def shares(self) -> tuple[list[float], float]:
        """Return how likely every state is after a change that nobody saw, and how likely a new one."""
        best = self.cloud.best
        new, spent = best.leaving()[-1], sum(entry.spent for entry in best.library)
        return [(1 - new) * entry.spent / max(spent, 1) for entry in best.library], new

    def gain(self, arm: int, value: float) -> float:
        """Return what a changed arm pays beyond a value on average, if it is more."""
        shares, new = self.shares()
        scale, total = self.cloud.scale, 0.0
        for share, entry in zip(shares, self.cloud.best.library, strict=True):
            total += share * max(entry.means[arm] - value, 0)
        return total + new * max(scale.high - value, 0) ** 2 / (2 * (scale.high - scale.low))

    def overdue(self, number: int, values: Sequence[float], greedy: int, available: Sequence[int]) -> int | None:
        """Return the arm that has lost most beyond the price of a look, if one has."""
        found, top = None, 0.0
        for arm in available if self.is_on else ():
            if arm == greedy:
                continue
            rival = self.odds / (1 + self.odds)
            self.lost[arm].append(rival * self.changed(arm, number) * self.gain(arm, values[greedy]))
            total = 0.0
            for loss in self.lost[arm]:
                total += loss
            beyond = total - (values[greedy] - values[arm])
            if beyond > top:
                found, top = arm, beyond
        return found

    def settle(self, *arms: int) -> None:
        """Forget what not looking at the arms played has cost."""
        for arm in arms:
            self.lost[arm].clear()

    def likelihood(self, seen: Seen) -> float | None:
        """Return how likely a reward is that tells the explanations apart: of an arm that was not played in the latest round."""
        arm, number = seen.groups[0].arm, seen.number
        latest = self.plays[arm][-1][0] if self.plays[arm] else 0
        if len(seen.groups) > 1 or number <= self.cloud.front or number - latest <= 1:
            return None
        shares, new = self.shares()
        changed = self.changed(arm, number)
        elsewhere = new * self.cloud.fit(self.cloud.blank(), seen.groups)
        for share, entry in zip(shares, self.cloud.best.library, strict=True):
            elsewhere += share * self.cloud.fit(entry, seen.groups)
        same = 0.0
        for entry in self.cloud.best.library if self.plays[arm] else ():
            if entry.mark is self.plays[arm][-1][1]:
                same = self.cloud.fit(entry, seen.groups)
        return changed * elsewhere + (1 - changed) * same

    def learn(self, seen: Seen, outliers: bool) -> float:
        """Let the particles learn a round, and return how likely they made it; both explanations are judged by what they said before."""
        rival = self.likelihood(seen)
        library = self.cloud.advance(seen, outliers)
        if rival is not None:
            self.odds = min(max(self.odds * rival / library, 0.05 / 1000), 1000)
        for group in seen.groups:
            if not self.plays[group.arm] or seen.number >= self.plays[group.arm][-1][0]:
                self.plays[group.arm].append((seen.number, self.cloud.best.now.mark))
        return library

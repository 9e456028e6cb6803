"""Slow twin of the library of states: every story is an object with its own library, and nothing is kept that can be counted anew.

See `tests.naive` for what a twin is. It shares no code with the package.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tests.naive import Draws, Floats
from tests.naive_noise import NaiveNoise


class Group(NamedTuple):
    """Some rewards of one arm in one round."""

    arm: int
    mean: float
    size: int


@dataclass
class Entry:
    """One remembered state."""

    means: list[float]
    counts: list[int]
    entered: int = 0

    def copy(self) -> "Entry":
        return Entry([*self.means], [*self.counts], self.entered)


@dataclass
class Story:
    """A library, and where we are in it."""

    library: list[Entry]
    odds: float
    weight: float = 1.0
    here: int = 0
    stays: int = 0
    changes: int = 0
    lineage: object = field(default_factory=object)
    moves: Counter[tuple[int, int]] = field(default_factory=Counter)

    def copy(self) -> "Story":
        library = [entry.copy() for entry in self.library]
        return Story(
            library, self.odds, self.weight, self.here, self.stays, self.changes, self.lineage, self.moves.copy()
        )

    @property
    def now(self) -> Entry:
        return self.library[self.here]

    def unseen(self, novelty: float) -> float:
        """Return the mass of states never seen: Good and Turing count those seen once."""
        return novelty + sum(entry.entered == 1 for entry in self.library)

    def left(self) -> int:
        """Return how often the present state was left."""
        return sum(n for (before, _), n in self.moves.items() if before == self.here)

    def everything(self, novelty: float) -> float:
        return self.unseen(novelty) + sum(entry.entered for entry in self.library) - self.now.entered

    def leaving(self, novelty: float, going: float = 1.0) -> list[float]:
        """Return the probability of every state after a change, the last a new one, times the probability `going` of a change.

        By entries it is f = mass / everything, by moves (n + f) / (left + 1), and both are averaged by their odds. Written in the order in
        which the policy rounds, since stories can weigh the same but for rounding.
        """
        share, backed = 1 / (1 + self.odds), self.odds / (self.left() + 1)
        by_entry = share * (1 / self.everything(novelty)) * (1 + backed)
        by_move = share * backed
        known = [
            going * by_entry * entry.entered + going * by_move * self.moves[self.here, k]
            for k, entry in enumerate(self.library)
        ]
        return [*known, going * (by_entry * self.unseen(novelty))]


class LagTable:
    """From the last arm and the level of its reward to the next reward of every arm."""

    def __init__(self, arms: int, levels: int, low: float, high: float) -> None:
        self.most, self.trust = levels, 0.5 * (high - low) ** 2
        self.error = (0.29 * (high - low)) ** 2
        self.centre = (low + high) / 2
        self.seen: list[tuple[int, float]] = [(0, self.centre)] * arms  # number and mean
        self.levels: list[list[tuple[float, float]]] = [[] for _ in range(arms)]  # weight and centre
        self.following: dict[tuple[int, int, int], tuple[int, float]] = {}
        self.last: tuple[int, int] | None = None
        self.xx = self.xy = self.trust
        self.blend = 1.0

    def cell(self, arm: int) -> tuple[int, float]:
        return (0, 0.0) if self.last is None else self.following.get((*self.last, arm), (0, 0.0))

    def expected(self, arm: int) -> float:
        n, mean = self.cell(arm)
        return self.seen[arm][1] if self.last is None else (n * mean + 2 * self.seen[arm][1]) / (n + 2)

    def doubt(self, arm: int) -> float:
        return math.sqrt(self.error / (self.cell(arm)[0] + 2))

    def weigh(self, arm: int, reward: float, by_library: float) -> None:
        """Discounted least squares: how far to go from the table's expectation towards the library's."""
        if self.last is None:
            return
        base = self.expected(arm)
        self.xx = 0.999 * self.xx + (1 - 0.999) * self.trust + (by_library - base) ** 2
        self.xy = 0.999 * self.xy + (1 - 0.999) * self.trust + (by_library - base) * (reward - base)
        self.blend = max(0.0, self.xy / self.xx)
        if self.blend > 0.9:
            self.blend = 1.0
        self.error += 0.01 * ((reward - base) ** 2 - self.error)

    def learn(self, groups: Sequence[Group], noise: float) -> None:
        for arm, reward, _ in groups:
            n, mean = self.seen[arm]
            self.seen[arm] = (n + 1, mean + (reward - mean) / (n + 1))
            if self.last is not None:
                n, mean = self.cell(arm)
                self.following[(*self.last, arm)] = (n + 1, mean + (reward - mean) / (n + 1))
        arm, reward, _ = groups[-1]
        levels = self.levels[arm]
        far = [abs(reward - centre) for _, centre in levels]
        if len(levels) < self.most and (not far or min(far) > 3 * noise):
            levels.append((1, reward))
            nearest = len(levels) - 1
        else:
            nearest = far.index(min(far))
            weight, centre = levels[nearest]
            weight = min(weight + 1, 1000)
            levels[nearest] = (weight, centre + (reward - centre) / weight)
        self.last = (arm, nearest)


class NaiveLibrary:
    """Remembered states, several stories about the present one, and tests between them."""

    def __init__(
        self,
        draws: Draws,
        arms: int,
        units: int,
        noise: float,
        low: float,
        high: float,
        stories: int,
        states: int,
        floor: float,
        likeness: float,
        optimism: float,
        testing: float,
        novelty: float,
        stay_prior: float,
        change_prior: float,
        structure: float,
        levels: int,
        patience: int,
    ) -> None:
        self.draws, self.arms, self.units, self.given_noise = draws, arms, units, noise
        self.most_stories, self.most_states, self.floor, self.likeness = stories, states, floor, likeness
        self.optimism, self.testing, self.novelty, self.structure = optimism, testing, novelty, structure
        self.stay_prior, self.change_prior, self.patience = stay_prior, change_prior, patience
        self.levels = levels
        self.fixed_range = high > low
        self.pairs = NaiveNoise(0.0, units, 1.0)
        self.pairs.weight = 4.0
        self.history: list[tuple[list[Group], float]] = []
        self.last: tuple[int, float] | None = None
        self.played = [0] * arms
        self.forced = self.turn = 0
        self.why: frozenset[str] = frozenset()
        self.noise = 0.0  # until the range is known
        self.low = self.high = 0.0
        if self.fixed_range:
            self.low, self.high = low, high
            self.noise = noise or 0.1 * (high - low)
            self.begin()

    # What a mean with n rewards behind it is worth

    def prior(self) -> float:
        return float((self.noise / (0.29 * (self.high - self.low))) ** 2)

    def deviation(self, n: int) -> float:
        return self.noise / math.sqrt(n + self.prior())

    def centre(self) -> float:
        return (self.low + self.high) / 2

    def begin(self) -> None:
        self.noise_at_start = self.noise
        self.stories = [Story([self.blank(entered=1)], self.structure)]
        self.best = self.stories[0]
        self.table = LagTable(self.arms, self.levels, self.low, self.high)

    def blank(self, entered: int = 0) -> Entry:
        return Entry([self.centre()] * self.arms, [0] * self.arms, entered)

    def stay(self, story: Story) -> float:
        stays = story.stays + self.stay_prior
        return stays / (stays + story.changes + self.change_prior)

    # Choosing

    def choose(self, context: Floats) -> list[int]:
        self.u = self.draws.uniform()
        rounds = len(self.history)
        if self.noise == 0:
            self.why = frozenset({"untried"})
            return [rounds % self.arms] * self.units
        values = self.values()
        self.by_library = values
        hope = self.hope()
        indices = [value + self.optimism * extra for value, extra in zip(values, hope, strict=True)]
        hopeful = first_highest(indices)
        if len(self.stories) > 1:
            self.add_tests(indices, first_highest(values))
        blend = self.table.blend
        if blend < 1:
            lagged = [self.table.expected(arm) for arm in range(self.arms)]
            values = [blend * value + (1 - blend) * lag for value, lag in zip(values, lagged, strict=True)]
            indices = [
                blend * index + (1 - blend) * (lag + self.table.doubt(arm))
                for arm, (index, lag) in enumerate(zip(indices, lagged, strict=True))
            ]
        greedy, pick = first_highest(values), first_highest(indices)
        self.why = frozenset() if pick == greedy else frozenset({"untried" if pick == hopeful else "rival"})
        oldest = self.played.index(min(self.played))
        if rounds - max(self.played[oldest], self.forced) > self.arms * max(self.patience, 0.1 * rounds):
            self.forced, pick, self.why = rounds, oldest, frozenset({"staleness"})
        return [pick] + [greedy] * (self.units - 1)

    def stay_or_certain(self) -> float:
        """Return the heaviest story's probability to stay; a change that is rarer than 0.002 is left out."""
        stay = self.stay(self.best)
        return stay if 1 - stay >= 0.002 else 1.0

    def values(self) -> list[float]:
        """Return every arm's expected reward: by all stories if the state stays, by the heaviest if it changes."""
        stay = self.stay_or_certain()
        values = []
        for arm in range(self.arms):
            value = 0.0
            for story in self.stories:
                value += story.weight * stay * story.now.means[arm]
            if stay < 1:
                *chances, new = self.best.leaving(self.novelty)
                for k, (chance, entry) in enumerate(zip(chances, self.best.library, strict=True)):
                    if k != self.best.here:
                        value += (1 - stay) * chance * entry.means[arm]
                value += (1 - stay) * new * self.centre()
            values.append(value)
        return values

    def hope(self) -> list[float]:
        """Return how uncertain every arm is in the believed state."""
        stay, hope = self.stay_or_certain(), []
        for arm in range(self.arms):
            extra = 0.0
            for story in self.stories:
                extra += story.weight * stay * self.deviation(story.now.counts[arm])
            hope.append(extra)
        return hope

    def add_tests(self, indices: list[float], greedy: int) -> None:
        """Add to every index how well the arm tells the stories that promise more than the greedy arm from the heaviest."""
        worth = self.testing * math.sqrt(len(self.best.library) / (1 - self.stay(self.best)))
        for story in self.stories:
            gain = max(story.now.means) - story.now.means[greedy]
            if gain > 0:
                for arm in range(self.arms):
                    far = story.now.means[arm] - self.best.now.means[arm]
                    square = far**2 + self.deviation(story.now.counts[arm]) ** 2
                    indices[arm] += worth * story.weight * gain * square / (square + 4 * self.noise**2)

    # Learning

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        together = len(set(arms)) == 1
        others = 0.0
        for reward in rewards[1:]:
            others += reward
        if together:
            groups = [Group(arms[0], (rewards[0] + others) / self.units, self.units)]
        else:
            groups = [Group(arms[0], rewards[0], 1), Group(arms[1], others / (self.units - 1), self.units - 1)]
        if self.noise > 0:
            reach = 30 * (self.high - self.low)
            low, high = self.low - reach, self.high + reach
            groups = [group._replace(mean=min(max(group.mean, low), high)) for group in groups]
        self.history.append((groups, self.u))
        for arm in arms:
            self.played[arm] = len(self.history)
        if self.news(groups, self.pair(arms, rewards)):
            self.begin()
            for told, u in self.history[-256:]:
                self.go_on(told, u)
        elif self.noise > 0:
            if self.levels > 0:
                self.table.weigh(arms[0], groups[0].mean, self.by_library[arms[0]])
            self.go_on(groups, self.u)

    def pair(self, arms: Sequence[int], rewards: Sequence[float]) -> bool:
        """Count a pair of rewards of one arm, if there is one; returns whether the noise is to be estimated."""
        if self.given_noise:
            return False
        due = False
        if self.units > 1:
            if arms[0] == arms[1]:
                due = self.pairs.count(abs(rewards[0] - rewards[1]))
        else:
            if self.last is not None and self.last[0] == arms[0]:
                due = self.pairs.count(abs(rewards[0] - self.last[1]))
            self.last = (arms[0], rewards[0])
        return due

    def learned_noise(self) -> float:
        self.pairs.expected = 0.1 * (self.high - self.low)
        self.pairs.estimate()
        return self.pairs.noise

    def news(self, groups: Sequence[Group], due: bool) -> bool:
        """Learn range and noise; returns whether all is to be told anew."""
        low, high = min(group.mean for group in groups), max(group.mean for group in groups)
        if self.noise == 0:
            seen = [group.mean for told, _ in self.history for group in told]
            low, high = min(seen), max(seen)
            if len(self.history) < self.arms or low == high:
                return False
            beyond = (high - low) / (self.arms - 1)
            self.low, self.high = low - beyond, high + beyond
            self.noise = self.given_noise or self.learned_noise()
            return True
        anew = False
        margin = 4.2 * self.noise
        if not self.fixed_range and (high - margin > self.high or low + margin < self.low):
            if high > self.high:
                self.high = high + 0.25 * (high - self.low)
            if low < self.low:
                self.low = low - 0.25 * (self.high - low)
            anew = True
        if due:
            noise = self.learned_noise()
            if noise > 1.4 * self.noise_at_start or noise < self.noise_at_start / 4:
                self.noise, anew = noise, True
            elif abs(noise - self.noise) > 0.03 * self.noise:
                self.noise = noise
        return anew

    def go_on(self, groups: Sequence[Group], u: float) -> None:
        """Let every story go on in all ways, and keep some."""
        ways = [way for story in self.stories for way in self.successors(story, groups)]
        kept = self.prune(ways, u)
        total = 0.0
        for _, _, chance in kept:
            total += chance
        parents = {id(parent) for parent, _, _ in kept}
        i = 0
        while i < len(self.stories):
            if id(self.stories[i]) in parents:
                i += 1
            else:
                self.drop(self.stories[i])
        # the first child of a story takes its place, the others come last
        children = []
        for i, (parent, _, _) in enumerate(kept):
            first = all(parent is not other for other, _, _ in kept[:i])
            children.append(parent if first else parent.copy())
        self.stories += [child for child, (parent, _, _) in zip(children, kept, strict=True) if child is not parent]
        changed = []
        for child, (_, to, chance) in zip(children, kept, strict=True):
            child.weight = chance / total
            if to == child.here:
                child.stays += 1
            else:
                self.change(child, to)
                changed.append(child)
            for arm, mean, size in groups:
                now = child.now
                now.means[arm] += (mean - now.means[arm]) * (size / (now.counts[arm] + size + self.prior()))
                now.counts[arm] = min(now.counts[arm] + size, 512)
        for story in changed:
            if any(story is other for other in self.stories):
                self.merge(story)
        if len(self.stories) > 1:
            self.turn += 1
            self.merge(self.stories[self.turn % len(self.stories)])
        self.best = max(self.stories, key=lambda story: story.weight)
        if self.levels > 0:
            self.table.learn(groups, self.noise)

    def successors(self, story: Story, groups: Sequence[Group]) -> list[tuple[Story, int, float]]:
        """Return the ways in which a story can go on: a state (or one past the last, for a new one) and its weight."""
        stay = self.stay(story)
        leaving = story.leaving(self.novelty, story.weight * (1 - stay))
        ways = []
        for k, entry in enumerate([*story.library, self.blank()]):
            heights, exponents = [], []
            for arm, mean, size in groups:
                variance = self.noise * self.noise * (1 / size + 1 / (entry.counts[arm] + self.prior()))
                heights.append(1 / math.sqrt(variance))
                exponents.append((mean - entry.means[arm]) ** 2 * (0.5 / variance))
            if k == story.here:
                like = math.prod(heights) * decay(min(sum(exponents), 60)) * (story.weight * stay)
            elif k < len(story.library):
                if sum(exponents) > 25:
                    continue
                like = math.prod(heights) * decay(sum(exponents)) * leaving[k]
            else:
                like = math.prod(h * decay(min(e, 60)) for h, e in zip(heights, exponents, strict=True))
                like = leaving[k] * like
            ways.append((story, k, like))
        return ways

    def prune(self, ways: list[tuple[Story, int, float]], u: float) -> list[tuple[Story, int, float]]:
        """Fearnhead & Clifford (2003): those above a cut stay as they are, the others weigh the cut or are gone."""
        weights = [weight for _, _, weight in ways]
        total = ordered_sum(weights)
        cut = floor = self.floor * total
        room = self.most_stories - 1
        weights.sort(key=lambda weight: weight > floor)  # those below the floor are added up first

        def small() -> float:
            return ordered_sum([weight for weight in weights if weight <= cut])

        def big() -> int:
            return sum(weight > cut for weight in weights)

        if len(ways) > self.most_stories and (cut == 0 or big() + small() / cut > room):
            # solve big + small / cut = room: those above total / room are big for sure, and so on
            cut, certain = total / room, 0
            while certain < big() < room:
                certain = big()
                cut = small() / (room - certain)
        kept, left = [], u * cut
        for story, to, weight in ways:
            if weight > cut:
                kept.append((story, to, weight))
                continue
            left -= weight
            if left < 0:
                left += cut
                kept.append((story, to, cut))
        return kept

    def change(self, story: Story, to: int) -> None:
        """Go to another state; a new one takes the place of the rarest if the library is full."""
        new = to == len(story.library)
        flat = (story.unseen(self.novelty) if new else story.library[to].entered) / story.everything(self.novelty)
        counted = flat + story.moves[story.here, to]
        odds = story.odds * counted / (story.left() + 1) / flat
        story.odds = min(max(odds, self.structure / 1000), 1000)
        if new:
            story.lineage = object()
            if to < self.most_states:
                story.library.append(self.blank())
            else:
                others = [k for k in range(to) if k != story.here]
                to = min(others, key=lambda k: story.library[k].entered)
                story.library[to] = self.blank()
                story.moves = Counter({move: n for move, n in story.moves.items() if to not in move})
        story.moves[story.here, to] += 1
        story.library[to].entered += 1
        story.changes += 1
        story.here = to

    def alike(self, one: Story, other: Story) -> bool:
        if one.lineage is not other.lineage or one.here != other.here:
            return False
        return all(
            abs(a - b) <= self.likeness * self.deviation(max(n, m))
            for mine, theirs in zip(one.library, other.library, strict=True)
            for a, b, n, m in zip(mine.means, theirs.means, mine.counts, theirs.counts, strict=True)
        )

    def merge(self, story: Story) -> None:
        """Merge a story with the first that is alike; the heavier one's library stays."""
        for other in self.stories:
            if other is not story and self.alike(story, other):
                gone, stays = (other, story) if story.weight > other.weight else (story, other)
                stays.weight += gone.weight
                self.drop(gone)
                return

    def drop(self, story: Story) -> None:
        """Take a story out; the last one takes its place."""
        at = next(i for i, other in enumerate(self.stories) if other is story)
        self.stories[at] = self.stories[-1]
        self.stories.pop()


def decay(x: float) -> float:
    """Return exp(-x): the policy takes the nearest multiple of 1/32 and five terms of a series, right to 11 digits."""
    near = math.floor(32 * x + 0.5) / 32
    r = near - x
    return float(np.exp(-near) * (1 + r * (1 + r * (0.5 + r * (1 / 6 + r / 24)))))


def first_highest(values: Sequence[float]) -> int:
    return values.index(max(values))


def ordered_sum(values: Sequence[float]) -> float:
    """Add up from left to right: since Python 3.12 `sum` rounds better than that."""
    total = 0.0
    for value in values:
        total += value
    return total

"""Slow twin of the library of states: every particle is an object with its own library, and nothing is kept that can be counted again.

See `tests.naive` for what a twin is. It shares no code with the package. `naive_cloud` and `naive_particles` are its particle filter,
`naive_differences` its noise, `naive_lag` its lag model and `naive_features` what observed features add.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tests.naive import Draws, Floats, first_best
from tests.naive_amounts import Amounts
from tests.naive_cloud import Cloud
from tests.naive_differences import Differences
from tests.naive_features import Slopes
from tests.naive_lag import LagModel
from tests.naive_own import Own
from tests.naive_particles import Group, Particle, Remembered, Scale, Seen, Urns
from tests.naive_staleness import Staleness
from tests.naive_trust import Trust


class Asked(NamedTuple):
    """A decision: the arms that were available and those played, what the library expected, the random number, and the features."""

    available: int
    arms: list[int]
    values: list[float] | None
    u: float
    x: Floats


class NaiveStateLibrary:
    """Remembered states, several particles about the present one, and tests between them."""

    def __init__(
        self,
        draws: Draws,
        arms: int,
        groups: int,
        covariates: int,
        noise: float,
        low: float,
        high: float,
        particles: int,
        states: int,
        floor: float,
        levels: int,
        trust: bool,
        staleness: bool,
        own: bool,
    ) -> None:
        self.draws, self.arms, self.groups, self.given_noise = draws, arms, groups, noise
        self.levels = levels
        self.fixed_range = high > low
        self.amounts = Amounts(arms)
        self.scale = Scale(amounts=self.amounts)
        urns = Urns(states)
        self.cloud = Cloud(arms, self.scale, urns, particles, floor, fast_switching=covariates == 0)
        self.slopes = Slopes(arms, covariates, self.scale)
        self.differences = Differences(groups, self.slopes)
        self.context: Floats = np.zeros(covariates)
        self.asked: list[Asked] = []
        self.number = self.told = (
            0  # the decision that the next rewards belong to, and the latest whose rewards have come
        )
        self.history: list[Seen] = []
        self.trust = Trust(trust)
        self.staleness = Staleness(arms, self.cloud, staleness)
        self.own = Own(arms, own)
        self.probe_reasons: frozenset[str] = frozenset()
        self.scale.given = self.fixed_range
        if self.fixed_range:
            self.scale.low, self.scale.high = low, high
            self.scale.noise = noise or 0.1 * (high - low)
            self.begin(0)

    def begin(self, front: int) -> None:
        self.noise_at_start = self.scale.noise
        self.cloud.begin(front, since=front if len(self.history) > 256 else 0)
        self.lag = LagModel(self.arms, self.levels, self.scale)
        self.staleness.begin()
        self.own.begin()

    # Choosing

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        u = self.draws.uniform()
        self.context = self.slopes.bounded(np.array(context))
        values = None
        self.number = len(self.asked) + 1
        if self.scale.noise == 0:
            self.probe_reasons = frozenset({"untried"} if len(available) > 1 else ())
            pick = greedy = available[len(self.asked) % len(available)]
        else:
            values = self.values()
            greedy, pick = (self.pick_by_levels if self.own.is_likely else self.pick)(values, available)
        self.own.asked(self.number, {pick, greedy})
        arms = [pick] + [greedy] * (self.groups - 1)
        self.asked.append(Asked(len(available), arms, values, u, self.context))
        return arms

    def pick_by_levels(self, values: list[float], available: Sequence[int]) -> tuple[int, int]:
        """Return the best arm and the one to play if every arm changes by itself; the library is offered that one alone."""
        effects = self.slopes.effects(self.context)
        pick, reasons, expected = self.own.look(self.number, self.scale.noise, available, effects)
        known = [arm for arm in available if arm in expected] if "untried" not in reasons else []
        greedy = first_best(known, expected) if known else pick
        self.pick(values, [pick])
        self.probe_reasons = reasons
        return greedy, pick

    def pick(self, values: list[float], available: Sequence[int]) -> tuple[int, int]:
        """Return the best arm and the one to play, with the reason; `values` are without the effects of features."""
        effects = self.slopes.effects(self.context)
        values = [value + effect for value, effect in zip(values, effects, strict=True)]
        indices = [value + 2 * extra for value, extra in zip(values, self.hope(), strict=True)]
        hopeful = first_best(available, indices)
        if len(self.cloud.particles) > 1:
            self.add_tests(indices, values, effects, available)
        blend = self.lag.blend
        if blend < 1 and self.number == self.told + 1:
            lagged = [self.lag.expected(arm) + effect for arm, effect in enumerate(effects)]
            values = [blend * value + (1 - blend) * lag for value, lag in zip(values, lagged, strict=True)]
            indices = [
                blend * index + (1 - blend) * (lag + self.lag.std_error(arm))
                for arm, (index, lag) in enumerate(zip(indices, lagged, strict=True))
            ]
        preferred, pick = first_best(available, values), first_best(available, indices)
        plays = [sum(asked.arms[0] == arm for asked in self.asked) for arm in range(self.arms)]
        usual, noise = first_best(available, plays), self.scale.noise
        doubted = preferred != usual and not self.trust.trusted(self.number, noise)
        greedy = usual if doubted else preferred
        if doubted or not self.trust.may_test(self.number, noise, self.scale.high - self.scale.low):
            pick = greedy
        self.probe_reasons = frozenset() if pick == greedy else frozenset({"untried" if pick == hopeful else "rival"})
        overdue = self.staleness.overdue(self.number, values, preferred, available) if self.history else None
        if overdue is not None:
            pick, self.probe_reasons = overdue, frozenset({"staleness"})
        self.staleness.settle(pick, greedy)
        self.trust.claim(self.number, values, pick, preferred, usual, doubted)
        return greedy, pick

    def pending(self, arm: int) -> int:
        """Return how many rewards of an arm are under way: of decisions after the last whose rewards came, at most 1024 of them."""
        first = max(self.told, len(self.asked) - 1024)
        return sum(asked.arms.count(arm) for asked in self.asked[first:])

    def stay(self) -> float:
        """Return the heaviest particle's probability that the state stays until now; a change rarer than 0.002 is left out."""
        stay = 1 - self.cloud.best.hazard(self.number, self.cloud.front)
        return stay if 1 - stay >= 0.002 else 1.0

    def values(self) -> list[float]:
        """Return every arm's expected reward: by all particles if the state stays, by the heaviest if it changes."""
        stay = self.stay()
        values = []
        for arm in range(self.arms):
            value = 0.0
            for particle in self.cloud.particles:
                value += particle.weight * stay * particle.now.means[arm]
            if stay < 1:
                for chance, mean, _ in self.elsewhere(arm):
                    value += (1 - stay) * chance * mean
            values.append(value)
        return values

    def elsewhere(self, arm: int) -> list[tuple[float, float, Remembered | None]]:
        """Return what an arm pays after a change and in which state, with probabilities, and None for a state never seen.

        After several rounds the probabilities are the shares of all rounds that were spent in every state.
        """
        best = self.cloud.best
        spent = sum(entry.spent for entry in best.library)
        if self.number - self.cloud.front > 1 and spent > 0:
            return [(entry.spent / spent, entry.means[arm], entry) for entry in best.library]
        *chances, new = best.leaving()
        known: list[tuple[float, float, Remembered | None]] = [
            (chance, entry.means[arm], entry)
            for k, (chance, entry) in enumerate(zip(chances, best.library, strict=True))
            if k != best.here
        ]
        return [*known, (new, self.scale.centre(), None)]

    def hope(self) -> list[float]:
        """Return how uncertain every arm is in the believed state and, if a change is likely, in those that may follow."""
        stay, hope = self.stay(), []
        for arm in range(self.arms):
            extra, pending = 0.0, self.pending(arm)
            for particle in self.cloud.particles:
                n = min(particle.now.counts[arm] + pending, 512)
                extra += particle.weight * stay * self.scale.deviation_of(arm, n)
            for chance, _, entry in self.elsewhere(arm) if 1 - stay > 0.1 else ():
                if entry is not None:
                    extra += (1 - stay) * chance * self.scale.deviation_of(arm, min(entry.counts[arm] + pending, 512))
            more = self.scale.noise**2 * self.slopes.std_error(arm, self.context, self.cloud.best)
            hope.append(math.sqrt(extra**2 + more) if more > 0 else extra)
        return hope

    def add_tests(
        self, indices: list[float], values: list[float], effects: list[float], available: Sequence[int]
    ) -> None:
        """Add to every index how well the arm tells the particles that promise more than the greedy arm from the heaviest.

        A remembered state may also be tested at a price that pays over the time that is left until the next change.
        """
        best, greedy = self.cloud.best, first_best(available, values)
        hazard = 1 - best.stay()
        leaving = (best.left() + 2) / (best.now.spent + 2 / hazard)
        for particle in self.cloud.particles:
            means = [mean + effect for mean, effect in zip(particle.now.means, effects, strict=True)]
            gain = max(means[arm] for arm in available) - means[greedy]
            if gain > 0:
                weight = min(max(leaving / hazard, 1) * particle.weight, 1)
                for arm in range(self.arms):
                    worth = 0.35 * math.sqrt(len(best.library) / hazard)
                    price = values[greedy] - values[arm]
                    if price > 0 and particle.now.entered > 1:
                        worth = max(worth, math.sqrt(price / (2 * gain * leaving)))
                    square = self.difference(particle, arm)
                    decides = square / (square + 4 * self.scale.noise**2)
                    indices[arm] += weight * gain * worth * decides / (1 + self.pending(arm))

    def difference(self, particle: Particle, arm: int) -> float:
        """Return by how much a particle and the heaviest one differ on an arm, squared."""
        far = particle.now.means[arm] - self.cloud.best.now.means[arm]
        return far**2 + self.scale.deviation_of(arm, particle.now.counts[arm]) ** 2

    # Learning

    def recall(self, number: int) -> None:
        """Say which decision the rewards belong to that come next."""
        self.number = number

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        asked = self.asked[self.number - 1]
        in_turn = self.number == len(self.asked) == self.told + 1
        self.told = max(self.told, self.number)
        self.own.levels.longest = max(self.own.levels.longest, len(self.asked) - self.number)
        if self.amounts.likely() and True in [self.amounts.absurd(*group) for group in zip(arms, rewards, strict=True)]:
            return
        mistaken = 0.0 if self.fixed_range else self.mistaken(rewards)
        if mistaken:
            self.forget(mistaken)
        self.trust.check(self.number, len(self.asked), self.within_reach(rewards[0]))
        known, paid = self.amounts.value is not None, self.pays_amounts()
        for arm, reward in zip(arms, rewards, strict=True):
            self.amounts.see(arm, reward)
        seen = Seen(self.number, self.parts(arms, rewards), asked.u, asked.x)
        self.history.append(seen)
        due = not self.given_noise and self.differences.count(arms, rewards, asked.x)
        if not known and self.amounts.value is not None:
            # What several groups were paid before the usual value was known is taken to be alike
            self.history = [past._replace(groups=[alike(group) for group in past.groups]) for past in self.history]
            seen = self.history[-1]
        self.slopes.see(asked.x)
        plain = self.slopes.without(seen).groups
        again = self.news(plain, asked.available, due)
        if mistaken:
            self.trust = Trust(self.trust.is_on)
        again = again or (len(self.history) <= 256 and paid != self.pays_amounts())
        if self.scale.noise > 0 and (again or self.slopes.outdated(len(self.history))):
            recent = self.history[-256:]
            self.begin(recent[0].number - 1)
            for past in recent:
                self.advance(past)
        elif self.scale.noise > 0:
            if self.levels > 0 and in_turn and asked.values is not None:
                self.lag.weigh(arms[0], plain[0].mean, asked.values[arms[0]])
            self.advance(seen)
        if self.scale.noise > 0:
            self.slopes.learn(self.history, self.cloud.best)

    def mistaken(self, rewards: Sequence[float]) -> float:
        """Return the size of one of the first two amounts, if the range is far too wide for it; else 0."""
        value = self.amounts.value
        if value is None or self.amounts.hits() > 1 or self.scale.noise == 0 or not self.differences.once.few_values():
            return 0.0
        width = self.scale.high - self.scale.low
        return next((abs(r - value) for r in rewards if 0 < abs(r - value) * math.exp(5) < width), 0.0)

    def forget(self, size: float) -> None:
        """Begin again, as if what is far too large for an amount of a size had been the usual reward."""
        value, far = self.amounts.value or 0.0, size * math.exp(5)
        self.amounts.forget()
        self.differences.forget(value)
        self.scale.noise = 0.0
        self.history = [
            past._replace(
                groups=[
                    group._replace(mean=value, rewards=(value,) * group.size)
                    if abs(group.mean - value) > far
                    else group
                    for group in past.groups
                ]
            )
            for past in self.history
        ]

    def parts(self, arms: Sequence[int], rewards: Sequence[float]) -> list[Group]:
        """Return the mean reward of all groups, or those of the first and of the others; absurd ones as far as they count."""
        others = 0.0
        for reward in rewards[1:]:
            others += reward
        if len(set(arms)) == 1:
            groups = [Group(arms[0], (rewards[0] + others) / self.groups, self.groups, tuple(rewards))]
        else:
            groups = [
                Group(arms[0], rewards[0], 1, (rewards[0],)),
                Group(arms[1], others / (self.groups - 1), self.groups - 1, tuple(rewards[1:])),
            ]
        return [group._replace(mean=self.within_reach(group.mean)) for group in groups]

    def within_reach(self, reward: float) -> float:
        """Return a reward, or what an absurd one counts as; the latest is not yet in the history."""
        if self.scale.noise == 0:
            return reward
        widths = 30 if len(self.history) < 256 else 1
        reach = widths * (self.scale.high - self.scale.low) + 10 * self.scale.noise
        return min(max(reward, self.scale.low - reach), self.scale.high + reach)

    def pays_amounts(self) -> bool:
        return self.amounts.likely() and self.differences.once.few_values()

    def advance(self, seen: Seen) -> None:
        seen = self.slopes.without(seen)
        few = self.differences.once.few_values()
        self.scale.pays = self.pays_amounts()
        library = self.staleness.learn(seen, outliers=not few)
        self.own.learn(seen.number, seen.groups, self.scale.noise, self.scale.pays, library)
        if self.levels > 0:
            self.lag.learn(seen.groups)

    def outside(self, group: Group) -> list[float]:
        """Return a level clearly outside the range: the mean of an arm before its reward, or a reward that agrees with the one before."""
        now, margin = self.cloud.best.now, 4.2 * self.scale.noise
        mean, n = now.means[group.arm], now.counts[group.arm]
        if n > 1 and self.is_outside(mean, 4.2 * self.scale.deviation(n)):
            return [mean]
        of_arm = [g.mean for past in self.history[-256:] for g in past.groups if g.arm == group.arm]
        agree = not self.fixed_range and len(of_arm) > 1 and abs(of_arm[-1] - of_arm[-2]) <= margin
        return [group.mean] if agree and self.is_outside(group.mean, margin) else []

    def absurd(self) -> bool:
        """Set the range by the rewards of the first 256 rounds, without the two lowest and highest, if it is 64 times as wide."""
        rewards = sorted(past.groups[0].mean for past in self.history)
        low, high = rewards[2], rewards[-3]
        if high - low < 1e-100 or self.scale.high - self.scale.low < 64 * (high - low):
            return False
        self.scale.low, self.scale.high = low - 0.25 * (high - low), high + 0.25 * (high - low)
        self.scale.noise = self.given_noise or self.differences.noise(self.scale.high - self.scale.low)
        self.trust = Trust(self.trust.is_on)
        return True

    def is_outside(self, level: float, margin: float) -> bool:
        return level - margin > self.scale.high or level + margin < self.scale.low

    def news(self, groups: Sequence[Group], available: int, due: bool) -> bool:
        """Learn range and noise; returns whether all is to be learned again."""
        scale = self.scale
        low, high = min(group.mean for group in groups), max(group.mean for group in groups)
        if scale.noise == 0:
            seen = [group.mean for past in self.history for group in past.groups]
            low, high = min(seen), max(seen)
            if available == 1 or len(self.history) < available or low == high:
                return False
            beyond = (high - low) / (available - 1)
            scale.low, scale.high = low - beyond, high + beyond
            scale.noise = self.given_noise or self.differences.noise(scale.high - scale.low)
            return True
        again, before = False, replace(scale)
        outside = [level for group in groups for level in self.outside(group)]
        if outside:
            if max(outside) > scale.high:
                scale.high = max(outside) + 0.25 * (max(outside) - scale.low)
            if min(outside) < scale.low:
                scale.low = min(outside) - 0.25 * (scale.high - min(outside))
            if len(self.history) > 256:
                self.cloud.rebase(before)
            else:
                again = True
        if not self.fixed_range and len(self.history) == 256:
            again = self.absurd() or again
        if due:
            noise = self.differences.noise(scale.high - scale.low)
            if noise > 1.4 * self.noise_at_start or noise < 0.5 * self.noise_at_start:
                scale.noise, again = noise, True
            elif abs(noise - scale.noise) > 0.03 * scale.noise:
                scale.noise = noise
        return again


def alike(group: Group) -> Group:
    return group._replace(rewards=(group.mean,) * group.size)

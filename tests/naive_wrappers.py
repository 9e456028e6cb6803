"""Slow twins of the policies around others: a new twin of the policy within at every restart.

See `tests.naive` for what a twin is. They share no code with the package.
"""

import math
import statistics
from collections.abc import Callable, Sequence

from tests.naive import Floats, Twin
from tests.naive_noise import NaiveNoise


class NaiveScaled:
    """Rewards on [0, 1] for the twin within: the range of the first rewards, widened when typical ones leave it."""

    def __init__(self, inner: Callable[[], Twin], arms: int, groups: int, opening: int, reach: float) -> None:
        self.make, self.groups, self.opening, self.reach = inner, groups, opening, reach
        self.inner: Twin | None = None
        self.noise = NaiveNoise(0.0, 1, 0.0)
        self.asked = [0] * arms
        self.rewards: list[list[float]] = [[] for _ in range(arms)]
        self.medians: list[float] = []
        self.low, self.high = 0.0, 0.0
        self.available: Sequence[int] = ()

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        self.available = available
        if self.inner is not None:
            arms = self.inner.choose(context, available)
            self.probe_reasons: frozenset[str] = getattr(self.inner, "probe_reasons", frozenset())
            return arms
        arm = min(available, key=lambda arm: (self.asked[arm], arm))
        self.asked[arm] += 1
        self.probe_reasons = frozenset({"untried"} if len(available) > 1 else ())
        return [arm] * self.groups

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        self.noise.see(arms[0], rewards)
        for arm, reward in zip(arms, rewards, strict=True):
            self.rewards[arm].append(reward)
            if len(self.rewards[arm]) >= 3:
                self.medians.append(statistics.median(self.rewards[arm][-3:]))
        seen = [reward for one in self.rewards for reward in one]
        if self.inner is None:
            enough = all(len(self.rewards[arm]) >= self.opening for arm in self.available)
            if enough and max(seen) > min(seen):
                room = 0.1 * (max(seen) - min(seen))
                self.low, self.high = min(seen) - room, max(seen) + room
                self.inner = self.make()
        elif self.narrows(seen) or self.widens(seen):
            self.inner = self.make()
        else:
            width = self.high - self.low
            places = [(reward - self.low) / width for reward in rewards]
            self.inner.learn(arms, [min(max(place, -self.reach), 1 + self.reach) for place in places])

    def narrows(self, seen: list[float]) -> bool:
        """Take a single reward out that made the range absurdly wide, and return whether there was one."""
        low, high = sorted(seen)[1], sorted(seen)[-2]
        few = self.noise.few_values() and len(self.medians) >= 10
        if not few or high - low <= 1e-100 or self.high - self.low < 64 * (high - low):
            return False
        self.low, self.high = low - 0.1 * (high - low), high + 0.1 * (high - low)
        return True

    def widens(self, seen: list[float]) -> bool:
        """Widen the range where it is too narrow, and return whether it was."""
        low, high = sorted(seen)[1], sorted(seen)[-2]
        if len(set(self.medians)) < 2 and len(self.medians) < 10:
            return False
        if len(set(self.medians)) > 1:
            low, high = min(self.medians) + 2 * self.noise.noise, max(self.medians) - 2 * self.noise.noise
        quarter = (self.high - self.low) / 4
        below, above = low < self.low - quarter, high > self.high + quarter
        low, high = min(low, self.low), max(high, self.high)
        if below:
            self.low = low - 0.1 * (high - low)
        if above:
            self.high = high + 0.1 * (high - low)
        return below or above


class NaiveDetectionAugmented:
    """Gerogiannis et al. (2025) with the test of Besson et al. (2022), on all rewards since the restart and some splits of them."""

    def __init__(
        self,
        inner: Callable[[], Twin],
        arms: int,
        groups: int,
        risk: float,
        forced: float,
        splits: int,
        noise: float,
        prior_sd: float,
    ) -> None:
        self.make, self.arms, self.groups = inner, arms, groups
        self.risk, self.forced, self.most = risk, forced, splits
        self.noise = NaiveNoise(noise, 1, prior_sd)
        self.restarts = -1
        self.restart()

    def restart(self) -> None:
        self.inner = self.make()
        self.restarts += 1
        self.rounds = 0
        self.rewards: list[list[float]] = [[] for _ in range(self.arms)]
        self.splits: list[list[int]] = [[] for _ in range(self.arms)]

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        share = min(self.forced * math.sqrt(self.restarts + 1), 1)
        phase = self.rounds % math.floor(len(available) / share) if share > 0 else len(available)
        self.rounds += 1
        self.own = phase >= len(available) or len(available) == 1
        if self.own:
            arms = self.inner.choose(context, available)
            self.probe_reasons: frozenset[str] = getattr(self.inner, "probe_reasons", frozenset())
            return arms
        self.probe_reasons = frozenset({"continued" if phase else "schedule"})
        return [available[phase]] * self.groups

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        self.noise.see(arms[0], rewards)
        changed = [self.changes(arm, reward) for arm, reward in zip(arms, rewards, strict=True)]
        if any(changed):
            self.restart()
        elif self.own:
            self.inner.learn(arms, rewards)

    def changes(self, arm: int, reward: float) -> bool:
        rewards, splits = self.rewards[arm], self.splits[arm]
        if seen := len(rewards):
            if len(splits) == self.most:
                # the split whose neighbours are nearest to each other, relative to the age of the older one
                ends = [0, *splits]
                closeness = [(ends[i + 2] - ends[i]) / (seen - ends[i]) for i in range(len(splits) - 1)]
                del splits[closeness.index(min(closeness))]
            splits.append(seen)
        rewards.append(reward)
        return any(self.differs(rewards, split) for split in splits)

    def differs(self, rewards: list[float], split: int) -> bool:
        n = len(rewards)
        gap = sum(rewards[:split]) / split - sum(rewards[split:]) / (n - split)
        statistic = split * (n - split) / n * gap**2 / (2 * self.noise.noise**2)
        return statistic >= math.log(3 * n**1.5 / self.risk)

"""Nothing or an amount, in the slow twin of StateLibrary: lists of all rewards. See `tests.naive_library`."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np


def mass(far: float, variance: float, gap: float) -> float:
    """Return the chance of a value this far from its mean, of values a gap apart."""
    total = variance + gap**2 / (2 * math.pi)
    if total == 0:
        return 1.0
    return math.exp(-min(far**2 / total / 2, 60)) * min(max(gap / math.sqrt(2 * math.pi * total), 1e-100), 1)


class Amounts:
    """The usual value, every arm's other rewards, and the log evidence of amounts against two other explanations."""

    def __init__(self, arms: int) -> None:
        self.value: float | None = None
        self.rewards: list[list[float]] = [[] for _ in range(arms)]
        self.paid: list[list[float]] = [[] for _ in range(arms)]
        self.count = 0  # rewards since the usual value is known
        self.smooth = self.lasting = 0.0
        self.doubted = [False] * arms

    def see(self, arm: int, reward: float) -> None:
        mine = self.rewards[arm]
        gaps = [abs(b - a) for a, b in pairwise([*mine, reward]) if a != b]
        if self.value is None and mine and reward == mine[-1]:
            self.value = reward
        elif self.value is not None and len(set(self.paid[arm])) > 1:
            self.compare(arm, reward, min(gaps))
        if self.value is not None:
            self.count += 1
            if reward != self.value:
                self.paid[arm].append(reward)
        mine.append(reward)

    def compare(self, arm: int, reward: float, gap: float) -> None:
        mine, paid = self.rewards[arm], self.paid[arm]
        mean, n = float(np.mean(mine)), len(mine)
        variance = float(np.var(mine)) + gap**2 / n
        share = (len(paid) + 0.5) / (n + 1)
        mixed = 1 - share
        if reward != self.value:
            scatter = len(paid) * float(np.var(paid)) if paid else 0.0
            middle = float(np.mean(paid)) if paid else mean
            mixed = share * mass(reward - middle, (scatter + variance) / (len(paid) + 1), gap)
        self.smooth += math.log(mixed / mass(reward - mean, variance, gap))
        self.lasting += math.log(mixed / (0.8 * (reward == mine[-1]) + 0.2 * mixed))

    def likely(self) -> bool:
        """Return whether there are amounts, and no other explanation is better by three or more."""
        return self.hits() > 0 and min(self.smooth, self.lasting) > -3

    def absurd(self, arm: int, reward: float) -> bool:
        """Return whether a reward is far larger than all amounts, and the arm's last amount was not."""
        if reward == self.value:
            return False
        reaches = [
            float(np.mean(self.sizes(self.paid[a]))) + 5 * math.sqrt(1 + self.spread(a) ** 2)
            for a in range(len(self.paid))
            if self.paid[a]
        ]
        before, self.doubted[arm] = self.doubted[arm], self.sizes([reward])[0] > max(reaches)
        return self.doubted[arm] and not before

    def forget(self) -> None:
        """Take all rewards so far for the usual one."""
        value = self.value or 0.0
        self.rewards = [[value] * len(mine) for mine in self.rewards]
        self.paid = [[] for _ in self.paid]
        self.smooth = self.lasting = 0.0
        self.doubted = [False] * len(self.paid)

    def hits(self) -> int:
        return sum(map(len, self.paid))

    def guess(self) -> float:
        return (self.hits() + 1) / (self.count + 2)

    def sizes(self, rewards: Sequence[float]) -> list[float]:
        """Return the logarithms of all rewards that are amounts."""
        if self.value is None:
            return []
        return [math.log(abs(reward - self.value)) for reward in rewards if reward != self.value]

    def spread(self, arm: int) -> float:
        """Return the scatter of the logarithms of an arm's amounts, by those that follow each other; 0 for a price."""
        sizes = self.sizes(self.paid[arm])
        moved = sum((b - a) ** 2 for a, b in pairwise(sizes))
        return max(math.sqrt((moved / 2 + 1) / len(sizes)), 0.05) if moved > 0 else 0.0

"""The noise as the slow twin of StateLibrary learns it, from differences one round apart and two. See `tests.naive_library`."""

import math
from collections.abc import Sequence

from tests.naive import Floats
from tests.naive_features import Slopes
from tests.naive_noise import NaiveNoise


class Differences:
    """Differences of rewards of one arm: of two groups, or of one group in rounds that follow each other, and two rounds apart."""

    def __init__(self, groups: int, slopes: Slopes) -> None:
        self.groups, self.slopes = groups, slopes
        self.once, self.twice = NaiveNoise(0.0, groups, 0.0), NaiveNoise(0.0, groups, 0.0)
        self.row: list[tuple[int, float, Floats]] = []  # the last two rounds, as they were told

    def count(self, arms: Sequence[int], rewards: Sequence[float], x: Floats) -> bool:
        """Count the differences of a round; returns whether the noise is to be estimated."""
        due = False
        if self.groups > 1:
            if arms[0] == arms[1]:
                due = self.once.count(abs(rewards[0] - rewards[1]))
        else:
            arm = arms[0]
            sizes = [
                abs(self.slopes.difference(arm, rewards[0] - reward, x - then, apart == 0))
                for apart, (other, reward, then) in enumerate(reversed(self.row))
                if other == arm == self.row[-1][0]
            ]
            if sizes:
                due = self.once.count(sizes[0])
            if len(sizes) == 2:
                self.twice.count(sizes[1])
            self.row = [*self.row, (arm, rewards[0], x)][-2:]
        self.once.fade()
        self.twice.fade()
        return due

    def forget(self, value: float) -> None:
        """Take all differences for ties."""
        for noise in (self.once, self.twice):
            pairs = noise.pairs
            noise.__init__(0.0, self.groups, 0.0)  # type: ignore[misc]
            noise.pairs = noise.ties = pairs
        self.row = [(arm, value, x) for arm, _, x in self.row]

    def noise(self, width: float) -> float:
        """Return the noise: a tenth of the width of the range is expected, which counts as four pairs, in logarithms."""
        self.once.expected, self.once.weight = 0.1 * width, 4.0
        self.once.estimate()
        found = self.once.noise
        if self.once.largest > 0 and not self.once.few_values():
            pairs = self.once.pairs
            known = pairs * math.log(self.separated()) + 4 * math.log(0.1 * width)
            found = math.exp(known / (pairs + 4)) * (1 + 0.5 / math.sqrt(pairs + 4))
        return max(found, 1e-12 * width)

    def separated(self) -> float:
        """Return the noise without the changes of the state among the differences, as far as these are clearly there."""
        once, twice = self.once, self.twice
        plain = math.sqrt(once.squares / once.pairs / 2)
        raw = once.raw if self.advantage(plain) >= 3 else plain
        if twice.pairs < 32 or twice.largest == 0:
            return raw
        twice.estimate()
        if twice.noise < 0.6 * raw:  # the state alternates
            return twice.noise
        return raw

    def advantage(self, plain: float) -> float:
        """Return the log likelihood ratio of the mixture of half-normal and uniform against one half-normal alone."""
        found = 0.0
        for place, number in sorted(self.once.bins.items()):
            size, sd, share = self.once.middle(place), self.once.raw, self.once.share
            mixed = share * half_normal(size, sd) + (1 - share) / self.once.largest
            found += number * (math.log(mixed) - log_half_normal(size, plain))
        return found


def log_half_normal(size: float, sd: float) -> float:
    """Return the log density of the absolute difference of two normal numbers."""
    return -((size / sd) ** 2) / 4 - math.log(sd) - math.log(math.pi) / 2


def half_normal(size: float, sd: float) -> float:
    return math.exp(log_half_normal(size, sd))

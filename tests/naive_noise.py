"""The noise of rewards, learned the slow way: lists and counters, sharing no code with the package."""

import math
from collections.abc import Sequence


class NaiveNoise:
    """Standard deviation of a reward: given, or learned from pairs of rewards of one arm.

    Differences of pairs are half-normal with scale sqrt(2) * noise, but for a uniform rest. They are counted in bins of 10 % around the
    first that is not zero. Fewer than 32 pairs, or the first time: the lower quartile. More: six steps of expectation-maximisation, from
    the last result. Where more than 5 % are exactly zero: the mean square, but if the others are all alike, and not rare, at least 0.45 of
    their size. A tenth of `prior_sd` is expected, which counts as much as two pairs, in logarithms, unless it is 0. Thirty pairs without a
    change, and one with, are taken for granted. More than 32 ties alone make the noise small.
    """

    def __init__(self, given: float, groups: int, prior_sd: float) -> None:
        self.given, self.groups, self.expected, self.weight = given, groups, 0.1 * prior_sd, 2.0
        self.noise = given or self.expected
        self.raw, self.share = 0.0, 0.0
        self.pairs = self.ties = 0
        self.first, self.largest, self.squares = 0.0, 0.0, 0.0
        self.bins: dict[int, float] = {}
        self.last: tuple[int, float] | None = None

    def see(self, arm: int, rewards: Sequence[float]) -> None:
        """Learn from one round: two groups, or this round and the one before if it had the same arm."""
        if self.given:
            return
        pair = None
        if self.groups > 1:
            pair = rewards[0] - rewards[1]
        elif self.last is not None and self.last[0] == arm:
            pair = rewards[0] - self.last[1]
        self.last = (arm, rewards[0])
        if pair is not None and self.count(abs(pair)):
            self.estimate()

    def count(self, size: float) -> bool:
        """Count the difference of two rewards of one arm, and return whether an estimate is due."""
        self.pairs += 1
        self.squares += size**2
        if size == 0:
            self.ties += 1
        else:
            self.first = self.first or size
            self.largest = max(self.largest, size)
            place = min(max(math.floor(math.log(size / self.first) / math.log(1.1)), -150), 149)
            self.bins[place] = self.bins.get(place, 0) + 1
        return self.pairs <= 16 or self.pairs in (32, 64, 96, 128) or self.pairs % 256 == 0

    def fade(self) -> None:
        """Halve all counts when there are 2048 pairs."""
        if self.pairs == 2048:
            self.pairs, self.ties, self.squares = 1024, self.ties // 2, self.squares / 2
            self.bins = {place: number / 2 for place, number in self.bins.items()}

    def few_values(self) -> bool:
        """Return whether more than 5 % of the differences are zero."""
        return self.ties > 0.05 * self.pairs

    def middle(self, place: int) -> float:
        """Return the size that stands for a bin."""
        return self.first * float(1.1 ** (place + 0.5))

    def estimate(self) -> None:
        pairs = self.pairs
        if self.largest == 0:
            self.noise = self.expected * min(1.0, 32 / max(pairs, 1))
            return
        if self.few_values():
            self.raw = math.sqrt(self.squares / pairs / 2)
            if len(self.bins) == 1 and self.ties < 0.95 * pairs:
                self.raw = max(self.raw, 0.45 * self.largest)
        elif pairs < 32 or self.raw == 0:
            self.raw, self.share = self.lower_quartile() / 0.45062, 0.9
        else:
            self.separate()
        if self.expected == 0:
            self.noise = self.raw
            return
        known = pairs * math.log(self.raw) + self.weight * math.log(self.expected)
        self.noise = math.exp(known / (pairs + self.weight))

    def of_mean(self) -> float:
        """Return the noise of the mean reward of a round."""
        return self.noise / math.sqrt(self.groups)

    def lower_quartile(self) -> float:
        """Return the bin of the pair with a quarter of the others below it."""
        left = 0.25 * (self.pairs - 1) - self.ties
        for place in sorted(self.bins):
            left -= self.bins[place]
            if left < 0:
                return self.middle(place)
        return self.middle(max(self.bins))

    def separate(self) -> None:
        """Six steps of expectation-maximisation: the noise, and the share of pairs that noise alone explains."""
        for _ in range(6):
            peak = self.share / (math.sqrt(math.pi) * self.raw)
            ours, squares = 0.0, 0.0
            counted = [(self.middle(place), number) for place, number in sorted(self.bins.items())]
            for size, number in [(0.0, self.ties), *counted]:
                by_noise = peak * math.exp(-((size / self.raw) ** 2) / 4)
                by_change = (1 - self.share) / self.largest
                mine = number * by_noise / (by_noise + by_change)
                ours += mine
                squares += mine * size**2
            if squares > 0:
                self.raw = math.sqrt(squares / ours / 2)
            self.share = (ours + 30) / (self.pairs + 31)

"""Slow twins of the policies: plain NumPy, written from the paper's formulas, sharing no code with the package.

Every twin takes the settings of its policy and has two methods: ``choose`` returns the arm of every group, given the
arms that are available in the round (in order), ``learn`` takes the rewards. Twins that sample at random take their
numbers from ``draws``, so that a twin and its policy can be given the same ones. A twin that learns from late rewards
has a third one, ``recall``: it says to which decision the rewards belong that come next, by its number from 1 on.
"""

import itertools
import math
import statistics
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Draws(Protocol):
    """Where a twin's random numbers come from."""

    def uniform(self) -> float: ...

    def normal(self) -> float: ...

    def below(self, n: int) -> int: ...


class Twin(Protocol):
    """A policy, the slow way."""

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]: ...

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None: ...


@runtime_checkable
class LateTwin(Twin, Protocol):
    """A twin that learns from late rewards."""

    def recall(self, number: int) -> None: ...


def first_best(available: Iterable[int], scores: Sequence[float] | Mapping[int, float] | Floats) -> int:
    """Return the available arm with the highest score, the lowest of equals."""
    return max(available, key=lambda arm: (scores[arm], -arm))


class Averages:
    """Counts and sums of all rewards, for the policies that keep no more."""

    def __init__(self, arms: int) -> None:
        self.counts: Floats = np.zeros(arms)
        self.sums: Floats = np.zeros(arms)

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        for arm, reward in zip(arms, rewards, strict=True):
            self.counts[arm] += 1
            self.sums[arm] += reward


def untried_or_best(available: Sequence[int], counts: Floats, sums: Floats, bonus: Callable[[float], float]) -> int:
    """Return the first available arm without rewards, or the one whose mean plus bonus is highest (the lowest of equals)."""
    for arm in available:
        if counts[arm] == 0:
            return arm
    return first_best(available, {arm: sums[arm] / counts[arm] + bonus(counts[arm]) for arm in available})


class NaiveUCB1(Averages):
    """Auer, Cesa-Bianchi & Fischer (2002)."""

    def __init__(self, draws: Draws, arms: int, groups: int, exploration: float) -> None:
        super().__init__(arms)
        self.groups, self.exploration = groups, exploration

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        def bonus(n: float) -> float:
            return self.exploration * math.sqrt(math.log(self.counts.sum()) / n)

        return [untried_or_best(available, self.counts, self.sums, bonus)] * self.groups


class NaiveEpsilonGreedy(Averages):
    """A random arm with probability epsilon, else the best so far."""

    def __init__(self, draws: Draws, arms: int, groups: int, epsilon: float) -> None:
        super().__init__(arms)
        self.draws, self.groups, self.epsilon = draws, groups, epsilon

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        if self.draws.uniform() < self.epsilon:
            return [available[self.draws.below(len(available))]] * self.groups
        return [untried_or_best(available, self.counts, self.sums, lambda n: 0.0)] * self.groups


class NaiveABTest:
    """Turns for every arm during the test; after it, the best of the lists of rewards that the test has left."""

    def __init__(self, draws: Draws, arms: int, groups: int, test: int) -> None:
        self.groups = groups
        self.probe_reasons: frozenset[str] = frozenset()
        self.rounds = iter(range(test))
        self.turns = itertools.count()
        self.rewards: list[list[float]] = [[] for _ in range(arms)]

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        tested = next(self.rounds, None) if len(available) > 1 else None
        if tested is not None:
            self.probe_reasons = frozenset({"continued" if tested else "schedule"})
            return [available[next(self.turns) % len(available)] for _ in range(self.groups)]
        self.probe_reasons = frozenset()
        means = {arm: statistics.fmean(self.rewards[arm]) for arm in available if self.rewards[arm]}
        return [first_best(means, means) if means else available[0]] * self.groups

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        if self.probe_reasons:
            for arm, reward in zip(arms, rewards, strict=True):
                self.rewards[arm].append(reward)


class NaiveThompsonSampling(Averages):
    """Gaussian posterior of a mean: a prior of ``prior_weight`` imaginary rewards of 0, and known noise."""

    def __init__(self, draws: Draws, arms: int, groups: int, noise: float, prior_weight: float) -> None:
        super().__init__(arms)
        self.draws, self.groups, self.noise, self.prior_weight = draws, groups, noise, prior_weight

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        sampled = {}
        for arm in available:
            weight = self.counts[arm] + self.prior_weight
            sampled[arm] = self.sums[arm] / weight + self.noise / math.sqrt(weight) * self.draws.normal()
        return [first_best(available, sampled)] * self.groups


class NaiveDiscountedUCB:
    """Garivier & Moulines (2011), with the discounted sums written out over the whole history."""

    def __init__(self, draws: Draws, arms: int, groups: int, discount: float, exploration: float) -> None:
        self.groups, self.discount, self.exploration = groups, discount, exploration
        self.round = 0
        self.history: list[tuple[list[int], list[float]]] = [([], []) for _ in range(arms)]

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        weights = [self.discount ** (self.round - np.array(rounds, np.float64)) for rounds, _ in self.history]
        counts = np.array([w.sum() for w in weights])
        sums = np.array([w @ np.array(rewards) for w, (_, rewards) in zip(weights, self.history, strict=True)])

        def bonus(n: float) -> float:
            return math.sqrt(self.exploration * math.log(max(counts.sum(), 1.0)) / n)

        return [untried_or_best(available, counts, sums, bonus)] * self.groups

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        self.round += 1
        for arm, reward in zip(arms, rewards, strict=True):
            self.history[arm][0].append(self.round)
            self.history[arm][1].append(reward)


class NaiveSlidingWindowUCB:
    """Garivier & Moulines (2011), with a window that is searched again in every round."""

    def __init__(self, draws: Draws, arms: int, groups: int, window: int, exploration: float) -> None:
        self.arms, self.groups, self.exploration = arms, groups, exploration
        self.recent: deque[tuple[int, float]] = deque(maxlen=window)

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        by_arm = [[reward for played, reward in self.recent if played == arm] for arm in range(self.arms)]
        counts = np.array([float(len(rewards)) for rewards in by_arm])
        sums = np.array([math.fsum(rewards) for rewards in by_arm])

        def bonus(n: float) -> float:
            return self.exploration * math.sqrt(math.log(len(self.recent)) / n)

        return [untried_or_best(available, counts, sums, bonus)] * self.groups

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        self.recent.extend(zip(arms, rewards, strict=True))


class NaiveEXP3:
    """EXP3, and EXP3.S where ``share`` is above 0 (Auer, Cesa-Bianchi, Freund & Schapire 2002)."""

    def __init__(self, draws: Draws, arms: int, groups: int, mixing: float, share: float) -> None:
        self.draws, self.groups, self.mixing, self.share = draws, groups, mixing, share
        self.weights: Floats = np.ones(arms)

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        self.among = list(available)
        weights = self.weights[self.among]
        chances = (1 - self.mixing) * weights / weights.sum() + self.mixing / len(weights)
        self.chances = dict(zip(self.among, chances, strict=True))
        points = [self.draws.uniform() for _ in range(self.groups)]
        return [available[int(np.argmax(np.cumsum(chances) > point))] for point in points]

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        k, total = len(self.among), self.weights[self.among].sum()
        for arm, reward in zip(arms, rewards, strict=True):
            shared = math.e * self.share / k * self.weights[self.among].sum()
            self.weights[arm] *= math.exp(self.mixing * reward / self.chances[arm] / k)
            self.weights[self.among] += shared
        # Only ratios matter: the arms among which the choice was made weigh together what they did.
        self.weights[self.among] *= total / self.weights[self.among].sum()


class NaiveUniformRandom:
    """A random arm for every group."""

    def __init__(self, draws: Draws, arms: int, groups: int) -> None:
        self.draws, self.groups = draws, groups

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        return [available[self.draws.below(len(available))] for _ in range(self.groups)]

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        pass


class NaiveOracle:
    """The best available arm by the scores that are given for every round."""

    def __init__(self, groups: int, scores: Iterable[Floats]) -> None:
        self.groups, self.scores = groups, iter(scores)

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        return [first_best(available, next(self.scores))] * self.groups

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        pass


class NaiveProbeCommit:
    """Probe every arm when the last probe is old or a reward contradicts it, else play the arm that paid most in that probe."""

    def __init__(self, arms: int, groups: int, interval: int, surprise: float) -> None:
        self.groups, self.interval, self.surprise = groups, interval, surprise
        self.probe_reasons: frozenset[str] = frozenset()
        self.paid: dict[int, float] = {}
        self.age = interval  # rounds since the last probe began
        self.contradicted = False

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        number = len(available)
        probed = [arm for arm in available if arm in self.paid]
        best = first_best(probed, self.paid) if probed else available[0]
        self.probe_reasons = frozenset()
        if number == 1:
            return [best] * self.groups
        due = {"schedule"} if self.age == self.interval else set()
        if self.contradicted and self.age * self.groups >= number:
            due.add("residual")
        if due:
            self.age, self.contradicted = 0, False
        turn = self.age * self.groups
        self.age += 1
        if turn >= number:
            return [best] * self.groups
        self.probe_reasons = frozenset(due or {"continued"})
        return [available[(turn + group) % number] for group in range(self.groups)]

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        if self.probe_reasons:
            self.paid.update(zip(arms, rewards, strict=True))
        elif self.surprise and arms[0] in self.paid:
            self.contradicted |= abs(statistics.fmean(rewards) - self.paid[arms[0]]) > self.surprise

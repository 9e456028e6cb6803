"""Slow twins of the policies: plain NumPy, written from the paper's formulas, sharing no code with the package.

Every twin takes the settings of its policy and has two methods: ``choose`` returns the arm of every unit, ``learn``
takes the rewards. Twins that draw at random take their numbers from ``draws``, so that a twin and its policy can be
given the same ones.
"""

import itertools
import math
import statistics
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tests.naive_noise import NaiveNoise

Floats = NDArray[np.float64]


class Draws(Protocol):
    """Where a twin's random numbers come from."""

    def uniform(self) -> float: ...

    def normal(self) -> float: ...

    def below(self, n: int) -> int: ...


class Twin(Protocol):
    """A policy, the slow way."""

    def choose(self, context: Floats) -> list[int]: ...

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None: ...


def settle_ties(indices: Floats) -> Floats:
    """Make indices equal that tie for the highest in exact arithmetic: rounding must not keep the lower arm from it."""
    top = indices.max()
    return np.where(indices >= top - 1e-11 * (1 + abs(top)), top, indices)


@dataclass
class NaiveTraces:
    """Algorithms 1 to 5, and their generalisation to any number of arms and units."""

    draws: Draws
    arms: int
    units: int
    lag: str
    fingerprint: bool
    covariates: int
    interval: int
    gated: bool
    thompson: bool
    exploration: float
    regularization: float
    residual_threshold: float
    residual_floor: float
    learn_noise: bool
    margin: float
    staleness: int
    min_gap: int
    hazard: Sequence[float]
    probe_set: Sequence[int]

    def __post_init__(self) -> None:
        self.probe_arms = list(self.probe_set) or list(range(self.arms))
        self.probe_rounds = math.ceil(len(self.probe_arms) / self.units)
        self.t = 0
        self.t_probe = 0
        self.phase: int | None = None
        self.why: frozenset[str] = frozenset()
        self.seen = dict.fromkeys(self.probe_arms, 0.0)
        self.fingerprint_rewards = [0.0] * len(self.probe_arms)
        self.last_arm, self.last_reward, self.last_weight = 0, 0.0, 1
        self.noise = NaiveNoise(0.0 if self.learn_noise else 1.0, self.units, 1.0)
        width = len(self.features(np.zeros(self.covariates)))
        self.phi: Floats = np.zeros(width)
        self.A: Floats = np.stack([self.regularization * np.eye(width)] * self.arms)
        self.b: Floats = np.zeros((self.arms, width))

    def features(self, context: Floats) -> Floats:
        one_hot = [float(arm == self.last_arm) for arm in range(self.arms)]
        lagged: dict[str, list[float]] = {
            "none": [],
            "pair": [float(self.last_arm), self.last_reward],
            "one-hot": [*one_hot, self.last_reward],
            "slopes": [*one_hot, *(self.last_reward * hot for hot in one_hot)],
            "curves": [hot * self.last_reward**power for power in range(3) for hot in one_hot],
        }
        fingerprint = self.fingerprint_rewards if self.fingerprint else []
        return np.array([*fingerprint, *lagged[self.lag], *context])

    def gates(self, indices: Floats, theta: Floats) -> frozenset[str]:
        """ComputeGates of Algorithm 4; it still sees the features of the round before in ``self.phi``."""
        z = 0.0
        if self.t > 1:
            predicted = self.phi @ theta[self.last_arm]
            variance = self.phi @ np.linalg.solve(self.A[self.last_arm], self.phi)
            floor = self.residual_floor
            if self.learn_noise:
                floor = max(floor, self.noise.noise / math.sqrt(self.last_weight))
            z = (self.last_reward - predicted) / math.sqrt(variance + floor**2)
        second, first = np.sort(indices)[-2:]
        age = self.t - self.t_probe
        opened = {
            "residual": abs(z) >= self.residual_threshold,
            "margin": first - second <= self.margin,
            "staleness": 1 - math.exp(-self.hazard[0] * age) >= self.hazard[1]
            if self.hazard
            else age >= self.staleness,
        }
        if age < self.min_gap:
            return frozenset()
        return frozenset(gate for gate, is_open in opened.items() if is_open)

    def choose(self, context: Floats) -> list[int]:
        self.t += 1
        phi = self.features(context)
        theta: Floats = np.linalg.solve(self.A, self.b[:, :, None])[:, :, 0].astype(np.float64)
        variance = np.linalg.solve(self.A, phi[:, None])[:, :, 0] @ phi
        noise = [self.draws.normal() for _ in range(self.arms)] if self.thompson else [1.0] * self.arms
        indices = settle_ties(theta @ phi + self.exploration * np.sqrt(variance) * np.array(noise))

        self.why = frozenset()
        if self.gated:
            if self.phase is not None:
                self.phase, self.why = self.phase + 1, frozenset({"continued"})
            elif opened := self.gates(indices, theta):
                self.phase, self.why = 0, opened
                self.t_probe = self.t
        elif self.interval:
            phase = self.t % self.interval
            self.phase = phase if phase < self.probe_rounds else None
            if self.phase is not None:
                self.why = frozenset({"continued" if self.phase else "schedule"})

        self.phi = phi
        if self.phase is None:
            return [int(np.argmax(indices))] * self.units
        start = self.phase * self.units
        return [self.probe_arms[(start + unit) % len(self.probe_arms)] for unit in range(self.units)]

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        for arm, reward in zip(arms, rewards, strict=True):
            self.A[arm] += np.outer(self.phi, self.phi)
            self.b[arm] += reward * self.phi
        means = {arm: statistics.fmean(r for a, r in zip(arms, rewards, strict=True) if a == arm) for arm in arms}
        # An exploiting round has one arm only. max() returns the first of equals, and the dict is in order of units.
        self.last_arm, self.last_reward = max(means.items(), key=lambda item: item[1])
        self.last_weight = list(arms).count(self.last_arm)
        if self.phase is None:
            self.noise.see(arms[0], rewards)
        else:
            self.seen.update(means)
            if self.phase == self.probe_rounds - 1:
                self.fingerprint_rewards = [self.seen[arm] for arm in self.probe_arms]
                self.phase = None


class Averages:
    """Counts and sums of all rewards, for the policies that keep no more."""

    def __init__(self, arms: int) -> None:
        self.counts: Floats = np.zeros(arms)
        self.sums: Floats = np.zeros(arms)

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        for arm, reward in zip(arms, rewards, strict=True):
            self.counts[arm] += 1
            self.sums[arm] += reward


def untried_or_best(counts: Floats, sums: Floats, bonus: Iterable[float]) -> int:
    """Return the first arm without rewards, or the one whose mean plus bonus is highest (the lowest of equals)."""
    if 0 in counts:
        return int(np.argmax(counts == 0))
    return int(np.argmax([s / n + extra for s, n, extra in zip(sums, counts, bonus, strict=True)]))


class NaiveUCB1(Averages):
    """Auer, Cesa-Bianchi & Fischer (2002)."""

    def __init__(self, draws: Draws, arms: int, units: int, exploration: float) -> None:
        super().__init__(arms)
        self.units, self.exploration = units, exploration

    def choose(self, context: Floats) -> list[int]:
        bonus = (self.exploration * math.sqrt(math.log(self.counts.sum()) / n) for n in self.counts)
        return [untried_or_best(self.counts, self.sums, bonus)] * self.units


class NaiveEpsilonGreedy(Averages):
    """A random arm with probability epsilon, else the best so far."""

    def __init__(self, draws: Draws, arms: int, units: int, epsilon: float) -> None:
        super().__init__(arms)
        self.draws, self.arms, self.units, self.epsilon = draws, arms, units, epsilon

    def choose(self, context: Floats) -> list[int]:
        if self.draws.uniform() < self.epsilon:
            return [self.draws.below(self.arms)] * self.units
        return [untried_or_best(self.counts, self.sums, [0.0] * self.arms)] * self.units


class NaiveABTest:
    """Turns for every arm during the test; after it, the best of the lists of rewards that the test has left."""

    def __init__(self, draws: Draws, arms: int, units: int, test: int) -> None:
        self.units = units
        self.why: frozenset[str] = frozenset()
        self.turns = iter([slot % arms for slot in range(test * units)])
        self.testing = False
        self.rewards: list[list[float]] = [[] for _ in range(arms)]

    def choose(self, context: Floats) -> list[int]:
        turns = list(itertools.islice(self.turns, self.units))
        begun, self.testing = self.testing, bool(turns)
        self.why = frozenset({"continued" if begun else "schedule"} if turns else ())
        if turns:
            return turns
        means = {arm: statistics.fmean(rewards) for arm, rewards in enumerate(self.rewards) if rewards}
        return [max(means, key=lambda arm: means[arm])] * self.units

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        if self.testing:
            for arm, reward in zip(arms, rewards, strict=True):
                self.rewards[arm].append(reward)


class NaiveThompson(Averages):
    """Gaussian posterior of a mean: a prior of ``prior_weight`` imaginary rewards of 0, and known noise."""

    def __init__(self, draws: Draws, arms: int, units: int, noise: float, prior_weight: float) -> None:
        super().__init__(arms)
        self.draws, self.units, self.noise, self.prior_weight = draws, units, noise, prior_weight

    def choose(self, context: Floats) -> list[int]:
        weights = self.counts + self.prior_weight
        sampled = [
            s / w + self.noise / math.sqrt(w) * self.draws.normal() for s, w in zip(self.sums, weights, strict=True)
        ]
        return [int(np.argmax(sampled))] * self.units


class NaiveDiscountedUCB:
    """Garivier & Moulines (2011), with the discounted sums written out over the whole history."""

    def __init__(self, draws: Draws, arms: int, units: int, discount: float, exploration: float) -> None:
        self.units, self.discount, self.exploration = units, discount, exploration
        self.round = 0
        self.history: list[tuple[list[int], list[float]]] = [([], []) for _ in range(arms)]

    def choose(self, context: Floats) -> list[int]:
        weights = [self.discount ** (self.round - np.array(rounds, np.float64)) for rounds, _ in self.history]
        counts = np.array([w.sum() for w in weights])
        sums = np.array([w @ np.array(rewards) for w, (_, rewards) in zip(weights, self.history, strict=True)])
        bonus = (math.sqrt(self.exploration * math.log(counts.sum()) / n) for n in counts)
        return [untried_or_best(counts, sums, bonus)] * self.units

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        self.round += 1
        for arm, reward in zip(arms, rewards, strict=True):
            self.history[arm][0].append(self.round)
            self.history[arm][1].append(reward)


class NaiveSlidingWindowUCB:
    """Garivier & Moulines (2011), with a window that is searched again in every round."""

    def __init__(self, draws: Draws, arms: int, units: int, window: int, exploration: float) -> None:
        self.arms, self.units, self.exploration = arms, units, exploration
        self.recent: deque[tuple[int, float]] = deque(maxlen=window)

    def choose(self, context: Floats) -> list[int]:
        by_arm = [[reward for played, reward in self.recent if played == arm] for arm in range(self.arms)]
        counts = np.array([float(len(rewards)) for rewards in by_arm])
        sums = np.array([math.fsum(rewards) for rewards in by_arm])
        bonus = (self.exploration * math.sqrt(math.log(len(self.recent)) / n) for n in counts)
        return [untried_or_best(counts, sums, bonus)] * self.units

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        self.recent.extend(zip(arms, rewards, strict=True))


class NaiveEXP3:
    """EXP3, and EXP3.S where ``share`` is above 0 (Auer, Cesa-Bianchi, Freund & Schapire 2002)."""

    def __init__(self, draws: Draws, arms: int, units: int, mixing: float, share: float) -> None:
        self.draws, self.arms, self.units, self.mixing, self.share = draws, arms, units, mixing, share
        self.weights: Floats = np.ones(arms)
        self.chances: Floats = np.ones(arms) / arms

    def choose(self, context: Floats) -> list[int]:
        self.chances = (1 - self.mixing) * self.weights / self.weights.sum() + self.mixing / self.arms
        cumulative = np.cumsum(self.chances)
        points = [self.draws.uniform() for _ in range(self.units)]
        return [int(np.argmax(cumulative > point)) for point in points]

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        for arm, reward in zip(arms, rewards, strict=True):
            estimate = np.zeros(self.arms)
            estimate[arm] = reward / self.chances[arm]
            shared = math.e * self.share / self.arms * self.weights.sum()
            self.weights = self.weights * np.exp(self.mixing * estimate / self.arms) + shared
        # Only ratios of weights matter, and without this they would overflow.
        self.weights /= self.weights.max()


class NaiveUniform:
    """A random arm for every unit."""

    def __init__(self, draws: Draws, arms: int, units: int) -> None:
        self.draws, self.arms, self.units = draws, arms, units

    def choose(self, context: Floats) -> list[int]:
        return [self.draws.below(self.arms) for _ in range(self.units)]

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        pass


class NaiveScript:
    """A given arm for every round, which is all there is to an oracle whose arms are given."""

    def __init__(self, units: int, script: Iterable[int]) -> None:
        self.units, self.remaining = units, iter(script)

    def choose(self, context: Floats) -> list[int]:
        return [next(self.remaining)] * self.units

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        pass


class NaiveProbeCommit:
    """Probe every arm when the last probe is old or a reward contradicts it, else play the arm that paid most in that probe."""

    def __init__(self, arms: int, units: int, interval: int, surprise: float) -> None:
        self.arms, self.units, self.interval, self.surprise = arms, units, interval, surprise
        self.why: frozenset[str] = frozenset()
        self.paid = [0.0] * arms
        self.queue: list[list[int]] = []  # rounds that are left of a probe
        self.age = interval  # rounds since the last probe began
        self.contradicted = False

    def choose(self, context: Floats) -> list[int]:
        due = {"schedule"} if self.age == self.interval else set()
        if self.contradicted and not self.queue:
            due.add("residual")
        if due:
            turns = itertools.cycle(range(self.arms))
            rounds = math.ceil(self.arms / self.units)
            self.queue = [list(itertools.islice(turns, self.units)) for _ in range(rounds)]
            self.age, self.contradicted = 0, False
        self.age += 1
        self.probing = bool(self.queue)
        self.why = frozenset(due or ({"continued"} if self.probing else ()))
        return self.queue.pop(0) if self.probing else [self.paid.index(max(self.paid))] * self.units

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        if self.probing:
            for arm, reward in zip(arms, rewards, strict=True):
                self.paid[arm] = reward
        elif self.surprise and abs(statistics.fmean(rewards) - self.paid[arms[0]]) > self.surprise:
            self.contradicted = True

"""Slow twin of the paper's linear learner: plain NumPy, written from Algorithms 1 to 5. See `tests.naive` for what a twin is."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.naive import Draws, Floats
from tests.naive_noise import NaiveNoise


def settle_ties(indices: Floats) -> Floats:
    """Make indices equal that tie for the highest in exact arithmetic: rounding must not keep the lower arm from it."""
    top = indices.max()
    return np.where(indices >= top - 1e-11 * (1 + abs(top)), top, indices)


@dataclass
class NaiveTraceLearner:
    """Algorithms 1 to 5, and their generalisation to any number of arms and groups."""

    draws: Draws
    arms: int
    groups: int
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
    probe_size: int
    residual_before: bool

    def __post_init__(self) -> None:
        self.probe_arms = list(self.probe_set) or list(range(self.arms))
        self.t = 0
        self.t_probe = 0
        self.phase: int | None = 1 if self.interval else None  # the next one of a probe under way
        self.visited: list[int] = []  # the arms that a probe visits, in a round of it
        self.behind: set[int] = set()  # the arms that it has visited, where it visits some only
        self.paid: dict[int, list[float]] = {arm: [] for arm in range(self.arms)}  # in probes
        self.probe_reasons: frozenset[str] = frozenset()
        self.seen: dict[int, float] = {}
        self.fingerprint_rewards = dict.fromkeys(self.probe_arms, 0.0)
        self.last_arm, self.last_reward, self.last_weight = 0, 0.0, 1
        self.noise = NaiveNoise(0.0 if self.learn_noise else 1.0, self.groups, 1.0)
        width = len(self.features(np.zeros(self.covariates)))
        self.phi: Floats = np.zeros(width)
        self.A: Floats = np.stack([self.regularization * np.eye(width)] * self.arms)
        self.b: Floats = np.zeros((self.arms, width))
        self.before: tuple[Floats, Floats] = (self.A, self.b)  # A and theta as they were before the last rewards

    def features(self, context: Floats) -> Floats:
        one_hot = [float(arm == self.last_arm) for arm in range(self.arms)]
        lagged: dict[str, list[float]] = {
            "none": [],
            "pair": [float(self.last_arm), self.last_reward],
            "one-hot": [*one_hot, self.last_reward],
            "slopes": [*one_hot, *(self.last_reward * hot for hot in one_hot)],
            "curves": [hot * self.last_reward**power for power in range(3) for hot in one_hot],
        }
        fingerprint = self.fingerprint_rewards.values() if self.fingerprint else []
        return np.array([*fingerprint, *lagged[self.lag], *context])

    def gates(self, indices: Floats, theta: Floats) -> frozenset[str]:
        """ComputeGates of Algorithm 4; it still sees the features of the round before in ``self.phi``."""
        z = 0.0
        if self.t > 1:
            A, estimate = self.before if self.residual_before else (self.A, theta)
            predicted = self.phi @ estimate[self.last_arm]
            variance = self.phi @ np.linalg.solve(A[self.last_arm], self.phi)
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

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        self.t += 1
        phi = self.features(context)
        theta: Floats = np.linalg.solve(self.A, self.b[:, :, None])[:, :, 0].astype(np.float64)
        arms = list(available)
        variance = np.linalg.solve(self.A[arms], phi[:, None])[:, :, 0] @ phi
        noise = np.array([self.draws.normal() if self.thompson else 1.0 for _ in arms])
        indices = settle_ties(theta[arms] @ phi + self.exploration * np.sqrt(variance) * noise)
        probed = [arm for arm in self.probe_arms if arm in arms] if len(arms) > 1 else []
        self.probe(probed[: self.probe_size] if self.probe_size else probed, indices, theta)
        self.phi = phi
        if not self.probe_reasons:
            return [arms[int(np.argmax(indices))]] * self.groups
        assert self.phase is not None
        if self.probe_size:
            left = [arm for arm in probed if arm not in self.behind]
            fresh = [arm for arm in left if not self.paid[arm]]
            arm = fresh[0] if fresh else max(left, key=lambda arm: sum(self.paid[arm]) / len(self.paid[arm]))
            self.behind.add(arm)
            return [arm]
        start = self.phase * self.groups
        return [self.visited[(start + group) % len(self.visited)] for group in range(self.groups)]

    def probe(self, visited: list[int], indices: Floats, theta: Floats) -> None:
        """Continue a probe, or begin one; while there is nothing to visit, one that is under way waits."""
        self.visited, self.probe_reasons = visited, frozenset()
        due = bool(self.interval) and self.t % self.interval == 0
        if not visited:
            if self.t == 1:
                self.phase = None
            return
        if due or self.through():
            self.end()
        if self.phase is not None:
            self.probe_reasons = frozenset({"continued"})
            return
        if due:
            self.probe_reasons = frozenset({"schedule"})
        elif self.gated:
            self.probe_reasons = self.gates(indices, theta)
        if self.probe_reasons:
            self.phase, self.t_probe = 0, self.t

    def through(self) -> bool:
        return self.phase is not None and self.phase * self.groups >= len(self.visited)

    def end(self) -> None:
        """End a probe: what the arms gave that it has visited is the fingerprint, for the others it stays."""
        self.fingerprint_rewards.update(self.seen)
        self.seen, self.behind, self.phase = {}, set(), None

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        self.before = self.A.copy(), np.linalg.solve(self.A, self.b[:, :, None])[:, :, 0].astype(np.float64)
        for arm, reward in zip(arms, rewards, strict=True):
            self.A[arm] += np.outer(self.phi, self.phi)
            self.b[arm] += reward * self.phi
        means = {arm: statistics.fmean(r for a, r in zip(arms, rewards, strict=True) if a == arm) for arm in arms}
        # An exploiting round has one arm only. max() returns the first of equals, and the dict is in order of groups.
        self.last_arm, self.last_reward = max(means.items(), key=lambda item: item[1])
        self.last_weight = list(arms).count(self.last_arm)
        if not self.probe_reasons:
            self.noise.see(arms[0], rewards)
            return
        assert self.phase is not None
        self.seen.update(means)
        for arm, reward in means.items():
            self.paid[arm].append(reward)
        self.phase += 1
        if self.through():
            self.end()

"""The slow twin of the Bayes filter, and the same belief as a sum over all paths of the hidden state."""

import math
from collections.abc import Sequence

import numpy as np

from latentbandits.protocols import Truth
from tests.naive import Floats, first_best


def log_likelihood(reward: float, means: Floats, noise: float, bernoulli: bool) -> Floats:
    """Return the log probability (density) of a reward for each of some means."""
    with np.errstate(divide="ignore"):
        if bernoulli:
            return np.log(means if reward == 1 else 1 - means)
    return -0.5 * ((reward - means) / noise) ** 2 - math.log(noise * math.sqrt(2 * math.pi))


class NaiveFilter:
    """The forward algorithm in logarithms: predict by the chain, weigh by the likelihood of what was seen."""

    def __init__(
        self, transition: Floats, means: Floats, start: Floats, noise: Floats, bernoulli: bool, groups: int
    ) -> None:
        self.means, self.noise, self.bernoulli, self.groups = means, noise, bernoulli, groups
        with np.errstate(divide="ignore"):
            self.log_transition = np.log(transition)
            self.log_belief: Floats = np.log(start)

    def expected(self) -> Floats:
        """Return the expected reward of every arm in the round to come."""
        belief: Floats = np.exp(self.log_belief - np.logaddexp.reduce(self.log_belief))
        return np.asarray(belief @ self.means)

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        return [first_best(available, self.expected())] * self.groups

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        seen = self.log_belief
        for arm, reward, noise in zip(arms, rewards, self.noise, strict=True):
            seen = seen + log_likelihood(reward, self.means[:, arm], noise, self.bernoulli)
        self.log_belief = np.logaddexp.reduce(seen[:, None] + self.log_transition, axis=0)


def pairs_of(truth: Truth) -> tuple[Floats, Floats, Floats, Floats, bool]:
    """Return the truth as a chain without carryover: where there is carryover, its states are pairs of previous and current state."""
    if truth.carryover == 0:
        return *truth[:4], truth.rewards == "bernoulli"
    names = [(before, now) for before in range(len(truth.start)) for now in range(len(truth.start))]
    transition = np.zeros((len(names), len(names)))
    for i, (_, now) in enumerate(names):
        for j, (before, then) in enumerate(names):
            transition[i, j] = truth.transition[now, then] if before == now else 0.0
    means = np.array([truth.carryover * truth.means[b] + (1 - truth.carryover) * truth.means[n] for b, n in names])
    start = np.array([truth.start[b] * truth.transition[b, n] for b, n in names])
    return transition, means, start, truth.noise, truth.rewards == "bernoulli"


def paths_of(transition: Floats, start: Floats, rounds: int) -> list[tuple[tuple[int, ...], float]]:
    """Return every path that the hidden state can take, with its probability."""
    paths: list[tuple[tuple[int, ...], float]] = [((s,), float(p)) for s, p in enumerate(start) if p > 0]
    for _ in range(rounds - 1):
        paths = [((*path, s), q * float(p)) for path, q in paths for s, p in enumerate(transition[path[-1]]) if p > 0]
    return paths


def expected_by_paths(
    transition: Floats,
    means: Floats,
    start: Floats,
    noise: Floats,
    bernoulli: bool,
    arms: Sequence[Sequence[int]],
    rewards: Sequence[Sequence[float]],
) -> Floats:
    """Return the expected reward of every arm after some rounds, as a sum over all paths of the hidden state."""
    likelihoods = np.ones((len(arms), len(start)))
    for t, (played, got) in enumerate(zip(arms, rewards, strict=True)):
        for arm, reward, sd in zip(played, got, noise, strict=True):
            likelihoods[t] *= np.exp(log_likelihood(reward, means[:, arm], sd, bernoulli))
    total, weighted = 0.0, np.zeros(means.shape[1])
    for path, chance in paths_of(transition, start, len(arms) + 1):
        weight = chance * math.prod(seen[state] for state, seen in zip(path, likelihoods, strict=False))
        total += weight
        weighted += weight * means[path[-1]]
    return weighted / total

"""The other explanations of an arm's rewards: a mean that never changes, or drifts at one of some rates; and how likely each is."""

import math

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.arm_library.constants import BOUND, NEAR, OPTIMISM_DRIFT, OUTLIERS, RATES, REGIMES, STILL
from latentbandits.policies.arm_library.filter import bell, fit
from latentbandits.policies.arm_library.memory import Memory


@kernel
def begin_drift(memory: Memory, arm: int, reward: float) -> None:
    """Begin with the first reward of an arm."""
    for j in range(REGIMES):
        memory.drifts[arm, j].average = reward
        memory.drifts[arm, j].variance = 1.0


@kernel
def learn_drift(memory: Memory, arm: int, gap: int, late: bool, reward: float, sd: float, out: float) -> float:
    """Learn a reward, a number of rounds from the newest one, and score each rate by how likely it was; returns that on average.

    A late reward is about an older mean: the drift since then is noise to it, as the drift until a new one is to the mean.
    """
    core, total = memory.core[0], 0.0
    for j in range(REGIMES):
        kalman, moved = memory.drifts[arm, j], RATES[j] * gap
        noise = 1.0 + moved if late else 1.0
        kalman.variance += 0.0 if late else moved
        gain = kalman.variance / (kalman.variance + noise)
        if core.values == 2:
            like = fit(core, kalman.average, min(1.0 / kalman.variance, 1e6), reward, sd)
            like = min(max(like, 1e-6), 1.0)
        else:
            good = (1.0 - OUTLIERS) * bell(reward - kalman.average, (kalman.variance + noise) * sd * sd)
            like = good + OUTLIERS * out
            gain *= good / like
        total += memory.weight[j] * like
        score(memory, j, gap, like)
        kalman.average += gain * (reward - kalman.average)
        kalman.variance *= 1.0 - gain
    return total


@kernel
def score(memory: Memory, explanation: int, gap: int, like: float) -> None:
    """Add a reward to the score of an explanation."""
    memory.score[explanation] += (NEAR if gap == 1 else 1.0) * math.log(like)


@kernel
def weigh(memory: Memory) -> None:
    """Turn scores into the probabilities of the explanations."""
    top, total = -np.inf, 0.0
    for j in range(REGIMES + 1):
        top = max(top, memory.score[j])
    for j in range(REGIMES + 1):
        memory.score[j] = max(memory.score[j] - top, BOUND)
        memory.weight[j] = math.exp(memory.score[j])
        total += memory.weight[j]
    for j in range(REGIMES + 1):
        memory.weight[j] /= total


@kernel
def drift_index(memory: Memory, arm: int, j: int, gap: int, rounds: float, sd: float) -> float:
    """Return an arm's index if its mean drifts at a rate, `gap` rounds after its newest reward; `rounds` is their number per arm."""
    kalman, width = memory.drifts[arm, j], OPTIMISM_DRIFT
    variance = kalman.variance + RATES[j] * gap
    if j == 0:
        width = math.sqrt(STILL + 2.0 * max(0.0, math.log(rounds * variance)))
    return float(kalman.average + width * sd * math.sqrt(variance))

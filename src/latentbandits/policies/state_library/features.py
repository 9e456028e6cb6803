"""Observed features: a linear effect on every arm's reward, learned beside the states, so that a calendar is not taken for a regime.

reward = mean of the arm in the present state + slope of the arm . (features - their average) + noise. The filter knows nothing of it: the
effect is subtracted before rewards are learned and added before arms are compared. Slopes are regressions *within* the states (Frisch and
Waugh): rewards and features relative to their averages in one state, so that a state which happens to coincide with a feature does
not bend its slope. The states are those of the heaviest particle a few rounds later, when it knows better.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library.late import state_at
from latentbandits.policies.state_library.memory import HISTORY, Memory
from latentbandits.protocols import Record

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary

_LATER = 8  # rounds after which a reward is attributed to a state for the regression
SLOPES = 0.02  # variance of slopes at first, in noise^2 per variance of a feature
# Effect of a feature to expect, as a share of the range of rewards, and what this counts, in arms
_EFFECT, _WEIGHT = 0.0325, 0.3
_EVERY = 16  # rounds from one estimate of that variance to the next
_SOON = 16  # rounds before the past is learned again with better slopes; then whenever their number has doubled
# Effect of a feature to look for with an arm whose slopes are hardly known, as a share of the range of rewards
_LOOK = 0.2
# Features count no farther from their average than this, in standard deviations, once so many rounds have shown what is usual
_FAR, _USUAL = 10.0, 30
_BETTER = 0.5  # change of the effects, over all rewards that slopes have learned from, that is worth it, in units of the noise


@kernel
def see(policy: "StateLibrary", features: np.ndarray, x: np.ndarray, first: int) -> None:
    """Count the features of a round, which begin at x[first]: running averages and squares (Welford)."""
    for j in range(policy.covariates):
        seen = features[j]
        seen.count += 1
        far = x[first + j] - seen.average
        seen.average += far / seen.count
        seen.squares += far * (x[first + j] - seen.average)


@kernel
def bounded(seen: Record, x: float) -> float:
    """Return a feature, or the farthest from its average that counts: one that is absurd would bend all slopes."""
    if seen.count < _USUAL or seen.squares <= 0.0:
        return x
    far = _FAR * math.sqrt(seen.squares / seen.count)
    return float(min(max(x, seen.average - far), seen.average + far))


@kernel
def variance(seen: Record) -> float:
    """Return the variance of a feature; 1 if it has not varied, which leaves its slope at zero."""
    return float(seen.squares / seen.count) if seen.squares > 0.0 else 1.0


@kernel
def effect(policy: "StateLibrary", slopes: np.ndarray, features: np.ndarray, x: np.ndarray, first: int) -> float:
    """Return slope . (features - average) of an arm, by its slopes."""
    total = 0.0
    for j in range(policy.covariates):
        total += slopes[j] * (x[first + j] - features[j].average)
    return total


@kernel
def std_error(policy: "StateLibrary", memory: Memory, arm: int, x: np.ndarray, first: int) -> float:
    """Return the variance of an arm's effect beyond that of its mean in the present state, in noise^2.

    u' V u + (0.2 range / noise)^2 / (n + 1) * mean of u_i^2 / variance_i;  u = features - the average features behind that mean
    V = diag(prior / variance) for an arm that was not learned from. The second part is for an arm whose slopes have learned from few
    rewards n: the prior is learned from other arms, and may say that a feature is useless which is so for them alone
    """
    total, best = 0.0, memory.core[0].best
    here, learned = memory.particles[best].here, memory.regressed[arm] > 0.0
    known = (
        learned and memory.cells[here, arm].id == memory.states[best, here].id and memory.cells[here, arm].count > 0.0
    )
    look = _LOOK * (memory.scale[0].high - memory.scale[0].low) / memory.noise[0].sd
    look *= look / (memory.regressed[arm] + 1.0) / policy.covariates
    for i in range(policy.covariates):
        seen = memory.features[i]
        u = x[first + i] - (memory.cell_features[here, arm, i] if known else seen.average)
        if seen.squares > 0.0:
            total += u * u * (look if learned else look + seen.prior) / variance(seen)
        for j in range(policy.covariates if learned else 0):
            w = x[first + j] - (memory.cell_features[here, arm, j] if known else memory.features[j].average)
            total += u * memory.inverse[arm, i, j] * w
    return max(total, 0.0)


@kernel
def shrink_difference(
    policy: "StateLibrary",
    slopes: np.ndarray,
    inverse: np.ndarray,
    difference: float,
    x: np.ndarray,
    first: int,
    last: np.ndarray,
) -> float:
    """Return the difference of two rewards without the effects of their features, as large as noise alone would make it.

    (difference - slope . dx) / sqrt(max(1 - dx' V dx / 2, 0.1)), since the slopes have learned from these rewards
    """
    less = 0.0
    for i in range(policy.covariates):
        dx = x[first + i] - last[i]
        difference -= slopes[i] * dx
        for j in range(policy.covariates):
            less += dx * inverse[i, j] * (x[first + j] - last[j])
    return difference / math.sqrt(max(1.0 - 0.5 * less, 0.1))


@kernel
def solve(policy: "StateLibrary", memory: Memory, arm: int) -> None:
    """Set an arm's slopes: V = (S + diag(variance / prior))^-1 by Gauss and Jordan, slope = V s.

    The matrix is positive definite, so no pivoting is needed
    """
    d = policy.covariates
    for i in range(d):
        for j in range(d):
            memory.inverse[arm, i, j] = memory.moments[arm, i, j]
        memory.inverse[arm, i, i] += variance(memory.features[i]) / memory.features[i].prior
    for k in range(d):
        pivot = 1.0 / memory.inverse[arm, k, k]
        memory.inverse[arm, k, k] = 1.0
        for j in range(d):
            memory.inverse[arm, k, j] *= pivot
        for i in range(d):
            if i != k:
                factor = memory.inverse[arm, i, k]
                memory.inverse[arm, i, k] = 0.0
                for j in range(d):
                    memory.inverse[arm, i, j] -= factor * memory.inverse[arm, k, j]
    for i in range(d):
        total = 0.0
        for j in range(d):
            total += memory.inverse[arm, i, j] * memory.products[arm, j]
        memory.slopes[arm, i] = total


@kernel
def regress(policy: "StateLibrary", memory: Memory, arm: int, reward: float, state: int, x: np.ndarray) -> None:
    """Learn an arm's slopes from a reward in a state, relative to the averages of that state and arm.

    v = x - average x,  e = reward - average reward,  w = n / (n + 1):  S += w v v',  s += w v e
    """
    cell, number = memory.cells[state, arm], memory.states[memory.core[0].best, state].id
    if cell.id != number:
        cell.id = number
        cell.count = cell.average = 0.0
        for i in range(policy.covariates):
            memory.cell_features[state, arm, i] = 0.0
    weight = cell.count / (cell.count + 1.0)
    for i in range(policy.covariates):
        v = weight * (x[i] - memory.cell_features[state, arm, i])
        memory.products[arm, i] += v * (reward - cell.average)
        for j in range(policy.covariates):
            memory.moments[arm, i, j] += v * (x[j] - memory.cell_features[state, arm, j])
    memory.regressed[arm] += 1.0
    cell.count += 1.0
    cell.average += (reward - cell.average) / cell.count
    for i in range(policy.covariates):
        memory.cell_features[state, arm, i] += (x[i] - memory.cell_features[state, arm, i]) / cell.count
    solve(policy, memory, arm)


@kernel
def set_priors(policy: "StateLibrary", memory: Memory) -> None:
    """Estimate how large slopes are, feature by feature (a step of expectation-maximisation): useless ones are shrunk to nothing.

    prior = (0.3 * (0.0325 range / noise)^2 + sum over arms of variance * (slope^2 / noise^2 + V)) / (0.3 + arms), of the arms learned from
    """
    noise = memory.noise[0].sd
    expected = _EFFECT * (memory.scale[0].high - memory.scale[0].low) / noise
    for j in range(policy.covariates):
        total, arms = 0.0, 0
        for arm in range(policy.arms):
            if memory.regressed[arm] > 0.0:  # an arm that was never played changes nothing for the others
                slope = memory.slopes[arm, j] / noise
                total += slope * slope + memory.inverse[arm, j, j]
                arms += 1
        seen = memory.features[j]
        seen.prior = (_WEIGHT * expected * expected + variance(seen) * total) / (_WEIGHT + arms)
    for arm in range(policy.arms):
        if memory.regressed[arm] > 0.0:
            solve(policy, memory, arm)


@kernel
def learn_slopes(policy: "StateLibrary", memory: Memory) -> None:
    """Learn slopes from the round that was learned a few rounds ago, in the state that the heaviest particle now believes it had."""
    core = memory.core[0]
    then = core.rounds - _LATER
    if then < 1:
        return
    seen, x = memory.history[(then - 1) % HISTORY], memory.history_features[(then - 1) % HISTORY]
    state = state_at(memory, core.best, seen.number)
    if state >= 0:
        regress(policy, memory, seen.first, seen.reward, state, x)
        if seen.second >= 0:
            regress(policy, memory, seen.second, seen.other, state, x)
    if core.rounds % _EVERY == 0:
        set_priors(policy, memory)


@kernel
def outdated(policy: "StateLibrary", memory: Memory) -> bool:
    """Return whether the past is to be learned again: slopes are now quite different from those that it was learned with."""
    core = memory.core[0]
    if core.rounds < 2 * max(core.retold, _SOON):
        return False
    total, rewards = 0.0, 0.0
    for arm in range(policy.arms):
        rewards += memory.regressed[arm]
        for j in range(policy.covariates):
            change = memory.slopes[arm, j] - memory.told_slopes[arm, j]
            total += memory.regressed[arm] * change * change * variance(memory.features[j])
    if total <= rewards * (_BETTER * memory.noise[0].sd) * (_BETTER * memory.noise[0].sd):
        return False
    core.retold = core.rounds
    for arm in range(policy.arms):
        for j in range(policy.covariates):
            memory.told_slopes[arm, j] = memory.slopes[arm, j]
    return True

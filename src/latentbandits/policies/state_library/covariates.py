"""Observed features: a linear effect on every arm's reward, learned beside the states, so that a calendar is not taken for a regime.

reward = mean of the arm in the present state + slope of the arm . (features - their average) + noise. The filter knows nothing of it: the
effect is subtracted before rewards are learned and added before arms are compared. Slopes are regressions *within* the states (Frisch and
Waugh): rewards and features relative to their averages in one state, so that a state which happens to coincide with a feature does
not bend its slope. The states are those of the heaviest particle a few rounds later, when it knows better.
"""

import math

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.library import state_at
from latentbandits.policies.state_library.memory import Covariates, Memory
from latentbandits.protocols import Record


@kernel
def count_features(features: np.ndarray, x: np.ndarray) -> None:
    """Count the features of a round: the last two, running averages and squares (Welford)."""
    for j in range(len(features)):
        feature = features[j]
        feature.before = feature.last
        feature.last = x[j]
        feature.count += 1
        far = x[j] - feature.average
        feature.average += far / feature.count
        feature.squares += far * (x[j] - feature.average)


@kernel
def bounded(feature: Record, x: float) -> float:
    """Return a feature, or the farthest from its average that counts: one that is absurd would bend all slopes."""
    if feature.count < constants.USUAL_ROUNDS or feature.squares <= 0.0:
        return x
    far = constants.FAR_FEATURE * math.sqrt(feature.squares / feature.count)
    return float(min(max(x, feature.average - far), feature.average + far))


@kernel
def variance(feature: Record) -> float:
    """Return the variance of a feature; 1 if it has not varied, which leaves its slope at zero."""
    return float(feature.squares / feature.count) if feature.squares > 0.0 else 1.0


@kernel
def effect(covariates: Covariates, arm: int, x: np.ndarray) -> float:
    """Return slope . (features - average) of an arm."""
    total = 0.0
    for j in range(len(covariates.features)):
        total += covariates.slopes[arm, j].value * (x[j] - covariates.features[j].average)
    return total


@kernel
def effect_variance(memory: Memory, arm: int, x: np.ndarray) -> float:
    """Return the variance of an arm's effect beyond that of its mean in the present state, in noise^2.

    u' V u + (0.2 range / noise)^2 / (n + 1) * mean of u_i^2 / variance_i;  u = features - the average features behind that mean
    V = diag(prior / variance) for an arm that was not learned from. The second part is for an arm whose slopes have learned from few
    rewards n: the prior is learned from other arms, and may say that a feature is useless which is so for them alone
    """
    covariates, library, scale = memory.covariates, memory.library, memory.standard.scale[0]
    features, number, best = covariates.features, len(covariates.features), library.core[0].best
    here, rewards = library.particles[best].here, covariates.rewards[arm]
    learned, cell, average = rewards > 0.0, covariates.cells[here, arm], covariates.cell_features[here, arm]
    known = learned and cell.id == library.states[best, here].id and cell.count > 0.0
    look = constants.LOOK * (scale.high - scale.low) / memory.standard.noise[0].sd
    look *= look / (rewards + 1.0) / number
    total = 0.0
    for i in range(number):
        feature = features[i]
        u = x[i] - (average[i] if known else feature.average)
        if feature.squares > 0.0:
            total += u * u * (look if learned else look + feature.prior) / variance(feature)
        for j in range(number if learned else 0):
            w = x[j] - (average[j] if known else features[j].average)
            total += u * covariates.pairs[arm, i, j].inverse * w
    return max(total, 0.0)


@kernel
def shrink_difference(covariates: Covariates, arm: int, difference: float, x: np.ndarray, earlier: bool) -> float:
    """Return the difference of two rewards without the effects of their features, as large as noise alone would make it.

    (difference - slope . dx) / sqrt(max(1 - dx' V dx / 2, 0.1)), since the slopes have learned from these rewards; dx is against the last
    reward, or against the one before that if it is `earlier`
    """
    features, less = covariates.features, 0.0
    for i in range(len(features)):
        dx = x[i] - (features[i].before if earlier else features[i].last)
        difference -= covariates.slopes[arm, i].value * dx
        for j in range(len(features)):
            other = x[j] - (features[j].before if earlier else features[j].last)
            less += dx * covariates.pairs[arm, i, j].inverse * other
    return difference / math.sqrt(max(1.0 - 0.5 * less, constants.LEAST_DIFFERENCE))


@kernel
def solve(covariates: Covariates, arm: int) -> None:
    """Set an arm's slopes: V = (S + diag(variance / prior))^-1 by Gauss and Jordan, slope = V s.

    The matrix is positive definite, so no pivoting is needed
    """
    features, pairs, slopes = covariates.features, covariates.pairs[arm], covariates.slopes[arm]
    d = len(features)
    for i in range(d):
        for j in range(d):
            pairs[i, j].inverse = pairs[i, j].moment
        pairs[i, i].inverse += variance(features[i]) / features[i].prior
    for k in range(d):
        pivot = 1.0 / pairs[k, k].inverse
        pairs[k, k].inverse = 1.0
        for j in range(d):
            pairs[k, j].inverse *= pivot
        for i in range(d):
            if i != k:
                factor = pairs[i, k].inverse
                pairs[i, k].inverse = 0.0
                for j in range(d):
                    pairs[i, j].inverse -= factor * pairs[k, j].inverse
    for i in range(d):
        total = 0.0
        for j in range(d):
            total += pairs[i, j].inverse * slopes[j].product
        slopes[i].value = total


@kernel
def regress(covariates: Covariates, arm: int, reward: float, state: int, state_id: int, x: np.ndarray) -> None:
    """Learn an arm's slopes from a reward in a state, relative to the averages of that state and arm.

    v = x - average x,  e = reward - average reward,  w = n / (n + 1):  S += w v v',  s += w v e
    """
    cell, average = covariates.cells[state, arm], covariates.cell_features[state, arm]
    d = len(average)
    if cell.id != state_id:
        cell.id = state_id
        cell.count = cell.average = 0.0
        for i in range(d):
            average[i] = 0.0
    weight = cell.count / (cell.count + 1.0)
    for i in range(d):
        v = weight * (x[i] - average[i])
        covariates.slopes[arm, i].product += v * (reward - cell.average)
        for j in range(d):
            covariates.pairs[arm, i, j].moment += v * (x[j] - average[j])
    covariates.rewards[arm] += 1.0
    cell.count += 1.0
    cell.average += (reward - cell.average) / cell.count
    for i in range(d):
        average[i] += (x[i] - average[i]) / cell.count
    solve(covariates, arm)


@kernel
def set_priors(covariates: Covariates, width: float, noise: float) -> None:
    """Estimate how large slopes are, feature by feature (a step of expectation-maximisation): useless ones are shrunk to nothing.

    prior = (0.3 * (0.0325 range / noise)^2 + sum over arms of variance * (slope^2 / noise^2 + V)) / (0.3 + arms), of the arms learned from
    """
    rewards = covariates.rewards
    expected = constants.SLOPE_EFFECT * width / noise
    for j in range(len(covariates.features)):
        total, arms = 0.0, 0
        for arm in range(len(rewards)):
            if rewards[arm] > 0.0:  # an arm that was never played changes nothing for the others
                slope = covariates.slopes[arm, j].value / noise
                total += slope * slope + covariates.pairs[arm, j, j].inverse
                arms += 1
        feature = covariates.features[j]
        feature.prior = (constants.SLOPE_ARMS * expected * expected + variance(feature) * total) / (
            constants.SLOPE_ARMS + arms
        )
    for arm in range(len(rewards)):
        if rewards[arm] > 0.0:
            solve(covariates, arm)


@kernel
def learn_slopes(memory: Memory) -> None:
    """Learn slopes from the round that was learned a few rounds ago, in the state that the heaviest particle now believes it had."""
    library, covariates, rounds = memory.library, memory.covariates, memory.core[0].rounds
    then = rounds - constants.SLOPE_AGE
    if then < 1:
        return
    seen, x = (
        memory.history.rounds[(then - 1) % constants.HISTORY],
        memory.history.features[(then - 1) % constants.HISTORY],
    )
    best = library.core[0].best
    state = state_at(library, best, seen.number)
    if state >= 0:
        state_id = library.states[best, state].id
        regress(covariates, seen.first, seen.reward, state, state_id, x)
        if seen.second >= 0:
            regress(covariates, seen.second, seen.other, state, state_id, x)
    if rounds % constants.SLOPE_EVERY == 0:
        scale = memory.standard.scale[0]
        set_priors(covariates, scale.high - scale.low, memory.standard.noise[0].sd)


@kernel
def outdated(core: Record, covariates: Covariates, sd: float) -> bool:
    """Return whether the past is to be learned again: slopes are now quite different from those that it was learned with."""
    if core.rounds < 2 * max(core.retold, constants.RETELL_FROM):
        return False
    slopes = covariates.slopes
    total, rewards = 0.0, 0.0
    for arm in range(slopes.shape[0]):
        rewards += covariates.rewards[arm]
        for j in range(slopes.shape[1]):
            change = slopes[arm, j].value - slopes[arm, j].told
            total += covariates.rewards[arm] * change * change * variance(covariates.features[j])
    if total <= rewards * (constants.RETELL_CHANGE * sd) * (constants.RETELL_CHANGE * sd):
        return False
    core.retold = core.rounds
    for arm in range(slopes.shape[0]):
        for j in range(slopes.shape[1]):
            slopes[arm, j].told = slopes[arm, j].value
    return True

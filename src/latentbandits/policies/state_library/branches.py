"""Branches: the ways in which particles can go on after a reward, weighed by Bayes' rule, and which of them are kept."""

import math
from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.noise import few_values
from latentbandits.policies.state_library.memory import OTHERS, Memory
from latentbandits.policies.state_library.transitions import hazard, predict_change
from latentbandits.protocols import Record

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary

_ROOT = math.sqrt(2.0 * math.pi)
_IMPOSSIBLE = 25.0  # beyond this exponent a change to a remembered state is not considered
FAR = 4.5  # below this exponent, three standard deviations, a reward is no outlier
# Rewards that are yes or no count by half in a state never seen, so that a new state is not too easily believed
_NOVEL = 0.5
_SURE = 0.01  # no range that is given makes yes or no less likely than this
_LEAST = 60.0  # the largest exponent: no likelihood is below exp(-60), so that one outlier cannot kill all particles
_STEPS = 32.0
_DECAY = np.exp(-np.arange(int(_LEAST * _STEPS) + 2) / _STEPS)
# Where a branch goes that does not change its state: the reward is an outlier, it belongs to the present state, or to one before it
OUTLIER, HERE, BEFORE = -1, -2, -3


@kernel
def decay(x: float) -> float:
    """Return exp(-x) for x from 0 to 60, right to 11 digits and twice as fast as the library's.

    exp(-x) = exp(-i/32) * exp(r) with i the integer nearest to 32 x and r = i/32 - x; exp(r) by five terms of its series
    """
    i = int(x * _STEPS + 0.5)
    r = i / _STEPS - x
    return float(_DECAY[i] * (1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0))))))


@kernel
def outlying(scale: Record, particle: Record, second: int) -> float:
    """Return the likelihood of an outlier: anywhere in the range, as frequent as outliers have been; on the scale of `fit`.

    sqrt(2 pi) / (high - low) * (outliers + 0.01) / (rounds + 100)
    """
    even = _ROOT / (scale.high - scale.low)
    share = (particle.outliers + 0.01) / (particle.stays + particle.changes + 100.0)
    return float(share * even * even if second >= 0 else share * even)


@kernel
def yes_or_no(policy: "StateLibrary", memory: Memory) -> bool:
    """Return whether rewards are yes or no: two values in all, and one group."""
    return bool(policy.groups == 1 and memory.scale[0].values == 2 and few_values(memory.noise[0]))


@kernel
def guess(policy: "StateLibrary", scale: Record, reward: float) -> float:
    """Return the probability of one of two rewards where nothing is known: even, or as the middle of a range that is given says."""
    share = 0.5
    if policy.high > policy.low:
        share = min(max((scale.centre - scale.least) / (scale.most - scale.least), _SURE), 1.0 - _SURE)
    return float(share if reward >= 0.5 * (scale.least + scale.most) else 1.0 - share)


@kernel
def frequency(policy: "StateLibrary", scale: Record, mean: Record, reward: float) -> float:
    """Return the probability of one of two rewards in a state, by the share of the state's n rewards of that arm that were the same.

    (n * share + 2 * guess) / (n + 2); the effect of features, which was taken off the reward, is added to the share
    """
    yes = reward >= 0.5 * (scale.least + scale.most)
    effect = 0.0
    if policy.covariates > 0:
        effect = (scale.most if yes else scale.least) - reward
    share = (mean.average + effect - scale.least) / (scale.most - scale.least)
    if not yes:
        share = 1.0 - share
    return float((mean.count * min(max(share, 0.0), 1.0) + 2.0 * guess(policy, scale, reward)) / (mean.count + 2.0))


@kernel
def fit(
    policy: "StateLibrary",
    memory: Memory,
    slot: int,
    k: int,
    first: int,
    reward: float,
    group: int,
    second: int,
    other: float,
) -> tuple[float, float]:
    """Return how well a state explains the rewards of one arm or two, and its exponent; k = -1 if nothing is known about the state."""
    blank = k < 0
    mean = memory.means[slot, max(k, 0), first]
    if yes_or_no(policy, memory):
        return _NOVEL * guess(policy, memory.scale[0], reward) if blank else frequency(
            policy, memory.scale[0], mean, reward
        ), 0.0
    table = memory.gaussians[group, 0 if blank else mean.count]
    far = reward - (memory.scale[0].centre if blank else mean.average)
    height, exponent = table.height, far * far * table.precision
    if second >= 0:
        mean = memory.means[slot, max(k, 0), second]
        table = memory.gaussians[OTHERS, 0 if blank else mean.count]
        far = other - (memory.scale[0].centre if blank else mean.average)
        height *= table.height
        exponent += far * far * table.precision
    return float(height * decay(min(exponent, _LEAST))), float(exponent)


@kernel
def put(branch: Record, parent: int, to: int, chance: float) -> float:
    """Write a branch; returns its weight."""
    branch.parent = parent
    branch.to = to
    branch.chance = chance
    return chance


@kernel
def branch(
    policy: "StateLibrary", memory: Memory, first: int, reward: float, group: int, second: int, other: float
) -> tuple[int, float]:
    """Weigh all branches of all particles, given the rewards of one arm or (`second` is not -1) two; returns their number and their sum.

    weight * stay              * fit(reward, mean in z)     the state z stays
    weight * (1 - stay) * p(k) * fit(reward, mean in k)     it changes to k
    weight * (1 - stay) * p(new) * fit(reward, centre)      it changes to a new state
    weight * stay * outlying                                the state stays, and the reward is an outlier, far from the mean in z
    fit(reward, mean) = exp(-(reward - mean)^2 / (2 variance)) / sqrt(variance), see `set_gaussians`, and p in `set_leaving`

    Rewards that are yes or no have no bell: there `fit` is how frequent the reward is, see `frequency`, and no outliers
    """
    centre = memory.scale[0].centre
    far = reward - centre
    unseen = memory.gaussians[group, 0].height * decay(min(far * far * memory.gaussians[group, 0].precision, _LEAST))
    if second >= 0:
        far = other - centre
        fit = memory.gaussians[OTHERS, 0]
        unseen *= fit.height * decay(min(far * far * fit.precision, _LEAST))
    binary = yes_or_no(policy, memory)
    if binary:
        unseen = _NOVEL * guess(policy, memory.scale[0], reward)
    outliers = not few_values(memory.noise[0])
    number, total = 0, 0.0
    for i in range(memory.core[0].live):
        slot = memory.slots[i]
        particle = memory.particles[slot]
        z, known = particle.here, particle.known
        predict_change(policy, memory, slot, memory.core[0].now)
        stay = 1.0 - hazard(policy, memory, slot, memory.core[0].now)
        going = particle.weight * (1.0 - stay)
        by_entry, by_move = going * particle.by_entry, going * particle.by_move
        staying_weight = particle.weight * stay
        apart = 0.0
        for k in range(known):
            mean = memory.means[slot, k, first]
            fit = memory.gaussians[group, mean.count]
            far = reward - mean.average
            exponent = far * far * fit.precision
            like = fit.height
            if binary:
                like, exponent = frequency(policy, memory.scale[0], mean, reward), 0.0
            if exponent > _IMPOSSIBLE and k != z:
                continue
            if second >= 0:
                mean = memory.means[slot, k, second]
                fit = memory.gaussians[OTHERS, mean.count]
                far = other - mean.average
                exponent += far * far * fit.precision
                if exponent > _IMPOSSIBLE and k != z:
                    continue
                like *= fit.height
            like *= decay(min(exponent, _LEAST))
            if k == z:
                apart = exponent
                like *= staying_weight
            else:
                like *= by_entry * memory.states[slot, k].entered + by_move * memory.moves[slot, z, k]
            total += put(memory.branches[number], slot, k, like)
            number += 1
        total += put(memory.branches[number], slot, known, going * particle.novel * unseen)
        number += 1
        if outliers and apart > FAR:
            total += put(
                memory.branches[number], slot, OUTLIER, staying_weight * outlying(memory.scale[0], particle, second)
            )
            number += 1
    return number, total


@kernel
def higher_cut(branches: np.ndarray, heavy: np.ndarray, number: int, total: float, most: int, cut: float) -> float:
    """Return the cut of the pruning, or a higher one if that is needed to keep at most so many, see `prune`.

    What is above it is counted without jumps, which nobody could predict.
    """
    big, small = 0, 0.0
    for i in range(number):
        chance = branches[i].chance
        heavy[big] = chance
        big += chance > cut
        small += 0.0 if chance > cut else chance
    if big >= most or big * cut + small > (most - 1) * cut:
        # The cut at which most - 1 are kept on average; it falls from step to step as more are above it, but never to the floor
        candidates, below = big, small
        before, big, small = -1, 0, total
        while before < big < most - 1:
            before = big
            cut = small / (most - 1 - big)
            big, small = 0, below
            for i in range(candidates):
                big += heavy[i] > cut
                small += 0.0 if heavy[i] > cut else heavy[i]
    return cut


@kernel
def prune(
    branches: np.ndarray, heavy: np.ndarray, number: int, total: float, most: int, floor: float, u: float
) -> tuple[int, float]:
    """Keep a few of many branches, with the sum `total`, without bias (Fearnhead & Clifford 2003), in place; returns number and sum.

    Those above a cut c keep their weight w. The others are kept with probability w / c and then weigh c, by one systematic sweep
    with the uniform number `u`. `heavy` is scratch space::

        c = floor * sum(w), or higher so that at most `most` are kept: (number of w > c) + sum(w <= c) / c = most - 1
    """
    cut = floor * total
    if number > most:
        cut = higher_cut(branches, heavy, number, total, most, cut)
    left = u * cut
    kept, total = 0, 0.0
    for i in range(number):
        weight = branches[i].chance
        if weight <= cut:
            left -= weight
            if left >= 0.0:
                continue
            left += cut
            weight = cut
        total += put(branches[kept], branches[i].parent, branches[i].to, weight)
        kept += 1
    return kept, total

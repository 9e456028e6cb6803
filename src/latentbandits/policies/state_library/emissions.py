"""Emissions: how probable the rewards of a round are in a state, and what the state learns from them.

Rewards are numbers around a mean, or nothing and amounts, by evidence (`amounts`). A state remembers of an arm the mean of its rewards
and their number, the share of amounts and how large they were.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.noise import few_values
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.amounts import chance_of, pays_amounts, size_density, spread_of
from latentbandits.policies.state_library.memory import ONE, OTHERS, Standard
from latentbandits.protocols import Record

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary

GAUSSIAN, AMOUNTS = 0, 1
_ROOT = math.sqrt(2.0 * math.pi)
_LOG_ROOT = math.log(_ROOT)
_DECAY = np.exp(-np.arange(int(constants.LARGEST_EXPONENT * constants.DECAY_STEPS) + 2) / constants.DECAY_STEPS)


class Outcome(NamedTuple):
    """The rewards of a round: those of one arm, or of two if groups played different ones."""

    first: int
    reward: float  # the mean of the set of groups `group`
    second: int  # the arm of all groups but the first, -1 for none, and their mean reward
    other: float
    group: int  # ONE or ALL
    hits: int  # how many rewards of the first set were amounts, the mean of their logarithms, and the effect of features that was taken off
    amount: float
    effect: float
    other_hits: int  # and of the other set
    other_amount: float
    other_effect: float


class Emission(NamedTuple):
    """What rewards are like."""

    kind: int  # GAUSSIAN, or AMOUNTS for rewards that are nothing or an amount
    gaussians: np.ndarray  # see `memory.Standard`
    centre: float  # of the range of means, and its width
    width: float
    usual: np.ndarray  # what is nothing, and what each arm's amounts are
    amounts: np.ndarray
    groups: int
    outliers: bool  # whether a reward may be one: not if rewards have a few values only
    ranged: bool  # whether the range was given rather than learned
    shifted: bool  # whether the effect of features was taken off the rewards


@kernel
def emission_of(policy: "StateLibrary", standard: Standard) -> Emission:
    """Return what rewards are like, by those seen so far."""
    scale = standard.scale[0]
    return Emission(
        AMOUNTS if pays_amounts(standard) else GAUSSIAN,
        standard.gaussians,
        scale.centre,
        scale.high - scale.low,
        standard.usual,
        standard.amounts,
        policy.groups,
        not few_values(standard.noise[0]),
        policy.high > policy.low,
        policy.covariates > 0,
    )


@kernel
def size_of(group: int, groups: int) -> int:
    """Return the number of groups in a set of them."""
    return 1 if group == ONE else groups - 1 if group == OTHERS else groups


@kernel
def set_gaussians(standard: Standard, groups: int) -> None:
    """Tabulate, by the number n of rewards behind a mean, everything that depends on the noise and the spread of means.

    prior        = (noise / spread)^2                        rewards that the prior of a mean is worth
    deviation[n] = noise / sqrt(n + prior)                   of the mean itself
    variance     = noise^2 * (1/size + 1/(n + prior))        of the mean reward of a set of `size` groups
    gain         = size / (n + size + prior)                 weight of that reward in the new posterior mean
    """
    noise = standard.noise[0].sd
    prior = (noise / standard.scale[0].spread) * (noise / standard.scale[0].spread)
    for n in range(constants.MOST_REWARDS + 1):
        standard.deviation[n] = noise / math.sqrt(n + prior)
        for group in range(1 if groups == 1 else 3):  # one group is all of them, and there is no other set
            size = size_of(group, groups)
            variance = noise * noise * (1.0 / size + 1.0 / (n + prior))
            row = standard.gaussians[group, n]
            row.precision = 0.5 / variance
            row.height = 1.0 / math.sqrt(variance)
            row.gain = size / (n + size + prior)


@kernel
def decay(x: float) -> float:
    """Return exp(-x) for x from 0 to 60, right to 11 digits and twice as fast as the library's.

    exp(-x) = exp(-i/32) * exp(r) with i the integer nearest to 32 x and r = i/32 - x; exp(r) by five terms of its series
    """
    i = int(x * constants.DECAY_STEPS + 0.5)
    r = i / constants.DECAY_STEPS - x
    return float(_DECAY[i] * (1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0))))))


@kernel
def likelihood(height: float, exponent: float) -> float:
    """Return height * exp(-exponent), for an exponent of at most 60."""
    return float(height * decay(min(exponent, constants.LARGEST_EXPONENT)))


@kernel
def guess_of(emission: Emission, arm: int) -> float:
    """Return the share of amounts of an arm where nothing is known: even, or as the middle of a range that is given says."""
    mine, usual = emission.amounts[arm], emission.usual[0]
    gap = mine.paid - usual.value if mine.hits > 0 else 0.0
    if not emission.ranged or gap == 0.0:
        return constants.GUESS
    return float(min(max((emission.centre - usual.value) / gap, constants.LEAST_GUESS), 1.0 - constants.LEAST_GUESS))


@kernel
def amounts_predictive(
    emission: Emission, mean: Record, known: bool, arm: int, group: int, effect: float, hits: int, size: float
) -> tuple[float, float]:
    """Return the probability of nothing or an amount from some groups, see `amounts`, as a height and an exponent.

    The effect of features, which was taken off the reward, is added to the share
    """
    mine, usual = emission.amounts[arm], emission.usual[0]
    share, count = mean.share, float(mean.count) if known else 0.0
    gap = mine.paid - usual.value if mine.hits > 0 else 0.0
    if emission.shifted and gap != 0.0:
        share = (mean.average + effect - usual.value) / gap
    size_of_set = size_of(group, emission.groups)
    height, exponent = chance_of(share, count, guess_of(emission, arm), hits, size_of_set), 0.0
    if not known:
        height *= constants.NEW_BINARY
    spread = spread_of(mine)
    if hits > 0 and spread > 0.0:
        density, exponent = size_density(mine, spread, mean.amount, count * mean.share, size, hits)
        height *= density
    return height, exponent


@kernel
def predictive(emission: Emission, means: np.ndarray, known: bool, outcome: Outcome) -> tuple[float, float]:
    """Return the probability of a round's rewards in a state with these means of the arms, as a height and an exponent.

    `known` is false for a state that nothing is known about, whatever the means. Gaussian, without the factor 1 / sqrt(2 pi)::

        exp(-(reward - mean)^2 / (2 variance)) / sqrt(variance), see `set_gaussians`
    """
    first = means[outcome.first]
    average, count = (first.average, first.count) if known else (emission.centre, 0)
    if emission.kind == AMOUNTS:
        arm, hits, size = outcome.first, outcome.hits, outcome.amount
        height, exponent = amounts_predictive(emission, first, known, arm, outcome.group, outcome.effect, hits, size)
        if outcome.second >= 0:
            arm, hits, size = outcome.second, outcome.other_hits, outcome.other_amount
            more, far = amounts_predictive(emission, means[arm], known, arm, OTHERS, outcome.other_effect, hits, size)
            height *= more
            exponent += far
        return height, exponent
    row = emission.gaussians[outcome.group, count]
    far = outcome.reward - average
    height, exponent = row.height, far * far * row.precision
    if outcome.second >= 0:
        second = means[outcome.second]
        average, count = (second.average, second.count) if known else (emission.centre, 0)
        row = emission.gaussians[OTHERS, count]
        far = outcome.other - average
        height *= row.height
        exponent += far * far * row.precision
    return float(height), float(exponent)


@kernel
def first_of(outcome: Outcome) -> Outcome:
    """Return the rewards of the first set of groups alone."""
    return Outcome(
        outcome.first,
        outcome.reward,
        -1,
        0.0,
        outcome.group,
        outcome.hits,
        outcome.amount,
        outcome.effect,
        0,
        0.0,
        0.0,
    )


@kernel
def second_of(outcome: Outcome) -> Outcome:
    """Return the rewards of the other set of groups alone."""
    return Outcome(
        outcome.second,
        outcome.other,
        -1,
        0.0,
        OTHERS,
        outcome.other_hits,
        outcome.other_amount,
        outcome.other_effect,
        0,
        0.0,
        0.0,
    )


@kernel
def new_predictive(emission: Emission, means: np.ndarray, outcome: Outcome) -> float:
    """Return the probability of a round's rewards in a new state: that of the one arm times that of the other."""
    first = first_of(outcome)
    height, exponent = predictive(emission, means, False, first)
    chance = likelihood(height, exponent)
    if outcome.second >= 0:
        height, exponent = predictive(emission, means, False, second_of(outcome))
        chance *= likelihood(height, exponent)
    return float(chance)


@kernel
def outlying(emission: Emission, particle: Record, second: int) -> float:
    """Return the probability of an outlier: anywhere in the range, as frequent as outliers have been; on the scale of `predictive`.

    sqrt(2 pi) / (high - low) * (outliers + 0.01) / (rounds + 100)
    """
    even = _ROOT / emission.width
    share = (particle.outliers + constants.OUTLIERS) / (particle.stays + particle.changes + constants.OUTLIER_ROUNDS)
    return float(share * even * even if second >= 0 else share * even)


@kernel
def log_sizes(arm: Record, hits: int, size: float) -> float:
    """Return what a density of amounts is less than that of their logarithms in units of their spread, as a logarithm."""
    spread = spread_of(arm)
    return _LOG_ROOT + math.log(spread) + size if hits > 0 and spread > 0.0 else 0.0


@kernel
def log_density(emission: Emission, outcome: Outcome, total: float) -> float:
    """Return the logarithm of a probability of rewards on the scale of `predictive`, with the factor that is left out there."""
    if emission.kind == AMOUNTS:
        found = math.log(total) - log_sizes(emission.amounts[outcome.first], outcome.hits, outcome.amount)
        if outcome.second >= 0:
            found -= log_sizes(emission.amounts[outcome.second], outcome.other_hits, outcome.other_amount)
        return found
    return math.log(total) - (_LOG_ROOT if outcome.second < 0 else 2.0 * _LOG_ROOT)


@kernel
def update(mean: Record, gaussians: np.ndarray, reward: float, size: int, hits: int, amount: float) -> None:
    """Add the mean reward of a set of groups of some size to the mean of an arm in a state, and their amounts.

    mean <- mean + gain[n] * (reward - mean);  share <- (n * share + hits) / (n + size);  n <- min(n + size, 512)
    """
    mean.average += (reward - mean.average) * gaussians[mean.count].gain
    before = mean.share * mean.count
    mean.share = (before + hits) / (mean.count + size)
    if hits > 0:
        mean.amount += (amount - mean.amount) * hits / (before + hits)
    mean.count = min(mean.count + size, constants.MOST_REWARDS)


@kernel
def add(means: np.ndarray, groups: int, gaussians: np.ndarray, outcome: Outcome) -> None:
    """Add the rewards of a round to the means of a state."""
    size = size_of(outcome.group, groups)
    update(means[outcome.first], gaussians[outcome.group], outcome.reward, size, outcome.hits, outcome.amount)
    if outcome.second >= 0:
        mean = means[outcome.second]
        update(mean, gaussians[OTHERS], outcome.other, groups - 1, outcome.other_hits, outcome.other_amount)

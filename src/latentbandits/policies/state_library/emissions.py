"""Emissions: how probable the rewards of a round are in a state, and what the state learns from them.

A new kind of reward needs a number for `Emission.kind`, a case in `emission_of` that says when it applies, and one in `predictive`. What a
state remembers of an arm is the mean of its rewards and their number, for every kind.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.noise import few_values
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.memory import ONE, OTHERS, Standard
from latentbandits.protocols import Record

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary

GAUSSIAN, BERNOULLI = 0, 1
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


class Emission(NamedTuple):
    """What rewards are like."""

    kind: int  # GAUSSIAN, or BERNOULLI for rewards that are yes or no
    gaussians: np.ndarray  # see `memory.Standard`
    centre: float  # of the range of means, and its width
    width: float
    least: float  # reward seen, and the highest
    most: float
    outliers: bool  # whether a reward may be one: not if rewards have a few values only
    ranged: bool  # whether the range was given rather than learned
    shifted: bool  # whether the effect of features was taken off the rewards


@kernel
def is_binary(groups: int, standard: Standard) -> bool:
    """Return whether rewards are yes or no: two values in all, and one group."""
    return bool(groups == 1 and standard.scale[0].values == 2 and few_values(standard.noise[0]))


@kernel
def emission_of(policy: "StateLibrary", standard: Standard) -> Emission:
    """Return what rewards are like, by those seen so far."""
    scale = standard.scale[0]
    return Emission(
        BERNOULLI if is_binary(policy.groups, standard) else GAUSSIAN,
        standard.gaussians,
        scale.centre,
        scale.high - scale.low,
        scale.least,
        scale.most,
        not few_values(standard.noise[0]),
        policy.high > policy.low,
        policy.covariates > 0,
    )


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
            size = 1 if group == ONE else groups - 1 if group == OTHERS else groups
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
def bernoulli_predictive(emission: Emission, average: float, count: int, reward: float) -> float:
    """Return the probability of one of two rewards, by the share of the n rewards behind a mean that were the same.

    (n * share + 2 * guess) / (n + 2); the guess is even, or as the middle of a range that is given says. The effect of features, which was
    taken off the reward, is added to the share
    """
    least, most, effect, guess = emission.least, emission.most, 0.0, 0.5
    yes = reward >= 0.5 * (least + most)
    if emission.shifted:
        effect = (most if yes else least) - reward
    share = (average + effect - least) / (most - least)
    if emission.ranged:
        guess = min(max((emission.centre - least) / (most - least), constants.LEAST_GUESS), 1.0 - constants.LEAST_GUESS)
    if not yes:
        share, guess = 1.0 - share, 1.0 - guess
    return float(
        (count * min(max(share, 0.0), 1.0) + constants.BINARY_REWARDS * guess) / (count + constants.BINARY_REWARDS)
    )


@kernel
def predictive(emission: Emission, means: np.ndarray, known: bool, outcome: Outcome) -> tuple[float, float]:
    """Return the probability of a round's rewards in a state with these means of the arms, as a height and an exponent.

    `known` is false for a state that nothing is known about, whatever the means. Gaussian, without the factor 1 / sqrt(2 pi)::

        exp(-(reward - mean)^2 / (2 variance)) / sqrt(variance), see `set_gaussians`
    """
    first = means[outcome.first]
    average, count = (first.average, first.count) if known else (emission.centre, 0)
    if emission.kind == BERNOULLI:
        share = bernoulli_predictive(emission, average, count, outcome.reward)
        return share if known else constants.NEW_BINARY * share, 0.0
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
def new_predictive(emission: Emission, means: np.ndarray, outcome: Outcome) -> float:
    """Return the probability of a round's rewards in a new state: that of the one arm times that of the other."""
    first = Outcome(outcome.first, outcome.reward, -1, 0.0, outcome.group)
    height, exponent = predictive(emission, means, False, first)
    chance = likelihood(height, exponent)
    if outcome.second >= 0:
        height, exponent = predictive(emission, means, False, Outcome(outcome.second, outcome.other, -1, 0.0, OTHERS))
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
def log_density(emission: Emission, outcome: Outcome, total: float) -> float:
    """Return the logarithm of a probability of rewards on the scale of `predictive`, with the factor that is left out there."""
    if emission.kind == BERNOULLI:
        return math.log(total)
    return math.log(total) - (_LOG_ROOT if outcome.second < 0 else 2.0 * _LOG_ROOT)


@kernel
def update(mean: Record, gaussians: np.ndarray, reward: float, size: int) -> None:
    """Add the mean reward of a set of groups of some size to the mean of an arm in a state.

    mean <- mean + gain[n] * (reward - mean);  n <- min(n + size, 512)
    """
    mean.average += (reward - mean.average) * gaussians[mean.count].gain
    mean.count = min(mean.count + size, constants.MOST_REWARDS)

"""The noise of rewards, learned while the state behind them changes unseen.

Two rewards of one arm in a row differ by noise alone, unless the state changed in between. So differences are a mixture: half-normal
with scale ``sqrt(2) * noise``, and a rare rest of any size, modelled as uniform. Their sizes are counted in bins of 10 % around the first
one that was not zero: a memory of fixed size for any number of rounds and any scale of rewards. With few pairs, and at first, the noise
follows from the lower quartile, which the rest hardly touches; with many, a few steps of expectation-maximisation separate the two parts.
"""

import math

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.protocols import Record, record_type

_BINS = 300
_MIDDLE = _BINS // 2
_RATIO = 1.1
_LOG_RATIO = math.log(_RATIO)
_QUARTILE = 0.45062  # the lower quartile of |x - y| for two standard normal numbers
FEW_PAIRS = 32  # fewer go by the lower quartile; so many can show that a state alternates
# Standard deviation of rewards of two values that are 1 apart; it is 0.5 where both are equally frequent
TWO_VALUES = 0.45
EM_STEPS = 6  # per estimate, from where the last ended
FADE_PAIRS = 2048  # pairs at which all counts are halved, where that is asked for
TIED = 0.05  # share of differences that are zero, beyond which rewards have a few values only
_TIE = 1e-100  # the square of anything smaller underflows
CALM_PAIRS = 30.0  # pairs without a change that the prior is worth

# Before any reward the noise is assumed to be a tenth of the spread of the means, with the weight of two pairs of rewards.
_GUESS, _GUESS_PAIRS = 0.1, 2.0

# What is remembered about the noise, to be kept as an array with one row:
Noise = record_type(
    sd=float,  # the standard deviation of one group's reward
    last_arm=int,  # the arm of the last round, -1 before the first
    last_reward=float,
    pairs=int,  # differences counted
    ties=int,  # those that were zero
    squares=float,  # their sum of squares
    first=float,  # the first one that was not zero
    largest=float,
    low=int,  # lowest and highest bin in use
    high=int,
    raw=float,  # the last estimate without the prior, and the share of pairs without a change
    share=float,
    bins=(float, _BINS),  # how many differences fell into each bin
)


@kernel
def start_noise(noise: Record, given: float, spread: float) -> None:
    """Fill in the record before the first round: the noise that is given, or (if that is 0) a share of the means' spread."""
    noise.sd = given if given > 0.0 else _GUESS * spread
    noise.last_arm = -1


def fresh_noise(given: float, spread: float = 0.0) -> np.ndarray:
    """Return an array with one row, the record before the first round."""
    noise = np.zeros(1, Noise)
    start_noise(noise[0], given, spread)
    return noise


@kernel
def count_pair(noise: Record, difference: float) -> bool:
    """Count the difference of two rewards of one arm; returns whether a new estimate of the noise is due."""
    size = abs(difference)
    if size < _TIE:
        size = 0.0
    noise.pairs += 1
    noise.squares += size * size
    if size == 0.0:
        noise.ties += 1
    else:
        if noise.first == 0.0:
            noise.first = size
            noise.low = noise.high = _MIDDLE
        place = min(max(math.floor(math.log(size / noise.first) / _LOG_RATIO) + _MIDDLE, 0), _BINS - 1)
        noise.bins[place] += 1
        noise.low = min(noise.low, place)
        noise.high = max(noise.high, place)
        noise.largest = max(noise.largest, size)
    pairs = noise.pairs
    return bool(pairs <= 16 or (pairs <= 128 and pairs % 32 == 0) or pairs % 256 == 0)


@kernel
def fade(noise: Record) -> None:
    """Halve all counts when there are many: what was long ago matters less."""
    if noise.pairs < FADE_PAIRS:
        return
    noise.pairs //= 2
    noise.ties //= 2
    noise.squares *= 0.5
    for place in range(noise.low, noise.high + 1):
        noise.bins[place] *= 0.5


@kernel
def forget_differences(noise: Record, value: float) -> None:
    """Take all differences so far for ties, of rewards with a value."""
    noise.ties, noise.last_reward = noise.pairs, value
    noise.squares = noise.first = noise.largest = noise.raw = noise.share = 0.0
    for place in range(noise.low, noise.high + 1):
        noise.bins[place] = 0.0
    noise.low = noise.high = 0


@kernel
def few_values(noise: Record) -> bool:
    """Return whether rewards have a few values only, such as 0 and 1: many differences are zero."""
    return bool(noise.ties > TIED * noise.pairs)


@kernel
def advantage(noise: Record, plain: float) -> float:
    """Return by how much (log likelihood) the mixture that was estimated last explains the differences better than noise alone.

    sum over differences of log(share * half-normal(noise) + (1 - share) / largest) - log half-normal(plain)
    """
    sd, share = noise.raw, noise.share
    rest = (1.0 - share) * math.sqrt(math.pi) / noise.largest
    total = 0.0
    size = noise.first * math.exp(_LOG_RATIO * (noise.low - _MIDDLE + 0.5))
    for place in range(noise.low, noise.high + 1):
        if noise.bins[place] > 0:
            like = share / sd * math.exp(-0.25 * (size / sd) * (size / sd)) + rest
            alone = -0.25 * (size / plain) * (size / plain) - math.log(plain)
            total += noise.bins[place] * (math.log(like) - alone)
        size *= _RATIO
    return total


@kernel
def estimate(noise: Record, expected: float, weight: float) -> float:
    """Return the noise: `expected` counts as much as `weight` pairs, on the scale of logarithms (0 if nothing is known)."""
    pairs = float(noise.pairs)
    if noise.largest == 0.0:  # ties alone: the more of them, the less noise
        return float(expected * min(1.0, FEW_PAIRS / max(pairs, 1.0)))
    if few_values(noise):
        raw = math.sqrt(0.5 * noise.squares / pairs)
        if noise.low == noise.high and noise.ties < 0.95 * pairs:  # of two values: mostly about equally frequent
            raw = max(raw, TWO_VALUES * noise.largest)
    elif pairs < FEW_PAIRS or noise.raw == 0.0:  # the first estimate may come late
        raw = _lower_quartile(noise) / _QUARTILE
        noise.share = 0.9
    else:
        raw = _separated(noise)
    noise.raw = raw
    if expected <= 0.0 or weight <= 0.0:
        return raw
    return math.exp((pairs * math.log(raw) + weight * math.log(expected)) / (pairs + weight))


@kernel
def _lower_quartile(noise: Record) -> float:
    left = 0.25 * (noise.pairs - 1.0) - noise.ties
    place = noise.low
    while place < noise.high:
        left -= noise.bins[place]
        if left < 0.0:
            break
        place += 1
    return float(noise.first * math.exp(_LOG_RATIO * (place - _MIDDLE + 0.5)))


@kernel
def _separated(noise: Record) -> float:
    """Return the noise after some steps of expectation-maximisation from where the last ones ended."""
    sd, share = noise.raw, noise.share
    bins = noise.bins
    smallest = noise.first * math.exp(_LOG_RATIO * (noise.low - _MIDDLE + 0.5))
    for _ in range(EM_STEPS):
        # densities times the largest difference, over which the rest is uniform
        peak = share * noise.largest / (math.sqrt(math.pi) * sd)
        ours = noise.ties * peak / (peak + 1.0 - share)
        squares = 0.0
        size = smallest
        for place in range(noise.low, noise.high + 1):
            if bins[place] > 0:
                like = peak * math.exp(-0.25 * (size / sd) * (size / sd))
                mine = bins[place] * like / (like + 1.0 - share)
                ours += mine
                squares += mine * size * size
            size *= _RATIO
        if squares > 0.0:
            sd = math.sqrt(0.5 * squares / ours)
        share = (ours + CALM_PAIRS) / (noise.pairs + CALM_PAIRS + 1.0)
    noise.share = share
    return float(sd)


@kernel
def mean_of_round(
    noise: Record, given: float | bool, spread: float, groups: int, arm: int, rewards: np.ndarray
) -> float:
    """Return the mean reward of a round, after learning the noise from it unless it is given.

    The noise follows from two groups that played the same arm, or from this round and the one before if they had the same arm.
    """
    if not given:
        due = False
        if groups > 1:
            due = count_pair(noise, rewards[0] - rewards[1])
        elif noise.last_arm == arm:
            due = count_pair(noise, rewards[0] - noise.last_reward)
        noise.last_arm = arm
        noise.last_reward = rewards[0]
        if due:
            noise.sd = estimate(noise, _GUESS * spread, _GUESS_PAIRS)
    total = 0.0
    for group in range(groups):
        total += rewards[group]
    return total / groups

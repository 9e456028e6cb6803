"""The noise of rewards, learned while the state behind them changes unseen.

Two rewards of one arm in a row differ by noise alone, unless the state changed in between. So differences are a mixture: half-normal
with scale ``sqrt(2) * noise``, and a rare rest of any size, taken as uniform. Their sizes are counted in bins of 10 % around the first
one that was not zero: a fixed memory, whatever the number of rounds and the scale of the rewards. With few pairs the noise follows from
the lower quartile, which the rest hardly touches; with many, a few steps of expectation-maximisation separate the two parts.
"""

import math
from typing import Any

import numpy as np

from latentbandits.compiled import kernel

BINS = 300
# Slots of `tally`
PAIRS, TIES, SQUARES, FIRST, LARGEST, LOW, HIGH, RAW, SHARE = range(9)
TALLIES = 9

_RATIO = 1.1
_LOG_RATIO = math.log(_RATIO)
_QUARTILE = 0.45062  # the lower quartile of |x - y| for two standard normal numbers
_FEW = 32
_TWO_VALUES = 0.45  # standard deviation of rewards of two values that are 1 apart; it is 0.5 where both come as often
_STEPS = 6
_TIE = 1e-100  # what is smaller has no square
_CALM = 30.0  # pairs without a change that are taken for granted

# Before any reward the noise is taken to be a tenth of the spread of the means, and that counts as much as two pairs of rewards.
_GUESS, _GUESS_PAIRS = 0.1, 2.0


@kernel
def count_pair(bins: np.ndarray, tally: np.ndarray, difference: float) -> bool:
    """Count the difference of two rewards of one arm; returns whether it is time to estimate the noise anew."""
    size = abs(difference)
    if size < _TIE:
        size = 0.0
    tally[PAIRS] += 1
    tally[SQUARES] += size * size
    if size == 0.0:
        tally[TIES] += 1
    else:
        if tally[FIRST] == 0.0:
            tally[FIRST] = size
            tally[LOW] = tally[HIGH] = BINS // 2
        place = min(max(math.floor(math.log(size / tally[FIRST]) / _LOG_RATIO) + BINS // 2, 0), BINS - 1)
        bins[place] += 1
        tally[LOW] = min(tally[LOW], place)
        tally[HIGH] = max(tally[HIGH], place)
        tally[LARGEST] = max(tally[LARGEST], size)
    pairs = tally[PAIRS]
    return bool(pairs <= 16 or (pairs <= 128 and pairs % 32 == 0) or pairs % 256 == 0)


@kernel
def estimate(bins: np.ndarray, tally: np.ndarray, expected: float, weight: float) -> float:
    """Return the noise: `expected` counts as much as `weight` pairs, on the scale of logarithms (0 if nothing is known)."""
    pairs = tally[PAIRS]
    if tally[LARGEST] == 0.0:  # ties alone: the more of them, the less noise
        return float(expected * min(1.0, _FEW / max(pairs, 1.0)))
    if tally[TIES] > 0.05 * pairs:  # rewards of a few values, such as 0 and 1
        raw = math.sqrt(0.5 * tally[SQUARES] / pairs)
        if tally[LOW] == tally[HIGH] and tally[TIES] < 0.95 * pairs:  # of two values: most of them come about as often
            raw = max(raw, _TWO_VALUES * tally[LARGEST])
    elif pairs < _FEW:
        raw = _lower_quartile(bins, tally) / _QUARTILE
        tally[SHARE] = 0.9
    else:
        raw = _separated(bins, tally)
    tally[RAW] = raw
    if expected <= 0.0 or weight <= 0.0:
        return raw
    return math.exp((pairs * math.log(raw) + weight * math.log(expected)) / (pairs + weight))


@kernel
def _lower_quartile(bins: np.ndarray, tally: np.ndarray) -> float:
    left = 0.25 * (tally[PAIRS] - 1.0) - tally[TIES]
    place = int(tally[LOW])
    while place < int(tally[HIGH]):
        left -= bins[place]
        if left < 0.0:
            break
        place += 1
    return float(tally[FIRST] * math.exp(_LOG_RATIO * (place - BINS // 2 + 0.5)))


@kernel
def _separated(bins: np.ndarray, tally: np.ndarray) -> float:
    """Return the noise after some steps of expectation-maximisation from where the last ones ended."""
    noise, share = tally[RAW], tally[SHARE]
    first, last = int(tally[LOW]), int(tally[HIGH])
    smallest = tally[FIRST] * math.exp(_LOG_RATIO * (first - BINS // 2 + 0.5))
    for _ in range(_STEPS):
        # densities times the largest difference, over which the rest is uniform
        peak = share * tally[LARGEST] / (math.sqrt(math.pi) * noise)
        ours = tally[TIES] * peak / (peak + 1.0 - share)
        squares = 0.0
        size = smallest
        for place in range(first, last + 1):
            if bins[place] > 0:
                like = peak * math.exp(-0.25 * (size / noise) * (size / noise))
                mine = bins[place] * like / (like + 1.0 - share)
                ours += mine
                squares += mine * size * size
            size *= _RATIO
        if squares > 0.0:
            noise = math.sqrt(0.5 * squares / ours)
        share = (ours + _CALM) / (tally[PAIRS] + _CALM + 1.0)
    tally[SHARE] = share
    return float(noise)


@kernel
def first_noise(given: float, spread: float) -> float:
    """Return the noise before the first round."""
    return given if given > 0.0 else _GUESS * spread


@kernel
def mean_of_round(state: Any, given: float | bool, spread: float, units: int, arm: int, rewards: np.ndarray) -> float:
    """Return the mean reward of a round, after learning the noise from it unless it is given.

    The noise follows from two units that played the same arm, or from this round and the one before if they had the same arm. The state
    has `bins`, `tally`, `noise`, `last_arm` and `last_reward`.
    """
    if not given:
        due = False
        if units > 1:
            due = count_pair(state.bins, state.tally, rewards[0] - rewards[1])
        elif state.last_arm[0] == arm:
            due = count_pair(state.bins, state.tally, rewards[0] - state.last_reward[0])
        state.last_arm[0] = arm
        state.last_reward[0] = rewards[0]
        if due:
            state.noise[0] = estimate(state.bins, state.tally, _GUESS * spread, _GUESS_PAIRS)
    total = 0.0
    for unit in range(units):
        total += rewards[unit]
    return total / units

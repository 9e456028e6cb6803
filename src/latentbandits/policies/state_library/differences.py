"""The noise, from differences of rewards of one arm: one round apart and, with one group, also two rounds apart.

Differences are a mixture of noise and of changes of the state, see `latentbandits.noise`; two things can mislead it. Where there are no
changes the mixture takes the largest differences for some: noise alone must be clearly the worse explanation. And where the state
alternates, differences are changes, but two rounds apart they are noise.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.noise import TIED, advantage, count_pair, estimate, fade, few_values
from latentbandits.policies.state_library.features import shrink_difference
from latentbandits.policies.state_library.memory import FEATURES, Memory
from latentbandits.protocols import Choice, Record

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary

# Before any pair of rewards the noise is this share of the range, and counts as 4 pairs; it is at least a tiny share of the range
_SHARE, _PAIRS, _LEAST = 0.1, 4.0, 1e-12
# Standard errors that the noise is taken to be higher than it seems: too low a noise makes states of nothing
_CAUTION = 0.5
_PROOF = 3.0  # log likelihood by which the mixture must be better than noise alone
# With so many pairs that are two rounds apart, noise below this share of what it is one round apart shows that the state alternates
_FEW, _LESS = 32, 0.6


@kernel
def count_difference(policy: "StateLibrary", memory: Memory, choice: Choice, rewards: np.ndarray) -> bool:
    """Count the difference of two rewards of one arm, if there is one; returns whether the noise is to be estimated again.

    The rewards are those of two groups, or (with one group) of this round and the one before, and the one before that.
    """
    noise, earlier, arm = memory.noise[0], memory.noise[1], choice.arms[0]
    if policy.noise > 0.0:
        return False
    x = choice.features
    if policy.groups > 1:
        due = choice.arms[1] == arm and count_pair(noise, rewards[0] - rewards[1])
        fade(noise)
        return bool(due)
    due = False
    if noise.last_arm == arm:
        due = count_pair(noise, without_effects(policy, memory, 0, arm, rewards[0], x))
        fade(noise)
        if earlier.last_arm == arm:
            count_pair(earlier, without_effects(policy, memory, 1, arm, rewards[0], x))
            fade(earlier)
    earlier.last_arm, earlier.last_reward = (arm if noise.last_arm == arm else -1), noise.last_reward
    noise.last_arm, noise.last_reward = arm, rewards[0]
    for j in range(policy.covariates):
        memory.last_features[1, j] = memory.last_features[0, j]
        memory.last_features[0, j] = x[FEATURES + j]
    return bool(due)


@kernel
def without_effects(policy: "StateLibrary", memory: Memory, row: int, arm: int, reward: float, x: np.ndarray) -> float:
    """Return the difference of two rewards of an arm without what features explain of it; as it is for rewards of a few values."""
    noise = memory.noise[row]
    difference = reward - noise.last_reward
    if policy.covariates == 0:
        return float(difference)
    if row == 0:
        memory.scale[0].pairs += 1
        memory.scale[0].ties += 1 if difference == 0.0 else 0
    if memory.scale[0].ties > TIED * memory.scale[0].pairs:
        return float(difference)
    slopes, inverse, last = memory.slopes[arm], memory.inverse[arm], memory.last_features[row]
    return shrink_difference(policy, slopes, inverse, difference, x, FEATURES, last)


@kernel
def learned_noise(memory: Memory) -> float:
    """Return the noise that the differences of rewards suggest, with some caution.

    (raw^pairs * expected^4)^(1 / (pairs + 4)) * (1 + 0.5 / sqrt(pairs + 4)), without the caution for rewards of a few values
    """
    noise = memory.noise[0]
    width, pairs = memory.scale[0].high - memory.scale[0].low, float(noise.pairs)
    sd = estimate(noise, _SHARE * width, _PAIRS)
    if noise.largest > 0.0 and not few_values(noise):
        raw = separated(noise, memory.noise[1])
        sd = math.exp((pairs * math.log(raw) + _PAIRS * math.log(_SHARE * width)) / (pairs + _PAIRS))
        sd *= 1.0 + _CAUTION / math.sqrt(pairs + _PAIRS)
    return float(max(sd, _LEAST * width))


@kernel
def separated(noise: Record, earlier: Record) -> float:
    """Return the noise by the mixture, which has just been estimated, or by what explains the differences better."""
    plain = math.sqrt(0.5 * noise.squares / noise.pairs)
    raw = plain if advantage(noise, plain) < _PROOF else noise.raw
    if earlier.pairs < _FEW or earlier.largest == 0.0:
        return float(raw)
    apart = estimate(earlier, 0.0, 0.0)
    if apart < _LESS * raw:
        return float(apart)
    return float(raw)

"""Noise and range: what rewards mean, learned from the rewards themselves unless it is given."""

import math
from typing import Any

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.noise import advantage, count_pair, discrete, estimate, fade, larger
from latentbandits.policies.state_library.memory import HISTORY, Memory
from latentbandits.policies.state_library.particles import set_gaussians
from latentbandits.protocols import Choice

# Squares of numbers in between can be divided by; a narrower range counts as empty, and noise is at least this share of a range
NARROW, WIDE, _LEAST_NOISE = 1e-100, 1e50, 1e-12
# Before any pair of rewards the noise is this share of the range, and counts as 4 pairs
_NOISE_SHARE, _NOISE_PAIRS = 0.1, 4.0
_UNIFORM = 0.29  # standard deviation of a uniform number on [0, 1]
_OUTSIDE = 4.2  # rewards farther outside the range than this, in units of the noise, widen it
_WIDEN = 0.25
# Rewards farther outside than this, in widths of the range, count as if they were there: a single outlier cannot ruin the range
_REACH = 30.0


@kernel
def set_range(memory: Memory, low: float, high: float) -> None:
    """Expect means in a range."""
    scale = memory.scale[0]
    scale.low = low
    scale.high = high
    scale.centre = 0.5 * (low + high)
    scale.spread = _UNIFORM * (high - low)


@kernel
def within_reach(memory: Memory, reward: float) -> float:
    """Return a reward, or the farthest that counts if it is farther outside the range."""
    scale = memory.scale[0]
    if memory.noise[0].sd == 0.0:
        return reward
    reach = _REACH * (scale.high - scale.low)
    return float(min(max(reward, scale.low - reach), scale.high + reach))


@kernel
def count_difference(policy: Any, memory: Memory, choice: Choice, rewards: np.ndarray) -> bool:
    """Count the difference of two rewards of one arm, if there is one; returns whether the noise is to be estimated again.

    The rewards are those of two units, or (with one unit) of this round and the one before.
    """
    noise, arm = memory.noise[0], choice.arms[0]
    if policy.noise > 0.0:
        return False
    if policy.units > 1:
        return bool(choice.arms[1] == arm and count_pair(noise, rewards[0] - rewards[1]))
    due = noise.last_arm == arm and count_pair(noise, rewards[0] - noise.last_reward)
    fade(noise)
    # The second row keeps the reward before the last one, if all three have the same arm
    earlier = memory.noise[1]
    if noise.last_arm == arm:
        if earlier.last_arm == arm:
            count_pair(earlier, rewards[0] - earlier.last_reward)
            fade(earlier)
        earlier.last_arm = arm
        earlier.last_reward = noise.last_reward
    else:
        earlier.last_arm = -1
    noise.last_arm = arm
    noise.last_reward = rewards[0]
    return bool(due)


@kernel
def learned_noise(policy: Any, memory: Memory) -> float:
    """Return the noise that the differences of rewards suggest."""
    width = memory.scale[0].high - memory.scale[0].low
    noise, earlier = memory.noise[0], memory.noise[1]
    raw = estimate(noise, 0.0, 0.0)
    expected = _NOISE_SHARE * width
    if noise.largest == 0.0:
        return float(max(estimate(noise, expected, _NOISE_PAIRS), _LEAST_NOISE * width))
    if not discrete(noise):
        plain = math.sqrt(0.5 * noise.squares / noise.pairs)
        if advantage(noise, plain) < 3.0:
            raw = plain
        if earlier.pairs >= 32 and earlier.largest > 0.0:
            other = estimate(earlier, 0.0, 0.0)
            ones, twos = larger(noise, 4.0 * raw), larger(earlier, 4.0 * raw)
            if other < 0.6 * raw:
                raw = other
            elif earlier.pairs >= 256 and ones > 0.08 and abs(twos - ones) < min(0.15 * ones, 2.0 * math.sqrt(2.0 * ones / earlier.pairs)):
                raw = plain
    pairs = float(noise.pairs)
    sd = math.exp((pairs * math.log(raw) + _NOISE_PAIRS * math.log(expected)) / (pairs + _NOISE_PAIRS))
    if not discrete(noise):
        sd *= 1.0 + 0.5 / math.sqrt(pairs + 4.0)
    return float(max(sd, _LEAST_NOISE * width))


@kernel
def first_scale(policy: Any, memory: Memory, arms: int, low: float, high: float) -> bool:
    """Learn the first range and noise, once each of the `arms` available was tried and two rewards differ; returns whether they are known.

    The range of n uniform numbers is on average (n - 1) / (n + 1) of what they are sampled from: widen by width / (n - 1) at both ends
    """
    scale, rounds = memory.scale[0], memory.core[0].rounds
    if rounds > 1:
        low, high = min(low, scale.low), max(high, scale.high)
    scale.low, scale.high = low, high
    if arms < 2 or rounds < arms or high - low < NARROW:
        return False
    beyond = (high - low) / (arms - 1)
    set_range(memory, low - beyond, high + beyond)
    memory.noise[0].sd = policy.noise if policy.noise > 0.0 else learned_noise(policy, memory)
    return True


@kernel
def rebase(policy: Any, memory: Memory, centre: float, spread: float) -> None:
    """Move all remembered means from the prior that they were learned with to the present one."""
    scale, sd = memory.scale[0], memory.noise[0].sd
    before, after = (sd / spread) * (sd / spread), (sd / scale.spread) * (sd / scale.spread)
    for i in range(memory.core[0].live):
        slot = memory.slots[i]
        for k in range(memory.particles[slot].known):
            for arm in range(policy.arms):
                mean = memory.means[slot, k, arm]
                total = mean.average * (mean.count + before) - before * centre
                mean.average = (total + after * scale.centre) / (mean.count + after)
    set_gaussians(policy, memory)


@kernel
def observe(policy: Any, memory: Memory, arms: int, reward: float, second: int, other: float, due: bool) -> bool:
    """Learn range and noise from a reward (or two) of a decision with so many arms.

    Returns whether they turned out so different that all is to be learned again.
    """
    noise, scale = memory.noise[0], memory.scale[0]
    low, high = reward, reward
    if second >= 0:
        low, high = min(low, other), max(high, other)
    if noise.sd == 0.0:
        return first_scale(policy, memory, arms, low, high)
    again = False
    margin = _OUTSIDE * noise.sd
    if policy.high == policy.low and (high - margin > scale.high or low + margin < scale.low):
        centre, spread = scale.centre, scale.spread
        if high > scale.high:
            set_range(memory, scale.low, high + _WIDEN * (high - scale.low))
        if low < scale.low:
            set_range(memory, low - _WIDEN * (scale.high - low), scale.high)
        if memory.core[0].rounds > HISTORY:
            rebase(policy, memory, centre, spread)
        else:
            again = True
    if due:
        sd = learned_noise(policy, memory)
        if sd > 1.4 * scale.noise_at_start or sd < 0.5 * scale.noise_at_start:
            noise.sd = sd
            again = True
        elif abs(sd - noise.sd) > 0.03 * noise.sd:
            noise.sd = sd
            set_gaussians(policy, memory)
    return again

"""Noise and range: what rewards mean, learned from the rewards themselves unless it is given."""

from typing import Any

from latentbandits.compiled import kernel
from latentbandits.policies.state_library.differences import learned_noise
from latentbandits.policies.state_library.memory import HISTORY, Memory
from latentbandits.policies.state_library.particles import set_gaussians

# Squares of numbers in between can be divided by; a narrower range counts as empty
NARROW, WIDE = 1e-100, 1e50
# A library is begun again when the noise turns out to be more or less than these multiples of what it was begun with
_LOUDER, _QUIETER = 1.4, 0.5
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
    memory.noise[0].sd = policy.noise if policy.noise > 0.0 else learned_noise(memory)
    return True


@kernel
def rebase(policy: Any, memory: Memory, centre: float, spread: float) -> None:
    """Move all remembered means from the prior that they were learned with (its middle and spread) to the present one.

    mean <- (mean * (n + w) - w * centre + w' * centre') / (n + w');  w = (noise / spread)^2
    """
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
        sd = learned_noise(memory)
        if sd > _LOUDER * scale.noise_at_start or sd < _QUIETER * scale.noise_at_start:
            noise.sd = sd
            again = True
        elif abs(sd - noise.sd) > 0.03 * noise.sd:
            noise.sd = sd
            set_gaussians(policy, memory)
    return again

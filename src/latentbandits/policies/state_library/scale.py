"""Noise and range: what rewards mean, learned from the rewards themselves unless it is given."""

from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library.differences import learned_noise
from latentbandits.policies.state_library.memory import HISTORY, Memory
from latentbandits.policies.state_library.particles import set_gaussians
from latentbandits.policies.state_library.trust import forget
from latentbandits.protocols import Record

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary

# Squares of numbers in between can be divided by; a narrower range counts as empty
NARROW, WIDE = 1e-100, 1e50
# A library is begun again when the noise turns out to be more or less than these multiples of what it was begun with
_LOUDER, _QUIETER = 1.4, 0.5
_UNIFORM = 0.29  # standard deviation of a uniform number on [0, 1]
_OUTSIDE = 4.2  # means farther outside the range than this, in deviations, widen it, and rewards that are confirmed
_WIDEN = 0.25
# Times the width of the rewards seen from which on a range is far too wide: in little noise, arms that differ make it tens of times as wide
_ABSURD = 64.0
# Rewards farther outside than this, in widths of the range and in units of the noise, count as if they were there; at first the range
# may be far too narrow
_REACH, _REACH_AT_FIRST, _LOUD = 1.0, 30.0, 10.0


@kernel
def set_range(scale: Record, low: float, high: float) -> None:
    """Expect means in a range."""
    scale.low = low
    scale.high = high
    scale.centre = 0.5 * (low + high)
    scale.spread = _UNIFORM * (high - low)


@kernel
def count_values(scale: Record, reward: float) -> None:
    """Count the different rewards seen: one, two, or more than that."""
    if scale.values == 0:
        scale.values = 1
        scale.least = scale.most = reward
    elif reward != scale.least and reward != scale.most:
        scale.values = min(scale.values + 1, 3)
        scale.least = min(scale.least, reward)
        scale.most = max(scale.most, reward)


@kernel
def within_reach(scale: Record, sd: float, rounds: int, reward: float) -> float:
    """Return a reward, or the farthest that counts if it is farther outside the range, by the noise and the rounds learned from."""
    if sd == 0.0:
        return reward
    reach = (_REACH_AT_FIRST if rounds <= HISTORY else _REACH) * (scale.high - scale.low) + _LOUD * sd
    return float(min(max(reward, scale.low - reach), scale.high + reach))


@kernel
def first_scale(policy: "StateLibrary", memory: Memory, arms: int, low: float, high: float) -> bool:
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
    set_range(scale, low - beyond, high + beyond)
    memory.noise[0].sd = policy.noise if policy.noise > 0.0 else learned_noise(memory)
    return True


@kernel
def rebase(policy: "StateLibrary", memory: Memory, centre: float, spread: float) -> None:
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
def confirmed(history: np.ndarray, rounds: int, arm: int, margin: float) -> bool:
    """Return whether the latest reward of an arm agrees with the one before; one that stands alone may be an outlier."""
    latest = history[(rounds - 1) % HISTORY]
    now = latest.reward if latest.first == arm else latest.other
    for i in range(2, min(rounds, HISTORY) + 1):
        past = history[(rounds - i) % HISTORY]
        if arm in (past.first, past.second):
            before = past.reward if past.first == arm else past.other
            return bool(abs(now - before) <= margin)
    return False


@kernel
def outside(memory: Memory, arm: int, reward: float) -> float:
    """Return a level that the range should reach, or else its middle: the arm's mean in the present state, or its latest reward.

    The mean of two rewards at least, 4.2 deviations outside, by the heaviest particle; or a reward 4.2 times the noise outside that agrees
    with the one before
    """
    scale, core, sd = memory.scale[0], memory.core[0], memory.noise[0].sd
    mean = memory.means[core.best, memory.particles[core.best].here, arm]
    far = max(mean.average - scale.high, scale.low - mean.average)
    if far > 0.0 and mean.count > 1 and far > _OUTSIDE * memory.deviation[mean.count]:
        return float(mean.average)
    margin = _OUTSIDE * sd
    if max(reward - scale.high, scale.low - reward) > margin and confirmed(memory.history, core.rounds, arm, margin):
        return reward
    return float(scale.centre)


@kernel
def widen(policy: "StateLibrary", memory: Memory, low: float, high: float) -> bool:
    """Widen the range to reach two levels; returns whether all is to be learned again."""
    scale = memory.scale[0]
    centre, spread = scale.centre, scale.spread
    if high > scale.high:
        set_range(scale, scale.low, high + _WIDEN * (high - scale.low))
    if low < scale.low:
        set_range(scale, low - _WIDEN * (scale.high - low), scale.high)
    if memory.core[0].rounds <= HISTORY:
        return True
    rebase(policy, memory, centre, spread)
    return False


@kernel
def third(history: np.ndarray, sign: float) -> float:
    """Return the third highest of all rewards that are remembered, times a sign."""
    one = two = three = -np.inf
    for i in range(HISTORY):
        reward = sign * history[i].reward
        if reward > one:
            one, two, three = reward, one, two
        elif reward > two:
            two, three = reward, two
        elif reward > three:
            three = reward
    return float(three)


@kernel
def absurd(policy: "StateLibrary", memory: Memory) -> bool:
    """Return whether the range is far too wide for the first 256 rewards, and set it by these: a first one was an outlier.

    The third lowest and the third highest of them count, widened by a quarter of their distance
    """
    scale = memory.scale[0]
    low, high = -third(memory.history, -1.0), third(memory.history, 1.0)
    if high - low < NARROW or scale.high - scale.low < _ABSURD * (high - low):
        return False
    beyond = _WIDEN * (high - low)
    set_range(scale, low - beyond, high + beyond)
    forget(memory)  # what was claimed and spent was on the scale of the outlier
    memory.noise[0].sd = policy.noise if policy.noise > 0.0 else learned_noise(memory)
    return True


@kernel
def observe(
    policy: "StateLibrary", memory: Memory, arms: int, first: int, reward: float, second: int, other: float, due: bool
) -> bool:
    """Learn range and noise from the reward of an arm (or two) of a decision with so many arms.

    Returns whether they turned out so different that all is to be learned again.
    """
    noise, scale = memory.noise[0], memory.scale[0]
    if noise.sd == 0.0:
        low, high = reward, reward
        if second >= 0:
            low, high = min(low, other), max(high, other)
        return first_scale(policy, memory, arms, low, high)
    again = False
    if policy.high == policy.low:
        low = high = outside(memory, first, reward)
        if second >= 0:
            level = outside(memory, second, other)
            low, high = min(low, level), max(high, level)
        if low < scale.low or high > scale.high:
            again = widen(policy, memory, low, high)
        if memory.core[0].rounds == HISTORY:
            again = absurd(policy, memory) or again
    if due:
        sd = learned_noise(memory)
        if sd > _LOUDER * scale.noise_at_start or sd < _QUIETER * scale.noise_at_start:
            noise.sd = sd
            again = True
        elif abs(sd - noise.sd) > 0.03 * noise.sd:
            noise.sd = sd
            set_gaussians(policy, memory)
    return again

"""The lag model: from the last arm and the level of its reward to the next reward of every arm.

It needs no idea of states, which makes it hard to beat where the state changes every few rounds. `StateLibrary` blends it in by how well
the two predict rewards.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library.memory import Memory

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary

_PRIOR = 2.0  # rewards that an arm's overall mean is worth in every cell
_RADIUS = 3.0  # a reward farther than this from all levels, in units of the noise, makes a new one
_FADING = 1000  # rewards that a level can weigh
_MEMORY = 0.999  # per round, of the regression that sets the blend
_TRUST = 0.5  # what the library starts with in that regression, in units of the squared range
_ENOUGH = 0.9  # a blend above it counts as the library alone
_PACE = 0.01  # of the squared error's average


@kernel
def reset(policy: "StateLibrary", memory: Memory) -> None:
    """Forget all levels and trust the library."""
    lag, scale = memory.lag[0], memory.scale[0]
    lag.arm = -1
    lag.error = scale.spread * scale.spread
    lag.blend = 1.0
    lag.xx = lag.xy = _TRUST * (scale.high - scale.low) * (scale.high - scale.low)
    for arm in range(policy.arms):
        memory.levels[arm] = 0
        memory.lag_arms[arm].average = scale.centre
        memory.lag_arms[arm].count = 0


@kernel
def expected(memory: Memory, arm: int) -> float:
    """Return an arm's next reward, given the last one.

    (n * mean after this level + 2 * mean of the arm) / (n + 2)
    """
    lag = memory.lag[0]
    overall = memory.lag_arms[arm].average
    if lag.arm < 0:
        return float(overall)
    following = memory.lag_next[lag.arm, lag.level, arm]
    return float((following.count * following.average + _PRIOR * overall) / (following.count + _PRIOR))


@kernel
def uncertainty(memory: Memory, arm: int) -> float:
    """Return the standard error of an arm's next reward, from the n rewards it gave after a last reward like the present one.

    sqrt(average squared error / (n + 2))
    """
    lag = memory.lag[0]
    n = 0.0 if lag.arm < 0 else float(memory.lag_next[lag.arm, lag.level, arm].count)
    return math.sqrt(lag.error / (n + _PRIOR))


@kernel
def weigh(memory: Memory, arm: int, reward: float, by_library: float) -> None:
    """Learn the blend: regress the reward on what the library expected, both relative to the lag model's expectation.

    x = library - lag,  y = reward - lag
    xx <- 0.999 xx + 0.001 trust + x^2,  xy <- 0.999 xy + 0.001 trust + x y,  blend = xy / xx within [0, 1]
    """
    lag, scale = memory.lag[0], memory.scale[0]
    by_lag = expected(memory, arm)
    x = by_library - by_lag
    y = reward - by_lag
    base = (1.0 - _MEMORY) * _TRUST * (scale.high - scale.low) * (scale.high - scale.low)
    lag.xx = _MEMORY * lag.xx + base + x * x
    lag.xy = _MEMORY * lag.xy + base + x * y
    blend = lag.xy / lag.xx
    lag.blend = 0.0 if blend < 0.0 else 1.0 if blend > _ENOUGH else blend
    lag.error += _PACE * (y * y - lag.error)


@kernel
def learn(memory: Memory, arm: int, reward: float) -> None:
    """Learn the reward of an arm after the last one: running means, overall and after that level."""
    lag = memory.lag[0]
    overall = memory.lag_arms[arm]
    overall.count += 1
    overall.average += (reward - overall.average) / overall.count
    if lag.arm >= 0:
        following = memory.lag_next[lag.arm, lag.level, arm]
        following.count += 1
        following.average += (reward - following.average) / following.count


@kernel
def move(policy: "StateLibrary", memory: Memory, arm: int, reward: float) -> None:
    """Make an arm and the level nearest to its reward the last ones."""
    near, best = -1, np.inf
    for i in range(memory.levels[arm]):
        far = abs(reward - memory.lag_levels[arm, i].average)
        if far < best:
            near, best = i, far
    if memory.levels[arm] < policy.levels and best > _RADIUS * memory.noise[0].sd:
        near = memory.levels[arm]
        memory.levels[arm] += 1
        memory.lag_levels[arm, near].average = reward
        memory.lag_levels[arm, near].count = 0
        for other in range(policy.arms):
            memory.lag_next[arm, near, other].average = 0.0
            memory.lag_next[arm, near, other].count = 0
    level = memory.lag_levels[arm, near]
    level.count = min(level.count + 1, _FADING)
    level.average += (reward - level.average) / level.count
    memory.lag[0].arm = arm
    memory.lag[0].level = near

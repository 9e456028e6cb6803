"""What follows on the last reward: a table from (last arm, level of its reward) to the next reward of every arm.

It needs no idea of states, which makes it hard to beat where the state changes every few rounds. `StateLibrary` blends it in by how well
the two foretell rewards.
"""

from typing import Any

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.stories import (
    BLEND,
    BLEND_XX,
    BLEND_XY,
    CENTRE,
    HIGH,
    LAG_ARM,
    LAG_ERROR,
    LAG_LEVEL,
    LOW,
    NOISE,
    SPREAD,
    Memory,
)

PRIOR = 2.0  # rewards that an arm's overall mean is worth in every cell
_RADIUS = 3.0  # a reward farther than this from all levels, in units of the noise, makes a new one
_FADING = 1000.0  # rewards that a level can weigh
_MEMORY = 0.999  # per round, of the regression that sets the blend
_TRUST = 0.5  # what the library starts with in that regression, in units of the squared range
_ENOUGH = 0.9  # a blend above it counts as the library alone
_PACE = 0.01  # of the squared error's average


@kernel
def reset(policy: Any, memory: Memory) -> None:
    """Forget all levels and trust the library."""
    about = memory.about
    about[LAG_ARM] = -1
    about[LAG_ERROR] = about[SPREAD] * about[SPREAD]
    for arm in range(policy.arms):
        memory.levels[arm] = 0
        memory.arm_mean[arm] = about[CENTRE]
        memory.arm_count[arm] = 0.0
    about[BLEND] = 1.0
    about[BLEND_XX] = about[BLEND_XY] = _TRUST * (about[HIGH] - about[LOW]) * (about[HIGH] - about[LOW])


@kernel
def evidence(memory: Memory, arm: int) -> float:
    """Return the number of rewards that an arm has given after a last reward like the present one."""
    last = int(memory.about[LAG_ARM])
    return 0.0 if last < 0 else float(memory.next_count[last, int(memory.about[LAG_LEVEL]), arm])


@kernel
def expected(memory: Memory, arm: int) -> float:
    """Return an arm's next reward, given the last one."""
    last = int(memory.about[LAG_ARM])
    if last < 0:
        return float(memory.arm_mean[arm])
    n = evidence(memory, arm)
    mean = memory.next_mean[last, int(memory.about[LAG_LEVEL]), arm]
    return float((n * mean + PRIOR * memory.arm_mean[arm]) / (n + PRIOR))


@kernel
def weigh(memory: Memory, arm: int, reward: float, by_library: float) -> None:
    """Learn the blend: regress the reward on what the library expected, both relative to the table's expectation."""
    about = memory.about
    by_table = expected(memory, arm)
    x = by_library - by_table
    y = reward - by_table
    base = (1.0 - _MEMORY) * _TRUST * (about[HIGH] - about[LOW]) * (about[HIGH] - about[LOW])
    about[BLEND_XX] = _MEMORY * about[BLEND_XX] + base + x * x
    about[BLEND_XY] = _MEMORY * about[BLEND_XY] + base + x * y
    blend = about[BLEND_XY] / about[BLEND_XX]
    about[BLEND] = 0.0 if blend < 0.0 else 1.0 if blend > _ENOUGH else blend
    about[LAG_ERROR] += _PACE * (y * y - about[LAG_ERROR])


@kernel
def learn(memory: Memory, arm: int, reward: float) -> None:
    """Learn the reward of an arm after the last one."""
    memory.arm_count[arm] += 1.0
    memory.arm_mean[arm] += (reward - memory.arm_mean[arm]) / memory.arm_count[arm]
    last = int(memory.about[LAG_ARM])
    if last >= 0:
        level = int(memory.about[LAG_LEVEL])
        memory.next_count[last, level, arm] += 1.0
        step = (reward - memory.next_mean[last, level, arm]) / memory.next_count[last, level, arm]
        memory.next_mean[last, level, arm] += step


@kernel
def move(policy: Any, memory: Memory, arm: int, reward: float) -> None:
    """Make an arm and the level nearest to its reward the last ones."""
    near, best = -1, np.inf
    for i in range(memory.levels[arm]):
        far = abs(reward - memory.level[arm, i])
        if far < best:
            near, best = i, far
    if memory.levels[arm] < policy.levels and best > _RADIUS * memory.about[NOISE]:
        near = memory.levels[arm]
        memory.levels[arm] += 1
        memory.level[arm, near] = reward
        memory.level_count[arm, near] = 0.0
        for other in range(policy.arms):
            memory.next_mean[arm, near, other] = 0.0
            memory.next_count[arm, near, other] = 0.0
    memory.level_count[arm, near] = min(memory.level_count[arm, near] + 1.0, _FADING)
    memory.level[arm, near] += (reward - memory.level[arm, near]) / memory.level_count[arm, near]
    memory.about[LAG_ARM] = arm
    memory.about[LAG_LEVEL] = near

"""The lag model: from the last arm and the level of its reward to the next reward of every arm.

It needs no idea of states, which makes it hard to beat where the state changes every few rounds. It is blended in by how well the two
predict rewards.
"""

import math

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.emissions import Outcome
from latentbandits.policies.state_library.memory import Lag
from latentbandits.protocols import Choice, Record


@kernel
def reset(lag: Lag, scale: Record) -> None:
    """Forget all levels and trust the library."""
    core = lag.core[0]
    core.arm = -1
    core.error = scale.spread * scale.spread
    core.blend = 1.0
    core.xx = core.xy = constants.LAG_PRIOR * (scale.high - scale.low) * (scale.high - scale.low)
    for arm in range(len(lag.arms)):
        lag.arms[arm].levels = lag.arms[arm].count = 0
        lag.arms[arm].average = scale.centre


@kernel
def expected(lag: Lag, arm: int) -> float:
    """Return an arm's next reward, given the last one.

    (n * mean after this level + 2 * mean of the arm) / (n + 2)
    """
    overall, last = lag.arms[arm].average, lag.core[0]
    if last.arm < 0:
        return float(overall)
    following = lag.following[last.arm, last.level, arm]
    return float(
        (following.count * following.average + constants.LAG_REWARDS * overall)
        / (following.count + constants.LAG_REWARDS)
    )


@kernel
def std_error(lag: Lag, arm: int) -> float:
    """Return the standard error of an arm's next reward, from the n rewards it gave after a last reward like the present one.

    sqrt(average squared error / (n + 2))
    """
    last = lag.core[0]
    n = 0.0 if last.arm < 0 else float(lag.following[last.arm, last.level, arm].count)
    return math.sqrt(last.error / (n + constants.LAG_REWARDS))


@kernel
def blend_in(lag: Lag, effects: np.ndarray, choice: Choice) -> None:
    """Blend the lag model into values and indices.

    value <- blend * value + (1 - blend) * lag;  index <- blend * index + (1 - blend) * (lag + its standard error)
    """
    blend = lag.core[0].blend
    for arm in range(len(effects)):
        lagged = expected(lag, arm) + effects[arm]
        hopeful = lagged + std_error(lag, arm)
        arm_score = choice.arm_scores[arm]
        arm_score.value = blend * arm_score.value + (1.0 - blend) * lagged
        arm_score.index = blend * arm_score.index + (1.0 - blend) * hopeful


@kernel
def weigh(lag: Lag, width: float, arm: int, reward: float, by_library: float) -> None:
    """Learn the blend: regress the reward on what the library expected, both relative to the lag model's expectation.

    x = library - lag,  y = reward - lag
    xx <- 0.999 xx + 0.001 prior + x^2,  xy <- 0.999 xy + 0.001 prior + x y,  blend = xy / xx within [0, 1]
    """
    core = lag.core[0]
    by_lag = expected(lag, arm)
    x = by_library - by_lag
    y = reward - by_lag
    base = (1.0 - constants.LAG_MEMORY) * constants.LAG_PRIOR * width * width
    core.xx = constants.LAG_MEMORY * core.xx + base + x * x
    core.xy = constants.LAG_MEMORY * core.xy + base + x * y
    blend = core.xy / core.xx
    core.blend = 0.0 if blend < 0.0 else 1.0 if blend > constants.LAG_ENOUGH else blend
    core.error += constants.LAG_PACE * (y * y - core.error)


@kernel
def add(mean: Record, reward: float) -> None:
    """Add a reward to a running mean."""
    mean.count += 1
    mean.average += (reward - mean.average) / mean.count


@kernel
def learn(lag: Lag, outcome: Outcome, sd: float) -> None:
    """Learn the rewards of a round after the last one: running means, overall and after that level; the latest is now the last one."""
    last, arm, reward = lag.core[0], outcome.first, outcome.reward
    add(lag.arms[arm], reward)
    if last.arm >= 0:
        add(lag.following[last.arm, last.level, arm], reward)
    if outcome.second >= 0:
        arm, reward = outcome.second, outcome.other
        add(lag.arms[arm], reward)
        if last.arm >= 0:
            add(lag.following[last.arm, last.level, arm], reward)
    last.level = nearest_level(lag, arm, reward, sd)
    last.arm = arm


@kernel
def nearest_level(lag: Lag, arm: int, reward: float, sd: float) -> int:
    """Return the level nearest to a reward of an arm, a new one if all are far; the level moves towards the reward."""
    known, levels = lag.arms[arm].levels, lag.levels[arm]
    near, least = -1, np.inf
    for i in range(known):
        far = abs(reward - levels[i].average)
        if far < least:
            near, least = i, far
    if known < len(levels) and least > constants.LAG_RADIUS * sd:
        near = known
        lag.arms[arm].levels += 1
        levels[near].average = reward
        levels[near].count = 0
        for other in range(len(lag.arms)):
            lag.following[arm, near, other].average = 0.0
            lag.following[arm, near, other].count = 0
    level = levels[near]
    level.count = min(level.count + 1, constants.LAG_FADING)
    level.average += (reward - level.average) / level.count
    return int(near)

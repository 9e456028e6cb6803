"""What ArmLibrary remembers."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.memories import empty
from latentbandits.noise import Noise, start_noise
from latentbandits.policies.arm_library.constants import (
    HAZARDS,
    HYPOTHESES,
    LEVELS,
    NEW,
    PRIOR_DRIFT,
    PRIOR_REGIMES,
    REGIMES,
)
from latentbandits.policies.rounds import Clock
from latentbandits.protocols import record_type

BRANCHES = HYPOTHESES * (LEVELS + 1)
ATOMS = HYPOTHESES * LEVELS + NEW

Core = record_type(
    low=float,  # lowest and highest level so far
    high=float,
    least=float,  # lowest and highest reward so far
    most=float,
    values=int,  # how many different rewards there were: 1, 2, or 3 for more
)
Arm = record_type(
    last=int,  # the round of its newest reward
    rewards=int,
    hazard=float,  # changes per round
    live=int,  # hypotheses
    atoms=int,  # values in its index
)
Hypothesis = record_type(
    weight=float,
    known=int,  # levels
    present=int,  # the level of the newest reward
    changed=int,  # the round in which that was seen first, 0 for the first level
    fresh=float,  # share of time of levels never seen
)
Level = record_type(
    average=float,
    rewards=float,  # behind it, what the prior is worth included
    visits=float,
    left=float,  # changes from it to another
    rounds=float,  # spent in it
    share=float,  # of time, in the long run
)
Kalman = record_type(average=float, variance=float)  # the variance in units of that of the noise
Branch = record_type(weight=float, parent=int, level=int)


class Memory(NamedTuple):
    """Arrays with a row per arm, but for those of one row and space to compute in.

    Attributes
    ----------
    clock, core, noise : one row: see `latentbandits.policies.rounds`, `Core` and `latentbandits.noise`
    asked : (arms,), the last round of every arm
    arms : (arms,)
    hypotheses : (arms, hypotheses), the live ones first
    levels : (arms, hypotheses, levels), the known ones first
    evidence, chance : (arms, hazards), log likelihood of every hazard, and its posterior
    drifts : (arms, rates), Kalman filters
    score, weight : (rates + 1,), log weight of every explanation, and its probability
    values, now, usual, rates : (arms, atoms), what the index is computed from, in falling order of the values: the probability of each at
        the newest reward, and in the long run
    space : (atoms,); `branches`, `fits` and `next_*` too are written before they are read
    """

    clock: Annotated[np.ndarray, Clock, 1]
    core: Annotated[np.ndarray, Core, 1]
    noise: Annotated[np.ndarray, Noise, 1]
    asked: Annotated[np.ndarray, np.int64, "arms"]
    arms: Annotated[np.ndarray, Arm, "arms"]
    hypotheses: Annotated[np.ndarray, Hypothesis, "arms", HYPOTHESES]
    levels: Annotated[np.ndarray, Level, "arms", HYPOTHESES, LEVELS]
    evidence: Annotated[np.ndarray, np.float64, "arms", len(HAZARDS)]
    chance: Annotated[np.ndarray, np.float64, "arms", len(HAZARDS)]
    drifts: Annotated[np.ndarray, Kalman, "arms", REGIMES]
    score: Annotated[np.ndarray, np.float64, REGIMES + 1]
    weight: Annotated[np.ndarray, np.float64, REGIMES + 1]
    values: Annotated[np.ndarray, np.float64, "arms", ATOMS]
    now: Annotated[np.ndarray, np.float64, "arms", ATOMS]
    usual: Annotated[np.ndarray, np.float64, "arms", ATOMS]
    rates: Annotated[np.ndarray, np.float64, "arms", ATOMS]
    space: Annotated[np.ndarray, np.float64, ATOMS]
    branches: Annotated[np.ndarray, Branch, BRANCHES]
    fits: Annotated[np.ndarray, np.float64, HYPOTHESES, LEVELS]
    next_hypotheses: Annotated[np.ndarray, Hypothesis, HYPOTHESES]
    next_levels: Annotated[np.ndarray, Level, HYPOTHESES, LEVELS]


SCRATCH = ("space", "branches", "fits", "next_hypotheses", "next_levels")


@kernel
def begin(memory: Memory) -> None:
    """Forget all that was learned, but for the values that rewards have and when arms were asked for."""
    memory.core[0].low, memory.core[0].high = 1.0, -1.0  # no range yet
    for j in range(REGIMES + 1):
        memory.score[j] = math.log(PRIOR_REGIMES if j == REGIMES else PRIOR_DRIFT)
        memory.weight[j] = PRIOR_REGIMES if j == REGIMES else PRIOR_DRIFT
    for arm in range(len(memory.arms)):
        memory.arms[arm].last = memory.arms[arm].rewards = memory.arms[arm].live = memory.arms[arm].atoms = 0
        for j in range(len(HAZARDS)):
            memory.evidence[arm, j] = memory.chance[arm, j] = 0.0


def fresh(arms: int) -> Memory:
    """Return the memory before the first round."""
    memory: Memory = empty(Memory, {"arms": arms})
    start_noise(memory.noise[0], 0.0, 0.0)
    begin(memory)
    return memory

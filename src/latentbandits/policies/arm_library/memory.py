"""What ArmLibrary remembers."""

from typing import NamedTuple

import numpy as np

from latentbandits.noise import fresh_noise
from latentbandits.policies.arm_library.constants import (
    HAZARDS,
    HYPOTHESES,
    LEVELS,
    NEW,
    PRIOR_DRIFT,
    PRIOR_REGIMES,
    RATES,
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

    clock: np.ndarray
    core: np.ndarray
    noise: np.ndarray
    asked: np.ndarray
    arms: np.ndarray
    hypotheses: np.ndarray
    levels: np.ndarray
    evidence: np.ndarray
    chance: np.ndarray
    drifts: np.ndarray
    score: np.ndarray
    weight: np.ndarray
    values: np.ndarray
    now: np.ndarray
    usual: np.ndarray
    rates: np.ndarray
    space: np.ndarray
    branches: np.ndarray
    fits: np.ndarray
    next_hypotheses: np.ndarray
    next_levels: np.ndarray


SCRATCH = ("space", "branches", "fits", "next_hypotheses", "next_levels")


def fresh(arms: int) -> Memory:
    """Return the memory before the first round."""
    prior = np.append(np.full(REGIMES, PRIOR_DRIFT), PRIOR_REGIMES)
    return Memory(
        clock=np.zeros(1, Clock),
        core=np.zeros(1, Core),
        noise=fresh_noise(0.0),
        asked=np.zeros(arms, np.int64),
        arms=np.zeros(arms, Arm),
        hypotheses=np.zeros((arms, HYPOTHESES), Hypothesis),
        levels=np.zeros((arms, HYPOTHESES, LEVELS), Level),
        evidence=np.zeros((arms, len(HAZARDS))),
        chance=np.zeros((arms, len(HAZARDS))),
        drifts=np.zeros((arms, len(RATES)), Kalman),
        score=np.log(prior),
        weight=prior,
        values=np.zeros((arms, ATOMS)),
        now=np.zeros((arms, ATOMS)),
        usual=np.zeros((arms, ATOMS)),
        rates=np.zeros((arms, ATOMS)),
        space=np.zeros(ATOMS),
        branches=np.zeros(BRANCHES, Branch),
        fits=np.zeros((HYPOTHESES, LEVELS)),
        next_hypotheses=np.zeros(HYPOTHESES, Hypothesis),
        next_levels=np.zeros((HYPOTHESES, LEVELS), Level),
    )

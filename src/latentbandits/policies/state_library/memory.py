"""What StateLibrary remembers: records, read as ``memory.core[0].rounds`` or ``memory.particles[slot].weight``."""

from typing import NamedTuple

import numpy as np

CAP = 512  # rewards that a remembered mean can weigh; beyond it old ones fade
HISTORY = 256  # rounds that are learned again when the noise or the range turns out to be quite different
# Rewards come from one unit, from all but the first, or from all of them
ONE, OTHERS, ALL = 0, 1, 2


def _record(whole: str, real: str) -> np.dtype:
    """Return a record type with integer and real fields, named in two texts; no name may be that of a NumPy method."""
    fields = [(name, np.int64) for name in whole.split()] + [(name, np.float64) for name in real.split()]
    return np.dtype((np.record, fields))


# rounds: learned from so far; now: the round being learned, an older one when the history is learned again; forced: the round of the last
# choice made for staleness alone; live: particles in use; best: the row of the heaviest; lineages: libraries made so far; turn: merging
CORE = _record("rounds now forced live best lineages turn", "")
# Noise of one unit's reward (0 until the scale is known), noise when the particles began, range, middle and spread of the means
SCALE = _record("last_arm", "noise noise_at_start low high centre spread last_reward")
# here: the present state; known: states in the library; lineage: equal for libraries with the same states; changed: round of the last
# change; entries: into all states; singles: states entered once; odds: of the transition counts; the last three: see `set_leaving`
PARTICLE = _record("here known lineage changed", "weight stays changes entries singles odds by_entry by_move novel")
# How often a state was entered, and how often it was left
STATE = _record("", "entered left")
# A mean of rewards, and their number
MEAN = _record("count", "average")
# Of rewards around a mean, by their number: 1 / (2 variance), 1 / sqrt(variance), and the weight of the next reward in the mean
GAUSSIAN = _record("", "precision height gain")
# Last arm (-1 at first) and level of its reward; average squared error; weight of the library against the lag model, and its regression
LAG = _record("arm level", "error blend xx xy")
# A round: the arm and mean reward of the first unit (or of all), those of the others (the arm is -1 if all played the same), and `u`
# on (0, 1) for the pruning
OBSERVATION = _record("first second", "reward other u")


class Memory(NamedTuple):
    """Records and arrays; those from `value` on are scratch, rebuilt in every round before they are read.

    Attributes
    ----------
    core : the particle filter's counters, one record
    scale : noise and range of the means, one record
    bins, tally : differences of rewards, see `latentbandits.noise`
    particles : one record per particle
    states : per particle and state, entered and left
    means : per particle, state and arm, the posterior mean and the number of rewards behind it
    moves : per particle, how often one state followed another
    slots : rows of particles; the first ``core.live`` of them are in use
    played : the round in which each arm was played last
    gaussians : per group of units (ONE, OTHERS, ALL) and number of rewards behind a mean
    deviation : of a mean, by the number of rewards behind it
    lag, levels, lag_arms, lag_levels, lag_next : the lag model, see `lag`
    history : the last rounds
    value, upper : expected reward and index of every arm in the last choice
    parent, to, chance, slot : branches of all particles: where each comes from, the state it goes to, its weight, its row
    heavy : weights that may be above the cut of the pruning
    first_branch : per particle, the first of its branches that was kept
    """

    core: np.ndarray
    scale: np.ndarray
    bins: np.ndarray
    tally: np.ndarray
    particles: np.ndarray
    states: np.ndarray
    means: np.ndarray
    moves: np.ndarray
    slots: np.ndarray
    played: np.ndarray
    gaussians: np.ndarray
    deviation: np.ndarray
    lag: np.ndarray
    levels: np.ndarray
    lag_arms: np.ndarray
    lag_levels: np.ndarray
    lag_next: np.ndarray
    history: np.ndarray
    value: np.ndarray
    upper: np.ndarray
    parent: np.ndarray
    to: np.ndarray
    chance: np.ndarray
    slot: np.ndarray
    heavy: np.ndarray
    first_branch: np.ndarray

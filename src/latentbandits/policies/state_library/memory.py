"""What StateLibrary remembers: records, read as ``memory.core[0].rounds`` or ``memory.particles[slot].weight``."""

from typing import NamedTuple

import numpy as np

from latentbandits.protocols import record_type

CAP = 512  # rewards that a remembered mean can weigh; beyond it old ones fade
HISTORY = 256  # rounds that are learned again when the noise or the range turns out to be quite different
# Where observed features begin among those of a choice, behind a random number and the number of the round
FEATURES = 2
# Rewards come from one group, from all but the first, or from all of them
ONE, OTHERS, ALL = 0, 1, 2

AGES = 64  # ages that are told apart, see `transitions`
VISITS = 4  # past visits to states that a late reward can belong to
WAITING = 1024  # rounds whose rewards may be under way

Core = record_type(
    asked=int,  # rounds chosen so far: a round is known by this number
    rounds=int,  # rounds learned from so far
    told=int,  # the latest round whose rewards have arrived
    now=int,  # the round being learned, and the latest one learned before it
    front=int,
    forced=int,  # the round of the last choice made for staleness
    live=int,  # particles in use
    best=int,  # the row of the heaviest
    numbered=int,  # states that particles have begun
    regimes=int,  # regimes that were given a number, the set of states all of which have one, and the row of the present one, see `regimes`
    shown=int,
    row=int,
    retold=int,  # the round in which the past was last learned again because of features
    lineages=int,  # how many different sets of states there have been
    turn=int,  # which particle is compared with the others next
)
Scale = record_type(
    pairs=int,  # differences of rewards, with the effects of features, and those that were zero
    ties=int,
    noise_at_start=float,  # the noise when the particles began
    values=int,  # different rewards seen, of which 3 stands for any larger number; the lowest and the highest
    least=float,
    most=float,
    low=float,  # range in which means are expected, its middle, and their standard deviation
    high=float,
    centre=float,
    spread=float,
)
Particle = record_type(
    weight=float,  # its probability
    here=int,  # the present state
    known=int,  # states in its library
    lineage=int,  # equal for particles whose libraries have the same states
    stays=float,  # rounds in which the state stayed, and in which it changed
    changes=float,
    changed=int,  # round of the last change, and the latest one known to be before it
    until=int,
    outliers=float,  # rewards that were taken for outliers
    constant=float,  # probability that its state changes in this round, if that does not depend on the age, and if it does
    by_age=float,
    ageing=float,  # odds of a hazard that depends on the age of the state, against one that does not
    age=int,  # of the present state, as a place in `ended`; visits that ended at a lower age, and all that ended
    younger=int,
    visits=int,
    entries=float,  # into all states
    singles=float,  # states entered once
    odds=float,  # of the transition counts against the entry counts
    by_entry=float,  # where a change leads, see `transitions.set_leaving`
    by_move=float,
    novel=float,
)
# Its own id and the number of its regime (0 if it has none yet), how often it was entered and left, the rounds spent there, and the latest
# of them before the present visit
State = record_type(id=int, number=int, entered=float, left=float, spent=float, seen=int)
Regime = record_type(number=int, seen=int)  # 0 if the row is free; when it was last the present one, in rounds learned
Visit = record_type(state=int, began=int)  # a state that ended (-1 if it was forgotten), and its first round
Mean = record_type(average=float, count=int)  # of rewards
Gaussian = record_type(
    precision=float,  # 1 / (2 variance) of a reward
    height=float,  # 1 / sqrt(variance)
    gain=float,  # weight of the reward in the new mean
)
Feature = record_type(
    count=int,  # rounds, with its average and the sum of squares around that
    average=float,
    squares=float,
    prior=float,  # variance of slopes, in noise^2 per variance of the feature
)
Cell = record_type(id=int, count=float, average=float)  # the id of a state, its rewards of an arm and their average
Lag = record_type(
    arm=int,  # the last arm, -1 at first, and the level of its reward
    level=int,
    error=float,  # average squared error
    blend=float,  # weight of the library against the lag model, and the sums of its regression
    xx=float,
    xy=float,
)
Claim = record_type(  # see `trust`
    number=int,  # of the round
    kind=int,
    gap=float,  # by which another arm is better than the usual one
    value=float,  # of the arm played
)
Trust = record_type(
    rounds=float,  # in which the library preferred another arm to the usual one
    gaps=float,  # their sum, and that of their squares
    weights=float,
    products=float,  # of gaps and surprises
    surprise=float,  # reward - value, and its square
    squares=float,
)
Budget = record_type(cost=float, gained=float)  # of tests, and by leaving the usual arm
Observation = record_type(
    first=int,  # arm and mean reward of the first group, or of all if they played the same
    reward=float,
    number=int,  # of the round
    second=int,  # those of the other groups; -1 if all played the same
    other=float,
    u=float,  # uniform on (0, 1), for the pruning
    state=int,  # id of the state that the heaviest particle believed in when the round was last learned, 0 if it had forgotten
    regime=int,  # the number that was shown for it, see `regimes`
)
Branch = record_type(
    parent=int,  # the row of the particle that it comes from
    to=int,  # the state it goes to
    chance=float,  # its weight
    slot=int,  # its own row
)


class Memory(NamedTuple):
    """Records and arrays; those from `branches` on are scratch, rebuilt in every round before they are read.

    Attributes
    ----------
    core : the particle filter's counters, one record
    scale : range of the means, one record
    noise : differences of rewards one round apart and two, see `latentbandits.noise`; the first `sd` is 0 until the range is known
    particles : one record per particle
    states : per particle and state, its id, its number and how often it was entered and left
    means : per particle, state and arm, the posterior mean and the number of rewards behind it
    moves : per particle, how often one state followed another
    slots : rows of particles; the first ``core.live`` of them are in use
    regimes, regime_means : regimes that were shown, and the means of every arm as they were then, see `regimes`
    visits : per particle, the states before the present one, the latest first
    ended : per particle and age, how many visits ended at it
    played : the round in which each arm was played last
    plays : how often each arm was played by the first group
    claims, trust, budget : what the library claimed in the last rounds, and how much of it came true, see `trust`
    pending : rewards of each arm that are under way: of rounds after ``core.told``
    waiting : arms of the first group and of the others in the last rounds
    gaussians : per set of groups (ONE, OTHERS, ALL) and number of rewards behind a mean
    deviation : of a mean, by the number of rewards behind it
    lag, levels, lag_arms, lag_levels, lag_next : the lag model, see `lag`
    history : the last rounds
    features : one record per observed feature
    slopes, told_slopes : per arm and feature, its effect, and the one with which the past was learned
    moments, products, inverse : the regressions of the slopes, see `features`
    regressed : per arm, the rewards that its slopes have learned from
    cells, cell_features : per state and arm, the averages that the regressions are relative to
    effects : per arm, the effect of the present features; scratch
    history_features : the features of the last rounds
    last_features : those of the last reward and of the one before it, for the noise
    branches : those of all particles
    heavy : weights that may be above the cut of the pruning
    first_branch : per particle, the first of its branches that was kept
    shared : per state and regime, the rounds that both have in common, see `regimes`
    """

    core: np.ndarray
    scale: np.ndarray
    noise: np.ndarray
    particles: np.ndarray
    states: np.ndarray
    means: np.ndarray
    moves: np.ndarray
    slots: np.ndarray
    regimes: np.ndarray
    regime_means: np.ndarray
    visits: np.ndarray
    ended: np.ndarray
    played: np.ndarray
    plays: np.ndarray
    claims: np.ndarray
    trust: np.ndarray
    budget: np.ndarray
    pending: np.ndarray
    waiting: np.ndarray
    gaussians: np.ndarray
    deviation: np.ndarray
    lag: np.ndarray
    levels: np.ndarray
    lag_arms: np.ndarray
    lag_levels: np.ndarray
    lag_next: np.ndarray
    history: np.ndarray
    features: np.ndarray
    slopes: np.ndarray
    told_slopes: np.ndarray
    moments: np.ndarray
    products: np.ndarray
    inverse: np.ndarray
    regressed: np.ndarray
    cells: np.ndarray
    cell_features: np.ndarray
    history_features: np.ndarray
    last_features: np.ndarray
    effects: np.ndarray
    branches: np.ndarray
    heavy: np.ndarray
    first_branch: np.ndarray
    shared: np.ndarray

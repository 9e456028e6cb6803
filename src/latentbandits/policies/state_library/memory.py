"""What StateLibrary remembers: groups of records and arrays, one for each module that writes them.

A record is read as ``memory.core[0].rounds`` or ``memory.library.particles[slot].weight``. What a group has only one of is its `core`.
The annotation of an array names the type of its entries and its shape, in numbers and settings.
"""

from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.noise import Noise
from latentbandits.policies.arm_library.memory import SCRATCH as LEVELS_SCRATCH
from latentbandits.policies.arm_library.memory import Memory as Levels
from latentbandits.policies.state_library import constants
from latentbandits.protocols import record_type

# Where observed features begin among those of a choice, behind a random number and the number of the round
FEATURES = 2
# Rewards come from one group, from all but the first, or from all of them
ONE, OTHERS, ALL = 0, 1, 2

Core = record_type(
    asked=int,  # rounds chosen so far: a round is known by this number
    rounds=int,  # rounds learned from so far
    told=int,  # the latest round whose rewards have arrived
    retold=int,  # the round in which the past was last learned again because of features
)
FilterCore = record_type(
    now=int,  # the round being learned, and the latest one learned before it
    front=int,
    live=int,  # particles in use
    best=int,  # the row of the heaviest
    numbered=int,  # states that particles have begun
    lineages=int,  # how many different sets of states there have been
    turn=int,  # which particle is compared with the others next
    log_evidence=float,  # of all rewards since the particles began
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
    branch=int,  # the first of its branches that was kept, -1 for none
)
# Its own id and the number of its regime (0 if it has none yet), how often it was entered and left, the rounds spent there, and the latest
# of them before the present visit
State = record_type(id=int, number=int, entered=float, left=float, spent=float, seen=int)
Mean = record_type(
    average=float,  # of rewards
    count=int,
    share=float,  # of rewards that are amounts, and the mean of their logarithms, see `amounts`
    amount=float,
)
Visit = record_type(state=int, began=int)  # a state that ended (-1 if it was forgotten), and its first round
Branch = record_type(
    parent=int,  # the row of the particle that it comes from
    to=int,  # the state it goes to
    chance=float,  # its weight
    slot=int,  # its own row
)
Scale = record_type(
    pairs=int,  # differences of rewards, with the effects of features, and those that were zero
    ties=int,
    noise_at_start=float,  # the noise when the particles began
    low=float,  # range in which means are expected, its middle, and their standard deviation
    high=float,
    centre=float,
    spread=float,
)
Usual = record_type(
    known=int,  # whether a value has come again, and which
    value=float,
    count=int,  # rewards since, and those that were amounts: any other value
    hits=int,
    smooth=float,  # log evidence of amounts against numbers around a mean, and against values that last
    lasting=float,
)
Amounts = record_type(
    count=int,  # rewards of an arm, their mean, and the sum of squares around it
    average=float,
    squares=float,
    last=float,  # the latest, and the least difference of two in a row that was not zero
    gap=float,
    hits=int,  # those that were amounts, with the same, and their logarithms
    paid=float,
    paid_squares=float,
    amount=float,
    last_amount=float,
    moved=float,  # sum of squared differences of two in a row
    doubted=int,  # whether the last one was absurdly large
)
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
    last=float,  # with the last reward, and with the one before it, for the noise
    before=float,
)
Slope = record_type(
    value=float,  # of an arm and a feature
    told=float,  # the one with which the past was learned
    product=float,  # of the feature and rewards, and below of two features and in the inverse, see `covariates.regress`
)
Pair = record_type(moment=float, inverse=float)
Cell = record_type(id=int, count=float, average=float)  # the id of a state, its rewards of an arm and their average
LagCore = record_type(
    arm=int,  # the last arm, -1 at first, and the level of its reward
    level=int,
    error=float,  # average squared error
    blend=float,  # weight of the library against the lag model, and the sums of its regression
    xx=float,
    xy=float,
)
LagArm = record_type(average=float, count=int, levels=int)  # of an arm's rewards; its levels
TrustCore = record_type(cost=float, gained=float)  # of tests, and by leaving the usual arm
Claim = record_type(
    number=int,  # of the round
    kind=int,
    gap=float,  # by which another arm is better than the usual one
    value=float,  # of the arm played
)
Checked = record_type(
    rounds=float,  # in which the library preferred another arm to the usual one
    gaps=float,  # their sum, and that of their squares
    weights=float,
    products=float,  # of gaps and surprises
    surprise=float,  # reward - value, and its square
    squares=float,
)
StalenessCore = record_type(odds=float)  # of its explanation against the library's
# The round in which an arm was played last and the id of the state then, and what not having looked since is likely to have cost
StaleArm = record_type(played=int, state=int, loss=float)
# Rewards that all explanations have learned from; log evidence of the lag model, and the sum of its squared errors
EvidenceCore = record_type(rounds=int, lag=float, squares=float)
Observation = record_type(
    first=int,  # arm and mean reward of the first group, or of all if they played the same
    reward=float,
    number=int,  # of the round
    second=int,  # those of the other groups; -1 if all played the same
    other=float,
    hits=int,  # how many rewards of the first set of groups were amounts, and the mean of their logarithms; and of the others
    amount=float,
    other_hits=int,
    other_amount=float,
    u=float,  # uniform on (0, 1), for the pruning
    state=int,  # id of the state that the heaviest particle believed in when the round was last learned, 0 if it had forgotten
    regime=int,  # the number that was shown for it, see `regimes`
)
RegimeCore = record_type(
    numbered=int,  # regimes that were given a number, the set of states all of which have one, and the row of the present one
    shown=int,
    row=int,
)
Regime = record_type(number=int, seen=int)  # 0 if the row is free; when it was last the present one, in rounds learned

OwnCore = record_type(
    odds=float,  # that every arm changes by itself, as a logarithm
    last=int,  # the arm of the latest reward, -1 if it was not one alone
)


OutlookCore = record_type(
    number=int,  # hypotheses, and which is the heaviest
    best=int,
    front=int,  # the latest round that they know of
)
Hypothesis = record_type(
    slot=int,  # the row of a particle, and its state: behind those that it knows for a new one
    state=int,
    weight=float,  # its probability, and that of all open decisions by its particle, as a logarithm
    evidence=float,
)


class Library(NamedTuple):
    """The particles, see `filter`."""

    core: Annotated[np.ndarray, FilterCore, 1]
    particles: Annotated[np.ndarray, Particle, "particles"]
    states: Annotated[np.ndarray, State, "particles", "states"]
    means: Annotated[
        np.ndarray, Mean, "particles", "states", "arms"
    ]  # posterior means, and the number of rewards behind each
    moves: Annotated[np.ndarray, np.int32, "particles", "states", "states"]  # how often one state followed another
    visits: Annotated[
        np.ndarray, Visit, "particles", constants.VISITS
    ]  # to states before the present one, the latest first
    ended: Annotated[np.ndarray, np.int32, "particles", constants.AGES]  # how many visits ended at an age
    slots: Annotated[np.ndarray, np.int64, "particles"]  # rows of particles; the first ``core.live`` of them are in use
    branches: Annotated[np.ndarray, Branch, "branches"]  # those of all particles; scratch
    heavy: Annotated[np.ndarray, np.float64, "branches"]  # weights that may be above the cut of the pruning; scratch


class Standard(NamedTuple):
    """Range and noise of rewards, see `standardise`, and what follows from them."""

    scale: Annotated[np.ndarray, Scale, 1]
    noise: Annotated[
        np.ndarray, Noise, 2
    ]  # by differences one round apart and two; the first `sd` is 0 until the range is known
    usual: Annotated[np.ndarray, Usual, 1]  # whether rewards are nothing or an amount, see `amounts`
    amounts: Annotated[np.ndarray, Amounts, "arms"]
    gaussians: Annotated[
        np.ndarray, Gaussian, 3, constants.MOST_REWARDS + 1
    ]  # by set of groups and rewards behind a mean, see `emissions`
    deviation: Annotated[
        np.ndarray, np.float64, constants.MOST_REWARDS + 1
    ]  # of a mean, by the number of rewards behind it


class Covariates(NamedTuple):
    """Observed features and their slopes, see `covariates`."""

    features: Annotated[np.ndarray, Feature, "covariates"]
    slopes: Annotated[np.ndarray, Slope, "arms", "covariates"]
    pairs: Annotated[np.ndarray, Pair, "arms", "covariates", "covariates"]
    rewards: Annotated[np.ndarray, np.float64, "arms"]  # those that an arm's slopes have learned from
    cells: Annotated[np.ndarray, Cell, "states", "arms"]  # the averages that the regressions are relative to
    cell_features: Annotated[np.ndarray, np.float64, "states", "arms", "covariates"]
    effects: Annotated[np.ndarray, np.float64, "arms"]  # of the present features; scratch


class Lag(NamedTuple):
    """The lag model, see `correctors.lag`."""

    core: Annotated[np.ndarray, LagCore, 1]
    arms: Annotated[np.ndarray, LagArm, "arms"]
    levels: Annotated[np.ndarray, Mean, "arms", "levels"]  # rewards near a level
    following: Annotated[np.ndarray, Mean, "arms", "levels", "arms"]  # rewards of the next arm


class Trust(NamedTuple):
    """What the library claimed and how much of it came true, see `correctors.trust`."""

    core: Annotated[np.ndarray, TrustCore, 1]
    claims: Annotated[np.ndarray, Claim, constants.WAITING]  # in the last rounds
    checked: Annotated[np.ndarray, Checked, 3]  # by kind of round
    plays: Annotated[np.ndarray, np.int64, "arms"]  # by the first group


class Staleness(NamedTuple):
    """When every arm was played last, see `correctors.staleness`."""

    core: Annotated[np.ndarray, StalenessCore, 1]
    arms: Annotated[np.ndarray, StaleArm, "arms"]


class Evidence(NamedTuple):
    """What other explanations made of the rewards, see `evidence`."""

    core: Annotated[np.ndarray, EvidenceCore, 1]
    walks: Annotated[np.ndarray, np.float64, len(constants.PACES)]  # log evidence of means that move, by pace
    means: Annotated[np.ndarray, Mean, len(constants.PACES), "arms"]
    played: Annotated[np.ndarray, np.int64, "arms"]  # the latest round in which an arm was played


class History(NamedTuple):
    """The last rounds learned, and those whose rewards are under way, see `history`."""

    rounds: Annotated[np.ndarray, Observation, constants.HISTORY]
    features: Annotated[np.ndarray, np.float64, constants.HISTORY, "covariates"]
    waiting: Annotated[
        np.ndarray, np.int64, constants.WAITING, 2
    ]  # arms of the first group and of the others in the last rounds chosen
    pending: Annotated[np.ndarray, np.int64, "arms"]  # rewards under way: of rounds after ``core.told``


class Outlook(NamedTuple):
    """Which state it may be now, given decisions whose windows are open, see `outlook`; all of it is scratch."""

    core: Annotated[np.ndarray, OutlookCore, 1]
    hypotheses: Annotated[np.ndarray, Hypothesis, "branches"]
    chain: Annotated[
        np.ndarray, np.float64, "states"
    ]  # of one particle: the weights of its states, before and after a step
    moved: Annotated[np.ndarray, np.float64, "states"]
    rates: Annotated[np.ndarray, np.float64, "states", "arms"]  # in each of them, how often arms pay an amount
    new: Annotated[np.ndarray, np.float64, constants.BLOCKS]  # weights of new states, by the block that they began with
    fresh: Annotated[np.ndarray, np.float64, constants.BLOCKS, constants.BLOCKS]  # log chance of a block in each
    values: Annotated[np.ndarray, np.float64, constants.BLOCKS, "arms"]  # what arms pay in each
    counts: Annotated[np.ndarray, np.float64, "arms"]  # in one of them
    hits: Annotated[np.ndarray, np.float64, "arms"]
    chances: Annotated[np.ndarray, np.float64, "arms"]
    means: Annotated[np.ndarray, Mean, "arms"]  # of which nothing is known


class Regimes(NamedTuple):
    """Regimes that were shown, see `regimes`."""

    core: Annotated[np.ndarray, RegimeCore, 1]
    known: Annotated[np.ndarray, Regime, "states"]
    means: Annotated[np.ndarray, Mean, "states", "arms"]  # as they were then
    shared: Annotated[
        np.ndarray, np.int64, "states", "states"
    ]  # rounds that a state and a regime have in common; scratch


class Own(NamedTuple):
    """Every arm by itself, see `own`."""

    core: Annotated[np.ndarray, OwnCore, 1]
    levels: Levels
    scores: Annotated[np.ndarray, np.float64, "arms", 4]  # available, index, value and std_error; scratch


class Memory(NamedTuple):
    """All that is remembered: a group for each module that writes it."""

    core: Annotated[np.ndarray, Core, 1]
    library: Library
    standard: Standard
    covariates: Covariates
    lag: Lag
    trust: Trust
    staleness: Staleness
    evidence: Evidence
    history: History
    regimes: Regimes
    own: Own
    outlook: Outlook


# Written in every round before it is read
SCRATCH = (
    *("library.branches", "library.heavy", "covariates.effects", "regimes.shared", "outlook", "own.scores"),
    *(f"own.levels.{name}" for name in LEVELS_SCRATCH),
)

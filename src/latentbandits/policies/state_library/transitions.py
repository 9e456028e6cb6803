"""The chain of states within one particle: whether the state stays, and where a change leads.

`staying`, `hazard_at_age` and `hazard` are probabilities and change nothing. The counts behind them are the particle's own, see `library`.
Two pairs of models are averaged by odds, that is by how well each has predicted so far: a constant hazard and one that depends on the age
of the state (`update_ageing`), and entry counts and counted transitions (`update_odds`).
"""

import math

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library import constants
from latentbandits.protocols import Record

# The first age of every bin, the bin of every age, and how many ages each has
_STARTS = [
    *range(1, constants.EXACT_AGES + 1),
    *(
        math.ceil(constants.EXACT_AGES * constants.AGE_RATIO**i)
        for i in range(1, constants.AGES - constants.EXACT_AGES + 1)
    ),
]
_OLDEST = _STARTS[constants.AGES - 1]
_AGE = np.searchsorted(np.array(_STARTS[: constants.AGES]), np.arange(_OLDEST + 1), side="right") - 1
_AGE[0] = 0
_WIDTH = np.diff(np.array(_STARTS[: constants.AGES + 1])).astype(float)


@kernel
def age_of(particle: Record, now: int) -> int:
    """Return the age of a particle's state in a round, as a bin."""
    return int(_AGE[min(now - particle.changed, _OLDEST)])


@kernel
def staying(particle: Record) -> float:
    """Return the probability that a particle's state stays.

    stay = (stays + 29) / (stays + 29 + changes + 1/2)
    """
    stays = particle.stays + constants.STAYS
    return float(stays / (stays + particle.changes + constants.CHANGES))


@kernel
def hazard_at_age(particle: Record, ended: np.ndarray, now: int, constant: float) -> float:
    """Return the probability that a particle's state changes at its present age, as states of that age did.

    (ended[age] + prior) / (visits that lasted so long + 1) / rounds of that age, with the same prior at every age
    """
    at = age_of(particle, now)
    if at == constants.AGES - 1:
        return constant
    reached = particle.visits - particle.younger
    for age in range(particle.age, at):
        reached -= ended[age]
    width = _WIDTH[at]
    return float((ended[at] + constant * width) / ((reached + 1.0) * width))


@kernel
def hazard(particle: Record, ended: np.ndarray, front: int, now: int) -> float:
    """Return the probability that a particle's state has changed between the latest round learned, `front`, and another.

    One round later two models are averaged by their odds: a hazard that is always the same, and one that depends on the age of the state.
    Several rounds later, where rewards are late or lost: 1 - stay^rounds
    """
    stay = staying(particle)
    rounds = now - front
    if rounds > 1:
        return 1.0 - math.exp(rounds * math.log(stay))  # a power would be rounded otherwise by machine code
    by_age = hazard_at_age(particle, ended, now, 1.0 - stay)
    return float((1.0 - stay + particle.ageing * by_age) / (1.0 + particle.ageing))


@kernel
def note_hazard(particle: Record, ended: np.ndarray, front: int, now: int) -> float:
    """Return the hazard in a round that is being learned; if it is the next one, note what both models say, and the age of the state.

    `update_ageing` compares them once the reward has told whether the state changed
    """
    if now - front > 1:
        return hazard(particle, ended, front, now)
    particle.constant = 1.0 - staying(particle)
    particle.by_age = hazard_at_age(particle, ended, now, particle.constant)
    at = age_of(particle, now)
    if at < constants.AGES - 1:
        for age in range(particle.age, at):
            particle.younger += ended[age]
        particle.age = at
    return float((particle.constant + particle.ageing * particle.by_age) / (1.0 + particle.ageing))


@kernel
def bounded_odds(odds: float) -> float:
    """Return the odds of a model within bounds, so that neither it nor its rival is ever given up."""
    return float(min(max(odds, constants.RICHER / constants.MOST_ODDS), constants.MOST_ODDS))


@kernel
def update_ageing(particle: Record, changed: bool) -> None:
    """Update the odds of the hazard that depends on age by how well it predicted whether the state changes."""
    constant = particle.constant
    odds = particle.ageing * (particle.by_age / constant if changed else (1.0 - particle.by_age) / (1.0 - constant))
    particle.ageing = bounded_odds(odds)


@kernel
def set_leaving(particle: Record, state: Record) -> None:
    """Set where a change of a particle from its present state z leads.

    Two models are averaged by their odds. One uses how often a state was entered; the other the transitions counted from z, backed off to
    the first. A new state has the mass 1 plus the number of states entered once (Good and Turing's estimate of what is still
    unseen)::

        flat(k)    = entered[k] / (unseen + entries - entered[z])      unseen = 1 + singles; for a new state: unseen / (...)
        counted(k) = (moves[z, k] + flat(k)) / (left[z] + 1)
        p(k)       = (flat(k) + odds * counted(k)) / (1 + odds)
                   = by_entry * entered[k] + by_move * moves[z, k]
        p(new)     = by_entry * unseen = novel
    """
    particle.by_entry, particle.by_move = leaving(particle, state)
    particle.novel = particle.by_entry * (constants.NOVELTY + particle.singles)


@kernel
def leaving(particle: Record, state: Record) -> tuple[float, float]:
    """Return what a change from a state weighs entries and moves with, see `set_leaving`."""
    flat = 1.0 / (constants.NOVELTY + particle.singles + particle.entries - state.entered)
    counted = particle.odds / (state.left + constants.BACKOFF)
    share = 1.0 / (1.0 + particle.odds)
    return share * flat * (1.0 + counted * constants.BACKOFF), share * counted


@kernel
def update_odds(particle: Record, states: np.ndarray, moves: np.ndarray, to: int) -> None:
    """Update the odds of the counted transitions by how much better than the entry counts they predicted this change.

    odds <- odds * counted(to) / flat(to), see `set_leaving`
    """
    z = particle.here
    unseen = constants.NOVELTY + particle.singles
    fresh = to == particle.known
    flat = unseen if fresh else states[to].entered
    flat /= unseen + particle.entries - states[z].entered
    counted = constants.BACKOFF * flat + (0.0 if fresh else float(moves[z, to]))
    odds = particle.odds * counted / (states[z].left + constants.BACKOFF) / flat
    particle.odds = bounded_odds(odds)

"""Staleness: an arm is looked at once not having looked is likely to have cost more than the look.

The library infers from the rewards of one arm what the others pay. The rival explanation is that they tell nothing: whatever an arm paid
when it was played last, it pays until its state changes, and then what any state pays. By the rival, an arm that is not played loses a
little in every round; where that adds up to the price of a look, the arm is played once (a renewal
argument: the best interval between looks at what changes at a constant rate is the one in which they lose as much as they cost).
How much the rival counts depends on how well both predicted the rewards of arms that had not been played for some rounds.
"""

import math

from latentbandits.compiled import kernel
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.emissions import (
    Emission,
    Outcome,
    likelihood,
    log_density,
    new_predictive,
    predictive,
)
from latentbandits.policies.state_library.memory import Library, Staleness
from latentbandits.policies.state_library.transitions import bounded_odds
from latentbandits.protocols import Choice, Record


@kernel
def last_state(staleness: Staleness, library: Library, arm: int) -> int:
    """Return the state of the heaviest particle in which an arm was played last; -1 if it has none such."""
    best = library.core[0].best
    for k in range(library.particles[best].known):
        if library.states[best, k].id == staleness.arms[arm].state:
            return k
    return -1


@kernel
def has_changed(staleness: Staleness, library: Library, arm: int, stay: float, now: int) -> float:
    """Return the probability that an arm's state has changed since the arm was played last: 1 - stay^rounds."""
    if last_state(staleness, library, arm) < 0:
        return 1.0
    return 1.0 - math.exp((now - staleness.arms[arm].played) * math.log(stay))


@kernel
def rival_gain(library: Library, scale: Record, arm: int, value: float) -> float:
    """Return what an arm whose state has changed unseen pays beyond a value, on average, as far as it is more.

    (1 - p(new)) * sum over k of share(k) * (mean in k - value)+ + p(new) * (high - value)+^2 / (2 width)
    share(k) is that of all rounds, and a new state pays anything in the range
    """
    best = library.core[0].best
    particle, states = library.particles[best], library.states[best]
    gain, total = 0.0, 0.0
    for k in range(particle.known):
        total += states[k].spent
        gain += states[k].spent * max(library.means[best, k, arm].average - value, 0.0)
    hope = max(scale.high - value, 0.0)
    unseen = particle.novel * hope * hope / (2.0 * (scale.high - scale.low))
    return float(unseen + (1.0 - particle.novel) * gain / max(total, 1.0))


@kernel
def overdue(
    staleness: Staleness, library: Library, scale: Record, stay: float, greedy: int, now: int, choice: Choice
) -> int:
    """Add what not looking has cost in this round; returns the arm whose look is overdue most, -1 for none.

    loss(arm) += P(rival) * P(changed) * gain, until it is above the price of a look: value of the greedy arm - value of the arm
    """
    value, top, found = choice.arm_scores[greedy].value, 0.0, -1
    rival = staleness.core[0].odds / (1.0 + staleness.core[0].odds)
    for arm in range(len(staleness.arms)):
        one = staleness.arms[arm]
        if arm == greedy or not choice.arm_scores[arm].available:
            continue
        changed = has_changed(staleness, library, arm, stay, now)
        one.loss += rival * changed * rival_gain(library, scale, arm, value)
        beyond = one.loss - (value - choice.arm_scores[arm].value)
        if beyond > top:
            found, top = arm, beyond
    return found


@kernel
def predicted(staleness: Staleness, library: Library, emission: Emission, outcome: Outcome, stay: float) -> float:
    """Return how probable the rival made a reward, as a logarithm.

    stay^rounds * predictive(reward, state of the last play) + (1 - stay^rounds) * sum over k of share(k) * predictive(reward, k)
    with the share p(new) for a new state
    """
    best, arm = library.core[0].best, outcome.first
    particle, states, total, elsewhere = library.particles[best], library.states[best], 0.0, 0.0
    for k in range(particle.known):
        height, exponent = predictive(emission, library.means[best, k], True, outcome)
        elsewhere += states[k].spent * likelihood(height, exponent)
        total += states[k].spent
    elsewhere *= (1.0 - particle.novel) / max(total, 1.0)
    elsewhere += particle.novel * new_predictive(emission, library.means[best, 0], outcome)
    changed, last = has_changed(staleness, library, arm, stay, library.core[0].now), last_state(staleness, library, arm)
    density = changed * elsewhere
    if last >= 0:
        height, exponent = predictive(emission, library.means[best, last], True, outcome)
        density += (1.0 - changed) * likelihood(height, exponent)
    return log_density(emission, outcome, density)


@kernel
def is_look(staleness: Staleness, outcome: Outcome, now: int, front: int) -> bool:
    """Return whether a reward tells the two explanations apart: that of an arm which was not played in the round before."""
    return bool(outcome.second < 0 and now > front and now - staleness.arms[outcome.first].played > 1)


@kernel
def weigh(staleness: Staleness, more: float) -> None:
    """Update the odds of the rival by how much better it predicted a reward, as a difference of logarithms."""
    core = staleness.core[0]
    core.odds = bounded_odds(core.odds * math.exp(min(more, constants.LARGEST_EXPONENT)))


@kernel
def note_played(staleness: Staleness, library: Library, outcome: Outcome, number: int) -> None:
    """Note in which round and which state arms were played."""
    best = library.core[0].best
    state = library.states[best, library.particles[best].here].id
    for arm in (outcome.first, outcome.second):
        if arm >= 0 and number >= staleness.arms[arm].played:
            staleness.arms[arm].played = number
            staleness.arms[arm].state = state


@kernel
def reset(staleness: Staleness) -> None:
    """Forget when arms were played, and all evidence."""
    staleness.core[0].odds = constants.RICHER
    for arm in range(len(staleness.arms)):
        staleness.arms[arm].played = staleness.arms[arm].state = 0

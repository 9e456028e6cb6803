"""The chain of states within one particle: whether the state stays, where a change leads, and what a change leaves behind."""

import math
from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library.memory import AGES, VISITS, Memory
from latentbandits.protocols import Record

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary

_BACKOFF = 1.0  # weight of the entry counts in the learned transitions
_MOST_ODDS = 1000.0
# Ages of up to 20 rounds each have a bin of their own, older ones bins of 10 %
_EXACT, _RATIO = 20, 1.1
_STARTS = [*range(1, _EXACT + 1), *(math.ceil(_EXACT * _RATIO**i) for i in range(1, AGES - _EXACT + 1))]
_OLDEST = _STARTS[AGES - 1]
_AGE = np.searchsorted(np.array(_STARTS[:AGES]), np.arange(_OLDEST + 1), side="right") - 1
_AGE[0] = 0
_WIDTH = np.diff(np.array(_STARTS[: AGES + 1])).astype(float)


@kernel
def staying(policy: "StateLibrary", particle: Record) -> float:
    """Return the probability that a particle's state stays.

    stay = (stays + stay_prior) / (stays + stay_prior + changes + change_prior)
    """
    stays = particle.stays + policy.stay_prior
    return float(stays / (stays + particle.changes + policy.change_prior))


@kernel
def aged(particle: Record, ended: np.ndarray, now: int, constant: float) -> float:
    """Return the probability that a particle's state changes at its present age, as states of that age did.

    (ended[age] + prior) / (visits that lasted so long + 1) / rounds of that age, with the same prior at every age
    """
    at = _AGE[min(now - particle.changed, _OLDEST)]
    if at == AGES - 1:
        return constant
    reached = particle.visits - particle.younger
    for age in range(particle.age, at):
        reached -= ended[age]
    width = _WIDTH[at]
    return float((ended[at] + constant * width) / ((reached + 1.0) * width))


@kernel
def hazard(policy: "StateLibrary", memory: Memory, slot: int, now: int) -> float:
    """Return the probability that a particle's state has changed between the latest round learned and another.

    One round later two models are averaged by their odds: a hazard that is always the same, and one that depends on the age of the state.
    Several rounds later, where rewards are late or lost: 1 - stay^rounds
    """
    particle = memory.particles[slot]
    stay = staying(policy, particle)
    rounds = now - memory.core[0].front
    if rounds > 1:
        return 1.0 - math.exp(rounds * math.log(stay))  # a power would be rounded otherwise by machine code
    by_age = aged(particle, memory.ended[slot], now, 1.0 - stay)
    return float((1.0 - stay + particle.ageing * by_age) / (1.0 + particle.ageing))


@kernel
def predict_change(policy: "StateLibrary", memory: Memory, slot: int, now: int) -> None:
    """Note what the two hazards say about the round after the latest one learned, and the age that the state has then.

    `update_ageing` compares them once the reward has told whether the state changed
    """
    particle, ended = memory.particles[slot], memory.ended[slot]
    if now - memory.core[0].front > 1:
        return
    particle.constant = 1.0 - staying(policy, particle)
    particle.by_age = aged(particle, ended, now, particle.constant)
    at = _AGE[min(now - particle.changed, _OLDEST)]
    if at < AGES - 1:
        for age in range(particle.age, at):
            particle.younger += ended[age]
        particle.age = at


@kernel
def update_ageing(policy: "StateLibrary", particle: Record, changed: bool) -> None:
    """Update the odds of the hazard that depends on age by how well it predicted whether the state changes."""
    constant = particle.constant
    odds = particle.ageing * (particle.by_age / constant if changed else (1.0 - particle.by_age) / (1.0 - constant))
    particle.ageing = min(max(odds, policy.structure / _MOST_ODDS), _MOST_ODDS)


@kernel
def set_leaving(policy: "StateLibrary", particle: Record, state: Record) -> None:
    """Set where a change of a particle from its present state z leads.

    Two models are averaged by their odds, that is by how well each has predicted the changes so far. One uses how often a state was
    entered; the other the transitions counted from z, backed off to the first. A new state has the mass ``novelty`` plus the
    number of states entered once (Good and Turing's estimate of what is still unseen)::

        flat(k)    = entered[k] / (unseen + entries - entered[z])      unseen = novelty + singles; for a new state: unseen / (...)
        counted(k) = (moves[z, k] + flat(k)) / (left[z] + 1)
        p(k)       = (flat(k) + odds * counted(k)) / (1 + odds)
                   = by_entry * entered[k] + by_move * moves[z, k]
        p(new)     = by_entry * unseen = novel
    """
    unseen = policy.novelty + particle.singles
    flat = 1.0 / (unseen + particle.entries - state.entered)
    counted = particle.odds / (state.left + _BACKOFF)
    share = 1.0 / (1.0 + particle.odds)
    particle.by_entry = share * flat * (1.0 + counted * _BACKOFF)
    particle.by_move = share * counted
    particle.novel = particle.by_entry * unseen


@kernel
def clear(policy: "StateLibrary", memory: Memory, slot: int, k: int) -> None:
    """Make a state of a particle one that nothing is known about."""
    memory.states[slot, k].number = 0
    memory.states[slot, k].entered = 0.0
    memory.states[slot, k].left = 0.0
    memory.states[slot, k].spent = 0.0
    memory.states[slot, k].seen = 0
    for other in range(memory.particles[slot].known):
        memory.moves[slot, k, other] = 0
        memory.moves[slot, other, k] = 0
    for arm in range(policy.arms):
        memory.means[slot, k, arm].average = memory.scale[0].centre
        memory.means[slot, k, arm].count = 0


@kernel
def update_odds(policy: "StateLibrary", particle: Record, states: np.ndarray, moves: np.ndarray, to: int) -> None:
    """Update the odds of the counted transitions by how much better than the entry counts they predicted this change.

    odds <- odds * counted(to) / flat(to), see `set_leaving`
    """
    z = particle.here
    unseen = policy.novelty + particle.singles
    fresh = to == particle.known
    flat = unseen if fresh else states[to].entered
    flat /= unseen + particle.entries - states[z].entered
    counted = _BACKOFF * flat + (0.0 if fresh else float(moves[z, to]))
    odds = particle.odds * counted / (states[z].left + _BACKOFF) / flat
    particle.odds = min(max(odds, policy.structure / _MOST_ODDS), _MOST_ODDS)


@kernel
def new_state(policy: "StateLibrary", memory: Memory, slot: int) -> int:
    """Return the place of a new state in a particle's library: a free one, or that of the rarest state but the present one."""
    particle = memory.particles[slot]
    to = particle.known
    if to < policy.states:
        particle.known += 1
    else:
        to = 1 if particle.here == 0 else 0
        for k in range(particle.known):
            if k != particle.here and memory.states[slot, k].entered < memory.states[slot, to].entered:
                to = k
        entered = memory.states[slot, to].entered
        particle.entries -= entered
        particle.singles -= 1.0 if entered == 1.0 else 0.0
        for k in range(particle.known):
            memory.states[slot, k].left -= memory.moves[slot, k, to]
        for i in range(VISITS):
            if memory.visits[slot, i].state == to:
                memory.visits[slot, i].state = -1
    clear(policy, memory, slot, to)
    memory.core[0].numbered += 1
    memory.states[slot, to].id = memory.core[0].numbered
    memory.core[0].lineages += 1
    particle.lineage = memory.core[0].lineages
    return int(to)


@kernel
def end_visit(memory: Memory, slot: int) -> None:
    """Count the age at which the present state ends, and remember the visit for rewards that arrive late."""
    particle = memory.particles[slot]
    age = _AGE[min(memory.core[0].now - particle.changed, _OLDEST)]
    memory.ended[slot, age] += 1
    particle.visits += 1
    particle.age = particle.younger = 0
    for i in range(VISITS - 1, 0, -1):
        memory.visits[slot, i] = memory.visits[slot, i - 1]
    memory.visits[slot, 0].state = particle.here
    memory.visits[slot, 0].began = particle.changed
    memory.states[slot, particle.here].seen = memory.core[0].front


@kernel
def change(policy: "StateLibrary", memory: Memory, slot: int, to: int) -> None:
    """Change the state of a particle; `to` is the number of known states for a new one."""
    particle = memory.particles[slot]
    z = particle.here
    fresh = to == particle.known
    update_odds(policy, particle, memory.states[slot], memory.moves[slot], to)
    end_visit(memory, slot)
    if fresh:
        to = new_state(policy, memory, slot)
    state = memory.states[slot, to]
    memory.moves[slot, z, to] += 1
    memory.states[slot, z].left += 1.0
    particle.singles += 1.0 if fresh else -1.0 if state.entered == 1.0 else 0.0
    state.entered += 1.0
    particle.entries += 1.0
    particle.changes += 1.0
    particle.changed = memory.core[0].now
    particle.until = memory.core[0].front
    particle.here = to
    set_leaving(policy, particle, state)

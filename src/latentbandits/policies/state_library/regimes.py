"""Regimes: the numbers under which states are shown, 1, 2, 3 and so on. They belong to no particle, and no decision depends on them.

Every particle has its own library, finds the same state at another time and tries many that come to nothing; which of them is the heaviest
changes. A state gets a number when it first is in the library of the heaviest particle: that of a regime which was shown before, is not
in this library and has the same means within their uncertainty, or else the next number. Copies of the state have it too.

When the past is learned again all states are new, and with other slopes of observed features, or another noise, all means have moved. But
a regime is where it was in time: a state gets the number that was shown for most of the rounds that it now holds.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library.late import state_at
from latentbandits.policies.state_library.memory import HISTORY, Memory
from latentbandits.protocols import Record

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary

_FAR = 9.0  # squared standard errors by which means of one regime may differ


@kernel
def has(states: np.ndarray, known: int, number: int) -> bool:
    """Return whether a regime is in a library with so many states."""
    found = False
    for k in range(known):
        found = found or states[k].number == number
    return found


@kernel
def apart(policy: "StateLibrary", memory: Memory, k: int, row: int) -> float:
    """Return how far a state of the heaviest particle is from a regime, on the arm that differs most; infinity if no arm was tried in both.

    (mean - mean')^2 / (deviation[n]^2 + deviation[n']^2)
    """
    most, shared = 0.0, False
    for arm in range(policy.arms):
        mine, theirs = memory.means[memory.core[0].best, k, arm], memory.regime_means[row, arm]
        if mine.count > 0 and theirs.count > 0:
            shared = True
            far = mine.average - theirs.average
            one, other = memory.deviation[mine.count], memory.deviation[theirs.count]
            most = max(most, far * far / (one * one + other * other))
    return most if shared else math.inf


@kernel
def by_means(policy: "StateLibrary", memory: Memory, k: int) -> int:
    """Return the number of a regime that has the means of a state of the heaviest particle and is not in its library, or the next one."""
    core = memory.core[0]
    found, least = 0, _FAR
    for row in range(policy.states):
        number = memory.regimes[row].number
        if number > 0 and not has(memory.states[core.best], memory.particles[core.best].known, number):
            far = apart(policy, memory, k, row)
            if far < least:
                found, least = number, far
    if found == 0:
        core.regimes += 1
        found = core.regimes
    return int(found)


@kernel
def give(memory: Memory, k: int, number: int) -> None:
    """Give a state of the heaviest particle a number, and all copies of it in other libraries."""
    core = memory.core[0]
    known = memory.states[core.best, k].id
    for i in range(core.live):
        slot = memory.slots[i]
        states, held = memory.states[slot], memory.particles[slot].known
        for other in range(held):
            if states[other].id == known and states[other].number == 0 and not has(states, held, number):
                states[other].number = number


@kernel
def id_at(memory: Memory, now: int) -> int:
    """Return the id of the state that the heaviest particle believes in for a round; 0 if it has forgotten."""
    best = memory.core[0].best
    k = state_at(memory, best, now)
    return int(memory.states[best, k].id) if k >= 0 else 0


@kernel
def count_shared(policy: "StateLibrary", memory: Memory) -> None:
    """Count, for each state of the heaviest particle and each regime, the rounds that the one now holds and the other was shown for."""
    core = memory.core[0]
    known = memory.particles[core.best].known
    for k in range(known):
        for row in range(policy.states):
            memory.shared[k, row] = 0
    for i in range(min(core.rounds, HISTORY)):
        seen = memory.history[i]
        for k in range(known if seen.regime > 0 else 0):
            if memory.states[core.best, k].id == seen.state:
                for row in range(policy.states):
                    if memory.regimes[row].number == seen.regime:
                        memory.shared[k, row] += 1


@kernel
def number_by_time(policy: "StateLibrary", memory: Memory) -> None:
    """Give the states with which the past was learned again the numbers that were shown for their rounds, the most rounds first."""
    count_shared(policy, memory)
    core = memory.core[0]
    states, known = memory.states[core.best], memory.particles[core.best].known
    for _ in range(known):
        most, state, regime = 0, 0, 0
        for k in range(known):
            for row in range(policy.states):
                free = states[k].number == 0 and memory.shared[k, row] > most
                if free and not has(states, known, memory.regimes[row].number):
                    most, state, regime = memory.shared[k, row], k, row
        if most == 0:
            return
        give(memory, state, memory.regimes[regime].number)
        note_means(policy, memory, state, regime)


@kernel
def row_of(core: Record, regimes: np.ndarray, number: int) -> int:
    """Return the row of a regime: its own, or else that of the regime which has not been shown for longest."""
    if regimes[core.row].number != number:
        core.row = 0
        for row in range(len(regimes)):
            if regimes[row].number == number:
                core.row = row
                break
            if regimes[row].seen < regimes[core.row].seen:
                core.row = row
    return int(core.row)


@kernel
def note_means(policy: "StateLibrary", memory: Memory, k: int, row: int) -> None:
    """Note the means of a state of the heaviest particle as those of its regime."""
    for arm in range(policy.arms):
        memory.regime_means[row, arm] = memory.means[memory.core[0].best, k, arm]


@kernel
def show(policy: "StateLibrary", memory: Memory) -> None:
    """Give the states of the heaviest particle numbers, if they have none yet; note the means of the present one and the round's number."""
    core = memory.core[0]
    best, states = memory.particles[core.best], memory.states[core.best]
    if core.shown != best.lineage:
        if core.shown == 0:
            number_by_time(policy, memory)
        core.shown = best.lineage
        for k in range(best.known):
            if states[k].number == 0:
                give(memory, k, by_means(policy, memory, k))
    number = states[best.here].number
    row = row_of(core, memory.regimes, number)
    memory.regimes[row].number = number
    memory.regimes[row].seen = core.rounds
    note_means(policy, memory, best.here, row)
    latest = memory.history[(core.rounds - 1) % HISTORY]
    then = state_at(memory, core.best, latest.number)
    latest.regime = states[then].number if then >= 0 else 0

"""Regimes: the numbers under which states are shown, 1, 2, 3 and so on. They belong to no particle, and no decision depends on them.

Every particle has its own library, finds the same state at another time and tries many that come to nothing; which of them is the heaviest
changes. A state gets a number when it first is in the library of the heaviest particle: that of a regime which was shown before, is not
in this library and has the same means within their uncertainty, or else the next number. Copies of the state have it too.
"""

import math
from typing import Any

from latentbandits.compiled import kernel
from latentbandits.policies.state_library.memory import Memory

_FAR = 9.0  # squared standard errors by which means of one regime may differ


@kernel
def has(memory: Memory, slot: int, number: int) -> bool:
    """Return whether a regime is in a particle's library."""
    found = False
    for k in range(memory.particles[slot].known):
        found = found or memory.states[slot, k].number == number
    return found


@kernel
def apart(policy: Any, memory: Memory, k: int, row: int) -> float:
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
def number_state(policy: Any, memory: Memory, k: int) -> None:
    """Give a state of the heaviest particle a number, and all copies of it in other libraries."""
    core = memory.core[0]
    found, least = 0, _FAR
    for row in range(policy.states):
        number = memory.regimes[row].number
        if number > 0 and not has(memory, core.best, number):
            far = apart(policy, memory, k, row)
            if far < least:
                found, least = number, far
    if found == 0:
        core.regimes += 1
        found = core.regimes
    known = memory.states[core.best, k].id
    for i in range(core.live):
        slot = memory.slots[i]
        for other in range(memory.particles[slot].known):
            state = memory.states[slot, other]
            if state.id == known and state.number == 0 and not has(memory, slot, found):
                state.number = found


@kernel
def row_of(policy: Any, memory: Memory, number: int) -> int:
    """Return the row of a regime: its own, or else that of the regime which has not been shown for longest."""
    core = memory.core[0]
    if memory.regimes[core.row].number != number:
        core.row = 0
        for row in range(policy.states):
            if memory.regimes[row].number == number:
                core.row = row
                break
            if memory.regimes[row].seen < memory.regimes[core.row].seen:
                core.row = row
    return int(core.row)


@kernel
def show(policy: Any, memory: Memory) -> None:
    """Give the states of the heaviest particle numbers, as far as they have none yet, and note the means of the present one."""
    core = memory.core[0]
    best = memory.particles[core.best]
    if core.shown != best.lineage:
        core.shown = best.lineage
        for k in range(best.known):
            if memory.states[core.best, k].number == 0:
                number_state(policy, memory, k)
    number = memory.states[core.best, best.here].number
    row = row_of(policy, memory, number)
    memory.regimes[row].number = number
    memory.regimes[row].seen = core.rounds
    for arm in range(policy.arms):
        memory.regime_means[row, arm] = memory.means[core.best, best.here, arm]

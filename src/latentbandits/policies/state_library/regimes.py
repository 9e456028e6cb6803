"""Regimes: the numbers under which states are shown, 1, 2, 3 and so on. They belong to no particle, and no decision depends on them.

Every particle has its own library, finds the same state at another time and tries many that come to nothing; which of them is the heaviest
changes. A state gets a number when it first is in the library of the heaviest particle: that of a regime which was shown before, is not
in this library and has the same means within their uncertainty, or else the next number. Copies of the state have it too.
"""

import math
from typing import Any

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library.memory import Memory

_FAR = 9.0  # squared standard errors by which means of one regime may differ


@kernel
def has(states: np.ndarray, known: int, number: int) -> bool:
    """Return whether a regime is in a library with so many states."""
    found = False
    for k in range(known):
        found = found or states[k].number == number
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
def number_state(policy: Any, memory: Memory, k: int, found: int) -> None:
    """Give a state of the heaviest particle the number of its regime, looked for if it is 0, and all copies of it in other libraries."""
    core = memory.core[0]
    least = 0.0 if found > 0 else _FAR
    for row in range(policy.states):
        number = memory.regimes[row].number
        if number > 0 and not has(memory.states[core.best], memory.particles[core.best].known, number):
            far = apart(policy, memory, k, row)
            if far < least:
                found, least = number, far
    if found == 0:
        core.regimes += 1
        found = core.regimes
    known = memory.states[core.best, k].id
    for i in range(core.live):
        slot = memory.slots[i]
        states, held = memory.states[slot], memory.particles[slot].known
        for other in range(held):
            if states[other].id == known and states[other].number == 0 and not has(states, held, found):
                states[other].number = found


@kernel
def row_of(core: Any, regimes: np.ndarray, number: int) -> int:
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
def show(policy: Any, memory: Memory) -> None:
    """Give the states of the heaviest particle numbers, as far as they have none yet, and note the means of the present one."""
    core = memory.core[0]
    best = memory.particles[core.best]
    if core.shown != best.lineage:
        if core.shown == 0 and policy.covariates > 0:
            # The past was learned again with other slopes, which moves all means; but the present regime is the one that it was
            number_state(policy, memory, best.here, memory.regimes[core.row].number)
        core.shown = best.lineage
        for k in range(best.known):
            if memory.states[core.best, k].number == 0:
                number_state(policy, memory, k, 0)
    number = memory.states[core.best, best.here].number
    row = row_of(core, memory.regimes, number)
    memory.regimes[row].number = number
    memory.regimes[row].seen = core.rounds
    means, shown = memory.means[core.best, best.here], memory.regime_means[row]
    for arm in range(policy.arms):
        shown[arm] = means[arm]

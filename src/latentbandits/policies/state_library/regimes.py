"""Regimes: the numbers under which states are shown, 1, 2, 3 and so on. They belong to no particle, and no decision depends on them.

Every particle has its own library, finds the same state at another time and tries many that come to nothing; which of them is the heaviest
changes. A state gets a number when it first is in the library of the heaviest particle: that of a regime which was shown before, is not
in this library and has the same means within their uncertainty, or else the next number. Copies of the state have it too.

When the past is learned again all states are new, and with other slopes of observed features, or another noise, all means have moved. But
a regime is where it was in time: a state gets the number that was shown for most of the rounds that it now holds.
"""

import math

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.library import state_at
from latentbandits.policies.state_library.memory import Library, Regimes


@kernel
def has(states: np.ndarray, known: int, number: int) -> bool:
    """Return whether a regime is in a library with so many states."""
    is_there = False
    for k in range(known):
        is_there = is_there or states[k].number == number
    return is_there


@kernel
def apart(means: np.ndarray, others: np.ndarray, deviation: np.ndarray) -> float:
    """Return how far the means of a state are from those of a regime, on the arm that differs most; infinity if no arm was tried in both.

    (mean - mean')^2 / (deviation[n]^2 + deviation[n']^2)
    """
    most, shared = 0.0, False
    for arm in range(len(means)):
        mine, theirs = means[arm], others[arm]
        if mine.count > 0 and theirs.count > 0:
            shared = True
            far = mine.average - theirs.average
            own, other = deviation[mine.count], deviation[theirs.count]
            most = max(most, far * far / (own * own + other * other))
    return most if shared else math.inf


@kernel
def number_by_means(library: Library, regimes: Regimes, deviation: np.ndarray, k: int) -> int:
    """Return the number of a regime that has the means of a state of the heaviest particle and is not in its library, or the next one."""
    best = library.core[0].best
    closest, least = 0, constants.SAME_STATE * constants.SAME_STATE
    for row in range(len(regimes.known)):
        number = regimes.known[row].number
        if number > 0 and not has(library.states[best], library.particles[best].known, number):
            far = apart(library.means[best, k], regimes.means[row], deviation)
            if far < least:
                closest, least = number, far
    if closest == 0:
        regimes.core[0].numbered += 1
        closest = regimes.core[0].numbered
    return int(closest)


@kernel
def give(library: Library, k: int, number: int) -> None:
    """Give a state of the heaviest particle a number, and all copies of it in other libraries."""
    core = library.core[0]
    state_id = library.states[core.best, k].id
    for i in range(core.live):
        slot = library.slots[i]
        states, held = library.states[slot], library.particles[slot].known
        for other in range(held):
            if states[other].id == state_id and states[other].number == 0 and not has(states, held, number):
                states[other].number = number


@kernel
def count_shared(states: np.ndarray, known: int, regimes: Regimes, history: np.ndarray, rounds: int) -> None:
    """Count, for each state of a library and each regime, the rounds that the one now holds and the other was shown for."""
    for k in range(known):
        for row in range(len(regimes.known)):
            regimes.shared[k, row] = 0
    for i in range(min(rounds, constants.HISTORY)):
        seen = history[i]
        for k in range(known if seen.regime > 0 else 0):
            if states[k].id == seen.state:
                for row in range(len(regimes.known)):
                    if regimes.known[row].number == seen.regime:
                        regimes.shared[k, row] += 1


@kernel
def number_by_time(library: Library, regimes: Regimes, history: np.ndarray, rounds: int) -> None:
    """Give the states with which the past was learned again the numbers that were shown for their rounds, the most rounds first."""
    best = library.core[0].best
    states, known = library.states[best], library.particles[best].known
    count_shared(states, known, regimes, history, rounds)
    for _ in range(known):
        most, state, regime = 0, 0, 0
        for k in range(known):
            for row in range(len(regimes.known)):
                free = states[k].number == 0 and regimes.shared[k, row] > most
                if free and not has(states, known, regimes.known[row].number):
                    most, state, regime = regimes.shared[k, row], k, row
        if most == 0:
            return
        give(library, state, regimes.known[regime].number)
        note_means(regimes, regime, library.means[best, state])


@kernel
def row_of(regimes: Regimes, number: int) -> int:
    """Return the row of a regime: its own, or else that of the regime which has not been shown for longest."""
    core, known = regimes.core[0], regimes.known
    if known[core.row].number != number:
        core.row = 0
        for row in range(len(known)):
            if known[row].number == number:
                core.row = row
                break
            if known[row].seen < known[core.row].seen:
                core.row = row
    return int(core.row)


@kernel
def note_means(regimes: Regimes, row: int, means: np.ndarray) -> None:
    """Note the means of a state as those of its regime."""
    for arm in range(len(means)):
        regimes.means[row, arm] = means[arm]


@kernel
def show(library: Library, regimes: Regimes, deviation: np.ndarray, history: np.ndarray, rounds: int) -> None:
    """Give the states of the heaviest particle numbers, if they have none yet; note the means of the present one and the round's number."""
    slot, core = library.core[0].best, regimes.core[0]
    best, states = library.particles[slot], library.states[slot]
    if core.shown != best.lineage:
        if core.shown == 0:
            number_by_time(library, regimes, history, rounds)
        core.shown = best.lineage
        for k in range(best.known):
            if states[k].number == 0:
                give(library, k, number_by_means(library, regimes, deviation, k))
    number = states[best.here].number
    row = row_of(regimes, number)
    regimes.known[row].number = number
    regimes.known[row].seen = rounds
    note_means(regimes, row, library.means[slot, best.here])
    latest = history[(rounds - 1) % constants.HISTORY]
    then = state_at(library, slot, latest.number)
    latest.regime = states[then].number if then >= 0 else 0

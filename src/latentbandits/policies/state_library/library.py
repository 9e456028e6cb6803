"""The library of one particle: the states that it remembers, how they follow each other, and which one a round belongs to."""

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.memory import Library
from latentbandits.policies.state_library.transitions import age_of, set_leaving, update_odds


@kernel
def begin(library: Library, centre: float, since: int, fast: bool) -> None:
    """Start with a particle whose library has one state that nothing is known about, and perhaps one that expects fast switching.

    The first state has been there since a round, in which means are expected at the centre of their range.
    """
    core, particle = library.core[0], library.particles[0]
    for i in range(len(library.slots)):
        library.slots[i] = i
    core.live = core.lineages = 1
    core.best = 0
    core.log_evidence = 0.0
    particle.weight = 1.0
    particle.here = 0
    particle.known = particle.lineage = 1
    particle.stays = particle.changes = particle.outliers = 0.0
    particle.entries = particle.singles = 1.0
    particle.odds = particle.ageing = constants.RICHER
    particle.changed = particle.until = since
    particle.age = particle.younger = particle.visits = 0
    for i in range(constants.VISITS):
        library.visits[0, i].state = -1
        library.visits[0, i].began = 0
    for i in range(constants.AGES):
        library.ended[0, i] = 0
    clear(library, 0, 0, centre)
    library.states[0, 0].entered = 1.0
    core.numbered += 1
    library.states[0, 0].id = core.numbered
    set_leaving(particle, library.states[0, 0])
    if not fast:
        return
    copy(library, 0, 1)
    core.live = core.lineages = 2
    particle.weight = 1.0 - constants.FAST_SWITCHING
    fast_switching = library.particles[1]
    fast_switching.weight = constants.FAST_SWITCHING
    fast_switching.lineage = 2
    fast_switching.changes = constants.STAYS


@kernel
def copy(library: Library, old: int, new: int) -> None:
    """Copy a particle to another row."""
    library.particles[new] = library.particles[old]
    for i in range(constants.AGES):
        library.ended[new, i] = library.ended[old, i]
    for i in range(constants.VISITS):
        library.visits[new, i] = library.visits[old, i]
    known = library.particles[old].known
    for k in range(known):
        library.states[new, k] = library.states[old, k]
        for arm in range(library.means.shape[2]):
            library.means[new, k, arm] = library.means[old, k, arm]
        for other in range(known):
            library.moves[new, k, other] = library.moves[old, k, other]


@kernel
def clear(library: Library, slot: int, k: int, centre: float) -> None:
    """Make a state of a particle one that nothing is known about."""
    state = library.states[slot, k]
    state.number = state.seen = 0
    state.entered = state.left = state.spent = 0.0
    for other in range(library.particles[slot].known):
        library.moves[slot, k, other] = 0
        library.moves[slot, other, k] = 0
    for arm in range(library.means.shape[2]):
        library.means[slot, k, arm].average = centre
        library.means[slot, k, arm].count = 0
        library.means[slot, k, arm].share = library.means[slot, k, arm].amount = 0.0


@kernel
def new_state(library: Library, slot: int, centre: float) -> int:
    """Return the place of a new state in a particle's library: a free one, or that of the rarest state but the present one."""
    core, particle, states = library.core[0], library.particles[slot], library.states[slot]
    to = particle.known
    if to < len(states):
        particle.known += 1
    else:
        to = 1 if particle.here == 0 else 0
        for k in range(particle.known):
            if k != particle.here and states[k].entered < states[to].entered:
                to = k
        entered = states[to].entered
        particle.entries -= entered
        particle.singles -= 1.0 if entered == 1.0 else 0.0
        for k in range(particle.known):
            states[k].left -= library.moves[slot, k, to]
        for i in range(constants.VISITS):
            if library.visits[slot, i].state == to:
                library.visits[slot, i].state = -1
    clear(library, slot, to, centre)
    core.numbered += 1
    states[to].id = core.numbered
    core.lineages += 1
    particle.lineage = core.lineages
    return int(to)


@kernel
def end_visit(library: Library, slot: int) -> None:
    """Count the age at which the present state ends, and remember the visit for rewards that arrive late."""
    core, particle, visits = library.core[0], library.particles[slot], library.visits[slot]
    library.ended[slot, age_of(particle, core.now)] += 1
    particle.visits += 1
    particle.age = particle.younger = 0
    for i in range(constants.VISITS - 1, 0, -1):
        visits[i] = visits[i - 1]
    visits[0].state = particle.here
    visits[0].began = particle.changed
    library.states[slot, particle.here].seen = core.front


@kernel
def change(library: Library, slot: int, to: int, centre: float) -> None:
    """Change the state of a particle; `to` is the number of known states for a new one."""
    core, particle, moves = library.core[0], library.particles[slot], library.moves[slot]
    z = particle.here
    fresh = to == particle.known
    update_odds(particle, library.states[slot], moves, to)
    end_visit(library, slot)
    if fresh:
        to = new_state(library, slot, centre)
    state = library.states[slot, to]
    moves[z, to] += 1
    library.states[slot, z].left += 1.0
    particle.singles += 1.0 if fresh else -1.0 if state.entered == 1.0 else 0.0
    state.entered += 1.0
    particle.entries += 1.0
    particle.changes += 1.0
    particle.changed = core.now
    particle.until = core.front
    particle.here = to
    set_leaving(particle, state)


@kernel
def state_before(visits: np.ndarray, now: int) -> int:
    """Return the state in which a particle believes to have been in a round before the last change; -1 if it has forgotten."""
    for i in range(constants.VISITS):
        if now >= visits[i].began:
            return int(visits[i].state)
    return -1


@kernel
def state_at(library: Library, slot: int, now: int) -> int:
    """Return the state in which a particle believes to have been in a round, the present one or an earlier; -1 if it has forgotten."""
    particle = library.particles[slot]
    return int(particle.here) if now >= particle.changed else state_before(library.visits[slot], now)


@kernel
def id_at(library: Library, now: int) -> int:
    """Return the id of the state that the heaviest particle believes in for a round; 0 if it has forgotten."""
    best = library.core[0].best
    k = state_at(library, best, now)
    return int(library.states[best, k].id) if k >= 0 else 0

"""The particle filter: hypotheses about the hidden state, each with its own library of remembered states and a claim about the present one.

A Rao-Blackwellised particle filter. In every `step` a particle branches: the state stays, it changes to a remembered one, or to one never
seen (`propose`). Bayes' rule weighs all branches, `prune` keeps a few without bias, `place` gives each a row, `apply_branch` lets it
happen, and particles that claim the same `merge`.
"""

from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.emissions import (
    Emission,
    Outcome,
    add,
    likelihood,
    log_density,
    new_predictive,
    outlying,
    predictive,
)
from latentbandits.policies.state_library.library import change, copy, state_before
from latentbandits.policies.state_library.memory import Library
from latentbandits.policies.state_library.transitions import note_hazard, update_ageing
from latentbandits.protocols import Record

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary

# Where a branch goes that does not change its state: the reward is an outlier, it belongs to the present state, or to one before it
OUTLIER, HERE, BEFORE = -1, -2, -3


@kernel
def write_branch(branch: Record, parent: int, to: int, chance: float) -> float:
    """Write a branch; returns its weight."""
    branch.parent = parent
    branch.to = to
    branch.chance = chance
    return chance


@kernel
def propose(library: Library, emission: Emission, outcome: Outcome) -> tuple[int, float]:
    """Weigh all branches of all particles, given the rewards of a round; returns their number and their sum.

    weight * stay              * predictive(rewards, means in z)     the state z stays
    weight * (1 - stay) * p(k) * predictive(rewards, means in k)     it changes to k
    weight * (1 - stay) * p(new) * predictive(rewards, centre)       it changes to a new state
    weight * stay * outlying                                         the state stays, and the reward is an outlier, far from the mean in z
    p is in `transitions.set_leaving`
    """
    core = library.core[0]
    unseen = new_predictive(emission, library.means[0, 0], outcome)
    number, total = 0, 0.0
    for i in range(core.live):
        slot = library.slots[i]
        particle, ended = library.particles[slot], library.ended[slot]
        z, known = particle.here, particle.known
        stay = 1.0 - note_hazard(particle, ended, core.front, core.now)
        going = particle.weight * (1.0 - stay)
        by_entry, by_move = going * particle.by_entry, going * particle.by_move
        staying_weight = particle.weight * stay
        apart = 0.0
        for k in range(known):
            height, exponent = predictive(emission, library.means[slot, k], True, outcome)
            if exponent > constants.IMPOSSIBLE and k != z:
                continue
            chance = likelihood(height, exponent)
            if k == z:
                apart = exponent
                chance *= staying_weight
            else:
                chance *= by_entry * library.states[slot, k].entered + by_move * library.moves[slot, z, k]
            total += write_branch(library.branches[number], slot, k, chance)
            number += 1
        total += write_branch(library.branches[number], slot, known, going * particle.novel * unseen)
        number += 1
        if emission.outliers and apart > constants.OUTLIER_FROM:
            chance = staying_weight * outlying(emission, particle, outcome.second)
            total += write_branch(library.branches[number], slot, OUTLIER, chance)
            number += 1
    return number, total


@kernel
def propose_late(library: Library, emission: Emission, outcome: Outcome) -> tuple[int, float]:
    """Weigh all branches of all particles, given rewards of a round before the latest; returns their number and their sum.

    The round belongs to the present state or to an earlier one. When exactly the state changed is uncertain: after the round `until`, and
    at `changed` at the latest. A round in between is in either state, and a particle branches::

        weight * (changed - now) / (changed - until) * predictive(rewards, means in the state before)
        weight * (now - until) / (changed - until) * predictive(rewards, means in the present one)    and the state changed by now
        weight * outlying                                                                             if the reward is far from both
    """
    now = library.core[0].now
    number, total = 0, 0.0
    for i in range(library.core[0].live):
        slot = library.slots[i]
        particle, means = library.particles[slot], library.means[slot]
        here, weight = 1.0 if now >= particle.changed else 0.0, particle.weight
        if particle.until < now < particle.changed:
            here = (now - particle.until) / (particle.changed - particle.until)
        apart = np.inf
        if here > 0.0:
            height, apart = predictive(emission, means[particle.here], True, outcome)
            chance = weight * here * likelihood(height, apart)
            total += write_branch(library.branches[number], slot, HERE, chance)
            number += 1
        if here < 1.0:
            k = state_before(library.visits[slot], now)
            height, exponent = predictive(emission, means[max(k, 0)], k >= 0, outcome)
            chance = weight * (1.0 - here) * likelihood(height, exponent)
            total += write_branch(library.branches[number], slot, BEFORE, chance)
            number += 1
            apart = min(apart, exponent)
        if emission.outliers and apart > constants.OUTLIER_FROM:
            chance = weight * outlying(emission, particle, outcome.second)
            total += write_branch(library.branches[number], slot, OUTLIER, chance)
            number += 1
    return number, total


@kernel
def higher_cut(branches: np.ndarray, heavy: np.ndarray, number: int, total: float, most: int, cut: float) -> float:
    """Return the cut of the pruning, or a higher one if that is needed to keep at most so many, see `prune`.

    What is above it is counted without jumps, which nobody could predict.
    """
    big, small = 0, 0.0
    for i in range(number):
        chance = branches[i].chance
        heavy[big] = chance
        big += chance > cut
        small += 0.0 if chance > cut else chance
    if big >= most or big * cut + small > (most - 1) * cut:
        # The cut at which most - 1 are kept on average; it falls from step to step as more are above it, but never to the floor
        candidates, below = big, small
        before, big, small = -1, 0, total
        while before < big < most - 1:
            before = big
            cut = small / (most - 1 - big)
            big, small = 0, below
            for i in range(candidates):
                big += heavy[i] > cut
                small += 0.0 if heavy[i] > cut else heavy[i]
    return cut


@kernel
def prune(
    branches: np.ndarray, heavy: np.ndarray, number: int, total: float, most: int, floor: float, u: float
) -> tuple[int, float]:
    """Keep a few of many branches, with the sum `total`, without bias (Fearnhead & Clifford 2003), in place; returns number and sum.

    Those above a cut c keep their weight w. The others are kept with probability w / c and then weigh c, by one systematic sweep
    with the uniform number `u`. `heavy` is scratch space::

        c = floor * sum(w), or higher so that at most `most` are kept: (number of w > c) + sum(w <= c) / c = most - 1
    """
    cut = floor * total
    if number > most:
        cut = higher_cut(branches, heavy, number, total, most, cut)
    left = u * cut
    kept, total = 0, 0.0
    for i in range(number):
        weight = branches[i].chance
        if weight <= cut:
            left -= weight
            if left >= 0.0:
                continue
            left += cut
            weight = cut
        total += write_branch(branches[kept], branches[i].parent, branches[i].to, weight)
        kept += 1
    return kept, total


@kernel
def place(library: Library, kept: int, total: float) -> None:
    """Give every branch that was kept a row: the first of a particle takes over its row, others copy it to a free one."""
    particles, slots, live = library.particles, library.slots, library.core[0].live
    for i in range(live):
        particles[slots[i]].branch = -1
    for i in range(kept):
        parent = particles[library.branches[i].parent]
        if parent.branch < 0:
            parent.branch = i
    # Rows of particles without a branch become free: behind those in use
    i = 0
    while i < live:
        slot = slots[i]
        if particles[slot].branch < 0:
            live -= 1
            slots[i] = slots[live]
            slots[live] = slot
        else:
            i += 1
    for i in range(kept):
        branch = library.branches[i]
        slot = branch.parent
        if particles[slot].branch != i:
            slot = slots[live]
            live += 1
            copy(library, branch.parent, slot)
        branch.slot = slot
        particles[slot].weight = branch.chance / total
    library.core[0].live = kept


@kernel
def apply_branch(library: Library, slot: int, to: int, centre: float) -> int:
    """Let a particle go where its branch leads; returns the state that the reward belongs to, -1 if it is an outlier."""
    particle, states = library.particles[slot], library.states[slot]
    rounds = library.core[0].now - library.core[0].front
    z = particle.here
    changed = to != OUTLIER and to != z
    if rounds == 1:
        update_ageing(particle, changed)
    particle.stays += rounds - 1 if changed else rounds
    states[z].spent += rounds - 1 if changed else rounds
    if to == OUTLIER:
        particle.outliers += 1.0
        return -1
    if changed:
        change(library, slot, to, centre)
        states[particle.here].spent += 1.0
    return int(particle.here)


@kernel
def apply_late_branch(particle: Record, visits: np.ndarray, now: int, to: int) -> int:
    """Note what a branch says about the moment of the last change; returns the state that the reward belongs to, or -1."""
    if to == OUTLIER:
        particle.outliers += 1.0
        return -1
    if to == HERE:
        particle.changed = min(particle.changed, now)
        return int(particle.here)
    particle.until = max(particle.until, now)
    return state_before(visits, now)


@kernel
def similar(library: Library, deviation: np.ndarray, likeness: float, slot: int, other: int) -> bool:
    """Return whether two particles claim the same: the same states, the same one now, and means within their uncertainty.

    |mean - mean'| <= likeness * deviation[max(n, n')] for every state and arm
    """
    a, b = library.particles[slot], library.particles[other]
    if a.lineage != b.lineage or a.here != b.here:
        return False
    for k in range(a.known):
        mine, theirs = library.means[slot, k], library.means[other, k]
        for arm in range(len(mine)):
            far = abs(mine[arm].average - theirs[arm].average)
            if far > likeness * deviation[max(mine[arm].count, theirs[arm].count)]:
                return False
    return True


@kernel
def position(slots: np.ndarray, live: int, slot: int) -> int:
    """Return where a row is among those in use, or their number if it is not in use."""
    at = 0
    while at < live and slots[at] != slot:
        at += 1
    return at


@kernel
def merge(library: Library, deviation: np.ndarray, likeness: float, slot: int) -> None:
    """Merge a particle with the first similar one: weights are added, the heavier library stays."""
    core, particles, slots = library.core[0], library.particles, library.slots
    for i in range(core.live):
        other = slots[i]
        if other != slot and similar(library, deviation, likeness, slot, other):
            gone = other if particles[slot].weight > particles[other].weight else slot
            stays = slot if gone == other else other
            particles[stays].weight += particles[gone].weight
            at = position(slots, core.live, gone)
            core.live -= 1
            slots[at] = slots[core.live]
            slots[core.live] = gone
            return


@kernel
def step(
    policy: "StateLibrary", library: Library, deviation: np.ndarray, emission: Emission, outcome: Outcome, u: float
) -> float:
    """Advance all particles by one round, with its rewards; returns the log evidence: how probable the rewards were before.

    `u` is uniform on (0, 1). Rewards of an earlier round than the latest belong to the state that each particle believes was there then.
    """
    core, branches, means = library.core[0], library.branches, library.means
    likeness = 1.0 if policy.floor > 0.0 else 0.0  # exact if nothing is to be pruned
    late = core.now <= core.front
    if late:
        number, total = propose_late(library, emission, outcome)
    else:
        number, total = propose(library, emission, outcome)
    log_evidence = log_density(emission, outcome, total)
    kept, total = prune(branches, library.heavy, number, total, policy.particles, policy.floor, u)
    place(library, kept, total)
    for i in range(kept):
        slot, to = branches[i].slot, branches[i].to
        particle = library.particles[slot]
        if late or to == particle.here or to == OUTLIER:
            branches[i].slot = -1
        visits = library.visits[slot]
        k = (
            apply_late_branch(particle, visits, core.now, to)
            if late
            else apply_branch(library, slot, to, emission.centre)
        )
        if k >= 0:
            add(means[slot, k], policy.groups, emission.gaussians, outcome)
    # Particles that have just changed may have become similar to others; of the rest one is looked at in turn
    for i in range(kept):
        slot = branches[i].slot
        if slot >= 0 and position(library.slots, core.live, slot) < core.live:
            merge(library, deviation, likeness, slot)
    if core.live > 1:
        core.turn += 1
        merge(library, deviation, likeness, library.slots[core.turn % core.live])
    core.front = max(core.front, core.now)
    best = 0.0
    for i in range(core.live):
        slot = library.slots[i]
        if library.particles[slot].weight > best:
            best = library.particles[slot].weight
            core.best = slot
    core.log_evidence += log_evidence
    return log_evidence

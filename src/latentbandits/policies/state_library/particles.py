"""Particles: hypotheses about the hidden state, each with its own library of remembered states and a claim about the present one.

A Rao-Blackwellised particle filter. Every round a particle branches: the state stays, it changes to a remembered one, or to one
never seen. Bayes' rule weighs all branches, `prune` keeps a few without bias, and particles that claim the same are merged.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library.branches import OUTLIER, branch, prune
from latentbandits.policies.state_library.late import branch_late, settle_late
from latentbandits.policies.state_library.memory import AGES, ALL, CAP, HISTORY, ONE, OTHERS, VISITS, Memory
from latentbandits.policies.state_library.transitions import change, clear, set_leaving, update_ageing
from latentbandits.protocols import Record

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary

_RESTLESS = 0.02  # weight at first of the particle that expects a change in every other round


@kernel
def set_gaussians(policy: "StateLibrary", memory: Memory) -> None:
    """Tabulate, by the number n of rewards behind a mean, everything that depends on the noise and the spread of means.

    prior        = (noise / spread)^2                        rewards that the prior of a mean is worth
    deviation[n] = noise / sqrt(n + prior)                   of the mean itself
    variance     = noise^2 * (1/size + 1/(n + prior))        of the mean reward of a set of `size` groups
    gain         = size / (n + size + prior)                 weight of that reward in the new posterior mean
    """
    noise = memory.noise[0].sd
    prior = (noise / memory.scale[0].spread) * (noise / memory.scale[0].spread)
    for n in range(CAP + 1):
        memory.deviation[n] = noise / math.sqrt(n + prior)
        for group in range(1 if policy.groups == 1 else 3):  # one group is all of them, and there is no other set
            groups = 1 if group == ONE else policy.groups - 1 if group == OTHERS else policy.groups
            variance = noise * noise * (1.0 / groups + 1.0 / (n + prior))
            memory.gaussians[group, n].precision = 0.5 / variance
            memory.gaussians[group, n].height = 1.0 / math.sqrt(variance)
            memory.gaussians[group, n].gain = groups / (n + groups + prior)


@kernel
def begin(policy: "StateLibrary", memory: Memory) -> None:
    """Start with two particles whose libraries have one state that nothing is known about; one of them expects many changes."""
    core = memory.core[0]
    for i in range(policy.particles):
        memory.slots[i] = i
    core.live = 1
    core.best = 0
    core.lineages = 1
    core.shown = 0
    memory.scale[0].noise_at_start = memory.noise[0].sd
    particle = memory.particles[0]
    particle.weight = 1.0
    particle.here = 0
    particle.known = 1
    particle.lineage = 1
    particle.stays = 0.0
    particle.changes = 0.0
    particle.entries = 1.0
    particle.singles = 1.0
    particle.odds = policy.structure
    # Rewards may come in any order: the first state has been there from the first round, unless older ones are forgotten
    particle.changed = particle.until = core.front if core.rounds > HISTORY else 0
    for i in range(VISITS):
        memory.visits[0, i].state = -1
        memory.visits[0, i].began = 0
    particle.outliers = 0.0
    particle.ageing = policy.structure
    particle.age = particle.younger = particle.visits = 0
    for i in range(AGES):
        memory.ended[0, i] = 0
    clear(policy, memory, 0, 0)
    memory.states[0, 0].entered = 1.0
    core.numbered += 1
    memory.states[0, 0].id = core.numbered
    set_leaving(policy, particle, memory.states[0, 0])
    set_gaussians(policy, memory)
    if policy.covariates > 0:  # features that differ from round to round would look like states that do
        return
    copy(policy, memory, 0, 1)
    core.live = core.lineages = 2
    particle.weight = 1.0 - _RESTLESS
    restless = memory.particles[1]
    restless.weight = _RESTLESS
    restless.lineage = 2
    restless.changes = policy.stay_prior


@kernel
def copy(policy: "StateLibrary", memory: Memory, old: int, new: int) -> None:
    """Copy a particle to another row."""
    memory.particles[new] = memory.particles[old]
    for i in range(AGES):
        memory.ended[new, i] = memory.ended[old, i]
    for i in range(VISITS):
        memory.visits[new, i] = memory.visits[old, i]
    known = memory.particles[old].known
    for k in range(known):
        memory.states[new, k] = memory.states[old, k]
        for arm in range(policy.arms):
            memory.means[new, k, arm] = memory.means[old, k, arm]
        for other in range(known):
            memory.moves[new, k, other] = memory.moves[old, k, other]


@kernel
def add(mean: Record, gaussians: np.ndarray, reward: float, groups: int) -> None:
    """Add the mean reward of a set of groups to the mean of an arm in a state of a particle.

    mean <- mean + gain[n] * (reward - mean);  n <- min(n + groups, CAP)
    """
    mean.average += (reward - mean.average) * gaussians[mean.count].gain
    mean.count = min(mean.count + groups, CAP)


@kernel
def similar(policy: "StateLibrary", memory: Memory, one: int, other: int) -> bool:
    """Return whether two particles claim the same: the same states, the same one now, and means within their uncertainty.

    |mean - mean'| <= likeness * deviation[max(n, n')] for every state and arm
    """
    a, b = memory.particles[one], memory.particles[other]
    if a.lineage != b.lineage or a.here != b.here:
        return False
    for k in range(a.known):
        mine, theirs = memory.means[one, k], memory.means[other, k]
        for arm in range(policy.arms):
            far = abs(mine[arm].average - theirs[arm].average)
            if far > policy.likeness * memory.deviation[max(mine[arm].count, theirs[arm].count)]:
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
def merge(policy: "StateLibrary", memory: Memory, slot: int) -> None:
    """Merge a particle with the first similar one: weights are added, the heavier library stays."""
    core = memory.core[0]
    for i in range(core.live):
        other = memory.slots[i]
        if other != slot and similar(policy, memory, slot, other):
            gone = other if memory.particles[slot].weight > memory.particles[other].weight else slot
            stays = slot if gone == other else other
            memory.particles[stays].weight += memory.particles[gone].weight
            at = position(memory.slots, core.live, gone)
            core.live -= 1
            memory.slots[at] = memory.slots[core.live]
            memory.slots[core.live] = gone
            return


@kernel
def place(policy: "StateLibrary", memory: Memory, kept: int, total: float) -> None:
    """Give every branch that was kept a row: the first of a particle takes over its row, others copy it to a free one."""
    live = memory.core[0].live
    for i in range(live):
        memory.first_branch[memory.slots[i]] = -1
    for i in range(kept):
        parent = memory.branches[i].parent
        if memory.first_branch[parent] < 0:
            memory.first_branch[parent] = i
    # Rows of particles without a branch become free: behind those in use
    i = 0
    while i < live:
        slot = memory.slots[i]
        if memory.first_branch[slot] < 0:
            live -= 1
            memory.slots[i] = memory.slots[live]
            memory.slots[live] = slot
        else:
            i += 1
    for i in range(kept):
        branch = memory.branches[i]
        slot = branch.parent
        if memory.first_branch[slot] != i:
            slot = memory.slots[live]
            live += 1
            copy(policy, memory, branch.parent, slot)
        branch.slot = slot
        memory.particles[slot].weight = branch.chance / total
    memory.core[0].live = kept


@kernel
def settle(policy: "StateLibrary", memory: Memory, slot: int, to: int) -> int:
    """Let a particle go where its branch leads; returns the state that the reward belongs to, -1 if it is an outlier."""
    core, particle = memory.core[0], memory.particles[slot]
    rounds = core.now - core.front
    z = particle.here
    changed = to != OUTLIER and to != z
    if rounds == 1:
        update_ageing(policy, particle, changed)
    particle.stays += rounds - 1 if changed else rounds
    memory.states[slot, z].spent += rounds - 1 if changed else rounds
    if to == OUTLIER:
        particle.outliers += 1.0
        return -1
    if changed:
        change(policy, memory, slot, to)
        memory.states[slot, particle.here].spent += 1.0
    return int(particle.here)


@kernel
def advance(
    policy: "StateLibrary", memory: Memory, first: int, reward: float, second: int, other: float, u: float
) -> None:
    """Advance all particles by one round in which an arm (or two) gave a reward; `u` is uniform on (0, 1).

    A reward of an earlier round than the latest belongs to the state that each particle believes was there then.
    """
    core = memory.core[0]
    group = ONE if policy.groups == 1 or second >= 0 else ALL
    late = core.now <= core.front
    if late:
        number, total = branch_late(policy, memory, first, reward, group, second, other)
    else:
        number, total = branch(policy, memory, first, reward, group, second, other)
    kept, total = prune(memory.branches, memory.heavy, number, total, policy.particles, policy.floor, u)
    place(policy, memory, kept, total)
    for i in range(kept):
        slot, to = memory.branches[i].slot, memory.branches[i].to
        particle = memory.particles[slot]
        if late or to == particle.here or to == OUTLIER:
            memory.branches[i].slot = -1
        k = settle_late(particle, memory.visits[slot], core.now, to) if late else settle(policy, memory, slot, to)
        if k >= 0:
            add(memory.means[slot, k, first], memory.gaussians[group], reward, 1 if group == ONE else policy.groups)
            if second >= 0:
                add(memory.means[slot, k, second], memory.gaussians[OTHERS], other, policy.groups - 1)
    # Particles that have just changed may have become similar to others; of the rest one is looked at in turn
    for i in range(kept):
        slot = memory.branches[i].slot
        if slot >= 0 and position(memory.slots, core.live, slot) < core.live:
            merge(policy, memory, slot)
    if core.live > 1:
        core.turn += 1
        merge(policy, memory, memory.slots[core.turn % core.live])
    core.front = max(core.front, core.now)
    best = 0.0
    for i in range(core.live):
        slot = memory.slots[i]
        if memory.particles[slot].weight > best:
            best = memory.particles[slot].weight
            core.best = slot

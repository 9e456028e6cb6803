"""Particles: hypotheses about the hidden state, each with its own library of remembered states and a claim about the present one.

A Rao-Blackwellised particle filter. Every round a particle branches: the state stays, it changes to a remembered one, or to one
never seen. Bayes' rule weighs all branches, `prune` keeps a few without bias, and particles that claim the same are merged.
"""

import math
from typing import Any

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.noise import discrete
from latentbandits.policies.state_library.memory import AGES, ALL, CAP, ONE, OTHERS, Memory
from latentbandits.policies.state_library.transitions import change, clear, hazard, set_leaving, update_ageing

_IMPOSSIBLE = 25.0  # beyond this exponent a change to a remembered state is not considered
_LEAST = 60.0  # the largest exponent: no likelihood is below exp(-60), so that one outlier cannot kill all particles
_STEPS = 32.0
_RESTLESS = 0.02  # weight at first of the particle that expects a change in every other round
OUTLIER = -1  # where a branch goes whose reward is an outlier: it stays
_DECAY = np.exp(-np.arange(int(_LEAST * _STEPS) + 2) / _STEPS)


@kernel
def decay(x: float) -> float:
    """Return exp(-x) for x from 0 to 60, right to 11 digits and twice as fast as the library's.

    exp(-x) = exp(-i/32) * exp(r) with i the integer nearest to 32 x and r = i/32 - x; exp(r) by five terms of its series
    """
    i = int(x * _STEPS + 0.5)
    r = i / _STEPS - x
    return float(_DECAY[i] * (1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r / 24.0)))))


@kernel
def set_gaussians(policy: Any, memory: Memory) -> None:
    """Tabulate, by the number n of rewards behind a mean, everything that depends on the noise and the spread of means.

    prior        = (noise / spread)^2                        rewards that the prior of a mean is worth
    deviation[n] = noise / sqrt(n + prior)                   of the mean itself
    variance     = noise^2 * (1/size + 1/(n + prior))        of the mean reward of a group of `size` units
    gain         = size / (n + size + prior)                 weight of that reward in the new posterior mean
    """
    noise = memory.noise[0].sd
    prior = (noise / memory.scale[0].spread) * (noise / memory.scale[0].spread)
    for n in range(CAP + 1):
        memory.deviation[n] = noise / math.sqrt(n + prior)
        for group in range(3):
            units = 1 if group == ONE else policy.units - 1 if group == OTHERS else policy.units
            if units > 0:
                variance = noise * noise * (1.0 / units + 1.0 / (n + prior))
                memory.gaussians[group, n].precision = 0.5 / variance
                memory.gaussians[group, n].height = 1.0 / math.sqrt(variance)
                memory.gaussians[group, n].gain = units / (n + units + prior)


@kernel
def begin(policy: Any, memory: Memory) -> None:
    """Start with one particle whose library has one state that nothing is known about."""
    core = memory.core[0]
    for i in range(policy.particles):
        memory.slots[i] = i
    core.live = 1
    core.best = 0
    core.lineages = 1
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
    particle.changed = 0
    particle.outliers = 0.0
    particle.ageing = policy.structure
    particle.recaller = -1
    particle.recalls = 0.0
    particle.right = 0.0
    for i in range(AGES):
        memory.ended[0, i] = 0
        memory.reached[0, i] = 0
    clear(policy, memory, 0, 0)
    memory.states[0, 0].entered = 1.0
    set_leaving(policy, memory, 0)
    set_gaussians(policy, memory)
    if policy.parts & 32768:
        copy(policy, memory, 0, 1)
        core.live = core.lineages = 2
        memory.particles[0].weight = 1.0 - _RESTLESS
        memory.particles[1].weight = _RESTLESS
        memory.particles[1].lineage = 2
        memory.particles[1].changes = policy.stay_prior


@kernel
def copy(policy: Any, memory: Memory, old: int, new: int) -> None:
    """Copy a particle to another row."""
    memory.particles[new] = memory.particles[old]
    for i in range(AGES):
        memory.ended[new, i] = memory.ended[old, i]
        memory.reached[new, i] = memory.reached[old, i]
    known = memory.particles[old].known
    for k in range(known):
        memory.states[new, k] = memory.states[old, k]
        for arm in range(policy.arms):
            memory.means[new, k, arm] = memory.means[old, k, arm]
        for other in range(known):
            memory.moves[new, k, other] = memory.moves[old, k, other]


@kernel
def add(memory: Memory, slot: int, arm: int, reward: float, group: int, units: int) -> None:
    """Add the mean reward of a group of units to a particle's present state.

    mean <- mean + gain[n] * (reward - mean);  n <- min(n + units, CAP)
    """
    mean = memory.means[slot, memory.particles[slot].here, arm]
    mean.average += (reward - mean.average) * memory.gaussians[group, mean.count].gain
    mean.count = min(mean.count + units, CAP)


@kernel
def check_recall(policy: Any, memory: Memory, slot: int, arm: int, reward: float, group: int) -> None:
    """Count whether what was remembered of a state proved right, by the first reward of another arm than the one that recalled it."""
    particle = memory.particles[slot]
    if particle.changed == memory.core[0].now:
        particle.recaller = arm if memory.means[slot, particle.here, arm].count > 0 else -1
        return
    mean = memory.means[slot, particle.here, arm]
    if particle.recaller < 0 or particle.recaller == arm or mean.count == 0:
        return
    particle.recaller = -1
    fit, blank = memory.gaussians[group, mean.count], memory.gaussians[group, 0]
    far, off = reward - mean.average, reward - memory.scale[0].centre
    better = math.log(fit.height / blank.height) - far * far * fit.precision + off * off * blank.precision
    if abs(better) > 1.0:
        particle.recalls += 1.0
        particle.right += 1.0 if better > 0.0 else 0.0
        set_leaving(policy, memory, slot)


@kernel
def similar(policy: Any, memory: Memory, one: int, other: int) -> bool:
    """Return whether two particles claim the same: the same states, the same one now, and means within their uncertainty.

    |mean - mean'| <= likeness * deviation[max(n, n')] for every state and arm
    """
    a, b = memory.particles[one], memory.particles[other]
    if a.lineage != b.lineage or a.here != b.here:
        return False
    for k in range(a.known):
        for arm in range(policy.arms):
            mine, theirs = memory.means[one, k, arm], memory.means[other, k, arm]
            far = abs(mine.average - theirs.average)
            if far > policy.likeness * memory.deviation[max(mine.count, theirs.count)]:
                return False
    return True


@kernel
def position(memory: Memory, slot: int) -> int:
    """Return where a row is among `slots`, or the number of particles if it is not in use."""
    at = 0
    while at < memory.core[0].live and memory.slots[at] != slot:
        at += 1
    return at


@kernel
def merge(policy: Any, memory: Memory, slot: int) -> None:
    """Merge a particle with the first similar one: weights are added, the heavier library stays."""
    core = memory.core[0]
    for i in range(core.live):
        other = memory.slots[i]
        if other != slot and similar(policy, memory, slot, other):
            gone = other if memory.particles[slot].weight > memory.particles[other].weight else slot
            stays = slot if gone == other else other
            memory.particles[stays].weight += memory.particles[gone].weight
            at = position(memory, gone)
            core.live -= 1
            memory.slots[at] = memory.slots[core.live]
            memory.slots[core.live] = gone
            return


@kernel
def prune(
    chance: np.ndarray,
    parent: np.ndarray,
    to: np.ndarray,
    heavy: np.ndarray,
    number: int,
    most: int,
    floor: float,
    u: float,
) -> tuple[int, float]:
    """Keep a few of many weighted branches without bias (Fearnhead & Clifford 2003), in place; returns how many, and their sum.

    Those above a cut c keep their weight w. The others are kept with probability w / c and then weigh c, by one systematic sweep
    with the uniform number `u`. `heavy` is scratch space::

        c = floor * sum(w), or higher so that at most `most` are kept: (number of w > c) + sum(w <= c) / c = most - 1
    """
    total = 0.0
    for i in range(number):
        total += chance[i]
    cut = floor * total
    big, small = 0, 0.0
    for i in range(number):
        if chance[i] > cut:
            heavy[big] = chance[i]
            big += 1
        else:
            small += chance[i]
    if number > most and (big >= most or big * cut + small > (most - 1) * cut):
        # The cut at which most - 1 are kept on average; it falls from step to step as more are above it, but never to the floor
        candidates, below = big, small
        before, big, small = -1, 0, total
        while before < big < most - 1:
            before = big
            cut = small / (most - 1 - big)
            big, small = 0, below
            for i in range(candidates):
                if heavy[i] > cut:
                    big += 1
                else:
                    small += heavy[i]
    left = u * cut
    kept, total = 0, 0.0
    for i in range(number):
        weight = chance[i]
        if weight <= cut:
            left -= weight
            if left >= 0.0:
                continue
            left += cut
            weight = cut
        chance[kept] = weight
        parent[kept] = parent[i]
        to[kept] = to[i]
        total += weight
        kept += 1
    return kept, total


@kernel
def branch(policy: Any, memory: Memory, first: int, reward: float, group: int, second: int, other: float) -> int:
    """Weigh all branches of all particles, given the rewards of one arm or (`second` is not -1) two; returns their number.

    weight * stay              * fit(reward, mean in z)     the state z stays
    weight * (1 - stay) * p(k) * fit(reward, mean in k)     it changes to k
    weight * (1 - stay) * p(new) * fit(reward, centre)      it changes to a new state
    fit(reward, mean) = exp(-(reward - mean)^2 / (2 variance)) / sqrt(variance), see `set_gaussians`, and p in `set_leaving`
    """
    centre = memory.scale[0].centre
    far = reward - centre
    unseen = memory.gaussians[group, 0].height * decay(min(far * far * memory.gaussians[group, 0].precision, _LEAST))
    if second >= 0:
        far = other - centre
        fit = memory.gaussians[OTHERS, 0]
        unseen *= fit.height * decay(min(far * far * fit.precision, _LEAST))
    number = 0
    for i in range(memory.core[0].live):
        slot = memory.slots[i]
        particle = memory.particles[slot]
        z, known = particle.here, particle.known
        stay = 1.0 - hazard(policy, memory, slot, memory.core[0].now)
        going = particle.weight * (1.0 - stay)
        by_entry, by_move = going * particle.by_entry, going * particle.by_move
        staying_weight = particle.weight * stay
        for k in range(known):
            mean = memory.means[slot, k, first]
            fit = memory.gaussians[group, mean.count]
            far = reward - mean.average
            exponent = far * far * fit.precision
            if exponent > _IMPOSSIBLE and k != z:
                continue
            like = fit.height
            if second >= 0:
                mean = memory.means[slot, k, second]
                fit = memory.gaussians[OTHERS, mean.count]
                far = other - mean.average
                exponent += far * far * fit.precision
                if exponent > _IMPOSSIBLE and k != z:
                    continue
                like *= fit.height
            like *= decay(min(exponent, _LEAST))
            if k == z:
                like *= staying_weight
            else:
                like *= by_entry * memory.states[slot, k].entered + by_move * memory.moves[slot, z, k]
            memory.parent[number] = slot
            memory.to[number] = k
            memory.chance[number] = like
            number += 1
        memory.parent[number] = slot
        memory.to[number] = known
        memory.chance[number] = going * particle.novel * unseen
        number += 1
        if policy.parts & 8 and not discrete(memory.noise[0]):
            width = 2.5066 / (memory.scale[0].high - memory.scale[0].low)  # heights lack 1/sqrt(2 pi)
            rounds = particle.stays + particle.changes
            memory.parent[number] = slot
            memory.to[number] = OUTLIER
            memory.chance[number] = staying_weight * width * (particle.outliers + 0.01) / (rounds + 100.0)
            if second >= 0:
                memory.chance[number] *= width
            number += 1
    return number


@kernel
def place(policy: Any, memory: Memory, kept: int, total: float) -> None:
    """Give every branch that was kept a row: the first of a particle takes over its row, others copy it to a free one."""
    live = memory.core[0].live
    for i in range(live):
        memory.first_branch[memory.slots[i]] = -1
    for i in range(kept):
        if memory.first_branch[memory.parent[i]] < 0:
            memory.first_branch[memory.parent[i]] = i
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
        slot = memory.parent[i]
        if memory.first_branch[slot] != i:
            slot = memory.slots[live]
            live += 1
            copy(policy, memory, memory.parent[i], slot)
        memory.slot[i] = slot
        memory.particles[slot].weight = memory.chance[i] / total
    memory.core[0].live = kept


@kernel
def advance(policy: Any, memory: Memory, first: int, reward: float, second: int, other: float, u: float) -> None:
    """Advance all particles by one round in which an arm (or two) gave a reward; `u` is uniform on (0, 1)."""
    core = memory.core[0]
    group = ONE if policy.units == 1 or second >= 0 else ALL
    number = branch(policy, memory, first, reward, group, second, other)
    kept, total = prune(
        memory.chance, memory.parent, memory.to, memory.heavy, number, policy.particles, policy.floor, u
    )
    place(policy, memory, kept, total)
    for i in range(kept):
        slot = memory.slot[i]
        update_ageing(policy, memory, slot, memory.to[i] != memory.particles[slot].here and memory.to[i] != OUTLIER)
        if memory.to[i] == OUTLIER:
            memory.particles[slot].stays += 1.0
            memory.particles[slot].outliers += 1.0
            memory.slot[i] = -1
            continue
        if memory.to[i] == memory.particles[slot].here:
            memory.particles[slot].stays += 1.0
            memory.slot[i] = -1
        else:
            change(policy, memory, slot, memory.to[i])
        memory.states[slot, memory.particles[slot].here].spent += 1.0
        if policy.parts & 131072:
            check_recall(policy, memory, slot, first, reward, group)
        add(memory, slot, first, reward, group, 1 if group == ONE else policy.units)
        if second >= 0:
            add(memory, slot, second, other, OTHERS, policy.units - 1)
    # Particles that have just changed may have become similar to others; of the rest one is looked at in turn
    for i in range(kept):
        if memory.slot[i] >= 0 and position(memory, memory.slot[i]) < core.live:
            merge(policy, memory, memory.slot[i])
    if core.live > 1:
        core.turn += 1
        merge(policy, memory, memory.slots[core.turn % core.live])
    best = 0.0
    for i in range(core.live):
        slot = memory.slots[i]
        if memory.particles[slot].weight > best:
            best = memory.particles[slot].weight
            core.best = slot

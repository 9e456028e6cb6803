"""Particles: hypotheses about the hidden state, each with its own library of remembered states and a claim about the present one.

A Rao-Blackwellised particle filter. Every round a particle branches: the state stays, it changes to a remembered one, or to one
never seen. Bayes' rule weighs all branches, `prune` keeps a few without bias, and particles that claim the same are merged.
"""

import math
from typing import Any

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.noise import discrete
from latentbandits.policies.state_library.memory import AGES, ALL, CAP, ONE, OTHERS, VISITS, Memory
from latentbandits.policies.state_library.transitions import change, clear, hazard, set_leaving, update_ageing

_ROOT = math.sqrt(2.0 * math.pi)
_IMPOSSIBLE = 25.0  # beyond this exponent a change to a remembered state is not considered
_LEAST = 60.0  # the largest exponent: no likelihood is below exp(-60), so that one outlier cannot kill all particles
_STEPS = 32.0
_RESTLESS = 0.02  # weight at first of the particle that expects a change in every other round
# Where a branch goes that does not change its state: the reward is an outlier, it belongs to the present state, or to one before it
OUTLIER, HERE, BEFORE = -1, -2, -3
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
    """Start with two particles whose libraries have one state that nothing is known about; one of them expects many changes."""
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
    particle.changed = core.front
    particle.until = core.front
    for i in range(VISITS):
        memory.visits[0, i].state = -1
        memory.visits[0, i].began = 0
    particle.outliers = 0.0
    particle.ageing = policy.structure
    for i in range(AGES):
        memory.ended[0, i] = 0
        memory.reached[0, i] = 0
    clear(policy, memory, 0, 0)
    memory.states[0, 0].entered = 1.0
    set_leaving(policy, memory, 0)
    set_gaussians(policy, memory)
    copy(policy, memory, 0, 1)
    core.live = core.lineages = 2
    particle.weight = 1.0 - _RESTLESS
    restless = memory.particles[1]
    restless.weight = _RESTLESS
    restless.lineage = 2
    restless.changes = policy.stay_prior


@kernel
def copy(policy: Any, memory: Memory, old: int, new: int) -> None:
    """Copy a particle to another row."""
    memory.particles[new] = memory.particles[old]
    for i in range(AGES):
        memory.ended[new, i] = memory.ended[old, i]
        memory.reached[new, i] = memory.reached[old, i]
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
def add(memory: Memory, slot: int, k: int, arm: int, reward: float, group: int, units: int) -> None:
    """Add the mean reward of a group of units to a state of a particle.

    mean <- mean + gain[n] * (reward - mean);  n <- min(n + units, CAP)
    """
    mean = memory.means[slot, k, arm]
    mean.average += (reward - mean.average) * memory.gaussians[group, mean.count].gain
    mean.count = min(mean.count + units, CAP)


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
def outlying(memory: Memory, slot: int, second: int) -> float:
    """Return the likelihood of an outlier: anywhere in the range, as frequent as outliers have been; on the scale of `fit`.

    sqrt(2 pi) / (high - low) * (outliers + 0.01) / (rounds + 100)
    """
    particle = memory.particles[slot]
    even = _ROOT / (memory.scale[0].high - memory.scale[0].low)
    share = (particle.outliers + 0.01) / (particle.stays + particle.changes + 100.0)
    return float(share * even * even if second >= 0 else share * even)


@kernel
def branch(policy: Any, memory: Memory, first: int, reward: float, group: int, second: int, other: float) -> int:
    """Weigh all branches of all particles, given the rewards of one arm or (`second` is not -1) two; returns their number.

    weight * stay              * fit(reward, mean in z)     the state z stays
    weight * (1 - stay) * p(k) * fit(reward, mean in k)     it changes to k
    weight * (1 - stay) * p(new) * fit(reward, centre)      it changes to a new state
    weight * stay * outlying                                the state stays, and the reward is an outlier
    fit(reward, mean) = exp(-(reward - mean)^2 / (2 variance)) / sqrt(variance), see `set_gaussians`, and p in `set_leaving`
    """
    centre = memory.scale[0].centre
    far = reward - centre
    unseen = memory.gaussians[group, 0].height * decay(min(far * far * memory.gaussians[group, 0].precision, _LEAST))
    if second >= 0:
        far = other - centre
        fit = memory.gaussians[OTHERS, 0]
        unseen *= fit.height * decay(min(far * far * fit.precision, _LEAST))
    outliers = not discrete(memory.noise[0])
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
        if outliers:
            memory.parent[number] = slot
            memory.to[number] = OUTLIER
            memory.chance[number] = staying_weight * outlying(memory, slot, second)
            number += 1
    return number


@kernel
def fit(memory: Memory, slot: int, k: int, first: int, reward: float, group: int, second: int, other: float) -> float:
    """Return how well a state of a particle explains the rewards of one arm or two; k = -1 for a state that nothing is known about."""
    blank = k < 0
    mean = memory.means[slot, max(k, 0), first]
    table = memory.gaussians[group, 0 if blank else mean.count]
    far = reward - (memory.scale[0].centre if blank else mean.average)
    like = table.height * decay(min(far * far * table.precision, _LEAST))
    if second >= 0:
        mean = memory.means[slot, max(k, 0), second]
        table = memory.gaussians[OTHERS, 0 if blank else mean.count]
        far = other - (memory.scale[0].centre if blank else mean.average)
        like *= table.height * decay(min(far * far * table.precision, _LEAST))
    return float(like)


@kernel
def state_then(memory: Memory, slot: int, now: int) -> int:
    """Return the state in which a particle believes to have been in a round before the last change; -1 if it has forgotten."""
    for i in range(VISITS):
        visit = memory.visits[slot, i]
        if now >= visit.began:
            return int(visit.state)
    return -1


@kernel
def branch_late(policy: Any, memory: Memory, first: int, reward: float, group: int, second: int, other: float) -> int:
    """Weigh all branches of all particles, given rewards of a round before the latest; returns their number.

    The round belongs to the present state or to an earlier one. When exactly the state changed is uncertain: after the round `until`, and
    at `changed` at the latest. A round in between is in either state, and a particle branches::

        weight * (changed - now) / (changed - until) * fit(reward, mean in the state before)
        weight * (now - until) / (changed - until) * fit(reward, mean in the present one)       and the state changed by now
    """
    now = memory.core[0].now
    outliers = not discrete(memory.noise[0])
    number = 0
    for i in range(memory.core[0].live):
        slot = memory.slots[i]
        particle = memory.particles[slot]
        here, weight = 1.0 if now >= particle.changed else 0.0, particle.weight
        if particle.until < now < particle.changed:
            here = (now - particle.until) / (particle.changed - particle.until)
        if here > 0.0:
            memory.parent[number] = slot
            memory.to[number] = HERE
            memory.chance[number] = weight * here * fit(
                memory, slot, particle.here, first, reward, group, second, other
            )
            number += 1
        if here < 1.0:
            k = state_then(memory, slot, now)
            memory.parent[number] = slot
            memory.to[number] = BEFORE
            memory.chance[number] = weight * (1.0 - here) * fit(memory, slot, k, first, reward, group, second, other)
            number += 1
        if outliers:
            memory.parent[number] = slot
            memory.to[number] = OUTLIER
            memory.chance[number] = weight * outlying(memory, slot, second)
            number += 1
    return number


@kernel
def settle_late(memory: Memory, slot: int, to: int) -> int:
    """Note what a branch says about the moment of the last change; returns the state that the reward belongs to, or -1."""
    now, particle = memory.core[0].now, memory.particles[slot]
    if to == OUTLIER:
        particle.outliers += 1.0
        return -1
    if to == HERE:
        particle.changed = min(particle.changed, now)
        return int(particle.here)
    particle.until = max(particle.until, now)
    return state_then(memory, slot, now)


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
def settle(policy: Any, memory: Memory, slot: int, to: int) -> int:
    """Let a particle go where its branch leads; returns the state that the reward belongs to, -1 if it is an outlier."""
    core, particle = memory.core[0], memory.particles[slot]
    rounds = core.now - core.front
    z = particle.here
    changed = to != OUTLIER and to != z
    if rounds == 1:
        update_ageing(policy, memory, slot, changed)
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
def advance(policy: Any, memory: Memory, first: int, reward: float, second: int, other: float, u: float) -> None:
    """Advance all particles by one round in which an arm (or two) gave a reward; `u` is uniform on (0, 1).

    A reward of an earlier round than the latest belongs to the state that each particle believes was there then.
    """
    core = memory.core[0]
    group = ONE if policy.units == 1 or second >= 0 else ALL
    late = core.now <= core.front
    if late:
        number = branch_late(policy, memory, first, reward, group, second, other)
    else:
        number = branch(policy, memory, first, reward, group, second, other)
    kept, total = prune(
        memory.chance, memory.parent, memory.to, memory.heavy, number, policy.particles, policy.floor, u
    )
    place(policy, memory, kept, total)
    for i in range(kept):
        slot, to = memory.slot[i], memory.to[i]
        if late or to == memory.particles[slot].here or to == OUTLIER:
            memory.slot[i] = -1
        k = settle_late(memory, slot, to) if late else settle(policy, memory, slot, to)
        if k >= 0:
            add(memory, slot, k, first, reward, group, 1 if group == ONE else policy.units)
            if second >= 0:
                add(memory, slot, k, second, other, OTHERS, policy.units - 1)
    # Particles that have just changed may have become similar to others; of the rest one is looked at in turn
    for i in range(kept):
        if memory.slot[i] >= 0 and position(memory, memory.slot[i]) < core.live:
            merge(policy, memory, memory.slot[i])
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

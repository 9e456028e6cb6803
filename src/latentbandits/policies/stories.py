"""Stories about a hidden state: each has its own library of remembered states, and says in which of them we are now.

The particle filter behind `StateLibrary`. Every round a story can go on in several ways: the state stays, it changes to a remembered one,
or to one never seen. Bayes' rule weighs them all, `prune` keeps a few without bias, and stories that tell the same are merged.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from latentbandits.compiled import kernel

CAP = 512  # rewards that a remembered mean can weigh; beyond it old ones fade
HISTORY = 256  # rounds that are told anew when the noise or the range turns out to be quite another

# Slots of `about`: what all stories share
ROUND, NOW, LIVE, BEST, LINEAGES, TURN, FORCED = 0, 1, 2, 3, 4, 5, 6
NOISE, NOISE_AT_START, LOW, HIGH, CENTRE, SPREAD = 7, 8, 9, 10, 11, 12
LAST_ARM, LAST_REWARD = 13, 14
LAG_ARM, LAG_LEVEL, LAG_ERROR, BLEND, BLEND_XX, BLEND_XY = 15, 16, 17, 18, 19, 20
ABOUT = 21
# Slots of `tale`: the numbers of one story
STAYS, CHANGES, ENTRIES, SINGLES, ODDS, CHANGED, BY_ENTRY, BY_MOVE, NOVEL = 0, 1, 2, 3, 4, 5, 6, 7, 8
TALE = 9
# Rewards come from one unit, from all but the first, or from all of them
ONE, OTHERS, ALL = 0, 1, 2

_BACKOFF = 1.0  # weight of the entry counts in the learned transitions
_MOST_ODDS = 1000.0
_IMPOSSIBLE = 25.0  # beyond this exponent a change to a remembered state is not considered
_LEAST = 60.0  # the largest exponent: no likelihood is below exp(-60), so that one outlier cannot kill all stories


class Memory(NamedTuple):
    """What the policy remembers; arrays from `weight` to `moves` have one row per story.

    Attributes
    ----------
    weight : probability of each story
    here : the state in which it says we are
    known : number of states in its library
    lineage : equal for stories whose libraries have the same states
    tale : stays, changes, entries into all states, states entered once, odds of the transition counts, round of the last change, and
        where a change leads (see `set_leaving`)
    mean, counts : per state and arm, the posterior mean and the number of rewards behind it
    entered, left, moves : how often a state was entered, was left, and for which other
    slots : rows; the first ``about[LIVE]`` of them are in use
    about : what all stories share: rounds, noise, range of the means, the lagged rewards' part
    played : the round in which each arm was played last
    precision, height, gain, deviation : of a Gaussian, by the number of rewards behind the mean
    parent, to, chance, above, place, heir : successors of all stories in the current round
    value, upper : expected reward and index of every arm in the last choice
    noise : differences of rewards, see `latentbandits.noise`
    level, level_count, levels, next_mean, next_count, arm_mean, arm_count : lagged rewards, see `latentbandits.policies.lag_table`
    told_arms, told : the last rounds
    """

    weight: np.ndarray
    here: np.ndarray
    known: np.ndarray
    lineage: np.ndarray
    tale: np.ndarray
    mean: np.ndarray
    counts: np.ndarray
    entered: np.ndarray
    left: np.ndarray
    moves: np.ndarray
    slots: np.ndarray
    about: np.ndarray
    played: np.ndarray
    precision: np.ndarray
    height: np.ndarray
    gain: np.ndarray
    deviation: np.ndarray
    parent: np.ndarray
    to: np.ndarray
    chance: np.ndarray
    above: np.ndarray
    place: np.ndarray
    heir: np.ndarray
    value: np.ndarray
    upper: np.ndarray
    noise: np.ndarray
    level: np.ndarray
    level_count: np.ndarray
    levels: np.ndarray
    next_mean: np.ndarray
    next_count: np.ndarray
    arm_mean: np.ndarray
    arm_count: np.ndarray
    told_arms: np.ndarray
    told: np.ndarray


_STEPS = 32.0
_DECAY = np.exp(-np.arange(int(_LEAST * _STEPS) + 2) / _STEPS)


@kernel
def decay(x: float) -> float:
    """Return exp(-x) for x from 0 to 60, right to 11 digits and twice as fast as the library's."""
    i = int(x * _STEPS + 0.5)
    r = i / _STEPS - x
    return float(_DECAY[i] * (1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r / 24.0)))))


@kernel
def set_tables(policy: Any, memory: Memory) -> None:
    """Fill in all that depends on the noise and the spread of means: a mean with n rewards behind it has deviation[n]."""
    noise = memory.about[NOISE]
    prior = (noise / memory.about[SPREAD]) * (noise / memory.about[SPREAD])  # rewards that the prior of a mean is worth
    for n in range(CAP + 1):
        memory.deviation[n] = noise / math.sqrt(n + prior)
        for group in range(3):
            size = 1 if group == ONE else policy.units - 1 if group == OTHERS else policy.units
            if size > 0:
                variance = noise * noise * (1.0 / size + 1.0 / (n + prior))
                memory.precision[group, n] = 0.5 / variance
                memory.height[group, n] = 1.0 / math.sqrt(variance)
                memory.gain[group, n] = size / (n + size + prior)


@kernel
def begin(policy: Any, memory: Memory) -> None:
    """Start with one story whose library has one state that nothing is known about."""
    about, tale = memory.about, memory.tale
    for i in range(policy.stories):
        memory.slots[i] = i
    about[LIVE] = 1
    about[BEST] = 0
    about[LINEAGES] = 1
    about[NOISE_AT_START] = about[NOISE]
    memory.weight[0] = 1.0
    memory.here[0] = 0
    memory.known[0] = 1
    memory.lineage[0] = 1
    tale[0, STAYS] = 0.0
    tale[0, CHANGES] = 0.0
    tale[0, ENTRIES] = 1.0
    tale[0, SINGLES] = 1.0
    tale[0, ODDS] = policy.structure
    tale[0, CHANGED] = 0.0
    clear(policy, memory, 0, 0)
    memory.entered[0, 0] = 1.0
    set_leaving(policy, memory, 0)
    set_tables(policy, memory)


@kernel
def clear(policy: Any, memory: Memory, slot: int, k: int) -> None:
    """Make a state of a story one that nothing is known about."""
    memory.entered[slot, k] = 0.0
    memory.left[slot, k] = 0.0
    for other in range(memory.known[slot]):
        memory.moves[slot, k, other] = 0
        memory.moves[slot, other, k] = 0
    for arm in range(policy.arms):
        memory.mean[slot, k, arm] = memory.about[CENTRE]
        memory.counts[slot, k, arm] = 0


@kernel
def staying(policy: Any, memory: Memory, slot: int) -> float:
    """Return the probability that a story's state stays."""
    stays = memory.tale[slot, STAYS] + policy.stay_prior
    return float(stays / (stays + memory.tale[slot, CHANGES] + policy.change_prior))


@kernel
def set_leaving(policy: Any, memory: Memory, slot: int) -> None:
    """Say where a change leads: k has probability ``BY_ENTRY * entered[k] + BY_MOVE * moves[here, k]``, a new state NOVEL.

    Two models are averaged by their odds, that is by how well each has foretold the changes so far. One goes by how often a state was
    entered; the other by the transitions counted from here, backed off to the first. A new state has the mass ``novelty`` plus the
    number of states entered once (Good and Turing's estimate of what is still unseen).
    """
    z = memory.here[slot]
    tale = memory.tale
    novel = policy.novelty + tale[slot, SINGLES]
    flat = 1.0 / (novel + tale[slot, ENTRIES] - memory.entered[slot, z])
    odds = tale[slot, ODDS]
    counted = odds / (memory.left[slot, z] + _BACKOFF)
    share = 1.0 / (1.0 + odds)
    tale[slot, BY_ENTRY] = share * flat * (1.0 + counted * _BACKOFF)
    tale[slot, BY_MOVE] = share * counted
    tale[slot, NOVEL] = tale[slot, BY_ENTRY] * novel


@kernel
def copy(policy: Any, memory: Memory, old: int, new: int) -> None:
    """Copy a story to another row."""
    known = memory.known[old]
    memory.here[new] = memory.here[old]
    memory.known[new] = known
    memory.lineage[new] = memory.lineage[old]
    for i in range(TALE):
        memory.tale[new, i] = memory.tale[old, i]
    for k in range(known):
        memory.entered[new, k] = memory.entered[old, k]
        memory.left[new, k] = memory.left[old, k]
        for arm in range(policy.arms):
            memory.mean[new, k, arm] = memory.mean[old, k, arm]
            memory.counts[new, k, arm] = memory.counts[old, k, arm]
        for other in range(known):
            memory.moves[new, k, other] = memory.moves[old, k, other]


@kernel
def change(policy: Any, memory: Memory, slot: int, to: int) -> None:
    """Let the state of a story change; a new one (`to` is the number of known states) takes a free place, or that of the rarest."""
    about, tale = memory.about, memory.tale
    z = memory.here[slot]
    known = memory.known[slot]
    fresh = to == known
    # The odds of the counted transitions: how much better than the entry counts they have foretold this change
    flat = policy.novelty + tale[slot, SINGLES] if fresh else memory.entered[slot, to]
    flat /= policy.novelty + tale[slot, SINGLES] + tale[slot, ENTRIES] - memory.entered[slot, z]
    counted = _BACKOFF * flat + (0.0 if fresh else float(memory.moves[slot, z, to]))
    odds = tale[slot, ODDS] * counted / (memory.left[slot, z] + _BACKOFF) / flat
    tale[slot, ODDS] = min(max(odds, policy.structure / _MOST_ODDS), _MOST_ODDS)
    if fresh:
        if known == policy.states:
            to = 1 if z == 0 else 0
            for k in range(known):
                if k != z and memory.entered[slot, k] < memory.entered[slot, to]:
                    to = k
            tale[slot, ENTRIES] -= memory.entered[slot, to]
            tale[slot, SINGLES] -= 1.0 if memory.entered[slot, to] == 1.0 else 0.0
            for k in range(known):
                memory.left[slot, k] -= memory.moves[slot, k, to]
        else:
            memory.known[slot] = known + 1
        clear(policy, memory, slot, to)
        about[LINEAGES] += 1
        memory.lineage[slot] = int(about[LINEAGES])
    memory.moves[slot, z, to] += 1
    memory.left[slot, z] += 1.0
    tale[slot, SINGLES] += 1.0 if fresh else -1.0 if memory.entered[slot, to] == 1.0 else 0.0
    memory.entered[slot, to] += 1.0
    tale[slot, ENTRIES] += 1.0
    tale[slot, CHANGES] += 1.0
    tale[slot, CHANGED] = about[NOW]
    memory.here[slot] = to
    set_leaving(policy, memory, slot)


@kernel
def add(memory: Memory, slot: int, arm: int, reward: float, group: int, size: int) -> None:
    """Add the mean reward of a group of units to the state in which a story says we are."""
    z = memory.here[slot]
    n = memory.counts[slot, z, arm]
    memory.mean[slot, z, arm] += (reward - memory.mean[slot, z, arm]) * memory.gain[group, n]
    memory.counts[slot, z, arm] = min(n + size, CAP)


@kernel
def alike(policy: Any, memory: Memory, one: int, other: int) -> bool:
    """Return whether two stories tell the same: the same states, the same one now, and means within their uncertainty."""
    if memory.lineage[one] != memory.lineage[other] or memory.here[one] != memory.here[other]:
        return False
    for k in range(memory.known[one]):
        for arm in range(policy.arms):
            n = max(memory.counts[one, k, arm], memory.counts[other, k, arm])
            far = abs(memory.mean[one, k, arm] - memory.mean[other, k, arm])
            if far > policy.likeness * memory.deviation[n]:
                return False
    return True


@kernel
def row(memory: Memory, slot: int) -> int:
    """Return where a story is among `slots`, or the number of stories if it is none of them."""
    at = 0
    while at < memory.about[LIVE] and memory.slots[at] != slot:
        at += 1
    return at


@kernel
def merge(policy: Any, memory: Memory, slot: int) -> None:
    """Merge a story with the first one that is alike: weights are added, the heavier library stays."""
    live = int(memory.about[LIVE])
    for i in range(live):
        other = memory.slots[i]
        if other != slot and alike(policy, memory, slot, other):
            gone = other if memory.weight[slot] > memory.weight[other] else slot
            stays = slot if gone == other else other
            memory.weight[stays] += memory.weight[gone]
            at = row(memory, gone)
            memory.slots[at] = memory.slots[live - 1]
            memory.slots[live - 1] = gone
            memory.about[LIVE] = live - 1
            return


@kernel
def prune(
    chance: np.ndarray,
    parent: np.ndarray,
    to: np.ndarray,
    above: np.ndarray,
    number: int,
    most: int,
    floor: float,
    u: float,
) -> tuple[int, float]:
    """Keep a few of many weighted successors without bias (Fearnhead & Clifford 2003), in place; returns how many, and their sum.

    Those above a cut keep their weight. The others are kept with probability weight / cut and then weigh the cut, by one systematic sweep
    with the uniform number `u`. The cut is the share `floor` of all, or higher so that no more than `most` are kept. `above` is
    scratch space.
    """
    total = 0.0
    for i in range(number):
        total += chance[i]
    cut = floor * total
    big, small = 0, 0.0
    for i in range(number):
        if chance[i] > cut:
            above[big] = chance[i]
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
                if above[i] > cut:
                    big += 1
                else:
                    small += above[i]
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
def succeed(policy: Any, memory: Memory, first: int, reward: float, group: int, second: int, other: float) -> int:
    """Weigh all ways in which all stories can go on, given the rewards of one arm or (`second` is not -1) two; returns their number."""
    about = memory.about
    far = reward - about[CENTRE]
    unseen = memory.height[group, 0] * decay(min(far * far * memory.precision[group, 0], _LEAST))
    if second >= 0:
        far = other - about[CENTRE]
        unseen *= memory.height[OTHERS, 0] * decay(min(far * far * memory.precision[OTHERS, 0], _LEAST))
    number = 0
    for i in range(int(about[LIVE])):
        slot = memory.slots[i]
        z = memory.here[slot]
        known = memory.known[slot]
        stay = staying(policy, memory, slot)
        going = memory.weight[slot] * (1.0 - stay)
        by_entry, by_move = going * memory.tale[slot, BY_ENTRY], going * memory.tale[slot, BY_MOVE]
        staying_weight = memory.weight[slot] * stay
        for k in range(known):
            n = memory.counts[slot, k, first]
            far = reward - memory.mean[slot, k, first]
            exponent = far * far * memory.precision[group, n]
            if exponent > _IMPOSSIBLE and k != z:
                continue
            like = memory.height[group, n]
            if second >= 0:
                n = memory.counts[slot, k, second]
                far = other - memory.mean[slot, k, second]
                exponent += far * far * memory.precision[OTHERS, n]
                if exponent > _IMPOSSIBLE and k != z:
                    continue
                like *= memory.height[OTHERS, n]
            like *= decay(min(exponent, _LEAST))
            if k == z:
                like *= staying_weight
            else:
                like *= by_entry * memory.entered[slot, k] + by_move * memory.moves[slot, z, k]
            memory.parent[number] = slot
            memory.to[number] = k
            memory.chance[number] = like
            number += 1
        memory.parent[number] = slot
        memory.to[number] = known
        memory.chance[number] = going * memory.tale[slot, NOVEL] * unseen
        number += 1
    return number


@kernel
def settle(policy: Any, memory: Memory, kept: int, total: float) -> None:
    """Give every survivor a row: the first of a parent takes over its row, others copy it to a free one."""
    live = int(memory.about[LIVE])
    for i in range(live):
        memory.heir[memory.slots[i]] = -1
    for i in range(kept):
        if memory.heir[memory.parent[i]] < 0:
            memory.heir[memory.parent[i]] = i
    # Rows without an heir become free: behind those in use
    i = 0
    while i < live:
        slot = memory.slots[i]
        if memory.heir[slot] < 0:
            live -= 1
            memory.slots[i] = memory.slots[live]
            memory.slots[live] = slot
        else:
            i += 1
    for i in range(kept):
        slot = memory.parent[i]
        if memory.heir[slot] != i:
            slot = memory.slots[live]
            live += 1
            copy(policy, memory, memory.parent[i], slot)
        memory.place[i] = slot
        memory.weight[slot] = memory.chance[i] / total
    memory.about[LIVE] = kept


@kernel
def absorb(policy: Any, memory: Memory, first: int, reward: float, second: int, other: float, u: float) -> None:
    """Let all stories go on by one round in which an arm (or two) gave a reward; `u` is uniform on (0, 1)."""
    about = memory.about
    group = ONE if policy.units == 1 or second >= 0 else ALL
    number = succeed(policy, memory, first, reward, group, second, other)
    kept, total = prune(memory.chance, memory.parent, memory.to, memory.above, number, policy.stories, policy.floor, u)
    settle(policy, memory, kept, total)
    for i in range(kept):
        slot = memory.place[i]
        if memory.to[i] == memory.here[slot]:
            memory.tale[slot, STAYS] += 1.0
            memory.place[i] = -1
        else:
            change(policy, memory, slot, memory.to[i])
        add(memory, slot, first, reward, group, 1 if group == ONE else policy.units)
        if second >= 0:
            add(memory, slot, second, other, OTHERS, policy.units - 1)
    # Stories that have just changed may have become like others; of the rest one is looked at in turn
    for i in range(kept):
        if memory.place[i] >= 0 and row(memory, memory.place[i]) < about[LIVE]:
            merge(policy, memory, memory.place[i])
    if about[LIVE] > 1:
        about[TURN] += 1
        merge(policy, memory, memory.slots[int(about[TURN]) % int(about[LIVE])])
    best = 0.0
    for i in range(int(about[LIVE])):
        slot = memory.slots[i]
        if memory.weight[slot] > best:
            best = memory.weight[slot]
            about[BEST] = slot

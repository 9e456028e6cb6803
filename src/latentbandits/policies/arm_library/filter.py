"""The filter over an arm's levels: hypotheses about which reward was at which level, weighed by Bayes' rule.

A hypothesis knows the levels and which of them the newest reward was at. With hazard h per round the arm jumps to a level drawn from its
long-run shares, perhaps the same. So a reward branches every hypothesis into one for each level, and one for a level never seen; the
heaviest are kept. As long as none is dropped this is exact.
"""

import math

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.arm_library.chain import staying, weigh_hazards
from latentbandits.policies.arm_library.constants import (
    ALIKE,
    BLANK,
    CAP,
    CLICKS_PRIOR,
    FLOOR,
    HYPOTHESES,
    LEVELS,
    MERGED,
    OUTLIERS,
    SLACK,
    SPREAD,
    SURE,
)
from latentbandits.policies.arm_library.memory import Memory
from latentbandits.protocols import Record

_ROOT = math.sqrt(2.0 * math.pi)


@kernel
def bell(away: float, variance: float) -> float:
    """Return the density of a normal number."""
    return math.exp(-0.5 * away * away / variance) / (math.sqrt(variance) * _ROOT)


@kernel
def fit(core: Record, average: float, rewards: float, reward: float, sd: float) -> float:
    """Return the likelihood of a reward at a level known by some others, outliers not included."""
    if core.values == 2:
        most = (rewards * (average - core.least) / (core.most - core.least) + CLICKS_PRIOR) / (
            rewards + 2 * CLICKS_PRIOR
        )
        return most if reward > core.least else 1.0 - most  # type: ignore[no-any-return]
    return float(bell(reward - average, sd * sd * (1.0 + 1.0 / rewards)))


@kernel
def fit_new(core: Record, reward: float, sd: float) -> float:
    """Return the likelihood of a reward at a level never seen."""
    if core.values == 2:
        return BLANK
    spread = SPREAD * (core.high - core.low)
    return bell(reward - 0.5 * (core.low + core.high), spread * spread + sd * sd)


@kernel
def add_branch(memory: Memory, number: int, weight: float, parent: int, level: int) -> int:
    """Write a branch, and return how many there are."""
    branch = memory.branches[number]
    branch.weight, branch.parent, branch.level = weight, parent, level
    return number + 1


@kernel
def learn_level(level: Record, reward: float, weight: float) -> None:
    """Add a reward to a level."""
    level.rewards += weight
    level.average += weight / level.rewards * (reward - level.average)
    level.rewards = min(level.rewards, CAP)


@kernel
def begin_level(core: Record, level: Record, reward: float, sd: float) -> None:
    """Begin a level with a reward; what is known of levels in general counts as well, but for two values (see `fit`)."""
    spread = SPREAD * (core.high - core.low)
    prior = 0.0 if core.values == 2 else sd * sd / (spread * spread)
    level.average = (reward + prior * 0.5 * (core.low + core.high)) / (1.0 + prior)
    level.rewards = 1.0 + prior
    level.visits, level.left, level.rounds, level.share = 0.0, 0.0, 0.0, 0.0


@kernel
def move(hypothesis: Record, levels: np.ndarray, to: int, rounds: float, now: int) -> None:
    """Count the rounds since the last reward for the level that was present, and a change, which was seen now, if there is one."""
    was = hypothesis.present
    levels[was].rounds += rounds
    if to != was:
        levels[was].left += 1.0
        levels[to].visits += 1.0
        hypothesis.present = to
        hypothesis.changed = now


@kernel
def copy(hypothesis: Record, levels: np.ndarray, to: Record, to_levels: np.ndarray) -> None:
    """Copy a hypothesis."""
    to.weight, to.known, to.present = hypothesis.weight, hypothesis.known, hypothesis.present
    to.changed, to.fresh = hypothesis.changed, hypothesis.fresh
    for k in range(hypothesis.known):
        level, new = levels[k], to_levels[k]
        new.average, new.rewards, new.visits = level.average, level.rewards, level.visits
        new.left, new.rounds, new.share = level.left, level.rounds, level.share


@kernel
def alike(memory: Memory, one: int, other: int, sd: float) -> bool:
    """Return whether two of the new hypotheses say the same: levels that cannot be told apart."""
    first, second = memory.next_hypotheses[one], memory.next_hypotheses[other]
    if first.known != second.known or first.present != second.present:
        return False
    for k in range(first.known):
        a, b = memory.next_levels[one, k], memory.next_levels[other, k]
        if abs(a.average - b.average) > ALIKE * sd * math.sqrt(1.0 / a.rewards + 1.0 / b.rewards):
            return False
    return True


@kernel
def keep_heaviest(memory: Memory, arm: int, number: int, reward: float, rounds: float, sd: float, out: float) -> None:
    """Make the heaviest branches the hypotheses; one that says the same as a heavier one adds its weight to that.

    `rounds` passed since the last reward; 0 for a reward that is older than that, which moves nothing.
    """
    core, state = memory.core[0], memory.arms[arm]
    kept, total, heaviest = 0, 0.0, 0.0
    while kept < HYPOTHESES:
        best = 0
        for i in range(1, number):
            if memory.branches[i].weight > memory.branches[best].weight:
                best = i
        branch = memory.branches[best]
        heaviest = max(heaviest, branch.weight)
        if branch.weight <= FLOOR * heaviest:
            break
        hypothesis, levels = memory.next_hypotheses[kept], memory.next_levels[kept]
        parent, k = branch.parent, branch.level
        copy(memory.hypotheses[arm, parent], memory.levels[arm, parent], hypothesis, levels)
        hypothesis.weight = branch.weight
        branch.weight = 0.0
        if k == hypothesis.known:
            begin_level(core, levels[k], reward, sd)
            if rounds == 0.0:
                levels[k].visits = 1.0
            hypothesis.known += 1
        else:
            good = (1.0 - OUTLIERS) * memory.fits[parent, k]
            learn_level(levels[k], reward, 1.0 if core.values == 2 else good / (good + OUTLIERS * out))
        if rounds > 0.0:
            move(hypothesis, levels, k, rounds, state.last)
        total += hypothesis.weight
        same = 0
        while same < kept and not alike(memory, same, kept, sd):
            same += 1
        if same < kept:
            memory.next_hypotheses[same].weight += hypothesis.weight
        else:
            kept += 1
    for h in range(kept):
        memory.next_hypotheses[h].weight /= total
        copy(memory.next_hypotheses[h], memory.next_levels[h], memory.hypotheses[arm, h], memory.levels[arm, h])
    state.live = kept


@kernel
def learn_regimes(memory: Memory, arm: int, gap: int, late: bool, reward: float, sd: float, out: float) -> float:
    """Learn a reward of an arm, `gap` rounds from its newest one, and return how likely it was; `out` is the density of outliers.

    A late reward is older than the newest one: it says what the level was. Seen backward the chain is the same.
    """
    core, state = memory.core[0], memory.arms[arm]
    stay = staying(state.hazard, gap)
    new = fit_new(core, reward, sd)
    number, total, same, other = 0, 0.0, 0.0, 0.0
    for h in range(state.live):
        hypothesis, levels = memory.hypotheses[arm, h], memory.levels[arm, h]
        weight = hypothesis.weight
        for k in range(hypothesis.known):
            memory.fits[h, k] = fit(core, levels[k].average, levels[k].rewards, reward, sd)
            like = memory.fits[h, k]
            if core.values > 2:
                like = (1.0 - OUTLIERS) * like + OUTLIERS * out
            other += weight * levels[k].share * like
            chance = (1.0 - stay) * levels[k].share
            if k == hypothesis.present:
                same += weight * like
                chance += stay
            number = add_branch(memory, number, weight * chance * like, h, k)
        other += weight * hypothesis.fresh * new
        if hypothesis.known < LEVELS:
            number = add_branch(memory, number, weight * (1.0 - stay) * hypothesis.fresh * new, h, hypothesis.known)
    for i in range(number):
        total += memory.branches[i].weight
    weigh_hazards(memory, arm, gap, same, other)
    if total <= 0.0:  # no level could give it, so far off is it: it says nothing
        return 1e-300
    rounds = 0.0 if late else min(float(gap), 1.0 / state.hazard)
    keep_heaviest(memory, arm, number, reward, rounds, sd, out)
    first = memory.hypotheses[arm, 0]
    present = memory.levels[arm, 0, first.present]
    if first.weight > SURE and present.rewards >= 2.0:
        core.low, core.high = min(core.low, present.average), max(core.high, present.average)
    return total


@kernel
def begin_regimes(memory: Memory, arm: int, reward: float) -> None:
    """Begin with the first reward of an arm."""
    state, hypothesis, level = memory.arms[arm], memory.hypotheses[arm, 0], memory.levels[arm, 0, 0]
    state.live = 1
    hypothesis.weight, hypothesis.known, hypothesis.present, hypothesis.changed = 1.0, 1, 0, 0
    level.average, level.rewards, level.visits = reward, 1.0, 1.0
    level.left = level.rounds = 0.0


@kernel
def merge_levels(hypothesis: Record, levels: np.ndarray, sd: float) -> None:
    """Make one of the two levels of a hypothesis that are most alike, if they cannot be told apart."""
    nearest, one, other = MERGED, -1, -1
    for i in range(hypothesis.known):
        for j in range(i + 1, hypothesis.known):
            error = sd * math.sqrt(1.0 / levels[i].rewards + 1.0 / levels[j].rewards + SLACK)
            away = abs(levels[i].average - levels[j].average) / error
            if away < nearest:
                nearest, one, other = away, i, j
    if one < 0:
        return
    first, second, last = levels[one], levels[other], hypothesis.known - 1
    learn_level(first, second.average, second.rewards)
    first.visits += second.visits
    first.left += second.left
    first.rounds += second.rounds
    if hypothesis.present == other:
        hypothesis.present = one
    if other != last:
        moved = levels[last]
        second.average, second.rewards, second.visits = moved.average, moved.rewards, moved.visits
        second.left, second.rounds = moved.left, moved.rounds
        if hypothesis.present == last:
            hypothesis.present = other
    hypothesis.known = last

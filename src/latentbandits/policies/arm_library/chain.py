"""How often an arm changes and what share of time it spends at each level, learned from counts."""

import math

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.arm_library.constants import (
    BASE,
    BEYOND,
    DWELL,
    HAZARD_LOGS,
    HAZARDS,
    NEW,
    NOVELTY,
    OPTIMISM,
    SINGLES,
)
from latentbandits.policies.arm_library.memory import Memory
from latentbandits.protocols import Record


@kernel
def staying(hazard: float, gap: int) -> float:
    """Return the probability that an arm has not jumped in some rounds."""
    return 1.0 - hazard if gap == 1 else math.pow(1.0 - hazard, float(gap))


@kernel
def weigh_hazards(memory: Memory, arm: int, gap: int, same: float, other: float) -> None:
    """Add a reward to the evidence: its likelihood if the arm has not jumped since the last one, and if it has."""
    for j in range(len(HAZARDS)):
        stay = staying(HAZARDS[j], gap)
        memory.evidence[arm, j] += math.log(max(stay * same + (1.0 - stay) * other, 1e-300))


@kernel
def set_hazard(memory: Memory, arm: int) -> None:
    """Set the hazard of an arm: the geometric mean of its posterior, whose prior is `BASE` plus the posteriors of all other arms."""
    top = -np.inf
    for j in range(len(HAZARDS)):
        top = max(top, memory.evidence[arm, j])
    total = 0.0
    for j in range(len(HAZARDS)):
        prior = BASE
        for other in range(len(memory.arms)):
            if other != arm:
                prior += memory.chance[other, j]
        memory.chance[arm, j] = prior * math.exp(memory.evidence[arm, j] - top)
        total += memory.chance[arm, j]
    log = 0.0
    for j in range(len(HAZARDS)):
        memory.chance[arm, j] /= total
        log += memory.chance[arm, j] * HAZARD_LOGS[j]
    memory.arms[arm].hazard = math.exp(log)


@kernel
def set_shares(hypothesis: Record, levels: np.ndarray, hazard: float) -> None:
    """Set the shares of time: visits times the time that a visit lasts, which for two equal shares is two mean times to a jump."""
    usual = 2.0 / hazard
    single, total = 0, 0.0
    for k in range(hypothesis.known):
        level = levels[k]
        level.share = level.visits * (level.rounds + DWELL * usual) / (level.left + DWELL)
        total += level.share
        single += level.visits < 1.5
    hypothesis.fresh = usual * (NOVELTY + SINGLES * max(0, single - 1))
    total += hypothesis.fresh
    for k in range(hypothesis.known):
        levels[k].share /= total
    hypothesis.fresh /= total


@kernel
def put(memory: Memory, arm: int, value: float, now: float, usual: float) -> None:
    """Insert a value into those of an arm's index, in falling order."""
    at = memory.arms[arm].atoms
    while at > 0 and memory.values[arm, at - 1] < value:
        memory.values[arm, at] = memory.values[arm, at - 1]
        memory.now[arm, at] = memory.now[arm, at - 1]
        memory.usual[arm, at] = memory.usual[arm, at - 1]
        at -= 1
    memory.values[arm, at], memory.now[arm, at], memory.usual[arm, at] = value, now, usual
    memory.rates[arm, memory.arms[arm].atoms] = memory.arms[arm].hazard
    memory.arms[arm].atoms += 1


@kernel
def set_values(memory: Memory, arm: int, sd: float) -> None:
    """Write what an arm's index is computed from: the levels of all hypotheses by their weights, and levels never seen."""
    core = memory.core[0]
    memory.arms[arm].atoms = 0
    fresh = 0.0
    for h in range(memory.arms[arm].live):
        hypothesis, levels = memory.hypotheses[arm, h], memory.levels[arm, h]
        set_shares(hypothesis, levels, memory.arms[arm].hazard)
        fresh += hypothesis.weight * hypothesis.fresh
        for k in range(hypothesis.known):
            value = levels[k].average + OPTIMISM * sd / math.sqrt(levels[k].rewards)
            now = hypothesis.weight if k == hypothesis.present else 0.0
            put(memory, arm, value, now, hypothesis.weight * levels[k].share)
    width = core.high - core.low
    for i in range(NEW):
        place = (1.0 + 2.0 * BEYOND) * (i + 0.5) / NEW - BEYOND
        put(memory, arm, core.low + place * width, 0.0, fresh / NEW)

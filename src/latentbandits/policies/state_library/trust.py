"""Trust: whether what the library claims comes true, and whether its tests are worth what they cost.

Where the library prefers another arm to the usual one, which was played most, it claims a gap: its value of the preferred arm less its
value of the usual arm. Rewards of such rounds show how much of the gap there is, since both values are predictions of them. It is the
value of the usual arm that is wrong where noise was taken for a state: nobody looks again. If nothing is left of the gaps, the library
is not trusted: it decides in one of eight rounds only, and the usual arm is played in the others.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library.memory import WAITING, Memory
from latentbandits.protocols import Choice, Record

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary

# Rounds in which the library preferred another arm to the usual one: it was played; the usual one was, as a test; or in its stead
_PREFERRED, _TESTED, _INSTEAD = 0, 1, 2
_LATEST = 512.0  # such rounds that are remembered of each kind, about
_PRIOR = 4.0  # before any of them the part of the gap that is untrue is 0, give or take 1 / sqrt(_PRIOR)
_SUSPECT = 0.5  # the part from which on the library is suspected
_SURE = 2.0  # standard errors by which a gap must be above 0 to be out of question
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
_SELDOM = 0.125
# What tests may cost: so many times the range, and this share of what leaving the usual arm has gained
_ALLOWANCE, _SHARE = 10.0, 0.3


@kernel
def usual_arm(policy: "StateLibrary", plays: np.ndarray, choice: Choice) -> int:
    """Return the available arm that was played most."""
    top = -1
    for arm in range(policy.arms):
        if choice.arm_scores[arm].available and (top < 0 or plays[arm] > plays[top]):
            top = arm
    return top


@kernel
def seldom(core: Record) -> bool:
    """Return whether this is one of the eighth of all rounds in which the library decides even if it is not trusted.

    Multiples of the golden ratio are spread evenly, whatever the period of the world
    """
    return bool(core.asked * _GOLDEN % 1.0 < _SELDOM)


@kernel
def untrue(record: Record) -> float:
    """Return the part of the gaps that rewards of the usual arm have shown to be untrue, with some caution.

    sum of gap * surprise / (sum of gap^2 + 4 * mean of surprise^2);  surprise = reward - value
    """
    if record.rounds == 0.0:
        return 0.0
    return float(record.products / (record.weights + _PRIOR * record.squares / record.rounds))


@kernel
def left(trust: np.ndarray, sd: float) -> tuple[float, float]:
    """Return what is left of the gaps on average, and its standard error; infinity if the usual arm was not played in their stead.

    mean gap + mean surprise of the preferred arm - mean surprise of the usual arm
    """
    ours, theirs = trust[_PREFERRED], trust[_INSTEAD]
    if theirs.rounds < 2.0 or ours.rounds < 2.0:
        return np.inf, np.inf
    least = sd * sd
    mine, other = ours.surprise / ours.rounds, theirs.surprise / theirs.rounds
    variance = max(theirs.squares / theirs.rounds - other * other, least) / theirs.rounds
    variance += max(ours.squares / ours.rounds - mine * mine, least) / ours.rounds
    gap = (ours.gaps + theirs.gaps) / (ours.rounds + theirs.rounds)
    return float(gap + mine - other), math.sqrt(variance)


@kernel
def trusted(memory: Memory) -> bool:
    """Return whether the library may leave the usual arm in this round.

    If tests make it suspect, the usual arm is played in its stead until it is clear that something is left of the gaps.
    """
    if seldom(memory.core[0]):
        return True
    remains, error = left(memory.trust, memory.noise[0].sd)
    suspect = untrue(memory.trust[_TESTED]) > _SUSPECT
    return bool(remains > _SURE * error) if suspect else bool(remains > 0.0)


@kernel
def restrained(memory: Memory) -> bool:
    """Return whether the library may not test in this round: it is not trusted, or tests have cost too much, as it sees it itself.

    cost > 10 * range + 0.3 * (gaps of all rounds in which the preferred arm was played) * (the part that is true)
    """
    if not trusted(memory):
        return True
    scale, budget = memory.scale[0], memory.budget[0]
    wrong = max(untrue(memory.trust[_TESTED]), untrue(memory.trust[_INSTEAD]))
    true = min(max(1.0 - wrong, 0.0), 1.0)
    spent = budget.cost > _ALLOWANCE * (scale.high - scale.low) + _SHARE * true * budget.gained
    return bool(spent and not seldom(memory.core[0]))


@kernel
def claim(memory: Memory, choice: Choice, pick: int, preferred: int, usual: int, doubted: bool) -> None:
    """Note what the library claims in this round, in which an arm is played: the preferred one, the usual one, or another as a test."""
    budget, value = memory.budget[0], choice.arm_scores[pick].value
    gap = choice.arm_scores[preferred].value - choice.arm_scores[usual].value
    if pick == preferred:
        budget.gained += gap
    elif not doubted:
        budget.cost += choice.arm_scores[preferred].value - value
    if gap > 0.0 and pick in (preferred, usual):
        made = memory.claims[memory.core[0].asked % WAITING]
        made.number = memory.core[0].asked
        made.kind = _PREFERRED if pick == preferred else _INSTEAD if doubted else _TESTED
        made.gap = gap
        made.value = value


@kernel
def check(claims: np.ndarray, trust: np.ndarray, number: int, reward: float) -> None:
    """Compare the reward of a round with what the library claimed, if it preferred another arm to the usual one."""
    made = claims[number % WAITING]
    if made.number != number:
        return
    record = trust[made.kind]
    if record.rounds >= _LATEST:
        record.rounds *= 0.5
        record.gaps *= 0.5
        record.weights *= 0.5
        record.products *= 0.5
        record.surprise *= 0.5
        record.squares *= 0.5
    surprise = reward - made.value
    record.rounds += 1.0
    record.gaps += made.gap
    record.weights += made.gap * made.gap
    record.products += made.gap * surprise
    record.surprise += surprise
    record.squares += surprise * surprise


@kernel
def forget(memory: Memory) -> None:
    """Forget all claims, whether they came true, and what tests have cost."""
    for i in range(WAITING):
        memory.claims[i].number = 0
    for kind in range(len(memory.trust)):
        record = memory.trust[kind]
        record.rounds = record.gaps = record.weights = record.products = record.surprise = record.squares = 0.0
    memory.budget[0].cost = memory.budget[0].gained = 0.0

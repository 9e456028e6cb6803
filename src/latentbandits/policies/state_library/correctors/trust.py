"""Trust: whether what the library claims comes true, and whether its tests are worth what they cost.

Where the library prefers another arm to the usual one, which was played most, it claims a gap: its value of the preferred arm less its
value of the usual arm. Rewards of such rounds show how much of the gap there is, since both values are predictions of them. It is the
value of the usual arm that is wrong where noise was taken for a state: nobody looks again. If nothing is left of the gaps, the library
is not trusted: it decides in one of eight rounds only, and the usual arm is played in the others.
"""

import math

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.memory import Standard, Trust
from latentbandits.protocols import Choice, Record

# Rounds in which the library preferred another arm to the usual one: it was played; the usual one was, as a test; or in its stead
_PREFERRED, _TESTED, _INSTEAD = 0, 1, 2
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


@kernel
def usual_arm(plays: np.ndarray, choice: Choice) -> int:
    """Return the available arm that was played most."""
    top = -1
    for arm in range(len(plays)):
        if choice.arm_scores[arm].available and (top < 0 or plays[arm] > plays[top]):
            top = arm
    return top


@kernel
def seldom(asked: int) -> bool:
    """Return whether this is one of the eighth of all rounds in which the library decides even if it is not trusted.

    Multiples of the golden ratio are spread evenly, whatever the period of the world
    """
    return bool(asked * _GOLDEN % 1.0 < constants.SELDOM)


@kernel
def untrue(checked: Record) -> float:
    """Return the part of the gaps that rewards of the usual arm have shown to be untrue, with some caution.

    sum of gap * surprise / (sum of gap^2 + 4 * mean of surprise^2);  surprise = reward - value
    """
    if checked.rounds == 0.0:
        return 0.0
    return float(checked.products / (checked.weights + constants.TRUST_PRIOR * checked.squares / checked.rounds))


@kernel
def left(checked: np.ndarray, sd: float) -> tuple[float, float]:
    """Return what is left of the gaps on average, and its standard error; infinity if the usual arm was not played in their stead.

    mean gap + mean surprise of the preferred arm - mean surprise of the usual arm
    """
    ours, theirs = checked[_PREFERRED], checked[_INSTEAD]
    if theirs.rounds < 2.0 or ours.rounds < 2.0:
        return np.inf, np.inf
    least = sd * sd
    mine, other = ours.surprise / ours.rounds, theirs.surprise / theirs.rounds
    variance = max(theirs.squares / theirs.rounds - other * other, least) / theirs.rounds
    variance += max(ours.squares / ours.rounds - mine * mine, least) / ours.rounds
    gap = (ours.gaps + theirs.gaps) / (ours.rounds + theirs.rounds)
    return float(gap + mine - other), math.sqrt(variance)


@kernel
def trusted(checked: np.ndarray, asked: int, sd: float) -> bool:
    """Return whether the library may leave the usual arm in this round.

    If tests make it suspect, the usual arm is played in its stead until it is clear that something is left of the gaps.
    """
    if seldom(asked):
        return True
    remains, error = left(checked, sd)
    suspect = untrue(checked[_TESTED]) > constants.SUSPECT
    return bool(remains > constants.SURE * error) if suspect else bool(remains > 0.0)


@kernel
def restrained(trust: Trust, asked: int, standard: Standard) -> bool:
    """Return whether the library may not test in this round: it is not trusted, or tests have cost too much, as it sees it itself.

    cost > 10 * range + 0.3 * (gaps of all rounds in which the preferred arm was played) * (the part that is true)
    """
    if not trusted(trust.checked, asked, standard.noise[0].sd):
        return True
    scale, core = standard.scale[0], trust.core[0]
    wrong = max(untrue(trust.checked[_TESTED]), untrue(trust.checked[_INSTEAD]))
    true = min(max(1.0 - wrong, 0.0), 1.0)
    spent = core.cost > constants.ALLOWANCE * (scale.high - scale.low) + constants.ALLOWED_SHARE * true * core.gained
    return bool(spent and not seldom(asked))


@kernel
def correct(trust: Trust, asked: int, standard: Standard, pick: int, greedy: int, usual: int) -> tuple[int, int]:
    """Return the arms to play in place of those with the highest index and the highest value, as far as the library is trusted."""
    if greedy != usual and not trusted(trust.checked, asked, standard.noise[0].sd):
        return usual, usual
    if pick != greedy and restrained(trust, asked, standard):
        return greedy, greedy
    return pick, greedy


@kernel
def claim(trust: Trust, asked: int, choice: Choice, pick: int, preferred: int, usual: int, doubted: bool) -> None:
    """Note what the library claims in this round, in which an arm is played: the preferred one, the usual one, or another as a test."""
    core, value = trust.core[0], choice.arm_scores[pick].value
    gap = choice.arm_scores[preferred].value - choice.arm_scores[usual].value
    if pick == preferred:
        core.gained += gap
    elif not doubted:
        core.cost += choice.arm_scores[preferred].value - value
    if gap > 0.0 and pick in (preferred, usual):
        claimed = trust.claims[asked % constants.WAITING]
        claimed.number = asked
        claimed.kind = _PREFERRED if pick == preferred else _INSTEAD if doubted else _TESTED
        claimed.gap = gap
        claimed.value = value


@kernel
def check(trust: Trust, number: int, reward: float) -> None:
    """Compare the reward of a round with what the library claimed, if it preferred another arm to the usual one."""
    claimed = trust.claims[number % constants.WAITING]
    if claimed.number != number:
        return
    checked = trust.checked[claimed.kind]
    if checked.rounds >= constants.MOST_REWARDS:
        checked.rounds *= 0.5
        checked.gaps *= 0.5
        checked.weights *= 0.5
        checked.products *= 0.5
        checked.surprise *= 0.5
        checked.squares *= 0.5
    surprise = reward - claimed.value
    checked.rounds += 1.0
    checked.gaps += claimed.gap
    checked.weights += claimed.gap * claimed.gap
    checked.products += claimed.gap * surprise
    checked.surprise += surprise
    checked.squares += surprise * surprise


@kernel
def forget(trust: Trust) -> None:
    """Forget all claims, whether they came true, and what tests have cost."""
    for i in range(constants.WAITING):
        trust.claims[i].number = 0
    for kind in range(len(trust.checked)):
        checked = trust.checked[kind]
        checked.rounds = checked.gaps = checked.weights = checked.products = checked.surprise = checked.squares = 0.0
    trust.core[0].cost = trust.core[0].gained = 0.0

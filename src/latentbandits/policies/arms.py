"""Which arm the groups play: the only place that picks an arm, and only from those that are available."""

import math

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.protocols import Choice
from latentbandits.random import Stream, below, normal, uniform

# Indices of arms that go before or after all others; those of other arms are smaller, since rewards are at most LARGEST_REWARD
FIRST, LAST = 1e300, -1e300
LARGEST_INDEX = 1e200  # of an arm of which something is known; beyond it an arm goes before or after all of those


@kernel
def available(choice: Choice) -> int:
    """Return the number of available arms."""
    number = 0
    for arm in range(len(choice.arm_scores)):
        number += choice.arm_scores[arm].available
    return int(number)


@kernel
def nth_available(choice: Choice, n: int) -> int:
    """Return the n-th of the available arms, counted from 0."""
    left = n
    for arm in range(len(choice.arm_scores)):
        if choice.arm_scores[arm].available:
            if left == 0:
                return arm
            left -= 1
    return -1


@kernel
def highest(choice: Choice) -> int:
    """Return the available arm with the highest index, the first of equals."""
    best, top = -1, -np.inf
    for arm in range(len(choice.arm_scores)):
        arm_score = choice.arm_scores[arm]
        if arm_score.available and (best < 0 or arm_score.index > top):
            best, top = arm, arm_score.index
    return best


@kernel
def highest_value(choice: Choice) -> int:
    """Return the available arm with the highest value, the first of equals; one without a value only if none has one."""
    best, top = -1, np.nan
    for arm in range(len(choice.arm_scores)):
        arm_score = choice.arm_scores[arm]
        if arm_score.available and (
            best < 0 or arm_score.value > top or (math.isnan(top) and not math.isnan(arm_score.value))
        ):
            best, top = arm, arm_score.value
    return best


@kernel
def lead(choice: Choice) -> float:
    """Return how far the highest index of an available arm is above the next one; infinity if there is no next one."""
    top, second = -np.inf, -np.inf
    for arm in range(len(choice.arm_scores)):
        arm_score = choice.arm_scores[arm]
        if arm_score.available:
            if arm_score.index > top:
                top, second = arm_score.index, top
            elif arm_score.index > second:
                second = arm_score.index
    return float(top - second)


@kernel
def assign(arm: int, choice: Choice) -> None:
    """Let all groups play one arm."""
    for group in range(len(choice.arms)):
        choice.arms[group] = arm


@kernel
def assign_highest(choice: Choice) -> None:
    """Let all groups play the available arm with the highest index."""
    assign(highest(choice), choice)


@kernel
def set_index(choice: Choice, arm: int, value: float, bonus: float) -> None:
    """Write what an arm is worth: its expected reward, and that plus a bonus."""
    arm_score = choice.arm_scores[arm]
    arm_score.value = value
    arm_score.index = value + bonus


@kernel
def sample_index(choice: Choice, arm: int, value: float, deviation: float, random: Stream) -> None:
    """Write an arm's expected reward, and as its index a sample around it; nothing is sampled for an arm that is not available."""
    set_index(choice, arm, value, deviation * normal(random) if choice.arm_scores[arm].available else np.nan)


@kernel
def set_untried(choice: Choice, arm: int, index: float) -> None:
    """Write that nothing is expected of an arm, and whether it goes FIRST or LAST."""
    arm_score = choice.arm_scores[arm]
    arm_score.value = np.nan
    arm_score.index = index


@kernel
def set_bounds(choice: Choice, sums: np.ndarray, counts: np.ndarray, total: int, width: float) -> None:
    """Write the upper confidence bounds ``sum / n + width * sqrt(log(total) / n)``; an arm without rewards goes first."""
    log_n = math.log(max(total, 1))
    for arm in range(len(choice.arm_scores)):
        n = counts[arm]
        if n > 0:
            set_index(choice, arm, sums[arm] / n, width * math.sqrt(log_n / n))
        else:
            set_untried(choice, arm, FIRST)


@kernel
def set_means(choice: Choice, sums: np.ndarray, counts: np.ndarray, untried: float) -> None:
    """Write the means of the arms as their indices; an arm without rewards has the index `untried`."""
    for arm in range(len(choice.arm_scores)):
        n = counts[arm]
        if n > 0:
            set_index(choice, arm, sums[arm] / n, 0.0)
        else:
            set_untried(choice, arm, untried)


@kernel
def set_mixture(choice: Choice, best: int, share: float) -> None:
    """Write the probabilities of a policy that plays a random available arm a share of the time, and else the best one."""
    number = available(choice)
    for arm in range(len(choice.arm_scores)):
        random = share / number if choice.arm_scores[arm].available else 0.0
        choice.arm_scores[arm].probability = random + (1.0 - share if arm == best else 0.0)


@kernel
def play_mixture(choice: Choice, share: float, random: Stream) -> None:
    """Play a random available arm a share of the time, and else the one with the highest index."""
    best = highest(choice)
    set_mixture(choice, best, share)
    if uniform(random) < share:
        assign(nth_available(choice, below(random, available(choice))), choice)
    else:
        assign(best, choice)


@kernel
def forced_arm(choice: Choice, now: int, share: float) -> int:
    """Return the arm that a schedule forces in a round, -1 if none: the available arms in turn, a share of the time."""
    if share <= 0.0:
        return -1
    number = available(choice)
    turn = now % math.floor(min(number / share, 2.0**31))
    return nth_available(choice, turn) if turn < number else -1

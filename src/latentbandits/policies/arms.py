"""Which arm the units play: the only place that picks an arm from indices."""

import math

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.protocols import Choice

# Indices of arms that go before or after all others; those of other arms are smaller, since rewards are at most LARGEST_REWARD
FIRST, LAST = 1e300, -1e300


@kernel
def highest(indices: np.ndarray) -> int:
    """Return the arm with the highest index, the first of equals."""
    best = 0
    for arm in range(1, len(indices)):
        if indices[arm] > indices[best]:
            best = arm
    return best


@kernel
def lead(indices: np.ndarray) -> float:
    """Return how far the highest index is above the next one."""
    top, second = -np.inf, -np.inf
    for arm in range(len(indices)):
        if indices[arm] > top:
            top, second = indices[arm], top
        elif indices[arm] > second:
            second = indices[arm]
    return top - second


@kernel
def assign(arm: int, choice: Choice) -> None:
    """Let all units play one arm."""
    for unit in range(len(choice.arms)):
        choice.arms[unit] = arm


@kernel
def assign_highest(indices: np.ndarray, choice: Choice) -> None:
    """Let all units play the arm with the highest index."""
    assign(highest(indices), choice)


@kernel
def set_bounds(indices: np.ndarray, sums: np.ndarray, counts: np.ndarray, total: int, width: float) -> None:
    """Write the upper confidence bounds ``sum / n + width * sqrt(log(total) / n)``; an arm without rewards goes first."""
    log_n = math.log(max(total, 1))
    for arm in range(len(indices)):
        n = counts[arm]
        indices[arm] = FIRST
        if n > 0:
            indices[arm] = sums[arm] / n + width * math.sqrt(log_n / n)


@kernel
def forced_arm(now: int, arms: int, share: float) -> int:
    """Return the arm that a schedule forces in a round, -1 if none: all arms in turn, a share of the time."""
    if share <= 0.0:
        return -1
    turn = now % math.floor(min(arms / share, 2.0**31))
    return turn if turn < arms else -1

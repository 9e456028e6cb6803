"""Which arm the units play: the only place that picks an arm from indices."""

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

"""Which arm the units play: the only place that picks an arm from indices."""

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.protocols import Choice


@kernel
def highest(indices: np.ndarray) -> int:
    """Return the arm with the highest index, the first of equals."""
    best, top = 0, -np.inf
    for arm in range(len(indices)):
        if indices[arm] > top:
            best, top = arm, indices[arm]
    return best


@kernel
def assign(arm: int, choice: Choice) -> None:
    """Let all units play one arm."""
    for unit in range(len(choice.arms)):
        choice.arms[unit] = arm


@kernel
def assign_highest(indices: np.ndarray, choice: Choice) -> None:
    """Let all units play the arm with the highest index."""
    assign(highest(indices), choice)

"""Rewards under way: a decision whose reward has not arrived counts as one that was made."""

from typing import Any

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library.memory import WAITING, Memory
from latentbandits.protocols import Choice


@kernel
def await_rewards(policy: Any, memory: Memory, choice: Choice) -> None:
    """Note the arms of a choice whose rewards are under way; of very many the oldest are given up."""
    core = memory.core[0]
    latest = memory.waiting[core.asked % WAITING]
    if core.asked - core.told > WAITING:
        give_up(policy, memory.pending, latest)
    latest[0] = choice.arms[0]
    latest[1] = choice.arms[policy.units - 1]
    memory.pending[latest[0]] += 1
    memory.pending[latest[1]] += policy.units - 1


@kernel
def give_up(policy: Any, pending: np.ndarray, arms: np.ndarray) -> None:
    """Await the rewards of a round no longer: they have arrived, or later ones have."""
    pending[arms[0]] -= 1
    pending[arms[1]] -= policy.units - 1


@kernel
def receive(policy: Any, memory: Memory, number: int) -> None:
    """Await no rewards up to a round."""
    core = memory.core[0]
    for i in range(max(core.told, core.asked - WAITING) + 1, number + 1):
        give_up(policy, memory.pending, memory.waiting[i % WAITING])
    core.told = max(core.told, number)

"""Rewards under way: a decision whose reward has not arrived counts as one that was made."""

from typing import Any

from latentbandits.compiled import kernel
from latentbandits.policies.state_library.memory import WAITING, Memory
from latentbandits.protocols import Choice


@kernel
def await_rewards(policy: Any, memory: Memory, choice: Choice) -> None:
    """Note the arms of a choice whose rewards are under way; of very many the oldest are given up."""
    core = memory.core[0]
    latest = memory.waiting[core.asked % WAITING]
    if core.asked - core.told > WAITING:
        give_up(policy, memory, core.asked - WAITING)
    latest[0] = choice.arms[0]
    latest[1] = choice.arms[policy.units - 1]
    memory.pending[latest[0]] += 1
    memory.pending[latest[1]] += policy.units - 1


@kernel
def give_up(policy: Any, memory: Memory, number: int) -> None:
    """Await the rewards of a round no longer: they have arrived, or later ones have."""
    latest = memory.waiting[number % WAITING]
    memory.pending[latest[0]] -= 1
    memory.pending[latest[1]] -= policy.units - 1


@kernel
def receive(policy: Any, memory: Memory, number: int) -> None:
    """Await no rewards up to a round."""
    core = memory.core[0]
    for i in range(max(core.told, core.asked - WAITING) + 1, number + 1):
        give_up(policy, memory, i)
    core.told = max(core.told, number)

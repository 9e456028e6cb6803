"""What was asked and not heard of: an arm that was not played for long, which may pay otherwise by now, and rewards under way."""

from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.arms import available, nth_available
from latentbandits.policies.state_library.memory import WAITING, Memory
from latentbandits.protocols import Choice

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary

_SHARE = 0.1  # share of all rounds after which an arm that was never played since is tried again, per arm
_CALM = 2.5  # times that, as long as the state has never changed


@kernel
def stalest(policy: "StateLibrary", memory: Memory, choice: Choice) -> int:
    """Return the available arm that was not played for longest if that is too long ago, else -1.

    Too long: available arms * max(patience, rounds / 10) rounds, counted from the last choice made for this reason if that was later; 2.5
    times that if the state has never changed
    """
    core = memory.core[0]
    number = available(choice)
    if number < 2:
        return -1
    oldest = nth_available(choice, 0)
    for arm in range(oldest + 1, policy.arms):
        if choice.arm_scores[arm].available and memory.played[arm] < memory.played[oldest]:
            oldest = arm
    age = core.rounds - max(memory.played[oldest], core.forced)
    limit = number * max(float(policy.patience), _SHARE * core.rounds)
    if memory.particles[core.best].known == 1:
        limit *= _CALM
    return int(oldest) if age > limit else -1


@kernel
def await_rewards(policy: "StateLibrary", memory: Memory, choice: Choice) -> None:
    """Note the arms of a choice whose rewards are under way; of very many the oldest are given up."""
    core = memory.core[0]
    latest = memory.waiting[core.asked % WAITING]
    if core.asked - core.told > WAITING:
        give_up(policy, memory.pending, latest)
    latest[0] = choice.arms[0]
    latest[1] = choice.arms[policy.groups - 1]
    memory.pending[latest[0]] += 1
    memory.pending[latest[1]] += policy.groups - 1


@kernel
def give_up(policy: "StateLibrary", pending: np.ndarray, arms: np.ndarray) -> None:
    """Await the rewards of a round no longer: they have arrived, or later ones have."""
    pending[arms[0]] -= 1
    pending[arms[1]] -= policy.groups - 1


@kernel
def receive(policy: "StateLibrary", memory: Memory, number: int) -> None:
    """Await no rewards up to a round."""
    core = memory.core[0]
    for i in range(max(core.told, core.asked - WAITING) + 1, number + 1):
        give_up(policy, memory.pending, memory.waiting[i % WAITING])
    core.told = max(core.told, number)

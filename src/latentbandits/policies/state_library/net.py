"""The safety net: an arm that was not played for long is tried once more, since what it pays may have changed unseen."""

from typing import Any

from latentbandits.compiled import kernel
from latentbandits.policies.arms import available, nth_available
from latentbandits.policies.state_library.memory import Memory
from latentbandits.protocols import Choice

_SHARE = 0.1  # share of all rounds after which an arm that was never played since is tried again, per arm
_CALM = 2.5  # times that, as long as the state has never changed


@kernel
def stalest(policy: Any, memory: Memory, choice: Choice) -> int:
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
        if choice.offers[arm].available and memory.played[arm] < memory.played[oldest]:
            oldest = arm
    age = core.rounds - max(memory.played[oldest], core.forced)
    limit = number * max(float(policy.patience), _SHARE * core.rounds)
    if memory.particles[core.best].known == 1:
        limit *= _CALM
    return int(oldest) if age > limit else -1

"""The safety net: an arm that was not played for long is tried once more, since what it pays may have changed unseen."""

import math
from typing import Any

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.arms import available, nth_available
from latentbandits.policies.state_library.memory import Memory
from latentbandits.protocols import Choice

_SHARE = 0.1  # share of all rounds after which an arm that was never played since is tried again, per arm
_CALM = 2.5  # times that, as long as the state has never changed
_ROUNDS = 1500.0  # from here on an arm that is the best of a remembered state is tried more often


@kernel
def best_somewhere(policy: Any, memory: Memory, choice: Choice, arm: int) -> bool:
    """Return whether an arm is the best available one of some state of the heaviest particle."""
    best = memory.core[0].best
    for k in range(memory.particles[best].known):
        top, high = -1, -np.inf
        for other in range(policy.arms):
            if choice.offers[other].available and memory.means[best, k, other].average > high:
                top, high = other, memory.means[best, k, other].average
        if top == arm:
            return True
    return False


@kernel
def stalest(policy: Any, memory: Memory, choice: Choice) -> int:
    """Return the available arm that was not played for longest if that is too long ago, else -1.

    Too long: available arms * max(patience, rounds / 10) rounds, counted from the last choice made for this reason if that was later; 2.5
    times that if the state has never changed; available arms * patience * sqrt(rounds / 1500) if the arm is the best of some state
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
        return int(oldest) if age > _CALM * limit else -1
    if age > limit:
        return int(oldest)
    limit = number * policy.patience * max(1.0, math.sqrt(core.rounds / _ROUNDS))
    return int(oldest) if age > limit and best_somewhere(policy, memory, choice, oldest) else -1

"""Late rewards: a reward belongs to the round of its decision, and to the state that each particle believes was there then."""

from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.noise import few_values
from latentbandits.policies.state_library.branches import BEFORE, FAR, HERE, OUTLIER, fit, outlying, put
from latentbandits.policies.state_library.memory import VISITS, Memory
from latentbandits.protocols import Record

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary


@kernel
def state_then(visits: np.ndarray, now: int) -> int:
    """Return the state in which a particle believes to have been in a round before the last change; -1 if it has forgotten."""
    for i in range(VISITS):
        if now >= visits[i].began:
            return int(visits[i].state)
    return -1


@kernel
def state_at(memory: Memory, slot: int, now: int) -> int:
    """Return the state in which a particle believes to have been in a round, the present one or an earlier; -1 if it has forgotten."""
    return (
        int(memory.particles[slot].here)
        if now >= memory.particles[slot].changed
        else state_then(memory.visits[slot], now)
    )


@kernel
def branch_late(
    policy: "StateLibrary", memory: Memory, first: int, reward: float, group: int, second: int, other: float
) -> tuple[int, float]:
    """Weigh all branches of all particles, given rewards of a round before the latest; returns their number and their sum.

    The round belongs to the present state or to an earlier one. When exactly the state changed is uncertain: after the round `until`, and
    at `changed` at the latest. A round in between is in either state, and a particle branches::

        weight * (changed - now) / (changed - until) * fit(reward, mean in the state before)
        weight * (now - until) / (changed - until) * fit(reward, mean in the present one)       and the state changed by now
        weight * outlying                                                                       if the reward is far from both
    """
    now = memory.core[0].now
    outliers = not few_values(memory.noise[0])
    number, total = 0, 0.0
    for i in range(memory.core[0].live):
        slot = memory.slots[i]
        particle = memory.particles[slot]
        here, weight = 1.0 if now >= particle.changed else 0.0, particle.weight
        if particle.until < now < particle.changed:
            here = (now - particle.until) / (particle.changed - particle.until)
        apart = np.inf
        if here > 0.0:
            like, exponent = fit(policy, memory, slot, particle.here, first, reward, group, second, other)
            total += put(memory.branches[number], slot, HERE, weight * here * like)
            number += 1
            apart = exponent
        if here < 1.0:
            k = state_then(memory.visits[slot], now)
            like, exponent = fit(policy, memory, slot, k, first, reward, group, second, other)
            total += put(memory.branches[number], slot, BEFORE, weight * (1.0 - here) * like)
            number += 1
            apart = min(apart, exponent)
        if outliers and apart > FAR:
            total += put(memory.branches[number], slot, OUTLIER, weight * outlying(memory.scale[0], particle, second))
            number += 1
    return number, total


@kernel
def settle_late(particle: Record, visits: np.ndarray, now: int, to: int) -> int:
    """Note what a branch says about the moment of the last change; returns the state that the reward belongs to, or -1."""
    if to == OUTLIER:
        particle.outliers += 1.0
        return -1
    if to == HERE:
        particle.changed = min(particle.changed, now)
        return int(particle.here)
    particle.until = max(particle.until, now)
    return state_then(visits, now)

"""The index: what every arm is worth, by its expected reward, by what is unknown about it, and as a test between particles."""

import math
from typing import Any

from latentbandits.compiled import kernel
from latentbandits.policies.state_library import lag
from latentbandits.policies.state_library.memory import CAP, Memory
from latentbandits.policies.state_library.transitions import staying
from latentbandits.protocols import Choice

_RARE = 0.002  # below this probability of a change, what may follow it is left out of an arm's value


@kernel
def expect(policy: Any, memory: Memory, stay: float, choice: Choice) -> None:
    """Write every arm's expected reward as its value, and that plus the optimism as its index.

    value(arm) = stay * sum over particles of weight * mean in its present state
               + (1 - stay) * (sum over k of p(k) * mean in k + p(new) * centre)        p, k: of the heaviest particle
    index(arm) = value(arm) + optimism * stay * sum over particles of weight * deviation
    """
    offers = choice.offers
    if 1.0 - stay < _RARE:
        stay = 1.0
    for arm in range(policy.arms):
        offers[arm].value = 0.0
        offers[arm].index = 0.0
    for i in range(memory.core[0].live):
        slot = memory.slots[i]
        z = memory.particles[slot].here
        weight = memory.particles[slot].weight * stay
        for arm in range(policy.arms):
            offers[arm].value += weight * memory.means[slot, z, arm].average
            n = memory.means[slot, z, arm].count
            if policy.parts & 64:
                n = min(n + int(memory.pending[arm]), CAP)
            offers[arm].index += weight * memory.deviation[n]
    delay = memory.core[0].delay
    if policy.parts & 16384 and delay > 0.5:
        slot = memory.core[0].best
        same = math.pow(staying(policy, memory, slot), delay)
        known = memory.particles[slot].known
        total = 0.0
        for k in range(known):
            total += memory.states[slot, k].spent
        for arm in range(policy.arms):
            average = 0.0
            for k in range(known):
                average += memory.states[slot, k].spent * memory.means[slot, k, arm].average
            offers[arm].value = same * offers[arm].value + (1.0 - same) * stay * average / max(total, 1.0)
            offers[arm].index *= same
    if stay < 1.0:
        slot = memory.core[0].best
        best = memory.particles[slot]
        z, by_entry, by_move = best.here, best.by_entry, best.by_move
        for k in range(best.known):
            if k != z:
                chance = (1.0 - stay) * (by_entry * memory.states[slot, k].entered + by_move * memory.moves[slot, z, k])
                for arm in range(policy.arms):
                    offers[arm].value += chance * memory.means[slot, k, arm].average
        for arm in range(policy.arms):
            offers[arm].value += (1.0 - stay) * best.novel * memory.scale[0].centre
    for arm in range(policy.arms):
        offers[arm].index = offers[arm].value + policy.optimism * offers[arm].index


@kernel
def add_tests(policy: Any, memory: Memory, stay: float, greedy: int, choice: Choice) -> None:
    """Add to the index what each arm is worth as a test between particles.

    If a particle is right, playing on costs ``gain`` per round; an arm on which it differs from the heaviest particle by much more than
    the noise decides at once. The greedy arm is such a test too, and it is free: where it distinguishes them, no other is needed::

        index(arm) += sum over particles of weight * worth * gain * d^2 / (d^2 + 4 noise^2)
        worth = testing * sqrt(known states / (1 - stay))
        gain  = highest mean of the particle, of available arms - its mean of the greedy arm
        d^2   = (its mean of the arm - the heaviest particle's)^2 + deviation^2
    """
    best = memory.core[0].best
    z = memory.particles[best].here
    noise = 4.0 * memory.noise[0].sd * memory.noise[0].sd
    worth = policy.testing * math.sqrt(memory.particles[best].known / (1.0 - stay))
    hazard = 1.0 - stay
    state = memory.states[best, z]
    leaving = (state.left + 2.0) / (state.spent + 2.0 / hazard)
    times = leaving / hazard if policy.parts & 256 else 1.0
    if policy.parts & 512:
        times = max(times, 1.0)
    for i in range(memory.core[0].live):
        slot = memory.slots[i]
        here = memory.particles[slot].here
        gain = 0.0
        for arm in range(policy.arms):
            if choice.offers[arm].available:
                gain = max(gain, memory.means[slot, here, arm].average - memory.means[slot, here, greedy].average)
        if gain > 0.0:
            weight = min(times * memory.particles[slot].weight, 1.0)
            for arm in range(policy.arms):
                mean = memory.means[slot, here, arm]
                far = mean.average - memory.means[best, z, arm].average
                deviation = memory.deviation[mean.count]
                square = far * far + deviation * deviation
                price = choice.offers[greedy].value - choice.offers[arm].value
                useful = worth
                if policy.parts & 1024 and price > 0.0 and (not policy.parts & 4096 or memory.states[slot, here].entered > 1.0):
                    useful = max(useful, math.sqrt(price / (2.0 * gain * leaving)))
                value = weight * gain * useful * square / (square + noise)
                if policy.parts & 64:
                    value /= 1.0 + memory.pending[arm]
                choice.offers[arm].index += value


@kernel
def blend_lag(policy: Any, memory: Memory, choice: Choice) -> None:
    """Blend the lag model into values and indices.

    value <- blend * value + (1 - blend) * lag;  index <- blend * index + (1 - blend) * (lag + its uncertainty)
    """
    blend = memory.lag[0].blend
    for arm in range(policy.arms):
        lagged = lag.expected(memory, arm)
        hopeful = lagged + lag.uncertainty(memory, arm)
        offer = choice.offers[arm]
        offer.value = blend * offer.value + (1.0 - blend) * lagged
        offer.index = blend * offer.index + (1.0 - blend) * hopeful

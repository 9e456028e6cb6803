"""The index: what every arm is worth, by its expected reward, by what is unknown about it, and as a test between particles."""

import math
from typing import TYPE_CHECKING

from latentbandits.compiled import kernel
from latentbandits.policies.state_library import lag
from latentbandits.policies.state_library.features import std_error
from latentbandits.policies.state_library.memory import CAP, FEATURES, Memory
from latentbandits.protocols import Choice

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary

# Above these probabilities of a change, what may follow it counts in an arm's value, and what is unknown of that in its doubt
_RARE, _LIKELY = 0.002, 0.1


@kernel
def add_others(policy: "StateLibrary", memory: Memory, stay: float, choice: Choice) -> None:
    """Add to the values what is expected if the state has changed, by the heaviest particle, and to the doubts what is unknown of it.

    One round after the latest that was learned: p(k) as after a single change, see `transitions.set_leaving`. Several rounds after it,
    where rewards are late or lost, the state may have changed more than once: p(k) is the share of all rounds that were spent in k (there
    are none before the first reward)::

        value(arm) += (1 - stay) * (sum over k of p(k) * mean in k + p(new) * centre)
        doubt(arm) += (1 - stay) * sum over k of p(k) * deviation in k, if a change is likely
    """
    slot = memory.core[0].best
    best = memory.particles[slot]
    z, by_entry, by_move = best.here, best.by_entry, best.by_move
    once = memory.core[0].asked - memory.core[0].front <= 1 or memory.core[0].rounds == 0
    likely = 1.0 - stay > _LIKELY
    total = 0.0
    for k in range(0 if once else best.known):
        total += memory.states[slot, k].spent
    for arm in range(policy.arms):
        value, unknown = choice.arm_scores[arm].value, 0.0
        for k in range(best.known):
            if not once:
                chance = memory.states[slot, k].spent / total
            elif k != z:
                chance = by_entry * memory.states[slot, k].entered + by_move * memory.moves[slot, z, k]
            else:
                continue
            mean = memory.means[slot, k, arm]
            value += (1.0 - stay) * chance * mean.average
            if likely:
                unknown += (1.0 - stay) * chance * memory.deviation[min(mean.count + memory.pending[arm], CAP)]
        if once:
            value += (1.0 - stay) * best.novel * memory.scale[0].centre
        choice.arm_scores[arm].value = value
        choice.arm_scores[arm].index += unknown


@kernel
def expect(policy: "StateLibrary", memory: Memory, stay: float, choice: Choice) -> None:
    """Write every arm's expected reward as its value, and that plus the optimism as its index.

    value(arm) = effect of the features + stay * sum over particles of weight * mean in its present state
               + what may follow a change, see `add_others`
    index(arm) = value(arm) + optimism * doubt(arm)
    doubt(arm) = stay * sum over particles of weight * deviation + what is unknown after a change, and of the effect of the features
    """
    arm_scores = choice.arm_scores
    if 1.0 - stay < _RARE:
        stay = 1.0
    for arm in range(policy.arms):
        arm_scores[arm].value = memory.effects[arm]
        arm_scores[arm].index = 0.0
    for i in range(memory.core[0].live):
        slot = memory.slots[i]
        means = memory.means[slot, memory.particles[slot].here]
        weight = memory.particles[slot].weight * stay
        for arm in range(policy.arms):
            arm_scores[arm].value += weight * means[arm].average
            n = means[arm].count
            arm_scores[arm].index += weight * memory.deviation[min(n + memory.pending[arm], CAP)]
    if stay < 1.0:
        add_others(policy, memory, stay, choice)
    for arm in range(policy.arms):
        if policy.covariates > 0:
            deviation, sd = arm_scores[arm].index, memory.noise[0].sd
            more = sd * sd * std_error(policy, memory, arm, choice.features, FEATURES)
            arm_scores[arm].index = math.sqrt(deviation * deviation + more)
        arm_scores[arm].std_error = arm_scores[arm].index
        arm_scores[arm].index = arm_scores[arm].value + policy.optimism * arm_scores[arm].std_error


@kernel
def add_tests(policy: "StateLibrary", memory: Memory, stay: float, greedy: int, choice: Choice) -> None:
    """Add to the index what each arm is worth as a test between particles.

    If a particle is right, playing on costs ``gain`` per round; an arm on which it differs from the heaviest particle by much more than
    the noise decides at once. The greedy arm is such a test too, and it is free: where it distinguishes them, no other is needed::

        index(arm) += sum over particles of weight * times * worth * gain * d^2 / (d^2 + 4 noise^2) / (1 + rewards of the arm under way)
        worth   = testing * sqrt(known states / (1 - stay)), or sqrt(price / (2 gain leaving)) if that is more, for states entered before
        gain    = highest mean of the particle, of available arms - its mean of the greedy arm
        d^2     = (its mean of the arm - the heaviest particle's)^2 + deviation^2
        price   = value of the greedy arm - value of the arm
        leaving = (left + 2) / (spent + 2 / (1 - stay))      hazard of the heaviest particle's state
        times   = leaving / (1 - stay), at least 1
    """
    best = memory.core[0].best
    z = memory.particles[best].here
    noise = 4.0 * memory.noise[0].sd * memory.noise[0].sd
    worth = policy.testing * math.sqrt(memory.particles[best].known / (1.0 - stay))
    hazard = 1.0 - stay
    state = memory.states[best, z]
    leaving = (state.left + 2.0) / (state.spent + 2.0 / hazard)
    times = max(leaving / hazard, 1.0)
    for i in range(memory.core[0].live):
        slot = memory.slots[i]
        here = memory.particles[slot].here
        means = memory.means[slot, here]
        gain = 0.0
        for arm in range(policy.arms):
            if choice.arm_scores[arm].available:
                more = means[arm].average - means[greedy].average
                gain = max(gain, more + memory.effects[arm] - memory.effects[greedy])
        if gain > 0.0:
            weight = min(times * memory.particles[slot].weight, 1.0)
            for arm in range(policy.arms):
                far = means[arm].average - memory.means[best, z, arm].average
                deviation = memory.deviation[means[arm].count]
                square = far * far + deviation * deviation
                price = choice.arm_scores[greedy].value - choice.arm_scores[arm].value
                useful = worth
                if price > 0.0 and memory.states[slot, here].entered > 1.0:
                    useful = max(useful, math.sqrt(price / (2.0 * gain * leaving)))
                value = weight * gain * useful * square / (square + noise)
                choice.arm_scores[arm].index += value / (1.0 + memory.pending[arm])


@kernel
def blend_lag(policy: "StateLibrary", memory: Memory, choice: Choice) -> None:
    """Blend the lag model into values and indices.

    value <- blend * value + (1 - blend) * lag;  index <- blend * index + (1 - blend) * (lag + its uncertainty)
    """
    blend = memory.lag[0].blend
    for arm in range(policy.arms):
        lagged = lag.expected(memory, arm) + memory.effects[arm]
        hopeful = lagged + lag.uncertainty(memory, arm)
        arm_score = choice.arm_scores[arm]
        arm_score.value = blend * arm_score.value + (1.0 - blend) * lagged
        arm_score.index = blend * arm_score.index + (1.0 - blend) * hopeful

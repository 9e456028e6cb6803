"""The index: what every arm is worth, by its expected reward, by what is unknown about it, and as a test between particles.

It owns nothing: it reads the memory and writes the scores of a choice.
"""

import math

from latentbandits.compiled import kernel
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.amounts import deviation_of, pays_amounts
from latentbandits.policies.state_library.covariates import effect_variance
from latentbandits.policies.state_library.memory import FEATURES, Memory
from latentbandits.policies.state_library.outlook import best_of
from latentbandits.policies.state_library.transitions import leaving
from latentbandits.protocols import Choice


@kernel
def add_others(memory: Memory, stay: float, choice: Choice) -> None:
    """Add to the values what is expected if the state has changed, by the heaviest particle, and to the indices what is unknown of it.

    One round after the latest that was learned: p(k) as after a single change, see `transitions.set_leaving`. Several rounds after it,
    where rewards are late or lost, the state may have changed more than once: p(k) is the share of all rounds that were spent in k (there
    are none before the first reward)::

        value(arm) += (1 - stay) * (sum over k of p(k) * mean in k + p(new) * centre)
        std_error(arm) += (1 - stay) * sum over k of p(k) * deviation in k, if a change is likely
    """
    library, pending = memory.library, memory.history.pending
    slot, z = best_of(memory.outlook).slot, best_of(memory.outlook).state
    best, states = library.particles[slot], library.states[slot]
    by_entry, by_move = leaving(best, states[z])
    novel = by_entry * (constants.NOVELTY + best.singles)
    once = memory.core[0].asked - memory.outlook.core[0].front <= 1 or memory.core[0].rounds == 0
    likely, amounts = 1.0 - stay > constants.LIKELY, pays_amounts(memory.standard)
    total = 0.0
    for k in range(0 if once else best.known):
        total += states[k].spent
    for arm in range(library.means.shape[2]):
        value, unknown = choice.arm_scores[arm].value, 0.0
        for k in range(best.known):
            if not once:
                chance = states[k].spent / total
            elif k != z:
                chance = by_entry * states[k].entered + by_move * library.moves[slot, z, k]
            else:
                continue
            mean = library.means[slot, k, arm]
            value += (1.0 - stay) * chance * mean.average
            if likely:
                n = min(mean.count + pending[arm], constants.MOST_REWARDS)
                unknown += (1.0 - stay) * chance * deviation_of(memory.standard, amounts, arm, n)
        if once:
            value += (1.0 - stay) * novel * memory.standard.scale[0].centre
        choice.arm_scores[arm].value = value
        choice.arm_scores[arm].index += unknown


@kernel
def expect(memory: Memory, stay: float, choice: Choice) -> None:
    """Write every arm's expected reward as its value, and that plus a bonus as its index.

    value(arm) = effect of the features + stay * sum over particles of weight * mean in its present state
               + what may follow a change, see `add_others`
    index(arm) = value(arm) + 2 * std_error(arm)
    std_error(arm) = stay * sum over particles of weight * deviation + what is unknown after a change, and of the effect of the features
    """
    library, standard, effects, arm_scores = (
        memory.library,
        memory.standard,
        memory.covariates.effects,
        choice.arm_scores,
    )
    if 1.0 - stay < constants.RARE:
        stay = 1.0
    for arm in range(len(effects)):
        arm_scores[arm].value = effects[arm]
        arm_scores[arm].index = 0.0
    amounts = pays_amounts(standard)
    for i in range(memory.outlook.core[0].number):
        one = memory.outlook.hypotheses[i]
        means = library.means[one.slot, one.state]
        weight = one.weight * stay
        for arm in range(len(effects)):
            arm_scores[arm].value += weight * means[arm].average
            n = min(means[arm].count + memory.history.pending[arm], constants.MOST_REWARDS)
            arm_scores[arm].index += weight * deviation_of(standard, amounts, arm, n)
    if stay < 1.0:
        add_others(memory, stay, choice)
    for arm in range(len(effects)):
        if len(memory.covariates.features) > 0:
            deviation, sd = arm_scores[arm].index, standard.noise[0].sd
            more = sd * sd * effect_variance(memory, arm, choice.features[FEATURES:])
            arm_scores[arm].index = math.sqrt(deviation * deviation + more)
        arm_scores[arm].std_error = arm_scores[arm].index
        arm_scores[arm].index = arm_scores[arm].value + constants.OPTIMISM * arm_scores[arm].std_error


@kernel
def add_tests(memory: Memory, stay: float, greedy: int, choice: Choice) -> None:
    """Add to the index what each arm is worth as a test between particles.

    If a particle is right, playing on costs ``gain`` per round; an arm on which it differs from the heaviest particle by much more than
    the noise decides at once. The greedy arm is such a test too, and it is free: where it distinguishes them, no other is needed::

        index(arm) += sum over particles of weight * times * worth * gain * d^2 / (d^2 + 4 noise^2) / (1 + rewards of the arm under way)
        worth   = 0.35 * sqrt(known states / (1 - stay)), or sqrt(price / (2 gain leaving)) if that is more, for states entered before
        gain    = highest mean of the particle, of available arms - its mean of the greedy arm
        d^2     = (its mean of the arm - the heaviest particle's)^2 + deviation^2
        price   = value of the greedy arm - value of the arm
        leaving = (left + 2) / (spent + 2 / (1 - stay))      hazard of the heaviest particle's state
        times   = leaving / (1 - stay), at least 1
    """
    library, standard, effects, arm_scores = (
        memory.library,
        memory.standard,
        memory.covariates.effects,
        choice.arm_scores,
    )
    best, z, amounts = best_of(memory.outlook).slot, best_of(memory.outlook).state, pays_amounts(standard)
    noise = constants.TEST_NOISE * standard.noise[0].sd * standard.noise[0].sd
    worth = constants.TESTING * math.sqrt(library.particles[best].known / (1.0 - stay))
    hazard = 1.0 - stay
    state = library.states[best, z]
    leaving = (state.left + constants.LEAVING) / (state.spent + constants.LEAVING / hazard)
    times = max(leaving / hazard, 1.0)
    for i in range(memory.outlook.core[0].number):
        one = memory.outlook.hypotheses[i]
        slot, here = one.slot, one.state
        means = library.means[slot, here]
        gain = 0.0
        for arm in range(len(effects)):
            if arm_scores[arm].available:
                more = means[arm].average - means[greedy].average
                gain = max(gain, more + effects[arm] - effects[greedy])
        if gain > 0.0:
            weight = min(times * one.weight, 1.0)
            for arm in range(len(effects)):
                far = means[arm].average - library.means[best, z, arm].average
                deviation = deviation_of(standard, amounts, arm, means[arm].count)
                square = far * far + deviation * deviation
                price = arm_scores[greedy].value - arm_scores[arm].value
                useful = worth
                if price > 0.0 and library.states[slot, here].entered > 1.0:
                    useful = max(useful, math.sqrt(price / (2.0 * gain * leaving)))
                value = weight * gain * useful * square / (square + noise)
                arm_scores[arm].index += value / (1.0 + memory.history.pending[arm])

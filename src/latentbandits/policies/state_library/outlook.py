"""Outlook: what decisions whose windows are open say about the present state, before they are learned.

A click is known when it happens, its absence when the window closes. Until then a decision tells with what probability it has not been
clicked by its age: 1 - p F, if a share F of all clicks has come by then (Chapelle 2014; Vernade, Cappé & Perchet 2017). The particles have
learned all decisions whose windows are closed, in their order. From there `foresee` filters on over the open ones, for each particle over
its states and over new ones by when they began, with the means as they are. The next choice alone uses it. Nothing is learned: when its
window closes a decision is learned as always, so that nothing counts twice.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.amounts import chance_of, pays_amounts, size_density, spread_of
from latentbandits.policies.state_library.emissions import Emission, emission_of, guess_of, likelihood
from latentbandits.policies.state_library.memory import Library, Memory, Outlook, Standard
from latentbandits.policies.state_library.transitions import leaving, staying
from latentbandits.protocols import Record, Waiting

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary


@kernel
def suppose(outlook: Outlook, slot: int, state: int, weight: float) -> None:
    """Add a hypothesis: a particle, and the state that it is in now."""
    one = outlook.hypotheses[outlook.core[0].number]
    one.slot, one.state, one.weight = slot, state, weight
    outlook.core[0].number += 1


@kernel
def suppose_learned(outlook: Outlook, library: Library) -> None:
    """Take the particles as they are for the hypotheses: nothing is known beyond what was learned."""
    core = outlook.core[0]
    core.number, core.front = 0, library.core[0].front
    for i in range(library.core[0].live):
        slot = library.slots[i]
        if slot == library.core[0].best:
            core.best = i
        suppose(outlook, slot, library.particles[slot].here, library.particles[slot].weight)


@kernel
def log_chance(
    emission: Emission, waiting: Waiting, chances: np.ndarray, means: np.ndarray, known: bool, block: tuple[int, int]
) -> float:
    """Return how probable some decisions are in a state, as a logarithm, given every arm's probability p of an amount.

    product of p (and the density of the amount, see `amounts`), 1 - p if no amount was told, and, if nothing was, 1 - p * F, or
    1 - (1 - p) * F where no reward is what counts as an amount
    """
    usual, total, product = emission.usual[0], 0.0, 1.0
    inverted = usual.value != waiting.default
    for i in range(block[0], block[1]):
        for group in range(waiting.arms.shape[1]):
            arm, reward = waiting.arms[i, group], waiting.rewards[i, group]
            if math.isnan(reward):
                product *= 1.0 - (1.0 - chances[arm] if inverted else chances[arm]) * waiting.known[i]
            elif reward == usual.value:
                product *= 1.0 - chances[arm]
            else:
                product *= chances[arm]
                mine, mean = emission.amounts[arm], means[arm]
                spread = spread_of(mine)
                if spread > 0.0:
                    size, own = math.log(abs(reward - usual.value)), mean.count * mean.share if known else 0.0
                    height, exponent = size_density(mine, spread, mean.amount, own, size, 1)
                    product *= likelihood(height, exponent)
            if product < constants.LEAST_MASS:
                total += math.log(product)
                product = 1.0
    return total + math.log(product)


@kernel
def chance(emission: Emission, arm: int, share: float, count: float) -> float:
    """Return the probability of an amount from an arm in a state, after `count` rewards of which a share were amounts."""
    return chance_of(share, count, guess_of(emission, arm), 1, 1)


@kernel
def weigh_new(outlook: Outlook, emission: Emission, waiting: Waiting, prior: float, blocks: int, size: int) -> None:
    """Tabulate how probable every block is in a state that began with an earlier one, and what that state then pays.

    An open decision counts for F of a reward, one that was told for a whole one; the mean is that of `emissions.update`
    """
    arms, last = len(outlook.chances), len(waiting.known)
    usual = emission.usual[0]
    for first in range(blocks):
        for arm in range(arms):
            outlook.counts[arm] = outlook.hits[arm] = 0.0
        for block in range(first, blocks):
            rows = (block * size, min((block + 1) * size, last))
            for arm in range(arms):
                share = outlook.hits[arm] / outlook.counts[arm] if outlook.counts[arm] > 0.0 else 0.0
                outlook.chances[arm] = chance(emission, arm, share, outlook.counts[arm])
            outlook.fresh[first, block] = log_chance(emission, waiting, outlook.chances, outlook.means, False, rows)
            for i in range(rows[0], rows[1]):
                for group in range(waiting.arms.shape[1]):
                    arm, reward = waiting.arms[i, group], waiting.rewards[i, group]
                    counts = waiting.known[i] if math.isnan(reward) else 1.0
                    outlook.counts[arm] += counts
                    if (waiting.default if math.isnan(reward) else reward) != usual.value:
                        outlook.hits[arm] += counts
        for arm in range(arms):
            paid = emission.amounts[arm].paid if emission.amounts[arm].hits > 0 else emission.centre
            total = outlook.counts[arm] * usual.value + outlook.hits[arm] * (paid - usual.value)
            outlook.values[first, arm] = (total + prior * emission.centre) / (outlook.counts[arm] + prior)


@kernel
def move(outlook: Outlook, library: Library, slot: int, block: int, rounds: int) -> None:
    """Let the state of a particle change within some rounds, once at most, with the transitions of `transitions.set_leaving`.

    A state that began with the block is new; from another new one a change leads as from a state that was entered once
    """
    particle, states, chain, new = library.particles[slot], library.states[slot], outlook.chain, outlook.new
    known, keep = particle.known, math.exp(rounds * math.log(staying(particle)))
    unseen = constants.NOVELTY + particle.singles
    for k in range(known):
        outlook.moved[k] = keep * chain[k]
    fresh = 0.0
    for k in range(known):
        if chain[k] > constants.NEGLIGIBLE:
            going = (1.0 - keep) * chain[k]
            by_entry, by_move = leaving(particle, states[k])
            for to in range(known):
                if to != k:
                    outlook.moved[to] += going * (by_entry * states[to].entered + by_move * library.moves[slot, k, to])
            fresh += going * by_entry * unseen
    for first in range(block):
        going = (1.0 - keep) * new[first] / (unseen + 1.0 + particle.entries)
        new[first] *= keep
        for to in range(known):
            outlook.moved[to] += going * states[to].entered
        fresh += going * (unseen + 1.0)
    new[block] = fresh * constants.NEW_BINARY if known < states.shape[0] else 0.0
    for k in range(known):
        chain[k] = outlook.moved[k]


@kernel
def follow(
    outlook: Outlook, library: Library, emission: Emission, waiting: Waiting, slot: int, shape: tuple[int, int, int]
) -> float:
    """Filter a particle's state over all blocks of open decisions; returns the log evidence."""
    blocks, size, gap = shape
    particle, chain, new = library.particles[slot], outlook.chain, outlook.new
    known, last, evidence = particle.known, len(waiting.known), 0.0
    for k in range(known):
        chain[k] = 1.0 if k == particle.here else 0.0
        for arm in range(len(outlook.chances)):
            mean = library.means[slot, k, arm]
            outlook.rates[k, arm] = chance(emission, arm, mean.share, mean.count)
    for block in range(blocks):
        move(outlook, library, slot, block, size if block > 0 else 1 + gap)
        rows = (block * size, min((block + 1) * size, last))
        top = -np.inf
        for k in range(known):
            outlook.moved[k] = log_chance(emission, waiting, outlook.rates[k], library.means[slot, k], True, rows)
            top = max(top, outlook.moved[k])
        for first in range(block + 1):
            top = max(top, outlook.fresh[first, block])
        total = 0.0
        for k in range(known):
            chain[k] *= math.exp(outlook.moved[k] - top)
            total += chain[k]
        for first in range(block + 1):
            new[first] *= math.exp(outlook.fresh[first, block] - top)
            total += new[first]
        for k in range(known):
            chain[k] /= total
        for first in range(block + 1):
            new[first] /= total
        evidence += top + math.log(total)
    return evidence


@kernel
def suppose_all(outlook: Outlook, library: Library, slot: int, blocks: int, weight: float) -> None:
    """Add the states of a particle as hypotheses, and a new one, which has the row behind those that are known."""
    known, total = library.particles[slot].known, 0.0
    for k in range(known):
        if outlook.chain[k] > constants.NEGLIGIBLE:
            suppose(outlook, slot, k, weight * outlook.chain[k])
    for first in range(blocks):
        total += outlook.new[first]
    if total <= constants.NEGLIGIBLE:
        return
    state = library.states[slot, known]
    state.entered = state.left = state.spent = 0.0
    for arm in range(len(outlook.chances)):
        value = 0.0
        for first in range(blocks):
            value += outlook.new[first] * outlook.values[first, arm]
        library.means[slot, known, arm].average = value / total
        library.means[slot, known, arm].count = 0
    suppose(outlook, slot, known, weight * total)


@kernel
def is_told(standard: Standard, default: float) -> bool:
    """Return whether rewards are nothing or an amount, and no reward means one of the two for sure: nothing, or the one amount there is."""
    if standard.noise[0].sd == 0.0 or not pays_amounts(standard):
        return False
    for arm in range(len(standard.amounts)):
        mine = standard.amounts[arm]
        if standard.usual[0].value != default and mine.hits > 0 and (mine.paid_squares > 0.0 or mine.paid != default):
            return False
    return True


@kernel
def foresee(policy: "StateLibrary", memory: Memory, waiting: Waiting) -> None:
    """Write into the outlook which states the particles are in now, given the decisions whose windows are open.

    Only where `is_told`. Many decisions are taken together in at most 32 blocks, between which the state may change.
    """
    outlook, library, standard = memory.outlook, memory.library, memory.standard
    core, number, scale = outlook.core[0], len(waiting.known), standard.scale[0]
    core.number = 0
    if number == 0 or not is_told(standard, waiting.default):
        return
    emission = emission_of(policy, standard)
    size = (number + constants.BLOCKS - 1) // constants.BLOCKS
    blocks = (number + size - 1) // size
    prior = (standard.noise[0].sd / scale.spread) * (standard.noise[0].sd / scale.spread)
    weigh_new(outlook, emission, waiting, prior, blocks, size)
    gap, top = max(memory.core[0].asked - library.core[0].front - number, 0), -np.inf
    for i in range(library.core[0].live):
        slot, begun = library.slots[i], core.number
        evidence = follow(outlook, library, emission, waiting, slot, (blocks, size, gap))
        suppose_all(outlook, library, slot, blocks, library.particles[slot].weight)
        for j in range(begun, core.number):
            outlook.hypotheses[j].evidence = evidence
        top = max(top, evidence)
    settle(outlook, top)
    core.front = memory.core[0].asked


@kernel
def settle(outlook: Outlook, top: float) -> None:
    """Weigh the hypotheses by the evidence of their particles, and note the heaviest."""
    core, total = outlook.core[0], 0.0
    core.best = 0
    for i in range(core.number):
        one = outlook.hypotheses[i]
        one.weight *= math.exp(one.evidence - top)
        total += one.weight
        if one.weight > outlook.hypotheses[core.best].weight:
            core.best = i
    for i in range(core.number):
        outlook.hypotheses[i].weight /= total


@kernel
def best_of(outlook: Outlook) -> Record:
    """Return the heaviest hypothesis."""
    return outlook.hypotheses[outlook.core[0].best]

"""What StateLibrary believes, in a form to read."""

import math
from typing import TYPE_CHECKING

import numpy as np

from latentbandits.beliefs import Belief, Remembered
from latentbandits.policies.arm_library.belief import regimes
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.amounts import pays_amounts
from latentbandits.policies.state_library.evidence import compare
from latentbandits.policies.state_library.memory import Covariates, Library, Memory
from latentbandits.policies.state_library.transitions import staying
from latentbandits.protocols import Record

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary


def probabilities(library: Library, deviation: np.ndarray) -> np.ndarray:
    """Return how probable each state of the heaviest particle's library is, by all particles in whose library it is."""
    best = library.core[0].best
    known = library.particles[best].known
    means, counts = library.means["average"], library.means["count"]
    probability = np.zeros(known)
    for slot in library.slots[: library.core[0].live]:
        particle = library.particles[slot]
        k = particle.here
        n = np.maximum(counts[slot, k], counts[best, :known])
        far = np.abs(means[slot, k] - means[best, :known]) - constants.SAME_STATE * deviation[n]
        # The same state of another library: both have tried an arm, and no arm's means are clearly apart
        shared = ((counts[slot, k] > 0) & (counts[best, :known] > 0)).any(axis=1)
        same = np.flatnonzero(shared & (far <= 0).all(axis=1))
        if particle.lineage == library.particles[best].lineage:
            probability[k] += particle.weight
        elif len(same):
            probability[same[np.argmin(far[same].sum(axis=1))]] += particle.weight
    return probability


def number_of(state: Record) -> int:
    """Return the number of a state's regime; before the first reward there is one state, and it will be the first regime."""
    return int(state.number) or 1


def following(library: Library) -> tuple[tuple[int, float], ...]:
    """Return the number and the probability of every state that may follow the present one, by the heaviest particle; 0 is a new one."""
    slot = library.core[0].best
    best, states = library.particles[slot], library.states[slot]
    chances = [(0, float(best.novel))]
    for k in range(best.known):
        if k != best.here:
            chance = best.by_entry * states[k].entered + best.by_move * library.moves[slot, best.here, k]
            chances.append((number_of(states[k]), float(chance)))
    return tuple(sorted(chances, key=lambda pair: -pair[1]))


def completed(particle: Record, front: int, state: Record) -> float:
    """Return how long the visits to a particle's present state have lasted on average, without the present one unless it is the first."""
    if state.entered < 2:
        return float(state.spent)
    return float((state.spent - (front - particle.changed + 1)) / (state.entered - 1.0))


def slopes_of(covariates: Covariates) -> tuple[tuple[float, ...], ...]:
    """Return the slopes of every arm; NaN before they have learned from a reward."""
    if len(covariates.features) == 0:
        return ()
    rows = zip(covariates.slopes["value"].tolist(), covariates.rewards, strict=True)
    return tuple(tuple(row if learned else [math.nan] * len(row)) for row, learned in rows)


def belief(policy: "StateLibrary", memory: Memory) -> Belief:
    """Return what the policy believes: of a state of all arms, and of every arm by itself if it may."""
    found = shared(policy, memory)
    if not policy.own or memory.standard.noise[0].sd == 0.0:
        return found
    return found._replace(own=1.0 / (1.0 + math.exp(-memory.own.core[0].odds)), arms=regimes(memory.own.levels))


def shared(policy: "StateLibrary", memory: Memory) -> Belief:
    """Return what the policy believes of a state of all arms."""
    library, scale, slopes = memory.library, memory.standard.scale[0], slopes_of(memory.covariates)
    core, low, high = library.core[0], float(scale.low), float(scale.high)
    if core.live == 0:
        return Belief((), 0, 1.0, (), 1.0, math.inf, 0.0, low, high, 0, 0.0, 0, slopes, 0.0)
    best = library.particles[core.best]
    probability = probabilities(library, memory.standard.deviation)
    live = library.particles[library.slots[: core.live]]
    states = []
    for k in range(best.known):
        rows = library.means[core.best, k]
        means = tuple(float(row.average) if row.count else math.nan for row in rows)
        counts = tuple(int(row.count) for row in rows)
        state = library.states[core.best, k]
        dwell = completed(best, core.front, state) if k == best.here else float(state.spent / max(state.entered, 1.0))
        visits, seen, own = int(state.entered), int(state.seen), int(state.id)
        states.append(Remembered(number_of(state), float(probability[k]), means, counts, visits, seen, dwell, own))
    stay = float(staying(best))
    same = [
        float(particle.weight) for particle in live if abs(particle.changed - best.changed) <= constants.SAME_CHANGE
    ]
    return Belief(
        states=tuple(states),
        current=states[int(np.argmax(probability))].number,
        elsewhere=max(0.0, 1.0 - float(probability.sum())),
        next=following(library),
        stay=stay,
        dwell=1.0 / (1.0 - stay),
        noise=float(memory.standard.noise[0].sd),
        low=low,
        high=high,
        changed=int(best.changed),
        sure=min(sum(same), 1.0),
        particles=len(live),
        slopes=slopes,
        lag_weight=1.0 - float(memory.lag.core[0].blend),
        evidence=compare(memory.evidence, library, policy.levels > 0 and not pays_amounts(memory.standard)),
    )

"""What a reward may be, in a few nodes per state: how a planner looks ahead."""

import math
from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.rewards import NAMES

if TYPE_CHECKING:
    from latentbandits.policies.bayes_filter import KnownWorld
    from latentbandits.policies.bayes_planner import Memory

_BERNOULLI = NAMES.index("bernoulli")
# One standard deviation apart, up to five on either side: the trapezoidal rule, whose error for a normal density is far below that of
# the truncation, 6e-7
REACH = 5


@kernel
def nodes_per_state(rewards: int, groups: int) -> int:
    """Return how many nodes a state has: for 0 and 1 the counts of ones among the groups, else normal nodes around its mean."""
    return groups + 1 if rewards == _BERNOULLI else 2 * REACH + 1


@kernel
def place_nodes(known: "KnownWorld", memory: "Memory") -> None:
    """Write the probability of every node, by arm and state, the number of a state's first node, and the number of nodes of every arm.

    All groups play one arm, so their rewards say as much as their weighted mean: one normal number, or a count of ones.
    """
    for arm in range(known.means.shape[1]):
        if known.rewards == _BERNOULLI:
            memory.nodes[arm] = known.groups + 1
            for s in range(len(known.means)):
                memory.first[arm, s] = 0
                _binomial(known.means[s, arm], memory.chances[arm, s])
        else:
            _place_normal(known, memory, arm)


@kernel
def _binomial(chance: float, chances: np.ndarray) -> None:
    """Write the probabilities of 0, 1, ... ones, by adding one group after the other."""
    for count in range(len(chances)):
        chances[count] = 0.0
    chances[0] = 1.0
    for group in range(1, len(chances)):
        for count in range(group, 0, -1):
            chances[count] = chances[count] * (1.0 - chance) + chances[count - 1] * chance
        chances[0] *= 1.0 - chance


@kernel
def _place_normal(known: "KnownWorld", memory: "Memory", arm: int) -> None:
    """Write an arm's normal nodes: points of one grid, without the stretches that are far from the mean of every state."""
    states, width = len(known.means), 2 * REACH + 1
    precision = 0.0
    for group in range(known.groups):
        precision += known.noise[group % len(known.noise)] ** -2.0
    order, placed = memory.order, memory.first[arm]
    for s in range(states):  # by insertion, since kernels allocate nothing
        at = s
        while at > 0 and known.means[order[at - 1], arm] > known.means[s, arm]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = s
    before, first = 0.0, 0
    for i in range(states):
        s = order[i]
        place = (known.means[s, arm] - known.means[order[0], arm]) * math.sqrt(precision)
        nearest = np.floor(place + 0.5)  # a float, however far apart the means are
        first += int(min(nearest - before, width))
        placed[s], before = first, nearest
        total = 0.0
        for node in range(width):
            away = (nearest - place) + (node - REACH)
            memory.chances[arm, s, node] = math.exp(-0.5 * away * away)
            total += memory.chances[arm, s, node]
        for node in range(width):
            memory.chances[arm, s, node] /= total
    memory.nodes[arm] = first + width

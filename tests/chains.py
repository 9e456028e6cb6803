"""Small chains in plain NumPy, enumerated or simulated, that the tests of the theory share."""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from latentbandits_studies import theory

TABLE_1 = np.array([[0.4, 0.3], [0.4, 0.5], [0.6, 0.5], [0.6, 0.3]])
MEANS = np.array([[0.9, 0.2, 0.5], [0.1, 0.6, 0.4], [0.3, 0.35, 0.8]])
CHAIN = np.array([[0.9, 0.06, 0.04], [0.02, 0.95, 0.03], [0.1, 0.0, 0.9]])
CLOSE = 1e-12
quick = settings(max_examples=60, deadline=None)


class World(NamedTuple):
    means: np.ndarray
    chain: np.ndarray


@st.composite
def worlds(draw: Callable[[Any], Any], least_states: int = 1) -> World:
    """Draw means in [0, 1] (ties are common) and a chain that can go everywhere, sticky or not."""
    states, arms = draw(st.integers(least_states, 5)), draw(st.integers(2, 4))
    means = draw(arrays(np.float64, (states, arms), elements=st.integers(0, 20).map(lambda n: n / 20)))
    jumps = draw(arrays(np.float64, (states, states), elements=st.integers(0, 10).map(lambda n: n / 10)))
    sticky = draw(st.sampled_from([0.0, 0.5, 0.9, 0.99]))
    jumps = (jumps + 0.01) / (jumps + 0.01).sum(axis=1, keepdims=True)
    return World(means, sticky * np.eye(states) + (1 - sticky) * jumps)


def paths(chain: np.ndarray, start: int, steps: int) -> list[tuple[tuple[int, ...], float]]:
    """Return every path of `steps` transitions from a state, with its probability."""
    return [
        ((start, *rest), math.prod(chain[a, b] for a, b in itertools.pairwise((start, *rest))))
        for rest in itertools.product(range(len(chain)), repeat=steps)
    ]


def walk(chain: np.ndarray, rounds: int, runs: int, generator: np.random.Generator) -> np.ndarray:
    """Simulate many chains from their stationary distribution; an array (rounds, runs)."""
    edges = np.cumsum(chain, axis=1)
    states = np.empty((rounds, runs), np.int64)
    states[0] = generator.choice(len(chain), size=runs, p=theory.stationary(chain))
    for t in range(1, rounds):
        states[t] = np.minimum((generator.random(runs)[:, None] >= edges[states[t - 1]]).sum(axis=1), len(chain) - 1)
    return states


def stale_regret(means: np.ndarray, chain: np.ndarray, lag: int, worst: bool = False) -> float:
    """Return what it costs, exactly, to play the arm that was best some rounds ago."""
    later = np.linalg.matrix_power(chain, lag)
    cost = (later @ theory.state_gaps(means))[np.arange(len(means)), means.argmax(axis=1)]
    return float(cost.max() if worst else theory.stationary(chain) @ cost)


def agrees(values: np.ndarray, wanted: float) -> bool:
    """Say whether the mean of independent values is within five standard errors of what it should be."""
    return bool(abs(values.mean() - wanted) < 5 * values.std() / math.sqrt(len(values)) + CLOSE)

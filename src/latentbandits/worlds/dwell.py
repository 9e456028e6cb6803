"""How long states last: visits of random lengths, one after the other."""

import math
from collections.abc import Mapping

import numpy as np

# Lengths of visits, by name; all have the mean that the chain gives
DWELLS: Mapping[str, str] = {
    "geometric": "a change is equally likely in every round",
    "fixed": "always the same time",
    "lognormal": "sometimes much longer than usual",
    "pareto": "now and then longer by far",
}
SIGMA = 1.0  # standard deviation of the logarithm of a lognormal length
TAIL = 1.5  # exponent of a Pareto length: it has a mean but no variance
# A visit lasts at least one round, so these have the mean that they should have only from so many rounds on
UNEVEN, SHORTEST = ("lognormal", "pareto"), 5.0


def length(generator: np.random.Generator, shape: str, mean: float, *, under_way: bool = False) -> float:
    """Sample the length of a visit, of a shape that `DWELLS` names.

    With `under_way`, it is what is left of a visit that an observer meets at any time: long ones are met more often (the lengths are
    weighted by themselves), and any part of one may have passed.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.worlds.dwell import length
    >>> generator = np.random.default_rng(0)
    >>> round(sum(length(generator, "lognormal", 50) for _ in range(20_000)) / 20_000)
    50
    """
    if shape == "geometric":
        return float(generator.geometric(1 / mean))  # has no memory
    if shape == "lognormal":
        exact = mean * math.exp(SIGMA * generator.standard_normal() + (SIGMA**2 / 2 if under_way else -(SIGMA**2) / 2))
    elif shape == "pareto":
        exact = mean * (TAIL - 1) / TAIL * (1 - generator.random()) ** (-1 / (TAIL - 1 if under_way else TAIL))
    else:
        exact = mean
    level = generator.random()
    return max(1.0, math.ceil(exact * level) if under_way else math.floor(exact + level))


def visited(
    generator: np.random.Generator, shape: str, transition: np.ndarray, start: np.ndarray, rounds: int
) -> np.ndarray:
    """Return the states of a chain whose visits have lengths of another shape, with the same means and the same jumps.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.worlds.dwell import visited
    >>> chain = np.array([[0.75, 0.25], [0.5, 0.5]])
    >>> visited(np.random.default_rng(1), "fixed", chain, np.array([2 / 3, 1 / 3]), 16).tolist()
    [0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0]
    """
    states = np.empty(rounds, np.int64)
    state, begin = int(np.searchsorted(np.cumsum(start)[:-1], generator.random(), side="right")), 0
    while begin < rounds:
        leave = 1 - transition[state, state]
        lasts = length(generator, shape, 1 / leave, under_way=begin == 0) if leave > 0 else rounds
        end = int(min(rounds, begin + lasts))
        states[begin:end] = state
        jumps = np.where(np.arange(len(start)) == state, 0.0, transition[state])
        level = generator.random() * jumps.sum()
        state, begin = min(int(np.searchsorted(np.cumsum(jumps), level, side="right")), len(start) - 1), end
    return states

"""What can be said about one long record: oracles with few switches, and intervals by blocks of time."""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

RESAMPLES = 2_000


def switching(rewards: np.ndarray, switches: int) -> np.ndarray:
    """Return the highest total reward with at most 0, 1, ..., `switches` changes of the arm: an exact dynamic programme.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.experiments.real.statistics import switching
    >>> switching(np.array([[1, 0], [1, 0], [0, 2], [1, 0]]), 3).tolist()
    [3.0, 4.0, 5.0, 5.0]
    """
    best = np.tile(rewards[0].astype(float), (switches + 1, 1))  # so far, by most switches and by last arm
    for row in rewards[1:]:
        np.maximum(best[1:], best[:-1].max(axis=1, keepdims=True), out=best[1:])
        best += row
    totals: np.ndarray = best.max(axis=1)
    return totals


def by_step(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the sums of an array (records, rounds) over steps, in a unit in which their mean is the mean of all rounds.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.experiments.real.statistics import by_step
    >>> by_step(np.array([[1.0, 3.0, 5.0, 7.0]]), np.array([0, 2, 4])).tolist()
    [[2.0, 6.0]]
    """
    means: np.ndarray = np.add.reduceat(values, edges[:-1], axis=1) * ((len(edges) - 1) / edges[-1])
    return means


class Span(NamedTuple):
    """A mean and its interval."""

    mean: float
    low: float
    high: float


def block_length(steps: int) -> int:
    """Return the length of the blocks that a record is resampled in: the root of its steps."""
    return max(1, round(math.sqrt(steps)))


@lru_cache(maxsize=4)  # a dataset's policies are asked about one after the other
def blocks(steps: int, length: int, resamples: int) -> np.ndarray:
    """Return how often each step is in each moving-block resample: an array (resamples, steps).

    Examples
    --------
    >>> from latentbandits_studies.experiments.real.statistics import blocks
    >>> blocks(6, 3, 2).sum(axis=1).tolist()
    [6.0, 6.0]
    """
    random = np.random.default_rng(0)
    first = random.integers(0, steps - length + 1, (resamples, -(-steps // length)))
    taken = (first[:, :, None] + np.arange(length)).reshape(resamples, -1)[:, :steps]
    places = (taken + steps * np.arange(resamples)[:, None]).ravel()
    counts: np.ndarray = np.bincount(places, minlength=resamples * steps).reshape(resamples, steps).astype(float)
    counts.flags.writeable = False
    return counts


def over_time(values: np.ndarray, level: float = 0.95, resamples: int = RESAMPLES) -> Span:
    """Return the mean of an array (runs, steps) and its interval over time and runs.

    Steps are resampled in moving blocks, which keeps what is correlated together, and runs one by one. The interval is that of the
    resampled means, moved from their own centre to the mean: the ends of the record are in fewer blocks than its middle.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.experiments.real.statistics import over_time
    >>> over_time(np.full((2, 50), 3.0))
    Span(mean=3.0, low=3.0, high=3.0)
    """
    runs, steps = values.shape
    time = blocks(steps, block_length(steps), resamples)
    among = np.random.default_rng(1).multinomial(runs, np.full(runs, 1 / runs), resamples) / runs
    means = np.einsum("rs,rs->r", among @ values, time) / steps
    mean = float(values.mean())
    low, high = np.quantile(means - means.mean(), [0.5 - level / 2, 0.5 + level / 2])
    return Span(mean, mean + float(low), mean + float(high))

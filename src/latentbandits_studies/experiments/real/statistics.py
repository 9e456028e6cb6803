"""What can be said about one long record: oracles with few switches, intervals by blocks of time, and tests by circular shifts."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

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


class Shifted(NamedTuple):
    """A correlation, and the share of circular shifts with one as large in size."""

    correlation: float
    p: float


def shift_test(values: np.ndarray, other: np.ndarray, least: int) -> Shifted:
    """Test whether two series go together, against all circular shifts of one of them by `least` steps or more either way.

    A shift keeps the autocorrelation of both series. Values are replaced by their ranks; NaN marks steps without a value. An array
    (runs, steps) as the first is tested by its mean correlation over runs.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.experiments.real.statistics import shift_test
    >>> noise = np.random.default_rng(0).normal(size=400)
    >>> found = shift_test(noise, noise**3, 10)
    >>> found.correlation, round(found.p, 5)
    (1.0, 0.00262)
    """
    rows = np.atleast_2d(values)
    correlations = np.mean([_correlations(_ranks(row), _ranks(other)) for row in rows], axis=0)
    others = np.abs(correlations[least : len(other) - least + 1])
    as_large = int((others >= abs(correlations[0]) - 1e-12).sum())
    return Shifted(round(float(correlations[0]), 12), (1 + as_large) / (1 + len(others)))


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return centred ranks, equal values their mean rank; NaN stays."""
    ranks = rankdata(values, nan_policy="omit")
    centred: np.ndarray = ranks - np.nanmean(ranks)
    return centred


def _correlations(values: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the correlation of one series with every circular shift of the other, over the steps at which both have a value."""
    here, there = (~np.isnan(series) for series in (values, other))
    x, y = np.where(here, values, 0.0), np.where(there, other, 0.0)

    def sums(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        products = np.fft.irfft(np.fft.rfft(left) * np.conj(np.fft.rfft(right)), len(left))
        return np.asarray(products)

    m, n = here.astype(float), there.astype(float)
    count = np.maximum(np.rint(sums(m, n)), 1.0)
    mean_x, mean_y = sums(x, n) / count, sums(m, y) / count
    spread = (sums(x**2, n) / count - mean_x**2) * (sums(m, y**2) / count - mean_y**2)
    common = sums(x, y) / count - mean_x * mean_y
    correlations: np.ndarray = np.where(spread > 1e-12, common / np.sqrt(np.maximum(spread, 1e-12)), 0.0)
    return correlations


def without_hours(values: np.ndarray, hours: np.ndarray) -> np.ndarray:
    """Return values less the mean of their hour of the day, so that a common daily course is no connection."""
    residuals = values.astype(float).copy()
    for hour in np.unique(hours):
        same = hours == hour
        if not np.isnan(residuals[same]).all():
            residuals[same] -= np.nanmean(residuals[same])
    return residuals


def holm(p: Sequence[float]) -> np.ndarray:
    """Return p-values corrected for their number (Holm 1979).

    Examples
    --------
    >>> from latentbandits_studies.experiments.real.statistics import holm
    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p)
    raised = np.asarray(p)[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return adjusted

"""Changes that happen once: a rival of regimes, without states that return. Every stretch between two changes has means of its own.

The best stretches are found exactly, by dynamic programming over blocks of rows, and their ends are then moved row by row.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from latentbandits.compiled import fast, kernel
from latentbandits.logs.em import constant_log_lik, profile_log_lik
from latentbandits.logs.hypothesis import Kind
from latentbandits.logs.series import Series
from latentbandits.logs.worlds import FittedChanges, FittedWorld

CHANGES = "changes"
BLOCKS = 2000
ROUNDS = 3  # of noise and stretches in turn
LEAST_ROWS = 8  # rows of a stretch: fewer are outliers


@kernel
def _segment_gain(sums: np.ndarray, tried: np.ndarray, begin: int, end: int, precision: float, price: float) -> float:
    """Return what a stretch of its own gains, less its price: for every arm in it and for where it begins; precision 0 is for 0 and 1."""
    gain = -price
    for arm in range(sums.shape[1]):
        rows = tried[end, arm] - tried[begin, arm]
        if rows > 0.0:
            part = sums[end, arm] - sums[begin, arm]
            gain -= price
            if precision > 0.0:
                gain += 0.5 * precision * part * part / rows
            else:
                share = part / rows
                if 0.0 < share < 1.0:
                    gain += rows * (share * np.log(share) + (1.0 - share) * np.log(1.0 - share))
    return gain


def _optimal_partition(
    sums: np.ndarray, tried: np.ndarray, precision: float, price: float, least: int, last: np.ndarray
) -> float:
    """Write where the last stretch begins, for every end, in the best way to cut all that is before it; return its worth.

    A stretch has `least` blocks or more.
    """
    size = len(sums) - 1
    best = np.full(size + 1, -np.inf)
    best[0] = 0.0
    for end in range(least, size + 1):
        for begin in range(end - least + 1):
            gain = best[begin] + _segment_gain(sums, tried, begin, end, precision, price)
            if gain > best[end]:
                best[end], last[end] = gain, begin
    return float(best[size])


def _refine_ends(
    sums: np.ndarray, tried: np.ndarray, ends: np.ndarray, reach: int, precision: float, price: float
) -> None:
    """Move every change, by no more than `reach` rows, to where the stretches beside it are worth most."""
    for i in range(1, len(ends) - 1):
        top, best = -np.inf, ends[i]
        for place in range(
            max(ends[i - 1] + LEAST_ROWS, ends[i] - reach), min(ends[i + 1] - LEAST_ROWS, ends[i] + reach) + 1
        ):
            gain = _segment_gain(sums, tried, ends[i - 1], place, precision, price)
            gain += _segment_gain(sums, tried, place, ends[i + 1], precision, price)
            if gain > top:
                top, best = gain, place
        ends[i] = best


class Segments(NamedTuple):
    """The best stretches, see `latentbandits.logs.hypothesis.Fit`.

    Attributes
    ----------
    gain : log-likelihood beyond that of a log in which nothing changes
    num_params : how many numbers were fitted beyond those of such a log
    ends : int array, 0, the rows at which something changes, and the number of rows
    sizes : array (arms,), standard deviation of the means of the stretches
    noise : standard deviation of what they leave
    """

    gain: float
    num_params: int
    ends: np.ndarray
    sizes: np.ndarray
    noise: float

    def world(self, series: Series, still: FittedWorld) -> FittedWorld | None:  # noqa: ARG002
        """Return a world that changes abruptly, as often as the log did; None if that never happened."""
        count = len(self.ends) - 2
        if not count:
            return None
        return FittedChanges(
            noise=np.ones(series.width) if series.binary else series.noise * self.noise,
            binary=series.binary,
            centres=series.centres * series.noise,
            sizes=self.sizes * series.noise,
            time=float(self.ends[-1]) / count,
        )


def fit_segments(series: Series) -> Segments:
    """Return the best stretches of a log."""
    if len(series.logit_offset):
        series = series.standardise()
    rows = series.rows
    values = series.values - (0.0 if series.binary else series.centres[series.arms])
    per_arm = np.zeros((rows + 1, series.width))
    per_arm[np.arange(1, rows + 1), series.arms] = 1.0
    tried = per_arm.cumsum(axis=0)
    per_arm[np.arange(1, rows + 1), series.arms] = values
    sums = per_arm.cumsum(axis=0)
    width = -(-rows // BLOCKS)
    edges = np.append(np.arange(0, rows, width), rows)
    price, noise = 0.5 * np.log(rows), max(float(values.var()), 1e-12)
    ends = np.array([0, rows])
    for _ in range(1 if series.binary else ROUNDS):
        precision = 0.0 if series.binary else 1 / noise
        last = np.zeros(len(edges), np.int64)
        fast(_optimal_partition)(sums[edges], tried[edges], precision, price, -(-LEAST_ROWS // width), last)
        places = [len(edges) - 1]
        while places[-1] > 0:
            places.append(int(last[places[-1]]))
        ends = edges[places[::-1]]
        for _ in range(2 if width > 1 else 0):
            fast(_refine_ends)(sums, tried, ends, width, precision, price)
        noise = max(_squares(values, series.arms, ends, series.width) / rows, 1e-12)
    seen = int((np.diff(tried[ends], axis=0) > 0).sum())
    num_params = seen - int((series.tried > 0).sum()) + len(ends) - 2
    if series.binary:
        gain = sum(_binary_log_lik(sums, tried, a, b) for a, b in pairwise(ends)) - constant_log_lik(series)
    else:
        gain = profile_log_lik(rows, noise * rows) - constant_log_lik(series)
    parts = np.diff(sums[ends], axis=0), np.diff(tried[ends], axis=0)
    means = np.where(parts[1] > 0, parts[0] / np.maximum(parts[1], 1), np.nan)
    sizes = np.array([np.nanstd(column) if np.isfinite(column).any() else 0.0 for column in means.T])
    return Segments(float(gain), num_params, ends, sizes, float(np.sqrt(noise)))


def _squares(values: np.ndarray, arms: np.ndarray, ends: np.ndarray, count: int) -> float:
    """Return the squares of the values around their means in every stretch."""
    segment = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    cells = segment * count + arms
    tried, sums = np.bincount(cells), np.bincount(cells, values)
    return float((values**2).sum() - (sums**2 / np.maximum(tried, 1)).sum())


def _binary_log_lik(sums: np.ndarray, tried: np.ndarray, begin: int, end: int) -> float:
    """Return the log-likelihood of a segment of rewards of 0 and 1 around its means."""
    rows = tried[end] - tried[begin]
    share = np.clip((sums[end] - sums[begin]) / np.maximum(rows, 1), 1e-12, 1 - 1e-12)
    return float((rows * (share * np.log(share) + (1 - share) * np.log(1 - share))).sum())


KIND = Kind(
    CHANGES,
    "abrupt changes that never return",
    "It changes abruptly; whether states return is not known yet",
    fit_segments,
    binary=True,
)

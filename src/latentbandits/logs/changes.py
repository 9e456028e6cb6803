"""Changes that happen once: an explanation of a log without states that return. Every stretch between two changes has means of its own.

The best stretches are found exactly, by dynamic programming over blocks of rows, and their ends are then moved row by row.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from latentbandits.compiled import fast, kernel
from latentbandits.logs.em import constant, normal_likelihood
from latentbandits.logs.series import Series

BLOCKS = 2000
ROUNDS = 3  # of noise and stretches in turn
LEAST = 8  # rows of a stretch: fewer are outliers


@kernel
def worth(sums: np.ndarray, tried: np.ndarray, begin: int, end: int, precision: float, price: float) -> float:
    """Return what a stretch of its own gains, less its price: for every arm in it and for where it begins; precision 0 is for 0 and 1."""
    found = -price
    for arm in range(sums.shape[1]):
        rows = tried[end, arm] - tried[begin, arm]
        if rows > 0.0:
            part = sums[end, arm] - sums[begin, arm]
            found -= price
            if precision > 0.0:
                found += 0.5 * precision * part * part / rows
            else:
                share = part / rows
                if 0.0 < share < 1.0:
                    found += rows * (share * np.log(share) + (1.0 - share) * np.log(1.0 - share))
    return found


def cut(sums: np.ndarray, tried: np.ndarray, precision: float, price: float, least: int, last: np.ndarray) -> float:
    """Write where the last stretch begins, for every end, in the best way to cut all that is before it; return its worth.

    A stretch has `least` blocks or more.
    """
    size = len(sums) - 1
    best = np.full(size + 1, -np.inf)
    best[0] = 0.0
    for end in range(least, size + 1):
        for begin in range(end - least + 1):
            found = best[begin] + worth(sums, tried, begin, end, precision, price)
            if found > best[end]:
                best[end], last[end] = found, begin
    return float(best[size])


def move(sums: np.ndarray, tried: np.ndarray, ends: np.ndarray, reach: int, precision: float, price: float) -> None:
    """Move every change, by no more than `reach` rows, to where the stretches beside it are worth most."""
    for i in range(1, len(ends) - 1):
        top, best = -np.inf, ends[i]
        for place in range(max(ends[i - 1] + LEAST, ends[i] - reach), min(ends[i + 1] - LEAST, ends[i] + reach) + 1):
            found = worth(sums, tried, ends[i - 1], place, precision, price)
            found += worth(sums, tried, place, ends[i + 1], precision, price)
            if found > top:
                top, best = found, place
        ends[i] = best


class Stretches(NamedTuple):
    """The best stretches.

    Attributes
    ----------
    gain : log-likelihood beyond that of a log in which nothing changes
    numbers : how many numbers were fitted beyond those of such a log
    ends : int array, 0, the rows at which something changes, and the number of rows
    sizes : array (arms,), standard deviation of the means of the stretches
    noise : standard deviation of what they leave
    """

    gain: float
    numbers: int
    ends: np.ndarray
    sizes: np.ndarray
    noise: float


def stretches(series: Series) -> Stretches:
    """Return the best stretches of a log.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.logs.changes import stretches
    >>> from latentbandits.logs.series import Series
    >>> random = np.random.default_rng(0)
    >>> values = random.normal(size=3000) + 2.0 * (np.arange(3000) >= 1234)
    >>> stretches(Series(random.integers(2, size=3000), values, np.ones(3000), np.ones(2), False)).ends.tolist()
    [0, 1234, 3000]
    """
    rows = series.rows
    values = series.values - (0.0 if series.binary else series.centres[series.arms])
    one = np.zeros((rows + 1, series.width))
    one[np.arange(1, rows + 1), series.arms] = 1.0
    tried = one.cumsum(axis=0)
    one[np.arange(1, rows + 1), series.arms] = values
    sums = one.cumsum(axis=0)
    width = -(-rows // BLOCKS)
    edges = np.append(np.arange(0, rows, width), rows)
    price, noise = 0.5 * np.log(rows), max(float(values.var()), 1e-12)
    ends = np.array([0, rows])
    for _ in range(1 if series.binary else ROUNDS):
        precision = 0.0 if series.binary else 1 / noise
        last = np.zeros(len(edges), np.int64)
        fast(cut)(sums[edges], tried[edges], precision, price, -(-LEAST // width), last)
        places = [len(edges) - 1]
        while places[-1] > 0:
            places.append(int(last[places[-1]]))
        ends = edges[places[::-1]]
        for _ in range(2 if width > 1 else 0):
            fast(move)(sums, tried, ends, width, precision, price)
        noise = max(_squares(values, series.arms, ends, series.width) / rows, 1e-12)
    seen = int((np.diff(tried[ends], axis=0) > 0).sum())
    numbers = seen - int((series.tried > 0).sum()) + len(ends) - 2
    if series.binary:
        gain = sum(_binary(sums, tried, a, b) for a, b in pairwise(ends)) - constant(series)
    else:
        gain = normal_likelihood(rows, noise * rows) - constant(series)
    parts = np.diff(sums[ends], axis=0), np.diff(tried[ends], axis=0)
    means = np.where(parts[1] > 0, parts[0] / np.maximum(parts[1], 1), np.nan)
    sizes = np.array([np.nanstd(column) if np.isfinite(column).any() else 0.0 for column in means.T])
    return Stretches(float(gain), numbers, ends, sizes, float(np.sqrt(noise)))


def _squares(values: np.ndarray, arms: np.ndarray, ends: np.ndarray, count: int) -> float:
    """Return the squares of the values around their means in every stretch."""
    stretch = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    cells = stretch * count + arms
    tried, sums = np.bincount(cells), np.bincount(cells, values)
    return float((values**2).sum() - (sums**2 / np.maximum(tried, 1)).sum())


def _binary(sums: np.ndarray, tried: np.ndarray, begin: int, end: int) -> float:
    return float(np.sum(_entropy(sums[end] - sums[begin], tried[end] - tried[begin])))


def _entropy(yes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    share = np.clip(yes / np.maximum(rows, 1), 1e-12, 1 - 1e-12)
    return np.asarray(rows * (share * np.log(share) + (1 - share) * np.log(1 - share)))

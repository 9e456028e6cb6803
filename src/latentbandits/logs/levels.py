"""Levels that wander: rivals of regimes. One level for all arms is autocorrelated noise; one for every arm, drift.

A level is an Ornstein-Uhlenbeck process: after g rounds a share phi^g of it is left. With noise on top it is a random walk that comes
back, at any speed; without noise it is an exact AR(1) process. The arms' means are fitted jointly (generalised least squares by the
innovations of a Kalman filter), so that the likelihood is the best one for the speed and the size of the level.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from latentbandits.compiled import fast
from latentbandits.logs.em import constant_log_lik, profile_log_lik
from latentbandits.logs.series import Series

# Where the search begins: rounds after which a level has changed, and its variance in units of the noise's
TIMES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 1e5)
SIZES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 30.0, 1e3, 1e5)
BEGINNINGS, EVALUATIONS = 3, 80
POLISH, MANY = 30, 20  # evaluations at the end, for logs with no more arms than this
PURE = 1e3  # times the noise: a level that leaves none, which need not be counted as fitted


def _kalman_filter(
    columns: np.ndarray,
    values: np.ndarray,
    gaps: np.ndarray,
    which: np.ndarray,
    keep: float,
    size: float,
    levels: np.ndarray,
    products: np.ndarray,
) -> float:
    """Filter levels: add up products of the innovations of all columns and of the values; return the log-determinant.

    `which` is the number of every row's level: 0 for one level of all arms, the arm for a level of every arm. `levels` (levels, columns
    and values) is work space, as `products` is, all zeros.
    """
    rows, count = columns.shape
    innovations = np.zeros(count + 1)
    variance, last = np.full(len(levels), size), np.full(len(levels), -1.0)
    now, log_det = 0.0, 0.0
    for t in range(rows):
        own = which[t]
        now += gaps[t]
        decay = 1.0
        if last[own] >= 0.0 and now > last[own]:
            decay = keep if now - last[own] == 1.0 else keep ** (now - last[own])
            variance[own] = decay * decay * variance[own] + size * (1.0 - decay * decay)
        last[own] = now
        spread = variance[own] + 1.0
        gain, weight = variance[own] / spread, 1.0 / spread
        for c in range(count + 1):
            levels[own, c] *= decay
            innovations[c] = (columns[t, c] if c < count else values[t]) - levels[own, c]
            levels[own, c] += gain * innovations[c]
        for c in range(count + 1):
            if innovations[c] != 0.0:
                scaled = innovations[c] * weight
                for d in range(c + 1):
                    products[c, d] += scaled * innovations[d]
        variance[own] = variance[own] * weight
        log_det += np.log(spread)
    return log_det


def _kalman_filter_arms(
    arms: np.ndarray, values: np.ndarray, gaps: np.ndarray, keep: float, size: float, products: np.ndarray
) -> float:
    """Filter a level of every arm: add up products of the innovations of a constant and of the values; return the log-determinant."""
    count = len(products)
    levels, variance, last = np.zeros((count, 2)), np.full(count, size), np.full(count, -1.0)
    now, log_det = 0.0, 0.0
    for t in range(len(values)):
        arm = arms[t]
        now += gaps[t]
        if last[arm] >= 0.0:
            decay = keep ** (now - last[arm])
            levels[arm, 0] *= decay
            levels[arm, 1] *= decay
            variance[arm] = decay * decay * variance[arm] + size * (1.0 - decay * decay)
        last[arm] = now
        spread = variance[arm] + 1.0
        gain = variance[arm] / spread
        constant, value = 1.0 - levels[arm, 0], values[t] - levels[arm, 1]
        levels[arm, 0] += gain * constant
        levels[arm, 1] += gain * value
        products[arm, 0] += constant * constant / spread
        products[arm, 1] += constant * value / spread
        products[arm, 2] += value * value / spread
        variance[arm] /= spread
        log_det += np.log(spread)
    return log_det


class LevelFit(NamedTuple):
    """A level that was fitted.

    Attributes
    ----------
    gain : log-likelihood beyond that of a log in which nothing changes
    num_params : how many numbers were fitted beyond the arms' means and the noise
    time : rounds after which the level has changed
    size : its standard deviation in units of the noise
    """

    gain: float
    num_params: int
    time: float
    size: float


def one_hot(series: Series) -> np.ndarray:
    """Return a column per arm, 1 where it was played."""
    return np.asarray(np.eye(series.width)[series.arms])


def fit_common_level(series: Series) -> LevelFit:
    """Return the best level that all arms share."""
    design, which = one_hot(series), np.zeros(series.rows, np.int64)
    around, bare = series.subtract(series.centres[series.arms]), np.zeros((series.rows, 0))

    def roughly(time: float, size: float) -> float:  # with the arms' means as they are
        return fit_weights(around, bare, which, time, size)[0]

    def log_lik(time: float, size: float) -> float:
        return fit_weights(series, design, which, time, size)[0]

    near = _best(series, roughly)
    # from there a few steps are enough: each takes time proportional to the square of the number of arms
    return _best(series, log_lik, near, POLISH if series.width <= MANY else 1)


def fit_weights(
    series: Series, design: np.ndarray, which: np.ndarray, time: float, size: float
) -> tuple[float, np.ndarray]:
    """Return the log-likelihood of a level, or of one for every arm (`which`), and the weights of all columns, which are fitted along."""
    wide = design.shape[1]
    levels, products = np.zeros((int(which.max()) + 1, wide + 1)), np.zeros((wide + 1, wide + 1))
    args = (design, series.values, series.gaps, which, float(np.exp(-1 / time)), size, levels, products)
    log_det = fast(_kalman_filter)(*args)
    gram = np.tril(products) + np.tril(products, -1).T
    cross = gram[:wide, wide]
    weights = np.linalg.lstsq(gram[:wide, :wide], cross, rcond=None)[0]
    log_lik = profile_log_lik(series.rows, float(gram[wide, wide] - cross @ weights)) - 0.5 * float(log_det)
    return log_lik, np.asarray(weights)


def _kalman_innovations(
    values: np.ndarray,
    gaps: np.ndarray,
    which: np.ndarray,
    keep: float,
    size: float,
    levels: np.ndarray,
    innovations: np.ndarray,
) -> None:
    """Write what is new in every value, given those before it, in units of its deviation; `levels`, all zeros, is work space."""
    variance, last = np.full(len(levels), size), np.full(len(levels), -1.0)
    now = 0.0
    for t in range(len(values)):
        own = which[t]
        now += gaps[t]
        decay = keep ** (now - last[own]) if last[own] >= 0.0 else 1.0
        variance[own] = decay * decay * variance[own] + size * (1.0 - decay * decay)
        levels[own] *= decay
        last[own] = now
        spread = variance[own] + 1.0
        residual = values[t] - levels[own]
        levels[own] += variance[own] / spread * residual
        variance[own] /= spread
        innovations[t] = residual / np.sqrt(spread)


def innovations(series: Series, level: LevelFit, own: bool) -> Series:
    """Return what is new in every row, given a level that was fitted: independent normal numbers if the level is all there is."""
    which = series.arms if own else np.zeros(series.rows, np.int64)
    weights = fit_weights(series, one_hot(series), which, level.time, level.size**2)[1]
    values = np.empty(series.rows)
    keep, room = float(np.exp(-1 / level.time)), np.zeros(series.width)
    fast(_kalman_innovations)(
        series.values - weights[series.arms], series.gaps, which, keep, level.size**2, room, values
    )
    return series._replace(values=values)


def refit_with_columns(series: Series, level: LevelFit, columns: np.ndarray, own: bool) -> LevelFit:
    """Return a level with columns that are fitted jointly with it, at its speed and size: what both could explain is not lost."""
    design = np.hstack([one_hot(series), columns])
    which = series.arms if own else np.zeros(series.rows, np.int64)
    gain = fit_weights(series, design, which, level.time, level.size**2)[0] - normal_constant_log_lik(series)
    return level._replace(gain=gain, num_params=level.num_params + columns.shape[1])


def fit_arm_levels(series: Series) -> LevelFit:
    """Return the best levels of all arms, each its own path, with one speed and one size."""

    def log_lik(time: float, size: float) -> float:
        products = np.zeros((series.width, 3))
        keep = float(np.exp(-1 / time))
        log_det = fast(_kalman_filter_arms)(series.arms, series.values, series.gaps, keep, size, products)
        ones, cross, squares = products.T
        rest = squares - np.where(ones > 0, cross * cross / np.maximum(ones, 1e-300), 0.0)
        return profile_log_lik(series.rows, float(rest.sum())) - 0.5 * float(log_det)

    return _best(series, log_lik)


def _best(
    series: Series,
    log_lik: Callable[[float, float], float],
    near: LevelFit | None = None,
    evaluations: int = EVALUATIONS,
) -> LevelFit:
    """Return the best speed and size of a level: a grid, then the best of it to the end; or from one that is near."""

    def loss(point: np.ndarray) -> float:
        time, size = np.exp(np.clip(point, (-2.0, -12.0), (16.0, 14.0)))
        return -log_lik(float(time), float(size))

    if near is not None:
        starts = [(float(np.log(near.time)), 2 * float(np.log(near.size)))]
    else:
        grid = [(np.log(time), np.log(size)) for time in TIMES if time < 10 * series.rows for size in SIZES]
        starts = sorted(grid, key=lambda point: loss(np.array(point)))[:BEGINNINGS]
    ends = [
        minimize(
            loss,
            np.array(point),
            method="Nelder-Mead",
            options={"maxfev": evaluations, "fatol": 0.05, "xatol": 0.01},
        )
        for point in starts
    ]
    best = min(ends, key=lambda end: float(end.fun))
    time, size = np.exp(np.clip(best.x, (-2.0, -12.0), (16.0, 14.0)))
    constant = normal_constant_log_lik(series)
    return LevelFit(-float(best.fun) - constant, 1 if size > PURE else 2, float(time), float(np.sqrt(size)))


def normal_constant_log_lik(series: Series) -> float:
    """Return the log-likelihood if nothing changes, of normal rewards even where they are 0 and 1."""
    if not series.binary:
        return constant_log_lik(series)
    return profile_log_lik(series.rows, float(((series.values - series.centres[series.arms]) ** 2).sum()))

"""Levels that wander: rivals of regimes. One level for all arms is autocorrelated noise; one for every arm, drift.

A level is an Ornstein-Uhlenbeck process: after g rounds a share phi^g of it is left. With noise on top it is a random walk that comes
back, at any speed; without noise it is an exact AR(1) process. The arms' means are fitted jointly (generalised least squares by the
innovations of a Kalman filter), so that the likelihood is the best one for the speed and the size of the level. Of rewards of 0 and 1 it
is the log-odds that wander, and every reward is predicted from those before: rare clicks that coincide prove nothing.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from latentbandits.compiled import fast
from latentbandits.logs.em import constant_log_lik, penalise, profile_log_lik
from latentbandits.logs.hypothesis import Kind
from latentbandits.logs.series import Series
from latentbandits.logs.worlds import FittedDrift, FittedWorld

AUTOCORRELATION, DRIFT = "autocorrelation", "drift"

# Where the search begins: rounds after which a level has changed, and its variance in units of the noise's
TIMES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 1e5)
SIZES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 30.0, 1e3, 1e5)
BEGINNINGS, EVALUATIONS = 3, 80
CLICK_TIMES, CLICK_SIZES = (10.0, 100.0, 1e3, 1e4), (1e-4, 1e-3, 0.01, 0.1)  # the same for rewards of 0 and 1
POLISH, MANY = 30, 20  # evaluations at the end, for logs with no more arms than this
PURE = 1e3  # times the noise: a level that leaves none, which need not be counted as fitted


def _kalman_filter(
    series: Series, columns: np.ndarray, which: np.ndarray, keep: float, size: float
) -> tuple[float, np.ndarray]:
    """Filter levels: return the log-determinant, and products of the innovations of all columns and of the values, below the diagonal.

    `which` is the number of every row's level: 0 for one level of all arms, the arm for a level of every arm.
    """
    values, gaps = series.values, series.gaps
    rows, count = columns.shape
    levels, products = np.zeros((which.max() + 1, count + 1)), np.zeros((count + 1, count + 1))
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
    return log_det, products


def _filter_levels(series: Series, which: np.ndarray, keep: float, size: float) -> tuple[float, np.ndarray, np.ndarray]:
    """Filter levels: return the log-determinant, products of the innovations of a constant and of the values, per level, and the latter.

    The innovations of the values are in units of their deviation.
    """
    values, gaps, count = series.values, series.gaps, len(series.noise)
    products, innovations = np.zeros((count, 3)), np.empty(len(values))
    levels, variance, last = np.zeros((count, 2)), np.full(count, size), np.full(count, -1.0)
    now, log_det = 0.0, 0.0
    for t in range(len(values)):
        own = which[t]
        now += gaps[t]
        if last[own] >= 0.0:
            decay = keep ** (now - last[own])
            levels[own, 0] *= decay
            levels[own, 1] *= decay
            variance[own] = decay * decay * variance[own] + size * (1.0 - decay * decay)
        last[own] = now
        spread = variance[own] + 1.0
        gain = variance[own] / spread
        constant, value = 1.0 - levels[own, 0], values[t] - levels[own, 1]
        levels[own, 0] += gain * constant
        levels[own, 1] += gain * value
        products[own, 0] += constant * constant / spread
        products[own, 1] += constant * value / spread
        products[own, 2] += value * value / spread
        variance[own] /= spread
        log_det += np.log(spread)
        innovations[t] = value / np.sqrt(spread)
    return log_det, products, innovations


def _filter_clicks(
    series: Series, shares: np.ndarray, centres: np.ndarray, which: np.ndarray, keep: float, prior: float
) -> float:
    """Return the log-likelihood of rewards of 0 and 1 whose log-odds wander, each predicted from those before it.

    `shares` are the chances of the rows if nothing changes. Of constant ones this is a beta distribution that forgets: `prior` rewards of
    the arm's own chance, and those before, of which a share `keep` is left after a round.
    """
    values, gaps = series.values, series.gaps
    seen, last = np.zeros((which.max() + 1, 4)), np.zeros(which.max() + 1)
    now, total = 0.0, 0.0
    for t in range(len(values)):
        own, share, value = which[t], shares[t], values[t]
        now += gaps[t]
        if now > last[own]:
            decay = keep ** (now - last[own])
            for i in range(4):
                seen[own, i] *= decay
            last[own] = now
        hits, misses = prior * centres[own], prior * (1.0 - centres[own])
        ratio = (seen[own, 0] + hits) / (seen[own, 1] + hits) * (seen[own, 3] + misses) / (seen[own, 2] + misses)
        chance = share * ratio / (1.0 - share + share * ratio)
        total += np.log(chance) if value > 0.5 else np.log(1.0 - chance)
        seen[own, 0] += value
        seen[own, 1] += share
        seen[own, 2] += 1.0 - value
        seen[own, 3] += 1.0 - share
    return float(total)


class LevelFit(NamedTuple):
    """A level that was fitted, see `latentbandits.logs.hypothesis.Fit`.

    Attributes
    ----------
    gain : log-likelihood beyond that of a log in which nothing changes
    num_params : how many numbers were fitted beyond the arms' means and the noise
    time : rounds after which the level has changed
    size : its standard deviation in units of the noise
    own : whether every arm has a level of its own
    """

    gain: float
    num_params: int
    time: float
    size: float
    own: bool = False

    def which(self, series: Series) -> np.ndarray:
        """Return the number of every row's level."""
        return series.arms if self.own else np.zeros(series.rows, np.int64)

    def world(self, series: Series, still: FittedWorld) -> FittedWorld:
        """Return a world that drifts; a level of all arms never changes which is best."""
        if not self.own:
            return still
        # the noise that is left when the level is taken out of the spread
        noise = series.spreads * series.noise / np.sqrt(1 + self.size**2)
        centres = series.centres * series.noise
        return FittedDrift(noise=noise, binary=series.binary, centres=centres, sizes=noise * self.size, time=self.time)


def _fit_clicks(series: Series, own: bool) -> LevelFit:
    """Return the best level of the log-odds of rewards of 0 and 1, of all arms or of every arm."""
    shares, which = series.shares, series.arms if own else np.zeros(series.rows, np.int64)
    tried = np.bincount(which)
    centres = np.clip(np.bincount(which, shares) / np.maximum(tried, 1), 1e-6, 1 - 1e-6)

    def log_lik(time: float, size: float) -> float:
        return float(fast(_filter_clicks)(series, shares, centres, which, float(np.exp(-1 / time)), 1 / size))

    return _best(series, log_lik, times=CLICK_TIMES, sizes=CLICK_SIZES)._replace(own=own)


def fit_common_level(series: Series) -> LevelFit:
    """Return the best level that all arms share."""
    if series.binary:
        return _fit_clicks(series, own=False)
    design, which = series.one_hot, np.zeros(series.rows, np.int64)
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
    log_det, products = fast(_kalman_filter)(series, design, which, float(np.exp(-1 / time)), size)
    gram = np.tril(products) + np.tril(products, -1).T
    cross = gram[:wide, wide]
    weights = np.linalg.lstsq(gram[:wide, :wide], cross, rcond=None)[0]
    log_lik = profile_log_lik(series.rows, float(gram[wide, wide] - cross @ weights)) - 0.5 * float(log_det)
    return log_lik, np.asarray(weights)


def innovations(series: Series, level: LevelFit) -> Series:
    """Return what is new in every row, given a level that was fitted: independent normal numbers if the level is all there is."""
    which, size = level.which(series), level.size**2
    weights = fit_weights(series, series.one_hot, which, level.time, size)[1]
    around = series.subtract(weights[series.arms])
    return series._replace(values=fast(_filter_levels)(around, which, float(np.exp(-1 / level.time)), size)[2])


def gain_with_columns(series: Series, level: LevelFit, columns: np.ndarray) -> float:
    """Return the gain of a level with columns fitted jointly with it, at its speed and size: what both could explain is not lost."""
    design = np.hstack([series.one_hot, columns])
    log_lik, _ = fit_weights(series, design, level.which(series), level.time, level.size**2)
    return log_lik - constant_log_lik(series)


def fit_arm_levels(series: Series) -> LevelFit:
    """Return the best levels of all arms, each its own path, with one speed and one size."""

    def log_lik(time: float, size: float) -> float:
        log_det, products, _ = fast(_filter_levels)(series, series.arms, float(np.exp(-1 / time)), size)
        ones, cross, squares = products.T
        rest = squares - np.where(ones > 0, cross * cross / np.maximum(ones, 1e-300), 0.0)
        return profile_log_lik(series.rows, float(rest.sum())) - 0.5 * float(log_det)

    return _best(series, log_lik)._replace(own=True)


def fit_trend(series: Series) -> tuple[float, int]:
    """Return the gain of the best trend, straight or bent, of every arm its own, and how many numbers it has."""
    time = np.linspace(-1, 1, series.rows)
    candidates = []
    for degree in (1, 2):
        squares = 0.0
        for arm in range(series.width):
            own = series.arms == arm
            if own.sum() > degree + 1:
                powers = np.vander(time[own], degree + 1)
                residuals = series.values[own] - powers @ np.linalg.lstsq(powers, series.values[own], rcond=None)[0]
                squares += float((residuals**2).sum())
        gain = profile_log_lik(series.rows, squares) - constant_log_lik(series)
        candidates.append((gain, degree * series.width))
    return max(candidates, key=lambda candidate: penalise(series, *candidate))


def fit_drift(series: Series) -> LevelFit:
    """Return the better of levels of all arms and of a trend of every arm."""
    if series.binary:
        return _fit_clicks(series, own=True)
    own, (bent, num_params) = fit_arm_levels(series), fit_trend(series)
    better = penalise(series, bent, num_params) > penalise(series, own.gain, own.num_params)
    return own._replace(gain=bent, num_params=num_params) if better else own


def _best(
    series: Series,
    log_lik: Callable[[float, float], float],
    near: LevelFit | None = None,
    evaluations: int = EVALUATIONS,
    times: Sequence[float] = TIMES,
    sizes: Sequence[float] = SIZES,
) -> LevelFit:
    """Return the best speed and size of a level: a grid, then the best of it to the end; or from one that is near."""

    def loss(point: np.ndarray) -> float:
        time, size = np.exp(np.clip(point, (-2.0, -12.0), (16.0, 14.0)))
        return -log_lik(float(time), float(size))

    if near is not None:
        starts = [(float(np.log(near.time)), 2 * float(np.log(near.size)))]
    else:
        grid = [(np.log(time), np.log(size)) for time in times if time < 10 * series.rows for size in sizes]
        starts = sorted(grid, key=lambda point: loss(np.array(point)))[:BEGINNINGS]
    ends = [
        minimize(
            loss, np.array(at), method="Nelder-Mead", options={"maxfev": evaluations, "fatol": 0.05, "xatol": 0.01}
        )
        for at in starts
    ]
    best = min(ends, key=lambda end: float(end.fun))
    time, size = np.exp(np.clip(best.x, (-2.0, -12.0), (16.0, 14.0)))
    gain = -float(best.fun) - constant_log_lik(series)
    return LevelFit(gain, 1 if size > PURE else 2, float(time), float(np.sqrt(size)))


KINDS = (
    Kind(
        AUTOCORRELATION,
        "autocorrelated noise, all arms alike",
        "Rewards are autocorrelated, in the same way for all arms; no regimes are needed",
        fit_common_level,
        binary=True,
    ),
    Kind(
        DRIFT,
        "drift, every arm its own",
        "The arms drift, each its own way; no regimes are needed",
        fit_drift,
        binary=True,
    ),
)

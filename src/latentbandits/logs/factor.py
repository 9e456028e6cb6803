"""One level that wanders and that every arm follows by a factor of its own, its loading: a rival of regimes.

Fitted by expectation and maximisation around a Kalman smoother; a negative loading is an arm that goes the other way.
"""

from typing import NamedTuple

import numpy as np

from latentbandits.compiled import fast
from latentbandits.logs.em import constant_log_lik
from latentbandits.logs.hypothesis import Kind
from latentbandits.logs.series import Series
from latentbandits.logs.worlds import FittedDrift, FittedWorld

FACTOR = "factor"
TIMES = (10.0, 50.0, 250.0, 1500.0)  # rounds after which the level has changed
STEPS, TOLERANCE = 30, 0.1
ALIKE = (
    0.2  # spread of the loadings over their mean, in the unit of rewards, below which they are one level of all arms
)


def _smooth(
    series: Series,
    centres: np.ndarray,
    loadings: np.ndarray,
    noise: float,
    keep: float,
    mean: np.ndarray,
    variance: np.ndarray,
) -> float:
    """Write the mean and the variance of the level, of variance 1, in every row, given all rows; return the log-likelihood."""
    values, arms, gaps = series.values, series.arms, series.gaps
    rows, total = len(values), 0.0
    now, spread = 0.0, 1.0
    for t in range(rows):
        decay = keep ** gaps[t] if t > 0 else 0.0
        now *= decay
        spread = decay * decay * spread + 1.0 - decay * decay
        load = loadings[arms[t]]
        off, around = values[t] - centres[arms[t]] - load * now, load * load * spread + noise
        total -= 0.5 * (np.log(2.0 * np.pi * around) + off * off / around)
        gain = load * spread / around
        now += gain * off
        spread *= noise / around
        mean[t], variance[t] = now, spread
    for t in range(rows - 2, -1, -1):
        decay = keep ** gaps[t + 1]
        ahead = decay * decay * variance[t] + 1.0 - decay * decay
        back = decay * variance[t] / ahead
        mean[t] += back * (mean[t + 1] - decay * mean[t])
        variance[t] += back * back * (variance[t + 1] - ahead)
    return float(total)


class FactorFit(NamedTuple):
    """A level with loadings, see `latentbandits.logs.hypothesis.Fit`.

    Attributes
    ----------
    gain : log-likelihood beyond that of a log in which nothing changes
    num_params : how many numbers were fitted beyond those of such a log
    time : rounds after which the level has changed
    loadings : array (arms,), in units of the values
    noise : standard deviation of rewards around the level
    """

    gain: float
    num_params: int
    time: float
    loadings: np.ndarray
    noise: float

    def world(self, series: Series, still: FittedWorld) -> FittedWorld:  # noqa: ARG002
        """Return a world whose arms drift as far and as fast, though each by itself."""
        centres, sizes = series.centres * series.noise, np.abs(self.loadings) * series.noise
        noise = series.noise * self.noise
        return FittedDrift(noise=noise, binary=series.binary, centres=centres, sizes=sizes, time=self.time)


def fit_factor(series: Series) -> FactorFit:
    """Return the best level and loadings; none for rewards of 0 and 1, of which a normal likelihood would see too much."""
    if series.binary:
        return FactorFit(0.0, series.width + 1, 1.0, np.zeros(series.width), 1.0)
    mean, variance = np.empty(series.rows), np.empty(series.rows)
    tried, fits = np.maximum(series.tried, 1), []
    for time in TIMES:
        centres, spread = series.centres, float((series.values - series.centres[series.arms]).var())
        loadings, noise, last = np.full(series.width, np.sqrt(0.5 * spread)), 0.5 * spread, -np.inf
        keep = float(np.exp(-1 / time))
        for _ in range(STEPS):
            log_lik = float(fast(_smooth)(series, centres, loadings, noise, keep, mean, variance))
            fits.append(FactorFit(log_lik, series.width + 1, time, loadings, float(np.sqrt(noise))))
            if log_lik < last + TOLERANCE:
                break
            last = log_lik

            def total(rows: np.ndarray) -> np.ndarray:
                return np.asarray(np.bincount(series.arms, rows, minlength=series.width) / tried)

            first, second = total(mean), total(mean**2 + variance)
            value, both = total(series.values), total(series.values * mean)
            loadings = (both - first * value) / np.maximum(second - first**2, 1e-9)
            centres = value - loadings * first
            off = series.values - centres[series.arms] - loadings[series.arms] * mean
            noise = max(float((off**2 + loadings[series.arms] ** 2 * variance).mean()), 1e-9 * spread)
    best = max(fits, key=lambda fit: fit.gain)
    moved = best.loadings * series.noise
    if moved.std() < ALIKE * abs(moved.mean()):
        return best._replace(
            gain=0.0
        )  # all arms alike, but for the noise that rewards were divided by: autocorrelation
    return best._replace(gain=best.gain - constant_log_lik(series))


KIND = Kind(
    FACTOR,
    "one level that moves the arms unequally",
    "One level moves all arms, each by a factor of its own; no regimes are needed",
    fit_factor,
    binary=True,
)

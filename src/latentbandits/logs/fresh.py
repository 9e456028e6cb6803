"""Levels that are drawn anew, again and again, and never return: a rival of regimes. Sessions, batches and days are such.

At a change a level is drawn from a distribution: one for all arms, or one for every arm. How long ago the last change was is filtered
exactly (Adams & MacKay 2007, Fearnhead & Liu 2007), but for runs of the least weight: the likelihood is that of all ways to cut the log,
so that no cut and no level is paid for by itself.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from latentbandits.compiled import fast
from latentbandits.logs.em import constant_log_lik
from latentbandits.logs.hypothesis import Kind
from latentbandits.logs.series import Series
from latentbandits.logs.worlds import FittedChanges, FittedWorld

SHARED, FRESH = "jumps", "fresh"
RUNS = 24  # beginnings of the present stretch that are kept
TIMES, SIZES = (15.0, 50.0, 150.0, 500.0, 2000.0), (0.3, 1.0, 3.0)  # where the search begins
EVALUATIONS = 45
LEAST = (np.log(3.0), np.log(1e-5), np.log(1e-4))  # of time, size and noise
MOST = (np.log(1e6), np.log(100.0), np.log(1e4))


def _filter_runs(
    series: Series, means: np.ndarray, own: bool, runs: int, time: float, size: float, noise: float
) -> float:
    """Return the log-likelihood of levels that change with a probability of 1 / time per round.

    `means` are those of the rows if nothing changes, `size` and `noise` variances, of levels around them and of rewards around levels. Of
    rewards of 0 and 1, levels shift the log-odds: those of an arm have a beta distribution, of variance m (1 - m) size / (1 + size).
    """
    values, arms, gaps = series.values, series.arms, series.gaps
    width = len(series.noise) if own else 1
    weights, counts, sums = np.zeros(runs), np.zeros((runs, width)), np.zeros((runs, width))
    expected = np.zeros((runs, width))
    weights[0], live, total = 1.0, 1, 0.0
    prior = 1.0 / size
    for t in range(len(values)):
        place, mean = (arms[t] if own else 0), means[t]
        value = values[t] - (0.0 if series.binary else mean)
        change = 0.0
        if t > 0 and gaps[t] > 0.0:
            change = 1.0 / time if gaps[t] == 1.0 else 1.0 - (1.0 - 1.0 / time) ** gaps[t]
        if change > 0.0:
            slot = live
            if live < runs:
                live += 1
            else:
                slot = 0
                for r in range(1, runs):
                    if weights[r] < weights[slot]:
                        slot = r
            for r in range(live):
                weights[r] *= 1.0 - change
            weights[slot] = change
            for k in range(width):
                counts[slot, k] = sums[slot, k] = expected[slot, k] = 0.0
        density = 0.0
        for r in range(live):
            n, s = counts[r, place], sums[r, place]
            if series.binary:
                e, hits, misses = expected[r, place], prior * mean, prior * (1.0 - mean)
                odds = mean / (1.0 - mean) * (s + hits) / (e + hits) * (n - e + misses) / (n - s + misses)
                weights[r] *= (odds if value > 0.5 else 1.0) / (1.0 + odds)
                expected[r, place] += mean
            else:
                variance = noise + size * noise / (n * size + noise)
                off = value - s * size / (n * size + noise)
                weights[r] *= np.exp(-0.5 * off * off / variance) / np.sqrt(2.0 * np.pi * variance)
            counts[r, place] += 1.0
            sums[r, place] += value
            density += weights[r]
        if density < 1e-290:  # beyond all: as if it were the farthest that a number can say
            density = 1e-290
            for r in range(live):
                weights[r] = density / live
        total += np.log(density)
        for r in range(live):
            weights[r] /= density
    return float(total)


class FreshFit(NamedTuple):
    """Levels that were fitted, see `latentbandits.logs.hypothesis.Fit`.

    Attributes
    ----------
    gain : log-likelihood beyond that of a log in which nothing changes
    num_params : how many numbers were fitted beyond those of such a log
    time : rounds that a level lasts
    size, noise : standard deviations of levels, and of rewards around them
    own : whether every arm has levels of its own
    """

    gain: float
    num_params: int
    time: float
    size: float
    noise: float
    own: bool

    def world(self, series: Series, still: FittedWorld) -> FittedWorld:
        """Return a world whose levels jump; those of all arms together never change which is best."""
        if not self.own:
            return still
        centres = series.centres
        sizes = np.full(series.width, self.size)
        if series.binary:
            sizes = np.sqrt(centres * (1 - centres) * self.size**2 / (1 + self.size**2))
        return FittedChanges(
            noise=np.ones(series.width) if series.binary else series.noise * self.noise,
            binary=series.binary,
            centres=centres * series.noise,
            sizes=sizes * series.noise,
            time=self.time,
        )


def _fit(own: bool) -> Callable[[Series], FreshFit]:
    """Return the fit of levels of all arms together, or of every arm."""

    def fit(series: Series) -> FreshFit:
        means = np.clip(series.shares, 1e-6, 1 - 1e-6) if series.binary else series.centres[series.arms]
        spread = float(((series.values - means) ** 2).mean())

        def loss(point: np.ndarray) -> float:
            time, size, noise = (float(number) for number in np.exp(np.clip(point, LEAST, MOST)))
            unit = 1.0 if series.binary else noise * spread
            return -float(fast(_filter_runs)(series, means, own, RUNS, time, size * unit, unit))

        def begin(time: float, size: float) -> np.ndarray:
            return np.log([time, size, 1 / (1 + size)])

        starts = [begin(time, size) for time in TIMES if time < series.rows / 2 for size in SIZES]
        if series.binary:
            starts = [begin(time, size) for time in TIMES for size in (0.003, 0.03, 0.3)]
        start = min(starts, key=loss)
        simplex = start + 0.4 * np.eye(4, 3)
        end = minimize(
            loss,
            start,
            method="Nelder-Mead",
            options={"maxfev": EVALUATIONS, "fatol": 0.1, "xatol": 0.02, "initial_simplex": simplex},
        )
        time, size, noise = np.exp(np.clip(end.x, LEAST, MOST))
        unit = 1.0 if series.binary else noise * spread
        gain = -float(end.fun) - constant_log_lik(series)
        return FreshFit(gain, 2, float(time), float(np.sqrt(size * unit)), float(np.sqrt(unit)), own)

    return fit


KINDS = (
    Kind(
        SHARED,
        "jumps of all arms together that never return",
        "All arms jump together, to levels that do not return (sessions, batches, days); no regimes are needed",
        _fit(own=False),
        binary=True,
    ),
    Kind(
        FRESH,
        "jumps to levels that are always new",
        "It jumps again and again, to levels that are always new; no states return",
        _fit(own=True),
        binary=True,
    ),
)

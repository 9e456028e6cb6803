"""Five plain forecasters of the next value of a series; each uses the past alone."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

FITTED = 30  # seasons of the past that the autoregression is fitted to, again once a season
LEAST = 10  # seasons that pass before the first forecast counts
AVERAGED, EXTRAPOLATED = 6, 3  # values that the moving average and the trend are made of


class Series(NamedTuple):
    """A series with equal steps, NaN where a value is missing."""

    times: np.ndarray
    values: np.ndarray


def filled(series: np.ndarray) -> np.ndarray:
    """Return a series with each missing value replaced by the last one known: what a forecaster has at hand.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.data.forecasters import filled
    >>> filled(np.array([3.0, np.nan, np.nan, 5.0])).tolist()
    [3.0, 3.0, 3.0, 5.0]
    """
    last = np.maximum.accumulate(np.where(np.isnan(series), 0, np.arange(len(series))))
    repeated: np.ndarray = series[last]
    return repeated


def persistence(past: np.ndarray, season: int) -> np.ndarray:  # noqa: ARG001
    """Forecast the last value."""
    return _lagged(past, 1)


def seasonal(past: np.ndarray, season: int) -> np.ndarray:
    """Forecast the value of one season ago."""
    return _lagged(past, season)


def average(past: np.ndarray, season: int) -> np.ndarray:  # noqa: ARG001
    """Forecast the mean of the last values."""
    average: np.ndarray = np.mean([_lagged(past, lag) for lag in range(1, AVERAGED + 1)], axis=0)
    return average


def trend(past: np.ndarray, season: int) -> np.ndarray:  # noqa: ARG001
    """Continue the straight line through the last values (least squares)."""
    ages = np.arange(1, EXTRAPOLATED + 1)
    around = ages - ages.mean()
    weights = 1 / EXTRAPOLATED - ages.mean() * around / (around**2).sum()
    weighted: np.ndarray = sum(weight * _lagged(past, int(lag)) for lag, weight in zip(ages, weights, strict=True))
    return weighted


def autoregression(past: np.ndarray, season: int) -> np.ndarray:
    """Forecast by a regression on the last two values, that of one season ago and the one before it, fitted to the past alone."""
    lags = [_lagged(past, lag) for lag in (1, 2, season, season + 1)]
    features = np.stack([np.ones(len(past)), *lags], axis=1)
    forecasts = np.full(len(past), np.nan)
    for now in range(4 * season, len(past), season):
        rows = slice(max(season + 1, now - FITTED * season), now)
        centre = past[rows].mean()  # differences to it, so that no offset spoils the fit
        inputs = features[rows] - np.append(0.0, np.full(4, centre))
        fit = np.linalg.lstsq(inputs, past[rows] - centre, rcond=None)[0]
        ahead = features[now : now + season] - np.append(0.0, np.full(4, centre))
        forecasts[now : now + season] = centre + ahead @ fit
    return forecasts


FORECASTERS: Mapping[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "persistence": persistence,
    "seasonal naive": seasonal,
    "moving average": average,
    "trend": trend,
    "autoregression": autoregression,
}


def errors(series: np.ndarray, season: int) -> np.ndarray:
    """Return the absolute error of each forecaster of each value: an array (values, forecasters), NaN where there is none.

    A row depends on the values up to its own alone. The first seasons have no forecasts, and a missing value has no error.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.data.forecasters import errors
    >>> waves = np.sin(np.arange(96) * np.pi / 2)
    >>> errors(waves, 4)[-1].round(6).tolist()
    [1.0, 0.0, 1.166667, 1.333333, 0.0]
    """
    past = filled(series)
    forecasts = np.stack([forecast(past, season) for forecast in FORECASTERS.values()], axis=1)
    forecasts[: LEAST * season] = np.nan
    misses: np.ndarray = np.abs(forecasts - series[:, None])
    return misses


def scores(series: Series, season: int) -> Series:
    """Return minus the errors of all forecasters (rounds, forecasters) at the times at which all have one.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.data.forecasters import Series, scores
    >>> found = scores(Series(np.arange(96), np.sin(np.arange(96) * np.pi / 2)), 4)
    >>> found.times[0], found.values.shape
    (np.int64(40), (56, 5))
    """
    misses = errors(series.values, season)
    rounds = ~np.isnan(misses).any(axis=1)
    return Series(series.times[rounds], -misses[rounds])


def _lagged(past: np.ndarray, lag: int) -> np.ndarray:
    """Return the values of some rounds before, NaN where there are none."""
    shifted = np.full(len(past), np.nan)
    shifted[lag:] = past[:-lag]
    return shifted

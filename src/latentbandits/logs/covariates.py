"""What columns of context explain: taken out of the rewards before regimes are looked for."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from latentbandits.logs.em import normal_likelihood
from latentbandits.logs.regression import logistic, share
from latentbandits.logs.series import Series


class Covariate(NamedTuple):
    """What one column explains.

    Attributes
    ----------
    name : the column
    per_arm : whether it acts on every arm in its own way
    share : of the variance around the arms' means that it explains, after those before it
    used : whether that is more than chance, so that it was taken out
    """

    name: str
    per_arm: bool
    share: float
    used: bool


class Regression(NamedTuple):
    """Columns and what they explain: the weights, the log-likelihood, and the squares that are left."""

    columns: np.ndarray
    weights: np.ndarray
    likelihood: float
    left: float


def taken_out(series: Series, context: Mapping[str, np.ndarray]) -> tuple[np.ndarray, list[Covariate]]:
    """Return what the columns of context add to every row, and what each explains; one column after the other.

    They add to values, by least squares, or to the log-odds of rewards of 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.logs.covariates import taken_out
    >>> from latentbandits.logs.series import Series
    >>> random = np.random.default_rng(0)
    >>> seen, other = random.normal(size=(2, 1000))
    >>> series = Series.of(random.integers(2, size=1000), random.normal(size=1000) + seen, np.ones(1000), 2)
    >>> _, found = taken_out(series, {"age": seen, "shoe": other})
    >>> [(one.name, one.used, one.per_arm) for one in found]
    [('age', True, False), ('shoe', False, False)]
    """
    rows, arms = series.rows, np.eye(series.width)[series.arms]
    best, found = regression(series, arms), []
    usual = best.left
    for name, column in context.items():
        centred = (column - column.mean()) / (column.std() or 1.0)
        common = regression(series, np.column_stack([best.columns, centred]), best.weights)
        own = regression(series, np.column_stack([best.columns, arms * centred[:, None]]), best.weights)
        scores = [
            one.likelihood - best.likelihood - 0.5 * numbers * np.log(rows)
            for one, numbers in ((common, 1), (own, series.width))
        ]
        per_arm = bool(scores[1] > scores[0])
        better = own if per_arm else common
        used = bool(max(scores) > 0 and column.std() > 0)
        found.append(Covariate(name, per_arm and used, float((best.left - better.left) / usual), used))
        best = better if used else best
    offsets = best.columns[:, series.width :] @ best.weights[series.width :]
    return np.asarray(offsets - offsets.mean() if len(offsets) else offsets), found


def regression(series: Series, columns: np.ndarray, near: np.ndarray | None = None) -> Regression:
    """Return the regression of the rewards on columns; the weights of the first ones may be known nearly."""
    values = series.values
    if not series.binary:
        weights = np.linalg.lstsq(columns.T @ columns, columns.T @ values, rcond=None)[0]
        left = float(((values - columns @ weights) ** 2).sum())
        return Regression(columns, weights, normal_likelihood(series.rows, left), left)

    def expected(odds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        chance = share(odds)
        return chance, chance * (1 - chance)

    begin = None if near is None else np.concatenate([near, np.zeros(columns.shape[1] - len(near))])
    weights = logistic(columns, values, expected, begin)
    chance = share(columns @ weights)
    likelihood = float(np.log(np.where(values > 0.5, chance, 1 - chance)).sum())
    return Regression(columns, weights, likelihood, float(((values - chance) ** 2).sum()))

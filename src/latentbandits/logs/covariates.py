"""What columns of context explain: taken out of the rewards before regimes are looked for."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from latentbandits.logs.em import normal_likelihood
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


def taken_out(series: Series, context: Mapping[str, np.ndarray]) -> tuple[np.ndarray, list[Covariate]]:
    """Return what the columns of context add to every row, and what each explains; by least squares, one column after the other.

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
    design, found = arms, []
    usual = left = _left(design, series.values)
    for name, column in context.items():
        centred = (column - column.mean()) / (column.std() or 1.0)
        common, own = np.column_stack([design, centred]), np.column_stack([design, arms * centred[:, None]])
        gains = []
        for columns, numbers in ((common, 1), (own, series.width)):
            rest = _left(columns, series.values)
            score = normal_likelihood(rows, rest) - normal_likelihood(rows, left) - 0.5 * numbers * np.log(rows)
            gains.append((score, rest, columns))
        best = max(range(2), key=lambda one: gains[one][0])
        score, rest, columns = gains[best]
        used = bool(score > 0 and column.std() > 0)
        found.append(Covariate(name, best == 1 and used, float((left - gains[best][1]) / usual), used))
        if used:
            design, left = columns, rest
    if design.shape[1] == series.width:
        return np.zeros(rows), found
    weights = np.linalg.lstsq(design, series.values, rcond=None)[0]
    offsets = design[:, series.width :] @ weights[series.width :]
    return np.asarray(offsets - offsets.mean()), found


def _left(design: np.ndarray, values: np.ndarray) -> float:
    """Return the squares that least squares leave, by the normal equations."""
    cross = design.T @ values
    return float(values @ values - cross @ np.linalg.lstsq(design.T @ design, cross, rcond=None)[0])

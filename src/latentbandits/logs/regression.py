"""Regressions of rewards on columns (least squares, or logistic for rewards of 0 and 1), and what columns of context explain by them."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from latentbandits.logs.em import profile_log_lik
from latentbandits.logs.series import Series

STEPS, LONGEST, TOLERANCE = 25, 3.0, 1e-8
PRIOR = 0.01  # keeps weights finite where all rewards are alike


def expit(logits: np.ndarray) -> np.ndarray:
    """Return the probability of log-odds; that of SciPy has other last digits."""
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))))


def least_squares(columns: np.ndarray, tried: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return the weights for means of some rows each, by the normal equations."""
    weighted = columns * tried[:, None]
    return np.asarray(np.linalg.lstsq(weighted.T @ columns, weighted.T @ means, rcond=None)[0])


def logistic(
    columns: np.ndarray,
    sums: np.ndarray,
    expected: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    begin: np.ndarray | None = None,
) -> np.ndarray:
    """Return the weights of a logistic regression of cells, by Newton's method.

    `sums` are those of the rewards in every cell; `expected` takes the log-odds of all cells and returns what these sums are expected to
    be, and their variances; `begin` holds weights to begin with.
    """
    weights = np.zeros(columns.shape[1]) if begin is None else begin.copy()
    for _ in range(STEPS):
        means, variances = expected(columns @ weights)
        gradient = columns.T @ (sums - means) - PRIOR * weights
        information = (columns * variances[:, None]).T @ columns + PRIOR * np.eye(len(weights))
        step = np.linalg.solve(information, gradient)
        weights = weights + np.clip(step, -LONGEST, LONGEST)
        if np.abs(step).max() < TOLERANCE:
            break
    return weights


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
    log_lik: float
    squares_left: float


def fit_covariates(series: Series, context: Mapping[str, np.ndarray]) -> tuple[np.ndarray, list[Covariate]]:
    """Return what the columns of context add to every row, and what each explains; one column after the other.

    They add to values, by least squares, or to the log-odds of rewards of 0 and 1.
    """
    rows, arms = series.rows, np.eye(series.width)[series.arms]
    best, covariates = regress(series, arms), []
    squares_of_arms = best.squares_left
    for name, column in context.items():
        centred = (column - column.mean()) / (column.std() or 1.0)
        common = regress(series, np.column_stack([best.columns, centred]), best.weights)
        own = regress(series, np.column_stack([best.columns, arms * centred[:, None]]), best.weights)
        scores = [
            fitted.log_lik - best.log_lik - 0.5 * num_params * np.log(rows)
            for fitted, num_params in ((common, 1), (own, series.width))
        ]
        per_arm = bool(scores[1] > scores[0])
        better = own if per_arm else common
        used = bool(max(scores) > 0 and column.std() > 0)
        covariates.append(
            Covariate(name, per_arm and used, float((best.squares_left - better.squares_left) / squares_of_arms), used)
        )
        best = better if used else best
    offsets = best.columns[:, series.width :] @ best.weights[series.width :]
    return np.asarray(offsets - offsets.mean() if len(offsets) else offsets), covariates


def regress(series: Series, columns: np.ndarray, near: np.ndarray | None = None) -> Regression:
    """Return the regression of the rewards on columns; the weights of the first ones may be known nearly."""
    values = series.values
    if not series.binary:
        weights = np.linalg.lstsq(columns.T @ columns, columns.T @ values, rcond=None)[0]
        squares_left = float(((values - columns @ weights) ** 2).sum())
        return Regression(columns, weights, profile_log_lik(series.rows, squares_left), squares_left)

    def expected(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        chance = expit(logits)
        return chance, chance * (1 - chance)

    begin = None if near is None else np.concatenate([near, np.zeros(columns.shape[1] - len(near))])
    weights = logistic(columns, values, expected, begin)
    chance = expit(columns @ weights)
    log_lik = float(np.log(np.where(values > 0.5, chance, 1 - chance)).sum())
    return Regression(columns, weights, log_lik, float(((values - chance) ** 2).sum()))

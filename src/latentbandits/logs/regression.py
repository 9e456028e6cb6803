"""Regressions on columns: least squares for rewards that are normal, log-odds for those of 0 and 1."""

from collections.abc import Callable

import numpy as np

STEPS, LONGEST, TOLERANCE = 25, 3.0, 1e-8
PRIOR = 0.01  # keeps weights finite where all rewards are alike


def expit(logits: np.ndarray) -> np.ndarray:
    """Return the probability of log-odds."""
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
    """Return the weights of a logistic regression, by Newton's method.

    Parameters
    ----------
    columns : array (cells, columns)
    sums : array (cells,)
        Of the rewards in every cell.
    expected : callable
        Takes the log-odds of all cells, returns the expected sums of their rewards, and the variances of these.
    begin : array (columns,), optional
        Weights to begin with.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.logs.regression import logistic, expit
    >>> tried, sums = np.array([100.0, 100.0]), np.array([50.0, 80.0])
    >>> weights = logistic(np.eye(2), sums, lambda logits: (tried * expit(logits), tried * expit(logits) * (1 - expit(logits))))
    >>> expit(weights).round(2).tolist()
    [0.5, 0.8]
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

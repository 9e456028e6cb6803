"""Ridge regression per arm by rank-one updates, in a form that cannot lose its sign.

The inverse of ``regularization * I + sum of w x x'`` is kept as ``U D U'`` with U unit upper triangular and D a positive diagonal
(Bierman 1976, the UD filter). Each update multiplies every element of D by a ratio of two positive sums, so the inverse stays positive
definite at any scale of the features and however collinear they are: no refresh, no second matrix, and half of the work of
Sherman and Morrison's formula. ``factor[arm, j, i]`` holds column j of U for i < j, and D on the diagonal.
"""

from typing import Any, TypeVar

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.protocols import corner

Memory = TypeVar("Memory", bound=Any)  # with the fields `factor` and `coefficients`


@kernel
def reset(factor: np.ndarray, regularization: float) -> None:
    """Make every arm's inverse that of an empty regression."""
    for arm in range(factor.shape[0]):
        for j in range(factor.shape[1]):
            factor[arm, j, j] = 1.0 / regularization


@kernel
def predict(factor: np.ndarray, coefficients: np.ndarray, arm: int, features: np.ndarray) -> tuple[float, float]:
    """Return an arm's expected reward at the features, and the variance of that estimate (per unit of noise variance)."""
    mean = 0.0
    variance = 0.0
    for j in range(features.shape[0]):
        f = features[j]
        mean += coefficients[arm, j] * f
        for i in range(j):
            f += factor[arm, j, i] * features[i]
        variance += f * f * factor[arm, j, j]
    return mean, variance


@kernel
def update(
    factor: np.ndarray,
    coefficients: np.ndarray,
    gain: np.ndarray,
    arm: int,
    features: np.ndarray,
    weight: float,
    reward: float,
) -> tuple[float, float]:
    """Learn one reward (or the mean of `weight` rewards) at the features.

    Returns the residual and the variance of the estimate at the same features *after* the update, which follow in closed form.
    `gain` is scratch space of the features' length.
    """
    mean = 0.0
    total = 1.0 / weight
    inverse = weight
    for j in range(features.shape[0]):
        f = features[j]
        mean += coefficients[arm, j] * f
        for i in range(j):
            f += factor[arm, j, i] * features[i]
        if f == 0.0:  # nothing to learn about this direction
            gain[j] = 0.0
            continue
        g = f * factor[arm, j, j]
        step = -f * inverse
        before = total
        total = before + f * g
        inverse = 1.0 / total
        factor[arm, j, j] *= before * inverse
        for i in range(j):
            u = factor[arm, j, i]
            factor[arm, j, i] = u + step * gain[i]
            gain[i] += g * u
        gain[j] = g
    residual = reward - mean
    move = residual * inverse
    for j in range(features.shape[0]):
        coefficients[arm, j] += gain[j] * move
    left = inverse / weight
    return residual * left, (total - 1.0 / weight) * left


def enlarge(fresh: Memory, memory: Memory, at: np.ndarray) -> Memory:
    """Return a fresh memory of one arm more with all that a memory has learned; the features of that one go to the places `at`."""
    rows, factor, coefficients = np.arange(len(memory.factor)), fresh.factor.copy(), fresh.coefficients.copy()
    factor[np.ix_(rows, at, at)] = memory.factor
    coefficients[np.ix_(rows, at)] = memory.coefficients
    made: Memory = corner(fresh, memory)._replace(factor=factor, coefficients=coefficients)
    return made

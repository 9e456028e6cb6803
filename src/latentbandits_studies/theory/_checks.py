"""What the closed forms accept: each check returns the clean value or refuses it in one sentence."""

import numpy as np
from numpy.typing import ArrayLike

from latentbandits.settings import Above, AtLeast, InvalidValueError, Vector, Within, array, check_range

POSITIVE, AMOUNT, PROBABILITY = Above(0), AtLeast(0), Within(0, 1)


def means_matrix(owner: str, means: ArrayLike) -> np.ndarray:
    """Return the mean rewards (states, arms)."""
    made = array(owner, "means", means, Vector(2))
    if made.size == 0:
        raise InvalidValueError(
            owner, "means", f"of shape {made.shape}", "shape (states, arms) with at least one of each"
        )
    return made


def chain_matrix(owner: str, transition: ArrayLike, states: int | None = None) -> np.ndarray:
    """Return the transition matrix, of as many states as there must be (any number if None)."""
    made = array(owner, "transition", transition, Vector(2))
    count = len(made) if states is None else states
    if made.size == 0 or made.shape != (count, count):
        wanted = "square, one row and column per state" if states is None else f"shape ({count}, {count})"
        raise InvalidValueError(owner, "transition", f"of shape {made.shape}", wanted)
    for row, values in enumerate(made):
        _check_sum(owner, f"transition[{row}]", values)
    return made


def world(owner: str, means: ArrayLike, transition: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean rewards and the transition matrix of a world."""
    matrix = means_matrix(owner, means)
    return matrix, chain_matrix(owner, transition, len(matrix))


def distribution(owner: str, field: str, weights: ArrayLike | None, count: int) -> np.ndarray:
    """Return `count` probabilities that sum to one; equal ones if there are none."""
    if weights is None:
        return np.full(count, 1.0 / count)
    made = array(owner, field, weights, Vector(1))
    if made.shape != (count,):
        raise InvalidValueError(owner, field, f"of shape {made.shape}", f"shape ({count},)")
    _check_sum(owner, field, made)
    return made


def _check_sum(owner: str, field: str, values: np.ndarray) -> None:
    if (values < 0).any() or abs(values.sum() - 1) > 1e-9:
        raise InvalidValueError(owner, field, values.tolist(), "probabilities that sum to one")


def probe_set(owner: str, arms: ArrayLike | None, count: int) -> np.ndarray:
    """Return the arms of a probe in order, all of them if None; at least one, each at most once."""
    if arms is None:
        return np.arange(count)
    made = array(owner, "arms", arms, Vector(1, whole=True))
    if made.size == 0 or made.min() < 0 or made.max() >= count or len(np.unique(made)) < len(made):
        raise InvalidValueError(owner, "arms", made.tolist(), f"at least one arm, each once and from 0 to {count - 1}")
    return made


def probabilities(owner: str, field: str, values: ArrayLike) -> np.ndarray:
    """Return an array (any length) of numbers from 0 to 1."""
    made = array(owner, field, values, Vector(1))
    if ((made < 0) | (made > 1)).any():
        raise InvalidValueError(owner, field, made.tolist(), "numbers from 0 to 1")
    return made


def deviation(owner: str, sigma: float) -> float:
    """Return a standard deviation above 0."""
    return check_range(owner, "sigma", sigma, POSITIVE)

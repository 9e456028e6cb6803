"""How often a summary names the wrong state: the paper's bounds, and exact errors where rewards are Gaussian.

`sigma` is always the standard deviation of one coordinate of what is observed. A group's reward in a world with two
groups has variance 2 sigma^2 (the paper's experiments), so its probes need ``sigma * 2**0.5`` here.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from latentbandits.settings import InvalidValueError, Vector, array, check_int
from latentbandits_studies.theory._checks import deviation, distribution, means_matrix, probe_set, world
from latentbandits_studies.theory.gaps import (
    arm_separations,
    joint_separation,
    prediction_error,
    stationary,
    switch_rate,
    window_change,
    window_change_bound,
)

_REACH, _PER_SIGMA = 9, 32  # quadrature in panels of sigma/32 within 9 sigma of a mean; beyond lies less than 1e-18


class Estimate(NamedTuple):
    """A Monte Carlo mean and its standard error."""

    value: float
    standard_error: float


def _tail(separation: float, sigma: float) -> float:
    """Return exp(-separation^2 / (8 sigma^2)), a bound on the chance that noise carries a reward past the midpoint."""
    ratio = float(separation) / sigma
    return math.exp(-ratio * ratio / 8)


def synchronous_bound(means: ArrayLike, sigma: float, arms: ArrayLike | None = None, *, clip: bool = True) -> float:
    """Return the bound (S - 1) exp(-Gamma_B^2 / (8 sigma^2)) on the error of a fingerprint taken in one round.

    It needs noise that is sub-Gaussian with `sigma`, not just of that variance. With Gaussian noise half of it
    is a bound too.

    Parameters
    ----------
    means : array (states, arms)
        Mean rewards.
    sigma : float
        Standard deviation of one coordinate of the fingerprint.
    arms : sequence of int, optional
        The arms that the probe plays (B); all by default.
    clip : bool
        Return at most 1.

    Examples
    --------
    >>> from latentbandits_studies.theory import synchronous_bound
    >>> table = [[0.4, 0.3], [0.4, 0.5], [0.6, 0.5], [0.6, 0.3]]
    >>> round(synchronous_bound(table, sigma=0.025), 6), synchronous_bound(table, sigma=0.025, arms=[0])
    (0.001006, 1.0)
    """
    matrix, sigma = means_matrix("synchronous_bound", means), deviation("synchronous_bound", sigma)
    separation = joint_separation(matrix, probe_set("synchronous_bound", arms, matrix.shape[1]))
    bound = (len(matrix) - 1) * _tail(separation, sigma)
    return min(1.0, bound) if clip else bound


def sequential_bound(
    means: ArrayLike,
    transition: ArrayLike,
    sigma: float,
    arms: ArrayLike | None = None,
    *,
    union: bool = False,
    clip: bool = True,
) -> float:
    """Return the bound omega_m + (S - 1) exp(-Gamma_B^2 / (8 sigma^2)) on the error of a fingerprint taken arm by arm.

    Parameters
    ----------
    means, transition : arrays (states, arms) and (states, states)
        Mean rewards, and the chain.
    sigma : float
        Standard deviation of one coordinate of the fingerprint.
    arms : sequence of int, optional
        The arms that the probe plays (B), m of them; all by default.
    union : bool
        Take (m - 1) q for omega_m, which holds from any state, not its exact value under the stationary distribution.
    clip : bool
        Return at most 1.

    Examples
    --------
    >>> from latentbandits_studies.theory import sequential_bound
    >>> round(sequential_bound([[0.0, 1.0], [1.0, 0.0]], [[0.9, 0.1], [0.1, 0.9]], sigma=0.1), 9)
    0.1
    """
    matrix, chain = world("sequential_bound", means, transition)
    sigma = deviation("sequential_bound", sigma)
    chosen = probe_set("sequential_bound", arms, matrix.shape[1])
    window = len(chosen)
    mismatch = window_change_bound(window, switch_rate(chain)) if union else window_change(chain, window)
    bound = mismatch + synchronous_bound(matrix, sigma, chosen, clip=False)
    return min(1.0, bound) if clip else bound


def lagged_bound(
    means: ArrayLike, transition: ArrayLike, sigma: float, plays: ArrayLike | None = None, *, clip: bool = True
) -> float:
    """Return the bound beta_1 + sum_a P(a) (S - 1) exp(-gamma_a^2 / (8 sigma^2)) on the error of the lagged pair.

    Parameters
    ----------
    means, transition : arrays (states, arms) and (states, states)
        Mean rewards, and the chain.
    sigma : float
        Standard deviation of the previous reward.
    plays : array (arms,), optional
        How often each arm was the previous one, P(a); equally often by default.
    clip : bool
        Return at most 1.

    Examples
    --------
    >>> from latentbandits_studies.theory import lagged_bound
    >>> round(lagged_bound([[0.0, 0.5], [1.0, 0.0]], [[0.9, 0.1], [0.1, 0.9]], sigma=0.1, plays=[0.5, 0.5]), 6)
    0.12197
    """
    matrix, chain = world("lagged_bound", means, transition)
    sigma = deviation("lagged_bound", sigma)
    shares = distribution("lagged_bound", "plays", plays, matrix.shape[1])
    tails = [_tail(separation, sigma) for separation in arm_separations(matrix)]
    bound = prediction_error(chain) + (len(matrix) - 1) * float(shares @ tails)
    return min(1.0, bound) if clip else bound


def pair_error(separation: float, sigma: float) -> float:
    """Return the exact error of naming the nearer of two states: the Gaussian tail beyond half of their separation.

    No decoder separates equally likely states better, in any number of arms.

    Examples
    --------
    >>> from latentbandits_studies.theory import pair_error
    >>> round(pair_error(separation=0.2, sigma=0.05), 6)
    0.02275
    """
    if not separation >= 0:
        raise InvalidValueError("pair_error", "separation", separation, "a number at least 0")
    return float(ndtr(-0.5 * float(separation) / deviation("pair_error", sigma)))


def _intervals(levels: np.ndarray, biases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the interval of rewards where each state scores highest; low < high only if there is one.

    A state's score is the line ``level * reward - level**2 / 2 + bias``: the intervals are the pieces of an upper
    envelope.
    """
    rise, lead = levels[:, None] - levels[None, :], biases[:, None] - biases[None, :]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        crossing = (levels[:, None] + levels[None, :]) / 2 - lead / rise
    low = np.where(rise > 0, crossing, -np.inf).max(axis=1)
    high = np.where(rise < 0, crossing, np.inf).min(axis=1)
    order = np.arange(len(levels))
    twin = (rise == 0) & ((lead < 0) | ((lead == 0) & (order[:, None] > order[None, :])))
    low[twin.any(axis=1)] = np.inf  # another state with the same line, or a higher one, wins everywhere
    return low, high


def _interval_error(levels: np.ndarray, biases: np.ndarray, sigma: float, weights: np.ndarray) -> float:
    low, high = _intervals(levels, biases)
    outside = ndtr((low - levels) / sigma) + ndtr((levels - high) / sigma)
    return min(1.0, float(weights @ np.where(low < high, outside, 1.0)))


def nearest_mean_error(levels: ArrayLike, sigma: float, weights: ArrayLike | None = None) -> float:
    """Return the exact error of naming the state whose mean is nearest to one Gaussian reward of one arm.

    Of states with equal means the first is named.

    Parameters
    ----------
    levels : array (states,)
        Mean reward of the arm in every state.
    sigma : float
        Standard deviation of the reward.
    weights : array (states,), optional
        How often each state occurs; equally often by default.

    Examples
    --------
    >>> from latentbandits_studies.theory import nearest_mean_error
    >>> round(nearest_mean_error([0.2, 0.4, 0.6], sigma=0.05), 6)
    0.030334
    >>> round(nearest_mean_error([0.4, 0.4], sigma=0.05, weights=[0.75, 0.25]), 6)
    0.25
    """
    marks = _levels("nearest_mean_error", levels)
    shares = distribution("nearest_mean_error", "weights", weights, len(marks))
    return _interval_error(marks, np.zeros(len(marks)), deviation("nearest_mean_error", sigma), shares)


def bayes_error(levels: ArrayLike, sigma: float, weights: ArrayLike | None = None) -> float:
    """Return the least possible error of naming the state from one Gaussian reward of one arm, exactly.

    Parameters
    ----------
    levels, sigma, weights
        As in `nearest_mean_error`.

    Examples
    --------
    >>> from latentbandits_studies.theory import bayes_error, nearest_mean_error
    >>> round(bayes_error([0.2, 0.4], 0.1, [0.9, 0.1]), 6), round(nearest_mean_error([0.2, 0.4], 0.1, [0.9, 0.1]), 6)
    (0.070061, 0.158655)
    """
    marks, sigma = _levels("bayes_error", levels), deviation("bayes_error", sigma)
    shares = distribution("bayes_error", "weights", weights, len(marks))
    marks, shares = marks[shares > 0], shares[shares > 0]
    return _interval_error(marks, sigma * sigma * np.log(shares), sigma, shares)


def _levels(owner: str, levels: ArrayLike) -> np.ndarray:
    made = array(owner, "levels", levels, Vector(1))
    if made.size == 0:
        raise InvalidValueError(owner, "levels", [], "the mean of at least one state")
    return made


def lagged_error(
    means: ArrayLike, transition: ArrayLike, sigma: float, plays: ArrayLike | None = None, *, bayes: bool = False
) -> float:
    """Return the exact error of naming the present state from the previous arm and its Gaussian reward.

    The chain is in its stationary distribution and the previous arm was chosen independently of the state.

    Parameters
    ----------
    means, transition : arrays (states, arms) and (states, states)
        Mean rewards, and the chain.
    sigma : float
        Standard deviation of the previous reward.
    plays : array (arms,), optional
        How often each arm was the previous one; equally often by default.
    bayes : bool
        The least possible error (e_t), by quadrature to about six digits, instead of that of the paper's decoder,
        which names the likeliest successor of the state whose mean is nearest.

    Examples
    --------
    >>> from latentbandits_studies.theory import lagged_bound, lagged_error
    >>> world = [[0.0, 0.5], [1.0, 0.0]], [[0.9, 0.1], [0.1, 0.9]], 0.25
    >>> [round(error, 3) for error in (lagged_error(*world, bayes=True), lagged_error(*world), lagged_bound(*world))]
    [0.173, 0.173, 0.471]
    """
    matrix, chain = world("lagged_error", means, transition)
    sigma = deviation("lagged_error", sigma)
    shares = distribution("lagged_error", "plays", plays, matrix.shape[1])
    now = stationary(chain)
    part = _lagged_bayes if bayes else _lagged_nearest
    return float(shares @ [part(matrix[:, arm], sigma, now, chain) for arm in range(len(shares))])


def _lagged_nearest(levels: np.ndarray, sigma: float, weights: np.ndarray, chain: np.ndarray) -> float:
    low, high = _intervals(levels, np.zeros(len(levels)))
    named = ndtr((high - levels[:, None]) / sigma) - ndtr((low - levels[:, None]) / sigma)
    wrong = 1.0 - chain[:, chain.argmax(axis=1)]  # of predicting the successor of the column's state in the row's
    return float(weights @ (np.where(low < high, named, 0.0) * wrong).sum(axis=1))


def _lagged_bayes(levels: np.ndarray, sigma: float, weights: np.ndarray, chain: np.ndarray) -> float:
    marks = levels / sigma
    near = np.arange(-_REACH * _PER_SIGMA, _REACH * _PER_SIGMA + 1)
    panels = np.unique(np.floor(marks[:, None] * _PER_SIGMA) + near)
    knots, share = np.polynomial.legendre.leggauss(4)
    rewards = (panels[:, None] + (knots + 1) / 2) / _PER_SIGMA
    density = np.exp(-((rewards[..., None] - marks) ** 2) / 2) / math.sqrt(2 * math.pi)
    joint = (density * weights) @ chain
    missed = joint.sum(axis=-1) - joint.max(axis=-1)
    return float((missed @ (share / 2)).sum() / _PER_SIGMA)


def nearest_centroid_error(
    means: ArrayLike, sigma: float, weights: ArrayLike | None, draws: int, generator: np.random.Generator
) -> Estimate:
    """Estimate by Monte Carlo the error of naming the state whose fingerprint is nearest to a Gaussian one.

    Of states with equal fingerprints the first is named. The standard error is that of a frequency, so it is 0 if no
    draw, or every one, was wrong.

    Parameters
    ----------
    means : array (states, arms)
        Mean rewards of the probed arms.
    sigma : float
        Standard deviation of one coordinate of the fingerprint.
    weights : array (states,), optional
        How often each state occurs; equally often if None.
    draws : int
        Number of fingerprints.
    generator : numpy.random.Generator
        Where they come from.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.theory import nearest_centroid_error, pair_error
    >>> found = nearest_centroid_error([[0.0, 0.4], [0.3, 0.0]], 0.25, None, 10_000, np.random.default_rng(0))
    >>> abs(found.value - pair_error(0.5, 0.25)) < 4 * found.standard_error
    True
    """
    matrix, sigma = means_matrix("nearest_centroid_error", means), deviation("nearest_centroid_error", sigma)
    shares = distribution("nearest_centroid_error", "weights", weights, len(matrix))
    draws = check_int("nearest_centroid_error", "draws", draws, least=1)
    wrong = 0
    for first in range(0, draws, 8192):  # in pieces, so that memory does not grow with the number of draws
        states = generator.choice(len(matrix), size=min(8192, draws - first), p=shares)
        prints = matrix[states] + sigma * generator.standard_normal((len(states), matrix.shape[1]))
        distances = np.zeros((len(states), len(matrix)))
        for arm in range(matrix.shape[1]):
            distances += (prints[:, arm, None] - matrix[:, arm]) ** 2
        wrong += int((distances.argmin(axis=1) != states).sum())
    value = wrong / draws
    return Estimate(value, math.sqrt(value * (1 - value) / draws))

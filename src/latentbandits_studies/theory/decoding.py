"""How often a summary names the wrong state: the paper's bounds, and exact errors where rewards are Gaussian.

`sigma` is always the standard deviation of one coordinate of what is observed. A group's reward in a world with two
groups has variance 2 sigma^2 (the paper's experiments), so its probes need ``sigma * 2**0.5`` here. The bounds need noise
that is sub-Gaussian with `sigma`, not just of that variance.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from latentbandits_studies.theory.gaps import as_means, as_world, joint_separation, stationary, window_change

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

    With Gaussian noise half of it is a bound too.

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
    bound = (len(as_means(means)) - 1) * _tail(joint_separation(means, arms), sigma)
    return min(1.0, bound) if clip else bound


def sequential_bound(means: ArrayLike, transition: ArrayLike, sigma: float) -> float:
    """Return the bound omega_m + (S - 1) exp(-Gamma_B^2 / (8 sigma^2)) on the error of a fingerprint taken arm by arm.

    Parameters
    ----------
    means, transition : arrays (states, arms) and (states, states)
        Mean rewards, and the chain.
    sigma : float
        Standard deviation of one coordinate of the fingerprint.

    Examples
    --------
    >>> from latentbandits_studies.theory import sequential_bound
    >>> round(sequential_bound([[0.0, 1.0], [1.0, 0.0]], [[0.9, 0.1], [0.1, 0.9]], sigma=0.1), 9)
    0.1
    """
    matrix, chain = as_world(means, transition)
    return min(1.0, window_change(chain, matrix.shape[1]) + synchronous_bound(matrix, sigma, clip=False))


def lagged_bound(means: ArrayLike, transition: ArrayLike, sigma: float) -> float:
    """Return the bound beta_1 + mean_a (S - 1) exp(-gamma_a^2 / (8 sigma^2)) on the error of the lagged pair.

    beta_1 is how often the likeliest next state is wrong, at the worst present state, and gamma_a the smallest distance of
    two states on one arm; each arm is the previous one equally often.

    Parameters
    ----------
    means, transition : arrays (states, arms) and (states, states)
        Mean rewards, and the chain.
    sigma : float
        Standard deviation of the previous reward.

    Examples
    --------
    >>> from latentbandits_studies.theory import lagged_bound
    >>> round(lagged_bound([[0.0, 0.5], [1.0, 0.0]], [[0.9, 0.1], [0.1, 0.9]], sigma=0.1), 6)
    0.12197
    """
    matrix, chain = as_world(means, transition)
    arms = matrix.shape[1]
    tails = [_tail(joint_separation(matrix, [arm]), sigma) for arm in range(arms)]
    missed = float(1.0 - chain.max(axis=1).min())
    return min(1.0, missed + (len(matrix) - 1) * float(np.full(arms, 1.0 / arms) @ tails))


def _intervals(levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the interval of rewards to which each mean is the nearest; low < high only if there is one."""
    rise = levels[:, None] - levels[None, :]
    middle = (levels[:, None] + levels[None, :]) / 2
    low = np.where(rise > 0, middle, -np.inf).max(axis=1)
    high = np.where(rise < 0, middle, np.inf).min(axis=1)
    order = np.arange(len(levels))
    low[((rise == 0) & (order[:, None] > order[None, :])).any(axis=1)] = np.inf  # of equal means the first is named
    return low, high


def bayes_error(levels: ArrayLike, sigma: float) -> float:
    """Return the least possible error of naming the state from one Gaussian reward of one arm, exactly.

    All states are equally likely, so that the best rule names the one whose mean is nearest.

    Parameters
    ----------
    levels : array (states,)
        Mean reward of the arm in every state.
    sigma : float
        Standard deviation of the reward.

    Examples
    --------
    >>> from latentbandits_studies.theory import bayes_error
    >>> round(bayes_error([0.2, 0.4, 0.6], sigma=0.05), 6)
    0.030334
    """
    marks = np.asarray(levels, float)
    low, high = _intervals(marks)
    outside = ndtr((low - marks) / sigma) + ndtr((marks - high) / sigma)
    return min(1.0, float(np.full(len(marks), 1.0 / len(marks)) @ np.where(low < high, outside, 1.0)))


def lagged_error(means: ArrayLike, transition: ArrayLike, sigma: float, *, bayes: bool = False) -> float:
    """Return the exact error of naming the present state from the previous arm and its Gaussian reward.

    The chain is in its stationary distribution and the previous arm was any, equally often.

    Parameters
    ----------
    means, transition : arrays (states, arms) and (states, states)
        Mean rewards, and the chain.
    sigma : float
        Standard deviation of the previous reward.
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
    matrix, chain = as_world(means, transition)
    now, arms = stationary(chain), matrix.shape[1]
    part = _lagged_bayes if bayes else _lagged_nearest
    return float(np.full(arms, 1.0 / arms) @ [part(matrix[:, arm], sigma, now, chain) for arm in range(arms)])


def _lagged_nearest(levels: np.ndarray, sigma: float, weights: np.ndarray, chain: np.ndarray) -> float:
    low, high = _intervals(levels)
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
    >>> from latentbandits_studies.theory import nearest_centroid_error
    >>> found = nearest_centroid_error([[0.0, 0.4], [0.3, 0.0]], 0.25, None, 10_000, np.random.default_rng(0))
    >>> round(found.value, 2), round(found.standard_error, 3)  # a normal tail beyond one standard deviation
    (0.16, 0.004)
    """
    matrix = as_means(means)
    shares = np.full(len(matrix), 1.0 / len(matrix)) if weights is None else np.asarray(weights)
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


def sequential_error(
    means: ArrayLike, transition: ArrayLike, sigma: float, draws: int, generator: np.random.Generator
) -> Estimate:
    """Estimate by Monte Carlo the error of naming the state in which a probe of one arm after the other ends, by the nearest fingerprint.

    The chain starts in its stationary distribution and moves on between the arms.

    Parameters
    ----------
    means, transition : arrays (states, arms) and (states, states)
        Mean rewards of the probed arms, and the chain.
    sigma : float
        Standard deviation of one coordinate of the fingerprint.
    draws : int
        Number of fingerprints.
    generator : numpy.random.Generator
        Where they come from.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.theory import sequential_error
    >>> still, fast = ([[stay, 1 - stay], [1 - stay, stay]] for stay in (0.99, 0.5))
    >>> world = [[0.0, 0.4], [0.3, 0.0]]
    >>> [round(sequential_error(world, chain, 0.05, 10_000, np.random.default_rng(0)).value, 2) for chain in (still, fast)]
    [0.0, 0.04]
    """
    matrix, chain = as_world(means, transition)
    state = generator.choice(len(matrix), size=draws, p=stationary(chain))
    seen = np.empty((draws, matrix.shape[1]))
    for arm in range(matrix.shape[1]):
        if arm > 0:
            state = (generator.random(draws)[:, None] > np.cumsum(chain, axis=1)[state]).sum(axis=1)
        seen[:, arm] = matrix[state, arm] + sigma * generator.standard_normal(draws)
    named = ((seen[:, None, :] - matrix[None, :, :]) ** 2).sum(axis=2).argmin(axis=1)
    value = float((named != state).mean())
    return Estimate(value, math.sqrt(value * (1 - value) / draws))

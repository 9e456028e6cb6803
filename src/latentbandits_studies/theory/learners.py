"""What learning costs at most, at any horizon: a table of known states, and a fixed schedule whose probes name the state.

These bounds are not the paper's, which bounds no learner. Both are about tables, one mean per state and arm, and both
hold because what is sampled, or when, does not depend on errors that were made before. `sigma` is the standard
deviation of one reward, or the constant of sub-Gaussian noise.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from latentbandits.settings import AtLeast, check_range
from latentbandits_studies.theory.decoding import synchronous_bound
from latentbandits_studies.theory.gaps import as_world, drift_probability, optimal_arms, state_gaps, stationary


def matched_exploration(
    states: int,
    arms: int,
    horizon: int,
    sigma: float,
    risk: float | None = None,
    regularization: float = 0.1,
    largest_mean: float = 1.0,
) -> float:
    """Return the least exploration (alpha) for which `matched_bound` holds: sqrt(lambda M^2 + 2 sigma^2 log(S K T / delta)).

    A ridge regression on a one-hot state is a table: after n rewards of an arm in a state, their sum over n + lambda is
    its estimate and alpha / sqrt(n + lambda) its width. With probability 1 - delta no estimate of a best arm is ever too
    low, and none of another arm too high, by more than its width. For with the mean of n rewards off by at most
    sigma sqrt(2 L / n), the estimate is off by at most (sigma sqrt(2 L) sqrt(n) + lambda M) / (n + lambda), which by
    Cauchy and Schwarz is at most sqrt(2 L sigma^2 + lambda M^2) / sqrt(n + lambda); and there are S K tables, n up to T,
    and one side of each that matters, so that L = log(S K T / delta) will do.

    Parameters
    ----------
    states, arms, horizon : int
        Their numbers (S, K) and the rounds (T).
    sigma : float
        Standard deviation of a reward.
    risk : float, optional
        Probability of estimates that are off by more (delta); 1 / T by default.
    regularization : float
        Ridge penalty (lambda).
    largest_mean : float
        No mean reward is farther from 0 than this (M).

    Examples
    --------
    >>> from latentbandits_studies.theory import matched_exploration
    >>> round(matched_exploration(states=4, arms=3, horizon=10_000, sigma=0.1), 3)
    0.72
    """
    chance = 1 / horizon if risk is None else risk
    level = math.log(states * arms * horizon / chance)
    return math.sqrt(regularization * largest_mean * largest_mean + 2 * sigma * sigma * level)


def matched_plays(means: ArrayLike, exploration: float, regularization: float = 0.1) -> np.ndarray:
    """Return how often each arm is played in each state at most while estimates keep within their widths.

    A worse arm is played only if its index is the highest: the best mean is at most the index of its arm, which is at
    most that of the worse one, and that is at most its mean and twice its width. So its gap Delta is at most
    2 alpha / sqrt(n + lambda), and it has n <= 4 alpha^2 / Delta^2 - lambda plays when it is played once more. Best arms
    have no limit.

    Parameters
    ----------
    means : array (states, arms)
        Mean rewards.
    exploration : float
        Width of the confidence bound (alpha), see `matched_exploration`.
    regularization : float
        Ridge penalty (lambda).

    Examples
    --------
    >>> from latentbandits_studies.theory import matched_plays
    >>> matched_plays([[0.75, 0.25], [0.25, 0.5]], exploration=0.5, regularization=0.25)
    array([[inf,  4.],
           [16., inf]])
    """
    gaps = state_gaps(means)
    with np.errstate(divide="ignore"):
        before = 4 * exploration * exploration / gaps**2 - regularization
    return np.where(gaps > 0, np.maximum(np.floor(before) + 1, 0.0), np.inf)


def matched_bound(
    means: ArrayLike,
    transition: ArrayLike,
    horizon: int,
    sigma: float,
    exploration: float | None = None,
    risk: float | None = None,
    regularization: float = 0.1,
) -> float:
    """Return a bound on the regret of a confidence-bound learner that sees the state, with one group.

    It is sum_s sum_a Delta_sa min(n_sa, pi_s T) + delta T Delta_max, with n_sa of `matched_plays`: an arm is played in a
    state no more often than that, or than the state is visited.

    Parameters
    ----------
    means : array (states, arms)
        Mean rewards.
    transition : array (states, states)
        The chain; it starts in its stationary distribution.
    horizon : int
        Rounds (T).
    sigma : float
        Standard deviation of a reward.
    exploration : float, optional
        Width of the confidence bound (alpha), at least that of `matched_exploration`, which is the default.
    risk : float, optional
        Probability that the bound on plays fails (delta); 1 / T by default.
    regularization : float
        Ridge penalty (lambda).

    Examples
    --------
    >>> from latentbandits_studies.theory import matched_bound
    >>> means, chain = [[0.75, 0.25], [0.25, 0.75]], [[0.98, 0.02], [0.02, 0.98]]
    >>> [round(matched_bound(means, chain, horizon, sigma=0.1), 1) for horizon in (10, 1_000, 100_000)]
    [3.5, 6.5, 9.5]
    """
    matrix, chain = as_world(means, transition)
    chance = 1 / horizon if risk is None else risk
    (count, arms), top = matrix.shape, float(np.abs(matrix).max())
    least = matched_exploration(count, arms, horizon, sigma, chance, regularization, top)
    width = least if exploration is None else check_range("matched_bound", "exploration", exploration, AtLeast(least))
    gaps, visits = state_gaps(matrix), stationary(chain) * horizon
    plays = np.minimum(matched_plays(matrix, width, regularization), visits[:, None])
    return float((gaps * plays).sum() + chance * horizon * gaps.max())


class Budget(NamedTuple):
    """A bound on the regret of a run, by what it is spent on.

    Attributes
    ----------
    probes : probing itself
    drift : best arms that change before the next probe
    decoding : a probe that names the wrong state, any time in the run
    learning : states with too few probes so far to name the best arm
    """

    probes: float
    drift: float
    decoding: float
    learning: float

    @property
    def total(self) -> float:
        """The bound."""
        return sum(self)


def decoded_bound(
    means: ArrayLike,
    transition: ArrayLike,
    sigma: float,
    interval: int,
    horizon: int,
    arms: ArrayLike | None = None,
) -> Budget:
    """Return a bound on the regret of probing every `interval` rounds, decoding the state and playing its best arm so far.

    A probe plays all arms in one round (a group each), names the state whose known fingerprint is nearest, and adds one
    reward of every arm to the averages of that state; until the next probe the arm with the best average is played. There are
    M = ceil(T / tau) probes. All are decoded correctly except with probability M (S - 1) exp(-Gamma_B^2 / (8 sigma^2)), and
    then every round of reuse is lost (`decoding`). Else the n-th probe of state s is followed by a worse arm a with
    probability exp(-n Delta_sa^2 / (4 sigma^2)) at most, and playing it costs (P^j Delta)_sa in the j-th round after
    (`learning`): since noise and schedule are independent of the chain, the errors of the averages are too. The sum over n
    is geometric, and concave in the number of probes of s, so the expected number pi_s M suffices. What is left is
    Theorem 1's: the probes themselves, and Delta_max nu_j in the j-th round after each (`drift`); the schedule is fixed, so
    nu_j is the plain `drift_probability`.

    Parameters
    ----------
    means : array (states, arms)
        Mean rewards.
    transition : array (states, states)
        The chain; it starts in its stationary distribution.
    sigma : float
        Standard deviation of one group's reward: where K groups share a round, sqrt(K) times the noise of the world.
    interval : int
        Rounds from one probe to the next (tau).
    horizon : int
        Rounds (T).
    arms : sequence of int, optional
        The arms whose rewards name the state (B); all by default.

    Examples
    --------
    >>> from latentbandits_studies.theory import decoded_bound
    >>> means, chain = [[0.75, 0.25], [0.25, 0.75]], [[0.98, 0.02], [0.02, 0.98]]
    >>> found = decoded_bound(means, chain, sigma=0.05, interval=8, horizon=8_000)
    >>> [round(part, 2) for part in found], round(found.total / 8_000, 3)
    ([250.0, 258.68, 0.0, 0.0], 0.064)
    >>> decoded_bound(means, chain, sigma=0.15, interval=8, horizon=8_000).total > 0.5 * 8_000  # says nothing
    True
    """
    matrix, chain = as_world(means, transition)
    tau = min(interval, horizon)
    gaps, best, visited = state_gaps(matrix), optimal_arms(matrix), stationary(chain)
    probes = -(-horizon // tau)
    reuse, later = np.zeros(gaps.shape), gaps
    for _ in range(tau - 1):
        later = chain @ later
        reuse += later  # of playing an arm from one probe to the next
    moved = sum(drift_probability(matrix, chain, lag) for lag in range(1, tau))
    wrong = np.ones(gaps.shape, bool)
    wrong[np.arange(len(matrix)), best] = False
    slips = _geometric((gaps / (2 * sigma)) ** 2, visited[:, None] * probes)
    lost = min(1.0, probes * synchronous_bound(matrix, sigma, arms, clip=False))
    return Budget(
        probes=float(probes * visited @ gaps.mean(axis=1)),
        drift=float(gaps.max() * probes * moved),
        decoding=float(lost * gaps.max() * probes * (tau - 1)),
        learning=float((reuse * slips)[wrong].sum()),
    )


def _geometric(rate: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Return the sum of exp(-rate n) over n = 1, ..., terms; of terms that are no whole number, what is in between."""
    safe = np.where(rate > 0, rate, 1.0)
    return np.where(rate > 0, np.exp(-safe) * np.expm1(-safe * terms) / np.expm1(-safe), terms)

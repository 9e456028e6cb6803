"""What learning costs at most, at any horizon: a table of known states, and schedules, fixed or gated, whose probes name the state.

These bounds are not the paper's, which bounds no learner. All are about tables, one mean per state and arm, and all
hold because what is sampled in a probe does not depend on errors that were made before. `sigma` is the standard
deviation of one reward, or the constant of sub-Gaussian noise.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from latentbandits.settings import Above, AtLeast, check_int, check_range
from latentbandits_studies.theory.decoding import synchronous_bound
from latentbandits_studies.theory.gaps import (
    as_world,
    drift_probability,
    optimal_arms,
    state_gaps,
    stationary,
    switch_rate,
)


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


def gated_bound(
    means: ArrayLike,
    transition: ArrayLike,
    sigma: float,
    surprise: float,
    cap: int,
    horizon: int,
    arms: ArrayLike | None = None,
    probes: float | None = None,
) -> Budget:
    """Return a bound on the regret of probing when a residual gate opens, or at the latest after `cap` rounds.

    The policy is that of `decoded_bound`, with gates: until the next probe every group plays the arm a with the best average
    of the decoded state s, and when the mean of their K rewards is `surprise` (theta) or more from that average, the next round is
    a probe. Rewards are linear in the indicator of the state, so that the model of the gate is right. Four things can happen to an
    episode of at most H rounds, a probe and its reuse.

    A probe is decoded wrongly with probability eps = (S - 1) exp(-Gamma_B^2 / (8 sigma^2)) at most, given all before it. From the first
    one that is, every round is lost (`decoding`), so that all others may be taken to be right.

    The n-th probe of s leaves the averages of s out of order with probability sum_a exp(-n Delta_sa^2 / (4 sigma^2)) at most; then its
    reuse is lost, H - 1 rounds. It leaves that of the best arm off by eta or more with probability 2 exp(-n eta^2 / (2 sigma^2)); then
    the gate may be blind, and the rounds after a change of the best arm are lost, q* H (H - 1) / 2 at most. What is sampled in a probe
    is independent of all before it, so that it does not matter when gates ask for it. Both sums over n are geometric (`learning`).

    Else rounds are lost only while the state has another best arm than s. From a state with the best arm of s such a one follows
    with probability q* = max nu_1 at most. In each lost round the gate stays closed with probability beta at most, the chance that a
    normal reward with standard deviation sigma / sqrt(K) is within theta + eta of the wrong mean, in the worst pair of states:
    mu_s,a* and mu_s',a*. Noise is independent from round to round, so that an episode with a lost round has
    D = 1 + beta + ... + beta^(H - 2) of them at most, on average: `drift` is Delta_max q* T D. Where no pair is too similar, D is near 1,
    whatever the cap; where the arm in use pays the same in two states that differ in their best arm, beta is near 1 and D is H - 1.

    Last, the number of probes: T / H end by their age; in rounds of the state that was decoded the gate opens with probability
    alpha = 2 Phi(-(theta - eta) sqrt(K) / sigma) at most; no more episodes see a change of state than q T; and `learning` counts the
    rest. Each probe costs its worst state's mean gap. All this holds for every eta below theta; the best of a grid is taken.

    Parameters
    ----------
    means, transition, sigma, horizon, arms
        As in `decoded_bound`.
    surprise : float
        How far a reward may be from the average before the gate opens (theta).
    cap : int
        The age at which a probe is renewed in any case (H).
    probes : float, optional
        Expected number of probes, if it is known (from simulation, say); by default the bound above. With it the bound also covers
        policies that have further gates: these can only end episodes earlier.

    Examples
    --------
    With a gate a long cap costs little, where a fixed schedule of that interval loses a third of the gap of 0.5 between the arms:

    >>> from latentbandits_studies.theory import decoded_bound, gated_bound
    >>> means, chain = [[0.75, 0.25], [0.25, 0.75]], [[0.98, 0.02], [0.02, 0.98]]
    >>> gated = gated_bound(means, chain, sigma=0.05, surprise=0.2, cap=64, horizon=8_000)
    >>> round(gated.total / 8_000, 3), round(decoded_bound(means, chain, 0.05, 64, 8_000).total / 8_000, 3)
    (0.022, 0.163)
    """
    matrix, chain = as_world(means, transition)
    for name, value in (("sigma", sigma), ("surprise", surprise)):
        check_range("gated_bound", name, value, Above(0))
    if probes is not None:
        check_range("gated_bound", "probes", probes, AtLeast(0))
    horizon = check_int("gated_bound", "horizon", horizon, least=1)
    cap = min(check_int("gated_bound", "cap", cap, least=1), horizon)  # a longer one is never reached
    error = synchronous_bound(matrix, sigma, arms, clip=False)
    slacks = [surprise * share / 20 for share in range(1, 20)]
    budgets = [_gated_budget(matrix, chain, sigma, surprise, slack, cap, horizon, error, probes) for slack in slacks]
    return min(budgets, key=lambda budget: budget.total)


def _gated_budget(
    matrix: np.ndarray,
    chain: np.ndarray,
    sigma: float,
    surprise: float,
    slack: float,
    cap: int,
    horizon: int,
    error: float,
    probes: float | None,
) -> Budget:
    """Return the bound of `gated_bound` for one eta, the slack of the averages."""
    gaps, best, count = state_gaps(matrix), optimal_arms(matrix), len(matrix)
    top, spread = float(gaps.max()), sigma / math.sqrt(matrix.shape[1])
    leaves = drift_probability(matrix, chain, 1, worst=True)
    moved = (
        matrix[:, best].T - matrix[np.arange(count), best][:, None]
    )  # of the best arm of a row's state, in a column's
    reach = surprise + slack
    closed = ndtr((reach - moved) / spread) - ndtr((-reach - moved) / spread)
    miss = float(closed[best[:, None] != best[None, :]].max(initial=0.0))
    lost = float(sum(miss**n for n in range(cap - 1)))
    wrong = np.ones(gaps.shape, bool)
    wrong[np.arange(count), best] = False
    terms = np.full(1, float(horizon))
    order = float(_geometric((gaps[wrong] / (2 * sigma)) ** 2, terms).sum())
    blind = 2 * count * float(_geometric(np.array([(slack / sigma) ** 2 / 2]), terms)[0])
    alarm = 2 * float(ndtr((slack - surprise) / spread))
    most = 1 + horizon * (1 / cap + alarm + switch_rate(chain)) + order + blind if probes is None else probes
    most = min(float(horizon), most)
    return Budget(
        probes=float(most * gaps.mean(axis=1).max()),
        drift=top * leaves * horizon * lost,
        decoding=min(1.0, most * error) * top * horizon,
        learning=top * (cap - 1) * (order + min(1.0, leaves * cap / 2) * blind),
    )


def _geometric(rate: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Return the sum of exp(-rate n) over n = 1, ..., terms; of terms that are no whole number, what is in between."""
    safe = np.where(rate > 0, rate, 1.0)
    return np.where(rate > 0, np.exp(-safe) * np.expm1(-safe * terms) / np.expm1(-safe), terms)

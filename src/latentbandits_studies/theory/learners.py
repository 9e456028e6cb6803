"""What learning costs at most, at any horizon, on a gated schedule whose probes name the state.

This bound is not the paper's, which bounds no learner. It is about a table, one mean per state and arm, and it holds because
what is sampled in a probe does not depend on errors that were made before. `sigma` is the standard deviation of one reward.
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
    switch_rate,
)


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

    A probe plays all arms in one round (a group each), names the state whose known fingerprint is nearest, and adds one reward of
    every arm to the averages of that state. Until the next probe every group plays the arm a with the best average of the decoded
    state s, and when the mean of their K rewards is `surprise` (theta) or more from that average, the next round is
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
    means : array (states, arms)
        Mean rewards.
    transition : array (states, states)
        The chain; it starts in its stationary distribution.
    sigma : float
        Standard deviation of one group's reward: where K groups share a round, sqrt(K) times the noise of the world.
    surprise : float
        How far a reward may be from the average before the gate opens (theta).
    cap : int
        The age at which a probe is renewed in any case (H).
    horizon : int
        Rounds (T).
    arms : sequence of int, optional
        The arms whose rewards name the state (B); all by default.
    probes : float, optional
        Expected number of probes, if it is known (from simulation, say); by default the bound above. With it the bound also covers
        policies that have further gates: these can only end episodes earlier.

    Examples
    --------
    A long cap costs little, since the gate notices a change: the gap between the arms is 0.5.

    >>> from latentbandits_studies.theory import gated_bound
    >>> means, chain = [[0.75, 0.25], [0.25, 0.75]], [[0.98, 0.02], [0.02, 0.98]]
    >>> gated = gated_bound(means, chain, sigma=0.05, surprise=0.2, cap=64, horizon=8_000)
    >>> round(gated.total / 8_000, 3)
    0.022
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

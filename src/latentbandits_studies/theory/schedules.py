"""What a schedule of probes costs at most: the theorem on probe episodes and its corollaries.

The bounds are about an idealised policy that, after each probe, plays the arm that the probe named. `drift` lists
bounds on the probability that the best arm has changed: its first number is for one round after the probe (nu_1), and
so on; see `drift_bound` and `drift_probability`.

Where gates look at rewards, how long a probe is reused may depend on whether it was right. The paper therefore asks
for error and drift probabilities that hold in every round of reuse given all that was seen by then, which neither a
decoding error nor j q is. A fixed schedule does not need this: there the plain probabilities are enough.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from latentbandits.settings import InvalidValueError, Vector, array


def episode_bound(
    costs: ArrayLike,
    lengths: ArrayLike,
    errors: ArrayLike,
    drift: ArrayLike,
    delta_max: float,
    leftover: float = 0.0,
) -> float:
    """Return the bound of Theorem 1 on the regret of a run, for given lengths of its episodes.

    It is sum_m C_m + Delta_max sum_m sum_{j < L_m} (eps_m + nu_j) + Delta_max |U|. Average it over runs if lengths are
    random.

    Parameters
    ----------
    costs : array (episodes,)
        Expected regret of each probe, at most (C_m).
    lengths : array (episodes,)
        One more than the rounds that reuse each probe (L_m).
    errors : array (episodes,)
        Probability that each probe names a wrong arm, at most (eps_m).
    drift : array (at least the longest length less one,)
        Probability that the best arm has changed 1, 2, ... rounds after the probe, at most (nu_j).
    delta_max : float
        The most that a round can cost (Delta_max).
    leftover : float
        Expected rounds that belong to no complete episode (|U|).

    Examples
    --------
    >>> from latentbandits_studies.theory import drift_bound, episode_bound
    >>> drift = [drift_bound(lag, q=0.125) for lag in (1, 2)]
    >>> episode_bound(costs=[0.5, 0.5], lengths=[3, 2], errors=[0.0, 0.25], drift=drift, delta_max=1.0, leftover=2)
    3.75
    """
    charge, wrong, moved = (np.asarray(values, float) for values in (costs, errors, drift))
    spans = array("episode_bound", "lengths", lengths, Vector(1, whole=True))
    if (spans < 1).any() or int(spans.max(initial=1)) > len(moved) + 1:
        allowed = f"integers from 1 to {len(moved) + 1}, one more than the numbers in drift"
        raise InvalidValueError("episode_bound", "lengths", spans.tolist(), allowed)
    summed = np.concatenate([[0.0], np.cumsum(moved)])
    reuse = (wrong * (spans - 1) + summed[spans - 1]).sum()
    return float(charge.sum() + delta_max * (reuse + leftover))


def periodic_bound(
    tau: float, probe_cost: float, delta_max: float, q: float, error: float = 0.0, horizon: int | None = None
) -> float:
    """Return the bound of Corollary 1 on the regret per round of probing once every `tau` rounds.

    It is Delta_probe / tau + Delta_max q (tau - 1) / 2 + Delta_max eps, and with a horizon (Delta_probe + tau
    Delta_max) / T more. The paper leaves the constant of this last term open; 1 is enough, whether the first probe is
    in the first round or in round tau. The paper asks for two states, but any number will do.

    Parameters
    ----------
    tau : float
        Rounds from one probe to the next, at least 1.
    probe_cost : float
        Expected regret of a probe, at most (Delta_probe).
    delta_max : float
        The most that a round can cost (Delta_max).
    q : float
        Probability that the state changes between rounds, at most.
    error : float
        Probability that a probe names a wrong arm, at most (eps_fp).
    horizon : int, optional
        Rounds in all (T); endless by default.

    Examples
    --------
    >>> from latentbandits_studies.theory import periodic_bound
    >>> periodic_bound(tau=5, probe_cost=0.5, delta_max=1.0, q=0.125)
    0.35
    >>> round(periodic_bound(tau=5, probe_cost=0.5, delta_max=1.0, q=0.125, horizon=100), 9)
    0.405
    """
    ends = 0.0 if horizon is None else (probe_cost + tau * delta_max) / horizon
    return probe_cost / tau + delta_max * (q * (tau - 1) / 2 + error) + ends


def best_interval(probe_cost: float, delta_max: float, q: float) -> float:
    """Return the interval that minimises `periodic_bound`: sqrt(2 Delta_probe / (Delta_max q)), as a real number.

    It is infinite if nothing ever changes, and below 1 where probing in every round is best. The paper gives the
    order only, see `paper_interval`.

    Examples
    --------
    >>> from latentbandits_studies.theory import best_interval
    >>> best_interval(probe_cost=0.5, delta_max=1.0, q=0.01)
    10.0
    """
    return math.inf if delta_max * q == 0 else math.sqrt(2 * probe_cost / (delta_max * q))


def paper_interval(probe_cost: float, delta_max: float, q: float) -> float:
    """Return the interval that the paper names up to a constant, tau* = sqrt(Delta_probe / (Delta_max q)).

    The constant is sqrt(2): `best_interval` is that much longer. Without it, Delta_probe / tau + Delta_max q tau / 2
    is 3 / (2 sqrt(2)) = 1.06 times its minimum.

    Examples
    --------
    >>> from latentbandits_studies.theory import best_interval, paper_interval
    >>> paper_interval(probe_cost=0.25, delta_max=1.0, q=0.01)
    5.0
    >>> round(best_interval(0.25, 1.0, 0.01) / paper_interval(0.25, 1.0, 0.01), 6)
    1.414214
    """
    return math.inf if delta_max * q == 0 else math.sqrt(probe_cost / (delta_max * q))


def age_cap(hazard_rate: float, threshold: float) -> int:
    """Return the age at which the staleness gate opens: H_h = ceil(log(1 / (1 - delta_h)) / lambda_h).

    Parameters
    ----------
    hazard_rate : float
        How fast a fingerprint is taken to go stale (lambda_h).
    threshold : float
        The hazard 1 - exp(-lambda_h age) that opens the gate (delta_h), from 0 to below 1.

    Examples
    --------
    >>> from latentbandits_studies.theory import age_cap
    >>> age_cap(hazard_rate=0.1, threshold=0.5)
    7
    """
    return math.ceil(-math.log1p(-threshold) / hazard_rate)


def hazard_bound(
    cap: int,
    probe_rate: float,
    probe_cost: float,
    delta_max: float,
    drift: ArrayLike,
    error: float = 0.0,
    leftover_rate: float = 0.0,
) -> float:
    """Return the bound of the hazard corollary on the regret per round.

    It is c_probe rho_T + Delta_max (eps + max_{j < H} nu_j) + Delta_max |U| / T. Where other gates look at rewards,
    ``j * q`` can stand in for nu_j: a round of reuse starts a stale stretch with probability q at most, and none
    is longer than H - 1 rounds. But `error` must hold given all that was seen: gates that keep wrong probes longer than
    correct ones break the bound.

    Parameters
    ----------
    cap : int
        The length that no episode exceeds (H): the larger of `age_cap` and the minimum gap.
    probe_rate : float
        Expected probes per round (rho_T).
    probe_cost : float
        Expected regret of a probe, at most (c_probe).
    delta_max : float
        The most that a round can cost (Delta_max).
    drift : array (at least cap less one,)
        Probability that the best arm has changed 1, 2, ... rounds after the probe, at most (nu_j).
    error : float
        Probability that a probe names a wrong arm, at most (eps).
    leftover_rate : float
        Expected share of rounds that belong to no complete episode (|U| / T).

    Examples
    --------
    >>> from latentbandits_studies.theory import age_cap, drift_bound, hazard_bound
    >>> cap = max(2, age_cap(hazard_rate=0.1, threshold=0.5))
    >>> drift = [drift_bound(lag, q=0.01) for lag in range(1, cap)]
    >>> round(hazard_bound(cap, probe_rate=1 / cap, probe_cost=0.25, delta_max=1.0, drift=drift), 6)
    0.095714
    """
    moved = np.asarray(drift, float)
    if len(moved) < cap - 1:
        raise InvalidValueError(
            "hazard_bound", "drift", moved.tolist(), f"at least {cap - 1} numbers, one per round of reuse"
        )
    return probe_cost * probe_rate + delta_max * (error + float(moved[: cap - 1].max(initial=0.0)) + leftover_rate)


def adaptive_bound(
    cap: int,
    probe_rate: float,
    probe_cost: float,
    delta_max: float,
    q: float,
    error: float = 0.0,
) -> float:
    """Return a bound on the regret per round of any schedule that reuses no probe for more than `cap` - 1 rounds.

    It is c_probe rho_T + Delta_max (rho_T (H - 1) eps + min(rho_T H / 2, 1) (H - 1) q).

    The hazard corollary (`hazard_bound`) charges every round of reuse with eps, the error of a completed probe. But a gate
    that depends on rewards may renew correct probes early and keep wrong ones, so that most rounds of reuse follow wrong
    probes. What is always true: a probe is wrong with probability eps at most given all that came before it, and then
    costs H - 1 rounds at most. Likewise, whether a probe is still reused in its k-th round is decided before the state
    moves on, so that the best arm is lost there with probability q at most, for the H - k rounds that are left, or
    H - 1 of any round. A fixed schedule has rho_T = 1 / H, and the bound is that of Corollary 1 (`periodic_bound`).

    Parameters
    ----------
    cap, probe_rate, probe_cost, delta_max, error
        As in `hazard_bound`; cost and error of a probe (c_probe, eps) given all that came before it.
    q : float
        Probability that the state changes between rounds, at most.

    Examples
    --------
    Of a schedule with twice as many probes as its cap of eight rounds needs, half may be correct ones that were renewed
    at once, and each wrong one may be kept to the end:

    >>> from latentbandits_studies.theory import adaptive_bound, drift_bound, hazard_bound
    >>> numbers = {"cap": 8, "probe_rate": 0.25, "probe_cost": 0.5, "delta_max": 1.0, "error": 0.125}
    >>> adaptive_bound(q=0.0, **numbers), hazard_bound(drift=[0.0] * 7, **numbers)
    (0.34375, 0.25)
    """
    lost = probe_rate * (cap - 1) * error + min(probe_rate * cap / 2, 1.0) * (cap - 1) * q
    return probe_cost * probe_rate + delta_max * min(1.0, lost)

"""What a schedule of probes costs at most: the theorem on probe episodes and its corollaries; the split of regret.

The bounds are about an idealised policy that, after each probe, plays the arm that the probe named. `drift` lists
bounds on the probability that the best arm has changed: its first number is for one round after the probe (nu_1), and
so on; see `drift_bound` and `drift_probability`.

Where gates look at rewards, how long a probe is reused may depend on whether it was right. The paper therefore asks
for error and drift probabilities that hold in every round of reuse given all that was seen by then, which neither a
decoding error nor j q is. A fixed schedule does not need this: there the plain probabilities are enough.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from latentbandits.settings import AtLeast, InvalidValueError, Vector, Within, array, check_int, check_range
from latentbandits_studies.theory._checks import AMOUNT, POSITIVE, PROBABILITY, means_matrix, probabilities


class Split(NamedTuple):
    """Regret in two parts: of the best rule that sees only a summary (App), and of the learner against it (Reg)."""

    approximation: float
    learning: float


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
    charge, wrong = _amounts("costs", costs), probabilities("episode_bound", "errors", errors)
    spans = array("episode_bound", "lengths", lengths, Vector(1, whole=True))
    moved = probabilities("episode_bound", "drift", drift)
    if not len(charge) == len(spans) == len(wrong):
        sizes = (len(charge), len(spans), len(wrong))
        raise InvalidValueError("episode_bound", "number of costs, lengths and errors", sizes, "three equal numbers")
    longest = int(spans.max(initial=1))
    if (spans < 1).any() or longest > len(moved) + 1:
        allowed = f"integers from 1 to {len(moved) + 1}, one more than the numbers in drift"
        raise InvalidValueError("episode_bound", "lengths", spans.tolist(), allowed)
    top = check_range("episode_bound", "delta_max", delta_max, AMOUNT)
    spare = check_range("episode_bound", "leftover", leftover, AMOUNT)
    summed = np.concatenate([[0.0], np.cumsum(moved)])
    reuse = (wrong * (spans - 1) + summed[spans - 1]).sum()
    return float(charge.sum() + top * (reuse + spare))


def _amounts(field: str, values: ArrayLike) -> np.ndarray:
    made = array("episode_bound", field, values, Vector(1))
    if (made < 0).any():
        raise InvalidValueError("episode_bound", field, made.tolist(), "numbers at least 0")
    return made


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
    tau = check_range("periodic_bound", "tau", tau, AtLeast(1))
    cost, top, rate = _prices("periodic_bound", probe_cost, delta_max, q)
    wrong = check_range("periodic_bound", "error", error, PROBABILITY)
    ends = 0.0 if horizon is None else (cost + tau * top) / check_int("periodic_bound", "horizon", horizon, least=1)
    return cost / tau + top * (rate * (tau - 1) / 2 + wrong) + ends


def _prices(owner: str, probe_cost: float, delta_max: float, q: float) -> tuple[float, float, float]:
    cost, top = check_range(owner, "probe_cost", probe_cost, AMOUNT), check_range(owner, "delta_max", delta_max, AMOUNT)
    return cost, top, check_range(owner, "q", q, PROBABILITY)


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
    cost, top, rate = _prices("best_interval", probe_cost, delta_max, q)
    return math.inf if top * rate == 0 else math.sqrt(2 * cost / (top * rate))


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
    cost, top, rate = _prices("paper_interval", probe_cost, delta_max, q)
    return math.inf if top * rate == 0 else math.sqrt(cost / (top * rate))


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
    return _age_cap("age_cap", hazard_rate, threshold)


def _age_cap(owner: str, hazard_rate: float, threshold: float) -> int:
    rate = check_range(owner, "hazard_rate", hazard_rate, POSITIVE)
    level = check_range(owner, "threshold", threshold, Within(0, math.nextafter(1, 0)))
    return math.ceil(-math.log1p(-level) / rate)


def reuse_cap(hazard_rate: float, threshold: float, minimum_gap: int = 1, window: int = 1) -> int:
    """Return the length that no episode exceeds under the staleness gate (H), one more than the rounds of reuse.

    It is H_rnd = max(tau_min, H_h) for a probe of one round and H_seq = H_rnd + m - 1 for a window of m rounds. The
    latter is generous: where age counts from the first round of a probe, as the paper says, at most H_rnd - m rounds
    reuse it.

    Parameters
    ----------
    hazard_rate, threshold : float
        As in `age_cap`.
    minimum_gap : int
        Rounds from one probe to the next, at least (tau_min).
    window : int
        Rounds that a probe takes (m).

    Examples
    --------
    >>> from latentbandits_studies.theory import reuse_cap
    >>> reuse_cap(0.1, 0.5, minimum_gap=2), reuse_cap(0.1, 0.5, minimum_gap=2, window=2)
    (7, 8)
    """
    gap = check_int("reuse_cap", "minimum_gap", minimum_gap, least=1)
    longest = max(gap, _age_cap("reuse_cap", hazard_rate, threshold))
    return longest + check_int("reuse_cap", "window", window, least=1) - 1


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
        The length that no episode exceeds (H), see `reuse_cap`.
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
    >>> from latentbandits_studies.theory import drift_bound, hazard_bound, reuse_cap
    >>> cap = reuse_cap(hazard_rate=0.1, threshold=0.5, minimum_gap=2)
    >>> drift = [drift_bound(lag, q=0.01) for lag in range(1, cap)]
    >>> round(hazard_bound(cap, probe_rate=1 / cap, probe_cost=0.25, delta_max=1.0, drift=drift), 6)
    0.095714
    """
    longest = check_int("hazard_bound", "cap", cap, least=1)
    moved = probabilities("hazard_bound", "drift", drift)
    if len(moved) < longest - 1:
        raise InvalidValueError(
            "hazard_bound", "drift", moved.tolist(), f"at least {longest - 1} numbers, one per round of reuse"
        )
    rate, cost, top, wrong, spare = _rates("hazard_bound", probe_rate, probe_cost, delta_max, error, leftover_rate)
    return cost * rate + top * (wrong + float(moved[: longest - 1].max(initial=0.0)) + spare)


def _rates(
    owner: str, probe_rate: float, probe_cost: float, delta_max: float, error: float, leftover_rate: float
) -> tuple[float, float, float, float, float]:
    rate = check_range(owner, "probe_rate", probe_rate, PROBABILITY)
    cost = check_range(owner, "probe_cost", probe_cost, AMOUNT)
    top = check_range(owner, "delta_max", delta_max, AMOUNT)
    wrong = check_range(owner, "error", error, PROBABILITY)
    return rate, cost, top, wrong, check_range(owner, "leftover_rate", leftover_rate, PROBABILITY)


def adaptive_bound(
    cap: int,
    probe_rate: float,
    probe_cost: float,
    delta_max: float,
    q: float,
    error: float = 0.0,
    leftover_rate: float = 0.0,
) -> float:
    """Return a bound on the regret per round of any schedule that reuses no probe for more than `cap` - 1 rounds.

    It is c_probe rho_T + Delta_max (rho_T (H - 1) eps + min(rho_T H / 2, 1) (H - 1) q) + Delta_max |U| / T.

    The hazard corollary (`hazard_bound`) charges every round of reuse with eps, the error of a completed probe. But a gate
    that depends on rewards may renew correct probes early and keep wrong ones, so that most rounds of reuse follow wrong
    probes. What is always true: a probe is wrong with probability eps at most given all that came before it, and then
    costs H - 1 rounds at most. Likewise, whether a probe is still reused in its k-th round is decided before the state
    moves on, so that the best arm is lost there with probability q at most, for the H - k rounds that are left, or
    H - 1 of any round. A fixed schedule has rho_T = 1 / H, and the bound is that of Corollary 1 (`periodic_bound`).

    Parameters
    ----------
    cap, probe_rate, probe_cost, delta_max, error, leftover_rate
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
    longest = check_int("adaptive_bound", "cap", cap, least=1)
    rate, cost, top, wrong, spare = _rates("adaptive_bound", probe_rate, probe_cost, delta_max, error, leftover_rate)
    moves = check_range("adaptive_bound", "q", q, PROBABILITY)
    lost = rate * (longest - 1) * wrong + min(rate * longest / 2, 1.0) * (longest - 1) * moves
    return cost * rate + top * (min(1.0, lost) + spare)


def approximation_bound(delta_max: float, errors: ArrayLike) -> float:
    """Return Delta_max sum_t e_t, the bound on the expected regret of the best rule that sees only a summary (App).

    Parameters
    ----------
    delta_max : float
        The most that a round can cost (Delta_max).
    errors : array (rounds,)
        Probability that the summary of each round names a wrong state (e_t), by any decoder.

    Examples
    --------
    >>> from latentbandits_studies.theory import approximation_bound
    >>> approximation_bound(0.5, [1.0, 0.25, 0.25])
    0.75
    """
    wrong = probabilities("approximation_bound", "errors", errors)
    return check_range("approximation_bound", "delta_max", delta_max, AMOUNT) * float(wrong.sum())


def decompose(means_per_round: ArrayLike, best_rule_arms: ArrayLike, played_arms: ArrayLike) -> Split:
    """Split the regret of a run exactly: that of the best rule on a summary (App), and the learner's against it (Reg).

    The first part is never negative; the second is where a learner does better than the rule.

    Parameters
    ----------
    means_per_round : array (rounds, arms)
        Mean rewards of every round.
    best_rule_arms : array (rounds,)
        The arm of the best rule.
    played_arms : array (rounds,)
        The arm that was played.

    Examples
    --------
    >>> from latentbandits_studies.theory import decompose
    >>> decompose([[1.0, 0.5], [0.0, 1.0], [0.0, 1.0]], best_rule_arms=[0, 0, 1], played_arms=[1, 1, 1])
    Split(approximation=1.0, learning=-0.5)
    """
    matrix = means_matrix("decompose", means_per_round)
    rule = matrix[np.arange(len(matrix)), _arms("best_rule_arms", best_rule_arms, matrix)]
    played = matrix[np.arange(len(matrix)), _arms("played_arms", played_arms, matrix)]
    return Split(float((matrix.max(axis=1) - rule).sum()), float((rule - played).sum()))


def _arms(field: str, arms: ArrayLike, matrix: np.ndarray) -> np.ndarray:
    made = array("decompose", field, arms, Vector(1, whole=True))
    rounds, count = matrix.shape
    if made.shape != (rounds,) or (made < 0).any() or (made >= count).any():
        raise InvalidValueError("decompose", field, made.tolist(), f"{rounds} arms, each from 0 to {count - 1}")
    return made

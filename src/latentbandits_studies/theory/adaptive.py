"""A bound for schedules whose gates may depend on anything observed: the hazard corollary, corrected."""

from latentbandits.settings import check_int, check_range
from latentbandits_studies.theory._checks import AMOUNT, PROBABILITY


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
    cap : int
        The length that no episode exceeds (H), see `reuse_cap`.
    probe_rate : float
        Expected probes per round (rho_T).
    probe_cost : float
        Expected regret of a probe given all that came before it, at most (c_probe).
    delta_max : float
        The most that a round can cost (Delta_max).
    q : float
        Probability that the state changes between rounds, at most.
    error : float
        Probability that a probe names a wrong arm given all that came before it, at most (eps).
    leftover_rate : float
        Expected share of rounds that belong to no episode (|U| / T).

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
    rate = check_range("adaptive_bound", "probe_rate", probe_rate, PROBABILITY)
    cost = check_range("adaptive_bound", "probe_cost", probe_cost, AMOUNT)
    top = check_range("adaptive_bound", "delta_max", delta_max, AMOUNT)
    moves = check_range("adaptive_bound", "q", q, PROBABILITY)
    wrong = check_range("adaptive_bound", "error", error, PROBABILITY)
    spare = check_range("adaptive_bound", "leftover_rate", leftover_rate, PROBABILITY)
    lost = rate * (longest - 1) * wrong + min(rate * longest / 2, 1.0) * (longest - 1) * moves
    return cost * rate + top * (min(1.0, lost) + spare)

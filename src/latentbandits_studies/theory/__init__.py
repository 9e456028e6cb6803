"""The paper's closed forms, written from the formulas alone, so that simulated numbers can be checked against them.

`gaps` is about means and chains, `decoding` about how often a summary names the wrong state, `schedules` about when to
probe. Two things are not the paper's: `adaptive_bound` mends a corollary, `learners` is about what learning costs. Nothing
here knows the simulator, its worlds or its policies.

Examples
--------
How often should two sticky states be probed, and what does that cost at most per round?

>>> from latentbandits_studies import theory
>>> means, chain = [[0.75, 0.25], [0.25, 0.75]], [[0.98, 0.02], [0.02, 0.98]]
>>> cost, top, q = theory.probe_regret(means, chain), theory.largest_gap(means), theory.switch_rate(chain)
>>> tau = round(theory.best_interval(cost, top, q))
>>> tau, round(theory.periodic_bound(tau, cost, top, q), 3)
(7, 0.066)
"""

from latentbandits_studies.theory.decoding import (
    Estimate,
    bayes_error,
    lagged_bound,
    lagged_error,
    nearest_centroid_error,
    sequential_bound,
    sequential_error,
    synchronous_bound,
)
from latentbandits_studies.theory.gaps import (
    drift_bound,
    drift_probability,
    joint_separation,
    largest_gap,
    optimal_arms,
    probe_regret,
    state_gaps,
    stationary,
    switch_rate,
    window_change,
    window_change_bound,
)
from latentbandits_studies.theory.learners import (
    Budget,
    gated_bound,
)
from latentbandits_studies.theory.schedules import (
    adaptive_bound,
    age_cap,
    best_interval,
    episode_bound,
    hazard_bound,
    paper_interval,
    periodic_bound,
)

__all__ = [
    "Budget",
    "Estimate",
    "adaptive_bound",
    "age_cap",
    "bayes_error",
    "best_interval",
    "drift_bound",
    "drift_probability",
    "episode_bound",
    "gated_bound",
    "hazard_bound",
    "joint_separation",
    "lagged_bound",
    "lagged_error",
    "largest_gap",
    "nearest_centroid_error",
    "optimal_arms",
    "paper_interval",
    "periodic_bound",
    "probe_regret",
    "sequential_bound",
    "sequential_error",
    "state_gaps",
    "stationary",
    "switch_rate",
    "synchronous_bound",
    "window_change",
    "window_change_bound",
]

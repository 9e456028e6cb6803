"""What the paper's theory says about a problem: how far apart the states are, how fast they change, how often to probe."""

import math

import numpy as np
import pandas as pd

from latentbandits.advice.problem import Problem
from latentbandits.rewards import DISTRIBUTIONS
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits.worlds.registry import HIDDEN_MARKOV
from latentbandits_studies import theory

WORLDS = 64
FINGERPRINTS = 2000
NEVER = 1e-12
QUANTILES = (0.1, 0.5, 0.9)
# quantity in the table -> what it is
MEANING = {
    "separation": "Gamma_B: distance of the two most similar states, over all arms",
    "separation / noise": "the same in standard deviations of one reward of a probe",
    "switching rate": "q: probability, at most, that the state changes from one round to the next",
    "decoding error": "how often one fingerprint of all arms names the wrong state (the nearest one)",
    "change in a probe": "omega_m: probability that the state changes before the last arm is probed",
    "lagged error": "how often the last arm and reward alone name the wrong state",
    "best interval": "tau*: rounds between probes where the bound on regret is least",
    "staleness cap": "H: age at which a fingerprint is more likely stale than not",
}


def quantities(problem: Problem, worlds: int = WORLDS) -> pd.DataFrame:
    """Return the theory's quantities for worlds that fit a problem: a row each, with the median and the 10 and 90 % quantiles.

    A problem that is no hidden Markov chain has none.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits_studies.experiments.theory.quantities import quantities
    >>> found = quantities(lb.Problem(dwell=50, noise=0.1), worlds=8)
    >>> round(float(found.loc["switching rate", "median"]), 3), float(found.loc["staleness cap", "median"])
    (0.02, 35.0)
    """
    if problem.kind != HIDDEN_MARKOV:
        return pd.DataFrame(columns=["low", "median", "high", "meaning"])
    worlds = worlds if problem.range("states").high <= 100 else min(worlds, 8)  # many states take long
    rows = [_of(problem, draw) for draw in range(worlds)]
    table = (
        pd.DataFrame(rows)
        .quantile(list(QUANTILES), interpolation="nearest")
        .T.set_axis(["low", "median", "high"], axis=1)
    )
    return table.assign(meaning=[MEANING[name] for name in table.index])


def _of(problem: Problem, draw: int) -> dict[str, float]:
    world = problem.sample(problem.seed, draw)
    assert isinstance(world, HiddenMarkov)
    means = world.matrix(problem.seed, draw)
    chain = (
        1 - NEVER
    ) * world.chain + NEVER / world.states  # the theory's chains reach every state, if only once in a while
    groups = min(problem.groups, problem.arms)
    rounds = -(-problem.arms // groups)
    one = math.sqrt(float(DISTRIBUTIONS[world.rewards].variance(means, float(world.noise)).mean()))
    sigma = max(one * math.sqrt(groups), 1e-9)
    rate = theory.switch_rate(chain)
    top = theory.largest_gap(means)
    cost = theory.probe_regret(means, chain, sequential=groups == 1)
    generator = np.random.default_rng([problem.seed, draw])
    error = theory.nearest_centroid_error(means, sigma, world.start, FINGERPRINTS, generator).value
    still = rate < 2 * NEVER
    tau = theory.best_interval(cost, top, rate) if top > 0 and not still else math.inf
    return {
        "separation": theory.joint_separation(means),
        "separation / noise": theory.joint_separation(means) / sigma,
        "switching rate": 0.0 if still else rate,
        "decoding error": error,
        "change in a probe": 0.0 if still else theory.window_change(chain, rounds),
        "lagged error": theory.lagged_error(means, chain, max(one, 1e-9)),
        "best interval": tau,
        "staleness cap": math.inf if still else float(theory.age_cap(rate, 0.5)),
    }

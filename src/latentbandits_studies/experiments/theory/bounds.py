"""The bounds that simulation can be held against: worlds, settings, and a point for each of them."""

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtrit
from scipy.stats import norm

from latentbandits.simulation.results import interval
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies import theory
from latentbandits_studies.experiments.claims import ABOVE, BELOW, TIED, per_draw
from latentbandits_studies.experiments.once import once

HORIZON = 20_000
# Two states, each with its own best arm, as Corollary 1 assumes; tau* is 5 there and the bound's own minimum at 7.07
TWO = HiddenMarkov(means=[[0.8, 0.3], [0.25, 0.7]], stickiness=0.98, noise=0.05)
INTERVALS = (2, 3, 4, 5, 7, 10, 14, 20, 28, 40, 56)
GROUPS = {"randomized": 2, "sequential": 1}
# How far a reward may be from the probe's: three standard deviations of noise, half of what a change of state moves it
SURPRISE = 0.25
# Gaussian rewards; in two states one arm is the best, by far or by little, in the other two the other one. A right probe is contradicted as
# soon as the lead changes; a probe that noise has turned around, where the lead is small, commits to an arm that pays nothing in either
# state, and is never surprised
KEPT = "kept"
# Chances to leave the large lead for the small one, to return to it, and that the best arm changes
FAR, LITTLE, LOST = 0.1, 0.4, 0.0001
STUCK = HiddenMarkov(
    means=[[1.0, 0.0], [0.15, 0.0], [0.0, 1.0], [0.0, 0.15]],
    transition=np.kron(np.eye(2), [[1 - FAR - LOST, FAR], [LITTLE, 1 - LITTLE - LOST]])
    + np.kron(1 - np.eye(2), np.full((2, 2), LOST / 2)),
    noise=0.07,
)
STUCK_SURPRISE = 0.5
CAPS = (10, 20, 40, 80, 160)
CORRECTED_POINTS = 4 * len(INTERVALS) + 2 * len(CAPS)  # two schedules, in three worlds
# Schedules with decoded states and a residual gate. The first two arms tell the states apart, the others are the best ones and have to be
# learned; in short runs, where that matters. What the best arm pays tells where another one is best: else the gate would not notice
DECODING = (0, 1)
GATED_MEANS = np.array([[0.1, 0.1, 0.9, 0.4], [0.1, 0.7, 0.5, 0.9], [0.7, 0.1, 0.8, 0.5], [0.7, 0.7, 0.4, 0.8]])
GATED_STAY, GATED_NOISE, GATED_HORIZON = 0.99, 0.02, 2_000
GATED_NOISES = (0.005, 0.01, 0.02, 0.025, 0.03, 0.035, 0.04, 0.05, 0.1)
GATED_CAPS, GATED_CAP, GATED_SURPRISE = (4, 8, 16, 32, 64, 128), 64, 0.16
# Decoding alone: five states whose means on either arm are 0.2 apart, so that every bound has something to say
FIVE = HiddenMarkov(means=[[0.1, 0.5], [0.3, 0.9], [0.5, 0.3], [0.7, 0.1], [0.9, 0.7]], stickiness=0.95)
DRAWS = 200_000
SIGMAS = (0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04)


def gated_world(noise: float) -> HiddenMarkov:
    """Return the world of the gated schedules; its four groups have twice this noise."""
    return HiddenMarkov(means=GATED_MEANS, stickiness=GATED_STAY, noise=noise)


class Point(NamedTuple):
    """A bound at one setting, per round, and the simulated regret there with its interval over draws.

    `word` says where the interval lies when all points of a claim share the 5 %: below the bound, above it, or tied.
    """

    bound_of: str
    case: str
    kind: str
    x: float
    regret: float
    low: float
    high: float
    bound: float
    word: str


def point(
    results: pd.DataFrame,
    bound_of: str,
    case: str,
    label: str,
    bound: Callable[[float], float],
    horizon: int,
    among: int,
) -> Point:
    """Return a point of a bound, which is given as a function of the probes per round.

    Every draw is held against the bound at its own rate of probes: where the bound is concave in the rate, that is no less strict than
    the bound at the mean rate.
    """
    kind, _, x = label.partition("|")
    regret = per_draw(results, case, label) / horizon
    bounds = np.array([bound(rate) for rate in per_draw(results, case, label, "probes") / horizon])
    _, least, most = interval(regret - bounds, 1 - 0.05 / among)
    word = BELOW if most < 0 else ABOVE if least > 0 else TIED
    return Point(bound_of, case, kind, float(x or horizon), *interval(regret), float(bounds.mean()), word)


@once
def points(results: pd.DataFrame) -> pd.DataFrame:
    """Return all simulated points of all bounds, a row each."""
    parts = (_schedules(results), _kept(results), _gated(results))
    return pd.DataFrame([line for part in parts for line in part])


def _schedules(results: pd.DataFrame) -> Iterator[Point]:
    """Hold Theorem 1, its corollaries and the corrected one against probe-and-commit in the two-state world."""
    means, chain, among = TWO.matrix(0, 0), TWO.chain, 2 * len(INTERVALS)
    delta, q = theory.largest_gap(means), theory.switch_rate(chain)
    for name, groups in GROUPS.items():
        window = 2 // groups
        # the probe errs when noise turns the nearest two means around, or when the state changes within it
        flip = float(norm.sf(theory.state_gaps(means).max(axis=1).min() / (TWO.noise * np.sqrt(groups) * np.sqrt(2))))
        error = flip + theory.window_change_bound(window, q)
        cost = theory.probe_regret(means, chain, sequential=groups == 1, worst=True)
        for tau in INTERVALS:
            length = tau - window + 1  # one more than the rounds of reuse
            drift = [theory.drift_probability(means, chain, lag, worst=True) for lag in range(1, length)]
            count = HORIZON // tau
            whole = [cost] * count, [length] * count, [error] * count
            theorem = theory.episode_bound(whole[0], whole[1], whole[2], drift, delta, HORIZON - count * tau) / HORIZON
            periodic = theory.periodic_bound(tau, cost, delta, q, error, HORIZON)
            for bound_of, most in (("theorem", theorem), ("periodic", periodic)):
                yield point(results, bound_of, name, f"tau|{tau}", partial(_always, most), HORIZON, among)
            for bound_of, bound in _capped(length, cost, delta, drift, q, error).items():
                for kind in ("tau", "surprise"):
                    shared = CORRECTED_POINTS if bound_of == "corrected" else 2 * among
                    yield point(results, bound_of, name, f"{kind}|{tau}", bound, HORIZON, shared)


def _always(bound: float, rate: float) -> float:  # noqa: ARG001
    return bound


def _capped(
    cap: int, cost: float, delta: float, drift: list[float], q: float, error: float
) -> dict[str, Callable[[float], float]]:
    """Return the hazard corollary, as stated and corrected, as functions of the probes per round.

    The first round begins a probe and the last episode may be cut short, so that no round is left over.
    """
    return {
        "hazard": lambda rate: theory.hazard_bound(cap, rate, cost, delta, drift, error),
        "corrected": lambda rate: theory.adaptive_bound(cap, rate, cost, delta, q, error),
    }


def _kept(results: pd.DataFrame) -> Iterator[Point]:
    """Hold the hazard corollary against a schedule whose wrong probes outlast the right ones, and against a fixed one."""
    means, chain = STUCK.matrix(0, 0), STUCK.chain
    cost, delta = theory.probe_regret(means, chain, worst=True), theory.largest_gap(means)
    for cap in CAPS:
        drift = [theory.drift_probability(means, chain, lag, worst=True) for lag in range(1, cap)]
        for bound_of, bound in _capped(cap, cost, delta, drift, drift[0], kept_error()).items():
            for kind in ("tau", "surprise"):
                shared = CORRECTED_POINTS if bound_of == "corrected" else len(CAPS)
                yield point(results, bound_of, KEPT, f"{kind}|{cap}", bound, HORIZON, shared)


def kept_error() -> float:
    """Return how often a probe names a wrong arm in the counter-example, in the state where it does so most often."""
    lead = theory.state_gaps(STUCK.matrix(0, 0)).max(axis=1).min()
    return float(
        norm.sf(lead / (STUCK.noise * np.sqrt(2) * np.sqrt(2)))
    )  # a difference of two rewards, each of one of two groups


def gated_budget(cap: int, noise: float) -> theory.Budget:
    """Return the bound on the gated schedule, by its parts."""
    sigma, chain = noise * float(np.sqrt(len(GATED_MEANS[0]))), gated_world(noise).chain
    return theory.gated_bound(GATED_MEANS, chain, sigma, GATED_SURPRISE, cap, GATED_HORIZON, DECODING)


def _gated(results: pd.DataFrame) -> Iterator[Point]:
    among = len(GATED_CAPS) + len(GATED_NOISES) - 1
    for noise in GATED_NOISES:
        for cap in GATED_CAPS if noise == GATED_NOISE else (GATED_CAP,):
            bound = partial(_always, gated_budget(cap, noise).total / GATED_HORIZON)
            yield point(results, "gated", f"gated|{noise:g}", f"surprise|{cap}", bound, GATED_HORIZON, among)


def optimum() -> tuple[float, float]:
    """Return the interval that minimises the bound, and the paper's tau*, for randomized probes."""
    means, chain = TWO.matrix(0, 0), TWO.chain
    numbers = theory.probe_regret(means, chain, worst=True), theory.largest_gap(means), theory.switch_rate(chain)
    return theory.best_interval(*numbers), theory.paper_interval(*numbers)


def quantile(level: float = 0.95) -> float:
    """Return how many standard errors the Student interval of a share among `DRAWS` reaches to either side."""
    return float(stdtrit(DRAWS - 1, 0.5 + level / 2))


@cache
def decoding() -> pd.DataFrame:
    """Return, per noise, the error of decoding the state from lag and fingerprints, its standard error, and the bounds."""
    means, chain = FIVE.matrix(0, 0), FIVE.chain
    lines = []
    for sigma in SIGMAS:
        spread = np.sqrt(2) * sigma  # of each group's reward when two share a round
        together = theory.nearest_centroid_error(means, spread, FIVE.start, DRAWS, np.random.default_rng(0))
        in_turn = theory.sequential_error(means, chain, sigma, DRAWS, np.random.default_rng(0))
        errors = {"lagged": theory.Estimate(theory.lagged_error(means, chain, sigma), 0.0)}
        errors |= {"synchronous": together, "sequential": in_turn}
        most = {"lagged": theory.lagged_bound(means, chain, sigma)}
        most |= {
            "synchronous": theory.synchronous_bound(means, spread),
            "sequential": theory.sequential_bound(means, chain, sigma),
        }
        lines += [
            {"summary": name, "sigma": sigma, "error": value, "spread": se, "bound": most[name]}
            for name, (value, se) in errors.items()
        ]
    return pd.DataFrame(lines)

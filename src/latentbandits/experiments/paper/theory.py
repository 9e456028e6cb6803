"""The paper's bounds against simulation: probing schedules and state decoding."""

import numpy as np
import pandas as pd
from scipy.stats import norm

from latentbandits import theory
from latentbandits.environments.hidden_markov import HiddenMarkov
from latentbandits.experiments.case import Case, Claim, verdict
from latentbandits.experiments.paper.worlds import LIMIT
from latentbandits.policies.probe_commit import ProbeCommit
from latentbandits.policies.table import policy

SUMMARY = "bounds on probing schedules and on decoding the state, and how tight they are"
# Two states, each with its own best arm, as Corollary 1 assumes
MEANS = np.array([[0.8, 0.3], [0.25, 0.7]])
STAY, NOISE, HORIZON = 0.98, 0.05, 20_000
INTERVALS = (2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64)
SPLIT_CASE, SPLIT = "decomposition", ("adasp-ucb", "sp-ucb", "lc-ucb", "sw-ucb", "ucb1")
UNITS = {"randomized": 2, "sequential": 1}
# Decoding: five states whose means on either arm are 0.2 apart, so that every bound has something to say
DECODED = HiddenMarkov(means=[[0.1, 0.5], [0.3, 0.9], [0.5, 0.3], [0.7, 0.1], [0.9, 0.7]], stickiness=0.95)
DRAWS = 200_000
SIGMAS = (0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04)


def world() -> HiddenMarkov:
    """Return the two-state world of the scheduling bounds."""
    return HiddenMarkov(means=MEANS, stickiness=STAY, noise=NOISE)


def cases(quick: bool) -> list[Case]:
    """Return probe-and-commit at all intervals, with two units and with one."""
    made = []
    for name, units in UNITS.items():
        policies: dict[str, object] = {f"tau|{tau}": ProbeCommit(2, units, tau) for tau in INTERVALS}
        policies[LIMIT] = policy(LIMIT, units=units)
        made.append(Case(name, world(), policies, HORIZON, 8 if quick else 64))
    names = (*SPLIT, LIMIT)
    made.append(Case(SPLIT_CASE, HiddenMarkov(), {name: policy(name) for name in names}, HORIZON, 8 if quick else 64))
    return made


def split(results: pd.DataFrame) -> pd.DataFrame:
    """Return App + Reg per policy on the default world, for the statistic that sees the whole history.

    The best rule that sees the history is the Bayes filter, so its regret is App: what nobody can know. The rest is Reg: what the learner
    loses because it has to learn, to probe, or looks at less.
    """
    regret = results[results["case"] == SPLIT_CASE].groupby("policy")["regret"].mean()
    lines = [{"policy": name, "app": regret[LIMIT], "reg": regret[name] - regret[LIMIT]} for name in SPLIT]
    return pd.DataFrame(lines)


def schedule(results: pd.DataFrame) -> pd.DataFrame:
    """Return, per kind of probe and interval, the simulated regret per round and the three bounds on it.

    A staleness gate alone opens exactly when the fingerprint is H rounds old, so probing every H rounds is the hazard-gated schedule too.
    """
    chain, delta = world().chain, theory.largest_gap(MEANS)
    q = theory.switch_rate(chain)
    measured = results.groupby(["case", "policy"])["regret"].agg(["mean", "sem"]) / HORIZON
    lines = []
    for name, units in UNITS.items():
        window = 2 // units
        # the probe errs when noise turns the nearest two means around, or when the state changes within it
        flip = float(norm.sf(theory.state_gaps(MEANS).max(axis=1).min() / (NOISE * np.sqrt(units) * np.sqrt(2))))
        error = flip + theory.window_change_bound(window, q)
        cost = theory.probe_regret(MEANS, chain, sequential=units == 1, worst=True)
        for tau in INTERVALS:
            reuse = tau - window  # exploiting rounds after each probe
            drift = [theory.drift_probability(MEANS, chain, lag, worst=True) for lag in range(1, reuse + 1)]
            episodes = HORIZON // tau
            lines.append(
                {
                    "case": name,
                    "tau": tau,
                    "regret": measured.loc[(name, f"tau|{tau}"), "mean"],
                    "error": measured.loc[(name, f"tau|{tau}"), "sem"],
                    "theorem": theory.episode_bound(
                        [cost] * episodes,
                        [reuse + 1] * episodes,
                        [error] * episodes,
                        drift or [0.0],
                        delta,
                        HORIZON - episodes * tau,
                    )
                    / HORIZON,
                    "periodic": theory.periodic_bound(tau, cost, delta, q, error, HORIZON),
                    "hazard": theory.hazard_bound(
                        reuse + 1, 1 / tau, cost, delta, drift or [0.0], error, (HORIZON - episodes * tau) / HORIZON
                    ),
                }
            )
    return pd.DataFrame(lines)


def optimum() -> tuple[float, float]:
    """Return the interval that minimises the bound, and the paper's tau*, for randomized probes."""
    chain = world().chain
    numbers = theory.probe_regret(MEANS, chain, worst=True), theory.largest_gap(MEANS), theory.switch_rate(chain)
    return theory.best_interval(*numbers), theory.paper_interval(*numbers)


def decoding() -> pd.DataFrame:
    """Return, per noise, the error of decoding the state from lag and fingerprints, and the paper's bounds on it."""
    means, chain = DECODED.matrix(seed=0, draw=0), DECODED.chain
    weights = DECODED.start
    lines = []
    for sigma in SIGMAS:
        spread = np.sqrt(2) * sigma  # of each unit's reward when two share a round
        together = theory.nearest_centroid_error(means, spread, weights, DRAWS, np.random.default_rng(0)).value
        lines.append(
            {
                "sigma": sigma,
                "lagged": theory.lagged_error(means, chain, sigma),
                "lagged bound": theory.lagged_bound(means, chain, sigma),
                "synchronous": together,
                "synchronous bound": theory.synchronous_bound(means, spread),
                "sequential": _sequential_error(means, chain, sigma),
                "sequential bound": theory.sequential_bound(means, chain, sigma),
            }
        )
    return pd.DataFrame(lines)


def _sequential_error(means: np.ndarray, chain: np.ndarray, sigma: float) -> float:
    """Simulate probes of one arm after the other while the state moves on, and decode the state in which they end."""
    generator = np.random.default_rng(0)
    first = generator.choice(len(means), size=DRAWS, p=DECODED.start)
    last = (generator.random(DRAWS)[:, None] > np.cumsum(chain, axis=1)[first]).sum(axis=1)
    seen = np.stack([means[first, 0], means[last, 1]], axis=1) + sigma * generator.standard_normal((DRAWS, 2))
    named = ((seen[:, None, :] - means[None, :, :]) ** 2).sum(axis=2).argmin(axis=1)
    return float((named != last).mean())


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge whether every bound holds in every point, and how tight it is."""
    table, decoded = schedule(results), decoding()
    claims = []
    for column, name in (("theorem", "Theorem 1"), ("periodic", "Corollary 1"), ("hazard", "the hazard corollary")):
        slack = table[column] / table["regret"]
        held = int((table["regret"] <= table[column]).sum())
        claims.append(
            Claim(
                f"The bound of {name} holds at every interval, for both kinds of probe",
                "proved",
                f"{held} of {len(table)} points; bound / regret from {slack.min():.2f} to {slack.max():.2f}",
                verdict(held == len(table)),
            )
        )
    shares = split(results).set_index("policy")
    claims.append(
        Claim(
            "Regret is App (what the history cannot tell) plus Reg (what the learner loses), and neither is negative",
            "exact identity",
            f"App {shares['app'].iloc[0]:.0f}; Reg {', '.join(f'{name} {value:.0f}' for name, value in shares['reg'].items())}",
            verdict(bool((shares["reg"] > 0).all())),
            "per unit on the default world; App is the regret of the Bayes filter",
        )
    )
    together = table[table["case"] == "randomized"]
    best = int(together.loc[together["regret"].idxmin(), "tau"])
    minimum, paper = optimum()
    claims.append(
        Claim(
            "The best interval is of the order of tau* = sqrt(probe cost / (largest gap x switching rate))",
            f"tau* = {paper:.1f}",
            f"best simulated interval {best}; the bound's own minimum is at {minimum:.1f}",
            verdict(0.5 <= best / paper <= 2),
            "tau* leaves out a factor of sqrt(2)",
        )
    )
    for name in ("lagged", "synchronous", "sequential"):
        held = int((decoded[name] <= decoded[f"{name} bound"] + 1e-9).sum())
        claims.append(
            Claim(
                f"The {name} decoding bound holds at every noise",
                "proved",
                f"{held} of {len(decoded)} points",
                verdict(held == len(decoded)),
            )
        )
    return claims

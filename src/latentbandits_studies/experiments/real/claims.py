"""Mean rewards beside what could be had, and who is first."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from latentbandits.policies.groups import LIBRARY, SCALED
from latentbandits.simulation.results import interval
from latentbandits_studies.data import load, names
from latentbandits_studies.experiments.claims import FAILS, HOLDS, TARGET, TIED, Claim
from latentbandits_studies.experiments.once import once
from latentbandits_studies.experiments.real.settings import edges, rounds
from latentbandits_studies.experiments.real.statistics import Span, over_time, switching

SWITCHES = (1, 10, 100)
MAIN = 100  # the switches that shares are of, where nothing else is said
LEVEL = 0.05
FINE = 8_000  # resamples for intervals that share the 5 %, whose ends are far out


class Bounds(NamedTuple):
    """Mean rewards that could be had in hindsight: by the best single arm, with some switches, and with the best arm of every round."""

    arm: str
    single: float
    switching: dict[int, float]
    best: float


def plain(spec: str) -> str:
    """Return the name of a policy without the wrapper that learns the range of rewards.

    Examples
    --------
    >>> from latentbandits_studies.experiments.real.claims import plain
    >>> plain("scaled(cp-ts)")
    'cp-ts'
    """
    return spec.removeprefix(f"{SCALED}(").removesuffix(")") if spec.startswith(f"{SCALED}(") else spec


@once
def _quick(results: pd.DataFrame) -> bool:
    return bool(results["quick"].any())


@once
def bounds(results: pd.DataFrame, name: str) -> Bounds:
    """Return what could be had in a dataset."""
    played = rounds(name, _quick(results))
    dataset = load(name)
    rewards = dataset.rewards[:played]
    totals = switching(rewards, max(SWITCHES)) / played
    arm = dataset.arms[int(rewards.mean(axis=0).argmax())]
    by_switches = {k: float(totals[k]) for k in SWITCHES}
    return Bounds(arm, float(totals[0]), by_switches, float(rewards.max(axis=1).mean()))


@once
def curves(results: pd.DataFrame, name: str) -> dict[str, np.ndarray]:
    """Return, per policy, arrays (runs, steps) whose mean is the mean reward of a round."""
    first = edges(name, _quick(results))
    best = np.add.reduceat(load(name).rewards[: first[-1]].max(axis=1), first[:-1])
    part = results[results["case"] == name]
    scale = (len(first) - 1) / first[-1]
    return {
        str(policy): (best - np.stack(list(rows["regret_curve"])).astype(float)) * scale
        for policy, rows in part.groupby("policy", sort=False)
    }


@once
def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Return one line per dataset and policy: mean reward, its intervals over seeds and over time, and shares of the attainable gain.

    The interval of a share is that of the reward beyond the best single arm in the same rounds.
    """
    lines = []
    for name in names():
        hindsight, single = bounds(results, name), _single(results, name)
        attainable = hindsight.switching[MAIN] - hindsight.single
        for policy, values in curves(results, name).items():
            _, low, high = interval(values.mean(axis=1))
            time, gained = over_time(values), over_time(values - single)
            line = {"dataset": name, "policy": policy, "reward": time.mean, "seed_low": low, "seed_high": high}
            line |= {"low": time.low, "high": time.high, "best_arm": hindsight.single}
            for k, reward in hindsight.switching.items():
                line |= {f"switches_{k}": reward, f"share_{k}": _share(gained.mean, reward - hindsight.single)}
            line |= {"share_low": _share(gained.low, attainable), "share_high": _share(gained.high, attainable)}
            lines.append(line | {"best_per_round": hindsight.best})
    return pd.DataFrame(lines)


def _share(gained: float, attainable: float) -> float:
    return gained / attainable if attainable > 0 else float("nan")


@once
def standings(results: pd.DataFrame) -> pd.DataFrame:
    """Return one line per dataset: the winner, StateLibrary's rank and its reward less the winner's (or the next one's), with intervals.

    The winner is picked in hindsight among all policies. The intervals of all datasets share the 5 %.
    """
    lines = []
    level = 1 - LEVEL / len(names())
    for name in names():
        values = curves(results, name)
        order = sorted(values, key=lambda policy: -values[policy].mean())
        other = next(policy for policy in order if policy != LIBRARY)
        hindsight = bounds(results, name)
        ahead = over_time(values[LIBRARY] - values[other], level, FINE)
        gained = over_time(values[LIBRARY] - _single(results, name), level, FINE)
        line = {"dataset": name, "winner": order[0], "winner_reward": values[order[0]].mean()}
        line |= {
            "reward": values[LIBRARY].mean(),
            "rank": order.index(LIBRARY) + 1,
            "policies": len(order),
            "other": other,
        }
        line |= _columns("difference", ahead) | {"best_arm": hindsight.arm, "best_arm_reward": hindsight.single}
        lines.append(line | _columns("gain", gained) | {f"switches_{MAIN}": hindsight.switching[MAIN]})
    return pd.DataFrame(lines)


def _single(results: pd.DataFrame, name: str) -> np.ndarray:
    """Return the curve of the best single arm."""
    first = edges(name, _quick(results))
    rewards = load(name).rewards[: first[-1]]
    best = rewards[:, rewards.mean(axis=0).argmax()]
    averages: np.ndarray = np.add.reduceat(best, first[:-1]) * (len(first) - 1) / first[-1]
    return averages


def _columns(name: str, span: Span) -> dict[str, float]:
    return {name: span.mean, f"{name}_low": span.low, f"{name}_high": span.high}


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge StateLibrary on all datasets; every claim is a target of our own."""
    table = standings(results)
    return [_first(table), _above(table)]


def _first(table: pd.DataFrame) -> Claim:
    behind = table[table["difference_high"] < 0]
    first = table[table["rank"] == 1]
    near = len(table) - len(behind) - len(first)
    listed = "; ".join(
        f"{line.dataset}: {line.other} {line.difference:+.4g} ({line.difference_low:+.3g} to {line.difference_high:+.3g})"
        for line in behind.itertuples()
    )
    return Claim(
        "real/first",
        "First, or tied with the first, among all policies on every dataset",
        f"{len(table)} of {len(table)}",
        f"first on {len(first)} of {len(table)}, tied on {near}, behind on {len(behind)}"
        + (f": {listed}" if listed else ""),
        FAILS if len(behind) else HOLDS,
        "mean reward less that of the best other policy, picked in hindsight; intervals over blocks of time and seeds share the 5 %",
        TARGET,
    )


def _above(table: pd.DataFrame) -> Claim:
    below, above = table[table["gain_high"] < 0], table[table["gain_low"] > 0]
    listed = ", ".join(below["dataset"]) or "none"
    return Claim(
        "real/above-single-arm",
        "Earns more than the best single arm, picked in hindsight, on every dataset",
        f"{len(table)} of {len(table)}",
        f"more on {len(above)}, undecided on {len(table) - len(above) - len(below)}, less on {len(below)}: {listed}",
        FAILS if len(below) else HOLDS if len(above) == len(table) else TIED,
        "the same intervals",
        TARGET,
    )

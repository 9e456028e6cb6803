"""Mean rewards beside what could be had, and who is first."""

import pandas as pd

from latentbandits.policies.groups import SCALED
from latentbandits_studies.data import load, names
from latentbandits_studies.experiments.claims import FAILS, HOLDS, TARGET, TIED, Claim
from latentbandits_studies.experiments.once import once
from latentbandits_studies.experiments.real.settings import edges
from latentbandits_studies.experiments.real.standings import Played, rank, summarise

LEVEL = 0.05
FINE = 8_000  # resamples for intervals that share the 5 %, whose ends are far out


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
def played(results: pd.DataFrame) -> dict[str, Played]:
    """Return what was earned on every dataset, and what could be had."""
    found = {}
    for name in names():
        first = edges(name, bool(results["quick"].any()))
        dataset = load(name)
        rewards = dataset.rewards[None, : first[-1]]
        found[name] = Played.of(results[results["case"] == name], rewards, dataset.arms, first)
    return found


@once
def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Return one line per dataset and policy, as `standings.summarise` does."""
    return summarise(played(results))


@once
def standings(results: pd.DataFrame) -> pd.DataFrame:
    """Return one line per dataset, as `standings.rank` does; the intervals of all datasets share the 5 %."""
    return rank(played(results), 1 - LEVEL / len(names()), FINE)


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

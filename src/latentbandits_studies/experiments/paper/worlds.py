"""The paper's environments, policies and published table, as data."""

import csv
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from latentbandits.policies import groups
from latentbandits.policies.groups import FORGETFUL, LIBRARY, PEERS, STATED, TABLE
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import Contestant
from latentbandits.specs import policy
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies.experiments.claims import PUBLISHED_MATRICES
from latentbandits_studies.experiments.paper.choices import READINGS


def in_table(name: str) -> str:
    """Return the policy that stands for a column of the main table: the package's own, unless another fits the column better.

    Examples
    --------
    >>> from latentbandits_studies.experiments.paper.worlds import in_table
    >>> in_table("adarp-ucb"), in_table("rp-ucb")
    ('adarp-ucb-table', 'rp-ucb')
    """
    return f"{name}-table" if f"{name}-table" in TABLE else name


# Columns of the main table, in the paper's order and grouping
ADARP, ADASP = ADAPTIVE = tuple(map(in_table, groups.ADAPTIVE))
TWO_GROUP, SINGLE_GROUP = (tuple(map(in_table, names)) for names in (groups.TWO_GROUP, groups.SINGLE_GROUP))
BEST_ARM = "best-single-arm"
COLUMNS = (*TWO_GROUP, *SINGLE_GROUP, BEST_ARM)
# Policies that the paper does not have, added to its own: shown beside its columns, never scored with them
LIBRARY_TWO = "state-library:groups=2"
ADDED = (LIBRARY, LIBRARY_TWO, FORGETFUL, *PEERS)

MATRICES, REPEATS = PUBLISHED_MATRICES, 5
FEWER_MATRICES = 16  # the first of them, for what stands beside the paper's columns in a run of the paper's size
ADDED_REPEATS = 2  # the first of the five, so that every run is paired with one of the paper's policies
QUICK_MATRICES = 12
# The table's numbers are twice the regret per group: its *Optimal single arm* tends to T/3, where uniform means give T/6.
SCALE = 2.0


@cache
def published() -> dict[str, dict[str, float]]:
    """Return the main table as published: row -> column -> cumulative regret."""
    names = {row.label: in_table(name) for name, row in REGISTRY.items()}
    lines = Path(__file__).with_name("table2.csv").read_text().splitlines()[1:]
    return {
        cells["row"]: {names[label]: float(cells[label]) for label in cells if label in names}
        for cells in csv.DictReader(lines)
    }


@cache
def rows() -> dict[str, tuple[HiddenMarkov, int]]:
    """Return the environments of the main table: row -> world and horizon."""
    lines = Path(__file__).with_name("table2.csv").read_text().splitlines()[1:]
    return {
        cells["row"]: (
            HiddenMarkov(
                states=int(cells["states"]), arms=2, stickiness=float(cells["p_stay"]), noise=float(cells["sigma"])
            ),
            int(cells["horizon"]),
        )
        for cells in csv.DictReader(lines)
    }


# Rows by what they change, in the paper's order; every sweep contains the default
SWEEPS: Mapping[str, tuple[str, ...]] = {
    "number of states": ("S2", "default", "S20", "S50"),
    "stay probability": ("p.5", "p.8", "p.9", "p.95", "default"),
    "reward noise": ("default", "sd.05", "sd.1", "sd.5"),
    "number of rounds": ("T500", "T1000", "T5000", "default"),
}
TITLES: Mapping[str, str] = {
    "default": "default",
    "S2": "2 states",
    "S20": "20 states",
    "S50": "50 states",
    "p.5": "stay 0.50",
    "p.8": "stay 0.80",
    "p.9": "stay 0.90",
    "p.95": "stay 0.95",
    "sd.05": "noise 0.05",
    "sd.1": "noise 0.10",
    "sd.5": "noise 0.50",
    "T500": "500 rounds",
    "T1000": "1,000 rounds",
    "T5000": "5,000 rounds",
}


def contestants(specs: Iterable[str], arms: int = 2) -> dict[str, Contestant]:
    """Return policies by their specs: every label of the reproduction is a name that `latentbandits policies` lists, or a spec of one.

    Examples
    --------
    >>> from latentbandits_studies.experiments.paper.worlds import contestants
    >>> [policy.interval for policy in contestants(["adarp-ucb-table:gated=False,interval=20", "rp-ucb"]).values()]
    [20, 10]
    """
    return {spec: _named(spec, arms) for spec in specs}


@cache
def _named(spec: str, arms: int) -> Contestant:
    made: Contestant = policy(spec, arms=arms)
    return made


def same_features(name: str, interval: int, lag: str = "") -> str:
    """Return the spec of an adaptive policy on a fixed schedule instead of its gates: the same features, index and groups."""
    return f"{in_table(name)}:gated=False,interval={interval}" + (f",lag={lag}" if lag else "")


def profiled(name: str, profile: str) -> str:
    """Return what a policy of the paper is in the main table under a reading of its settings; baselines have one profile.

    Examples
    --------
    >>> from latentbandits_studies.experiments.paper.worlds import profiled
    >>> profiled("adarp-ucb", "text"), profiled("adarp-ucb", "table"), profiled("d-ucb", "text")
    ('adarp-ucb-stated', 'adarp-ucb-table', 'd-ucb')
    """
    given = f"{name}{READINGS['profile'].values[profile]}"
    return given if given in STATED else in_table(name)


# What the text leaves open of an adaptive policy
OPEN_SETTINGS = ("gates", "lag", "residual")


def under(name: str, gates: str, lag: str, residual: str, /, **changes: object) -> str:
    """Return the spec of an adaptive policy under a reading of its gates, its lag and its residual, with some changes.

    Examples
    --------
    >>> from latentbandits_studies.experiments.paper.worlds import under
    >>> under("adasp-ucb", "stated", "one-hot", "before"), under("adarp-ucb", "table's", "pair", "after", lag="none")
    ('adasp-ucb-stated:lag=one-hot,residual_before=True', 'adarp-ucb-table:lag=none')
    """
    settings = {"lag": READINGS["lag"].values[lag]}
    settings |= {"residual_before": True} if READINGS["residual"].values[residual] else {}
    listed = ",".join(f"{key}={value}" for key, value in (settings | changes).items())
    return f"{name}{READINGS['gates'].values[gates]}:{listed}"

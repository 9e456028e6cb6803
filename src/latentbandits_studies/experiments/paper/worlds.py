"""The paper's environments, policies and published table, as data."""

import csv
from collections.abc import Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from latentbandits.policies.groups import ADAPTIVE, FORGETFUL, LIBRARY, PEERS, SINGLE_GROUP, TWO_GROUP
from latentbandits.policies.registry import REGISTRY, policy
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies.experiments.claims import PUBLISHED_MATRICES
from latentbandits_studies.experiments.paper.choices import READINGS

# Columns of the main table, in the paper's order and grouping
BEST_ARM = "best-single-arm"
COLUMNS = (*TWO_GROUP, *SINGLE_GROUP, BEST_ARM)
# Policies that the paper does not have, added to its own: shown beside its columns, never scored with them
LIBRARY_TWO = "state-library|two groups"
ADDED = (LIBRARY, LIBRARY_TWO, FORGETFUL, *PEERS)

MATRICES, REPEATS = PUBLISHED_MATRICES, 5
ADDED_REPEATS = 2  # the first of the five, so that every run is paired with one of the paper's policies
QUICK_MATRICES = 12
# The table's numbers are twice the regret per group: its *Optimal single arm* tends to T/3, where uniform means give T/6.
SCALE = 2.0


@cache
def published() -> dict[str, dict[str, float]]:
    """Return the main table as published: row -> column -> cumulative regret."""
    names = {row.label: name for name, row in REGISTRY.items()}
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


def fitted(name: str, arms: int = 2, **settings: object) -> Any:
    """Return a policy with the settings that fit the main table: the preset, but for a residual floor that does not follow the noise.

    Examples
    --------
    >>> from latentbandits_studies.experiments.paper.worlds import fitted
    >>> fitted("adasp-ucb").learn_noise, fitted("adasp-ucb").residual_floor
    (False, 0.1)
    """
    if name in ADAPTIVE:
        settings = {"learn_noise": False, **settings}
    return policy(name, arms, **settings)


def same_features(name: str, interval: int, arms: int = 2, **settings: object) -> Any:
    """Return an adaptive policy on a fixed schedule instead of its gates: the same features, index and groups."""
    return fitted(name, arms, gated=False, interval=interval, **settings)


def stated(name: str, world: HiddenMarkov, **settings: object) -> Any:
    """Return an adaptive policy exactly as the text states it; the residual floor is the world's noise."""
    return policy(f"{name}-stated", arms=world.arms, residual_floor=world.noise, **settings)


# What the text leaves open of an adaptive policy
OPEN_SETTINGS = ("gates", "lag", "residual")


def readings(name: str, world: HiddenMarkov, **settings: object) -> dict[tuple[str, ...], Any]:
    """Return an adaptive policy under every reading of its gates, its lag and its residual: their values -> policy.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits_studies.experiments.paper.worlds import readings
    >>> made = readings("adasp-ucb", lb.HiddenMarkov())
    >>> len(made), made["table's", "one-hot", "before"].staleness
    (12, 50)
    """
    made = {}
    for values in product(*(READINGS[each].values.items() for each in OPEN_SETTINGS)):
        (gates, as_stated), (lag, encoding), (residual, before) = values
        given = {"lag": encoding, "residual_before": before, **settings}
        made[gates, lag, residual] = stated(name, world, **given) if as_stated else fitted(name, world.arms, **given)
    return made

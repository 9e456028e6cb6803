"""The paper's environments, policies and published table, as data."""

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from latentbandits.environments.hidden_markov import HiddenMarkov
from latentbandits.policies.table import TABLE, policy

# Columns of Table 2, in the paper's order and grouping
TWO_UNIT = ("adarp-ucb", "rp-ucb")
SINGLE_UNIT = ("adasp-ucb", "d-ucb", "exp3", "exp3-s", "lc-ts", "lc-ucb", "sp-ucb", "sw-ucb", "ts", "ucb1")
ORACLES = ("best-single-arm",)
COLUMNS = (*TWO_UNIT, *SINGLE_UNIT, *ORACLES)
LIMIT = "bayes-limit"
# What the paper does not have: shown beside its columns, never scored with them
PEERS = ("cp-ts", "glr-ucb", "cusum-ucb", "m-ucb")
LIBRARY, LIBRARY_TWO, FORGETFUL = "state-library", "state-library|two units", "state-library-forgetful"
BEYOND = (LIBRARY, LIBRARY_TWO, FORGETFUL, *PEERS)

# The gates as the text states them: z 2, margin 0.05, tau_min 2, hazard rate 0.1 and threshold 0.5, which is an age cap of 7
STATED_GATES: Mapping[str, Any] = {"residual_threshold": 2.0, "margin": 0.05, "staleness": 7, "min_gap": 2}
MATRICES, REPEATS = 128, 5
BEYOND_REPEATS = 2  # the first of the five, so that every run is paired with one of the paper's policies
QUICK_MATRICES = 16
# The table's numbers are twice the regret per unit: its *Optimal single arm* tends to T/3, where uniform means give T/6.
SCALE = 2.0


@cache
def published() -> dict[str, dict[str, float]]:
    """Return Table 2 as published: row -> column -> cumulative regret."""
    names = {row.label: name for name, row in TABLE.items()}
    lines = Path(__file__).with_name("table2.csv").read_text().splitlines()[1:]
    return {
        cells["row"]: {names[label]: float(cells[label]) for label in cells if label in names}
        for cells in csv.DictReader(lines)
    }


@cache
def rows() -> dict[str, tuple[HiddenMarkov, int]]:
    """Return the environments of Table 2: row -> world and horizon."""
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


def stated(name: str, world: HiddenMarkov) -> Any:
    """Return an adaptive policy with the gates exactly as the text states them; the residual floor is the world's noise."""
    return policy(name, arms=world.arms, **STATED_GATES, residual_floor=world.noise)

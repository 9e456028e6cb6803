"""Tables about other worlds and other measures, and changes of them that give each claim each verdict."""

from collections.abc import Mapping
from typing import Any

from latentbandits.policies.groups import GREEDY, LIMIT
from latentbandits_studies.experiments import (
    example,
    many_arms,
    misspecification,
    optimal_arm_frequency,
)
from latentbandits_studies.experiments.claims import FAILS, HOLDS, OPEN, TIED
from latentbandits_studies.experiments.paper import printed
from latentbandits_studies.experiments.paper.worlds import ADARP, ADASP, COLUMNS, rows
from tests.constructed import Change, Key

# Misspecification: as printed
FIGURES: dict[Key, float] = {}
BLIND, SEQUENTIAL, matched = misspecification.BLIND, misspecification.SEQUENTIAL, misspecification.matched
GRID = list(misspecification.DISCOUNTED)
for _case, _four in printed.MISSPECIFICATION.items():
    FIGURES |= {
        (_case, name): mean for name, mean in zip((matched(BLIND, _case), BLIND, "sw-ucb"), _four, strict=False)
    }
    FIGURES |= {(_case, name): (1.0 if place == 4 else 3.0) * _four[3] for place, name in enumerate(GRID)}
for _distance in misspecification.OVERLAPS:
    _case = f"overlap {_distance:g}"
    FIGURES |= {(_case, matched(BLIND, _case)): 67.0, (_case, BLIND): 128.0}
FIGURES |= {
    (f"overlap {distance:g}", name): 400.0 for distance in misspecification.OVERLAPS if distance != 0.2 for name in GRID
}
for _case in dict.fromkeys(case for case, _ in FIGURES):
    FIGURES |= {(_case, matched(SEQUENTIAL, _case)): 189.0, (_case, SEQUENTIAL): 738.0}
    FIGURES |= {(_case, f"{BLIND}:lag=slopes"): 200.0, (_case, "d-ucb"): 300.0, (_case, LIMIT): 50.0}
MISSPECIFICATION: list[tuple[str, str, Change]] = [
    *(
        (f"{case.replace(' ', '-')}{end}", verdict, change)
        for case, four in printed.MISSPECIFICATION.items()
        for end, verdict, change in (
            ("", HOLDS, Change()),
            ("", FAILS, Change({(case, BLIND): 2 * max(four)})),
            (
                "",
                TIED,
                Change({(case, BLIND): four[2], **{(case, one): 3 * four[2] for one in GRID}}, {(case, BLIND)}),
            ),
            ("", OPEN, Change({(case, GRID[0]): 1.0})),  # the setting of D-UCB decides
            ("-figures", HOLDS, Change()),
            ("-figures", FAILS, Change({(case, "sw-ucb"): 2 * four[2]})),
            ("-figures", OPEN, Change({}, {(case, "sw-ucb")})),
        )
    ),
    ("sequential", OPEN, Change()),  # by level it is so, by growth and price not
    ("sequential", HOLDS, Change({("stay 0.5", SEQUENTIAL): 9000.0})),
    ("sequential", FAILS, Change({("stay 0.5", SEQUENTIAL): 100.0})),
    ("sequential-figures", HOLDS, Change()),
    ("sequential-figures", FAILS, Change({("stay 0.5", SEQUENTIAL): 100.0})),
    ("sequential-figures", OPEN, Change({}, {("stay 0.5", SEQUENTIAL)})),
    ("separation", TIED, Change()),
    ("separation", HOLDS, Change({("overlap 0.05", BLIND): 300.0})),
    ("separation", FAILS, Change({("overlap 0.25", BLIND): 300.0})),
]


def arms_cell(arms: int, name: str) -> Key:
    return f"{arms} arms", many_arms.specs(arms)[name]


MANY: dict[Key, float] = {}
for _arms in many_arms.ARMS:
    MANY |= {arms_cell(_arms, ADASP): 50.0 * _arms**1.5, arms_cell(_arms, ADARP): 50.0 * _arms}


def spent(sequential: float, randomized: float) -> dict[str, dict[Key, float]]:
    few = {arms_cell(2, name): 100.0 for name in (ADASP, ADARP)}
    return {
        "probe_rounds": dict.fromkeys(MANY, 100.0)
        | few
        | {arms_cell(20, ADASP): sequential, arms_cell(20, ADARP): randomized}
    }


_doubt = {(*arms_cell(20, ADASP), "probe_rounds"), (*arms_cell(20, ADARP), "probe_rounds")}
MANY_ARMS: list[tuple[str, str, Change]] = [
    ("less-attractive", HOLDS, Change({}, (), spent(900, 50))),
    ("less-attractive", FAILS, Change({arms_cell(20, ADASP): 50.0}, (), spent(900, 50))),
    ("less-attractive", OPEN, Change({arms_cell(20, ADASP): 1400.0}, {arms_cell(20, ADASP)}, spent(900, 50))),
    ("probe-cost", HOLDS, Change({}, (), spent(900, 50))),
    ("probe-cost", FAILS, Change({}, (), spent(50, 50))),
    ("probe-cost", TIED, Change({}, _doubt, spent(100, 100))),
    ("one-round", HOLDS, Change({}, (), spent(900, 50))),
    ("one-round", FAILS, Change({}, (), spent(900, 200))),
    ("one-round", HOLDS, Change({}, (), spent(900, 100))),
    ("one-round", TIED, Change({}, _doubt, spent(100, 100))),
]


EXAMPLE_BASE: dict[Key, float] = {}
for _stay in example.STAYS:
    _names = [spec for name in (*example.PROBING, *example.LAGGED) for spec in (name, example.paired(name))]
    EXAMPLE_BASE |= {(f"stay {_stay:g}", name): 500.0 if name.startswith("lc") else 200.0 for name in _names}
    EXAMPLE_BASE |= {(f"stay {_stay:g}", name): 500.0 for name in (GREEDY, LIMIT, "ucb1", "best-single-arm")}
    EXAMPLE_BASE |= {(f"stay {_stay:g}", example.alone(lag)): 500.0 for lag in example.LAGS.values()}
EXAMPLE: list[tuple[str, str, Change]] = [
    ("rescued", HOLDS, Change()),
    ("rescued", FAILS, Change({("stay 0.99", "sp-ucb"): 900.0})),
    ("rescued", TIED, Change({("stay 0.99", "sp-ucb"): 500.0}, {("stay 0.99", "sp-ucb")})),
]


FREQUENT: dict[Key, float] = {(row, name): 1.0 for row in optimal_arm_frequency.ROWS for name in (*COLUMNS, LIMIT)}


def playing(default: Mapping[str, float], fast: float, shaky: Any = ()) -> Change:
    shares = dict.fromkeys(FREQUENT, 0.6) | {("default", name): share for name, share in default.items()}
    return Change({}, shaky, {"optimal": shares | {("p.5", ADASP): fast}})


OPTIMAL: list[tuple[str, str, Change]] = [
    ("default", HOLDS, playing({ADARP: 0.9, ADASP: 0.8}, 0.55)),
    ("default", FAILS, playing({ADARP: 0.5, ADASP: 0.8}, 0.55)),
    ("default", TIED, playing({ADARP: 0.9, "rp-ucb": 0.9}, 0.55, {("default", "rp-ucb", "optimal")})),
    ("switching", HOLDS, playing({ADASP: 0.9}, 0.55)),
    ("switching", FAILS, playing({ADASP: 0.9}, 0.85)),
    ("switching", TIED, playing({ADASP: 0.9}, 0.7, {("p.5", ADASP, "optimal")})),
]


# Winning rates: AdaRP-UCB wins everywhere, then AdaSP-UCB
WON: dict[Key, float] = {
    (row, name): {ADARP: 1.0, ADASP: 2.0}.get(name, 3.0 + place) for row in rows() for place, name in enumerate(COLUMNS)
}
_half = list(rows())[:7]
WINNING: list[tuple[str, str, Change]] = [
    ("adarp", HOLDS, Change()),
    ("adarp", FAILS, Change({(row, ADARP): 100.0 for row in rows()})),
    ("adarp", TIED, Change({(row, ADARP): 2.0 for row in _half}, {(row, ADARP) for row in _half})),
    ("single", HOLDS, Change()),
    ("single", FAILS, Change({(row, "ucb1"): 1.5 for row in _half})),
    ("single", TIED, Change({(row, "ucb1"): 2.0 for row in _half}, {(row, "ucb1") for row in _half})),
]

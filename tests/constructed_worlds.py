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
from latentbandits_studies.experiments.paper.worlds import COLUMNS, rows
from tests.constructed import Change, Key

# Misspecification: as printed
FIGURES: dict[Key, float] = {}
GRID = list(misspecification.DISCOUNTED)
for _case, _four in printed.MISSPECIFICATION.items():
    FIGURES |= {
        (_case, name): mean
        for name, mean in zip((misspecification.MATCHED, misspecification.BLIND, "sw-ucb"), _four, strict=False)
    }
    FIGURES |= {(_case, name): (1.0 if place == 4 else 3.0) * _four[3] for place, name in enumerate(GRID)}
for _distance in misspecification.OVERLAPS:
    FIGURES |= {
        (f"overlap {_distance:g}", misspecification.MATCHED): 67.0,
        (f"overlap {_distance:g}", misspecification.BLIND): 128.0,
    }
FIGURES |= {
    (f"overlap {distance:g}", name): 400.0 for distance in misspecification.OVERLAPS if distance != 0.2 for name in GRID
}
for _case in dict.fromkeys(case for case, _ in FIGURES):
    FIGURES |= {(_case, "adasp-ucb matched"): 189.0, (_case, "adasp-ucb"): 738.0, (_case, "adasp-ucb|slopes"): 700.0}
    FIGURES |= {(_case, "adarp-ucb|slopes"): 200.0, (_case, "d-ucb"): 300.0, (_case, LIMIT): 50.0}
BLIND = misspecification.BLIND
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
    ("sequential", HOLDS, Change({("stay 0.5", "adasp-ucb"): 9000.0})),
    ("sequential", FAILS, Change({("stay 0.5", "adasp-ucb"): 100.0})),
    ("sequential-figures", HOLDS, Change()),
    ("sequential-figures", FAILS, Change({("stay 0.5", "adasp-ucb"): 100.0})),
    ("sequential-figures", OPEN, Change({}, {("stay 0.5", "adasp-ucb")})),
    ("separation", TIED, Change()),
    ("separation", HOLDS, Change({("overlap 0.05", BLIND): 300.0})),
    ("separation", FAILS, Change({("overlap 0.25", BLIND): 300.0})),
]


MANY: dict[Key, float] = {}
for _arms in many_arms.ARMS:
    MANY |= {(f"{_arms} arms", "adasp-ucb"): 50.0 * _arms**1.5, (f"{_arms} arms", "adarp-ucb"): 50.0 * _arms}
for _arms in many_arms.MANY:
    for _name in many_arms.SEQUENTIAL:
        MANY |= {(f"{_arms} arms", f"{_name}|{_pick}"): 100.0 for _pick in many_arms.PICKS}
        MANY[f"{_arms} arms", f"{_name}|{many_arms.PAID_MOST}"] = 80.0


def spent(sequential: float, randomized: float) -> dict[str, dict[Key, float]]:
    few = {("2 arms", name): 100.0 for name in ("adasp-ucb", "adarp-ucb")}
    return {
        "probe_rounds": dict.fromkeys(MANY, 100.0)
        | few
        | {("20 arms", "adasp-ucb"): sequential, ("20 arms", "adarp-ucb"): randomized}
    }


_doubt = {("20 arms", "adasp-ucb", "probe_rounds"), ("20 arms", "adarp-ucb", "probe_rounds")}
MANY_ARMS: list[tuple[str, str, Change]] = [
    ("less-attractive", HOLDS, Change({}, (), spent(900, 50))),
    ("less-attractive", FAILS, Change({("20 arms", "adasp-ucb"): 50.0}, (), spent(900, 50))),
    ("less-attractive", OPEN, Change({("20 arms", "adasp-ucb"): 1400.0}, {("20 arms", "adasp-ucb")}, spent(900, 50))),
    ("probe-cost", HOLDS, Change({}, (), spent(900, 50))),
    ("probe-cost", FAILS, Change({}, (), spent(50, 50))),
    ("probe-cost", TIED, Change({}, _doubt, spent(100, 100))),
    ("one-round", HOLDS, Change({}, (), spent(900, 50))),
    ("one-round", FAILS, Change({}, (), spent(900, 200))),
    ("one-round", HOLDS, Change({}, (), spent(900, 100))),
    ("one-round", TIED, Change({}, _doubt, spent(100, 100))),
    *(
        (f"{name.removesuffix('-ucb')}-{end}", verdict, change)
        for name in many_arms.SEQUENTIAL
        for end, rival in (("subset", many_arms.ALL_ARMS), ("picked", many_arms.AT_RANDOM))
        for verdict, change in (
            (HOLDS, Change({}, (), spent(900, 50))),
            (FAILS, Change({("20 arms", f"{name}|{rival}"): 50.0}, (), spent(900, 50))),
            (TIED, Change({("10 arms", f"{name}|{rival}"): 80.0}, (), spent(900, 50))),
        )
    ),
]


EXAMPLE_BASE: dict[Key, float] = {}
for _stay in example.STAYS:
    _names = [f"{name}{end}" for name in (*example.PROBING, *example.LAGGED) for end in ("", "|pair")]
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
    return Change({}, shaky, {"optimal": shares | {("p.5", "adasp-ucb"): fast}})


OPTIMAL: list[tuple[str, str, Change]] = [
    ("default", HOLDS, playing({"adarp-ucb": 0.9, "adasp-ucb": 0.8}, 0.55)),
    ("default", FAILS, playing({"adarp-ucb": 0.5, "adasp-ucb": 0.8}, 0.55)),
    ("default", TIED, playing({"adarp-ucb": 0.9, "rp-ucb": 0.9}, 0.55, {("default", "rp-ucb", "optimal")})),
    ("switching", HOLDS, playing({"adasp-ucb": 0.9}, 0.55)),
    ("switching", FAILS, playing({"adasp-ucb": 0.9}, 0.85)),
    ("switching", TIED, playing({"adasp-ucb": 0.9}, 0.7, {("p.5", "adasp-ucb", "optimal")})),
]


# Winning rates: AdaRP-UCB wins everywhere, then AdaSP-UCB
WON: dict[Key, float] = {
    (row, name): {"adarp-ucb": 1.0, "adasp-ucb": 2.0}.get(name, 3.0 + place)
    for row in rows()
    for place, name in enumerate(COLUMNS)
}
_half = list(rows())[:7]
WINNING: list[tuple[str, str, Change]] = [
    ("adarp", HOLDS, Change()),
    ("adarp", FAILS, Change({(row, "adarp-ucb"): 100.0 for row in rows()})),
    ("adarp", TIED, Change({(row, "adarp-ucb"): 2.0 for row in _half}, {(row, "adarp-ucb") for row in _half})),
    ("single", HOLDS, Change()),
    ("single", FAILS, Change({(row, "ucb1"): 1.5 for row in _half})),
    ("single", TIED, Change({(row, "ucb1"): 2.0 for row in _half}, {(row, "ucb1") for row in _half})),
]

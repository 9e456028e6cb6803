"""Tables about other worlds and other measures, and changes of them that give each claim each verdict."""

from collections.abc import Mapping, Sequence
from itertools import product
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
from latentbandits_studies.experiments.paper.choices import READINGS
from latentbandits_studies.experiments.paper.worlds import ADARP, ADASP, COLUMNS, rows
from tests.constructed import Change, Key

# Misspecification: as printed, under every reading
FIGURES: dict[Key, float] = {}
DISCOUNTED = list(READINGS[misspecification.DISCOUNT].values.values())
_others = (67.0, 128.0, 400.0, 400.0)
for _case in misspecification.worlds():
    _four = printed.MISSPECIFICATION.get(_case.split(", ")[0], _others)
    FIGURES |= {(_case, "sw-ucb"): _four[2], (_case, LIMIT): 50.0} | {(_case, name): _four[3] for name in DISCOUNTED}
    for _values in product(*(READINGS[name].values for name in misspecification.settings_of(_case))):
        for _name, _pair in (("adarp-ucb", _four[:2]), ("adasp-ucb", printed.SEQUENTIAL)):
            FIGURES[_case, misspecification.matched(_name, _case, *_values)] = _pair[0]
            FIGURES[_case, misspecification.misspecified(_name, _case, *_values)] = _pair[1]


def learner(check: str, mean: float, name: str = "adarp-ucb", shaky: bool = False, only: str = "") -> Change:
    """Return the misspecified learner of a check changed, under all readings or only under those with some value."""
    keys = {
        (case, misspecified(name, case, *values))
        for case in misspecification.worlds()
        if case.split(", ")[0] == check
        for values in product(*(READINGS[one].values for one in misspecification.settings_of(case)))
        if not only or only in values or only in case
    }
    return Change(dict.fromkeys(keys, mean), keys if shaky else ())


def baseline(check: str, mean: float | None, names: Sequence[str] = ("sw-ucb",)) -> Change:
    """Return baselines of a check changed, or shaky."""
    keys = {(case, name) for case in misspecification.worlds() if case.split(", ")[0] == check for name in names}
    return Change({}, keys) if mean is None else Change(dict.fromkeys(keys, mean))


def nearer(only: str = "") -> Change:
    """Return a price of misspecification that rises at every step to nearer states."""
    changed = [
        learner(f"subset {distance}", mean, only=only).regret for distance, mean in ((0.05, 300.0), (0.1, 200.0))
    ]
    return Change({**changed[0], **changed[1]})


misspecified = misspecification.misspecified
MISSPECIFICATION: list[tuple[str, str, Change]] = [
    *(
        (f"{check.replace(' ', '-')}{end}", verdict, change)
        for check, four in printed.MISSPECIFICATION.items()
        for end, verdict, change in (
            ("", HOLDS, Change()),
            ("", FAILS, learner(check, 2 * max(four))),
            ("", TIED, learner(check, min(four[2:]), shaky=True)),
            ("", OPEN, baseline(check, 1.0, DISCOUNTED[:1])),  # the setting of D-UCB decides
            ("-figures", HOLDS, Change()),
            ("-figures", FAILS, baseline(check, 2 * four[2])),
            ("-figures", OPEN, baseline(check, None)),
            ("-figures", OPEN, learner(check, 2 * four[1], only="one-hot")),  # the encoding decides
        )
    ),
    ("memory-0.5", OPEN, learner("memory 0.5", 900.0, only="a matrix of its own")),
    ("overlap-0.2", OPEN, learner("overlap 0.2", 900.0, only="4 states")),
    ("sequential", OPEN, Change()),  # by level it is so, by growth and price not
    ("sequential", HOLDS, learner("stay 0.5", 9000.0, "adasp-ucb")),
    ("sequential", FAILS, learner("stay 0.5", 100.0, "adasp-ucb")),
    ("sequential-figures", HOLDS, Change()),
    ("sequential-figures", FAILS, learner("stay 0.5", 100.0, "adasp-ucb")),
    ("sequential-figures", OPEN, learner("stay 0.5", 738.0, "adasp-ucb", shaky=True)),
    ("separation", TIED, learner("subset 0.05", 128.0, shaky=True)),
    ("separation", HOLDS, nearer()),
    ("separation", TIED, learner("subset 0.05", 300.0)),  # no more at the second step
    ("separation", FAILS, learner("subset 0.25", 300.0)),
    ("separation", OPEN, nearer("after")),
]


def arms_cell(arms: int, name: str, variance: str = "") -> Key:
    return many_arms.place(arms, variance), many_arms.specs(arms)[name]


MANY: dict[Key, float] = {}
for _arms in many_arms.ARMS:
    MANY |= {arms_cell(_arms, ADASP): 50.0 * _arms**1.5, arms_cell(_arms, ADARP): 50.0 * _arms}
for _arms in many_arms.MANY:
    for _name in many_arms.SEQUENTIAL:
        MANY |= {(f"{_arms} arms", many_arms.visiting(_name, _pick)): 100.0 for _pick in many_arms.PICKS}
        MANY[f"{_arms} arms", many_arms.visiting(_name, many_arms.PAID_MOST)] = 80.0
QUIETER = arms_cell(20, ADARP, list(READINGS[many_arms.GROUP_NOISE].values)[1])
MANY[QUIETER] = 1000.0


def spent(sequential: float, randomized: float) -> dict[str, dict[Key, float]]:
    few = {arms_cell(2, name): 100.0 for name in (ADASP, ADARP)}
    return {
        "probe_rounds": dict.fromkeys(MANY, 100.0)
        | few
        | {arms_cell(20, ADASP): sequential, arms_cell(20, ADARP): randomized, QUIETER: randomized}
    }


_doubt = {(*cell, "probe_rounds") for cell in (arms_cell(20, ADASP), arms_cell(20, ADARP), QUIETER)}
MANY_ARMS: list[tuple[str, str, Change]] = [
    ("less-attractive", HOLDS, Change({}, (), spent(900, 50))),
    ("less-attractive", FAILS, Change({arms_cell(20, ADASP): 50.0}, (), spent(900, 50))),
    ("less-attractive", TIED, Change({arms_cell(20, ADASP): 3162.0}, {arms_cell(20, ADASP)}, spent(900, 50))),
    ("less-attractive", OPEN, Change({QUIETER: 9000.0}, (), spent(900, 50))),
    ("probe-cost", HOLDS, Change({}, (), spent(900, 50))),
    ("probe-cost", FAILS, Change({}, (), spent(50, 50))),
    ("probe-cost", TIED, Change({}, _doubt, spent(100, 100))),
    ("one-round", HOLDS, Change({}, (), spent(900, 50))),
    ("one-round", FAILS, Change({}, (), spent(900, 200))),
    ("one-round", HOLDS, Change({}, (), spent(900, 100))),
    ("one-round", TIED, Change({}, _doubt, spent(100, 100))),
    *(
        (f"{name.partition('-')[0]}-{end}", verdict, change)
        for name in many_arms.SEQUENTIAL
        for end, rival in (("subset", many_arms.ALL_ARMS), ("picked", many_arms.AT_RANDOM))
        for verdict, change in (
            (HOLDS, Change({}, (), spent(900, 50))),
            (FAILS, Change({("20 arms", many_arms.visiting(name, rival)): 50.0}, (), spent(900, 50))),
            (TIED, Change({("10 arms", many_arms.visiting(name, rival)): 80.0}, (), spent(900, 50))),
        )
    ),
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

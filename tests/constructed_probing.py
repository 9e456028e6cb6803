"""Tables about thresholds, parts and timing of probes, and changes of them that give each claim each verdict."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from latentbandits.policies.groups import LIMIT
from latentbandits_studies.experiments import (
    ablation,
    gates,
    residuals,
    sensitivity,
    timing,
)
from latentbandits_studies.experiments.claims import FAILS, HOLDS, OPEN, TIED
from latentbandits_studies.experiments.paper import printed
from latentbandits_studies.experiments.paper.choices import READINGS
from latentbandits_studies.experiments.paper.worlds import OPEN_SETTINGS
from tests.constructed import DRAWS, Change, Key

# Sensitivity: all values of all thresholds equally good, unless said
EVEN: dict[Key, float] = {
    (row, sensitivity.spec(name, setting, value, *way)): 100.0
    for row, name in sensitivity.PAIRS
    for setting, values in sensitivity.SWEEPS.items()
    for value in values
    for way in sensitivity.WAYS
} | {(row, LIMIT): 10.0 for row in sensitivity.ROWS}


def setting(
    name: str,
    regret: Mapping[float, float],
    shaky: tuple[float, ...] = (),
    pairs: Any = sensitivity.PAIRS,
    only: Sequence[tuple[str, ...]] = sensitivity.WAYS,
) -> Change:
    """Return other regrets at some values of a threshold, under every reading of lag and residual or only some."""

    def cells(value: float) -> list[Key]:
        return [(row, sensitivity.spec(policy, name, value, *way)) for row, policy in pairs for way in only]

    changed = {cell: mean for value, mean in regret.items() for cell in cells(value)}
    return Change(changed, {cell for value in shaky for cell in cells(value)})


def probing(slope: float, setting: str = "", flat: bool = False) -> Change:
    """Return numbers of probes that fall as every threshold rises by `slope` per step; in one setting not at all if flat."""
    found = {
        (row, sensitivity.spec(name, one, value, *way)): 1000.0 - (0.0 if flat and one == setting else slope * place)
        for row, name in sensitivity.PAIRS
        for one, values in sensitivity.SWEEPS.items()
        for place, value in enumerate(values)
        for way in sensitivity.WAYS
    }
    return Change({}, (), {"probes": found})


SENSITIVITY: list[tuple[str, str, Change]] = [
    ("margin", HOLDS, Change()),
    ("margin", FAILS, setting("margin", {0.01: 50})),
    ("margin", OPEN, setting("margin", {0.05: 100}, (0.05,))),
    ("margin", OPEN, setting("margin", {0.01: 50}, only=sensitivity.WAYS[1:2])),  # the residual decides
    ("margin", OPEN, setting("margin", {0.01: 50}, only=sensitivity.WAYS[2:])),  # the lag decides
    ("residual", OPEN, Change()),
    ("residual", HOLDS, setting("residual_threshold", {2.5: 50})),
    ("residual", FAILS, setting("residual_threshold", {1.0: 50})),
    ("residual", OPEN, setting("residual_threshold", {2.5: 60, 3.0: 50})),  # best only because the grid may end there
    ("residual-default", HOLDS, Change()),
    ("residual-default", FAILS, setting("residual_threshold", {2.5: 50})),
    ("residual-default", OPEN, setting("residual_threshold", {3.0: 50})),  # good enough only on a grid that ends before
    ("residual-default", OPEN, setting("residual_threshold", {2.0: 100}, (2.0,))),
    ("age-cap", HOLDS, setting("staleness", {12: 50})),
    ("age-cap", FAILS, setting("staleness", {3: 50})),
    ("age-cap", OPEN, setting("staleness", {12: 60, 50: 50})),
    ("min-gap", HOLDS, setting("min_gap", {4: 50})),
    ("min-gap", HOLDS, setting("min_gap", {4: 50}, pairs=sensitivity.PAIRS[1:])),
    ("min-gap", FAILS, setting("min_gap", {1: 50})),
    ("min-gap", OPEN, setting("min_gap", {4: 60, 8: 50})),
    *(
        (f"frequency-{name.replace('_', '-')}", verdict, change)
        for name, value in (("staleness", 12), ("min_gap", 4))
        for verdict, change in (
            (TIED, Change()),
            (HOLDS, setting(name, {value: 50})),
            (FAILS, setting("residual_threshold", {2.5: 20})),
        )
    ),
    *(
        (f"fewer-probes-{name.replace('_', '-')}", verdict, change)
        for name in ("residual_threshold", "staleness", "min_gap")
        for verdict, change in ((HOLDS, probing(10)), (FAILS, probing(-10)), (TIED, probing(10, name, flat=True)))
    ),
    ("stale", TIED, Change()),
    ("stale", HOLDS, setting("staleness", {5: 50}, pairs=sensitivity.PAIRS[:1])),
    ("stale", FAILS, Change({**setting("staleness", {3: 200, 5: 200}).regret, **setting("min_gap", {1: 200}).regret})),
]


# Ablation: as printed, where the paper prints anything; the parts that it does not print cost a little
SETTINGS = {
    who: [READINGS[name].values for name in (*OPEN_SETTINGS, schedule)] for who, schedule in ablation.SCHEDULES.items()
}
ABLATED: dict[Key, float] = {}
for _stay in ablation.STAY:
    for _noise in READINGS["ablation noise"].values:
        _case = ablation.place(_stay, _noise)
        ABLATED |= {(_case, LIMIT): 50.0, (_case, "rp-ucb"): 162.0, (_case, "sp-ucb"): 377.0}
        for _name, _known in printed.ABLATION.items():
            for _part in (*ablation.PARTS, ablation.FIXED):
                _mean = _known.get(_part, 240.0) if _stay == 0.95 else 300.0
                ABLATED |= {
                    (_case, ablation.spec(_name, _part, *values)): _mean for values in product(*SETTINGS[_name])
                }


def ablated(name: str, part: str, factor: float, stay: float = 0.95, only: str = "", shaky: bool = False) -> Change:
    """Return one part changed, under all readings or only under those with some value."""
    keys = {
        (ablation.place(stay, noise), ablation.spec(name, part, *values))
        for noise in READINGS["ablation noise"].values
        for values in product(*SETTINGS[name])
        if not only or only in values
    }
    return Change({key: factor * ABLATED[key] for key in keys}, keys if shaky else ())


ABLATION: list[tuple[str, str, Change]] = [
    ("adasp-fingerprint", FAILS, Change()),  # 374 without the fingerprint, 377 with a fixed schedule
    ("adasp-fingerprint", HOLDS, ablated("adasp-ucb", "no fingerprint", 1.5)),
    ("adasp-fingerprint", TIED, ablated("adasp-ucb", "no fingerprint", 1.0, shaky=True)),
    ("adasp-fingerprint", OPEN, ablated("adasp-ucb", "no fingerprint", 1.5, only="pair")),
    ("adasp-fixed", HOLDS, Change()),
    ("adasp-fixed", FAILS, ablated("adasp-ucb", "no fingerprint", 1.5)),
    ("adasp-fixed", OPEN, ablated("adasp-ucb", "no fingerprint", 1.0, shaky=True)),
    ("adasp-fixed", OPEN, ablated("adasp-ucb", "no fingerprint", 1.5, only="before")),
    ("adasp-figures", HOLDS, Change()),
    ("adasp-figures", FAILS, ablated("adasp-ucb", "full", 2)),
    ("adasp-figures", OPEN, ablated("adasp-ucb", "full", 2, only="stated")),
    ("adarp-timing", HOLDS, Change()),
    ("adarp-timing", FAILS, ablated("adarp-ucb", ablation.FIXED, 0.5)),
    ("adarp-timing", TIED, ablated("adarp-ucb", ablation.FIXED, 108 / 162, shaky=True)),
    ("adarp-timing", OPEN, ablated("adarp-ucb", ablation.FIXED, 0.5, only="10")),  # the interval decides
    ("adarp-figures", HOLDS, Change()),
    ("adarp-figures", FAILS, ablated("adarp-ucb", "no lag", 2)),
    ("adarp-figures", OPEN, ablated("adarp-ucb", "no lag", 1, shaky=True)),
    ("fast-identical", HOLDS, Change()),
    ("fast-identical", FAILS, ablated("adasp-ucb", ablation.FIXED, 0.5, stay=0.5)),
    ("fast-identical", OPEN, ablated("adasp-ucb", ablation.FIXED, 1, stay=0.5, shaky=True)),
]


def opening(
    share: float,
    features: str = residuals.CORRECT,
    moved: float = 0.03,
    still: float = 0.01,
    std_error: Any = (),
    bare: float = 0.2,
    only: Sequence[str] = tuple(residuals.RESIDUALS),
) -> Change:
    found: dict[Key, float] = {}
    for noise in residuals.NOISES:
        for horizon in residuals.HORIZONS:
            for name in (residuals.CORRECT, residuals.TEXT):
                for threshold in residuals.THRESHOLDS:
                    given = share if name == features else residuals.SAID
                    found[f"noise {noise:g}, {horizon:,} rounds", residuals.gate(name, threshold)] = given * horizon
                for residual in residuals.RESIDUALS:
                    given = share if name == features and residual in only else residuals.SAID
                    case = f"noise {noise:g}, {horizon:,} rounds"
                    found[case, residuals.gate(name, 2, residual)] = given * horizon
    for residual in residuals.RESIDUALS:
        for case, opened in (("state changes", moved), ("state stays", still)):
            found[case, residuals.under(residuals.FLOORED, residual)] = opened * 20_000
            found[case, residuals.under(residuals.BARE, residual)] = bare * 20_000
    return Change({}, std_error, {"residual_gate": found})


def doubtful(case: str, spec: str) -> set[tuple[str, ...]]:
    """Return the cells of a spec under both readings of the residual, as shaky ones."""
    return {(case, residuals.under(spec, residual), "residual_gate") for residual in residuals.RESIDUALS}


_calm = "noise 0.01, 500 rounds"
RESIDUALS: list[tuple[str, str, Change]] = [
    *(
        (name, verdict, change)
        for name, features in (("normal", residuals.CORRECT), ("normal-text", residuals.TEXT))
        for verdict, change in (
            (HOLDS, opening(0.05, features)),
            (FAILS, opening(0.01, features)),
            (OPEN, opening(0.05, features, std_error=doubtful(_calm, residuals.gate(features, 2)))),
            (OPEN, opening(0.01, features, only=["before"])),
        )
    ),
    ("floor", HOLDS, opening(0.05)),
    ("floor", FAILS, opening(0.05, bare=0.001)),
    (
        "floor",
        TIED,
        opening(0.05, moved=0.2, still=0.1, std_error=doubtful("state changes", residuals.BARE)),
    ),
    ("drift", HOLDS, opening(0.05)),
    ("drift", FAILS, opening(0.05, moved=0.001)),
    ("drift", TIED, opening(0.05, moved=0.01, std_error=doubtful("state changes", residuals.FLOORED))),
]


def schedule(early: int, late: int, volatile: int, shaky: Any = ()) -> Change:
    """Return regrets with the given best intervals, the further from them the worse; the default is best at 40."""
    best = {timing.EARLY: early, timing.LATE: late, timing.VOLATILE: volatile}
    cells = {
        (case, timing.schedule(name, tau)): 100 * (1 + abs(np.log2(tau / best[case])))
        for case in best
        for name in timing.POLICIES
        for tau in timing.INTERVALS
    }
    return Change(cells, shaky)


_flat = {(timing.EARLY, timing.schedule(name, tau)) for name in timing.POLICIES for tau in timing.INTERVALS}
TIMING: list[tuple[str, str, Change]] = [
    ("early", HOLDS, schedule(10, 40, 10)),
    ("early", FAILS, schedule(80, 40, 10)),
    ("early", OPEN, schedule(40, 40, 10)),
    ("late", HOLDS, schedule(10, 40, 10)),
    ("late", FAILS, schedule(10, 5, 10)),
    (
        "late",
        TIED,
        Change(
            {**schedule(10, 40, 10).regret, (timing.LATE, timing.schedule("rp-ucb", 10)): 300.0},
            {(timing.LATE, timing.schedule("rp-ucb", 10))},
        ),
    ),
    ("volatile", HOLDS, schedule(10, 40, 10)),
    ("volatile", FAILS, schedule(10, 40, 80)),
    ("volatile", OPEN, schedule(10, 40, 40)),
]


# Gates: all combinations alike, with 1,000 probes; the residual gate alone finds twice what a clock would, others half of it
COMBINED: dict[Key, float] = {
    (row, gates.spec(*policy, on)): 100.0
    for row in gates.ROWS
    for policy in gates.POLICIES
    for on in gates.COMBINATIONS
}
CLOCK, CHANGES = (
    {row: scale * float(np.mean([gates.changed(row, draw, gap) for draw in range(DRAWS)])) for row in gates.ROWS}
    for scale, gap in ((1000, 20), (20_000, 1))
)


def gated(
    on: tuple[str, ...],
    regret: float = 100.0,
    found: float = 0.5,
    rows: Any = gates.ROWS,
    profiles: Any = gates.PROFILES,
    shaky: bool = False,
) -> Change:
    """Return one combination of gates changed: its regret, and what it finds as a multiple of what a clock does."""
    keys = [(row, gates.spec(*policy, on)) for row in rows for policy in gates.POLICIES if policy[1] in profiles]
    alone = {gates.spec(*policy, ("residual",)) for policy in gates.POLICIES}
    usual = {key: (2.0 if key[1] in alone else 0.5) * CLOCK[key[0]] for key in COMBINED}
    columns = {
        "probes": dict.fromkeys(COMBINED, 1000.0),
        "changes": {key: CHANGES[key[0]] for key in COMBINED},
        "found": usual | {key: found * CLOCK[key[0]] for key in keys},
    }
    doubtful = {*keys, *((*key, "found") for key in keys)} if shaky else ()
    return Change(dict.fromkeys(keys, regret), doubtful, columns)


_residual, _others, _early = ("residual",), ("residual", "staleness"), ("residual", "margin")
COMBINATION: list[tuple[str, str, Change]] = [
    *(
        (f"residual-{name}", verdict, change)
        for name, rows in (("calm", gates.CALM), ("hard", gates.HARD))
        for verdict, change in (
            (HOLDS, gated(_residual, found=2)),
            (FAILS, gated(_residual, found=0.5, rows=rows)),
            (TIED, gated(_residual, found=1, rows=rows, shaky=True)),
            (OPEN, gated(_residual, found=0.5, rows=rows, profiles=(gates.STATED,))),  # the profile decides
        )
    ),
    ("margin-pays", HOLDS, gated(_others, regret=120)),
    ("margin-pays", FAILS, gated(_others, regret=90)),
    ("margin-pays", TIED, gated(_others, shaky=True)),
    ("margin-pays", OPEN, gated(_others, regret=120, profiles=(gates.TABLE,))),
    ("staleness-covers", HOLDS, gated(gates.ALL, found=0.6)),
    ("staleness-covers", FAILS, gated(gates.ALL, found=0.4)),
    ("staleness-covers", TIED, gated(gates.ALL, shaky=True)),
    ("staleness-covers", OPEN, gated(gates.ALL, found=0.6, profiles=(gates.STATED,))),
    ("stated-cap", HOLDS, gated(_early, regret=50)),
    ("stated-cap", FAILS, gated(_early, regret=150)),
    ("stated-cap", TIED, gated(_early, shaky=True)),
    ("two-suffice", HOLDS, gated(_others, regret=105)),
    ("two-suffice", FAILS, gated(_others, regret=150)),
    ("two-suffice", OPEN, gated(_others, shaky=True)),
]

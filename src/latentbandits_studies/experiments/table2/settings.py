"""What is run for the main table, and the table itself."""

from functools import cache
from itertools import product

import numpy as np
import pandas as pd

from latentbandits.policies import groups
from latentbandits.policies.groups import LIMIT, STATED
from latentbandits.simulation.results import interval
from latentbandits.specs import split
from latentbandits_studies.experiments.case import OWN, Case, Size
from latentbandits_studies.experiments.once import once
from latentbandits_studies.experiments.paper.choices import READINGS
from latentbandits_studies.experiments.paper.worlds import (
    ADDED,
    ADDED_REPEATS,
    COLUMNS,
    FEWER_MATRICES,
    MATRICES,
    QUICK_MATRICES,
    REPEATS,
    SCALE,
    contestants,
    in_table,
    published,
    rows,
    same_features,
    under,
)

# Columns beside the paper's, never counted among them: the text's profile; the package's, where it is not the table's; the adaptive
# policies on fixed schedules, so that only the timing differs from the table's
PACKAGE = groups.ADAPTIVE
SAME = {"rp-ucb": same_features("adarp-ucb", 10), "sp-ucb": same_features("adasp-ucb", 40)}
BESIDE = (LIMIT, *STATED, *PACKAGE, *SAME.values())
# LC-UCB with the features of the text, in both encodings that it names, over what it leaves open: alpha and lambda
LAG_ROWS = ("default", "S2", "T500")
LAGGED = tuple(
    f"lc-ucb-stated:lag={lag},exploration={alpha:g},regularization={ridge:g}"
    for lag, alpha, ridge in product(("pair", "one-hot"), (0.1, 0.3, 1, 3, 10), (0.01, 0.1, 1))
)
# The stated gates, whatever the text leaves open of lag and residual
GATED_ROW = "default"
GATED = tuple(
    under(name, "stated", *values)
    for name in groups.ADAPTIVE
    for values in product(READINGS["lag"].values, READINGS["residual"].values)
)
CURVES = ("default", "p.5", "sd.1", "S50")  # rows whose runs keep curves, in so many stretches
STRETCHES = 100
APART = " | added"  # ends the names of cases with added policies, which the paper does not have
PAPER_GROUP, ADDED_GROUP, OWN_GROUP = "paper", "not in the paper", "your own"


def cases(size: Size) -> list[Case]:
    """Return three cases per row, on the same worlds: the paper's columns, what stands beside them, and what the paper does not have.

    In a run of the paper's size the first are as in full. The others are the same runs, of the same length, on the first of the matrices:
    comparisons pair the runs that both have, and their intervals over matrices are as honest, and wider. So they are judged too.
    """
    return [*columns(size), *beside(size), *added(size)]


def columns(size: Size) -> list[Case]:
    """Return one case per row: the thirteen columns, each the policy that fits it best."""
    return _planned(COLUMNS, (QUICK_MATRICES, 1) if size == "quick" else (MATRICES, REPEATS))


def beside(size: Size) -> list[Case]:
    """Return one case per row with the limit, the other profiles and the fixed schedules; and some with the text's lag and gates."""
    runs = _fewer(size, REPEATS)
    few = (runs[0], READINGS["repeats"].values["1"])
    return [
        *_planned(BESIDE, runs),
        *_planned(LAGGED, few, only=LAG_ROWS),
        *_planned(GATED, few, only=(GATED_ROW,)),
    ]


def added(size: Size) -> list[Case]:
    """Return one case per row with the added policies."""
    return _planned(ADDED, _fewer(size, ADDED_REPEATS), APART)


def _fewer(size: Size, repeats: int) -> tuple[int, int]:
    """Return matrices and repeats of what is not a column of the paper."""
    return {"quick": (QUICK_MATRICES, 1), "paper": (FEWER_MATRICES, 1), "full": (MATRICES, repeats)}[size]


def _planned(names: tuple[str, ...], runs: tuple[int, int], ending: str = "", only: tuple[str, ...] = ()) -> list[Case]:
    return [
        Case(row + ending, world, contestants(names, world.arms), horizon, *runs, bins=STRETCHES if kept else 1)
        for row, (world, horizon) in rows().items()
        if row in (only or rows())
        for kept in [row in CURVES and names in (COLUMNS, BESIDE)]
    ]


@cache
def column_of(label: str) -> str:
    """Return the column beside which a policy stands: that of which it is another profile, or other settings.

    Examples
    --------
    >>> from latentbandits_studies.experiments.table2.settings import column_of
    >>> column_of("adarp-ucb"), column_of("lc-ucb-stated:lag=pair"), column_of("adasp-ucb-table:gated=False,interval=40")
    ('adarp-ucb-table', 'lc-ucb', 'sp-ucb')
    """
    fixed = {spec: column for column, spec in SAME.items()}
    return fixed.get(label) or in_table(split(label)[0].removesuffix("-stated"))


@once
def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Return one line per cell: mean regret per group, its 95 % interval over matrices, twice that, the published cell, the ratio.

    The lines of the paper's policies come first; those of added policies, and of your own, have no published cell. Another
    profile is beside the cell of the column that it varies.
    """
    lines, groups = [], {APART: ADDED_GROUP, OWN: OWN_GROUP}
    per_draw = results.groupby(["case", "policy", "draw"], sort=False)["regret"].mean()
    for (case, label), values in per_draw.groupby(level=[0, 1], sort=False):
        mean, low, high = interval(values.to_numpy())
        row, _, ending = case.partition(" | ")
        cell = np.nan if ending else published()[row].get(column_of(label), np.nan)
        lines.append(
            {
                "row": row,
                "group": groups[f" | {ending}"] if ending else PAPER_GROUP,
                "policy": label,
                "regret": mean,
                "low": low,
                "high": high,
                "scaled": SCALE * mean,
                "published": cell,
                "ratio": SCALE * mean / cell,
            }
        )
    order = [PAPER_GROUP, ADDED_GROUP, OWN_GROUP]
    return pd.DataFrame(lines).sort_values(
        "group", key=lambda group: group.map(order.index), kind="stable", ignore_index=True
    )


def best(table: pd.DataFrame, row: str, group: tuple[str, ...], column: str = "regret") -> str:
    """Return the policy of a deployment group with the lowest regret in a row."""
    cells = table[(table["row"] == row) & table["policy"].isin(group)]
    return str(cells.loc[cells[column].idxmin(), "policy"])

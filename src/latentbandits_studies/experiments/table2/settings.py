"""What is run for the main table, and the table itself."""

import numpy as np
import pandas as pd

from latentbandits.policies.groups import ADAPTIVE, LIBRARY, LIMIT
from latentbandits.policies.registry import policy
from latentbandits.simulation.results import interval
from latentbandits_studies.experiments.case import OWN, Case
from latentbandits_studies.experiments.once import once
from latentbandits_studies.experiments.paper.worlds import (
    ADDED,
    ADDED_REPEATS,
    COLUMNS,
    LIBRARY_TWO,
    MATRICES,
    QUICK_MATRICES,
    REPEATS,
    SCALE,
    fitted,
    published,
    rows,
    same_features,
    stated,
)

# Extra columns, never counted among the paper's: the text's own profile; the fixed schedules with the adaptive policies' features; the
# adaptive policies with a residual floor that follows the noise, which are the presets
STATED = tuple(f"{name}-stated" for name in ADAPTIVE)
SAME = {"rp-ucb|same features": ("adarp-ucb", 10), "sp-ucb|same features": ("adasp-ucb", 40)}
FOLLOWING = {f"{name}|floor follows noise": name for name in ADAPTIVE}
APART = " | added"  # ends the names of cases with added policies, which the paper does not have
PAPER_GROUP, ADDED_GROUP, OWN_GROUP = "paper", "not in the paper", "your own"


def cases(quick: bool) -> list[Case]:
    """Return two cases per row: what the paper has, and what it does not have, on the same worlds."""
    return [*paper(quick), *added(quick)]


def paper(quick: bool) -> list[Case]:
    """Return one case per row: the fitted profile, the extra columns, and the limit."""
    planned = []
    for name, (world, horizon) in rows().items():
        policies = {column: fitted(column, world.arms) for column in (*COLUMNS, LIMIT)}
        policies |= {f"{column}-stated": stated(column, world) for column in ADAPTIVE}
        policies |= {column: same_features(*given, world.arms) for column, given in SAME.items()}
        policies |= {column: policy(given, world.arms) for column, given in FOLLOWING.items()}
        draws, repeats = (QUICK_MATRICES, 1) if quick else (MATRICES, REPEATS)
        planned.append(Case(name, world, policies, horizon, draws, repeats))
    return planned


def added(quick: bool) -> list[Case]:
    """Return one case per row with the added policies."""
    planned = []
    for name, (world, horizon) in rows().items():
        policies = {label: policy(label, arms=world.arms) for label in ADDED if label != LIBRARY_TWO}
        policies[LIBRARY_TWO] = policy(LIBRARY, arms=world.arms, groups=2)
        draws, repeats = (QUICK_MATRICES, 1) if quick else (MATRICES, ADDED_REPEATS)
        planned.append(Case(name + APART, world, {label: policies[label] for label in ADDED}, horizon, draws, repeats))
    return planned


@once
def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Return one line per cell: mean regret per group, its 95 % interval over matrices, twice that, the published cell, the ratio.

    The lines of the paper's policies come first; those of added policies, and of your own, have no published cell. An extra column is
    beside the cell of the policy that it varies.
    """
    lines, groups = [], {APART: ADDED_GROUP, OWN: OWN_GROUP}
    per_draw = results.groupby(["case", "policy", "draw"], sort=False)["regret"].mean()
    for (case, label), values in per_draw.groupby(level=[0, 1], sort=False):
        mean, low, high = interval(values.to_numpy())
        column = label.split("|")[0].removesuffix("-stated")
        row, _, ending = case.partition(" | ")
        cell = np.nan if ending else published()[row].get(column, np.nan)
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

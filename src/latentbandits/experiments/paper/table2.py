"""The paper's main table: cumulative regret of all policies in fourteen environments.

By order in the paper's source it is Table 3; `table2` is this experiment's id.
"""

import numpy as np
import pandas as pd

from latentbandits.experiments.case import Case
from latentbandits.experiments.paper.table2_claims import score
from latentbandits.experiments.paper.worlds import (
    ADAPTIVE,
    BEYOND,
    BEYOND_REPEATS,
    COLUMNS,
    LIBRARY,
    LIBRARY_TWO,
    LIMIT,
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
from latentbandits.policies.registry import policy
from latentbandits.simulation.results import interval

__all__ = ["SUMMARY", "beyond", "cases", "paper", "rank_correlations", "score", "summary"]

SUMMARY = (
    "the main table: cumulative regret, 14 environments x 13 policies, the Bayes limit, and policies beyond the paper"
)
# Extra columns, never counted among the paper's: the text's own profile; the fixed schedules with the adaptive policies' features; the
# adaptive policies with a residual floor that follows the noise, which are the presets
STATED = tuple(f"{name}-stated" for name in ADAPTIVE)
SAME = {"rp-ucb|same features": ("adarp-ucb", 10), "sp-ucb|same features": ("adasp-ucb", 40)}
FOLLOWING = {f"{name}|floor follows noise": name for name in ADAPTIVE}
APART = " | beyond"  # ends the names of cases that are beyond the paper
PAPER_GROUP, BEYOND_GROUP = "paper", "beyond the paper"


def cases(quick: bool) -> list[Case]:
    """Return two cases per row: what the paper has, and what it does not have, on the same worlds."""
    return [*paper(quick), *beyond(quick)]


def paper(quick: bool) -> list[Case]:
    """Return one case per row: the fitted profile, the extra columns, and the limit."""
    made = []
    for name, (world, horizon) in rows().items():
        policies = {column: fitted(column, world.arms) for column in (*COLUMNS, LIMIT)}
        policies |= {f"{column}-stated": stated(column, world) for column in ADAPTIVE}
        policies |= {column: same_features(*given, world.arms) for column, given in SAME.items()}
        policies |= {column: policy(given, world.arms) for column, given in FOLLOWING.items()}
        draws, repeats = (QUICK_MATRICES, 1) if quick else (MATRICES, REPEATS)
        made.append(Case(name, world, policies, horizon, draws, repeats))
    return made


def beyond(quick: bool) -> list[Case]:
    """Return one case per row with the policies beyond the paper."""
    made = []
    for name, (world, horizon) in rows().items():
        policies = {label: policy(label, arms=world.arms) for label in BEYOND if label != LIBRARY_TWO}
        policies[LIBRARY_TWO] = policy(LIBRARY, arms=world.arms, units=2)
        draws, repeats = (QUICK_MATRICES, 1) if quick else (MATRICES, BEYOND_REPEATS)
        made.append(Case(name + APART, world, {label: policies[label] for label in BEYOND}, horizon, draws, repeats))
    return made


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Return one line per cell: mean regret per unit, its 95 % interval over matrices, twice that, the published cell, the ratio.

    The lines of the paper's policies come first; those beyond the paper have no published cell. An extra column is beside the cell of
    the policy that it varies.
    """
    lines = []
    per_draw = results.groupby(["case", "policy", "draw"], sort=False)["regret"].mean()
    for (case, label), values in per_draw.groupby(level=[0, 1], sort=False):
        mean, low, high = interval(values.to_numpy())
        known = label.split("|")[0].removesuffix("-stated")
        cell = np.nan if label in BEYOND else published()[case].get(known, np.nan)
        lines.append(
            {
                "row": case.removesuffix(APART),
                "group": BEYOND_GROUP if label in BEYOND else PAPER_GROUP,
                "policy": label,
                "regret": mean,
                "low": low,
                "high": high,
                "scaled": SCALE * mean,
                "published": cell,
                "ratio": SCALE * mean / cell,
            }
        )
    return pd.DataFrame(lines).sort_values("group", ascending=False, kind="stable", ignore_index=True)


def best(table: pd.DataFrame, row: str, group: tuple[str, ...], column: str = "regret") -> str:
    """Return the policy of a deployment group with the lowest regret in a row."""
    cells = table[(table["row"] == row) & table["policy"].isin(group)]
    return str(cells.loc[cells[column].idxmin(), "policy"])


def rank_correlations(table: pd.DataFrame) -> pd.Series:
    """Return Spearman's correlation between ours and the published cells over the policies of each row."""
    fitting = table[table["policy"].isin(COLUMNS)]
    return pd.Series(
        {
            row: cells["regret"].corr(cells["published"], method="spearman")
            for row, cells in fitting.groupby("row", sort=False)
        }
    )

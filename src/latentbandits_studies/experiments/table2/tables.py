"""The main table as numbers, for the page."""

import pandas as pd

from latentbandits.policies.groups import LIMIT, SINGLE_UNIT, TWO_UNIT
from latentbandits.presentation.html import Cell, Html, table, tag
from latentbandits.presentation.palette import label
from latentbandits_studies.experiments.paper.worlds import ADDED, BEST_ARM, LIBRARY_TWO, TITLES, rows
from latentbandits_studies.experiments.table2 import settings

# Title -> the policies among which the best is marked, and all that are shown
GROUPS = {
    "Two units, oracles and the limit": (TWO_UNIT, (*TWO_UNIT, BEST_ARM, LIMIT)),
    "One unit": (SINGLE_UNIT, SINGLE_UNIT),
    "Extra columns": ((), (*settings.STATED, *settings.SAME, *settings.FOLLOWING)),
    "Policies that the paper does not have": (tuple(name for name in ADDED if name != LIBRARY_TWO), ADDED),
}
WORDS = Html(
    "Mean cumulative regret per unit with its 95 % interval over matrices; below it twice that, which is the paper's scale, the "
    "published cell, and the ratio of the two. Marked: the best of the group. Settings: those that fit the table best. The extra "
    "columns stand beside the cell of the policy that they vary: <em>stated</em> has lag and gates exactly as the text states them; "
    "<em>same features</em> is a fixed schedule with the features of the adaptive policy, so that only the timing differs; "
    "<em>floor follows noise</em> is the preset of this package, whose residual floor is never below the noise that it learns."
)


def tables(results: pd.DataFrame) -> str:
    """Return the main table, one table per deployment group: the fitted profile, and the stated gates beside it."""
    summary = settings.summary(results)
    own = tuple(summary.loc[summary["group"] == settings.OWN_GROUP, "policy"].unique())
    groups = ({"Your own": (own, (*own, LIMIT))} if own else {}) | GROUPS
    parts = [tag("h3", title) + _cells(summary, *group) for title, group in groups.items()]
    return tag("p", WORDS) + "".join(parts)


def _cells(summary: pd.DataFrame, group: tuple[str, ...], shown: tuple[str, ...]) -> str:
    cells = summary.set_index(["row", "policy"])
    lines = []
    for row in rows():
        winner = settings.best(summary, row, group) if group else ""
        line: list[str | Cell] = [TITLES[row]]
        for name in shown:
            cell = cells.loc[(row, name)]
            beside = [f"\N{PLUS-MINUS SIGN} {(cell['high'] - cell['low']) / 2:,.1f}"]
            if not pd.isna(cell["published"]):
                beside += [f"x2 {cell['scaled']:,.0f}", f"paper {cell['published']:,.0f}", f"ratio {cell['ratio']:.2f}"]
            small = "".join(tag("small", each) for each in beside)
            line.append(Cell(Html(f"{cell['regret']:,.1f}{small}"), "best" if name == winner else ""))
        lines.append(line)
    return table(["environment", *map(label, shown)], lines, classes="wide")

"""The paper's main table: cumulative regret of all policies in fourteen environments.

By order in the paper's source it is Table 3; `table2` is this experiment's id.
"""

import numpy as np
import pandas as pd
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from latentbandits.policies.groups import LIMIT, STATED
from latentbandits.presentation.html import Cell, Html, captioned, scrolling, table, tag
from latentbandits.presentation.palette import label
from latentbandits_studies.experiments import plots
from latentbandits_studies.experiments.paper.worlds import (
    ADDED,
    BEST_ARM,
    COLUMNS,
    LIBRARY_TWO,
    SINGLE_GROUP,
    TITLES,
    TWO_GROUP,
    rows,
)
from latentbandits_studies.experiments.registry import Experiment, Illustration
from latentbandits_studies.experiments.table2 import claims, settings
from latentbandits_studies.experiments.table2.agreement import agreement, stated_text
from latentbandits_studies.experiments.table2.agreement import label as paper_label

# Title -> the policies among which the best is marked, and all that are shown
GROUPS = {
    "Two groups, oracles and the limit": (TWO_GROUP, (*TWO_GROUP, BEST_ARM, LIMIT)),
    "One group": (SINGLE_GROUP, SINGLE_GROUP),
    "As the text states them": ((), STATED),
    "The package's own, and fixed schedules": ((), (*settings.PACKAGE, *settings.SAME.values())),
    "Policies that the paper does not have": (tuple(name for name in ADDED if name != LIBRARY_TWO), ADDED),
}
# The columns as the paper groups them
PRINTED = {"two groups": TWO_GROUP, "one group": SINGLE_GROUP, "reference": (BEST_ARM,)}
WORDS = Html(
    "Mean cumulative regret per group with its 95 % interval over matrices; below it twice that, which is the paper's scale, the "
    "published cell, and the ratio of the two. Marked: the best of its block. The first two tables have the settings that fit the table "
    "best; <em>table</em> in a name says that the package's own settings are others. Two more have other profiles, each beside the cell "
    "that it varies: <em>stated</em> is the text's; the package's AdaRP-UCB and AdaSP-UCB have a residual floor that is never below the "
    "noise that they learn; <em>gated=False</em> is a fixed schedule with the features of the adaptive policy, so that only the timing "
    "differs. Columns with wider intervals were run on fewer matrices."
)


def tables(results: pd.DataFrame) -> str:
    """Return the main table as the paper prints it; below it all cells with their intervals, and further columns."""
    summary = settings.summary(results)
    own = tuple(summary.loc[summary["group"] == settings.OWN_GROUP, "policy"].unique())
    mine = _cells(summary, "Your own", own, (*own, LIMIT)) if own else ""
    parts = [_cells(summary, title, *group) for title, group in GROUPS.items()]
    more = tag(
        "details", tag("summary", "All cells with their intervals, and further columns"), tag("p", WORDS), *parts
    )
    return tag("h4", "As the paper prints it") + as_printed(summary) + mine + more


def printed_cells(summary: pd.DataFrame, row: str) -> dict[str, list[tuple[str, bool]]]:
    """Return a row of the main table: per column the published number and twice our regret, each with whether it is its group's lowest."""
    cells = summary.set_index(["row", "policy"])
    line: dict[str, list[tuple[str, bool]]] = {}
    for names in PRINTED.values():
        for name in names:
            line[name] = [
                (
                    f"{cells.loc[(row, name), column]:,.0f}",
                    len(names) > 1 and settings.best(summary, row, names, column) == name,
                )
                for column in ("published", "scaled")
            ]
    return line


def markdown(results: pd.DataFrame) -> str:
    """Return the main table for a page of Markdown: published / ours in each cell, the lowest of a group in bold."""
    summary = settings.summary(results)
    lines = [f"| environment | {' | '.join(map(paper_label, COLUMNS))} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for row in rows():
        cells = [
            " / ".join(f"**{number}**" if lowest else number for number, lowest in both)
            for both in printed_cells(summary, row).values()
        ]
        lines.append(f"| {TITLES[row]} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def as_printed(summary: pd.DataFrame) -> Html:
    """Return the main table, 14 rows and 13 columns: the published cell, below it twice our regret; the best of a group is marked."""
    first = {names[0] for names in PRINTED.values()}
    over = [
        tag("th", title, colspan=str(len(names)), scope="colgroup", classes="apart") for title, names in PRINTED.items()
    ]
    heads = [tag("th", paper_label(name), scope="col", classes="apart" if name in first else "") for name in COLUMNS]
    lines = []
    for row in rows():
        line = [tag("th", TITLES[row], scope="row")]
        for name, both in printed_cells(summary, row).items():
            numbers = [
                tag(kind, number, classes="best" if lowest else "")
                for (number, lowest), kind in zip(both, ("small", "span"), strict=True)
            ]
            line.append(tag("td", *numbers, classes="apart" if name in first else ""))
        lines.append(tag("tr", *line))
    caption = (
        "Cumulative regret: in each cell the published number, and below it ours (twice the regret per group, the paper's unit). "
        "Marked: the lowest of its block of columns, in print and here."
    )
    head = tag("thead", tag("tr", tag("td", ""), *over), tag("tr", tag("th", "environment", scope="col"), *heads))
    return scrolling(tag("table", captioned(caption), head, tag("tbody", *lines), classes="wide"), caption)


def _cells(summary: pd.DataFrame, title: str, group: tuple[str, ...], shown: tuple[str, ...]) -> Html:
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
    return table(["environment", *map(label, shown)], lines, classes="wide", caption=title)


def heat_map(results: pd.DataFrame) -> Figure:
    """Ours over the published cell, for all cells of the main table."""
    ratio = settings.summary(results).pivot(index="row", columns="policy", values="ratio")
    ratio = ratio.loc[list(rows()), list(COLUMNS)].to_numpy()
    figure, (axes,) = plots.panels(1, 1, (8.6, 5.2))
    logs, names = np.log2(ratio), [label(name) for name in COLUMNS]
    looks = {"cmap": "RdBu_r", "norm": TwoSlopeNorm(0, -0.6, 0.6)}
    image = plots.heat_map(axes, logs, [TITLES[row] for row in rows()], names, 40, **looks)
    for (i, j), value in np.ndenumerate(ratio):
        color = "white" if abs(logs[i, j]) > 0.4 else "black"
        axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=7.5, color=color)
    shown = (0.67, 0.8, 1, 1.25, 1.5)
    bar = figure.colorbar(image, ax=axes, ticks=np.log2(shown), label="2 x regret per group / published cell")
    bar.ax.set_yticklabels([f"{tick:.2f}" for tick in shown])
    return figure


RATIO = Illustration(
    "table2-ratio",
    "Ours over the published cell, all 182 cells (twice our regret per group; 1.00 is a match, red is more regret than in print).",
    heat_map,
)

EXPERIMENT = Experiment(
    "table2",
    "the main table: cumulative regret, 14 environments x 13 policies, the Bayes limit, and policies that the paper does not have",
    settings.cases,
    claims.score,
    title="Ours over published, cell by cell",
    finding=lambda results: f"{agreement(results).text} {stated_text(results)}",
    table=settings.summary,
    place=10,
    figures=(RATIO,),
    tables=tables,
    judged="paper",
)

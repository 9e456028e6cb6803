"""The paper's main table: cumulative regret of all policies in fourteen environments.

By order in the paper's source it is Table 3; `table2` is this experiment's id.
"""

import numpy as np
import pandas as pd
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from latentbandits.policies.groups import LIMIT, STATED
from latentbandits.presentation.html import Cell, Html, table, tag
from latentbandits.presentation.palette import BLACK, label
from latentbandits_studies.experiments import plots
from latentbandits_studies.experiments.case import OWN
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

# Title -> the policies among which the best is marked, and all that are shown
GROUPS = {
    "Two groups, oracles and the limit": (TWO_GROUP, (*TWO_GROUP, BEST_ARM, LIMIT)),
    "One group": (SINGLE_GROUP, SINGLE_GROUP),
    "As the text states them": ((), STATED),
    "The package's own, and fixed schedules": ((), (*settings.PACKAGE, *settings.SAME.values())),
    "Policies that the paper does not have": (tuple(name for name in ADDED if name != LIBRARY_TWO), ADDED),
}
WORDS = Html(
    "Mean cumulative regret per group with its 95 % interval over matrices; below it twice that, which is the paper's scale, the "
    "published cell, and the ratio of the two. Marked: the best of the group. The first two tables have the settings that fit the table "
    "best; <em>table</em> in a name says that the package's own settings are others. Two more have other profiles, each beside the cell "
    "that it varies: <em>stated</em> is the text's; the package's AdaRP-UCB and AdaSP-UCB have a residual floor that is never below the "
    "noise that they learn; <em>gated=False</em> is a fixed schedule with the features of the adaptive policy, so that only the timing "
    "differs. Columns with wider intervals were run on fewer matrices."
)


def tables(results: pd.DataFrame) -> str:
    """Return the main table, one table per deployment group and profile."""
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


def multiples(results: pd.DataFrame) -> Figure:
    """Regret as a multiple of the Bayes limit, per row and policy."""
    regret = settings.summary(results).pivot(index="row", columns="policy", values="regret").loc[list(rows())]
    figure, (axes,) = plots.panels(1, 1, (8.6, 4.4))
    own = results.loc[results["case"].str.endswith(OWN), "policy"].unique()
    for name in (*own, *COLUMNS):
        mark = {"marker": "D", "ms": 5} if name in own else {"marker": "o", "ms": 3}
        axes.plot(range(len(regret)), regret[name] / regret[LIMIT], **plots.look(name, **mark))
    axes.axhline(1, **plots.look(LIMIT, color=BLACK))
    plots.ticks(axes, (1, 2, 5, 10, 20, 50, 100), "regret / regret of the Bayes limit", across=False)
    axes.set_xticks(range(len(regret)), [TITLES[row] for row in regret.index], rotation=40, ha="right")
    axes.legend(ncols=1, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)
    return figure


FIGURES = (
    Illustration(
        "table2-ratio",
        "Ours over the published cell, all 182 cells (twice our regret per group; 1.00 is a match).",
        heat_map,
    ),
    Illustration(
        "table2-multiples",
        "Regret as a multiple of the Bayes limit: a filter that is given means, chain and noise, and plans.",
        multiples,
    ),
)

EXPERIMENT = Experiment(
    "table2",
    "the main table: cumulative regret, 14 environments x 13 policies, the Bayes limit, and policies that the paper does not have",
    settings.cases,
    claims.score,
    title="table2: the main table",
    table=settings.summary,
    place=10,
    figures=FIGURES,
    tables=tables,
    judged="paper",
)

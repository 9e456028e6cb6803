"""Regret over the four thresholds."""

import pandas as pd
from matplotlib.figure import Figure

from latentbandits.policies.groups import LIMIT
from latentbandits.presentation.palette import BLUE, GREEN, ORANGE, RED, label, legend_below, style
from latentbandits_studies.experiments import sensitivity
from latentbandits_studies.experiments.paper.worlds import TITLES
from latentbandits_studies.experiments.registry import Illustration


def thresholds(results: pd.DataFrame) -> Figure:
    """Regret over the four thresholds."""
    table = sensitivity.sweep(results[results["policy"] != LIMIT])
    limits = results[results["policy"] == LIMIT].groupby("case")["regret"].mean()
    colors = dict(zip(sensitivity.ROWS, (BLUE, RED, GREEN, ORANGE), strict=True))
    figure = Figure(figsize=(9.4, 5.0))
    grid = figure.subplots(2, 4, sharey=True)
    for line, name in zip(grid, sensitivity.POLICIES, strict=True):
        for axes, setting in zip(line, sensitivity.SWEEPS, strict=True):
            part = table[(table["policy"] == name) & (table["setting"] == setting)]
            for row in sensitivity.ROWS:
                cells = part[part["case"] == row].sort_values("value")
                axes.plot(cells["value"], cells["regret"], color=colors[row], marker="o", ms=3, label=TITLES[row])
                axes.axhline(limits[row], color=colors[row], linestyle=style(LIMIT).line, linewidth=1)
            axes.axvline(sensitivity.BASE[setting], color="#bbbbbb", linewidth=3, zorder=0)
            axes.set_yscale("log")
            axes.set_yticks(
                [10, 20, 50, 100, 200, 500, 1000, 2000], ["10", "20", "50", "100", "200", "500", "1000", "2000"]
            )
            axes.set_yticks([], minor=True)
            axes.set_ylim(0.7 * limits.min(), 1.3 * table["regret"].max())
            if setting in ("margin", "staleness"):
                axes.set_xscale("log")
                axes.set_xticks(
                    sensitivity.SWEEPS[setting], [f"{v:g}" for v in sensitivity.SWEEPS[setting]], fontsize=7
                )
                axes.set_xticks([], minor=True)
            if name == sensitivity.POLICIES[-1]:
                axes.set_xlabel(sensitivity.SYMBOLS[setting])
        line[0].set_ylabel(f"{label(name)}\nregret per unit")
    legend_below(figure, figure.axes[0], 4)
    return figure


FIGURES = (
    Illustration(
        "sensitivity",
        "Regret over each threshold, the others as stated (grey bar). Dotted: the Bayes limit of the same world.",
        thresholds,
    ),
)

"""Figures of the winning rates."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentbandits.presentation.palette import label, legend_below, style
from latentbandits_studies.experiments import winning_rates
from latentbandits_studies.experiments.paper.worlds import COLUMNS, SWEEPS, TITLES, rows
from latentbandits_studies.experiments.registry import Illustration


def sweeps(results: pd.DataFrame) -> Figure:
    """Winning rates along the four sweeps."""
    table = winning_rates.rates(results).set_index(["row", "policy"])
    figure = Figure(figsize=(8.6, 6.4))
    for axes, (title, names) in zip(figure.subplots(2, 2, sharey=True).flat, SWEEPS.items(), strict=True):
        x = np.arange(len(names))
        for name in COLUMNS:
            cells = table.loc[[(row, name) for row in names]]
            errors = np.stack([cells["rate"] - cells["low"], cells["high"] - cells["rate"]])
            axes.errorbar(
                x,
                cells["rate"],
                yerr=errors,
                color=style(name).color,
                linestyle=style(name).line,
                capsize=2,
                label=label(name),
            )
        axes.set_xticks(x, [TITLES[row] for row in names])
        axes.set_xlabel(title)
        axes.set_ylim(0, 1)
    for axes in figure.axes[::2]:
        axes.set_ylabel("winning rate")
    legend_below(figure, figure.axes[0], 5)
    return figure


def duels(results: pd.DataFrame) -> Figure:
    """Plot the full pairwise matrix of every environment."""
    figure = Figure(figsize=(9.4, 10.6))
    grid = figure.subplots(4, 4)
    names = [label(name) for name in COLUMNS]
    image = None
    for axes, row in zip(grid.flat, rows(), strict=False):
        axes.grid(visible=False)
        image = axes.imshow(winning_rates.pairs(results, row).to_numpy(), cmap="PuOr", vmin=0, vmax=1)
        axes.set_title(TITLES[row], fontsize=8)
        axes.set_xticks(range(len(names)), names if row in list(rows())[-4:] else [], rotation=90, fontsize=5.5)
        axes.set_yticks(range(len(names)), names if axes in grid[:, 0] else [], fontsize=5.5)
    for axes in grid.flat[len(rows()) :]:
        axes.set_axis_off()
    assert image is not None
    figure.colorbar(
        image,
        ax=grid.flat[len(rows()) :].tolist(),
        orientation="horizontal",
        label="share of runs in which the row's\npolicy beats the column's",
    )
    return figure


FIGURES = (
    Illustration(
        "winning-rates",
        "Share of duels won against all other policies on the same runs; bars are 95 % intervals over matrices.",
        sweeps,
    ),
    Illustration(
        "winning-rates-pairs",
        "All duels, environment by environment: share of paired runs in which the row's policy has less regret.",
        duels,
    ),
)

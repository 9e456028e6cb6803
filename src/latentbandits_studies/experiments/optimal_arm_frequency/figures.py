"""The share of optimal arms, as curves."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentbandits.presentation.palette import label, legend_below, style
from latentbandits_studies.experiments import optimal_arm_frequency
from latentbandits_studies.experiments.paper.worlds import TITLES, rows
from latentbandits_studies.experiments.registry import Illustration


def frequency(results: pd.DataFrame) -> Figure:
    """Share of optimal arms over time."""
    figure = Figure(figsize=(8.6, 6.4))
    for axes, row in zip(figure.subplots(2, 2, sharex=True, sharey=True).flat, optimal_arm_frequency.ROWS, strict=True):
        curves = optimal_arm_frequency.curves(results, row)
        time = (np.arange(optimal_arm_frequency.BINS) + 0.5) / optimal_arm_frequency.BINS * rows()[row][1] / 1000
        for name, (mean, low, high) in curves.items():
            axes.plot(time, mean, color=style(name).color, linestyle=style(name).line, label=label(name))
            axes.fill_between(time, low, high, color=style(name).color, alpha=0.12, linewidth=0)
        axes.set_title(TITLES[row], fontsize=9)
        axes.set_ylim(0.45, 1.0)
    for axes in figure.axes[::2]:
        axes.set_ylabel("share of optimal arms")
    for axes in figure.axes[2:]:
        axes.set_xlabel("round (thousands)")
    legend_below(figure, figure.axes[0], 5)
    return figure


FIGURES = (
    Illustration(
        "optimal-arm-frequency",
        "Share of optimal arms over time, smoothed over five stretches of 200 rounds; bands are 95 % over matrices.",
        frequency,
    ),
)

"""Regret over the interval between probes."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentbandits.policies.groups import LIMIT
from latentbandits.presentation.palette import BLACK, label, legend_below, style
from latentbandits.simulation.results import interval
from latentbandits_studies.experiments import timing
from latentbandits_studies.experiments.claims import per_draw
from latentbandits_studies.experiments.registry import Illustration


def intervals(results: pd.DataFrame) -> Figure:
    """Regret of fixed schedules over the interval between probes."""
    figure = Figure(figsize=(9.4, 3.2))
    for axes, case in zip(figure.subplots(1, 3), (timing.EARLY, timing.LATE, timing.VOLATILE), strict=True):
        for name in timing.POLICIES:
            mean, low, high = np.array(
                [interval(per_draw(results, case, f"{name}|{tau}")) for tau in timing.INTERVALS]
            ).T
            axes.errorbar(
                timing.INTERVALS,
                mean,
                yerr=[mean - low, high - mean],
                color=style(name).color,
                linestyle=style(name).line,
                marker="o",
                ms=3,
                capsize=2,
                label=f"{label(name)}, {label(timing.POLICIES[name])}'s features",
            )
        axes.axhline(
            per_draw(results, case, LIMIT).mean(), color=BLACK, linestyle=style(LIMIT).line, label=label(LIMIT)
        )
        axes.set_xscale("log")
        axes.set_xticks(timing.INTERVALS, [str(tau) for tau in timing.INTERVALS])
        axes.set_xticks([], minor=True)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("interval between probes (rounds)")
        axes.set_title(case, fontsize=9)
    figure.axes[0].set_ylabel("regret per unit")
    legend_below(figure, figure.axes[0], 3)
    return figure


FIGURES = (
    Illustration(
        "timing",
        "Fixed schedules: regret over the interval between probes. Bars: 95 % intervals over matrices.",
        intervals,
    ),
)

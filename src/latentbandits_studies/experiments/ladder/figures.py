"""App and Reg of every rung, as bars."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from latentbandits_studies.experiments import ladder as rungs
from latentbandits_studies.experiments.decomposition import PAID, bars, explain
from latentbandits_studies.experiments.registry import Illustration


def ladder(results: pd.DataFrame) -> Figure:
    """Plot App and Reg of every rung in four worlds: which term a richer summary lowers."""
    table = rungs.table(results)
    names = list(rungs.RUNGS)
    places = np.arange(len(names)) + np.array([0.0] + [0.5] * (len(names) - 2) + [1.0])  # the references stand apart
    figure = Figure(figsize=(9.6, 6.0))
    grid = figure.subplots(2, 2, sharey=True)
    for i, (axes, case) in enumerate(zip(grid.flat, rungs.WORLDS, strict=True)):
        mine = table[table["case"] == case].reset_index(drop=True)
        bars(axes, places, mine)
        paid = (mine["app"] + rungs.price(results, case))[1:]  # the first rung has no probes
        axes.plot(paid, places[1:], **PAID)
        axes.set_title(case, fontsize=9)
        axes.set_yticks(places, names, fontsize=8.5)
        if i >= 2:
            axes.set_xlabel(f"regret after {_rounds(results):,} rounds")
    mark = Line2D([], [], **PAID, label="App and the price of the probes")
    explain(figure, bool((table["reg"] < 0).any()), [mark])
    return figure


def _rounds(results: pd.DataFrame) -> int:
    quick = "quick" in results and bool(results["quick"].iloc[0])
    return rungs.QUICK_HORIZON if quick else rungs.HORIZON


FIGURES = (
    Illustration(
        "ladder",
        "Which term each summary lowers: App, what the summary cannot tell, and Reg, what the learner loses; one "
        "schedule, one ridge, one exploration. Diamonds: App and the price of the probes. Bars: 95 % intervals over "
        "matrices.",
        ladder,
    ),
)

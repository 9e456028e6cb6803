"""Regret and cost of probes over the number of arms."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentbandits.presentation.palette import label, legend_below, style
from latentbandits.simulation.results import interval
from latentbandits_studies.experiments import many_arms
from latentbandits_studies.experiments.registry import Illustration


def arms(results: pd.DataFrame) -> Figure:
    """Regret and probe rounds over the number of arms."""
    figure = Figure(figsize=(8.6, 3.4))
    left, right = figure.subplots(1, 2)
    x = np.array(many_arms.ARMS)
    for name in dict.fromkeys(results["policy"]):
        part = results[results["policy"] == name]
        cells = [interval(part[part["case"] == f"{k} arms"]["regret"].to_numpy()) for k in x]
        mean, low, high = np.array(cells).T
        options = {
            "color": style(name).color,
            "linestyle": style(name).line,
            "marker": "o",
            "ms": 3,
            "label": label(name),
        }
        left.errorbar(x, mean, yerr=[mean - low, high - mean], capsize=2, **options)
        spent = part.groupby("case")["probe_rounds"].mean().reindex([f"{k} arms" for k in x])
        if spent.sum() > 0:
            right.plot(x, spent, **options)
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(x, [str(k) for k in x])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("number of arms")
    left.set_ylabel("regret per unit")
    right.set_ylabel("rounds spent on probes")
    legend_below(figure, left, 6)
    return figure


FIGURES = (
    Illustration(
        "many-arms",
        "Randomized probes take one round with any number of arms; sequential ones as many rounds as arms.",
        arms,
    ),
)

"""Example 1: regret of every policy."""

import pandas as pd
from matplotlib.figure import Figure

from latentbandits.policies.groups import GREEDY, LIMIT
from latentbandits.presentation.palette import label, legend_below, style
from latentbandits.simulation.results import interval
from latentbandits_studies.experiments import example
from latentbandits_studies.experiments.claims import per_draw
from latentbandits_studies.experiments.registry import Illustration


def rescue(results: pd.DataFrame) -> Figure:
    """Regret of every policy in Example 1, with the pair (a, r) and as preset."""
    figure = Figure(figsize=(8.6, 4.4))
    names = [*example.LAGGED, *example.PROBING]
    for axes, stay in zip(figure.subplots(1, 2, sharey=True), example.STAYS, strict=True):
        case = f"stay {stay:g}"
        for place, name in enumerate(names):
            for shift, variant, mark in ((-0.15, name, "o"), (0.15, f"{name}|pair", "s")):
                mean, low, high = interval(per_draw(results, case, variant))
                axes.errorbar(
                    mean,
                    place + shift,
                    xerr=[[mean - low], [high - mean]],
                    color=style(name).color,
                    marker=mark,
                    markerfacecolor=style(name).color if mark == "o" else "white",
                    linestyle="none",
                    capsize=2,
                    label=("preset" if mark == "o" else "lag as the pair (a, r)") if place == 0 else None,
                )
        for name in (LIMIT, GREEDY, "ucb1"):
            axes.axvline(
                per_draw(results, case, name).mean(),
                color=style(name).color,
                linestyle=style(name).line,
                label=label(name),
            )
        axes.set_yticks(range(len(names)), [label(name) for name in names])
        axes.set_xlim(left=0)
        axes.set_xlabel("regret per unit")
        axes.set_title(case, fontsize=9)
    figure.axes[0].invert_yaxis()
    legend_below(figure, figure.axes[0], 4)
    return figure


FIGURES = (
    Illustration(
        "example",
        "Example 1: regret with the pair (a, r) as lag and with the presets' lags. The greedy filter never "
        "plays the second arm here; the Bayes limit does. Bars: 95 % intervals over runs.",
        rescue,
    ),
)

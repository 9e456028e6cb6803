"""Figures of the smaller checks: Example 1, the Studentized residual, intervals of fixed schedules."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import norm

from latentbandits.experiments.claims import per_draw
from latentbandits.experiments.paper import example, residuals, timing
from latentbandits.experiments.paper.worlds import LIMIT
from latentbandits.presentation.palette import BLACK, BLUE, GREEN, ORANGE, RED, label, style
from latentbandits.simulation.results import interval


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
        for name in (LIMIT, "ucb1"):
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
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    return figure


def tails(results: pd.DataFrame) -> Figure:
    """Share of rounds in which the residual gate opens, over its threshold, beside the tails of a normal distribution."""
    table = residuals.tails(results)
    figure = Figure(figsize=(8.6, 3.6))
    colors = dict(zip(dict.fromkeys(table["case"]), (BLUE, GREEN, ORANGE, RED), strict=True))
    fine = np.linspace(min(residuals.THRESHOLDS), max(residuals.THRESHOLDS), 100)
    for axes, features in zip(figure.subplots(1, 2, sharey=True), (residuals.CORRECT, residuals.TEXT), strict=True):
        for case, color in colors.items():
            part = table[(table["case"] == case) & (table["features"] == features) & (table["share"] > 0)]
            errors = np.stack([part["share"] - part["low"].clip(lower=1e-6), part["high"] - part["share"]]).clip(min=0)
            axes.errorbar(
                part["threshold"], part["share"], yerr=errors, color=color, marker="o", ms=3, capsize=2, label=case
            )
        axes.plot(fine, 2 * norm.sf(fine), color=BLACK, linestyle="--", label="standard normal")
        axes.set_yscale("log")
        axes.set_ylim(1e-5, 1)
        axes.set_xlabel("threshold of |z|")
        axes.set_title(features, fontsize=9)
    figure.axes[0].set_ylabel("share of rounds above it")
    figure.axes[0].legend(fontsize=7.5)
    return figure


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
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
    return figure

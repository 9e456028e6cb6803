"""Tails of the Studentized residual."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import norm

from latentbandits.presentation.palette import BLACK, BLUE, GREEN, ORANGE, RED
from latentbandits_studies.experiments import residuals
from latentbandits_studies.experiments.registry import Illustration


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


FIGURES = (
    Illustration(
        "residuals",
        "How often |z| exceeds a threshold in a world whose state never changes. Left: the model is right. Right: the"
        " text's features. Bars: 95 % intervals over matrices.",
        tails,
    ),
)

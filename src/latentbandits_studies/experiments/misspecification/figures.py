"""Matched and misspecified learners, as bars."""

import pandas as pd
from matplotlib.figure import Figure

from latentbandits_studies.experiments import misspecification
from latentbandits_studies.experiments.paper import printed
from latentbandits_studies.experiments.paper.bars import bars
from latentbandits_studies.experiments.registry import Illustration


def mismatch(results: pd.DataFrame) -> Figure:
    """Plot matched and misspecified learners; D-UCB with the setting that fits its published figures, where there are any."""
    cases = list(dict.fromkeys(results["case"]))
    fitted = misspecification.fitted_discounting(results)
    figure = Figure(figsize=(9.4, 5.8))
    texts = ["AdaRP matched", "AdaRP", "SW-UCB", "D-UCB (fitted)", "AdaSP matched", "AdaSP"]
    for axes, case in zip(figure.subplots(2, 4).flat, cases, strict=True):
        known: list[float | None] = [*printed.MISSPECIFICATION.get(case, (None,) * 4), None, None]
        if case == "stay 0.5":
            known[4:] = printed.SEQUENTIAL
        names = [misspecification.MATCHED, misspecification.BLIND, "sw-ucb", fitted, "adasp-ucb matched", "adasp-ucb"]
        bars(axes, results, case, names, texts, known)
    for axes in figure.axes[::4]:
        axes.set_ylabel("regret per unit")
    return figure


FIGURES = (
    Illustration(
        "misspecification",
        "Matched learners are given the true statistic; the others have gates and lag as the text states them. D-UCB "
        "is fitted to its published figures. Diamonds: published. Dotted: the Bayes limit. Bars: 95 % intervals over "
        "matrices.",
        mismatch,
    ),
)

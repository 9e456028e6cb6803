"""What each part of adaptive probing is worth, as bars."""

import pandas as pd
from matplotlib.figure import Figure

from latentbandits.presentation.palette import label
from latentbandits_studies.experiments import ablation
from latentbandits_studies.experiments.paper import printed
from latentbandits_studies.experiments.paper.bars import bars
from latentbandits_studies.experiments.registry import Illustration


def parts(results: pd.DataFrame) -> Figure:
    """Ablations of AdaRP-UCB and AdaSP-UCB: a line of panels per case, a panel per profile of gates and lag."""
    titles = {
        "pair": "stated gates, lag as pair",
        "slopes": "stated gates, lag as slopes",
        "fitted": "fitted gates and lag",
    }
    cases = list(dict.fromkeys(results["case"]))
    figure = Figure(figsize=(9.4, 10.2))
    grid = figure.subplots(len(cases), len(titles), sharey="row", squeeze=False)
    names = [(policy, variant) for policy in ("adarp-ucb", "adasp-ucb") for variant in ablation.variants(policy)]
    for row, (line, case) in enumerate(zip(grid, cases, strict=True)):
        for axes, (profile, title) in zip(line, titles.items(), strict=True):
            known = [
                printed.ABLATION[policy].get("fixed schedule" if variant.startswith("fixed") else variant)
                if "0.95" in case
                else None
                for policy, variant in names
            ]
            labels = [f"{policy}|{profile}|{variant}" for policy, variant in names]
            texts = (
                [f"{label(policy)[:5]} {variant}" for policy, variant in names]
                if row == len(cases) - 1
                else [""] * len(names)
            )
            bars(axes, results, case, labels, texts, known)
            axes.set_title(f"{case}\n{title}", fontsize=8)
        line[0].set_ylabel("regret per unit")
    return figure


FIGURES = (
    Illustration(
        "ablation",
        "What each part buys; the fixed schedule has the same features. Diamonds: published (there the fixed "
        "schedules are RP-UCB and SP-UCB). Dotted: the Bayes limit. Bars: 95 % intervals over matrices.",
        parts,
    ),
)

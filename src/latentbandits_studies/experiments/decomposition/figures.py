"""App and Reg along each policy's own run, as bars."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentbandits.presentation.palette import label
from latentbandits_studies.experiments import decomposition as parts
from latentbandits_studies.experiments.decomposition.bars import bars, explain
from latentbandits_studies.experiments.paper.worlds import TITLES
from latentbandits_studies.experiments.registry import Illustration


def decomposition(results: pd.DataFrame) -> Figure:
    """Plot the regret of every policy, split by each statistic of its own history, on three worlds."""
    table = parts.table(results)
    pairs = [(name, statistic) for name, statistics in parts.STATISTICS.items() for statistic in statistics]
    # policies stand apart
    groups = np.cumsum([0] + [0.7 * (pairs[i][0] != pairs[i - 1][0]) for i in range(1, len(pairs))])
    places = np.arange(len(pairs)) + groups
    figure = Figure(figsize=(9.6, 6.4))
    for i, (axes, row) in enumerate(zip(figure.subplots(1, len(parts.ROWS)), parts.ROWS, strict=True)):
        bars(axes, places, table[table["case"] == row].reset_index(drop=True))
        axes.set_title(TITLES[row], fontsize=9)
        axes.set_xlabel("regret per unit")
        if i:
            axes.set_yticks(places, [])
            continue
        axes.set_yticks(places, [statistic for _, statistic in pairs], fontsize=8)
        for name in parts.STATISTICS:
            mine = places[[pair[0] == name for pair in pairs]]
            axes.text(
                -0.46,
                mine.mean(),
                label(name),
                transform=axes.get_yaxis_transform(),
                ha="right",
                va="center",
                fontsize=8.5,
            )
    explain(figure, bool((table["reg"] < 0).any()))
    return figure


FIGURES = (
    Illustration(
        "decomposition",
        "App and Reg along each policy's own run, for the summaries that it uses. Bars: 95 % intervals over matrices.",
        decomposition,
    ),
)

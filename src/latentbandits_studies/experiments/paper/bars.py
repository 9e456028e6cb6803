"""Bars that two experiments share: mean regret with intervals beside the published figures."""

import pandas as pd
from matplotlib.axes import Axes

from latentbandits.policies.groups import LIMIT
from latentbandits.presentation.palette import BLACK, style
from latentbandits.simulation.results import interval


def bars(
    axes: Axes, results: pd.DataFrame, case: str, names: list[str], texts: list[str], published: list[float | None]
) -> None:
    """Plot mean regret with intervals as bars, the published figures as diamonds, the limit as a line."""
    part = results[results["case"] == case]
    per_draw = part.groupby(["policy", "draw"])["regret"].mean()
    for x, name in enumerate(names):
        mean, low, high = interval(per_draw[name].to_numpy())
        hatch = "//" if "|" in name and not name.endswith(("full", "slopes")) else None
        axes.bar(x, mean, color=style(name).color, alpha=0.75, hatch=hatch, edgecolor="white")
        axes.errorbar(x, mean, yerr=[[mean - low], [high - mean]], color=BLACK, capsize=2, linewidth=1)
        known = published[x]
        if known is not None:
            axes.plot(x, known, marker="D", color="white", markeredgecolor=BLACK, ms=5, zorder=5)
    axes.axhline(per_draw[LIMIT].mean(), color=BLACK, linestyle=style(LIMIT).line)
    axes.set_xticks(range(len(names)), texts, rotation=40, ha="right", fontsize=7.5)
    axes.set_title(case, fontsize=9)

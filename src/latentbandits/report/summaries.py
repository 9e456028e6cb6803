"""What a summary of the history cannot tell, and what the learner makes of it: App and Reg as bars."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from latentbandits.experiments import ladder as rungs
from latentbandits.experiments.paper import decomposition as parts
from latentbandits.experiments.paper.worlds import TITLES
from latentbandits.presentation.palette import BLACK, BLUE, ORANGE, label

# App: what is not known. Reg: what is not done with it.
COLOURS = {"app": BLUE, "reg": ORANGE}
PAID: Mapping[str, Any] = {"linestyle": "none", "marker": "D", "ms": 4.5, "color": "white", "markeredgecolor": BLACK}
LEGEND = {
    "app": "App: what the summary cannot tell",
    "reg": "Reg: what the learner loses beyond it",
}


def bars(axes: Axes, places: np.ndarray, lines: pd.DataFrame) -> None:
    """Draw App from zero and Reg beside it, so that their end is the regret; whiskers are 95 % intervals of each over draws.

    A negative Reg goes back from the end of App, hatched.
    """
    app, reg = lines["app"].to_numpy(), lines["reg"].to_numpy()
    gain = reg < 0
    axes.barh(places, app, 0.74, color=COLOURS["app"])
    axes.barh(places[~gain], reg[~gain], 0.74, left=app[~gain], color=COLOURS["reg"])
    axes.barh(
        places[gain],
        -reg[gain],
        0.5,
        left=(app + reg)[gain],
        color="white",
        edgecolor=COLOURS["reg"],
        hatch="////",
        linewidth=0.6,
    )
    for term, end, lane in (("app", app, -0.17), ("reg", app + reg, 0.17)):
        reach = (lines[f"{term}_high"] - lines[term]).to_numpy()
        axes.errorbar(end, places + lane, xerr=reach, fmt="none", ecolor=BLACK, elinewidth=0.9, capsize=2)
    axes.set_ylim(places.max() + 0.6, places.min() - 0.6)
    axes.set_xlim(left=0)
    axes.grid(visible=False, axis="y")


def _explain(figure: Figure, losing: bool, others: Sequence[Artist] = ()) -> None:
    handles: list[Artist] = [Patch(color=COLOURS[term], label=text) for term, text in LEGEND.items()]
    if losing:
        text = "Reg below 0: the learner beats the summary"
        handles.append(Patch(facecolor="white", edgecolor=COLOURS["reg"], hatch="////", label=text))
    handles.extend(others)
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8)


def decomposition(results: pd.DataFrame) -> Figure:
    """Draw the regret of every policy, split by each statistic of its own history, on three worlds."""
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
    _explain(figure, bool((table["reg"] < 0).any()))
    return figure


def ladder(results: pd.DataFrame) -> Figure:
    """Draw App and Reg of every rung in four worlds: which term a richer summary lowers."""
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
    _explain(figure, bool((table["reg"] < 0).any()), [mark])
    return figure


def _rounds(results: pd.DataFrame) -> int:
    quick = "quick" in results and bool(results["quick"].iloc[0])
    return rungs.QUICK_HORIZON if quick else rungs.HORIZON

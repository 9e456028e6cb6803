"""App, the loss of a summary of the history, and Reg, what the learner loses beyond it, as bars."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from latentbandits.presentation.palette import BLACK, BLUE, ORANGE

# App: what is not known. Reg: what is not done with it.
COLOURS = {"app": BLUE, "reg": ORANGE}
PAID: Mapping[str, Any] = {"linestyle": "none", "marker": "D", "ms": 4.5, "color": "white", "markeredgecolor": BLACK}
LEGEND = {
    "app": "App: what the summary cannot tell",
    "reg": "Reg: what the learner loses beyond it",
}


def bars(axes: Axes, places: np.ndarray, lines: pd.DataFrame) -> None:
    """Plot App from zero and Reg beside it, so that their end is the regret; whiskers are 95 % intervals of each over draws.

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


def explain(figure: Figure, losing: bool, others: Sequence[Artist] = ()) -> None:
    """Add the legend; `losing` says whether some Reg is negative."""
    handles: list[Artist] = [Patch(color=COLOURS[term], label=text) for term, text in LEGEND.items()]
    if losing:
        text = "Reg below 0: the learner beats the summary"
        handles.append(Patch(facecolor="white", edgecolor=COLOURS["reg"], hatch="////", label=text))
    handles.extend(others)
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8)

"""The plots and tables that experiments share: curves and dots with intervals, bars beside published figures, heat maps."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from latentbandits.policies.groups import LIMIT
from latentbandits.presentation.html import frame as html_frame
from latentbandits.presentation.html import tag
from latentbandits.presentation.palette import BLACK, label, style
from latentbandits.simulation.results import interval
from latentbandits_studies.experiments.claims import per_draw

Span = tuple[float, float, float]  # a mean and its interval


def panels(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, row by row."""
    figure = Figure(figsize=size)
    return figure, list(figure.subplots(rows, columns, squeeze=False, **options).flat)


def look(name: str, **changes: Any) -> dict[str, Any]:
    """Return how a policy looks in every figure, with some changes."""
    return {"color": style(name).color, "linestyle": style(name).line, "label": label(name)} | changes


def curve(axes: Axes, x: Sequence[float] | np.ndarray | pd.Series, cells: Iterable[Span], **looks: Any) -> None:
    """Plot means over x, with their intervals."""
    mean, low, high = np.array(list(cells), float).T
    reach = np.maximum([mean - low, high - mean], 0.0)  # rounding may leave less than nothing
    given: dict[str, Any] = {"marker": "o", "ms": 3, "capsize": 2} | looks
    axes.errorbar(x, mean, yerr=reach, **given)


def dots(axes: Axes, cells: Iterable[Span], places: Sequence[float] | np.ndarray, **looks: Any) -> None:
    """Plot means as marks in rows, with their intervals from left to right."""
    mean, low, high = np.array(list(cells), float).T
    reach = np.maximum([mean - low, high - mean], 0.0)
    given: dict[str, Any] = {"linestyle": "none", "marker": "o", "ms": 4, "capsize": 2} | looks
    axes.errorbar(mean, places, xerr=reach, **given)


def of_draws(results: pd.DataFrame, case: str, names: Iterable[str]) -> list[Span]:
    """Return the mean regret and its interval over draws, for some policies of a case."""
    return [interval(per_draw(results, case, name)) for name in names]


def ticks(axes: Axes, values: Sequence[float], name: str = "", across: bool = True) -> None:
    """Make an axis logarithmic, with ticks at these values."""
    axis, scale = (axes.xaxis, axes.set_xscale) if across else (axes.yaxis, axes.set_yscale)
    scale("log")
    axis.set_ticks(values, labels=[f"{value:,g}" for value in values], fontsize=8)
    axis.set_ticks([], minor=True)
    if name:
        axis.set_label_text(name)


def limit(axes: Axes, results: pd.DataFrame, case: str, scale: float = 1.0, **changes: Any) -> None:
    """Plot the regret of the Bayes limit in a case as a line."""
    axes.axhline(per_draw(results, case, LIMIT).mean() * scale, **look(LIMIT, color=BLACK) | changes)


def stripe(axes: Axes, places: int) -> None:
    """Shade every other row of a plot with a row per case, the first on top."""
    for place in range(0, places, 2):
        axes.axhspan(place - 0.5, place + 0.5, color="#f3f3f3", linewidth=0, zorder=0)
    axes.set_ylim(places - 0.5, -0.5)
    axes.grid(visible=False, axis="y")


def bars(
    axes: Axes, results: pd.DataFrame, case: str, names: list[str], texts: list[str], published: list[float | None]
) -> None:
    """Plot mean regret with intervals as bars, the published figures as diamonds, the limit as a line."""
    for x, (name, printed_value) in enumerate(zip(names, published, strict=True)):
        span = interval(per_draw(results, case, name))
        axes.bar(x, span[0], color=style(name).color, alpha=0.75, edgecolor="white")
        curve(axes, [x], [span], color=BLACK, marker="", linewidth=1)
        if printed_value is not None:
            axes.plot(x, printed_value, marker="D", color="white", markeredgecolor=BLACK, ms=5, zorder=5)
    limit(axes, results, case)
    axes.set_xticks(range(len(names)), texts, rotation=40, ha="right", fontsize=7.5)
    axes.set_title(case, fontsize=9)


def heat_map(
    axes: Axes, values: np.ndarray, rows: Sequence[str], columns: Sequence[str], rotation: float, **options: Any
) -> AxesImage:
    """Plot a table of numbers as colours, with the names of its rows and columns."""
    image = axes.imshow(values, aspect="auto", interpolation="none", **options)
    axes.set_xticks(range(len(columns)), columns, rotation=rotation, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), rows)
    axes.grid(visible=False)
    return image


def titled(title: str, words: str, table: pd.DataFrame) -> str:
    """Return a table of the page, folded under its title, and what it shows; its first column names the rows."""
    return tag("details", tag("summary", title), html_frame(table.set_index(table.columns[0]), caption=words))


def spans(table: pd.DataFrame, name: str, form: str, low: str = "low", high: str = "high") -> list[str]:
    """Return a column of means with their intervals as text.

    Examples
    --------
    >>> import pandas as pd
    >>> from latentbandits_studies.experiments.plots import spans
    >>> spans(pd.DataFrame({"ratio": [1.5], "low": [1.25], "high": [2.0]}), "ratio", ".2f")
    ['1.50 (1.25 to 2.00)']
    """
    return [
        f"{mean:{form}} ({least:{form}} to {most:{form}})" for mean, least, most in table[[name, low, high]].to_numpy()
    ]

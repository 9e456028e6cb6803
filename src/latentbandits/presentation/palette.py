"""The same colour and line for the same policy everywhere; safe for colour-blind eyes (Okabe & Ito 2008)."""

import base64
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.figure
from matplotlib.axes import Axes

from latentbandits.policies.registry import REGISTRY


class Figure(matplotlib.figure.Figure):
    """A figure that a notebook shows by itself, without pyplot and without a magic."""

    def _repr_html_(self) -> str:
        return f'<img alt="figure" src="data:image/svg+xml;base64,{base64.b64encode(saved(self, "svg")).decode()}">'


class Style(NamedTuple):
    """Colour and line of one policy: hues for families, lines for their members."""

    color: str
    line: Any


HUES: Mapping[str, str] = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#D8C800",
    "blue": "#0072B2",
    "red": "#D55E00",
    "pink": "#CC79A7",
    "grey": "#888888",
    "brown": "#7A4A1E",
}
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK, GREY, BROWN = HUES.values()
LINES: Mapping[str, Any] = {"dotted": (0, (1, 1)), "long": (0, (9, 2))}  # line styles without a symbol of matplotlib
STYLES: Mapping[str, Style] = {
    name: Style(HUES[hue], LINES.get(line, line)) for name, row in REGISTRY.items() for hue, line in [row.look.split()]
}


def style(name: str) -> Style:
    """Return the style of a policy; variants ("adarp-ucb stated", "adarp-ucb:groups=2", "scaled(ucb1)") look like the policy they vary."""
    return STYLES.get(_parts(name.removeprefix("scaled("))[0], Style(GREY, "-"))


def label(name: str) -> str:
    """Return a policy's label in figures; variants are named after the policy they vary.

    Examples
    --------
    >>> from latentbandits.presentation.palette import label
    >>> label("state-library|two groups"), label("adasp-ucb:staleness=12,min_gap=4"), label("mine:Greedy")
    ('StateLibrary, two groups', 'AdaSP-UCB (staleness=12, min_gap=4)', 'mine:Greedy')
    >>> label("scaled(ucb1:exploration=1)"), label("scaled:opening=2")
    ('Scaled UCB1 (exploration=1)', 'Scaled (opening=2)')
    """
    base, rest = _parts(name)
    if base not in REGISTRY:
        return name
    if rest.startswith("("):
        return f"{REGISTRY[base].label} {label(rest[1 : rest.rfind(')')])}"
    if rest.startswith(":"):
        return f"{REGISTRY[base].label} ({rest[1:].replace(',', ', ')})"
    return REGISTRY[base].label + rest.replace("|", ", ")


def _parts(name: str) -> tuple[str, str]:
    """Return the policy's own name and what makes it a variant."""
    base = re.split(r"[|:() ]", name, maxsplit=1)[0]
    return base, name[len(base) :]


@contextmanager
def plotting() -> Iterator[None]:
    """Plot as all figures are plotted: plain, readable, the same bytes every time."""
    with mpl.rc_context(
        {
            "axes.grid": True,
            "axes.spines.right": False,
            "axes.spines.top": False,
            "figure.constrained_layout.use": True,
            "font.size": 9,
            "grid.alpha": 0.3,
            "grid.linewidth": 0.5,
            "legend.frameon": False,
            "lines.linewidth": 1.4,
            "svg.fonttype": "path",
            "svg.hashsalt": "latentbandits",
        }
    ):
        yield


def saved(figure: matplotlib.figure.Figure, form: str) -> bytes:
    """Return a figure as the content of a file, svg, png or pdf; with no date and no versions, so that the same run is the same file."""
    nameless = {"svg": {"Date": None}, "png": {"Software": None}, "pdf": {"CreationDate": None}}
    content = BytesIO()
    with plotting(), warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "Glyph "
        )  # a name in a script that the font does not have is a box in the figure
        figure.savefig(content, format=form, dpi=200, metadata=nameless[form])
    return content.getvalue()


def legend_below(figure: matplotlib.figure.Figure, axes: Axes, columns: int) -> None:
    """Put one legend for all axes below them, with what one of them shows."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8)

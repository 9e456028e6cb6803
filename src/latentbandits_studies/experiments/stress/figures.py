"""A heat map of all worlds and policies, and two tables: by world, and by policy."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from latentbandits.policies.groups import LIBRARY
from latentbandits.presentation.html import Cell, Html, tag
from latentbandits.presentation.html import table as html_table
from latentbandits.presentation.numbers import figure as number
from latentbandits.presentation.numbers import multiple, percent
from latentbandits.presentation.palette import label
from latentbandits_studies.experiments.registry import Illustration
from latentbandits_studies.experiments.stress import claims
from latentbandits_studies.experiments.stress.worlds import KINDS

# Ratios from here on have the last colour
MOST = 10.0
_TICKS = (1, 1.5, 2, 3, 5, 10)
# From light to dark in equal steps of lightness, also for colour-blind eyes
COLOURS = "cividis_r"
# A number on the colour of a ratio above this is white
DARK = 2.4
DOT = "\N{BLACK CIRCLE}"


def _columns(results: pd.DataFrame) -> list[str]:
    """Return the policies: StateLibrary, then the others, with the lowest typical ratio first."""
    typical = claims.standings(results).set_index("policy")["typical"].drop(LIBRARY).sort_values()
    return [LIBRARY, *typical.index]


def heat_map(results: pd.DataFrame) -> Figure:
    """Ratio to the best of all policies, per world and policy."""
    names = _columns(results)
    found = claims.duels(results).pivot(index="world", columns="policy", values="to_best")
    worlds = [world for world in KINDS if world in found.index]
    ratios = found.loc[worlds, names].to_numpy()
    figure = Figure(figsize=(3.2 + 0.33 * len(names), 1.6 + 0.175 * len(worlds)))
    axes = figure.subplots()
    image = axes.imshow(ratios, norm=LogNorm(1, MOST, clip=True), cmap=COLOURS, aspect="auto", interpolation="none")
    for row, line in enumerate(ratios):
        for column, value in enumerate(line):
            text = DOT if value <= 1 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
            shown = axes.text(column, row, text, ha="center", va="center", fontsize=8 if text == DOT else 6)
            shown.set_color("white" if value > DARK else "black")
            shown.set_fontweight("bold" if value <= claims.NEAR else "normal")
    axes.set_xticks(range(len(names)), [label(name) for name in names], rotation=60, ha="left", rotation_mode="anchor")
    axes.get_xticklabels()[0].set_fontweight("bold")
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(worlds)), worlds, fontsize=7.5)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    _kinds(axes, worlds, len(names))
    bar = figure.colorbar(image, ax=axes, location="bottom", extend="max", aspect=50, shrink=0.7, pad=0.01)
    bar.set_ticks(_TICKS, labels=[f"{tick:g}" for tick in _TICKS])
    bar.set_ticks([], minor=True)
    bar.set_label(
        "mean regret / that of the best policy in this world (log scale); bold: at most 10 % above, dot: the best"
    )
    return figure


def _kinds(axes: Axes, worlds: list[str], columns: int) -> None:
    """Separate the kinds of worlds, and name them on the right."""
    kinds = [KINDS[world] for world in worlds]
    for kind in dict.fromkeys(kinds):
        rows = [row for row, other in enumerate(kinds) if other == kind]
        if rows[0] > 0:
            axes.axhline(rows[0] - 0.5, color="white", linewidth=3)
        axes.text(columns - 0.3, (rows[0] + rows[-1]) / 2, kind, va="center", fontsize=8.5, fontweight="bold")
    axes.axvline(0.5, color="white", linewidth=3)


def tables(results: pd.DataFrame) -> str:
    """Return both tables as HTML."""
    return _by_policy(results) + _by_world(results)


def _by_policy(results: pd.DataFrame) -> str:
    lines = []
    for line in claims.standings(results).itertuples():
        span = tag("small", f"{line.worst_low:.2f} to {line.worst_high:.2f}, {line.worst_world}")
        lines.append(
            [
                label(str(line.policy)),
                f"{line.near} of {line.worlds}",
                str(line.first),
                multiple(line.typical),
                Html(f"{multiple(line.worst)}{span}"),
                percent(line.stuck, 1),
                f"{line.worst_run:.1f}",
            ]
        )
    heads = [
        "policy",
        "within 10 % of the best other",
        "best",
        "typical ratio",
        "worst ratio",
        "stuck runs",
        "worst run",
    ]
    words = (
        "In how many worlds a policy is at most 10 % above the best of all others, and in how many it is the best; the geometric mean "
        "of its ratios to the best; its worst ratio to the best other, with the 95 % interval over draws; and the share of runs with more "
        f"than {claims.STUCK:g} times the median regret of the best other, with the worst run as a multiple of that median."
    )
    return tag("h3", "By policy") + tag("p", words) + html_table(heads, lines)


def _by_world(results: pd.DataFrame) -> str:
    lines = []
    for line in claims.table(results).itertuples():
        verdict = "not" if line.low > claims.NEAR else "holds" if line.high <= claims.NEAR else ""
        span = tag("small", f"{line.low:.2f} to {line.high:.2f}")
        lines.append(
            [
                line.world,
                KINDS[str(line.world)],
                number(line.regret),
                f"{label(str(line.best_other))} {number(line.best_regret)}",
                Cell(Html(f"{multiple(line.ratio)}{span}"), verdict),
                percent(line.stuck),
                f"{line.worst_run:.1f}",
            ]
        )
    heads = ["world", "kind", label(LIBRARY), "best other", "ratio", "stuck runs", "worst run"]
    words = (
        "StateLibrary against the best of all other policies, its worst ratio first; regret is the mean over draws. Coloured: the 95 % "
        "interval lies above 1.10, or below it. The file stress.csv has the ratio of every policy to the best in further columns."
    )
    return tag("h3", "By world") + tag("p", words) + html_table(heads, lines, text=(0, 1, 3))


FIGURES = (
    Illustration(
        "stress",
        "Every policy that is given nothing about the world, in every world: regret over that of the best policy there. Dark is bad. "
        "Where means are not on [0, 1], policies that expect it learn the range (scaled(NAME)).",
        heat_map,
    ),
)
INTRODUCTION = tag(
    "p",
    "Worlds of the kinds that users have, one difficulty at a time and some at once; none of them was used to choose a setting. "
    "No policy is given anything about them, but those that expect rewards on [0, 1] get them there in most worlds. The best policy of a "
    "world is picked in hindsight.",
)

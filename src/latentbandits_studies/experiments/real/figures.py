"""The share of the attainable gain that every policy gets, dataset by dataset."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from latentbandits.policies.groups import LIBRARY
from latentbandits.presentation.html import Cell, Html, table, tag
from latentbandits.presentation.palette import BLACK, BLUE, GREY, ORANGE, label
from latentbandits_studies.data import load, names
from latentbandits_studies.experiments.real import claims
from latentbandits_studies.experiments.registry import Illustration

INTRODUCTION = tag(
    "p",
    "Recorded problems in which the reward of every arm is known in every round, so that nothing is made up: ",
    tag("code", "latentbandits_studies.data"),
    " ships them with source and licence. Policies are given nothing and play one arm in each round. There is no limit here: the "
    "references are the best single arm and the best sequence of arms with few switches, both picked in hindsight. Such a sequence also "
    "follows noise, so a share of 1 is out of reach.",
)


def tables(results: pd.DataFrame) -> str:
    """Return all tables."""
    return _standings(results) + _rewards(results) + _weather(results)


def _standings(results: pd.DataFrame) -> str:
    lines: list[list[str | Cell]] = []
    for line in claims.standings(results).to_dict("records"):
        behind, first = line["difference_high"] < 0, line["rank"] == 1
        spans = [
            Html(f"{line[name]:+.4g}" + tag("small", f"{line[f'{name}_low']:+.3g} to {line[f'{name}_high']:+.3g}"))
            for name in ("difference", "gain")
        ]
        lines.append(
            [
                Html(line["dataset"] + tag("small", load(line["dataset"]).summary)),
                f"{label(line['winner'])} {line['winner_reward']:.4g}",
                f"{line['reward']:.4g}",
                Cell(f"{line['rank']} of {line['policies']}", "best" if first else "not" if behind else ""),
                Html(spans[0] + tag("small", f"to {label(line['other'])}")),
                f"{line['best_arm']} {line['best_arm_reward']:.4g}",
                spans[1],
                f"{line[f'switches_{claims.MAIN}']:.4g}",
            ]
        )
    heads = ["dataset", "winner", label(LIBRARY), "its rank", "difference to the best other", "best single arm"]
    heads += ["difference to it", f"{claims.MAIN} switches"]
    words = (
        "Mean reward of a round. The winner and the best other policy are picked in hindsight. Coloured: first, or behind with certainty; "
        "intervals over blocks of time and seeds, which all datasets share the 5 % of."
    )
    return tag("h3", "Standings") + tag("p", words) + table(heads, lines, classes="wide")


def _rewards(results: pd.DataFrame) -> str:
    found = claims.summary(results)
    policies = list(dict.fromkeys(found["policy"].map(claims.plain)))
    lines = []
    for name in names():
        part = found[found["dataset"] == name]
        cells = part.assign(policy=part["policy"].map(claims.plain)).set_index("policy")
        best = cells["reward"].idxmax()
        line: list[str | Cell] = [name]
        for policy in policies:
            cell = cells.loc[policy]
            halves = ((cell["seed_high"] - cell["seed_low"]) / 2, (cell["high"] - cell["low"]) / 2)
            inner = tag("small", "\N{PLUS-MINUS SIGN} " + ", ".join(f"{half:.2g}" for half in halves))
            line.append(Cell(Html(f"{cell['reward']:.4g}{inner}"), "best" if policy == best else ""))
        lines.append(line)
    words = "Mean reward of a round, and half the width of its 95 % intervals: over seeds alone, and over blocks of time and seeds."
    return (
        tag("h3", "All policies") + tag("p", words) + table(["dataset", *map(label, policies)], lines, classes="wide")
    )


def _weather(results: pd.DataFrame) -> str:
    lines = [
        [
            line["dataset"],
            line["measurement"],
            f"{line['correlation']:+.3f}",
            f"{line['p']:.4f}",
            Cell(f"{line['corrected']:.4f}", "best" if line["corrected"] < claims.LEVEL else ""),
            f"{line['of_rewards']:+.3f}",
        ]
        for line in claims.weather(results).to_dict("records")
    ]
    words = (
        "Does the state that StateLibrary believes to be in go with the weather, which it does not see? Rank correlation of the mean "
        "reward of that state with each measurement (mean of the three airports; visibility: the least, precipitation: the most), without "
        "the mean of the hour of the day. p-values by circular shifts of at least a week, then corrected for all lines (Holm)."
    )
    heads = ["dataset", "measurement", "correlation", "p", "corrected p", "correlation of the rewards themselves"]
    return tag("h3", "Believed states and the weather") + tag("p", words) + table(heads, lines, text=(0, 1))


_TICKS = (-100, -30, -10, -3, -1, -0.5, 0, 0.5, 1)
_SHARE = f"share_{claims.MAIN}"


def shares(results: pd.DataFrame) -> Figure:
    """Plot a row per dataset: all policies as dots, StateLibrary and the best other policy marked, with their intervals."""
    cells = claims.summary(results).set_index(["dataset", "policy"])
    order = claims.standings(results).set_index("dataset")
    order = order.loc[cells[_SHARE].xs(LIBRARY, level="policy").sort_values(ascending=False).index]
    figure = Figure(figsize=(9.4, 1.9 + 0.34 * len(order)))
    axes = figure.subplots()
    for place, (name, line) in enumerate(order.iterrows()):
        _row(axes, place, cells.loc[str(name)], str(line["other"]))
    axes.axvline(0, color=BLACK, linewidth=1.2, zorder=1)
    axes.axvline(1, color=BLACK, linestyle=(0, (1, 1)), linewidth=1.2, zorder=1)
    axes.set_xscale("symlog", linthresh=1, linscale=1.2)
    axes.set_xlim(1.3 * min(-1.0, float(cells[_SHARE].min())), 1.25)
    axes.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
    axes.set_xticks([], minor=True)
    axes.set_yticks(
        range(len(order)), [f"{name}   {line['rank']} of {line['policies']}" for name, line in order.iterrows()]
    )
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    for share, words in ((0, "best\nsingle arm"), (1, f"{claims.MAIN}\nswitches")):
        axes.text(share, 1.005, words, ha="center", va="bottom", fontsize=8, transform=axes.get_xaxis_transform())
    axes.set_xlabel(f"share of what {claims.MAIN} switches earn beyond the best single arm, both picked in hindsight")
    handles, labels = axes.get_legend_handles_labels()
    shown = dict(zip(labels, handles, strict=True))
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=3, fontsize=8)
    return figure


def _row(axes: Axes, place: int, cells: pd.DataFrame, other: str) -> None:
    """Plot one dataset: the crowd, the best other policy, StateLibrary."""
    if place % 2 == 0:
        axes.axhspan(place - 0.5, place + 0.5, color="#f3f3f3", linewidth=0, zorder=0)
    crowd = cells.drop([LIBRARY, other])[_SHARE]
    axes.plot(crowd, [place] * len(crowd), "o", ms=4, color=GREY, alpha=0.5, label="another policy", zorder=2)
    best = {"color": ORANGE, "marker": "s", "ms": 6, "label": "the best other policy, named at the right"}
    _marked(axes, place - 0.17, cells.loc[other], best)
    _marked(axes, place + 0.17, cells.loc[LIBRARY], {"color": BLUE, "marker": "D", "ms": 7, "label": label(LIBRARY)})
    axes.annotate(
        label(claims.plain(other)),
        (1, place),
        xytext=(6, 0),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        va="center",
        fontsize=8,
        annotation_clip=False,
    )


def _marked(axes: Axes, place: float, cell: pd.Series, look: dict[str, Any]) -> None:
    share, low, high = (float(cell[name]) for name in (_SHARE, "share_low", "share_high"))
    ends = [[max(share - low, 0.0)], [max(high - share, 0.0)]]
    axes.errorbar([share], [place], xerr=ends, linestyle="none", elinewidth=1.2, capsize=2, zorder=4, **look)


FIGURES = (
    Illustration(
        "real",
        "One row per dataset, with StateLibrary's rank, the best on top; the axis is linear from -1 to 1 and logarithmic below. 0 is the "
        "reward of the best single arm, 1 that of the best sequence with 100 switches, both known in hindsight only. Bars: 95 % intervals "
        "of the reward beyond the best single arm, over blocks of time and seeds.",
        shares,
    ),
)

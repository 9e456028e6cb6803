"""Multiples of the limit in all worlds, and what each part of StateLibrary is worth."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from latentbandits.policies.groups import FORGETFUL, LIBRARY, LIMIT, PEERS, SINGLE_GROUP, TWO_GROUP
from latentbandits.presentation.html import Cell, Html, table, tag
from latentbandits.presentation.numbers import figure
from latentbandits.presentation.palette import BLACK, GREY, label, style
from latentbandits_studies.experiments.paper.worlds import COLUMNS, LIBRARY_TWO, TITLES, rows
from latentbandits_studies.experiments.registry import Illustration
from latentbandits_studies.experiments.state_library import claims, settings

INTRODUCTION = tag(
    "p",
    tag("strong", "StateLibrary"),
    " is not in the paper. It is given nothing: not the noise, the range of rewards, the number of states or how often they change. It "
    "stands here beside the paper's policies, four change-point policies from other papers (",
    tag("em", "peers"),
    ") and the Bayes limit, on the same worlds.",
) + tag(
    "p",
    f"Its settings were tuned on worlds of the seeds {', '.join(map(str, settings.TUNED_SEEDS))}; every result here is of seed "
    f"{settings.SEED}. The paper's policies have the settings that fit the main table in every world, and expect rewards between 0 and "
    "1. The ",
    tag("em", "Bayes limit"),
    " is a filter that is given means, chain and noise, and that plans: it plays an arm for what its reward says about the state if that "
    "is worth it. The limit has one group, also where a policy has two, which can test with one of them.",
)


def tables(results: pd.DataFrame) -> str:
    """Return where StateLibrary loses, the multiples, and all differences to the paper's policies, as HTML."""
    return _lost(results) + _multiples(results) + _differences(results)


def _lost(results: pd.DataFrame) -> str:
    head = tag("h3", "Where it still loses")
    found = claims.lost(results)
    if found.empty:
        return head + tag("p", "In none of these cases.")
    lines = [
        [
            settings.title(line["case"]),
            label(line["policy"]),
            figure(line["regret"]),
            label(line["ours"]),
            figure(line["state-library"]),
            f"{figure(line['difference'])} ({figure(line['low'])} to {figure(line['high'])})",
            "yes" if line["sure"] else "no",
        ]
        for _, line in found.iterrows()
    ]
    words = (
        "Every case in which a policy without knowledge of the world has less regret than StateLibrary with as many groups. Sure: the "
        "95 % interval of the paired difference excludes zero."
    )
    heads = ["case", "better", "regret", "than", "regret", "difference", "sure"]
    return head + tag("p", words) + table(heads, lines)


def _multiples(results: pd.DataFrame) -> str:
    lines = []
    for case, part in claims.summary(results).groupby("case", sort=False):
        cells = part.set_index("policy")
        group = cells["group"].iloc[0]
        shown = [LIBRARY, FORGETFUL]
        shown += [cells.loc[list(group), "regret"].idxmin() for group in (SINGLE_GROUP, PEERS)]
        line = [settings.title(str(case)), f"{label(group)} {figure(cells.loc[group, 'regret'])}"]
        for name in shown:
            cell = cells.loc[name]
            who = "" if name in (LIBRARY, FORGETFUL) else f" {label(name)}"
            span = tag("small", f"{cell['multiple_low']:.2f} to {cell['multiple_high']:.2f}")
            line.append(Html(f"{cell['multiple']:.2f}{who}{span}"))
        lines.append(line)
    heads = [
        "case",
        "limit, or best rival: regret",
        label(LIBRARY),
        label(FORGETFUL),
        "best of the paper, one group",
        "best peer",
    ]
    words = (
        "Regret over that of the limit, or of the best rival where there is no limit, with 95 % intervals over matrices. The best of a "
        "group is picked in hindsight, case by case."
    )
    return tag("h3", "Multiples") + tag("p", words) + table(heads, lines, classes="wide")


def _differences(results: pd.DataFrame) -> str:
    found = claims.differences(results).set_index(["row", "ours", "policy"])
    columns = [(LIBRARY, name) for name in COLUMNS] + [(LIBRARY_TWO, name) for name in TWO_GROUP]
    heads = [f"{label(name)}{' (two groups)' if ours == LIBRARY_TWO else ''}" for ours, name in columns]
    lines = []
    for row in rows():
        line: list[str | Cell] = [TITLES[row]]
        for ours, name in columns:
            cell = found.loc[(row, ours, name)]
            half = tag("small", f"\N{PLUS-MINUS SIGN} {(cell['high'] - cell['low']) / 2:,.1f}")
            line.append(Cell(Html(f"{cell['difference']:,.1f}{half}"), "" if cell["high"] < 0 else "not"))
        lines.append(line)
    words = (
        "Regret of StateLibrary less that of each policy, on the same runs, with 95 % intervals over matrices; below zero is better. The "
        "last two columns: StateLibrary with two groups. Coloured: the interval includes zero, or lies above it."
    )
    head = tag("h3", "Differences to the paper's policies") + tag("p", words)
    return head + table(["environment", *heads], lines, classes="wide")


# Members of a family share their colour; here the mark tells them apart
_MARKS = {"-": "o", "--": "s", "-.": "^", ":": "D"}
_TICKS = (0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500)


def multiples(results: pd.DataFrame) -> Figure:
    """Multiples of the Bayes limit, per row of the main table and policy."""
    table = claims.summary(results)
    figure = Figure(figsize=(9.4, 9.6))
    axes = figure.subplots()
    _dots(axes, table, list(rows()), (*TWO_GROUP, *SINGLE_GROUP, "best-single-arm"))
    axes.set_xlabel("regret / regret of the Bayes limit on the same runs")
    _legend(figure, axes)
    return figure


def other_worlds(results: pd.DataFrame) -> Figure:
    """Multiples of the limit in other worlds and with more arms; where there is no limit, of the best rival's regret."""
    table = claims.summary(results)
    others = [case for case in dict.fromkeys(table["case"]) if case not in rows()]
    limited = [case for case in others if case not in settings.UNLIMITED]
    figure = Figure(figsize=(9.4, 10.6))
    upper, lower = figure.subplots(2, 1, height_ratios=[len(limited), len(settings.UNLIMITED) + 0.6])
    _dots(upper, table, limited, SINGLE_GROUP)
    _dots(lower, table, list(settings.UNLIMITED), SINGLE_GROUP)
    upper.set_xlabel("regret / regret of the Bayes limit on the same runs")
    lower.set_xlabel("no limit here: regret / regret of the best rival on the same runs")
    _legend(figure, upper)
    return figure


def _dots(axes: Axes, table: pd.DataFrame, cases: list[str], paper: tuple[str, ...]) -> None:
    """Plot three lanes per case: the paper's policies, StateLibrary, the change-point peers."""
    cells = table.set_index(["policy", "case"])
    places = np.arange(len(cases))
    for place in places[::2]:
        axes.axhspan(place - 0.5, place + 0.5, color="#f3f3f3", linewidth=0, zorder=0)
    lanes = [(name, -0.27) for name in paper] + [(name, 0.27) for name in PEERS]
    for name, lane in lanes:
        part = cells.loc[name].reindex(cases)
        hollow = style(name).line != "-"
        axes.errorbar(
            part["multiple"],
            places + lane,
            xerr=_whiskers(part["multiple"], part["multiple_low"], part["multiple_high"]),
            color=style(name).color,
            linestyle="none",
            elinewidth=0.8,
            marker=_MARKS[str(style(name).line)],
            ms=4.5,
            markerfacecolor="white" if hollow else style(name).color,
            label=label(name),
            zorder=3,
        )
    single = [name for name in paper if name in SINGLE_GROUP]
    regret = cells["multiple"].unstack("policy").loc[cases, single]
    axes.plot(
        regret.min(axis=1),
        places - 0.27,
        linestyle="none",
        marker="o",
        ms=10,
        markerfacecolor="none",
        markeredgecolor=GREY,
        label="best with one group in the paper",
        zorder=2,
    )
    ours = _ours(axes, cells, places, cases)
    axes.axvline(1, color=BLACK, linestyle=style(LIMIT).line, linewidth=1.2, zorder=1)
    axes.set_xscale("log")
    shown = table[table["case"].isin(cases) & table["policy"].isin([*ours, *(name for name, _ in lanes)])]
    low, high = _limits(shown["multiple"], shown["multiple_low"], shown["multiple_high"])
    axes.set_xlim(low, high)
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    values = cells.loc[LIBRARY, "multiple"].reindex(cases)
    axes.set_yticks(
        places, [f"{settings.title(case)}   {value:.2f}" for case, value in zip(cases, values, strict=True)]
    )
    axes.set_ylim(len(cases) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")


def _ours(axes: Axes, cells: pd.DataFrame, places: np.ndarray, cases: list[str]) -> list[str]:
    """Plot StateLibrary and its variants where all cases have them, and return their names."""
    ours = [name for name in (FORGETFUL, LIBRARY_TWO, LIBRARY) if set(cases) <= set(cells.loc[name].index)]
    for name in ours:
        part = cells.loc[name].reindex(cases)
        full = name == LIBRARY
        axes.errorbar(
            part["multiple"],
            places + {LIBRARY: 0.0, LIBRARY_TWO: -0.1, FORGETFUL: 0.1}[name],
            xerr=_whiskers(part["multiple"], part["multiple_low"], part["multiple_high"]),
            color=BLACK,
            linestyle="none",
            elinewidth=1.6 if full else 0.8,
            capsize=3 if full else 0,
            marker={LIBRARY: "D", LIBRARY_TWO: "d", FORGETFUL: "X"}[name],
            ms=9 if full else 6,
            markerfacecolor=BLACK if full else "white",
            label=label(name),
            zorder=6 if full else 5,
        )
    return ours


def _limits(values: pd.Series, low: pd.Series, high: pd.Series) -> tuple[float, float]:
    """Return limits of an axis that show all values, and their intervals if these are not very wide."""
    least, most = min(1.0, float(values.min())), float(values.max())
    return max(0.7 * least, 0.93 * min(1.0, float(low.min()))), min(2 * most, 1.07 * float(high.max()))


def _whiskers(value: pd.Series, low: pd.Series, high: pd.Series) -> np.ndarray:
    found: np.ndarray = np.maximum(np.stack([value - low, high - value]), 0.0)  # rounding may leave less than nothing
    return found


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    last = [i for i, name in enumerate(labels) if name.startswith(label(LIBRARY))][::-1]
    order = last + [i for i in range(len(labels)) if i not in last]
    figure.legend(
        [handles[i] for i in order], [labels[i] for i in order], loc="outside lower center", ncols=4, fontsize=8
    )


def ablation(results: pd.DataFrame) -> Figure:
    """Regret of StateLibrary with one part taken away, relative to the full policy."""
    table = claims.parts(results)
    cases = list(dict.fromkeys(table["case"]))
    names = [name for name in settings.PARTS if name != "full"]
    figure = Figure(figsize=(9.4, 4.6))
    grid = figure.subplots(2, 3, sharey=True, sharex=True)
    for axes, case in zip(grid.flat, cases, strict=True):
        part = table[table["case"] == case].set_index("part").loc[names]
        errors = _whiskers(part["ratio"], part["low"], part["high"])
        axes.axvline(1, color=GREY, linewidth=1)
        axes.errorbar(part["ratio"], range(len(names)), xerr=errors, color=BLACK, linestyle="none", marker="o", ms=4)
        for place, (value, high) in enumerate(zip(part["ratio"], part["high"], strict=True)):
            axes.text(high * 1.04, place, f"{value:.2f}", va="center", fontsize=7.5)
        axes.set_title(settings.title(case), fontsize=9)
        axes.set_xscale("log")
    low, high = _limits(table["ratio"], table["low"], 1.2 * table["high"])
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    grid[0, 0].set_xlim(low, high)
    for axes in grid.flat:
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
    grid[0, 0].set_yticks(range(len(names)), names)
    grid[0, 0].invert_yaxis()
    for axes in grid[1]:
        axes.set_xlabel("regret / regret of the full policy")
    return figure


FIGURES = (
    Illustration(
        "state-library",
        "Multiples of the Bayes limit in every row of the main table, on a log axis; numbers: StateLibrary. Three "
        "lanes per row: the paper's policies, StateLibrary, the change-point peers. Bars: 95 % intervals over "
        "matrices.",
        multiples,
    ),
    Illustration(
        "state-library-other-worlds",
        "The same in other worlds and with more arms; numbers: StateLibrary. Below: worlds without a limit, where the"
        " group is the best rival's regret. Rivals that expect rewards on [0, 1] have them scaled where they are not (`scaled`). "
        "Bars: 95 % intervals over matrices.",
        other_worlds,
    ),
    Illustration(
        "state-library-ablation",
        "StateLibrary with one part taken away, relative to the full policy on the same runs. Bars: 95 % intervals over matrices.",
        ablation,
    ),
)

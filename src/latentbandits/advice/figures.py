"""Figures of a comparison, of advice and of a tuning: results in, a matplotlib figure out."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, ScalarFormatter, StrMethodFormatter

from latentbandits.advice.flips import Sweep
from latentbandits.policies.groups import CONTROL, LIMIT
from latentbandits.presentation.numbers import figure as number
from latentbandits.presentation.numbers import short
from latentbandits.presentation.palette import BLACK, GREY, RED, Figure, label, plotting, style
from latentbandits.simulation.results import interval, ratio

if TYPE_CHECKING:
    from latentbandits.advice.advise import Advice
    from latentbandits.advice.compare import Comparison
    from latentbandits.advice.tune import Tuning

# For policies that have no colour of their own, or share one with another in the figure
MARKERS = "osD^vP*X<>"
WIDTH = 32  # characters in a line of a legend


@plotting()
def over_time(comparison: "Comparison", first: str | None = None) -> Figure:
    """Cumulative regret per group over rounds, a line per policy and oracle with its 95 % band; one policy may come first."""
    figure = Figure(figsize=(7.6, 4.4))
    axes = figure.subplots()
    _curves(axes, comparison, first)
    runs = comparison.results.draws
    size = (
        f"one record, {runs:,} policy seeds, bands: 95 % of them"
        if comparison.record
        else f"mean of {runs:,} paired runs, bands: 95 %"
    )
    axes.set_title(size, fontsize=9)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), title="regret at the end", fontsize=8)
    return figure


def plotted_policies(comparison: "Comparison", first: str | None = None) -> list[str]:
    """Return what a figure of a comparison plots: the policies and all oracles, but random play only if it was asked for."""
    others = [str(name) for name in comparison.table.index if name not in (*comparison.ranked, CONTROL)]
    return [*dict.fromkeys([*([first] if first else []), *comparison.ranked, *others])]


def _curves(axes: Axes, comparison: "Comparison", first: str | None = None) -> None:
    results = comparison.results
    seen: dict[tuple[str, str], int] = {}
    for name in plotted_policies(comparison, first):
        curves = np.cumsum(results.regret_bins[results.labels.index(name)], axis=1)
        spread = _seeds if comparison.record else interval
        bands = np.vstack([np.zeros(3), [spread(curve) for curve in curves.T]])
        look = style(name)
        twin = seen.get((look.color, str(look.line)), 0)
        seen[look.color, str(look.line)] = twin + 1
        axes.plot(
            results.edges, bands[:, 0], color=look.color, linestyle=look.line, markevery=0.1, ms=4,
            marker=MARKERS[(twin - 1) % len(MARKERS)] if twin else None, label=f"{_wrap(name)}: {number(bands[-1, 0])}",
        )  # fmt: skip
        if len(curves) > 1:
            axes.fill_between(results.edges, bands[:, 1], bands[:, 2], color=look.color, alpha=0.15, linewidth=0)
    axes.set_xlim(0, results.horizon)
    zero = any(comparison.table["regret"] == 0)  # a line on the axis would not be seen
    axes.set_ylim(bottom=-0.02 * axes.get_ylim()[1] if zero else 0)
    axes.set_xlabel("round")
    axes.set_ylabel("cumulative regret per group")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))


def _seeds(values: np.ndarray) -> tuple[float, float, float]:
    """Return the mean of policy seeds and what contains 95 % of them."""
    low, high = np.quantile(values, (0.025, 0.975))
    return float(values.mean()), float(low), float(high)


def _wrap(name: str) -> str:
    """Return a policy's label in lines that a legend has room for."""
    return "\n".join(textwrap.wrap(label(name), WIDTH))


@plotting()
def all_candidates(advice: "Advice") -> Figure:
    """All candidates of a race: regret over the winner's, and after how many worlds they dropped out."""
    names = list(advice.table.index)
    figure = Figure(figsize=(7.6, 0.9 + 0.24 * len(names)))
    axes = figure.subplots()
    _leads(axes, advice, names)
    for y, name in enumerate(names):
        count = advice.race.worlds(name)
        met = f"{count} worlds" if not advice.table.loc[name, "dropped"] else f"out after {count}"
        axes.annotate(
            met,
            (1.0, y),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
        )
    axes.set_xlabel("regret / the winner's, on the same worlds; bars: 95 %")
    return figure


def _leads(axes: Axes, advice: "Advice", names: Sequence[str]) -> None:
    """Plot the regret of some candidates over the winner's, on the worlds that both met."""
    race = advice.race
    for y, name in enumerate(names):
        middle, low, high = ratio(*race.paired(name, advice.winner))
        axes.errorbar(
            middle, y, xerr=[[middle - low], [high - middle]], color=style(name).color, marker="o", ms=5, capsize=2
        )
    axes.axvline(1, color=BLACK, linewidth=0.8)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_yticks(range(len(names)), [label(name) for name in names], fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)


@plotting()
def all_sweeps(advice: "Advice") -> Figure:
    """Each quantity moved beyond its range: rivals' regret over the winner's; below 1 another policy is better."""
    columns = min(2, max(1, len(advice.sweeps)))
    lines = -(-len(advice.sweeps) // columns)
    figure = Figure(figsize=(7.6, 0.7 + 2.3 * lines))
    grid = figure.subplots(lines, columns, sharey=True, squeeze=False)
    shown = _rivals(advice)
    for axes, sweep in zip(grid.flat, advice.sweeps, strict=False):
        _sweep(axes, sweep, advice.winner, shown)
    for axes in grid.flat[len(advice.sweeps) :]:
        axes.set_axis_off()
    for axes in grid[:, 0]:
        axes.set_ylabel("regret / regret of\n" + label(advice.winner), fontsize=8)
    keys = {name: key for axes in grid.flat for key, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(keys.values(), keys.keys(), loc="outside lower center", ncols=3, fontsize=8)
    return figure


def _rivals(advice: "Advice") -> list[str]:
    """Return the policies worth a line: the first two rivals, and those that are best somewhere."""
    raced = {name for sweep in advice.sweeps for point in sweep.points for name in point.race.regret}
    others = [name for name in advice.table.index if name != advice.winner and name in raced]
    best = [point.race.winner for sweep in advice.sweeps for point in sweep.points]
    best += [flip.better for sweep in advice.sweeps for flip in sweep.flips]
    return [*dict.fromkeys([*others[:2], *(name for name in best if name != advice.winner)])][:6]


def _sweep(axes: Axes, sweep: Sweep, winner: str, shown: Sequence[str]) -> None:
    values = [point.value for point in sweep.points]
    axes.axvspan(
        sweep.range.low / 1.02,
        sweep.range.high * 1.02,
        color=GREY,
        alpha=0.18,
        linewidth=0,
        label="the problem's range",
    )
    for name in shown:
        bars = []
        for point in sweep.points:
            theirs, ours = point.race.paired(name, winner)
            bars.append(ratio(theirs, ours) if ours.mean() > 0 else (np.nan,) * 3)
        middle, low, high = np.array(bars).T
        look = style(name)
        axes.plot(values, middle, color=look.color, linestyle=look.line, marker="o", ms=3, label=label(name))
        axes.fill_between(values, low, high, color=look.color, alpha=0.1, linewidth=0)
    axes.axhline(1, color=BLACK, linewidth=1, label=f"{label(winner)} (advised)")
    for flip in sweep.flips:
        axes.axvspan(flip.low, flip.high, color=RED, alpha=0.35, linewidth=0.8, label="flip")
    axes.set_yscale("log")
    axes.set_ylim(0.4, 6)
    axes.set_yticks([0.5, 1, 2, 5], ["0.5", "1", "2", "5"])
    axes.yaxis.set_minor_locator(NullLocator())
    if min(values) > 0:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(base=10))
        axes.xaxis.set_major_formatter(lambda value, _: short(value))
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(sweep.quantity)


@plotting()
def advice_summary(advice: "Advice") -> Figure:
    """Regret over time on fresh worlds, and the first of the candidates."""
    figure = Figure(figsize=(9.6, 4.2))
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    _curves(left, advice.comparison, advice.winner)
    left.set_title(f"{advice.comparison.results.draws:,} worlds not used to choose, bands: 95 %", fontsize=9)
    left.legend(fontsize=7.5, loc="upper left")
    _leads(right, advice, list(advice.table.index)[:8])
    right.set_xlabel(f"regret / regret of {label(advice.winner)}")
    right.set_title("the first of the candidates, bars: 95 %", fontsize=9)
    return figure


@plotting()
def search_and_verdict(tuning: "Tuning") -> Figure:
    """Left, the trials on the worlds tuned on; right, defaults and tuned settings on held-out worlds with 95 % intervals."""
    results, look = tuning.comparison.results, style(tuning.name)
    numbers, values = np.arange(1, len(tuning.table) + 1), tuning.table["per_round"].to_numpy()
    complete, pruned = (tuning.table["outcome"].to_numpy() == outcome for outcome in ("complete", "pruned"))
    figure = Figure(figsize=(8.4, 3.8))
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    best = np.fmin.accumulate(np.where(complete, values, np.nan))
    left.step(numbers, best, where="post", color=look.color, alpha=0.6, label="best so far", zorder=1)
    left.plot(numbers[complete], values[complete], "o", ms=4, color=look.color, label="whole horizon")
    left.plot(numbers[pruned], values[pruned], "x", ms=4, color=GREY, label="given up early")
    if values[np.isfinite(values)].min() > 0:
        left.set_yscale("log")
        left.yaxis.set_major_locator(MaxNLocator(8))
        left.yaxis.set_major_formatter(ScalarFormatter())
        left.yaxis.set_minor_locator(NullLocator())
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    left.set_xlabel("trial")
    left.set_ylabel("regret per round and group")
    left.set_title("the search, on the worlds tuned on", fontsize=9)
    left.legend(fontsize=8)
    places = [name for name in results.labels if name != LIMIT]
    for place, name in enumerate(places):
        mean, low, high = interval(results.regret[results.labels.index(name)])
        reach = [[mean - low], [high - mean]]
        right.errorbar(
            [place], [mean], yerr=reach, fmt="o", color=look.color, mfc=look.color if place else "white", capsize=4
        )
        right.annotate(number(mean), (place, mean), (8, 0), textcoords="offset points", va="center", fontsize=8)
    if LIMIT in results.labels:
        limit = float(results.regret[results.labels.index(LIMIT)].mean())
        shown_as = f"{label(LIMIT)}: {number(limit)}"
        right.axhline(limit, color=style(LIMIT).color, linestyle=style(LIMIT).line, label=shown_as)
        right.legend(fontsize=8)
    right.set_xticks(range(len(places)), [name.rpartition(" (")[2].rstrip(")") for name in places])
    right.set_xlim(-0.6, len(places) - 0.4)
    right.set_ylim(0, 1.1 * right.get_ylim()[1])
    right.grid(visible=False, axis="x")
    right.set_ylabel("cumulative regret per group")
    gain = (
        f"gain {number(tuning.gain)} ({number(tuning.gain_low)} to {number(tuning.gain_high)})"
        if tuning.found
        else "gain 0"
    )
    right.set_title(f"{results.draws:,} held-out worlds, 95 % intervals\n{gain}", fontsize=9)
    figure.suptitle(label(tuning.name), fontsize=10)
    return figure

"""Figures of the bounds: rows in, a matplotlib figure out."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from latentbandits.policies.groups import LIMIT
from latentbandits.presentation.palette import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY, legend_below, style
from latentbandits_studies import theory as forms
from latentbandits_studies.experiments.registry import Illustration
from latentbandits_studies.experiments.theory import bounds as setting


def _simulated(axes: Axes, part: pd.DataFrame, color: str, title: str, scale: float | pd.Series = 1.0) -> None:
    """Plot simulated regret over the setting, with its 95 % interval."""
    errors = np.stack([(part["regret"] - part["low"]) * scale, (part["high"] - part["regret"]) * scale])
    axes.errorbar(part["x"], part["regret"] * scale, yerr=errors, color=color, marker="o", ms=3, capsize=2, label=title)


def _ticks(axes: Axes, values: tuple[float, ...], name: str) -> None:
    axes.set_xscale("log")
    axes.set_xticks(values, [f"{value:,g}" for value in values], fontsize=8)
    axes.set_xticks([], minor=True)
    axes.set_xlabel(name)


def bounds(results: pd.DataFrame) -> Figure:
    """Regret of probe-and-commit over the interval, with the bounds, and decoding errors over the noise, with theirs."""
    table, decoded = setting.points(results), setting.decoding().set_index("summary")
    figure = Figure(figsize=(9.4, 6.2))
    grid = figure.subplots(2, 2)
    for axes, name in zip(grid[0], setting.GROUPS, strict=True):
        part = table[(table["case"] == name) & (table["kind"] == "tau")]
        _simulated(axes, part[part["bound_of"] == "theorem"], BLUE, "simulated")
        for bound_of, title, color, line in (
            ("theorem", "Theorem 1 (exact drift)", RED, "-"),
            ("periodic", "Corollary 1", ORANGE, "--"),
            ("hazard", "hazard corollary", GREEN, ":"),
        ):
            cells = part[part["bound_of"] == bound_of]
            axes.plot(cells["x"], cells["bound"], color=color, linestyle=line, label=title)
        axes.axhline(_limit(results, name), color=BLACK, linestyle=style(LIMIT).line, label="Bayes limit")
        axes.set_yscale("log")
        _ticks(axes, setting.INTERVALS, "interval between probes (rounds)")
        axes.set_ylabel("regret per round")
        axes.set_title(f"{name} probes, fixed schedule", fontsize=9)
    minimum, paper = setting.optimum()
    grid[0, 0].axvline(minimum, color=GREY, linewidth=1, label="minimum of the bound")
    grid[0, 0].axvline(paper, color=GREY, linewidth=1, linestyle="--", label="the paper's optimum")
    grid[0, 0].legend(fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 0.07))
    left, right = grid[1]
    for axes, names in ((left, ("synchronous", "sequential")), (right, ("lagged",))):
        for name, color in zip(names, (RED, BLUE), strict=False):
            cells = decoded.loc[name]
            errors = cells["error"].replace(0, np.nan)
            axes.errorbar(
                cells["sigma"],
                errors,
                yerr=setting.quantile() * cells["spread"],
                color=color,
                marker="o",
                ms=3,
                label=name,
            )
            axes.plot(cells["sigma"], cells["bound"], color=color, linestyle="--", label=f"{name} bound")
        axes.set_yscale("log")
        axes.set_ylim(1e-5, 2)
        axes.set_xlabel("noise of a reward (standard deviation)")
        axes.set_ylabel("error of decoding the state")
        axes.legend(fontsize=7)
    left.set_title("fingerprints", fontsize=9)
    right.set_title("lagged reward", fontsize=9)
    return figure


def _limit(results: pd.DataFrame, case: str) -> float:
    found = results[(results["case"] == case) & (results["policy"] == LIMIT)]["regret"].mean()
    return float(found) / setting.HORIZON


def adaptive(results: pd.DataFrame) -> Figure:
    """Plot the hazard corollary for schedules that probe early when surprised: where it holds, and where it does not."""
    table = setting.points(results).set_index(["case", "bound_of", "kind"])
    figure = Figure(figsize=(9.4, 3.6))
    panels = {name: f"{name} probes" for name in setting.GROUPS} | {
        setting.KEPT: "counter-example: wrong probes are kept"
    }
    for axes, (case, title) in zip(figure.subplots(1, 3), panels.items(), strict=True):
        for kind, name, color in (("tau", "fixed schedule", GREY), ("surprise", "early when surprised", BLUE)):
            cells = table.loc[(case, "hazard", kind)]
            _simulated(axes, cells, color, name)
            axes.plot(cells["x"], cells["bound"], color=color, linestyle="--", label=f"{name}: bound as stated")
        cells = table.loc[(case, "corrected", "surprise")]
        axes.plot(cells["x"], cells["bound"], color=RED, linestyle="-.", label="early when surprised: corrected bound")
        axes.set_ylim(bottom=0)
        _ticks(axes, setting.CAPS if case == setting.KEPT else (2, 5, 10, 20, 56), "age cap of a probe (rounds)")
        axes.set_title(title, fontsize=9)
    figure.axes[0].set_ylabel("regret per round")
    legend_below(figure, figure.axes[0], 3)
    return figure


def finite(results: pd.DataFrame) -> Figure:
    """Finite-sample bounds: the matched learner over the horizon, the decoded schedule over interval and noise."""
    table = setting.points(results)
    figure = Figure(figsize=(9.4, 3.8))
    left, middle, right = figure.subplots(1, 3)
    part = table[table["bound_of"] == "matched"]
    for kind, color, title in (("least", BLUE, "simulated"), ("quarter", GREY, "a quarter of the exploration")):
        cells = part[part["kind"] == kind]
        _simulated(left, cells, color, title, cells["x"])
    cells = part[part["kind"] == "least"]
    left.plot(cells["x"], cells["bound"] * cells["x"], color=RED, label="bound")
    left.set_yscale("log")
    _ticks(left, setting.HORIZONS, "horizon (rounds)")
    left.set_ylabel("regret")
    left.set_title("LinUCB that sees the state", fontsize=9)
    left.legend(fontsize=7)
    _budget(middle, table, "tau")
    _ticks(middle, setting.DECODED_TAUS, "interval between probes (rounds)")
    middle.set_ylabel("regret per round")
    middle.set_title(f"decoded schedule, noise {setting.DECODED_NOISE:g}", fontsize=9)
    _budget(right, table, "noise")
    _ticks(right, (0.005, 0.01, 0.02, 0.05, 0.1), "noise of a reward (standard deviation)")
    right.axhline(
        forms.largest_gap(setting.DECODED_MEANS), color=GREY, linewidth=1, linestyle="--", label="largest gap"
    )
    right.set_yscale("log")
    right.set_ylim(0.01, 2)
    right.set_title(f"decoded schedule, interval {setting.DECODED_TAU}", fontsize=9)
    legend_below(figure, right, 7)
    return figure


def _budget(axes: Axes, table: pd.DataFrame, over: str) -> None:
    """Plot simulated regret of the decoded schedule below its bound, of which every part is an area."""
    cells = table[table["bound_of"] == "decoded"].copy()
    cells["noise"] = cells["case"].str.partition("|")[2].astype(float)
    cells["tau"] = cells["x"].astype(int)
    fixed, at = ("noise", setting.DECODED_NOISE) if over == "tau" else ("tau", setting.DECODED_TAU)
    cells = cells[cells[fixed] == at].sort_values(over)
    cells["x"] = cells[over]
    parts = (
        np.array([setting.decoded_budget(row.tau, row.noise) for row in cells.itertuples()]).T / setting.DECODED_HORIZON
    )
    names = ("probes", "drift", "learning", "decoding")
    order = [forms.Budget._fields.index(name) for name in names]
    axes.stackplot(cells["x"], parts[order], labels=names, colors=(SKY, ORANGE, PINK, "#dddddd"), alpha=0.6)
    axes.plot(cells["x"], cells["bound"], color=RED, label="bound")
    _simulated(axes, cells, BLUE, "simulated")


FIGURES = (
    Illustration(
        "theory",
        "Above: regret per round of a policy that probes and commits, and the bounds on it. Below: errors of decoding"
        " the hidden state, and the bounds on them.",
        bounds,
    ),
    Illustration(
        "theory-adaptive",
        "The hazard corollary for schedules that probe early when a reward surprises: where it holds, and a world in "
        "which it does not.",
        adaptive,
    ),
    Illustration(
        "theory-finite",
        "Finite-sample bounds, ours: a matched learner over the horizon, and a fixed schedule with decoded states.",
        finite,
    ),
)

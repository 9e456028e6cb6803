"""Figures of the bounds: rows in, a matplotlib figure out."""

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from latentbandits.presentation.palette import BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY, legend_below
from latentbandits.simulation.results import interval
from latentbandits_studies import theory as forms
from latentbandits_studies.experiments.claims import per_draw
from latentbandits_studies.experiments.plots import curve, limit, panels, ticks
from latentbandits_studies.experiments.registry import Illustration
from latentbandits_studies.experiments.theory import bounds as setting

_SPAN = ["regret", "low", "high"]


def bounds(results: pd.DataFrame) -> Figure:
    """Regret of probe-and-commit over the interval, with the bounds, and decoding errors over the noise, with theirs."""
    table, decoded = setting.points(results), setting.decoding().set_index("summary")
    figure, grid = panels(2, 2, (9.4, 6.2))
    for axes, name in zip(grid, setting.GROUPS, strict=False):
        part = table[(table["case"] == name) & (table["kind"] == "tau")].set_index("bound_of")
        curve(axes, part.loc["theorem", "x"], part.loc["theorem", _SPAN].to_numpy(), color=BLUE, label="simulated")
        for bound_of, title, color, line in (
            ("theorem", "Theorem 1 (exact drift)", RED, "-"),
            ("periodic", "Corollary 1", ORANGE, "--"),
            ("hazard", "hazard corollary", GREEN, ":"),
        ):
            cells = part.loc[bound_of]
            axes.plot(cells["x"], cells["bound"], color=color, linestyle=line, label=title)
        limit(axes, results, name, 1 / setting.HORIZON)
        axes.set_yscale("log")
        ticks(axes, setting.INTERVALS, "interval between probes (rounds)")
        axes.set_ylabel("regret per round")
        axes.set_title(f"{name} probes, fixed schedule", fontsize=9)
    minimum, paper = setting.optimum()
    grid[0].axvline(minimum, color=GREY, linewidth=1, label="minimum of the bound")
    grid[0].axvline(paper, color=GREY, linewidth=1, linestyle="--", label="tau*, constant 1")
    grid[0].legend(fontsize=7, loc="lower right", bbox_to_anchor=(1.0, 0.07))
    for axes, title, names in (
        (grid[2], "fingerprints", ("synchronous", "sequential")),
        (grid[3], "lagged reward", ("lagged",)),
    ):
        for name, color in zip(names, (RED, BLUE), strict=False):
            cells = decoded.loc[name]
            error, reach = cells["error"].replace(0, np.nan), setting.quantile() * cells["spread"]
            curve(axes, cells["sigma"], np.stack([error, error - reach, error + reach], 1), color=color, label=name)
            axes.plot(cells["sigma"], cells["bound"], color=color, linestyle="--", label=f"{name} bound")
        axes.set_yscale("log")
        axes.set_ylim(1e-5, 2)
        axes.set_xlabel("noise of a reward (standard deviation)")
        axes.set_ylabel("error of decoding the state")
        axes.set_title(title, fontsize=9)
        axes.legend(fontsize=7)
    return figure


def adaptive(results: pd.DataFrame) -> Figure:
    """Plot the hazard corollary for schedules that probe early when surprised: where it holds, and where it does not."""
    table = setting.points(results).set_index(["case", "bound_of", "kind"])
    panel = {name: f"{name} probes" for name in setting.GROUPS} | {
        setting.KEPT: "counter-example: wrong probes are kept"
    }
    figure, grid = panels(1, 3, (9.4, 3.6))
    for axes, (case, title) in zip(grid, panel.items(), strict=True):
        for kind, name, color in (("tau", "fixed schedule", GREY), ("surprise", "early when surprised", BLUE)):
            cells = table.loc[(case, "hazard", kind)]
            curve(axes, cells["x"], cells[_SPAN].to_numpy(), color=color, label=name)
            axes.plot(cells["x"], cells["bound"], color=color, linestyle="--", label=f"{name}: bound as stated")
        cells = table.loc[(case, "corrected", "surprise")]
        axes.plot(cells["x"], cells["bound"], color=RED, linestyle="-.", label="early when surprised: corrected bound")
        axes.set_ylim(bottom=0)
        ticks(axes, setting.CAPS if case == setting.KEPT else (2, 5, 10, 20, 56), "age cap of a probe (rounds)")
        axes.set_title(title, fontsize=9)
    grid[0].set_ylabel("regret per round")
    legend_below(figure, grid[0], 3)
    return figure


def gated(results: pd.DataFrame) -> Figure:
    """Plot the bound on the gated schedule with decoded states over its age cap and over the noise, beside the fixed schedule."""
    table = setting.points(results)
    figure, (left, right) = panels(1, 2, (8.6, 3.8))
    _budget(left, table, "cap")
    fixed = [
        interval(per_draw(results, f"gated|{setting.GATED_NOISE:g}", f"tau|{cap}") / setting.GATED_HORIZON)
        for cap in setting.GATED_CAPS
    ]
    curve(left, setting.GATED_CAPS, fixed, color=GREY, label="simulated without the gate")
    ticks(left, setting.GATED_CAPS, "age cap of a probe (rounds)")
    left.set_ylabel("regret per round")
    left.set_ylim(bottom=0)
    left.set_title(f"gated schedule, noise {setting.GATED_NOISE:g}", fontsize=9)
    _budget(right, table, "noise")
    _over_noise(right)
    right.set_ylim(bottom=0.004)
    right.set_title(f"gated schedule, age cap {setting.GATED_CAP}", fontsize=9)
    figure.legend(*_named(left, right), loc="outside lower center", ncols=4, fontsize=8)
    return figure


def _named(*grid: Axes) -> tuple[list[Artist], list[str]]:
    """Return what the legends of several panels show, each once."""
    found = {name: mark for axes in grid for mark, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    return list(found.values()), list(found)


def _over_noise(axes: Axes) -> None:
    """Finish a panel over the noise: beyond the largest gap a bound says nothing."""
    ticks(axes, (0.005, 0.01, 0.02, 0.05, 0.1), "noise of a reward (standard deviation)")
    axes.axhline(forms.largest_gap(setting.GATED_MEANS), color=GREY, linewidth=1, linestyle="--", label="largest gap")
    axes.set_yscale("log")
    axes.set_ylim(0.01, 2)


def _budget(axes: Axes, table: pd.DataFrame, over: str) -> None:
    """Plot simulated regret of a gated schedule below its bound, of which every part is an area."""
    cells = table[table["bound_of"] == "gated"]
    cells = cells.assign(noise=cells["case"].str.partition("|")[2].astype(float), cap=cells["x"].astype(int))
    fixed, at = ("noise", setting.GATED_NOISE) if over == "cap" else ("cap", setting.GATED_CAP)
    cells = cells[cells[fixed] == at].sort_values(over)
    budgets = pd.DataFrame([setting.gated_budget(row.cap, row.noise) for row in cells.itertuples()])
    names = ["probes", "drift", "learning", "decoding"]
    parts = budgets[names].to_numpy().T / setting.GATED_HORIZON
    axes.stackplot(cells[over], parts, labels=names, colors=(SKY, ORANGE, PINK, "#dddddd"), alpha=0.6)
    axes.plot(cells[over], cells["bound"], color=RED, label="bound")
    curve(axes, cells[over], cells[_SPAN].to_numpy(), color=BLUE, label="simulated")


FIGURES = (
    Illustration(
        "theory",
        "Above: regret per round of a policy that probes and commits, and the bounds on it. The paper gives only the order of the best "
        "interval, tau*, drawn with the constant 1, for randomized probes. Below: errors of decoding"
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
        "theory-gated",
        "A residual gate and an age cap over decoded states, ours: regret against a bound in closed form, over the age cap and over the "
        "noise. Coloured areas are the parts of the bound.",
        gated,
    ),
)

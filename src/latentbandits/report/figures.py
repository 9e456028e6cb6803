"""One figure per experiment: rows in, a matplotlib figure out."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from latentbandits.experiments.paper import (
    ablation,
    many_arms,
    misspecification,
    optimal_arm_frequency,
    sensitivity,
    table2,
    winning_rates,
)
from latentbandits.experiments.paper.worlds import COLUMNS, LIMIT, SWEEPS, TITLES, rows
from latentbandits.presentation.palette import BLACK, BLUE, GREEN, ORANGE, RED, label, style
from latentbandits.simulation.results import interval


def heat_map(results: pd.DataFrame) -> Figure:
    """Ours over the published cell, for all cells of the main table."""
    ratio = (
        table2.summary(results).pivot(index="row", columns="policy", values="ratio").loc[list(rows()), list(COLUMNS)]
    )
    figure = Figure(figsize=(8.6, 5.2))
    axes = figure.subplots()
    axes.grid(visible=False)
    logs = np.log2(ratio.to_numpy())
    image = axes.imshow(logs, cmap="RdBu_r", norm=TwoSlopeNorm(0, -0.6, 0.6), aspect="auto")
    for (i, j), value in np.ndenumerate(ratio.to_numpy()):
        axes.text(
            j,
            i,
            f"{value:.2f}",
            ha="center",
            va="center",
            fontsize=7.5,
            color="white" if abs(logs[i, j]) > 0.4 else "black",
        )
    axes.set_xticks(range(len(COLUMNS)), [label(name) for name in COLUMNS], rotation=40, ha="right")
    axes.set_yticks(range(len(ratio)), [TITLES[row] for row in ratio.index])
    bar = figure.colorbar(
        image, ax=axes, ticks=np.log2([0.67, 0.8, 1, 1.25, 1.5]), label="2 x regret per unit / published cell"
    )
    bar.ax.set_yticklabels(["0.67", "0.80", "1.00", "1.25", "1.50"])
    return figure


def multiples(results: pd.DataFrame) -> Figure:
    """Regret as a multiple of the Bayes limit, per row and policy."""
    table = table2.summary(results).pivot(index="row", columns="policy", values="regret").loc[list(rows())]
    figure = Figure(figsize=(8.6, 4.4))
    axes = figure.subplots()
    x = np.arange(len(table))
    for name in COLUMNS:
        axes.plot(
            x,
            table[name] / table[LIMIT],
            color=style(name).color,
            linestyle=style(name).line,
            marker="o",
            ms=3,
            label=label(name),
        )
    axes.axhline(1, color=BLACK, linestyle=style(LIMIT).line, label="Bayes limit")
    axes.set_yscale("log")
    axes.set_yticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
    axes.set_xticks(x, [TITLES[row] for row in table.index], rotation=40, ha="right")
    axes.set_ylabel("regret / regret of the Bayes limit")
    axes.legend(ncols=1, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)
    return figure


def sweeps(results: pd.DataFrame) -> Figure:
    """Winning rates along the four sweeps."""
    table = winning_rates.rates(results).set_index(["row", "policy"])
    figure = Figure(figsize=(8.6, 6.4))
    for axes, (title, names) in zip(figure.subplots(2, 2, sharey=True).flat, SWEEPS.items(), strict=True):
        x = np.arange(len(names))
        for name in COLUMNS:
            cells = table.loc[[(row, name) for row in names]]
            errors = np.stack([cells["rate"] - cells["low"], cells["high"] - cells["rate"]])
            axes.errorbar(
                x,
                cells["rate"],
                yerr=errors,
                color=style(name).color,
                linestyle=style(name).line,
                capsize=2,
                label=label(name),
            )
        axes.set_xticks(x, [TITLES[row] for row in names])
        axes.set_xlabel(title)
        axes.set_ylim(0, 1)
    for axes in figure.axes[::2]:
        axes.set_ylabel("winning rate")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8)
    return figure


def duels(results: pd.DataFrame) -> Figure:
    """Draw the full pairwise matrix of every environment."""
    figure = Figure(figsize=(9.4, 10.6))
    grid = figure.subplots(4, 4)
    names = [label(name) for name in COLUMNS]
    image = None
    for axes, row in zip(grid.flat, rows(), strict=False):
        axes.grid(visible=False)
        image = axes.imshow(winning_rates.pairs(results, row).to_numpy(), cmap="PuOr", vmin=0, vmax=1)
        axes.set_title(TITLES[row], fontsize=8)
        axes.set_xticks(range(len(names)), names if row in list(rows())[-4:] else [], rotation=90, fontsize=5.5)
        axes.set_yticks(range(len(names)), names if axes in grid[:, 0] else [], fontsize=5.5)
    for axes in grid.flat[len(rows()) :]:
        axes.set_axis_off()
    assert image is not None
    figure.colorbar(
        image,
        ax=grid.flat[len(rows()) :].tolist(),
        orientation="horizontal",
        label="share of runs in which the row's\npolicy beats the column's",
    )
    return figure


def frequency(results: pd.DataFrame) -> Figure:
    """Share of optimal arms over time."""
    figure = Figure(figsize=(8.6, 6.4))
    for axes, row in zip(figure.subplots(2, 2, sharex=True, sharey=True).flat, optimal_arm_frequency.ROWS, strict=True):
        curves = optimal_arm_frequency.curves(results, row)
        time = (np.arange(optimal_arm_frequency.BINS) + 0.5) / optimal_arm_frequency.BINS * rows()[row][1] / 1000
        for name, (mean, low, high) in curves.items():
            axes.plot(time, mean, color=style(name).color, linestyle=style(name).line, label=label(name))
            axes.fill_between(time, low, high, color=style(name).color, alpha=0.12, linewidth=0)
        axes.set_title(TITLES[row], fontsize=9)
        axes.set_ylim(0.45, 1.0)
    for axes in figure.axes[::2]:
        axes.set_ylabel("share of optimal arms")
    for axes in figure.axes[2:]:
        axes.set_xlabel("round (thousands)")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8)
    return figure


def thresholds(results: pd.DataFrame) -> Figure:
    """Regret over the four thresholds."""
    table = sensitivity.sweep(results[results["policy"] != LIMIT])
    limits = results[results["policy"] == LIMIT].groupby("case")["regret"].mean()
    colors = dict(zip(sensitivity.ROWS, (BLUE, RED, GREEN, ORANGE), strict=True))
    figure = Figure(figsize=(9.4, 5.0))
    grid = figure.subplots(2, 4, sharey=True)
    for line, name in zip(grid, sensitivity.POLICIES, strict=True):
        for axes, setting in zip(line, sensitivity.SWEEPS, strict=True):
            part = table[(table["policy"] == name) & (table["setting"] == setting)]
            for row in sensitivity.ROWS:
                cells = part[part["case"] == row].sort_values("value")
                axes.plot(cells["value"], cells["regret"], color=colors[row], marker="o", ms=3, label=TITLES[row])
                axes.axhline(limits[row], color=colors[row], linestyle=style(LIMIT).line, linewidth=1)
            axes.axvline(sensitivity.BASE[setting], color="#bbbbbb", linewidth=3, zorder=0)
            axes.set_yscale("log")
            axes.set_yticks(
                [10, 20, 50, 100, 200, 500, 1000, 2000], ["10", "20", "50", "100", "200", "500", "1000", "2000"]
            )
            axes.set_yticks([], minor=True)
            axes.set_ylim(0.7 * limits.min(), 1.3 * table["regret"].max())
            if setting in ("margin", "staleness"):
                axes.set_xscale("log")
                axes.set_xticks(
                    sensitivity.SWEEPS[setting], [f"{v:g}" for v in sensitivity.SWEEPS[setting]], fontsize=7
                )
                axes.set_xticks([], minor=True)
            if name == sensitivity.POLICIES[-1]:
                axes.set_xlabel(sensitivity.SYMBOLS[setting])
        line[0].set_ylabel(f"{label(name)}\nregret per unit")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8)
    return figure


def bars(
    axes: Axes, results: pd.DataFrame, case: str, names: list[str], texts: list[str], published: list[float | None]
) -> None:
    """Draw mean regret with intervals as bars, the published figures as diamonds, the limit as a line."""
    part = results[results["case"] == case]
    per_draw = part.groupby(["policy", "draw"])["regret"].mean()
    for x, name in enumerate(names):
        mean, low, high = interval(per_draw[name].to_numpy())
        hatch = "//" if "|" in name and not name.endswith(("full", "slopes")) else None
        axes.bar(x, mean, color=style(name).color, alpha=0.75, hatch=hatch, edgecolor="white")
        axes.errorbar(x, mean, yerr=[[mean - low], [high - mean]], color=BLACK, capsize=2, linewidth=1)
        known = published[x]
        if known is not None:
            axes.plot(x, known, marker="D", color="white", markeredgecolor=BLACK, ms=5, zorder=5)
    axes.axhline(per_draw[LIMIT].mean(), color=BLACK, linestyle=style(LIMIT).line)
    axes.set_xticks(range(len(names)), texts, rotation=40, ha="right", fontsize=7.5)
    axes.set_title(case, fontsize=9)


def parts(results: pd.DataFrame) -> Figure:
    """Ablations of AdaRP-UCB and AdaSP-UCB: a line of panels per case, a panel per profile of gates and lag."""
    titles = {
        "pair": "stated gates, lag as pair",
        "slopes": "stated gates, lag as slopes",
        "fitted": "fitted gates and lag",
    }
    cases = list(dict.fromkeys(results["case"]))
    figure = Figure(figsize=(9.4, 10.2))
    grid = figure.subplots(len(cases), len(titles), sharey="row", squeeze=False)
    names = [(policy, variant) for policy in ("adarp-ucb", "adasp-ucb") for variant in ablation.variants(policy)]
    for row, (line, case) in enumerate(zip(grid, cases, strict=True)):
        for axes, (profile, title) in zip(line, titles.items(), strict=True):
            known = [
                ablation.PUBLISHED[policy].get("fixed schedule" if variant.startswith("fixed") else variant)
                if "0.95" in case
                else None
                for policy, variant in names
            ]
            labels = [f"{policy}|{profile}|{variant}" for policy, variant in names]
            texts = (
                [f"{label(policy)[:5]} {variant}" for policy, variant in names]
                if row == len(cases) - 1
                else [""] * len(names)
            )
            bars(axes, results, case, labels, texts, known)
            axes.set_title(f"{case}\n{title}", fontsize=8)
        line[0].set_ylabel("regret per unit")
    return figure


def mismatch(results: pd.DataFrame) -> Figure:
    """Draw matched and misspecified learners; D-UCB with the setting that fits its published figures, where there are any."""
    cases = list(dict.fromkeys(results["case"]))
    fitted = misspecification.fitted_discounting(results)
    figure = Figure(figsize=(9.4, 5.8))
    texts = ["AdaRP matched", "AdaRP", "SW-UCB", "D-UCB (fitted)", "AdaSP matched", "AdaSP"]
    for axes, case in zip(figure.subplots(2, 4).flat, cases, strict=True):
        known: list[float | None] = [*misspecification.PUBLISHED.get(case, (None,) * 4), None, None]
        if case == "stay 0.5":
            known[4:] = misspecification.SEQUENTIAL
        names = [misspecification.MATCHED, misspecification.BLIND, "sw-ucb", fitted, "adasp-ucb matched", "adasp-ucb"]
        bars(axes, results, case, names, texts, known)
    for axes in figure.axes[::4]:
        axes.set_ylabel("regret per unit")
    return figure


def arms(results: pd.DataFrame) -> Figure:
    """Regret and probe rounds over the number of arms."""
    figure = Figure(figsize=(8.6, 3.4))
    left, right = figure.subplots(1, 2)
    x = np.array(many_arms.ARMS)
    for name in dict.fromkeys(results["policy"]):
        part = results[results["policy"] == name]
        cells = [interval(part[part["case"] == f"{k} arms"]["regret"].to_numpy()) for k in x]
        mean, low, high = np.array(cells).T
        options = {
            "color": style(name).color,
            "linestyle": style(name).line,
            "marker": "o",
            "ms": 3,
            "label": label(name),
        }
        left.errorbar(x, mean, yerr=[mean - low, high - mean], capsize=2, **options)
        spent = part.groupby("case")["probe_rounds"].mean().reindex([f"{k} arms" for k in x])
        if spent.sum() > 0:
            right.plot(x, spent, **options)
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(x, [str(k) for k in x])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("number of arms")
    left.set_ylabel("regret per unit")
    right.set_ylabel("rounds spent on probes")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=8)
    return figure

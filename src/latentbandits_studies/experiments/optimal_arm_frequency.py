"""How often each policy plays the optimal arm, over time, in four environments."""

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentbandits.policies.groups import LIMIT
from latentbandits.presentation.palette import legend_below
from latentbandits.simulation.results import interval
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.claims import ABOVE, READING, Claim, Order, all_of, mean, order, per_draw
from latentbandits_studies.experiments.paper.worlds import ADARP, ADASP, COLUMNS, TITLES, rows
from latentbandits_studies.experiments.plots import look, panels
from latentbandits_studies.experiments.registry import Experiment, Illustration
from latentbandits_studies.experiments.table2 import settings as table2

SUMMARY = "share of optimal arms over time: default, stay 0.5, noise 0.1, 50 states"
ROWS, BINS = table2.CURVES, table2.STRETCHES
SMOOTH = 5  # bins that a smoothed point averages


def cases(size: Size) -> list[Case]:
    """Return four rows of the main table: the same runs, which keep curves; nothing is simulated twice."""
    planned = [case for case in (*table2.columns(size), *table2.beside(size)) if case.bins > 1]
    shown = (*COLUMNS, LIMIT)
    return [
        replace(case, policies={name: case.policies[name] for name in shown if name in case.policies})
        for case in planned
    ]


def curves(results: pd.DataFrame, case: str) -> dict[str, np.ndarray]:
    """Return, per policy, the smoothed mean curve and its 95 % band over matrices: an array (3, bins)."""
    bands = {}
    window = np.ones(SMOOTH)
    for name, part in results[results["case"] == case].groupby("policy", sort=False):
        runs = np.stack(part["optimal_curve"].to_list()).astype(float)
        weight = np.convolve(np.ones(runs.shape[1]), window, mode="same")
        smoothed = np.stack([np.convolve(run, window, mode="same") for run in runs]) / weight
        per_draw = pd.DataFrame(smoothed).groupby(part["draw"].to_numpy()).mean().to_numpy()
        bands[str(name)] = np.array([interval(column) for column in per_draw.T]).T
    return bands


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge what the figure shows: our reading, since the paper shows the curves without a sentence on them."""
    rivals = [name for name in COLUMNS if name != ADARP]
    words = [order(results, "default", ADARP, name, len(rivals), "optimal").word for name in rivals]
    share = {name: mean(results, "default", name, "optimal") for name in COLUMNS}
    second = max(rivals, key=lambda name: share[name])
    # what is left at stay 0.5 of the lead over a coin, as a share of half of that lead
    lead = {row: per_draw(results, row, ADASP, "optimal") - 0.5 for row in ("default", "p.5")}
    left = lead["p.5"] - 0.5 * lead["default"]
    _, low, high = interval(left)
    return [
        Claim(
            "optimal-arm-frequency/default",
            "In the default world AdaRP-UCB plays the optimal arm most often",
            "a figure",
            f"{share[ADARP]:.1%}; next {second} {share[second]:.1%}",
            all_of(words, ABOVE),
            "against each of the other twelve, on the same runs",
            READING,
        ),
        Claim(
            "optimal-arm-frequency/switching",
            "Sequential fingerprints lose more than half of their lead over a coin under fast switching",
            "a figure",
            f"AdaSP-UCB {share[ADASP]:.1%} in the default world, {mean(results, 'p.5', ADASP, 'optimal'):.1%} at stay 0.5",
            all_of([Order(1 + float(left.mean()), 1 + low, 1 + high).word]),
            "",
            READING,
        ),
    ]


def plot_frequency(results: pd.DataFrame) -> Figure:
    """Share of optimal arms over time."""
    figure, grid = panels(2, 2, (8.6, 6.4), sharex=True, sharey=True)
    for axes, row in zip(grid, ROWS, strict=True):
        time = (np.arange(BINS) + 0.5) / BINS * rows()[row][1] / 1000
        for name, (middle, low, high) in curves(results, row).items():
            axes.plot(time, middle, **look(name))
            axes.fill_between(time, low, high, color=look(name)["color"], alpha=0.12, linewidth=0)
        axes.set_title(TITLES[row], fontsize=9)
        axes.set_ylim(0.45, 1.0)
    for axes in grid[::2]:
        axes.set_ylabel("share of optimal arms")
    for axes in grid[2:]:
        axes.set_xlabel("round (thousands)")
    legend_below(figure, grid[0], 5)
    return figure


FREQUENCY = Illustration(
    "optimal-arm-frequency",
    "Share of optimal arms over time, smoothed over five stretches of 200 rounds; bands are 95 % over matrices.",
    plot_frequency,
)
EXPERIMENT = Experiment("optimal-arm-frequency", SUMMARY, cases, score, place=30, figures=(FREQUENCY,), judged="paper")

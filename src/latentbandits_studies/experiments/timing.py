"""When to probe often: fixed schedules of many intervals, over short and long horizons."""

import math
from itertools import pairwise

import pandas as pd
from matplotlib.figure import Figure

from latentbandits.policies.groups import LIMIT
from latentbandits.presentation.palette import label, legend_below
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.claims import FAILS, HOLDS, OPEN, Claim, all_of, mean, order, worst
from latentbandits_studies.experiments.paper.worlds import MATRICES, QUICK_MATRICES, contestants, rows, same_features
from latentbandits_studies.experiments.plots import curve, limit, look, of_draws, panels, ticks
from latentbandits_studies.experiments.registry import Experiment, Illustration

SUMMARY = "fixed schedules with 5 to 160 rounds between probes, over 500 and 20,000 rounds, in calm and volatile worlds"
INTERVALS = (5, 10, 20, 40, 80, 160)
POLICIES = {"rp-ucb": "adarp-ucb", "sp-ucb": "adasp-ucb"}  # a fixed schedule has the features of the adaptive policy
EARLY, LATE, VOLATILE = "default, 500 rounds", "default, 20,000 rounds", "stay 0.9, 20,000 rounds"


def cases(size: Size) -> list[Case]:
    """Return the default world over a short and a long horizon, and a volatile world over the long one."""
    quick = size != "full"
    draws = QUICK_MATRICES if quick else MATRICES // 2
    planned = []
    for name, row, horizon in ((EARLY, "default", 500), (LATE, "default", 20_000), (VOLATILE, "p.9", 20_000)):
        schedules = [schedule(short, tau) for short in POLICIES for tau in INTERVALS]
        planned.append(Case(name, rows()[row][0], contestants([*schedules, LIMIT]), horizon, draws))
    return planned


def schedule(name: str, tau: int) -> str:
    """Return the spec of a fixed schedule."""
    return same_features(POLICIES[name], tau)


def best_intervals(results: pd.DataFrame, case: str, name: str) -> list[int]:
    """Return the intervals that are tied with the one that has the lowest mean regret."""
    lowest = min(INTERVALS, key=lambda tau: mean(results, case, schedule(name, tau)))
    among = math.comb(len(INTERVALS), 2)  # any of them could have been the lowest
    return [
        tau
        for tau in INTERVALS
        if tau == lowest or order(results, case, schedule(name, tau), schedule(name, lowest), among).word == "tied"
    ]


def _shorter(results: pd.DataFrame, row: str, other: str) -> tuple[str, str]:
    """Return whether the best intervals of one case are shorter than those of another, for both policies, and what was found."""
    words, spans = [], []
    for name in POLICIES:
        mine, theirs = best_intervals(results, row, name), best_intervals(results, other, name)
        words.append(HOLDS if max(mine) < min(theirs) else FAILS if min(mine) > max(theirs) else OPEN)
        spans.append(f"{name}: {_span(mine)} and {_span(theirs)}")
    return worst(words), "; ".join(spans)


def _span(values: list[int]) -> str:
    return f"{values[0]}" if len(values) == 1 else f"{values[0]} to {values[-1]}"


def _regrets(results: pd.DataFrame, name: str) -> str:
    means = [f"{mean(results, LATE, schedule(name, tau)):,.0f} at {tau}" for tau in INTERVALS]
    return f"{name}: {', '.join(means)}"


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge that probing should be frequent early, rarer later, and more frequent where the state changes more often."""
    early, spans = _shorter(results, EARLY, LATE)
    volatile, both = _shorter(results, VOLATILE, LATE)
    wasted = [
        order(results, LATE, schedule(name, few), schedule(name, many), 2 * len(POLICIES)).word
        for name in POLICIES
        for many, few in list(pairwise(INTERVALS))[:2]
    ]
    return [
        Claim(
            "timing/early",
            "Early in learning frequent probing pays: the best interval is shorter over 500 rounds than over 20,000",
            "can accelerate convergence",
            f"best intervals over 500 and over 20,000 rounds, {spans}",
            early,
            "intervals that are tied with the best are listed with it",
        ),
        Claim(
            "timing/late",
            "Later excessive probing wastes rounds: over 20,000 rounds, probing half as often has less regret (5 to 10, 10 to 20)",
            "wastes exploitation rounds",
            "; ".join(_regrets(results, name) for name in POLICIES),
            all_of(wasted),
        ),
        Claim(
            "timing/volatile",
            "A more volatile chain calls for more frequent probing: the best interval is shorter at stay 0.9 than at 0.99",
            "tau* falls with the switching rate",
            f"best intervals at stay 0.9 and 0.99, {both}",
            volatile,
            "LinUCB with lag and fingerprint, not the idealised policy of the corollary",
        ),
    ]


def finding(results: pd.DataFrame) -> str:
    """Return the best intervals of both policies in the three cases."""
    spans = [
        f"{case}: " + ", ".join(f"{label(name)} {_span(best_intervals(results, case, name))}" for name in POLICIES)
        for case in (EARLY, LATE, VOLATILE)
    ]
    return f"The best number of rounds between probes, and those tied with it: {'; '.join(spans)}."


def plot_intervals(results: pd.DataFrame) -> Figure:
    """Regret of fixed schedules over the interval between probes."""
    figure, grid = panels(1, 3, (9.4, 3.2))
    for axes, case in zip(grid, (EARLY, LATE, VOLATILE), strict=True):
        for name, other in POLICIES.items():
            cells = of_draws(results, case, [schedule(name, tau) for tau in INTERVALS])
            curve(axes, INTERVALS, cells, **look(name, label=f"{label(name)}, {label(other)}'s features"))
        limit(axes, results, case)
        ticks(axes, INTERVALS, "interval between probes (rounds)")
        axes.set_ylim(bottom=0)
        axes.set_title(case, fontsize=9)
    grid[0].set_ylabel("regret per group")
    legend_below(figure, grid[0], 3)
    return figure


SCHEDULES = Illustration(
    "timing",
    "Fixed schedules: regret over the interval between probes. Bars: 95 % intervals over matrices.",
    plot_intervals,
)
EXPERIMENT = Experiment(
    "timing",
    SUMMARY,
    cases,
    score,
    title="When to probe: fixed schedules",
    finding=finding,
    place=100,
    figures=(SCHEDULES,),
)

"""Regret as App, what a summary of the policy's own history cannot tell, plus Reg, what the policy loses beyond it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from latentbandits.policies.groups import GREEDY
from latentbandits.policies.oracles import Scripted
from latentbandits.policies.registry import policy
from latentbandits.presentation.palette import BLACK, BLUE, ORANGE, label
from latentbandits.protocols import Contestant
from latentbandits.simulation.results import interval
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies import theory
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.claims import (
    BELOW,
    FAILS,
    HOLDS,
    PROVED,
    READING,
    Claim,
    all_of,
    compared,
    order,
    per_draw,
)
from latentbandits_studies.experiments.once import once
from latentbandits_studies.experiments.paper.worlds import ADARP, ADASP, TITLES, rows
from latentbandits_studies.experiments.plots import panels
from latentbandits_studies.experiments.registry import Experiment, Illustration
from latentbandits_studies.experiments.rehearsal import Run
from latentbandits_studies.experiments.representation import BOTH, FINGERPRINT, HISTORY, LAG, Representation

SUMMARY = "regret as the loss of a summary of the policy's own history, plus what the policy loses beyond it"
ROWS = ("default", "p.8", "sd.1")
SEED, DRAWS, QUICK_DRAWS, QUICK_HORIZON = 0, 32, 6, 5_000
# What is computed for whom: a policy without probes has no fingerprint
ALL, PLAIN = (LAG, FINGERPRINT, BOTH, HISTORY), (LAG, HISTORY)
STATISTICS: Mapping[str, tuple[str, ...]] = {
    ADARP: ALL,
    ADASP: ALL,
    "sp-ucb": ALL,
    "lc-ucb": PLAIN,
    "sw-ucb": PLAIN,
    "ucb1": PLAIN,
    GREEDY: (HISTORY,),
}
# A statistic, and one that tells more
NESTED = ((LAG, BOTH), (FINGERPRINT, BOTH), (BOTH, HISTORY), (LAG, HISTORY))
# Where the error of decoding the state is computed too
DECODED = (
    (ADARP, FINGERPRINT),
    (ADASP, LAG),
    (ADASP, FINGERPRINT),
    (ADASP, BOTH),
    ("lc-ucb", LAG),
)
# Rounding of sums of 20,000 gaps
ROUNDING = 1e-6


class Split(NamedTuple):
    """Mean regret of a policy over draws of the world, and its two parts with their 95 % intervals."""

    regret: float
    app: float
    app_low: float
    app_high: float
    reg: float
    reg_low: float
    reg_high: float


def split(results: pd.DataFrame, case: str, name: str, oracle: str) -> Split:
    """Split the regret of a policy by that of the representation oracle on its runs, run by run.

    Examples
    --------
    >>> import pandas as pd
    >>> from latentbandits_studies.experiments.decomposition import split
    >>> runs = pd.DataFrame({"case": "c", "policy": ["p", "p", "o", "o"], "draw": [0, 1, 0, 1], "regret": [9.0, 7.0, 4.0, 2.0]})
    >>> split(runs, "c", "p", "o")[:2], split(runs, "c", "p", "o").reg
    ((8.0, 3.0), 5.0)
    """
    regret, app = per_draw(results, case, name), per_draw(results, case, oracle)
    return Split(float(regret.mean()), *interval(app), *interval(regret - app))


def oracle(name: str, statistic: str, decoded: bool = False) -> str:
    """Return the label of the representation oracle of a policy and a statistic."""
    return f"{name}|{statistic}" + ("|decoded" if decoded else "")


def contestants() -> dict[str, Contestant]:
    """Return all policies and the representation oracles on their runs."""
    contestants: dict[str, Contestant] = {}
    for name, statistics in STATISTICS.items():
        base = policy(name)
        contestants[name] = base
        for statistic in statistics:
            contestants[oracle(name, statistic)] = Representation(base, statistic)
            if (name, statistic) in DECODED:
                contestants[oracle(name, statistic, decoded=True)] = Representation(base, statistic, decoded=True)
    return contestants


def cases(size: Size) -> list[Case]:
    """Return all contestants on three worlds of the main table."""
    quick = size != "full"
    worlds = {row: rows()[row] for row in ROWS}
    return [
        Case(
            row,
            world,
            contestants(),
            QUICK_HORIZON if quick else horizon,
            QUICK_DRAWS if quick else DRAWS,
            seed=SEED,
        )
        for row, (world, horizon) in worlds.items()
    ]


@once
def table(results: pd.DataFrame) -> pd.DataFrame:
    """Return App and Reg by world, policy and statistic, with intervals."""
    lines = [
        {
            "case": row,
            "policy": name,
            "statistic": statistic,
            **split(results, row, name, oracle(name, statistic))._asdict(),
        }
        for row in ROWS
        for name, statistics in STATISTICS.items()
        for statistic in statistics
    ]
    return pd.DataFrame(lines)


def learner_regret(case: Case, label: str, draw: int) -> float:
    """Play one run again and return Reg per group by its definition: what the oracle's arms would have earned beyond the policy's own."""
    representation = case.policies[label]
    assert isinstance(representation, Representation)
    world = case.world.realise(case.horizon, representation.groups, case.seed, draw, 0)
    scripted = representation.informed(world)
    assert isinstance(scripted, Scripted)
    rounds = np.arange(case.horizon)[:, None]
    earned = world.means[rounds, Run.of(representation.base, world).arms].mean(axis=1)
    return float((world.means[rounds[:, 0], scripted.script] - earned).sum())


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge that the parts add up, that the bound on App holds, and that App falls with what a statistic tells."""
    quick = "quick" in results and bool(results["quick"].iloc[0])
    planned = cases("quick" if quick else "full")
    return [_identity(results, planned), _bound(results, planned), _nested(results)]


def _identity(results: pd.DataFrame, planned: list[Case]) -> Claim:
    """Play the first run of every world again and add up Reg round by round."""
    off, count = 0.0, 0
    for case in planned:
        for name, statistics in STATISTICS.items():
            for statistic in statistics:
                label = oracle(name, statistic)
                first = [per_draw(results, case.name, policy)[0] for policy in (name, label)]
                off = max(off, abs(first[0] - first[1] - learner_regret(case, label, 0)))
                count += 1
    terms = table(results)
    below = terms[terms["reg_high"] < 0]
    negative = "; ".join(
        f"{line.policy} with {line.statistic}, {TITLES[line.case]}: {line.reg:,.0f} ({line.reg_low:,.0f} to {line.reg_high:,.0f})"
        for line in below.itertuples()
    )
    return Claim(
        "decomposition/identity",
        "Regret is App, the loss of the best rule that sees a statistic of the policy's own history, plus Reg, the rest",
        "exact identity",
        f"off by at most {off:.1g} in {count} runs",
        HOLDS if off <= ROUNDING else FAILS,
        f"App cannot be negative, Reg can: {negative or 'here it is not'}",
        PROVED,
    )


def _bound(results: pd.DataFrame, planned: list[Case]) -> Claim:
    """Compare App with the largest gap times the number of rounds in which the state is decoded wrongly."""
    words, slack = [], []
    for case in planned:
        world, draws = case.world, results.loc[results["case"] == case.name, "draw"].unique()
        assert isinstance(world, HiddenMarkov)
        largest = np.array([theory.largest_gap(world.matrix(case.seed, int(draw))) for draw in sorted(draws)])
        for name, statistic in DECODED:
            wrong = 1 - per_draw(results, case.name, oracle(name, statistic, decoded=True), "optimal")
            comparison = compared(
                per_draw(results, case.name, oracle(name, statistic)),
                largest * case.horizon * wrong,
                len(planned) * len(DECODED),
            )
            words.append(comparison.word)
            slack.append(1 / comparison.ratio)
    return Claim(
        "decomposition/bound",
        "App is at most the largest gap times the expected number of rounds in which the statistic's best guess of the state is wrong",
        "proved",
        f"{words.count(BELOW)} of {len(words)} below; bound / App from {min(slack):.1f} to {max(slack):.1f}",
        all_of(words),
        "for fingerprint, lag and both of AdaSP-UCB, the lag of LC-UCB and the fingerprint of AdaRP-UCB",
        PROVED,
    )


def _nested(results: pd.DataFrame) -> Claim:
    """Compare the statistics that contain one another."""
    pairs = [
        (row, name, less, more)
        for row in ROWS
        for name, statistics in STATISTICS.items()
        for less, more in NESTED
        if less in statistics and more in statistics and (BOTH not in statistics or (less, more) != (LAG, HISTORY))
    ]
    orders = {
        pair: order(results, pair[0], oracle(pair[1], pair[3]), oracle(pair[1], pair[2]), len(pairs)) for pair in pairs
    }
    words = [comparison.word for comparison in orders.values()]
    others = ", ".join(
        f"{name} {more} over {less} in {TITLES[row]}: {comparison.text}"
        for (row, name, less, more), comparison in orders.items()
        if comparison.word != BELOW
    )
    return Claim(
        "decomposition/nested",
        "A statistic that contains another one has a lower App: lag and fingerprint above both, both above the whole history",
        "follows from the definition",
        f"{words.count(BELOW)} of {len(words)} lower; ratio from {min(comparison.ratio for comparison in orders.values()):.2f} to "
        f"{max(comparison.ratio for comparison in orders.values()):.2f}",
        all_of(words),
        others,
        READING,
    )


def finding(results: pd.DataFrame) -> str:
    """Return which part of an adaptive policy's regret its own summary leaves no rule a chance to avoid."""
    cells = table(results).set_index(["case", "policy", "statistic"])
    shares = [
        f"{label(name)} {cells.loc[(ROWS[0], name, BOTH), 'app'] / cells.loc[(ROWS[0], name, BOTH), 'regret']:.0%}"
        for name in (ADARP, ADASP, "sp-ucb")
    ]
    return (
        f"In the default world no rule on lag and fingerprint could avoid these shares of the regret: {', '.join(shares)}; the rest is "
        "what the learner loses beyond its summary."
    )


# App: what is not known. Reg: what is not done with it. A negative Reg goes back from the end of App, hatched.
_APP: Mapping[str, Any] = {"color": BLUE, "label": "App: what the summary cannot tell"}
_REG: Mapping[str, Any] = {"color": ORANGE, "label": "Reg: what the learner loses beyond it"}
_GAIN: Mapping[str, Any] = {
    "facecolor": "white",
    "edgecolor": ORANGE,
    "hatch": "////",
    "label": "Reg below 0: the learner beats the summary",
}
PAID: Mapping[str, Any] = {"linestyle": "none", "marker": "D", "ms": 4.5, "color": "white", "markeredgecolor": BLACK}


def split_bars(axes: Axes, places: np.ndarray, lines: pd.DataFrame) -> None:
    """Plot App from zero and Reg beside it, so that their end is the regret; whiskers are 95 % intervals of each over draws."""
    app, reg = lines["app"].to_numpy(), lines["reg"].to_numpy()
    gain = reg < 0
    axes.barh(places, app, 0.74, **_APP)
    axes.barh(places[~gain], reg[~gain], 0.74, left=app[~gain], **_REG)
    axes.barh(places[gain], -reg[gain], 0.5, left=(app + reg)[gain], linewidth=0.6, **_GAIN)
    for term, end, lane in (("app", app, -0.17), ("reg", app + reg, 0.17)):
        reach = (lines[f"{term}_high"] - lines[term]).to_numpy()
        axes.errorbar(end, places + lane, xerr=reach, fmt="none", ecolor=BLACK, elinewidth=0.9, capsize=2)
    axes.set_ylim(places.max() + 0.6, places.min() - 0.6)
    axes.set_xlim(left=0)
    axes.grid(visible=False, axis="y")


def explain(figure: Figure, losing: bool, others: Sequence[Artist] = ()) -> None:
    """Add the legend; `losing` says whether some Reg is negative."""
    handles = [*(Patch(**looks) for looks in (_APP, _REG, *([_GAIN] if losing else []))), *others]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8)


def plot_decomposition(results: pd.DataFrame) -> Figure:
    """Plot the regret of every policy, split by each statistic of its own history, on three worlds."""
    lines = table(results)
    pairs = [(name, statistic) for name, statistics in STATISTICS.items() for statistic in statistics]
    apart = [0.7 * (name != before) for (name, _), (before, _) in zip(pairs, [pairs[0], *pairs[:-1]], strict=True)]
    places = np.arange(len(pairs)) + np.cumsum(apart)  # policies stand apart
    figure, grid = panels(1, len(ROWS), (9.6, 6.4), sharey=True)
    for axes, row in zip(grid, ROWS, strict=True):
        split_bars(axes, places, lines[lines["case"] == row].reset_index(drop=True))
        axes.set_title(TITLES[row], fontsize=9)
        axes.set_xlabel("regret per group")
    first = {name: statistics[0] for name, statistics in STATISTICS.items()}
    texts = [f"{label(name)}   {part}" if first[name] == part else part for name, part in pairs]
    grid[0].set_yticks(places, texts, fontsize=8)
    explain(figure, bool((lines["reg"] < 0).any()))
    return figure


PARTS = Illustration(
    "decomposition",
    "App and Reg along each policy's own run, for the summaries that it uses. Bars: 95 % intervals over matrices.",
    plot_decomposition,
)
EXPERIMENT = Experiment(
    "decomposition",
    SUMMARY,
    cases,
    score,
    title="Regret in two parts: what is not known, and what is not learned",
    finding=finding,
    table=table,
    place=110,
    figures=(PARTS,),
)

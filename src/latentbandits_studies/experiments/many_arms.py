"""Many arms: a randomized probe stays one round, a sequential probe grows with the arms."""

import pandas as pd
from matplotlib.figure import Figure

from latentbandits.policies.groups import LIMIT
from latentbandits.policies.registry import policy
from latentbandits.presentation.palette import legend_below
from latentbandits.simulation.results import interval
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies.experiments.case import Case
from latentbandits_studies.experiments.claims import (
    ABOVE,
    FAILS,
    HOLDS,
    OPEN,
    TIED,
    Claim,
    Order,
    all_of,
    compared,
    per_draw,
)
from latentbandits_studies.experiments.paper.worlds import fitted
from latentbandits_studies.experiments.plots import curve, look, panels, ticks
from latentbandits_studies.experiments.registry import Experiment, Illustration

SUMMARY = "2 to 20 arms: randomized against sequential probing, regret and cost of probes"
ARMS = (2, 3, 5, 10, 20)
HORIZON = 5_000
# With a reward's slope per previous arm, 20 arms would have 60 features; one-hot plus reward has 41.
LAG = "one-hot"


def cases(quick: bool) -> list[Case]:
    """Return one case per number of arms; randomized probing has as many groups as arms."""
    planned = []
    for arms in ARMS:
        world = HiddenMarkov(states=10, arms=arms, stickiness=0.99, noise=0.01)
        policies = {
            "adarp-ucb": fitted("adarp-ucb", arms, groups=arms, lag=LAG),
            "adasp-ucb": fitted("adasp-ucb", arms, lag=LAG, min_gap=2 * arms),
            "rp-ucb": policy("rp-ucb", arms=arms, groups=arms, lag=LAG, interval=10),
            "sp-ucb": policy("sp-ucb", arms=arms, lag=LAG, interval=max(40, 4 * arms)),
            "sw-ucb": policy("sw-ucb", arms=arms, window=25 * arms),
            LIMIT: policy(LIMIT, arms=arms),
        }
        draws = (8 if arms <= 5 else 2) if quick else (64 if arms <= 10 else 24)
        planned.append(Case(f"{arms} arms", world, policies, HORIZON // 2 if quick else HORIZON, draws))
    return planned


def growth(results: pd.DataFrame, name: str, column: str) -> Order:
    """Return how a column grows from the fewest to the most arms, over as many draws as both have."""
    few, most = (per_draw(results, f"{arms} arms", name, column) for arms in (ARMS[0], ARMS[-1]))
    count = min(len(few), len(most))
    return compared(most[:count], few[:count])


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge how the two kinds of probing grow."""
    regret = {name: growth(results, name, "regret") for name in ("adarp-ucb", "adasp-ucb")}
    rounds = {name: growth(results, name, "probe_rounds") for name in ("adarp-ucb", "adasp-ucb")}
    adasp, adarp = regret["adasp-ucb"], regret["adarp-ucb"]
    lost = [
        compared(
            per_draw(results, f"{arms} arms", "adasp-ucb"), per_draw(results, f"{arms} arms", "adarp-ucb"), len(ARMS)
        )
        for arms in ARMS
    ]
    steady = rounds["adarp-ucb"]
    return [
        Claim(
            "many-arms/less-attractive",
            "With more arms sequential probing becomes less attractive: its regret over that of randomized probing grows",
            "stated without figures",
            f"from {ARMS[0]} to {ARMS[-1]} arms regret grows {adasp.text} times sequential, {adarp.text} times randomized",
            HOLDS if lost[-1].low > lost[0].high else FAILS if lost[-1].high < lost[0].low else OPEN,
            "sequential over randomized, by number of arms: "
            + ", ".join(f"{arms}: {comparison.ratio:.1f}" for arms, comparison in zip(ARMS, lost, strict=True)),
        ),
        Claim(
            "many-arms/probe-cost",
            "The rounds spent on sequential probes grow with the arms",
            "K rounds a probe",
            f"probe rounds grow {rounds['adasp-ucb'].text} times sequential",
            all_of([rounds["adasp-ucb"].word], ABOVE),
            "age caps and gaps grow with a probe's rounds, which keeps this growth down",
        ),
        Claim(
            "many-arms/one-round",
            "The rounds spent on randomized probes do not",
            "one round a probe",
            f"probe rounds grow {steady.text} times randomized",
            FAILS if steady.word == ABOVE else HOLDS if steady.high <= 1.25 else TIED,
            "as many groups as arms; up to a quarter more is counted as not growing, where the arms are ten times as many",
        ),
    ]


def finding(results: pd.DataFrame) -> str:
    """Return how regret grows with the arms under both kinds of probing."""
    grown = {name: growth(results, name, "regret") for name in ("adasp-ucb", "adarp-ucb")}
    return (
        f"From {ARMS[0]} to {ARMS[-1]} arms regret grows {grown['adasp-ucb'].ratio:.1f} times with sequential probes and "
        f"{grown['adarp-ucb'].ratio:.1f} times with randomized ones."
    )


def plot_arms(results: pd.DataFrame) -> Figure:
    """Regret and probe rounds over the number of arms."""
    figure, (left, right) = panels(1, 2, (8.6, 3.4))
    for name in dict.fromkeys(results["policy"]):
        for axes, column in ((left, "regret"), (right, "probe_rounds")):
            cells = [interval(per_draw(results, f"{arms} arms", name, column)) for arms in ARMS]
            if cells[0][0] > 0:
                curve(axes, ARMS, cells, **look(name))
    for axes, text in ((left, "regret per group"), (right, "rounds spent on probes")):
        ticks(axes, ARMS, "number of arms")
        axes.set_yscale("log")
        axes.set_ylabel(text)
    legend_below(figure, left, 6)
    return figure


GROWTH = Illustration(
    "many-arms",
    "Randomized probes take one round with any number of arms; sequential ones as many rounds as arms.",
    plot_arms,
)
EXPERIMENT = Experiment(
    "many-arms",
    SUMMARY,
    cases,
    score,
    title="Many arms: what a probe costs",
    finding=finding,
    place=70,
    figures=(GROWTH,),
)

"""Many arms: a randomized probe stays one round, a sequential probe grows with the arms unless it visits only some of them."""

import dataclasses
import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentbandits.policies.groups import LIMIT
from latentbandits.presentation.palette import BLUE, GREY, ORANGE, label, legend_below
from latentbandits.simulation.results import interval
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.claims import (
    ABOVE,
    FAILS,
    HOLDS,
    TARGET,
    TIED,
    Claim,
    Order,
    all_of,
    compared,
    mean,
    order,
    per_draw,
    quotient,
)
from latentbandits_studies.experiments.paper.choices import READINGS, judge
from latentbandits_studies.experiments.paper.worlds import ADARP, ADASP, contestants
from latentbandits_studies.experiments.plots import curve, look, panels, ticks
from latentbandits_studies.experiments.registry import Experiment, Illustration

SUMMARY = "2 to 20 arms: randomized against sequential probing, regret and cost of probes"
ARMS = (2, 3, 5, 10, 20)
HORIZON = 5_000
# With a reward's slope per previous arm, 20 arms would have 60 features; one-hot plus reward has 41.
LAG = "one-hot"
# Sequential probes of all arms, of the three that have paid most in probes, and of the first three: since arms are exchangeable, a random
# three. Gates and intervals are those that presets have for a probe of so many rounds, so that all probe about equally much.
SOME, MANY = 3, (5, 10, 20)
ALL_ARMS, PAID_MOST, AT_RANDOM = "all arms", f"{SOME} that paid most", f"{SOME} at random"
PICKS = (ALL_ARMS, PAID_MOST, AT_RANDOM)
RANDOM = ",".join(map(str, range(SOME)))
SEQUENTIAL: Mapping[str, str] = {ADASP: f"min_gap={4 * SOME},staleness={25 * SOME}", "sp-ucb": f"interval={20 * SOME}"}
GROUP_NOISE = "group noise"


def place(arms: int, variance: str = "") -> str:
    """Return the name of a case; under the first reading of the groups' noise nothing is added."""
    return f"{arms} arms" + (f", {variance}" if variance not in ("", READINGS[GROUP_NOISE].default) else "")


def cases(size: Size) -> list[Case]:
    """Return one case per number of arms; randomized probing has a group per arm, and with most arms every reading of their noise."""
    quick = size != "full"
    planned = []
    for arms in ARMS:
        world = HiddenMarkov(states=10, arms=arms, stickiness=0.99, noise=0.01)
        draws = (8 if arms <= 5 else 4) if quick else (64 if arms <= 10 else 24)
        some = [visiting(name, pick) for name in SEQUENTIAL for pick in PICKS] if arms in MANY else []
        policies = contestants([*specs(arms).values(), *some], arms)
        planned.append(Case(place(arms), world, policies, HORIZON // 2 if quick else HORIZON, draws))
    last = planned[-1]
    for variance, times in READINGS[GROUP_NOISE].values.items():
        if times is not None:
            spread = (0.01 * math.sqrt(times),) * ARMS[-1]
            world = HiddenMarkov(states=10, arms=ARMS[-1], stickiness=0.99, noise=0.01, group_noise=spread)
            randomized = {specs(ARMS[-1])[ADARP]: last.policies[specs(ARMS[-1])[ADARP]]}
            name = place(ARMS[-1], variance)
            planned.append(dataclasses.replace(last, name=name, world=world, policies=randomized))
    return planned


def specs(arms: int) -> dict[str, str]:
    """Return what each policy is with so many arms."""
    return {
        ADARP: f"{ADARP}:lag={LAG}",
        ADASP: f"{ADASP}:lag={LAG},min_gap={2 * arms}",
        "rp-ucb": f"rp-ucb:lag={LAG}",
        "sp-ucb": f"sp-ucb:lag={LAG},interval={max(40, 4 * arms)}",
        "sw-ucb": "sw-ucb",
        LIMIT: LIMIT,
    }


def visiting(name: str, pick: str) -> str:
    """Return the spec of a sequential policy whose probes visit all arms, or some."""
    some = {ALL_ARMS: "", PAID_MOST: f",probe_size={SOME}", AT_RANDOM: f",probe_set={RANDOM},{SEQUENTIAL[name]}"}
    return f"{name}:lag={LAG}{some[pick]}"


def at(results: pd.DataFrame, arms: int, name: str, column: str = "regret", variance: str = "") -> np.ndarray:
    """Return a column per draw, of a policy with so many arms."""
    return per_draw(results, place(arms, variance), specs(arms)[name], column)


def growth(results: pd.DataFrame, name: str, column: str, variance: str = "") -> Order:
    """Return how a column grows from the fewest to the most arms, over as many draws as both have."""
    few, most = at(results, ARMS[0], name, column), at(results, ARMS[-1], name, column, variance)
    count = min(len(few), len(most))
    return compared(most[:count], few[:count])


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge how the two kinds of probing grow."""
    regret = {name: growth(results, name, "regret") for name in (ADARP, ADASP)}
    rounds = {name: growth(results, name, "probe_rounds") for name in (ADARP, ADASP)}
    adasp, adarp = regret[ADASP], regret[ADARP]
    lost = [compared(at(results, arms, ADASP), at(results, arms, ADARP), len(ARMS)) for arms in ARMS]
    steady = rounds[ADARP]

    def dearer(variance: str) -> str:
        words = []
        for few, more in pairwise(ARMS):
            read = variance if more == ARMS[-1] else ""
            samples = [
                *(at(results, more, ADASP), at(results, few, ADARP)),
                *(at(results, few, ADASP), at(results, more, ADARP, variance=read)),
            ]
            count = min(map(len, samples))
            samples = [sample[:count] for sample in samples]
            words.append(quotient(samples[:2], samples[2:], len(ARMS) - 1).word)
        return all_of(words, ABOVE)

    def flat(variance: str) -> str:
        found = growth(results, ADARP, "probe_rounds", variance)
        return FAILS if found.word == ABOVE else HOLDS if found.high <= 1.25 else TIED

    less, same = judge((GROUP_NOISE,), dearer), judge((GROUP_NOISE,), flat)
    return [
        Claim(
            "many-arms/less-attractive",
            "With more arms sequential probing becomes less attractive: its regret over that of randomized probing grows",
            "stated without figures",
            f"from {ARMS[0]} to {ARMS[-1]} arms regret grows {adasp.text} times for {label(ADASP)}, {adarp.text} times for "
            f"{label(ADARP)}; "
            f"{less.words}",
            less.verdict,
            f"every step is judged; {label(ADASP)} over {label(ADARP)}, by number of arms: "
            + ", ".join(f"{arms}: {comparison.ratio:.1f}" for arms, comparison in zip(ARMS, lost, strict=True)),
            depends=less.depends,
            lean=less.lean,
        ),
        Claim(
            "many-arms/probe-cost",
            "The rounds spent on sequential probes grow with the arms",
            "K rounds a probe",
            f"probe rounds grow {rounds[ADASP].text} times sequential",
            all_of([rounds[ADASP].word], ABOVE),
            "age caps and gaps grow with a probe's rounds, which keeps this growth down",
        ),
        Claim(
            "many-arms/one-round",
            "The rounds spent on randomized probes do not",
            "one round a probe",
            f"probe rounds grow {steady.text} times randomized; {same.words}",
            same.verdict,
            "as many groups as arms; up to a quarter more is counted as not growing, where the arms are ten times as many",
            depends=same.depends,
            lean=same.lean,
        ),
        *(_subset(results, name, other) for name in SEQUENTIAL for other in (ALL_ARMS, AT_RANDOM)),
    ]


def finding(results: pd.DataFrame) -> str:
    """Return how regret grows with the arms under both kinds of probing, and what sequential probes of some arms have."""
    grown = {name: growth(results, name, "regret").ratio for name in (ADASP, "sp-ucb", ADARP, "rp-ucb")}
    sequential, randomized = (
        " and ".join(f"{grown[name]:.1f} times for {label(name)}" for name in names)
        for names in ((ADASP, "sp-ucb"), (ADARP, "rp-ucb"))
    )
    some = [order(results, place(arms), visiting(ADASP, PAID_MOST), visiting(ADASP, ALL_ARMS)).ratio for arms in MANY]
    return (
        f"From {ARMS[0]} to {ARMS[-1]} arms regret grows {sequential}, which probe arm by arm, and {randomized}, which "
        f"probe all arms in one round. {label(ADASP)} whose probes visit the {PAID_MOST} has "
        f"{', '.join(f'{ratio:.2f}' for ratio in some)} times the regret of probes of all at {', '.join(map(str, MANY))} arms."
    )


def _subset(results: pd.DataFrame, name: str, other: str) -> Claim:
    """Judge that a probe of the arms that have paid most has less regret than another, where there are many arms."""
    chosen, rival = visiting(name, PAID_MOST), visiting(name, other)
    orders = {arms: order(results, f"{arms} arms", chosen, rival, len(MANY) - 1) for arms in MANY[1:]}
    few = order(results, f"{MANY[0]} arms", chosen, rival)
    rounds = [order(results, f"{arms} arms", chosen, rival, column="probe_rounds").ratio for arms in MANY]
    against = "all arms" if other == ALL_ARMS else f"{SOME} random ones, always the same"
    return Claim(
        f"many-arms/{name.partition('-')[0]}-{'subset' if other == ALL_ARMS else 'picked'}",
        f"{label(name)} whose probes visit the {SOME} arms that have paid most in probes has less regret than with probes of {against}, at "
        f"{' and '.join(map(str, orders))} arms",
        "derived",
        "; ".join(f"{arms} arms: {found.text}" for arms, found in orders.items()),
        all_of(found.word for found in orders.values()),
        f"{MANY[0]} arms: {few.text}; rounds of probes, by number of arms: "
        + ", ".join(f"{share:.2f}" for share in rounds)
        + f"; regret with {other}: "
        + ", ".join(f"{mean(results, f'{arms} arms', rival):,.0f}" for arms in MANY)
        + ", with the package's own gates or interval for so many arms, which are not those of the growth with the arms",
        TARGET,
    )


def plot_arms(results: pd.DataFrame) -> Figure:
    """Regret and probe rounds over the number of arms."""
    figure, (left, right) = panels(1, 2, (8.6, 3.4))
    for name in specs(ARMS[0]):
        for axes, column in ((left, "regret"), (right, "probe_rounds")):
            cells = [interval(at(results, arms, name, column)) for arms in ARMS]
            if cells[0][0] > 0:
                curve(axes, ARMS, cells, **look(name))
    for axes, text in ((left, "regret per group"), (right, "rounds spent on probes")):
        ticks(axes, ARMS, "number of arms")
        axes.set_yscale("log")
        axes.set_ylabel(text)
    legend_below(figure, left, 6)
    return figure


def plot_subsets(results: pd.DataFrame) -> Figure:
    """Regret and probe rounds of sequential probes that visit all arms, or some."""
    figure, grid = panels(1, 3, (9.0, 3.4))
    shown = ((ADASP, "regret"), (ADASP, "probe_rounds"), ("sp-ucb", "regret"))  # SP-UCB's schedule fixes what it spends
    for axes, (name, column) in zip(grid, shown, strict=True):
        for pick, color, line in zip(PICKS, (GREY, BLUE, ORANGE), ("-", "-", "--"), strict=True):
            cells = [interval(per_draw(results, f"{arms} arms", visiting(name, pick), column)) for arms in MANY]
            curve(axes, MANY, cells, color=color, linestyle=line, label=pick)
        ticks(axes, MANY, "number of arms")
        axes.set_ylim(bottom=0)
        axes.set_ylabel("regret" if column == "regret" else "rounds spent on probes")
        axes.set_title(label(name), fontsize=9)
    legend_below(figure, grid[0], 3)
    return figure


GROWTH = Illustration(
    "many-arms",
    "Randomized probes take one round with any number of arms; sequential ones as many rounds as arms. Here "
    "AdaSP-UCB has a gap of twice the arms, SP-UCB an interval of four times the arms, at least 40.",
    plot_arms,
)
SUBSETS = Illustration(
    "many-arms-subset",
    f"Sequential probes of all arms, of the {SOME} that have paid most in probes, and of {SOME} at random, always the same. Gates and "
    "intervals are in proportion to the rounds of a probe. Bars: 95 % intervals over matrices.",
    plot_subsets,
)
EXPERIMENT = Experiment(
    "many-arms",
    SUMMARY,
    cases,
    score,
    title="Many arms: what a probe costs",
    finding=finding,
    place=70,
    figures=(GROWTH, SUBSETS),
)

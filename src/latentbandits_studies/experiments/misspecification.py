"""A matched learner, which is given the true statistic, against one that must make do with lag and fingerprint."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentbandits.policies.groups import LIMIT
from latentbandits.simulation.results import interval
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.claims import (
    ABOVE,
    FAILS,
    HOLDS,
    READING,
    TIED,
    VERDICTS,
    Claim,
    agreed,
    all_of,
    compared,
    matches,
    mean,
    order,
    per_draw,
    shown,
)
from latentbandits_studies.experiments.paper import printed
from latentbandits_studies.experiments.paper.worlds import MATRICES, QUICK_MATRICES, contestants
from latentbandits_studies.experiments.plots import bars, panels
from latentbandits_studies.experiments.registry import Experiment, Illustration

SUMMARY = "matched and misspecified learners: switching, reward memory, overlap of the states"
# The paper does not state the horizon; with 5,000 rounds its figures come out at the scale of regret per group.
HORIZON, NOISE, STATES = 5_000, 0.05, 10
OVERLAPS = (0.05, 0.1, 0.2, 0.25)
BLIND, SEQUENTIAL = "adarp-ucb-stated", "adasp-ucb-stated"
# The settings of D-UCB in this section are not stated and cannot be those that fit the main table, whose regret is far below the
# published one. So they are fitted here, to the published figures of D-UCB alone.
DISCOUNTED = tuple(
    f"d-ucb:discount={discount:g},exploration={exploration:g}"
    for discount in (0.95, 0.98, 0.99)
    for exploration in (0.5, 2, 4)
)


def matched(name: str, case: str) -> str:
    """Return the spec of the learner that is given the true statistic of a case: the state, or with memory the expected rewards."""
    return f"{name}:covariates={2 if case.startswith('memory') else STATES},lag=none,fingerprint=False"


def cases(size: Size) -> list[Case]:
    """Return switching, memory and overlap; with memory the true statistic is the round's expected rewards."""
    quick = size != "full"
    worlds = {
        f"stay {stay:g}": HiddenMarkov(states=STATES, arms=2, stickiness=stay, noise=NOISE, reveal="state")
        for stay in (0.95, 0.5)
    }
    for carryover in (0.25, 0.5):
        worlds[f"memory {carryover:g}"] = HiddenMarkov(
            states=STATES, arms=2, stickiness=0.95, noise=NOISE, carryover=carryover, reveal="means"
        )
    for distance in OVERLAPS:
        worlds[f"overlap {distance:g}"] = HiddenMarkov(
            states=STATES, arms=2, stickiness=0.95, noise=NOISE, separation=distance, reveal="state"
        )
    draws, repeats = (
        (QUICK_MATRICES // 2, 1) if quick else (MATRICES, 2)
    )  # with memory the limit takes seconds a matrix
    return [Case(name, world, contestants(labels(name)), HORIZON, draws, repeats) for name, world in worlds.items()]


def labels(case: str) -> list[str]:
    """Return the specs of all policies in a case."""
    learners = [spec for name in (BLIND, SEQUENTIAL) for spec in (matched(name, case), name, f"{name}:lag=slopes")]
    return [*learners, "sw-ucb", "d-ucb", LIMIT, *DISCOUNTED]


def fitted_discounting(results: pd.DataFrame) -> str:
    """Return the label of the D-UCB whose regret is nearest to the published figures of D-UCB in this section."""
    return min(
        DISCOUNTED,
        key=lambda label: sum(
            np.log(mean(results, case, label) / printed.MISSPECIFICATION[case][3]) ** 2
            for case in printed.MISSPECIFICATION
        ),
    )


def _sequential(results: pd.DataFrame) -> list[Claim]:
    """Judge that sequential probing fails faster under switching, by three measures, and its figures."""
    fast, calm = "stay 0.5", "stay 0.95"
    grown = {name: per_draw(results, fast, name) / mean(results, calm, name) for name in (SEQUENTIAL, BLIND)}
    price = {
        name: per_draw(results, fast, name) / mean(results, fast, matched(name, fast)) for name in (SEQUENTIAL, BLIND)
    }
    measures = {
        "its regret over AdaRP-UCB's": order(results, fast, SEQUENTIAL, BLIND, 3),
        "its growth from stay 0.95 over AdaRP-UCB's": compared(grown[SEQUENTIAL], grown[BLIND], 3),
        "its regret over its matched learner's, over the same of AdaRP-UCB": compared(
            price[SEQUENTIAL], price[BLIND], 3
        ),
    }
    pair, rest = (matched(SEQUENTIAL, fast), SEQUENTIAL), printed.MISSPECIFICATION[fast]
    shown_ = f"{shown(results, fast, pair[0])} matched, {shown(results, fast, pair[1])} misspecified"
    return [
        Claim(
            "misspecification/sequential",
            "stay 0.5: misspecified AdaSP-UCB fails faster than misspecified AdaRP-UCB",
            f"{printed.SEQUENTIAL[1]:.0f} against {rest[1]:.0f}, matched {printed.SEQUENTIAL[0]:.0f} against {rest[0]:.0f}",
            "; ".join(f"{name}: {comparison.text}" for name, comparison in measures.items()),
            agreed(all_of([comparison.word], ABOVE) for comparison in measures.values()),
            "faster is not defined; by level it is so, by growth and by the price of misspecification it is not",
        ),
        Claim(
            "misspecification/sequential-figures",
            "stay 0.5: the figures of AdaSP-UCB come out within 15 %",
            ", ".join(f"{x:.0f}" for x in printed.SEQUENTIAL),
            shown_,
            matches(printed.SEQUENTIAL, [interval(per_draw(results, fast, contestant)) for contestant in pair]),
            "the horizon is ours",
        ),
    ]


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge the order of the four policies, which is what the paper builds on, and whether the figures come out."""
    discounted = fitted_discounting(results)
    fitted = f"D-UCB is fitted to its own published figures here: {discounted.split(':')[1]}"
    claims = []
    for case, figures in printed.MISSPECIFICATION.items():
        best = matched(BLIND, case)
        four = (best, BLIND, "sw-ucb", discounted)
        verdicts = {
            label: all_of(
                order(results, case, *pair, 3).word for pair in ((best, BLIND), (BLIND, "sw-ucb"), (BLIND, label))
            )
            for label in DISCOUNTED
        }
        counted = [f"{list(verdicts.values()).count(word)} {word}" for word in VERDICTS if word in verdicts.values()]
        published, measured = (
            ", ".join(f"{x:.0f}" for x in figures),
            ", ".join(shown(results, case, contestant) for contestant in four),
        )
        name = case.replace(" ", "-")
        claims.append(
            Claim(
                f"misspecification/{name}",
                f"{case}: misspecified AdaRP-UCB lies between the matched learner and SW-UCB, D-UCB",
                published,
                measured,
                agreed(verdicts.values()),
                f"in this order: matched, misspecified, SW-UCB, D-UCB; under {len(DISCOUNTED)} settings of D-UCB, which the paper does not "
                f"state: {', '.join(counted)}; shown: the one nearest to its published figures, {discounted.split(':')[1]}; lag as slopes: "
                f"{shown(results, case, f'{BLIND}:lag=slopes')}; D-UCB as in the main table: {shown(results, case, 'd-ucb')}",
            )
        )
        claims.append(
            Claim(
                f"misspecification/{name}-figures",
                f"{case}: the figures come out within 15 %",
                published,
                measured,
                matches(figures, [interval(per_draw(results, case, contestant)) for contestant in four]),
                f"in the same order; the horizon is ours; {fitted}",
            )
        )
    claims += _sequential(results)
    weak, strong = (
        order(results, case, BLIND, matched(BLIND, case), 2)
        for distance in (OVERLAPS[0], OVERLAPS[-1])
        for case in [f"overlap {distance:g}"]
    )
    claims.append(
        Claim(
            "misspecification/separation",
            "Weak separation of fingerprints is a failure mode: the price of misspecification is higher the nearer the states are",
            "a main failure mode",
            f"misspecified over matched AdaRP-UCB: {weak.text} at distance {OVERLAPS[0]:g}, {strong.text} at {OVERLAPS[-1]:g}",
            HOLDS if weak.low > strong.high else FAILS if weak.high < strong.low else TIED,
            "our reading: the paper does not say how its overlap worlds are made; here the nearest two states are at that distance",
            READING,
        )
    )
    return claims


def plot_mismatch(results: pd.DataFrame) -> Figure:
    """Plot matched and misspecified learners; D-UCB with the setting that fits its published figures, where there are any."""
    discounted = fitted_discounting(results)
    texts = ["AdaRP matched", "AdaRP", "SW-UCB", "D-UCB (fitted)", "AdaSP matched", "AdaSP"]
    figure, grid = panels(2, 4, (9.4, 5.8))
    for axes, case in zip(grid, dict.fromkeys(results["case"]), strict=True):
        sequential = (matched(SEQUENTIAL, case), SEQUENTIAL)
        names = [matched(BLIND, case), BLIND, "sw-ucb", discounted, *sequential]
        last = printed.SEQUENTIAL if case == "stay 0.5" else (None, None)
        bars(axes, results, case, names, texts, [*printed.MISSPECIFICATION.get(case, (None,) * 4), *last])
    for axes in grid[::4]:
        axes.set_ylabel("regret per group")
    return figure


MISMATCH = Illustration(
    "misspecification",
    "Matched learners are given the true statistic; the others have gates and lag as the text states them. D-UCB "
    "is fitted to its published figures. Diamonds: published. Dotted: the Bayes limit. Bars: 95 % intervals over "
    "matrices.",
    plot_mismatch,
)
EXPERIMENT = Experiment("misspecification", SUMMARY, cases, score, place=60, figures=(MISMATCH,))

"""A matched learner, which is given the true statistic, against one that must make do with lag and fingerprint."""

from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentbandits.policies.groups import ADAPTIVE, LIMIT
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.claims import (
    ABOVE,
    READING,
    STRETCH,
    Claim,
    Order,
    all_of,
    compared,
    matches,
    order,
    per_draw,
    quotient,
    shown,
    upto,
    with_horizons,
)
from latentbandits_studies.experiments.paper import printed
from latentbandits_studies.experiments.paper.choices import READINGS, judge
from latentbandits_studies.experiments.paper.variants import Neighbours, OwnMemory
from latentbandits_studies.experiments.paper.worlds import MATRICES, OPEN_SETTINGS, QUICK_MATRICES, contestants, under
from latentbandits_studies.experiments.plots import bars, panels
from latentbandits_studies.experiments.registry import Experiment, Illustration

SUMMARY = "matched and misspecified learners: switching, reward memory, overlap of the states"
STAYS, MEMORIES, OVERLAP = (0.95, 0.5), (0.25, 0.5), 0.2
FAST, CALM = "stay 0.5", "stay 0.95"
# Ours: of four arms two are probed, and every state has another one at this distance, measured on those two
PROBED, DISTANCES = (0, 1), (0.05, 0.1, 0.25)
HORIZON, DISCOUNT, STATES = "robustness horizon", "robustness D-UCB", "check states"
HORIZONS = tuple(READINGS[HORIZON].values.values())


def forms(check: str) -> tuple[str, ...]:
    """Return the readings of a check's world, beside the horizon."""
    form = check.split()[0]
    return (form, STATES) if form in READINGS else ()


def place(check: str, *values: str) -> str:
    """Return the name of the case of a check under a reading of its world; where it is the default, nothing is added."""
    return ", ".join([check, *(value for value in values if value not in _default(*forms(check)))])


def _default(*names: str) -> list[str]:
    """Return the values that are taken where nothing else is said."""
    return [READINGS[name].default for name in names]


@cache
def worlds() -> dict[str, HiddenMarkov]:
    """Return the world of every check, under every reading of it."""
    given: dict[str, Any] = {"stickiness": 0.95, "noise": 0.05, "reveal": "state"}
    made: dict[str, HiddenMarkov] = {f"stay {stay:g}": HiddenMarkov(**given | {"stickiness": stay}) for stay in STAYS}
    for count, states in READINGS[STATES].values.items():
        for form, own in READINGS["memory"].values.items():
            for weight in MEMORIES:
                world = (OwnMemory if own else HiddenMarkov)(
                    **given | {"states": int(states), "carryover": weight, "reveal": "means"}
                )
                made[place(f"memory {weight:g}", form, count)] = world
        for form, every in READINGS["overlap"].values.items():
            kind = Neighbours if every else HiddenMarkov
            made[place(f"overlap {OVERLAP:g}", form, count)] = kind(**given, states=int(states), separation=OVERLAP)
    for distance in DISTANCES:
        made[f"subset {distance:g}"] = Neighbours(**given, arms=4, separation=distance, separated_arms=PROBED)
    return made


def cases(size: Size) -> list[Case]:
    """Return a case per world, with every reading of the policies' settings."""
    draws, repeats = MATRICES if size == "full" else QUICK_MATRICES // 2, READINGS["repeats"].values["1"]
    sizes: dict[str, Any] = {"draws": draws, "repeats": repeats, "bins": max(HORIZONS) // STRETCH}
    return [
        Case(name, world, contestants(labels(name), world.arms), max(HORIZONS), **sizes)
        for name, world in worlds().items()
    ]


def labels(case: str) -> list[str]:
    """Return the specs of all policies in a case; sequential probing only under switching, the limit only where it is shown."""
    learners = [
        spec(name, case, *values)
        for name in (ADAPTIVE if case in (FAST, CALM) else ADAPTIVE[:1])
        for values in product(*(READINGS[each].values for each in settings_of(case)))
        for spec in (misspecified, matched)
    ]
    baselines = ["sw-ucb", *READINGS[DISCOUNT].values.values()]
    return [*dict.fromkeys(learners), *baselines, *([LIMIT] if case in panels_shown() else [])]


def settings_of(case: str) -> tuple[str, ...]:
    """Return what the text leaves open of an adaptive policy in a case; with four arms the lag is no pair."""
    return tuple("lag of many" if each == "lag" and _subset(case) else each for each in OPEN_SETTINGS)


def misspecified(name: str, case: str, *settings: str) -> str:
    """Return the spec of the learner that must make do with lag and fingerprint."""
    return under(name, *settings, **_subset(case))


def matched(name: str, case: str, *settings: str) -> str:
    """Return the spec of the learner that is given the true statistic of a case: the state, or with memory the expected rewards."""
    world = worlds()[case]
    seen = world.states if world.reveal == "state" else world.arms
    return under(name, *settings, lag="none", covariates=seen, fingerprint=False, **_subset(case))


def _subset(case: str) -> dict[str, object]:
    """Return the settings of a probe of some of the arms, in one round."""
    return {"groups": len(PROBED), "probe_set": ",".join(map(str, PROBED))} if case.startswith("subset") else {}


def panels_shown() -> list[str]:
    """Return the cases of the figure: every check under the first reading of its world."""
    return [case for case in worlds() if ", " not in case]


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge the order of the four policies, which is what the paper builds on, and whether the figures come out."""
    results = with_horizons(results, HORIZONS)
    claims = [claim for check in printed.MISSPECIFICATION for claim in _four(results, check)]
    return [*claims, *_sequential(results), _separation(results)]


def _four(results: pd.DataFrame, check: str) -> list[Claim]:
    """Judge the order of matched, misspecified, SW-UCB and D-UCB in a check, and their figures."""
    figures, depends = printed.MISSPECIFICATION[check], (HORIZON, *OPEN_SETTINGS, DISCOUNT, *forms(check))

    def four(*values: str) -> tuple[str, str, tuple[str, ...]]:
        horizon, gates, lag, residual, setting, *kept = values
        settings, case = (gates, lag, residual), place(check, *kept)
        learners = (kind("adarp-ucb", case, *settings) for kind in (matched, misspecified))
        names = (*learners, "sw-ucb", READINGS[DISCOUNT].values[setting])
        return case, upto(READINGS[HORIZON].values[horizon]), names

    def between(*values: str) -> str:
        case, column, (best, blind, *baselines) = four(*values)
        pairs = ((best, blind), *((blind, name) for name in baselines))
        return all_of(order(results, case, *pair, 3, column).word for pair in pairs)

    def sizes(*values: str) -> str:
        case, column, names = four(*values)
        return matches(results, case, names, figures, column)

    case, column, names = four(*_default(*depends))
    here = ", ".join(shown(results, case, name, column) for name in names)
    name, published = check.replace(" ", "-"), ", ".join(f"{figure:.0f}" for figure in figures)
    claims = []
    for end, text, rule in (
        ("", "misspecified AdaRP-UCB lies between the matched learner and SW-UCB, D-UCB", between),
        ("-figures", "the figures come out within 15 %", sizes),
    ):
        found = judge(depends, rule)
        claims.append(
            Claim(
                f"misspecification/{name}{end}",
                f"{check}: {text}",
                published,
                f"{here} (the first reading of each); {found.words}",
                found.verdict,
                "in this order: matched, misspecified, SW-UCB, D-UCB",
                depends=found.depends,
                lean=found.lean,
            )
        )
    return claims


def _faster(results: pd.DataFrame, measure: int, column: str, *settings: str) -> Order:
    """Return how much faster AdaSP-UCB fails under switching than AdaRP-UCB, by one of three measures."""
    fast, calm, given = (
        {name: per_draw(results, case, spec(name, case, *settings), column) for name in ADAPTIVE}
        for case, spec in ((FAST, misspecified), (CALM, misspecified), (FAST, matched))
    )
    if measure == 0:
        return quotient([fast["adasp-ucb"]], [fast["adarp-ucb"]])
    base = calm if measure == 1 else given
    return quotient([fast["adasp-ucb"], base["adarp-ucb"]], [base["adasp-ucb"], fast["adarp-ucb"]])


def _sequential(results: pd.DataFrame) -> list[Claim]:
    """Judge that sequential probing fails faster under switching, and its figures."""
    depends = (HORIZON, *OPEN_SETTINGS)
    measures = READINGS["faster"].values

    def faster(measure: str, horizon: str, *settings: str) -> str:
        comparison = _faster(results, measures[measure], upto(READINGS[HORIZON].values[horizon]), *settings)
        return all_of([comparison.word], ABOVE)

    def sizes(horizon: str, *settings: str) -> str:
        pair = matched("adasp-ucb", FAST, *settings), misspecified("adasp-ucb", FAST, *settings)
        return matches(results, FAST, pair, printed.SEQUENTIAL, upto(READINGS[HORIZON].values[horizon]))

    usual, column = _default(*OPEN_SETTINGS), upto(HORIZONS[0])
    texts = "; ".join(
        f"{name}: {_faster(results, place, column, *usual).text} times" for name, place in measures.items()
    )
    here = [shown(results, FAST, spec("adasp-ucb", FAST, *usual), column) for spec in (matched, misspecified)]
    by_order, by_size = judge(("faster", *depends), faster), judge(depends, sizes)
    rest = printed.MISSPECIFICATION[FAST]
    return [
        Claim(
            "misspecification/sequential",
            "stay 0.5: misspecified AdaSP-UCB fails faster than misspecified AdaRP-UCB",
            f"{printed.SEQUENTIAL[1]:.0f} against {rest[1]:.0f}, matched {printed.SEQUENTIAL[0]:.0f} against {rest[0]:.0f}",
            f"AdaSP-UCB over AdaRP-UCB, {texts} (the first reading of the others); {by_order.words}",
            by_order.verdict,
            depends=by_order.depends,
            lean=by_order.lean,
        ),
        Claim(
            "misspecification/sequential-figures",
            "stay 0.5: the figures of AdaSP-UCB come out within 15 %",
            ", ".join(f"{figure:.0f}" for figure in printed.SEQUENTIAL),
            f"{here[0]} matched, {here[1]} misspecified (the first reading of each); {by_size.words}",
            by_size.verdict,
            depends=by_size.depends,
            lean=by_size.lean,
        ),
    ]


def _separation(results: pd.DataFrame) -> Claim:
    """Judge that misspecification costs more the nearer the states are."""
    settings = settings_of(f"subset {DISTANCES[0]:g}")
    depends = (HORIZON, *settings)

    def both(distance: float, column: str, *values: str) -> tuple[np.ndarray, np.ndarray]:
        case = f"subset {distance:g}"
        blind, given = (kind("adarp-ucb", case, *values) for kind in (misspecified, matched))
        return per_draw(results, case, blind, column), per_draw(results, case, given, column)

    def dearer(horizon: str, *values: str) -> str:
        prices = [both(distance, upto(READINGS[HORIZON].values[horizon]), *values) for distance in DISTANCES]
        steps = [
            quotient([near, given_far], [given_near, far], len(DISTANCES) - 1)
            for (near, given_near), (far, given_far) in pairwise(prices)
        ]
        return all_of((step.word for step in steps), ABOVE)

    found, usual = judge(depends, dearer), _default(*settings)
    prices = ", ".join(
        f"{compared(*both(distance, upto(HORIZONS[0]), *usual)).text} at distance {distance:g}"
        for distance in DISTANCES
    )
    return Claim(
        "misspecification/separation",
        "Weak separation of fingerprints is a failure mode: the price of misspecification is higher the nearer the states are",
        "a main failure mode",
        f"misspecified over matched AdaRP-UCB: {prices} (the first reading of each); {found.words}",
        found.verdict,
        "our reading, in worlds of our own: two of four arms are probed, and every state has another one at that distance, while the other "
        "two arms pay anything. (With all arms probed it could not show: states that are near then also pay alike.) Every step is judged",
        READING,
        depends=found.depends,
        lean=found.lean,
    )


def finding(results: pd.DataFrame) -> str:
    """Return what misspecification costs AdaRP-UCB, and how it stands beside SW-UCB and D-UCB then, all as first read."""
    table, column, name = with_horizons(results, HORIZONS), upto(HORIZONS[0]), ADAPTIVE[0]
    rivals = {"SW-UCB": "sw-ucb", "D-UCB": READINGS[DISCOUNT].values[READINGS[DISCOUNT].default]}

    def over(rival: str) -> dict[str, float]:
        found = {}
        for case in panels_shown():
            usual = _default(*settings_of(case))
            other = rivals.get(rival) or matched(name, case, *usual)
            found[case] = order(table, case, misspecified(name, case, *usual), other, column=column).ratio
        return found

    def told(ratios: dict[str, float]) -> str:
        low, high = (pick(printed.MISSPECIFICATION, key=lambda case: ratios[case]) for pick in (min, max))
        return f"{ratios[low]:.2f} to {ratios[high]:.2f} times that of {{}} (most at {high})"

    matched_, *others = (over(rival) for rival in ("", *rivals))
    beside = " and ".join(told(ratios).format(rival) for rival, ratios in zip(rivals, others, strict=True))
    behind = [case for case, ratio in others[0].items() if case not in printed.MISSPECIFICATION and ratio > 1]
    own = f" In worlds of our own it has more than SW-UCB at {', '.join(behind)}." if behind else ""
    return (
        f"In the paper's five worlds AdaRP-UCB without the right statistic has "
        f"{told(matched_).format('the matched learner').replace('that of', 'the regret of')}, {beside}.{own}"
    )


def plot_mismatch(results: pd.DataFrame) -> Figure:
    """Plot matched and misspecified learners under the first reading of everything."""
    table = with_horizons(results, HORIZONS)
    table = table.assign(regret=table[upto(HORIZONS[0])])
    setting = READINGS[DISCOUNT]
    texts = ["AdaRP matched", "AdaRP", "SW-UCB", "D-UCB (fitted)", "AdaSP matched", "AdaSP"]
    figure, grid = panels(2, 4, (9.4, 5.8))
    for axes, case in zip(grid, panels_shown(), strict=True):
        usual = _default(*settings_of(case))
        pairs = {name: [kind(name, case, *usual) for kind in (matched, misspecified)] for name in ADAPTIVE}
        last = {FAST: printed.SEQUENTIAL, CALM: (None, None)}.get(case, ())
        published = [*printed.MISSPECIFICATION.get(case, (None,) * 4), *last]
        names = [*pairs["adarp-ucb"], "sw-ucb", setting.values[setting.default], *pairs["adasp-ucb"]][: len(published)]
        bars(axes, table, case, names, texts[: len(published)], published)
    for axes in grid[::4]:
        axes.set_ylabel("regret per group")
    return figure


MISMATCH = Illustration(
    "misspecification",
    "Matched learners are given the true statistic; the others have gates and lag as the text states them. "
    f"{HORIZONS[0]:,} rounds. D-UCB is fitted to its published figures. Subset: two of four arms are probed, our own world; the number "
    "is how far a state is from its nearest. "
    "Diamonds: published. Dotted: the Bayes limit. Bars: 95 % intervals over matrices.",
    plot_mismatch,
)
EXPERIMENT = Experiment(
    "misspecification",
    SUMMARY,
    cases,
    score,
    title="Misspecification: when the summary is the wrong one",
    finding=finding,
    place=60,
    figures=(MISMATCH,),
)

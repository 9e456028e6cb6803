"""A matched learner, which is given the true statistic, against one that must make do with lag and fingerprint."""

from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from latentbandits.policies.groups import ADAPTIVE, LIMIT
from latentbandits.policies.registry import policy
from latentbandits.protocols import Contestant
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies.experiments.case import Case
from latentbandits_studies.experiments.claims import (
    ABOVE,
    READING,
    STRETCH,
    Claim,
    Order,
    all_of,
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
from latentbandits_studies.experiments.paper.worlds import MATRICES, OPEN_SETTINGS, QUICK_MATRICES, readings
from latentbandits_studies.experiments.plots import bars, panels
from latentbandits_studies.experiments.registry import Experiment, Illustration

SUMMARY = "matched and misspecified learners: switching, reward memory, overlap of the states"
NOISE, STATES = 0.05, 10
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


def cases(quick: bool) -> list[Case]:
    """Return a case per world, with every reading of the policies' settings."""
    draws, repeats = QUICK_MATRICES // 2 if quick else MATRICES, READINGS["repeats"].values["1"]
    sizes: dict[str, Any] = {"draws": draws, "repeats": repeats, "bins": max(HORIZONS) // STRETCH}
    return [Case(name, world, _policies(name, world), max(HORIZONS), **sizes) for name, world in worlds().items()]


def _policies(case: str, world: HiddenMarkov) -> dict[str, Contestant]:
    seen: dict[str, Any] = {"covariates": world.states if world.reveal == "state" else world.arms}
    seen |= {"lag": "none", "fingerprint": False}
    contestants: dict[str, Contestant] = {}
    for name in ADAPTIVE if "stay" in case else ADAPTIVE[:1]:
        subset: dict[str, Any] = {"groups": 2, "probe_set": PROBED} if world.arms > 2 else {}
        for values, misspecified in readings(name, world, **subset).items():
            contestants[label_of(name, *values)] = misspecified
        for values, matched in readings(name, world, **subset, **seen).items():
            contestants[matched_of(name, *values)] = matched
    contestants["sw-ucb"] = policy("sw-ucb", arms=world.arms)
    for setting, given in READINGS[DISCOUNT].values.items():
        contestants[discounted(setting)] = policy("d-ucb", arms=world.arms, **given)
    return contestants | ({LIMIT: policy(LIMIT, arms=world.arms)} if case in panels_shown() else {})


def label_of(name: str, gates: str, lag: str, residual: str) -> str:
    """Return the label of a misspecified learner."""
    return f"{name}|{gates}, {residual}, {lag}"


def matched_of(name: str, gates: str, lag: str, residual: str) -> str:  # noqa: ARG001
    """Return the label of the matched learner, which has no lag."""
    return f"{name}|{gates}, {residual}, matched"


def discounted(setting: str) -> str:
    """Return the label of D-UCB with a setting."""
    return f"d-ucb|{setting}"


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

    def four(*values: str) -> tuple[str, str, tuple[str, str, str, str]]:
        horizon, gates, lag, residual, setting, *kept = values
        settings, case = (gates, lag, residual), place(check, *kept)
        names = matched_of("adarp-ucb", *settings), label_of("adarp-ucb", *settings), "sw-ucb", discounted(setting)
        return case, upto(READINGS[HORIZON].values[horizon]), names

    def between(*values: str) -> str:
        case, column, (matched, blind, *baselines) = four(*values)
        pairs = ((matched, blind), *((blind, name) for name in baselines))
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
            )
        )
    return claims


def _faster(results: pd.DataFrame, measure: int, column: str, *settings: str) -> Order:
    """Return how much faster AdaSP-UCB fails under switching than AdaRP-UCB, by one of three measures."""
    fast, calm, matched = (
        {name: per_draw(results, case, label(name, *settings), column) for name in ADAPTIVE}
        for case, label in ((FAST, label_of), (CALM, label_of), (FAST, matched_of))
    )
    if measure == 0:
        return quotient([fast["adasp-ucb"]], [fast["adarp-ucb"]])
    base = calm if measure == 1 else matched
    return quotient([fast["adasp-ucb"], base["adarp-ucb"]], [base["adasp-ucb"], fast["adarp-ucb"]])


def _sequential(results: pd.DataFrame) -> list[Claim]:
    """Judge that sequential probing fails faster under switching, and its figures."""
    depends = (HORIZON, *OPEN_SETTINGS)
    measures = READINGS["faster"].values

    def faster(measure: str, horizon: str, *settings: str) -> str:
        comparison = _faster(results, measures[measure], upto(READINGS[HORIZON].values[horizon]), *settings)
        return all_of([comparison.word], ABOVE)

    def sizes(horizon: str, *settings: str) -> str:
        pair = matched_of("adasp-ucb", *settings), label_of("adasp-ucb", *settings)
        return matches(results, FAST, pair, printed.SEQUENTIAL, upto(READINGS[HORIZON].values[horizon]))

    usual, column = _default(*OPEN_SETTINGS), upto(HORIZONS[0])
    texts = "; ".join(
        f"{name}: {_faster(results, place, column, *usual).text} times" for name, place in measures.items()
    )
    here = [shown(results, FAST, label("adasp-ucb", *usual), column) for label in (matched_of, label_of)]
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
        ),
        Claim(
            "misspecification/sequential-figures",
            "stay 0.5: the figures of AdaSP-UCB come out within 15 %",
            ", ".join(f"{figure:.0f}" for figure in printed.SEQUENTIAL),
            f"{here[0]} matched, {here[1]} misspecified (the first reading of each); {by_size.words}",
            by_size.verdict,
            depends=by_size.depends,
        ),
    ]


def _price(results: pd.DataFrame, distance: float, column: str, *settings: str) -> Order:
    """Return the regret of the misspecified over that of the matched learner, where states are so far apart."""
    names = label_of("adarp-ucb", *settings), matched_of("adarp-ucb", *settings)
    return order(results, f"subset {distance:g}", *names, column=column)


def _separation(results: pd.DataFrame) -> Claim:
    """Judge that misspecification costs more the nearer the states are."""
    depends = (HORIZON, *OPEN_SETTINGS)

    def dearer(horizon: str, *settings: str) -> str:
        column = upto(READINGS[HORIZON].values[horizon])
        (near, matched_near), (far, matched_far) = (
            [
                per_draw(results, f"subset {distance:g}", label("adarp-ucb", *settings), column)
                for label in (label_of, matched_of)
            ]
            for distance in (DISTANCES[0], DISTANCES[-1])
        )
        return all_of([quotient([near, matched_far], [matched_near, far]).word], ABOVE)

    found, usual = judge(depends, dearer), _default(*OPEN_SETTINGS)
    prices = ", ".join(
        f"{_price(results, distance, upto(HORIZONS[0]), *usual).text} at distance {distance:g}" for distance in DISTANCES
    )
    return Claim(
        "misspecification/separation",
        "Weak separation of fingerprints is a failure mode: the price of misspecification is higher the nearer the states are",
        "a main failure mode",
        f"misspecified over matched AdaRP-UCB: {prices} (the first reading of each); {found.words}",
        found.verdict,
        "our reading, in worlds of our own: two of four arms are probed, and every state has another one at that distance, while the other "
        "two arms pay anything. (With all arms probed it could not show: states that are near then also pay alike.) Judged at the ends",
        READING,
        depends=found.depends,
    )


def plot_mismatch(results: pd.DataFrame) -> Figure:
    """Plot matched and misspecified learners under the first reading of everything."""
    table = with_horizons(results, HORIZONS)
    table = table.assign(regret=table[upto(HORIZONS[0])])
    usual, setting = _default(*OPEN_SETTINGS), READINGS[DISCOUNT].default
    names = [matched_of("adarp-ucb", *usual), label_of("adarp-ucb", *usual), "sw-ucb", discounted(setting)]
    texts = ["AdaRP matched", "AdaRP", "SW-UCB", "D-UCB (fitted)"]
    figure, grid = panels(2, 4, (9.4, 5.8))
    for axes, case in zip(grid, panels_shown(), strict=True):
        more = [matched_of("adasp-ucb", *usual), label_of("adasp-ucb", *usual)] if "stay" in case else []
        last = list(printed.SEQUENTIAL) if case == FAST else [None] * len(more)
        published = [*printed.MISSPECIFICATION.get(case, (None,) * 4), *last]
        bars(axes, table, case, names + more, [*texts, "AdaSP matched", "AdaSP"][: len(published)], published)
    for axes in grid[::4]:
        axes.set_ylabel("regret per group")
    return figure


MISMATCH = Illustration(
    "misspecification",
    f"Matched learners are given the true statistic; the others have gates and lag as the text states them. {HORIZONS[0]:,} rounds. D-UCB "
    "is fitted to its published figures. Subset: two of four arms are probed, our own world. Diamonds: published. Dotted: the Bayes limit. Bars: 95 % "
    "intervals over matrices.",
    plot_mismatch,
)
EXPERIMENT = Experiment("misspecification", SUMMARY, cases, score, place=60, figures=(MISMATCH,))

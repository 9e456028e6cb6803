"""Sensitivity to the four thresholds of adaptive probing."""

from collections.abc import Iterable, Mapping
from itertools import pairwise, product

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from latentbandits.policies.groups import ADAPTIVE, LIMIT
from latentbandits.presentation.palette import BLUE, GREEN, ORANGE, RED, label, legend_below
from latentbandits_studies import theory
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.claims import (
    ABOVE,
    BELOW,
    FAILS,
    HOLDS,
    OPEN,
    PROVED,
    READING,
    TIED,
    Claim,
    Order,
    at_least,
    mean,
    order,
)
from latentbandits_studies.experiments.paper.choices import READINGS, judge
from latentbandits_studies.experiments.paper.printed import PREFERRED
from latentbandits_studies.experiments.paper.worlds import (
    MATRICES,
    QUICK_MATRICES,
    TITLES,
    contestants,
    rows,
    under,
)
from latentbandits_studies.experiments.plots import curve, limit, of_draws, panels, ticks
from latentbandits_studies.experiments.registry import Experiment, Illustration

SUMMARY = "residual threshold, margin, age cap and minimum gap swept one at a time, in four environments"
ROWS = ("default", "p.5", "sd.1", "S50")
POLICIES = ADAPTIVE
# One sweep per threshold around the stated (z 2, margin 0.05, H 7, tau_min 2); the paper does not list its values
SWEEPS: Mapping[str, tuple[float, ...]] = {
    "residual_threshold": (1.0, 1.5, 2.0, 2.5, 3.0),
    "margin": (0.01, 0.025, 0.05, 0.1, 0.2),
    "staleness": (3, 5, 7, 9, 12, 20, 50),
    "min_gap": (1, 2, 3, 4, 8),
}
SYMBOLS: Mapping[str, str] = {
    "residual_threshold": "residual threshold z",
    "margin": "margin m",
    "staleness": "age cap H (rounds)",
    "min_gap": "minimum gap (rounds)",
}
BASE: Mapping[str, float] = {"residual_threshold": 2.0, "margin": 0.05, "staleness": 7, "min_gap": 2}
# The paper does not list its values. These are a grid on which it can have said what it says: each ends at the value it calls the best.
PAPER_GRID: Mapping[str, tuple[float, ...]] = {
    "residual_threshold": (1.0, 1.5, 2.0, 2.5),
    "margin": (0.01, 0.025, 0.05, 0.1, 0.2),
    "staleness": (3, 5, 7, 9, 12),
    "min_gap": (1, 2, 4),
}
GRIDS = {False: PAPER_GRID, True: SWEEPS}  # whether it goes on beyond that value
# The gates are stated here; what else an adaptive policy has open is judged under every reading of it
OPEN_HERE = ("lag", "residual")
WAYS = tuple(product(*(READINGS[name].values for name in OPEN_HERE)))
Variant = tuple[str, float]  # a setting and its value
PAIRS = tuple((row, name) for row in ROWS for name in POLICIES)


def cases(size: Size) -> list[Case]:
    """Return one case per environment, with every setting of both policies."""
    quick = size != "full"
    planned = []
    for row in ROWS:
        world, horizon = rows()[row]
        for way in WAYS:
            variants = [
                spec(name, setting, value, *way)
                for name in POLICIES
                for setting, values in SWEEPS.items()
                for value in values
            ]
            usual = way == WAYS[0]
            draws = QUICK_MATRICES // 2 if quick else MATRICES if usual else MATRICES // 2
            policies = contestants([*([LIMIT] if usual else []), *variants])
            planned.append(Case(row, world, policies, horizon // 4 if quick else horizon, draws))
    return planned


def spec(name: str, setting: str, value: float, lag: str = WAYS[0][0], residual: str = WAYS[0][1]) -> str:
    """Return the spec of a policy as the text states it, with another value of one threshold, under a reading of what is open."""
    return under(name, "stated", lag, residual, **{setting: f"{value:g}"})


def reading(results: pd.DataFrame, *way: str) -> pd.DataFrame:
    """Return the rows under one reading, with the labels of the first."""
    varied = [(name, setting, value) for name in POLICIES for setting, values in SWEEPS.items() for value in values]
    usual = results["policy"].map({spec(*given, *way): spec(*given) for given in varied})
    return results.assign(policy=usual)[usual.notna()]


def _rivals(results: pd.DataFrame, setting: str, value: float, grid: tuple[float, ...]) -> list[list[Order]]:
    """Return for each pair how a value of a setting compares with every other value of a grid."""
    others = [other for other in grid if other != value]
    return [
        [order(results, row, spec(name, setting, value), spec(name, setting, other), len(others)) for other in others]
        for row, name in PAIRS
    ]


def within(results: pd.DataFrame, setting: str, value: float, share: float, grid: tuple[float, ...]) -> list[str]:
    """Return for each pair whether a value's regret is at most a share above that of every other value of a grid.

    It is so if every paired interval says so, not so if one excludes it, else it cannot be judged.
    """
    return [
        HOLDS
        if all(rival.high <= 1 + share for rival in others)
        else FAILS
        if any(rival.low > 1 + share for rival in others)
        else OPEN
        for others in _rivals(results, setting, value, grid)
    ]


def best(results: pd.DataFrame, setting: str, value: float, grid: tuple[float, ...]) -> list[str]:
    """Return for each pair whether a value is the best of a grid: below or tied with every other, and not tied with all."""
    words = [{rival.word for rival in others} for others in _rivals(results, setting, value, grid)]
    return [FAILS if ABOVE in given else HOLDS if BELOW in given else TIED for given in words]


def counted(words: list[str]) -> str:
    """Return how many pairs have which word."""
    counts = [f"{words.count(HOLDS)} of {len(words)}"]
    counts += [f"{words.count(word)} {word}" for word in (TIED, OPEN) if word in words]
    return ", ".join(counts)


def _preferred(results: pd.DataFrame, name: str, text: str, setting: str) -> Claim:
    """Judge that the paper's value is the best of its threshold in as many pairs as it says."""
    value, wanted = PREFERRED[setting]
    inside, whole = (best(results, setting, value, GRIDS[beyond][setting]) for beyond in (False, True))
    found = judge(("grid",), lambda grid: at_least(whole if READINGS["grid"].values[grid] else inside, wanted))
    best_values = {
        min(SWEEPS[setting], key=lambda v: mean(results, row, spec(policy_name, setting, v)))
        for row, policy_name in PAIRS
    }
    listed = ", ".join(f"{v:g}" for v in sorted(best_values))
    return Claim(
        f"sensitivity/{name}",
        text,
        f"{wanted} of {len(PAIRS)}",
        f"best or tied for it among values up to {max(PAPER_GRID[setting]):g}: {counted(inside)}; among all: {counted(whole)}",
        found.verdict,
        f"over our whole sweep the lowest mean is at {listed}",
        depends=found.depends,
        lean=found.lean,
    )


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge the paper's claims over its eight pairs of environment and policy, under every reading of lag and residual."""
    found = {way: _judged(reading(results, *way)) for way in WAYS}
    claims = [_every(dict(zip(found, same, strict=True))) for same in zip(*found.values(), strict=True)]
    return [*claims, hazard_claim(theory.age_cap(0.1, 0.5))]


def _every(found: Mapping[tuple[str, ...], Claim]) -> Claim:
    """Return a claim with its verdict under every reading, and the figures of the first."""
    first, every = found[WAYS[0]], judge(OPEN_HERE, lambda *way: found[way].verdict)
    words = f"{first.measured} (the first reading of each); {every.words}"
    leans = {claim.lean for claim in found.values()}  # of readings within a way, where all ways are as open
    lean = every.lean or (leans.pop() if len(leans) == 1 else "")
    return first._replace(measured=words, verdict=every.verdict, depends=(*first.depends, *every.depends), lean=lean)


def _judged(results: pd.DataFrame) -> list[Claim]:
    """Judge the paper's claims under one reading of the residual."""
    margin = within(results, "margin", 0.05, 0.05, SWEEPS["margin"])
    near, wide = (
        within(results, "residual_threshold", 2.0, 0.1, GRIDS[beyond]["residual_threshold"]) for beyond in (False, True)
    )
    default = judge(("grid",), lambda grid: at_least(wide if READINGS["grid"].values[grid] else near, 7))
    return [
        Claim(
            "sensitivity/margin",
            "A margin of 0.05 is within 5 % of the best in all eight pairs",
            "8 of 8",
            counted(margin),
            at_least(margin, 8),
        ),
        _preferred(results, "residual", "The residual gate prefers z = 2.5 in all eight pairs", "residual_threshold"),
        Claim(
            "sensitivity/residual-default",
            "z = 2.0 is within 10 % of the best in seven pairs",
            "7 of 8",
            f"{counted(near)} among values up to 2.5; {counted(wide)} among all",
            default.verdict,
            depends=default.depends,
            lean=default.lean,
        ),
        _preferred(results, "age-cap", "An age cap of 12 is best in all eight pairs", "staleness"),
        _preferred(results, "min-gap", "A minimum gap of 4 is best in seven pairs", "min_gap"),
        *(_frequency(results, setting) for setting in ("staleness", "min_gap")),
        *(_less_probing(results, setting) for setting in PREFERRED),
        _stale(results),
    ]


def hazard_claim(cap: int) -> Claim:
    """Judge the age cap that the stated hazard amounts to."""
    return Claim(
        "sensitivity/hazard",
        "A hazard rate of 0.1 with a threshold of 0.5 is an age cap of 7",
        "about 7",
        f"{cap}, in closed form",
        HOLDS if cap == BASE["staleness"] else FAILS,
        kind=PROVED,
    )


def _words(
    results: pd.DataFrame, steps: Iterable[tuple[Variant, Variant]], among: int, column: str = "regret"
) -> list[str]:
    """Compare two variants, each a setting and its value, in all pairs of environment and policy."""
    pairs = [(row, spec(name, *variant), spec(name, *other)) for variant, other in steps for row, name in PAIRS]
    return [order(results, *given, among, column).word for given in pairs]


def _frequency(results: pd.DataFrame, setting: str) -> Claim:
    """Judge that a threshold on the frequency of probes matters more than the residual gate: its better value gains more."""
    value, residual = PREFERRED[setting][0], PREFERRED["residual_threshold"][0]
    words = _words(results, [((setting, value), ("residual_threshold", residual))], len(PAIRS))
    more, less = words.count(BELOW), words.count(ABOVE)
    name = SYMBOLS[setting].split(" (")[0]
    return Claim(
        f"sensitivity/frequency-{setting.replace('_', '-')}",
        f"Probe frequency matters more: moving the {name} to {value:g} gains more than moving z to {residual:g}, in more than "
        "half of the pairs",
        "matters more",
        f"gains more in {more} of {len(words)} pairs, less in {less}",
        _mostly(words),
        "the better values as the paper has them",
    )


def _mostly(words: list[str]) -> str:
    """Judge what the paper says without a count: below in more than half of the pairs."""
    return at_least(words, len(words) // 2 + 1, BELOW, ABOVE, TIED)


def _less_probing(results: pd.DataFrame, setting: str) -> Claim:
    """Judge that raising a threshold from its default to the paper's better value reduces the number of probes, in most pairs."""
    value, base = PREFERRED[setting][0], BASE[setting]
    words = _words(results, [((setting, value), (setting, base))], len(PAIRS), "probes")
    raised = [((setting, high), (setting, low)) for low, high in pairwise(SWEEPS[setting])]
    steps = _words(results, raised, len(PAIRS), "probes")
    return Claim(
        f"sensitivity/fewer-probes-{setting.replace('_', '-')}",
        f"Raising the {SYMBOLS[setting].split(' (')[0]} from {base:g} to {value:g} reduces probing, in more than half of the pairs",
        "reduces excess probing",
        f"fewer probes in {words.count(BELOW)} of {len(words)} pairs, tied in {words.count(TIED)}, more in {words.count(ABOVE)}",
        _mostly(words),
        f"over all steps of the sweep: fewer in {steps.count(BELOW)} of {len(steps)}, tied in {steps.count(TIED)}, "
        f"more in {steps.count(ABOVE)}; "
        "where another gate opens first, a threshold changes nothing",
    )


def _stale(results: pd.DataFrame) -> Claim:
    """Judge that a lower age cap or gap pays somewhere, which is what combating stale fingerprints must mean."""
    tries = (("staleness", 5), ("staleness", 3), ("min_gap", 1))
    orders = {
        (row, name, *attempt): order(
            results, row, spec(name, *attempt), spec(name, attempt[0], BASE[attempt[0]]), len(PAIRS) * len(tries)
        ).word
        for row, name in PAIRS
        for attempt in tries
    }
    words = list(orders.values())
    where = ", ".join(
        f"{name} at {TITLES[row]}" for row, name, *_ in [key for key, word in orders.items() if word == BELOW]
    )
    return Claim(
        "sensitivity/stale",
        "Lowering the age cap or the minimum gap combats stale fingerprints: it lowers regret at least somewhere",
        "combats stale fingerprints",
        f"less regret in {words.count(BELOW)} of {len(words)} tries{f' ({where})' if where else ''}, more in {words.count(ABOVE)}",
        HOLDS if BELOW in words else FAILS if ABOVE in words else TIED,
        "our reading; age cap 5 and 3 instead of 7, gap 1 instead of 2",
        READING,
    )


def _caps(results: pd.DataFrame) -> str:
    """Return the regret of AdaRP-UCB in the default world over the age caps: where the paper's best value stands."""
    row, name = PAIRS[0]
    regret = {value: mean(results, row, spec(name, "staleness", value)) for value in SWEEPS["staleness"]}
    listed = ", ".join(
        f"{regret[value]:,.0f} at H {value:g}" for value in (BASE["staleness"], PREFERRED["staleness"][0])
    )
    lowest = min(regret, key=lambda value: regret[value])
    return (
        f"In the default world {label(name)} has a regret of {listed}, which the paper calls the best, "
        f"and {regret[lowest]:,.0f} at {lowest:g}."
    )


def finding(results: pd.DataFrame) -> str:
    """Return how much each threshold matters: regret at its worst value over that at its best, a geometric mean over the eight pairs."""
    span = {}
    for setting, values in SWEEPS.items():
        means = [[mean(results, row, spec(name, setting, value)) for value in values] for row, name in PAIRS]
        span[setting] = float(np.exp(np.mean([np.log(max(cells) / min(cells)) for cells in means])))
    ranked = sorted(span, key=lambda setting: -span[setting])
    name, *others = [SYMBOLS[setting].split(" (")[0] for setting in ranked]
    listed = ", ".join(f"{span[setting]:.2f} ({other})" for setting, other in zip(ranked[1:], others, strict=True))
    return (
        f"The {name} matters most: at the worst of its values regret is {span[ranked[0]]:.2f} times that at the best (mean of eight "
        f"pairs), for the other thresholds {listed} times. {_caps(results)}"
    )


def plot_thresholds(results: pd.DataFrame) -> Figure:
    """Regret over the four thresholds."""
    colors = dict(zip(ROWS, (BLUE, RED, GREEN, ORANGE), strict=True))
    figure, grid = panels(2, 4, (9.4, 5.0), sharey=True)
    for axes, (name, setting) in zip(grid, product(POLICIES, SWEEPS), strict=True):
        values = SWEEPS[setting]
        for row in ROWS:
            cells = of_draws(results, row, [spec(name, setting, value) for value in values])
            curve(axes, values, cells, color=colors[row], label=TITLES[row])
            limit(axes, results, row, color=colors[row], linewidth=1, label=None)
        axes.axvline(BASE[setting], color="#bbbbbb", linewidth=3, zorder=0)
        ticks(axes, (10, 20, 50, 100, 200, 500, 1000, 2000), across=False)
        if setting in ("margin", "staleness"):
            ticks(axes, values)
        if name == POLICIES[-1]:
            axes.set_xlabel(SYMBOLS[setting])
    for axes, name in zip(grid[::4], POLICIES, strict=True):
        axes.set_ylabel(f"{label(name)}\nregret per group")
    legend_below(figure, grid[0], 4)
    return figure


THRESHOLDS = Illustration(
    "sensitivity",
    "Regret over each threshold, the others as stated (grey bar). Dotted: the Bayes limit of the same world.",
    plot_thresholds,
)
EXPERIMENT = Experiment(
    "sensitivity",
    SUMMARY,
    cases,
    score,
    title="Sensitivity to the thresholds of the gates",
    finding=finding,
    place=40,
    figures=(THRESHOLDS,),
)

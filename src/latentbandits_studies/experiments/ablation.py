"""What each part of adaptive probing buys: the lag, the fingerprint, the schedule; like compared with like."""

import re
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from latentbandits.policies.groups import ADAPTIVE, LIMIT
from latentbandits.presentation.palette import label
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies import theory
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.claims import (
    ABOVE,
    FAILS,
    HOLDS,
    PROVED,
    STRETCH,
    Claim,
    all_of,
    matches,
    mean,
    near,
    order,
    upto,
    with_horizons,
    worst,
)
from latentbandits_studies.experiments.paper import printed
from latentbandits_studies.experiments.paper.choices import READINGS, judge
from latentbandits_studies.experiments.paper.worlds import (
    MATRICES,
    OPEN_SETTINGS,
    QUICK_MATRICES,
    contestants,
    same_features,
    under,
)
from latentbandits_studies.experiments.plots import bars, panels
from latentbandits_studies.experiments.registry import Experiment, Illustration

SUMMARY = "full, without lag, without fingerprint, fixed schedules with the same features, at stay 0.95 and 0.5"
STAY = (0.95, 0.5)
# What its verdicts depend on and the paper does not state; the schedule only where a fixed one is compared
WORLD = ("ablation noise", "ablation horizon")
SCHEDULES = dict(zip(ADAPTIVE, ("ablation RP-UCB", "ablation schedule"), strict=True))
HORIZONS = tuple(READINGS["ablation horizon"].values.values())
PARTS = ("full", "no lag", "no fingerprint")
FIXED = "fixed schedule"  # of any interval
NAMED = "rp-ucb"  # what the paper calls the fixed schedule of AdaRP-UCB
PROFILES = {
    ("stated", "pair"): "stated gates, lag as pair",
    ("stated", "one-hot"): "stated gates, lag one-hot",
    ("table's", "slopes"): "gates and lag of the table",
}  # of the figure
# The schedules beside which the published figure stands, and the one that comes nearest to the paper's figures of AdaRP-UCB
BESIDE = {"adarp-ucb": "RP-UCB", "adasp-ucb": READINGS[SCHEDULES["adasp-ucb"]].default}
NEAREST = "4"


def place(stay: float, noise: str) -> str:
    """Return the name of a case."""
    return f"stay {stay:g}, noise {noise}"


def cases(size: Size) -> list[Case]:
    """Return one case per stay probability and noise, with every reading of gates, lag, residual and schedule."""
    draws, repeats = MATRICES if size == "full" else QUICK_MATRICES, READINGS["repeats"].values["1"]
    planned = []
    for noise, sigma in READINGS["ablation noise"].values.items():
        for stay in STAY:
            world = HiddenMarkov(states=10, arms=2, stickiness=stay, noise=sigma)
            sizes: dict[str, Any] = {"draws": draws, "repeats": repeats, "bins": max(HORIZONS) // STRETCH}
            planned.append(Case(place(stay, noise), world, contestants(labels()), max(HORIZONS), **sizes))
    return planned


def labels() -> list[str]:
    """Return the specs of all policies."""
    listed = [LIMIT, NAMED, "sp-ucb"]
    listed += [
        spec(name, part, *values)
        for name in ADAPTIVE
        for part in (*PARTS, FIXED)
        for values in product(*(READINGS[one].values for one in (*OPEN_SETTINGS, SCHEDULES[name])))
    ]
    return list(dict.fromkeys(listed))


def spec(name: str, part: str, gates: str, lag: str, residual: str, schedule: str = "") -> str:
    """Return the spec of a policy without some part, under a reading of the rest.

    Examples
    --------
    >>> from latentbandits_studies.experiments.ablation import FIXED, spec
    >>> spec("adasp-ucb", "no fingerprint", "stated", "slopes", "after")
    'adasp-ucb-stated:lag=slopes,fingerprint=False'
    >>> spec("adarp-ucb", FIXED, "stated", "pair", "before", "4")
    'adarp-ucb-table:gated=False,interval=4,lag=pair'
    """
    if part == FIXED:  # without gates, all that is left of them is the lag
        interval = READINGS[SCHEDULES[name]].values[schedule]
        return NAMED if interval is None else same_features(name, interval, READINGS["lag"].values[lag])
    changes: dict[str, dict[str, object]] = {"no lag": {"lag": "none"}, "no fingerprint": {"fingerprint": False}}
    return under(name, gates, lag, residual, **changes.get(part, {}))


def _costs_most(results: pd.DataFrame, case: str, labels: Sequence[str], column: str) -> str:
    """Judge that the first costs more than any other: that what it lacks is the main gain, all else being the same."""
    others = labels[1:]
    return all_of((order(results, case, labels[0], other, len(others), column).word for other in others), ABOVE)


def _same(results: pd.DataFrame, case: str, labels: Sequence[str], column: str) -> str:
    """Judge that all others are as good as the first, within 10 %."""
    others = labels[1:]
    return worst(near(order(results, case, other, labels[0], len(others), column), 0.1) for other in others)


def _sizes(results: pd.DataFrame, case: str, labels: Sequence[str], column: str) -> str:
    """Judge that the published figures come out."""
    published = printed.ABLATION[re.split("-stated|-table", labels[0])[0]]
    return matches(results, case, labels, published.values(), column)


def window_claim(share: float) -> Claim:
    """Judge how many sequential probes see two states."""
    return Claim(
        "ablation/half-of-windows",
        "Stay 0.5: a change of state falls into about half of the two-round probes",
        "roughly half",
        f"{share:.2f}, in closed form",
        HOLDS if abs(share - 0.5) <= 0.05 else FAILS,
        kind=PROVED,
    )


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge the paper's figures and its reading of them, under every reading of what it does not state."""
    results = with_horizons(results, HORIZONS)
    sp, rp = printed.ABLATION["adasp-ucb"], printed.ABLATION["adarp-ucb"]
    sticky, column = place(STAY[0], READINGS["ablation noise"].default), upto(HORIZONS[0])
    sequential = (
        f"{sp['full']:.0f} full, {sp['no fingerprint']:.0f} without fingerprint, {sp[FIXED]:.0f} fixed schedule"
    )
    first, last = f"{rp['full']:.0f} full, about {rp['no lag']:.0f}", f"{rp[FIXED]:.0f} fixed schedule"
    claims = (
        (
            "adasp-fingerprint",
            "AdaSP-UCB, stay 0.95: the fingerprint is the main gain (taking it away costs more than taking lag or gates away)",
            sequential,
            Judge("adasp-ucb", STAY[0], _costs_most, ("no fingerprint", "no lag", FIXED)),
            "",
        ),
        (
            "adasp-fixed",
            "AdaSP-UCB, stay 0.95: without its fingerprint it is as good as the fixed schedule (within 10 %)",
            f"{sp['no fingerprint']:.0f} and {sp[FIXED]:.0f}",
            Judge("adasp-ucb", STAY[0], _same, (FIXED, "no fingerprint")),
            f"the fixed schedules have the same features; the main table's SP-UCB has {mean(results, sticky, 'sp-ucb', column):.0f}",
        ),
        (
            "adasp-figures",
            "AdaSP-UCB, stay 0.95: the figures come out within 15 %",
            sequential,
            Judge("adasp-ucb", STAY[0], _sizes, tuple(sp)),
            "",
        ),
        (
            "adarp-timing",
            "AdaRP-UCB, stay 0.95: adaptive timing is the main gain (a fixed schedule costs more than dropping lag or fingerprint)",
            f"{first} without either, {last}",
            Judge("adarp-ucb", STAY[0], _costs_most, (FIXED, "no lag", "no fingerprint")),
            "the paper names RP-UCB; the fixed schedules of every 4 to 40 rounds have AdaRP-UCB's own features",
        ),
        (
            "adarp-figures",
            "AdaRP-UCB, stay 0.95: the figures come out within 15 %",
            f"{first} without lag and without fingerprint, {last}",
            Judge("adarp-ucb", STAY[0], _sizes, tuple(rp)),
            "",
        ),
        (
            "fast-identical",
            "Stay 0.5: AdaSP-UCB, it without a fingerprint and its fixed schedule are nearly the same (within 10 %)",
            "nearly identical",
            Judge("adasp-ucb", STAY[1], _same, ("full", "no fingerprint", FIXED)),
            "",
        ),
    )
    window = window_claim(theory.window_change(HiddenMarkov(stickiness=0.5).chain, 2))
    return [*(_claim(results, *claim) for claim in claims), window]


class Judge(NamedTuple):
    """How variants of a policy are judged at a stay probability; `FIXED` among them stands for each schedule in turn."""

    who: str
    stay: float
    rule: Callable[[pd.DataFrame, str, Sequence[str], str], str]
    variants: Sequence[str]


def _claim(results: pd.DataFrame, name: str, text: str, published: str, given: Judge, why: str) -> Claim:
    """Judge under every reading, and show the figures of the default one."""
    depends = (*WORLD, *OPEN_SETTINGS, *((SCHEDULES[given.who],) if FIXED in given.variants else ()))

    def verdict(noise: str, horizon: str, *settings: str) -> str:
        compared = [spec(given.who, part, *settings) for part in given.variants]
        column = upto(READINGS["ablation horizon"].values[horizon])
        return given.rule(results, place(given.stay, noise), compared, column)

    found, defaults = judge(depends, verdict), {each: READINGS[each].default for each in depends}
    case, column = place(given.stay, defaults["ablation noise"]), upto(HORIZONS[0])
    shown = {part: spec(given.who, part, *(defaults[each] for each in OPEN_SETTINGS)) for part in PARTS}
    shown |= {
        called(one): spec(given.who, FIXED, "", defaults["lag"], "", one)
        for one in READINGS[SCHEDULES[given.who]].values
    }
    figures = ", ".join(f"{mean(results, case, label, column):.0f} {part}" for part, label in shown.items())
    measured = f"{figures} (the first reading of each); {found.words}"
    return Claim(
        f"ablation/{name}", text, published, measured, found.verdict, why, depends=found.depends, lean=found.lean
    )


def called(schedule: str) -> str:
    """Return what a fixed schedule is called, by its reading.

    Examples
    --------
    >>> from latentbandits_studies.experiments.ablation import called
    >>> called("4"), called("RP-UCB")
    ('fixed 4', 'RP-UCB')
    """
    return f"fixed {schedule}" if schedule.isdigit() else schedule


def finding(results: pd.DataFrame) -> str:
    """Return what each part is worth at stay 0.95 beside print, and the figures of AdaRP-UCB with the main table's gates and lag."""
    table, column = with_horizons(results, HORIZONS), upto(HORIZONS[0])
    case, usual = place(STAY[0], READINGS["ablation noise"].default), [READINGS[each].default for each in OPEN_SETTINGS]
    parts = []
    for name in ADAPTIVE:
        full = spec(name, "full", *usual)
        lost = {part: order(table, case, spec(name, part, *usual), full, column=column).ratio for part in PARTS[1:]}
        timed = [
            order(table, case, spec(name, FIXED, "", READINGS["lag"].default, "", one), full, column=column).ratio
            for one in READINGS[SCHEDULES[name]].values
        ]
        known = printed.ABLATION[name]
        beside = {
            part: f" (print {known[part] / known['full']:.2f})" if part in known else "" for part in (*lost, FIXED)
        }
        without = ", ".join(f"{ratio:.2f} with {part}{beside[part]}" for part, ratio in lost.items())
        parts.append(
            f"{label(name)}: {without}, {min(timed):.2f} to {max(timed):.2f} on a fixed schedule{beside[FIXED]}"
        )
    first, (gates, lag) = ADAPTIVE[0], list(PROFILES)[-1]
    fitted = [spec(first, part, gates, lag, READINGS["residual"].default, NEAREST) for part in (*PARTS, FIXED)]
    ours, theirs = (
        ", ".join(f"{figure:.0f}" for figure in figures)
        for figures in ((mean(table, case, name, column) for name in fitted), printed.ABLATION[first].values())
    )
    return (
        f"Regret over that of the full policy ({case}, stated gates, lag as pair): {'; '.join(parts)}, which depends on the schedule. With "
        f"the main table's gates and lag {label(first)} has {ours} (full, no lag, no fingerprint, a probe every {NEAREST} rounds) where "
        f"print has {theirs}."
    )


def plot_parts(results: pd.DataFrame) -> Figure:
    """Ablations of AdaRP-UCB and AdaSP-UCB: a line of panels per case, a panel per reading of gates and lag."""
    table = with_horizons(results, HORIZONS)
    table = table.assign(regret=table[upto(HORIZONS[0])])
    names = []
    for who, one in SCHEDULES.items():
        taus = sorted(READINGS[one].values, key=lambda tau: (not tau.isdigit(), tau.zfill(9)))
        names += [(who, part, "") for part in PARTS] + [(who, FIXED, tau) for tau in taus]
    places = [(case, profile) for case in dict.fromkeys(table["case"]) for profile in PROFILES]
    figure, grid = panels(len(places) // 3, 3, (9.4, 10.2), sharey="row", sharex=True)
    for axes, (case, (gates, lag)) in zip(grid, places, strict=True):
        published = [printed.ABLATION[who].get(part) if one in ("", BESIDE[who]) else None for who, part, one in names]
        shown = [spec(who, part, gates, lag, READINGS["residual"].default, one) for who, part, one in names]
        texts = [f"{label(who)[:5]} {called(one) if one else part}" for who, part, one in names]
        bars(axes, table, case, shown, texts, published if "0.95" in case else [None] * len(names))
        axes.set_title(f"{case}\n{PROFILES[gates, lag]}", fontsize=8)
    for axes in grid[::3]:
        axes.set_ylabel("regret per group")
    return figure


PARTS_SHOWN = Illustration(
    "ablation",
    f"What each part buys in {HORIZONS[0]:,} rounds; a fixed schedule of every 4 to 40 rounds has the same features. Diamonds: published, "
    "that of the fixed schedule beside RP-UCB, which the paper names, and for AdaSP-UCB, where it names no interval, beside the first "
    "reading. Dotted: the Bayes limit. Bars: 95 % intervals over matrices.",
    plot_parts,
)
EXPERIMENT = Experiment(
    "ablation",
    SUMMARY,
    cases,
    score,
    title="Ablation: what each part is worth",
    finding=finding,
    place=50,
    figures=(PARTS_SHOWN,),
)

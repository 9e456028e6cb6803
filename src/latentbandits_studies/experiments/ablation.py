"""What each part of adaptive probing buys: the lag, the fingerprint, the schedule; like compared with like."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from latentbandits.policies.groups import LIMIT
from latentbandits.presentation.palette import label
from latentbandits.simulation.results import interval
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies import theory
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.claims import (
    ABOVE,
    FAILS,
    HOLDS,
    Claim,
    agreed,
    all_of,
    matches,
    mean,
    near,
    order,
    per_draw,
    worst,
)
from latentbandits_studies.experiments.paper import printed
from latentbandits_studies.experiments.paper.worlds import MATRICES, QUICK_MATRICES, contestants, in_table
from latentbandits_studies.experiments.plots import bars, panels
from latentbandits_studies.experiments.registry import Experiment, Illustration

SUMMARY = "full, without lag, without fingerprint, fixed schedules with the same features, at stay 0.95 and 0.5"
# The paper states neither horizon nor noise of its ablation: 0.05 is that of its robustness experiments, 0.01 that of the main table.
HORIZON, NOISES = 3_000, (0.05, 0.01)
STAY = (0.95, 0.5)
# The gates as the text states them ("unless stated otherwise"), with the lag as a pair or as one-hot, between which the text leaves the
# choice open; and gates and lag that fit the main table
STATED = ("pair", "slopes")
PROFILES = (*STATED, "fitted")
PARTS = ("full", "no lag", "no fingerprint")
# The paper does not state the interval of its fixed schedules either, and it decides: so three are tried, the last or last but one of
# which fits the main table
INTERVALS = {"adarp-ucb": (4, 10, 20), "adasp-ucb": (4, 10, 40)}
FIXED = "fixed schedule"  # of any interval
STICKY, FAST = "stay 0.95, noise 0.05", "stay 0.5, noise 0.05"


def cases(size: Size) -> list[Case]:
    """Return one case per stay probability and noise, with both profiles of the gates."""
    quick = size != "full"
    draws, repeats = (QUICK_MATRICES, 1) if quick else (MATRICES, 3)
    planned = []
    for noise in NOISES:
        for stay in STAY:
            world = HiddenMarkov(states=10, arms=2, stickiness=stay, noise=noise)
            planned.append(
                Case(f"stay {stay:g}, noise {noise:g}", world, contestants(labels()), HORIZON, draws, repeats)
            )
    return planned


def labels() -> list[str]:
    """Return the specs of all policies."""
    listed = [spec(name, profile, variant) for name in INTERVALS for profile in PROFILES for variant in variants(name)]
    return [LIMIT, "rp-ucb", "sp-ucb", *dict.fromkeys(listed)]


def spec(name: str, profile: str, variant: str) -> str:
    """Return the spec of a policy's variant under a profile of gates and lag.

    Examples
    --------
    >>> from latentbandits_studies.experiments.ablation import spec
    >>> spec("adasp-ucb", "slopes", "no fingerprint"), spec("adarp-ucb", "fitted", "fixed 4")
    ('adasp-ucb-stated:lag=slopes,fingerprint=False', 'adarp-ucb-table:gated=False,interval=4')
    """
    changes = {"lag": profile} if profile == "slopes" else {}
    if variant == "no lag":
        changes["lag"] = "none"
    elif variant == "no fingerprint":
        changes["fingerprint"] = "False"
    elif variant != "full":
        changes |= {"gated": "False", "interval": variant.removeprefix("fixed ")}
    base = in_table(name) if profile == "fitted" else f"{name}-stated"
    return ":".join(filter(None, [base, ",".join(f"{key}={value}" for key, value in changes.items())]))


def fixed(interval: int) -> str:
    """Return the name of the variant that probes once in an interval."""
    return f"fixed {interval}"


def variants(name: str) -> tuple[str, ...]:
    """Return all variants of a policy."""
    return (*PARTS, *map(fixed, INTERVALS[name]))


def _figures(results: pd.DataFrame, case: str, name: str, profile: str) -> str:
    return ", ".join(f"{mean(results, case, spec(name, profile, variant)):.0f} {variant}" for variant in variants(name))


def _costs_most(results: pd.DataFrame, case: str, labels: Sequence[str]) -> str:
    """Judge that the first costs more than any other: that what it lacks is the main gain, all else being the same."""
    others = labels[1:]
    return all_of((order(results, case, labels[0], other, len(others)).word for other in others), ABOVE)


def _same(results: pd.DataFrame, case: str, labels: Sequence[str]) -> str:
    """Judge that all others are as good as the first, within 10 %."""
    others = labels[1:]
    return worst(near(order(results, case, other, labels[0], len(others)), 0.1) for other in others)


def _sizes(results: pd.DataFrame, case: str, labels: Sequence[str]) -> str:
    """Judge that the published figures come out."""
    published = printed.ABLATION[re.split("-stated|-table", labels[0])[0]]
    return matches(list(published.values()), [interval(per_draw(results, case, label)) for label in labels])


def _listed(verdicts: Sequence[str]) -> str:
    """Return the verdicts of all intervals in words, once if they are the same."""
    return verdicts[0] if len(set(verdicts)) == 1 else ", ".join(verdicts) + " for the three intervals"


def window_claim(share: float) -> Claim:
    """Judge how many sequential probes see two states."""
    return Claim(
        "ablation/half-of-windows",
        "Stay 0.5: a change of state falls into about half of the two-round probes",
        "roughly half",
        f"{share:.2f}, in closed form",
        HOLDS if abs(share - 0.5) <= 0.05 else FAILS,
    )


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge the paper's figures and its reading of them, with the stated gates; what the fitted ones give is remarked."""
    sp, rp = printed.ABLATION["adasp-ucb"], printed.ABLATION["adarp-ucb"]
    sequential = (
        f"{sp['full']:.0f} full, {sp['no fingerprint']:.0f} without fingerprint, {sp[FIXED]:.0f} fixed schedule"
    )
    first, last = f"{rp['full']:.0f} full, about {rp['no lag']:.0f}", f"{rp[FIXED]:.0f} fixed schedule"
    preset = {name: f"{mean(results, STICKY, name):.0f}" for name in ("sp-ucb", "rp-ucb")}
    claims = (
        (
            "adasp-fingerprint",
            "AdaSP-UCB, stay 0.95: the fingerprint is the main gain (taking it away costs more than taking lag or gates away)",
            sequential,
            Judge("adasp-ucb", STICKY, _costs_most, ("no fingerprint", "no lag", FIXED)),
            "",
        ),
        (
            "adasp-fixed",
            "AdaSP-UCB, stay 0.95: without its fingerprint it is as good as the fixed schedule (within 10 %)",
            f"{sp['no fingerprint']:.0f} and {sp[FIXED]:.0f}",
            Judge("adasp-ucb", STICKY, _same, (FIXED, "no fingerprint")),
            f"the fixed schedules have the same features; the preset SP-UCB has {preset['sp-ucb']}",
        ),
        (
            "adasp-figures",
            "AdaSP-UCB, stay 0.95: the figures come out within 15 %",
            sequential,
            Judge("adasp-ucb", STICKY, _sizes, tuple(sp)),
            "the horizon is ours",
        ),
        (
            "adarp-timing",
            "AdaRP-UCB, stay 0.95: adaptive timing is the main gain (a fixed schedule costs more than dropping lag or fingerprint)",
            f"{first} without either, {last}",
            Judge("adarp-ucb", STICKY, _costs_most, (FIXED, "no lag", "no fingerprint")),
            "the interval decides, which the paper does not state; the preset RP-UCB, with a pair and no gates, has "
            f"{preset['rp-ucb']}",
        ),
        (
            "adarp-figures",
            "AdaRP-UCB, stay 0.95: the figures come out within 15 %",
            f"{first} without lag and without fingerprint, {last}",
            Judge("adarp-ucb", STICKY, _sizes, tuple(rp)),
            "the horizon is ours",
        ),
        (
            "fast-identical",
            "Stay 0.5: AdaSP-UCB, it without a fingerprint and its fixed schedule are nearly the same (within 10 %)",
            "nearly identical",
            Judge("adasp-ucb", FAST, _same, ("full", "no fingerprint", FIXED)),
            "",
        ),
    )
    window = window_claim(theory.window_change(HiddenMarkov(stickiness=0.5).chain, 2))
    return [*(_claim(results, *claim) for claim in claims), window]


class Judge(NamedTuple):
    """How variants of a policy are judged in a case; `FIXED` among them stands for each interval in turn."""

    who: str
    case: str
    rule: Callable[[pd.DataFrame, str, Sequence[str]], str]
    variants: Sequence[str]

    def verdicts(self, results: pd.DataFrame, case: str, profile: str) -> list[str]:
        """Return a verdict for every interval of the fixed schedules."""
        choices = [[fixed(tau) if part == FIXED else part for part in self.variants] for tau in INTERVALS[self.who]]
        return [self.rule(results, case, [spec(self.who, profile, part) for part in parts]) for parts in choices]


def _claim(results: pd.DataFrame, name: str, text: str, published: str, judge: Judge, why: str) -> Claim:
    """Judge under all noises, encodings of the lag and intervals."""
    places = [(profile, judge.case.replace("0.05", f"{noise:g}")) for noise in NOISES for profile in STATED]
    verdicts = {(profile, case): judge.verdicts(results, case, profile) for profile, case in places}
    measured = [
        f"{case.split(', ')[1]}, {profile}: {_figures(results, case, judge.who, profile)} ({_listed(judged)})"
        for (profile, case), judged in verdicts.items()
    ]
    fits = _listed(judge.verdicts(results, judge.case, "fitted"))
    figures = _figures(results, judge.case, judge.who, "fitted")
    other = f"gates and lag fitted to the main table, noise 0.05: {figures} ({fits})"
    verdict = agreed(word for judged in verdicts.values() for word in judged)
    return Claim(
        f"ablation/{name}", text, published, "; ".join(measured), verdict, "; ".join(filter(None, [why, other]))
    )


def plot_parts(results: pd.DataFrame) -> Figure:
    """Ablations of AdaRP-UCB and AdaSP-UCB: a line of panels per case, a panel per profile of gates and lag."""
    titles = {
        "pair": "stated gates, lag as pair",
        "slopes": "stated gates, lag as slopes",
        "fitted": "fitted gates and lag",
    }
    places = [(case, profile) for case in dict.fromkeys(results["case"]) for profile in titles]
    names = [(policy, variant) for policy in INTERVALS for variant in variants(policy)]
    figure, grid = panels(len(places) // 3, 3, (9.4, 10.2), sharey="row", sharex=True)
    for axes, (case, profile) in zip(grid, places, strict=True):
        published = [printed.ABLATION[who].get(FIXED if "fixed" in part else part) for who, part in names]
        shown = [spec(policy, profile, variant) for policy, variant in names]
        texts = [f"{label(policy)[:5]} {variant}" for policy, variant in names]
        bars(axes, results, case, shown, texts, published if "0.95" in case else [None] * len(names))
        axes.set_title(f"{case}\n{titles[profile]}", fontsize=8)
    for axes in grid[::3]:
        axes.set_ylabel("regret per group")
    return figure


PARTS_SHOWN = Illustration(
    "ablation",
    "What each part buys; the fixed schedule has the same features. Diamonds: published (there the fixed "
    "schedules are RP-UCB and SP-UCB). Dotted: the Bayes limit. Bars: 95 % intervals over matrices.",
    plot_parts,
)
EXPERIMENT = Experiment("ablation", SUMMARY, cases, score, place=50, figures=(PARTS_SHOWN,))

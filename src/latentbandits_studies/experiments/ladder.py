"""A ladder of summaries: what each richer summary of the history is worth to the same linear learner; not in the paper.

All rungs share ridge penalty, exploration, encoding of a pair and times of probes; only the summary differs. The regret of each is split
into App, what its summary cannot tell on its own runs, and Reg, what the learner makes of it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from latentbandits.policies.oracles import Scripted
from latentbandits.protocols import Contestant, Oracle, Policy, Realisation
from latentbandits.simulation.results import interval
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies.experiments.case import Case, Size
from latentbandits_studies.experiments.claims import (
    ABOVE,
    BELOW,
    TARGET,
    TIED,
    Claim,
    all_of,
    compared,
    mean,
    near,
    per_draw,
    worst,
)
from latentbandits_studies.experiments.decomposition import PAID, explain, split, split_bars
from latentbandits_studies.experiments.once import once
from latentbandits_studies.experiments.plots import panels
from latentbandits_studies.experiments.registry import Experiment, Illustration
from latentbandits_studies.experiments.representation import (
    BOTH,
    FINGERPRINT,
    HISTORY,
    LAG,
    LAGS,
    REMEMBERED,
    Representation,
)
from latentbandits_studies.policies.summaries import BeliefLearner, SummaryLearner


class Price(Oracle):
    """Oracle: the best arm in every round but those of a probe. Its regret is the price of probing, the same for all rungs.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits_studies.experiments.ladder import Price
    >>> realised = lb.HiddenMarkov(means=[[0.0, 1.0]], noise=0.0).realise(horizon=6, groups=1, seed=0, draw=0, repeat=0)
    >>> Price(arms=2, interval=4).informed(realised).script.tolist()
    [1, 1, 1, 0, 1, 1]
    """

    arms: int
    interval: int
    groups: int = 1

    def informed(self, realisation: Realisation) -> Policy:
        """Return the arms for this realisation."""
        phase = np.arange(1, len(realisation.means) + 1) % self.interval
        return Scripted(self.arms, self.groups, np.where(phase < self.arms, phase, realisation.means.argmax(axis=1)))


SUMMARY = "a ladder of summaries for one linear learner: which of App and Reg each rung lowers"
# Nothing was tuned on worlds of this seed
SEED, HORIZON, DRAWS, QUICK_HORIZON, QUICK_DRAWS = 7000, 20_000, 32, 5_000, 4
HARDLY = 0.25  # what is near the price of the probes
INTERVAL = 40  # rounds between probes, as SP-UCB has it
WORLDS: Mapping[str, HiddenMarkov] = {
    "default": HiddenMarkov(),
    "stay 0.95": HiddenMarkov(stickiness=0.95),
    "noise 0.10": HiddenMarkov(noise=0.1),
    "20 states": HiddenMarkov(states=20),
}
APP = "|App"  # ends the label of the representation oracle on a rung's runs
PRICE = "price of probes"
LOST, LEFT, WHOLE = "app", "reg", "regret"


class Rung(NamedTuple):
    """A learner, and the statistic that its summary is."""

    learner: Contestant
    statistic: str


def _probing(**parts: Any) -> SummaryLearner:
    return SummaryLearner(arms=2, interval=INTERVAL, **parts)


NO_PROBES, PAIR, PAIRS, MARK, JOINT, PRODUCTS, BELIEF = (
    "pair, no probes",
    "pair",
    "three pairs",
    "fingerprint",
    "pair + fingerprint",
    "pair x fingerprint",
    "belief",
)
RUNGS: Mapping[str, Rung] = {
    NO_PROBES: Rung(SummaryLearner(arms=2), LAG),
    PAIR: Rung(_probing(), LAG),
    PAIRS: Rung(_probing(lags=REMEMBERED), LAGS),
    MARK: Rung(_probing(lags=0, fingerprint=True), FINGERPRINT),
    JOINT: Rung(_probing(fingerprint=True), BOTH),
    PRODUCTS: Rung(_probing(fingerprint=True, products=True), BOTH),
    BELIEF: Rung(BeliefLearner(arms=2, interval=INTERVAL), HISTORY),
}
# Rungs that a user could have: the belief needs the truth
LEARNABLE = tuple(name for name in RUNGS if name != BELIEF)
PROBING = tuple(name for name in LEARNABLE if name != NO_PROBES)


def cases(size: Size) -> list[Case]:
    """Return all rungs, each beside the representation oracle on its own runs."""
    quick = size != "full"
    policies: dict[str, Contestant] = {}
    for name, rung in RUNGS.items():
        policies[name] = rung.learner
        policies[name + APP] = Representation(rung.learner, rung.statistic)
    policies[PRICE] = Price(2, INTERVAL)
    sizes = (QUICK_HORIZON, QUICK_DRAWS) if quick else (HORIZON, DRAWS)
    return [Case(name, world, policies, *sizes, seed=SEED) for name, world in WORLDS.items()]


@once
def table(results: pd.DataFrame) -> pd.DataFrame:
    """Return App and Reg by world and rung, with intervals."""
    lines = [
        {"case": case, "rung": rung, **split(results, case, rung, rung + APP)._asdict()}
        for case in WORLDS
        for rung in RUNGS
    ]
    return pd.DataFrame(lines)


def losses(results: pd.DataFrame, case: str, rung: str, term: str) -> np.ndarray:
    """Return App, Reg or the whole regret of a rung, one number per draw of the world."""
    regret = per_draw(results, case, rung)
    if term == WHOLE:
        return regret
    app = per_draw(results, case, rung + APP)
    return app if term == LOST else regret - app


class Change(NamedTuple):
    """How a term changes from one rung to another in one world: mean over draws, and its interval. Reg may be negative, so no ratio."""

    case: str
    change: float
    low: float
    high: float

    @property
    def word(self) -> str:
        """Whether the term falls or rises, or neither can be said."""
        return BELOW if self.high < 0 else ABOVE if self.low > 0 else TIED

    @property
    def text(self) -> str:
        """The change in a world."""
        return f"{self.case} {self.change:+,.0f} ({self.low:+,.0f} to {self.high:+,.0f})"


def changes(results: pd.DataFrame, policy: str, other: str, term: str, among: int) -> list[Change]:
    """Compare a term of two rungs in every world, on the same draws; `among` comparisons share the 5 % (Bonferroni)."""
    changed = []
    for case in WORLDS:
        difference = losses(results, case, other, term) - losses(results, case, policy, term)
        changed.append(Change(case, *interval(difference, 1 - 0.05 / among)))
    return changed


# What a step from one rung to another does to a term: name, text, both rungs, term, and whether it falls or rises
STEPS = (
    ("app-three-pairs", "Three pairs tell more than one: App falls", PAIR, PAIRS, LOST, BELOW),
    ("app-fingerprint", "A fingerprint beside the pair tells more: App falls", PAIR, JOINT, LOST, BELOW),
    ("app-pair", "A pair beside the fingerprint tells more: App falls", MARK, JOINT, LOST, BELOW),
    ("reg-three-pairs", "More features cost learning: with three pairs Reg rises", PAIR, PAIRS, LEFT, ABOVE),
    (
        "reg-products",
        "Products tell nothing new, but a linear learner can use more of it: Reg falls",
        JOINT,
        PRODUCTS,
        LEFT,
        BELOW,
    ),
    ("regret-probes", "Probes whose fingerprint is thrown away cost regret", NO_PROBES, PAIR, WHOLE, ABOVE),
)
# Which rung has the lowest value of a term: name, text, the rung, its rivals, term
LOWEST = (
    ("app-belief", "The filter's belief, which loses nothing, has the lowest App", BELIEF, LEARNABLE, LOST),
    ("reg-belief", "The filter's belief, in which rewards are linear, has the lowest Reg", BELIEF, PROBING, LEFT),
    (
        "regret-three-pairs",
        "With the same probes, three pairs have the lowest regret but for the belief",
        PAIRS,
        PROBING,
        WHOLE,
    ),
)


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge what each rung does to App, to Reg and to regret."""
    claims = (
        [_step(results, *step) for step in STEPS] + [_lowest(results, *lowest) for lowest in LOWEST] + [_paid(results)]
    )
    terms = ("app", "reg", "regret")
    return sorted(claims, key=lambda claim: terms.index(claim.id.split("/")[1].split("-")[0]))


def _step(results: pd.DataFrame, name: str, text: str, policy: str, other: str, term: str, wanted: str) -> Claim:
    """Judge one step of the ladder in all worlds."""
    steps = changes(results, policy, other, term, len(WORLDS))
    verdict = all_of((change.word for change in steps), wanted)
    return Claim(f"ladder/{name}", text, "our target", "; ".join(change.text for change in steps), verdict, kind=TARGET)


def _paid(results: pd.DataFrame) -> Claim:
    """Judge that a linear learner with the right summary loses little but the price of its probes."""
    orders = {
        case: compared(losses(results, case, BELIEF, LEFT), per_draw(results, case, PRICE), len(WORLDS))
        for case in WORLDS
    }
    words = [near(comparison, HARDLY) for comparison in orders.values()]
    return Claim(
        "ladder/reg-price",
        f"With the filter's belief, Reg is the price of the probes to within {100 * HARDLY:.0f} %",
        "our target",
        "; ".join(f"{case} {comparison.text}" for case, comparison in orders.items()),
        worst(words),
        kind=TARGET,
    )


def _lowest(results: pd.DataFrame, name: str, text: str, best: str, others: Sequence[str], term: str) -> Claim:
    """Judge that a term of one rung is below that of all others, in all worlds."""
    rivals = [other for other in others if other != best]
    by_rival = {other: changes(results, other, best, term, len(WORLDS) * len(rivals)) for other in rivals}
    words = [change.word for changed in by_rival.values() for change in changed]
    contrary = [
        f"{other}, {change.text}" for other, changed in by_rival.items() for change in changed if change.word == ABOVE
    ]
    return Claim(
        f"ladder/{name}",
        text,
        "our target",
        f"below in {words.count(BELOW)} of {len(words)} comparisons, tied in {words.count(TIED)}",
        all_of(words),
        "above " + "; ".join(contrary) if contrary else "",
        TARGET,
    )


def plot_rungs(results: pd.DataFrame) -> Figure:
    """Plot App and Reg of every rung in four worlds: which term a richer summary lowers."""
    lines, names = table(results), list(RUNGS)
    rounds = QUICK_HORIZON if bool(results.get("quick", pd.Series([False])).iloc[0]) else HORIZON
    places = np.arange(len(names)) + np.array([0.0] + [0.5] * (len(names) - 2) + [1.0])  # the references stand apart
    figure, grid = panels(2, 2, (9.6, 6.0), sharey=True)
    for axes, case in zip(grid, WORLDS, strict=True):
        mine = lines[lines["case"] == case].reset_index(drop=True)
        split_bars(axes, places, mine)
        axes.plot((mine["app"] + mean(results, case, PRICE))[1:], places[1:], **PAID)  # the first rung has no probes
        axes.set_title(case, fontsize=9)
        axes.set_yticks(places, names, fontsize=8.5)
    for axes in grid[2:]:
        axes.set_xlabel(f"regret after {rounds:,} rounds")
    paid = Line2D([], [], **PAID, label="App + price of the probes")
    explain(figure, bool((lines["reg"] < 0).any()), [paid])
    return figure


def finding(results: pd.DataFrame) -> str:
    """Return what the belief and the best learnable summary save in the default world, beside the pair that the paper uses."""
    lines = table(results)
    regret = lines[lines["case"] == next(iter(WORLDS))].set_index("rung")["regret"]
    best = str(regret[list(PROBING)].idxmin())
    return (
        f"In the default world the same linear learner has a regret of {regret[NO_PROBES]:,.0f} with the last pair alone, "
        f"{regret[best]:,.0f} with the best of the summaries tried that probes give ({best}) and {regret[BELIEF]:,.0f} "
        f"with the filter's belief."
    )


LADDER = Illustration(
    "ladder",
    "Which term each summary lowers: App, what the summary cannot tell, and Reg, what the learner loses; one "
    "schedule, one ridge, one exploration. Diamonds: the sum of App and the price of "
    "the probes, the regret of a learner that loses nothing else. Bars: 95 % intervals over "
    "matrices.",
    plot_rungs,
)
EXPERIMENT = Experiment(
    "ladder",
    SUMMARY,
    cases,
    score,
    title="A ladder of summaries: what a richer one is worth",
    finding=finding,
    table=table,
    ours=True,
    place=130,
    figures=(LADDER,),
)

"""A ladder of summaries: what each richer summary of the history is worth to the same linear learner, beyond the paper.

All rungs share ridge penalty, exploration, encoding of a pair and times of probes; only the summary differs. The regret of each is split
into App, what its summary cannot tell on its own runs, and Reg, what the learner makes of it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from latentbandits.environments.hidden_markov import HiddenMarkov
from latentbandits.experiments.case import Case
from latentbandits.experiments.claims import ABOVE, BELOW, TARGET, TIED, Claim, all_of, per_draw
from latentbandits.experiments.paper.decomposition import split
from latentbandits.experiments.representation import (
    AGED,
    BOTH,
    FINGERPRINT,
    FINGERPRINTS,
    HISTORY,
    LAG,
    LAGS,
    REMEMBERED,
    Representation,
)
from latentbandits.policies.summaries import BeliefLearner, SummaryLearner
from latentbandits.simulation.results import interval

SUMMARY = "a ladder of summaries for one linear learner: which of App and Reg each rung lowers"
# Nothing was tuned on worlds of this seed
SEED, HORIZON, DRAWS, QUICK_HORIZON, QUICK_DRAWS = 7000, 20_000, 32, 5_000, 4
INTERVAL = 40  # rounds between probes, as SP-UCB has it
WORLDS: Mapping[str, HiddenMarkov] = {
    "default": HiddenMarkov(),
    "stay 0.95": HiddenMarkov(stickiness=0.95),
    "noise 0.10": HiddenMarkov(noise=0.1),
    "20 states": HiddenMarkov(states=20),
}
APP = "|App"


class Rung(NamedTuple):
    """A learner, and the statistic that its summary is."""

    learner: Any
    statistic: str


def _probing(**parts: Any) -> SummaryLearner:
    return SummaryLearner(arms=2, interval=INTERVAL, **parts)


NO_PROBES, PAIR, PAIRS, MARK, JOINT, WITH_AGE, PRODUCTS, TWO, BELIEF = (
    "pair, no probes",
    "pair",
    "three pairs",
    "fingerprint",
    "pair + fingerprint",
    "pair + fingerprint + age",
    "pair x fingerprint",
    "pair + two fingerprints",
    "belief",
)
RUNGS: Mapping[str, Rung] = {
    NO_PROBES: Rung(SummaryLearner(arms=2), LAG),
    PAIR: Rung(_probing(), LAG),
    PAIRS: Rung(_probing(lags=REMEMBERED), LAGS),
    MARK: Rung(_probing(lags=0, fingerprints=1), FINGERPRINT),
    JOINT: Rung(_probing(fingerprints=1), BOTH),
    WITH_AGE: Rung(_probing(fingerprints=1, age=True), AGED),
    PRODUCTS: Rung(_probing(fingerprints=1, products=True), BOTH),
    TWO: Rung(_probing(fingerprints=2), FINGERPRINTS),
    BELIEF: Rung(BeliefLearner(arms=2, interval=INTERVAL), HISTORY),
}
# Rungs that a user could have: the belief needs the truth
LEARNABLE = tuple(name for name in RUNGS if name != BELIEF)
# Which rung adds what to which
STEPS = ((PAIR, PAIRS), (PAIR, JOINT), (MARK, JOINT), (JOINT, WITH_AGE), (JOINT, TWO))


def cases(quick: bool) -> list[Case]:
    """Return all rungs, each beside the representation oracle on its own runs."""
    policies: dict[str, Any] = {}
    for name, rung in RUNGS.items():
        policies[name] = rung.learner
        policies[name + APP] = Representation(rung.learner, rung.statistic)
    sizes = (QUICK_HORIZON, QUICK_DRAWS) if quick else (HORIZON, DRAWS)
    return [Case(name, world, policies, *sizes, seed=SEED) for name, world in WORLDS.items()]


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
    app, regret = per_draw(results, case, rung + APP), per_draw(results, case, rung)
    return {"App": app, "Reg": regret - app, "regret": regret}[term]


class Step(NamedTuple):
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


def step(results: pd.DataFrame, one: str, other: str, term: str, among: int) -> list[Step]:
    """Compare a term of two rungs in every world, on the same draws; `among` comparisons share the 5 %."""
    return [
        Step(
            case,
            *interval(losses(results, case, other, term) - losses(results, case, one, term), 1 - 0.05 / among),
        )
        for case in WORLDS
    ]


def score(results: pd.DataFrame) -> list[Claim]:
    """Judge what each rung does to App and to Reg."""
    claims = [_lowers(results, one, other, "App", f"{other} tells more than {one}: App falls") for one, other in STEPS]
    claims.append(
        _all_lower(
            results,
            LEARNABLE,
            BELIEF,
            "App",
            "The filter's belief, which loses nothing, has the lowest App of all rungs",
        )
    )
    claims.append(
        _all_lower(
            results,
            LEARNABLE,
            BELIEF,
            "Reg",
            "The filter's belief, in which rewards are linear, has the lowest Reg of all rungs",
        )
    )
    for one, other in ((PAIR, PAIRS), (JOINT, WITH_AGE), (JOINT, TWO)):
        claims.append(
            _lowers(results, one, other, "Reg", f"More features cost learning: Reg rises from {one} to {other}", ABOVE)
        )
    claims.append(
        _lowers(
            results,
            JOINT,
            PRODUCTS,
            "Reg",
            "Products tell nothing new, but let the linear learner use what is there: Reg falls",
        )
    )
    claims.append(
        _lowers(results, NO_PROBES, PAIR, "regret", "Probes whose fingerprint is thrown away cost regret", ABOVE)
    )
    others = [name for name in LEARNABLE if name != PAIRS]
    claims.append(
        _all_lower(
            results, others, PAIRS, "regret", "Three pairs have the lowest regret of all rungs that need no truth"
        )
    )
    return claims


def _lowers(results: pd.DataFrame, one: str, other: str, term: str, text: str, wanted: str = BELOW) -> Claim:
    """Judge one step in all worlds."""
    steps = step(results, one, other, term, len(WORLDS))
    return Claim(
        f"ladder/{term.lower()}: {one} to {other}",
        text,
        "our target",
        "; ".join(each.text for each in steps),
        all_of((each.word for each in steps), wanted),
        kind=TARGET,
    )


def _all_lower(results: pd.DataFrame, others: Sequence[str], best: str, term: str, text: str) -> Claim:
    """Judge that a term of one rung is below that of all others, in all worlds."""
    steps = {name: step(results, name, best, term, len(WORLDS) * len(others)) for name in others}
    words = [each.word for found in steps.values() for each in found]
    contrary = "; ".join(
        f"{name}: {each.text}" for name, found in steps.items() for each in found if each.word != BELOW
    )
    return Claim(
        f"ladder/{term.lower()}: {best} lowest",
        text,
        "our target",
        f"lower in {words.count(BELOW)} of {len(words)} comparisons",
        all_of(words),
        f"not lower than {contrary}" if contrary else "",
        TARGET,
    )

"""What the hypotheses of a log come to: one conclusion, how sure it is, and what would settle it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from latentbandits.logs.calendar import CALENDAR
from latentbandits.logs.changes import CHANGES
from latentbandits.logs.fresh import FRESH
from latentbandits.logs.hypotheses import KINDS, NOTHING
from latentbandits.logs.hypothesis import Hypothesis
from latentbandits.logs.regimes import OF_SHAPE, REGIMES

UNDECIDED = "undecided"
# Nats that regimes must be ahead, and the share of what the shape gains on top: calibrated on logs without regimes
MARGIN = 10.0
LEAST = 10.0  # nats that anything but nothing must have
CONTENDING = 10.0  # nats behind the best: not yet out


class Conclusion(NamedTuple):
    """What a log says.

    Attributes
    ----------
    kind : "regimes", "changes", "fresh", "jumps", "drift", "calendar", "autocorrelation", "volatility", "nothing" or "undecided"
    calendar : whether the calendar is part of the best hypothesis
    margin : nats by which regimes are ahead of the best other hypothesis; negative if behind, minus infinity if no fit was possible
    needed : nats by which they must be ahead
    lead : nats by which the conclusion's hypothesis is ahead of the next of another kind
    rival : the best other hypothesis
    """

    kind: str
    calendar: bool
    margin: float
    needed: float
    lead: float
    rival: str

    @property
    def sure(self) -> str:
        """How sure it is, in words."""
        if self.kind == UNDECIDED:
            return "not sure"
        lead = self.margin / self.needed * MARGIN if self.kind == REGIMES else self.lead
        levels = {"very sure": 5 * MARGIN, "sure": MARGIN, "fairly sure": 3.0}
        if self.kind == NOTHING:  # the best that could be said of it: no cause is worth the numbers that it needs
            levels = {"sure": 3.0, "fairly sure": 1.0}
        return next((words for words, least in levels.items() if lead > least), "hardly sure")

    @property
    def words(self) -> str:
        """The conclusion in words, without numbers."""
        if self.kind == UNDECIDED:
            return "It cannot be told yet whether there are regimes"
        return KINDS[self.kind].sentence + (", beside the calendar" if self.calendar and self.kind != CALENDAR else "")


def conclude(hypotheses: Sequence[Hypothesis]) -> Conclusion:
    """Return the conclusion on hypotheses, the best first.

    Examples
    --------
    >>> from latentbandits.logs.hypothesis import Hypothesis
    >>> from latentbandits.logs.conclusion import conclude
    >>> scores = {"regimes": 60.0, "drift": 45.0, "nothing": 0.0}
    >>> conclude([Hypothesis(kind, False, 0.0, 0, score) for kind, score in scores.items()])
    Conclusion(kind='regimes', calendar=False, margin=15.0, needed=10.0, lead=15.0, rival='drift')
    >>> conclude([Hypothesis("regimes", False, 0.0, 0, 48.0), Hypothesis("changes", False, 0.0, 0, 45.0)]).kind
    'changes'
    """
    best = next((h for h in hypotheses if h.kind == REGIMES), None)
    rival = next(h for h in hypotheses if h.kind != REGIMES)
    margin = best.score - rival.score if best is not None else float("-inf")
    needed = MARGIN + OF_SHAPE * best.shape_gain if best is not None else MARGIN
    if best is not None and margin > needed:
        return Conclusion(REGIMES, best.calendar, margin, needed, margin, rival.name)
    if margin > 0 and rival.kind != CHANGES:
        return Conclusion(UNDECIDED, False, margin, needed, 0.0, rival.name)
    # what is hardly better than that nothing changes is not named
    clear = [h for h in hypotheses if h.kind != REGIMES and h.score >= LEAST + OF_SHAPE * h.shape_gain]
    rival = next(iter(clear), next((h for h in hypotheses if h.kind == NOTHING), rival))
    same = {rival.kind, *((CHANGES, FRESH) if rival.kind in (CHANGES, FRESH) else ())}
    same |= {REGIMES} if rival.kind == CHANGES else set()
    # a fit that found nothing says the same as nothing
    others = [h for h in hypotheses if h.kind not in same and not (rival.kind == CALENDAR and h.calendar)]
    lead = rival.score - max((h.score for h in others if h.gain > 0.0 or rival.kind != NOTHING), default=float("-inf"))
    return Conclusion(rival.kind, rival.calendar, margin, needed, lead, rival.name)


def weigh_hypotheses(hypotheses: Sequence[Hypothesis], conclusion: Conclusion) -> dict[str, float]:
    """Return how probable every hypothesis is among those that were fitted, by name; one that is ahead by the margin has 99 %.

    A nat is worth less than its name says, as no hypothesis is quite true: the margin is what calibration asks for. Whatever is not that
    nothing changes must make up for the nats that it is asked for before it is named.

    Examples
    --------
    >>> from latentbandits.logs.conclusion import conclude, weigh_hypotheses
    >>> from latentbandits.logs.hypothesis import Hypothesis
    >>> scores = {"drift": 45.0, "regimes": 41.0, "nothing": 0.0}
    >>> hypotheses = [Hypothesis(kind, False, 0.0, 0, score) for kind, score in scores.items()]
    >>> {name: round(share, 2) for name, share in weigh_hypotheses(hypotheses, conclude(hypotheses)).items()}
    {'drift': 0.86, 'regimes': 0.14, 'nothing': 0.0}
    """
    scores = np.array([h.score - LEAST * (h.kind != NOTHING) for h in hypotheses])
    weights = np.exp((scores - scores.max()) * np.log(99.0) / conclusion.needed)
    return dict(zip([h.name for h in hypotheses], (weights / weights.sum()).tolist(), strict=True))


def list_contenders(hypotheses: Sequence[Hypothesis], conclusion: Conclusion) -> list[Hypothesis]:
    """Return the best hypothesis of every kind that is not yet out, the best first; regimes alone where the conclusion is clear."""
    best_of_kind: dict[str, Hypothesis] = {}
    for hypothesis in hypotheses:
        best_of_kind.setdefault(hypothesis.kind, hypothesis)
    if conclusion.kind == REGIMES:
        return [best_of_kind[REGIMES]]
    best = max(h.score for h in best_of_kind.values())
    wide = conclusion.needed + CONTENDING if conclusion.kind == UNDECIDED else CONTENDING
    return [h for h in best_of_kind.values() if h.score > best - wide]

"""What the explanations of a log come to: one verdict, how sure it is, and what would settle it."""

from collections.abc import Sequence
from typing import NamedTuple

from latentbandits.logs.explanations import (
    AUTOCORRELATION,
    CALENDAR,
    CHANGES,
    DRIFT,
    LOUDNESS,
    NOTHING,
    OF_SHAPE,
    REGIMES,
    Explanation,
)

UNDECIDED = "undecided"
# Nats that regimes must be ahead, and the share of what the shape gains on top: calibrated on logs without regimes
MARGIN = 10.0
LEAST = 10.0  # nats that anything but nothing must have
IN_RACE = 10.0  # nats behind the best: not yet out
WORDS = {
    REGIMES: "There are regimes",
    CHANGES: "It changes abruptly; whether states return is not known yet",
    DRIFT: "The arms drift, each its own way; no regimes are needed",
    CALENDAR: "It follows the calendar; no regimes are needed",
    AUTOCORRELATION: "Rewards are autocorrelated, in the same way for all arms; no regimes are needed",
    LOUDNESS: "Only the noise changes, loud and quiet; what the arms pay does not",
    NOTHING: "Nothing changes beyond chance",
    UNDECIDED: "It cannot be told yet whether there are regimes",
}


class Verdict(NamedTuple):
    """What a log says.

    Attributes
    ----------
    kind : "regimes", "changes", "drift", "calendar", "autocorrelation", "loudness", "nothing" or "undecided"
    calendar : whether the calendar is part of the best explanation
    margin : nats by which regimes are ahead of the best other explanation; negative if behind, minus infinity if no fit was possible
    needed : nats by which they must be ahead
    lead : nats by which the verdict's explanation is ahead of the next of another kind
    rival : the best other explanation
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
        return (
            "very sure"
            if lead > 5 * MARGIN
            else "sure"
            if lead > MARGIN
            else "fairly sure"
            if lead > 3
            else "hardly sure"
        )

    @property
    def words(self) -> str:
        """The verdict in words, without numbers."""
        found = WORDS[self.kind]
        return f"{found}, beside the calendar" if self.calendar and self.kind not in (CALENDAR, UNDECIDED) else found


def judged(found: Sequence[Explanation]) -> Verdict:
    """Return the verdict on explanations, the best first.

    Examples
    --------
    >>> from latentbandits.logs.explanations import Explanation
    >>> from latentbandits.logs.verdict import judged
    >>> scores = {"regimes": 60.0, "drift": 45.0, "nothing": 0.0}
    >>> judged([Explanation(kind, False, 0.0, 0, score) for kind, score in scores.items()])
    Verdict(kind='regimes', calendar=False, margin=15.0, needed=10.0, lead=15.0, rival='drift')
    >>> judged([Explanation("regimes", False, 0.0, 0, 48.0), Explanation("changes", False, 0.0, 0, 45.0)]).kind
    'changes'
    """
    best = next((one for one in found if one.kind == REGIMES), None)
    rival = next(one for one in found if one.kind != REGIMES)
    margin = best.score - rival.score if best is not None else float("-inf")
    needed = MARGIN + OF_SHAPE * best.shape if best is not None else MARGIN
    if best is not None and margin > needed:
        return Verdict(REGIMES, best.calendar, margin, needed, margin, rival.name)
    if margin > 0 and rival.kind != CHANGES:
        return Verdict(UNDECIDED, False, margin, needed, 0.0, rival.name)
    # what is hardly better than that nothing changes is not named
    clear = [one for one in found if one.kind != REGIMES and one.score >= LEAST + OF_SHAPE * one.shape]
    rival = next(iter(clear), next((one for one in found if one.kind == NOTHING), rival))
    same = (rival.kind, REGIMES if rival.kind == CHANGES else rival.kind)
    others = [one.score for one in found if one.kind not in same and not (rival.kind == CALENDAR and one.calendar)]
    lead = abs(rival.score - max(others)) if others else float("inf")
    return Verdict(rival.kind, rival.calendar, margin, needed, lead, rival.name)


def in_race(found: Sequence[Explanation], verdict: Verdict) -> list[Explanation]:
    """Return the best explanation of every kind that is not yet out, the best first; regimes alone where the verdict is clear."""
    seen: dict[str, Explanation] = {}
    for one in found:
        seen.setdefault(one.kind, one)
    kept = list(seen.values())
    if verdict.kind == REGIMES:
        return [seen[REGIMES]]
    best = max(one.score for one in kept)
    wide = verdict.needed + IN_RACE if verdict.kind == UNDECIDED else IN_RACE
    return [one for one in kept if one.score > best - wide]

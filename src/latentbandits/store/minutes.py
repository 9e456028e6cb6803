"""What happened minute by minute, for pages: counts per arm and who decided, and the belief at the end of every minute.

Both follow from the events alone, so that `verify` can make them again.
"""

import json
import math
from collections.abc import Sequence
from typing import cast

import numpy as np

from latentbandits.agent.decision import Name
from latentbandits.agent.events import COUNTED, Event
from latentbandits.agent.guardrail import playable
from latentbandits.agent.rewards import taught
from latentbandits.agent.slots import Open
from latentbandits.agent.state import State
from latentbandits.beliefs import Belief
from latentbandits.memories import copied
from latentbandits.protocols import Choice
from latentbandits.store.records import Believed, Minute

MINUTE_US = 60_000_000
DAY_US = 1440 * MINUTE_US
UNLIKELY = 0.0005
_ZERO = Minute(0, 0, "")[3:]
_FIELDS = Minute._fields[3:]
_PLACES = {kind: _FIELDS.index(name) for kind, name in COUNTED.items()}
_PROBED, _TOTAL, _SQUARES, _DELAY = (_FIELDS.index(name) for name in ("probed", "total", "squares", "delay_us"))


class Minutes:
    """Adds up events.

    Attributes
    ----------
    beliefs : of the minutes that have ended
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._cells: dict[tuple[int, int, str], list[float]] = {}
        self.beliefs: list[Believed] = []

    def add(self, event: Event, waiting: Open | None) -> None:
        """Count an event that is about to happen to an open decision, or to one as it once waited."""
        self.turn(event.at_us)
        self.count(event, waiting)

    def turn(self, at_us: int) -> None:
        """Note what is believed, if what is about to happen begins another minute."""
        if at_us // MINUTE_US > self._state.last_us // MINUTE_US:
            self._believe()

    def count(self, event: Event, waiting: Open | None) -> None:
        """Count an event of a decision."""
        at_us, kind = event.at_us, event.kind
        minute, place = at_us // MINUTE_US, _PLACES.get(kind)
        before = taught(self._state, str(event.decision)) if kind == "correct" else None
        if (place is None and before is None) or waiting is None:
            return
        rewards = event.rewards if kind in ("reward", "expire", "correct") else None
        for group, arm in enumerate(waiting.arms):
            cell = self._cells.get((minute, arm, waiting.counted_under))
            if cell is None:
                cell = self._cells[minute, arm, waiting.counted_under] = list(_ZERO)
            if place is not None:
                cell[place] += 1
            if rewards is not None:
                cell[_TOTAL] += rewards[group] - (before[group] if before else 0.0)
                cell[_SQUARES] += rewards[group] ** 2 - (before[group] ** 2 if before else 0.0)
                if kind == "reward":
                    cell[_DELAY] += (waiting.told_us or at_us) - waiting.at_us
            elif kind == "decide" and event.body is not None and '"probe_reasons"' in event.body:
                cell[_PROBED] += 1

    def _believe(self) -> None:
        """Note what is believed at the end of the minute of the last event."""
        state = self._state
        body = believed(state) if state.head > 0 else None
        if body is not None:
            self.beliefs.append(Believed(state.last_us // MINUTE_US, state.head, body))

    def rows(self) -> list[Minute]:
        """Return the counts so far."""
        return [Minute._make((*cell, *counts)) for cell, counts in self._cells.items()]

    def clear(self) -> None:
        """Begin again."""
        self._cells.clear()
        self.beliefs = []


def believed(state: State) -> str | None:
    """Return what the policy believes about the hidden state, in short and as JSON; None if it has no beliefs.

    ``states``: number and probability of every state that is not out of the question; ``current``: the number of the most probable;
    ``elsewhere``: the probability of another; ``means``: the reward that the policy expects of every arm now, see `expected`.
    """
    belief = belief_of(state)
    states = [] if belief is None else [each for each in belief.states if each.probability >= UNLIKELY]
    if belief is None or not states:
        return None
    summary = {
        "states": [[each.number, round(each.probability, 4)] for each in states],
        "current": belief.current,
        "elsewhere": round(belief.elsewhere, 4),
        "means": expected(arm_scores_now(state)),
    }
    return json.dumps(summary, separators=(",", ":"))


def belief_of(state: State) -> Belief | None:
    """Return what the policy believes about regimes, None if it has no such beliefs."""
    return state.player.belief() if state.player.policy.has_belief else None


def arm_scores_now(state: State) -> np.ndarray:
    """Return every arm as the policy would see it if it were asked now: the numbers that it decides by.

    A policy with covariates is asked about a context of zeros if it has beliefs about regimes, which are about that context too; any
    other has no idea without a context.
    """
    player = state.player
    choice = Choice.blank(player.policy)
    choice.arm_scores["available"] = 0
    choice.arm_scores["available"][playable(state)] = 1
    if not state.covariates or belief_of(state) is not None:
        player.choose(player.policy, copied(player.memory), np.zeros(state.covariates), player.random.copy(), choice)
    return choice.arm_scores


def expected(arm_scores: np.ndarray, field: str = "value") -> list[float | None]:
    """Return the reward that is expected of every arm, by the policy's prior where it has never tried one; or another `field`.

    None stands for arms that cannot be played, and for those of which the policy has no idea.
    """
    rows = zip(arm_scores["available"].tolist(), arm_scores[field].tolist(), strict=True)
    return [float(f"{value:.9g}") if available and math.isfinite(value) else None for available, value in rows]


def likely(state: State) -> dict[Name, float]:
    """Return the arms that would be played now, each with its probability: the policy's, or else the arm that is best for certain.

    The status counts, but neither the floor nor who is held back. There are no arms if the policy has no idea without a context.
    """
    if state.status not in ("live", "frozen"):
        return {cast("Name", state.spec.control): 1.0}
    arm_scores = arm_scores_now(state)
    chances, best = expected(arm_scores, "probability"), leader(expected(arm_scores))
    if state.player.policy.deterministic or None in [chances[arm] for arm in playable(state)]:
        chances = [float(arm == best) for arm in range(len(chances))]
    return {name: chance for name, chance in zip(state.player.names, chances, strict=True) if chance}


def leader(values: Sequence[float | None]) -> int | None:
    """Return the number of the arm that is best now: the one of which most is expected; None if none is ahead of all others.

    Examples
    --------
    >>> from latentbandits.store.minutes import leader
    >>> leader([-0.3, None, -0.1]), leader([0.5, 0.5]), leader([None, None])
    (2, None, None)
    """
    known = [value for value in values if value is not None]
    return values.index(max(known)) if known and known.count(max(known)) == 1 else None

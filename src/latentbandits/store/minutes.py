"""What happened minute by minute, for pages: counts per arm and who decided, and the belief at the end of every minute.

Both follow from the events alone, so that `verify` can make them again.
"""

import json
import math
from typing import Any

from latentbandits.agent.events import COUNTED, Event
from latentbandits.agent.slots import Open
from latentbandits.agent.state import State
from latentbandits.store.protocol import Believed, Minute

MINUTE_US = 60_000_000
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
        self._cells: dict[tuple[int, int, str], list[Any]] = {}
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
        if place is None or waiting is None:
            return
        rewards = event.rewards if kind in ("reward", "expire") else None
        for unit, arm in enumerate(waiting.arms):
            cell = self._cells.get((minute, arm, waiting.counted_under))
            if cell is None:
                cell = self._cells[minute, arm, waiting.counted_under] = list(_ZERO)
            cell[place] += 1
            if rewards is not None:
                cell[_TOTAL] += rewards[unit]
                cell[_SQUARES] += rewards[unit] ** 2
                if kind == "reward":
                    cell[_DELAY] += at_us - waiting.at_us
            elif kind == "decide" and event.body is not None and '"why"' in event.body:
                cell[_PROBED] += 1

    def _believe(self) -> None:
        """Note what is believed at the end of the minute of the last event."""
        state = self._state
        body = believed(state) if state.head > 0 else None
        if body is not None:
            self.beliefs.append(Believed(state.last_us // MINUTE_US, state.head, body))

    def rows(self) -> list[Minute]:
        """Return the counts so far."""
        return [Minute(*cell, *counts) for cell, counts in self._cells.items()]

    def clear(self) -> None:
        """Begin again."""
        self._cells.clear()
        self.beliefs = []


def believed(state: State) -> str | None:
    """Return what the policy believes about the hidden state, in short and as JSON; None if it has no beliefs.

    ``states``: number and probability of every state that is not out of the question; ``current``: the number of the most probable;
    ``elsewhere``: the probability of another; ``means``: the reward that is expected of every arm now, null where there is no idea.
    """
    if not state.player.policy.has_belief:
        return None
    found = state.player.belief()
    states = [one for one in getattr(found, "states", ()) if hasattr(one, "number") and one.probability >= UNLIKELY]
    if not states:
        return None
    total = sum(one.probability for one in states)
    means = [sum(one.probability * one.means[arm] for one in states) / total for arm in range(len(states[0].means))]
    said = {
        "states": [[one.number, round(one.probability, 4)] for one in states],
        "current": max(states, key=lambda one: one.probability).number,
        "elsewhere": round(found.elsewhere, 4),
        "means": [round(mean, 9) if math.isfinite(mean) else None for mean in means],
    }
    return json.dumps(said, separators=(",", ":"))

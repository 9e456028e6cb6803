"""What happened minute by minute, for pages: counts per arm and who decided, and the belief at the end of every minute.

Both follow from the events alone, so that `verify` can make them again.
"""

import json
import math
from typing import Any

from latentbandits.store.events import Event
from latentbandits.store.protocol import Believed, Minute
from latentbandits.store.state import State, Waiting

MINUTE_US = 60_000_000
UNLIKELY = 0.0005
_PLACE = {name: place for place, name in enumerate(Minute._fields[3:])}
_ZERO = Minute(0, 0, "")[3:]
_KINDS = {"decide": "decided", "reward": "rewarded", "expire": "expired", "censor": "censored", "late": "late"}


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

    def add(self, event: Event, waiting: Waiting | None) -> None:
        """Count an event that is about to happen to an open decision, or to one as it once waited."""
        minute, state = event.at_us // MINUTE_US, self._state
        before = state.last_us // MINUTE_US
        if minute > before and state.head > 0:
            body = believed(state)
            if body is not None:
                self.beliefs.append(Believed(before, state.head, body))
        kind = _KINDS.get(event.kind)
        if kind is None or waiting is None:
            return
        rewards = event.rewards if event.kind in ("reward", "expire") else ()
        for unit, arm in enumerate(waiting.arms):
            cell = self._cells.get((minute, arm, waiting.decided_by))
            if cell is None:
                cell = self._cells[minute, arm, waiting.decided_by] = list(_ZERO)
            cell[_PLACE[kind]] += 1
            if event.kind == "decide" and event.body is not None and '"why"' in event.body:
                cell[_PLACE["probed"]] += 1
            if rewards:
                cell[_PLACE["total"]] += rewards[unit]
                cell[_PLACE["squares"]] += rewards[unit] ** 2
            if event.kind == "reward":
                cell[_PLACE["delay_us"]] += event.at_us - waiting.at_us

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
    if not hasattr(state.player.policy, "belief"):
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

"""The half of an agent in memory that writes events: what is told, windows that close, and what is still known of those that have."""

from collections import OrderedDict
from collections.abc import Callable

from latentbandits.agent import rewards as ends
from latentbandits.agent.base import BaseAgent
from latentbandits.agent.decision import Decision, Outcome
from latentbandits.agent.events import Event, Payload, rewarded, text
from latentbandits.agent.inputs import received
from latentbandits.agent.player import Player
from latentbandits.agent.state import State
from latentbandits.settings import InvalidValueError

Journal = Callable[[Event], object]


class Telling(BaseAgent):
    """What `Agent` does beside its verbs."""

    _state: State
    _player: Player
    _journal: Journal | None
    _heading: Event | None  # what the journal begins with, until it has it
    _session: str
    _groups: int
    _unanswered: "OrderedDict[str, None]"  # decisions whose window closed without a reward, the last ones

    def _tell(self, decision: Decision | str, rewards: object, correct: bool) -> Outcome:
        """Take rewards by the rules about windows, ranges and corrections."""
        state, now_us = self._state, self._now_us()
        self._close(now_us)
        values, more = ends.admitted(state, received(rewards, self._groups).tolist())
        key = decision.id if isinstance(decision, Decision) else decision
        if correct and isinstance(key, str) and ends.is_correctable(state, key):
            self._write(ends.correcting(state, key, values, more, now_us))
            self._unanswered.pop(key, None)
            return "corrected"
        if key in self._unanswered:
            del self._unanswered[key]
            self._write(rewarded(state.head + 1, "late", max(now_us, state.last_us), key, values, more=more))
            return "late"
        if correct and isinstance(key, str) and key not in state.open:
            ends.correcting(state, key, values, more, now_us)  # refuses it
        self._player.find(decision, self._session)
        if state.open[key].told is not None:
            raise InvalidValueError(
                "Agent", "decision", key, "one whose rewards were not told yet (`correct` replaces them)"
            )
        self._write(ends.telling(state, key, values, more, now_us))
        return "accepted"

    def _close(self, now_us: int) -> None:
        """End the decisions whose window is over."""
        while (event := ends.closing(self._state, now_us)) is not None:
            self._end(event)

    def _end(self, event: Event) -> None:
        """Let a decision end for want of time or of room."""
        self._write(event)
        if event.kind != "reward" and self._state.spec.window is not None:
            self._unanswered[str(event.decision)] = None
            if len(self._unanswered) > self._state.spec.max_open:
                self._unanswered.popitem(last=False)

    def _happen(self, kind: str, payload: Payload) -> None:
        """Let an event happen that concerns no decision."""
        now_us = self._now_us()
        self._close(now_us)
        self._write(Event(self._state.head + 1, kind, max(now_us, self._state.last_us), body=text(payload)))

    def _write(self, event: Event) -> None:
        """Let the next event happen, once the journal has it."""
        if self._journal is not None:
            self._record(event)
        self._state.apply(event)

    def _record(self, event: Event) -> None:
        """Give an event to the journal; the first time, what it begins with comes before it."""
        assert self._journal is not None
        if self._heading is not None:
            self._journal(self._heading)
            self._heading = None
        self._journal(event)

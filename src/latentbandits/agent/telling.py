"""The half of an agent in memory that writes events and repeats them: what is told, windows that close, journals."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

from latentbandits.agent import guardrail
from latentbandits.agent import rewards as ends
from latentbandits.agent.base import BaseAgent
from latentbandits.agent.decision import Decision, Outcome
from latentbandits.agent.events import Event, Payload, rewarded, text
from latentbandits.agent.inputs import received
from latentbandits.agent.journal import Undo, check_decision, check_heading, standing
from latentbandits.agent.player import Player
from latentbandits.agent.processes import OneCall
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
    _lock: OneCall
    _unanswered: "OrderedDict[str, None]"  # decisions whose window closed without a reward, the last ones

    def _tell(self, decision: Decision | str, rewards: object, correct: bool, guard: object) -> Outcome:
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
        more = guardrail.admitted(state, guard, more)
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

    def apply(self, event: Event | Sequence[object]) -> Decision | None:
        """Repeat an event that a journal received, or its values as JSON has them, to the same bits; return the decision if it is one.

        An agent that was made, or loaded, as the one that wrote the journal was, and that applies its events in their order, is that
        agent. Refused are the journal of an agent with another policy, other settings or arms, and a decision that comes out otherwise
        here, as when a record is missing. `replay` applies a whole journal. Nothing is written to the agent's own journal. The log of a
        store has the same events (`latentbandits.store`).

        Examples
        --------
        >>> import latentbandits as lb
        >>> events = []
        >>> agent, twin = lb.Agent("ucb1", journal=events.append), lb.Agent("ucb1")
        >>> agent.tell(agent.ask(), 0.5)
        'accepted'
        >>> for event in events:
        ...     _ = twin.apply(event)
        >>> twin.memory.sums.tolist()
        [0.5, 0.0]
        """
        with self._lock:
            try:
                return self._repeat(event if isinstance(event, Event) else Event(*event))  # type: ignore[arg-type]
            except InvalidValueError as refusal:
                raise refusal.at(owner="Agent") from None
            except (AssertionError, AttributeError, KeyError, TypeError, ValueError) as problem:
                rule = f"one that a journal received ({type(problem).__name__}: {problem})"
                raise InvalidValueError("Agent", "event", event, rule) from problem

    def _repeat(self, event: Event) -> Decision | None:
        state = self._state
        if event.kind == "create":
            check_heading(state, event)
            if event.seq == state.head:  # where a journal begins nothing happens
                return None
        if event.kind != "decide" or event.arm is None:
            return state.apply(event)
        undo = Undo(state, event.decision)
        try:
            came_out = state.apply(event._replace(arm=None))
            assert came_out is not None
            check_decision(came_out, event, state.player.names)
        except BaseException:
            undo()
            raise
        return came_out

    def replay(self, events: Iterable[Event | Sequence[object]]) -> None:
        """Repeat a journal from its beginning, as `apply` does; records of calls that were taken back are left out.

        A call whose journal fails is taken back, though its record may have been written; the next one has its number.

        Examples
        --------
        >>> import latentbandits as lb
        >>> events = []
        >>> agent, twin = lb.Agent("ucb1", journal=events.append), lb.Agent("ucb1", arms=["red", "blue"])
        >>> decision = agent.ask()
        >>> twin.replay(events)
        Traceback (most recent call last):
        latentbandits.settings.InvalidValueError: Agent: journal's arms is [0, 1] but must be ['red', 'blue'], as this agent has ...
        """
        for event in standing(events):
            self.apply(event)

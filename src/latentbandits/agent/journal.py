"""The journal of an agent in memory: what it begins with, calls that it refuses, and what is checked when it is repeated."""

import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence

from latentbandits.agent.decision import Decision
from latentbandits.agent.events import Event, text
from latentbandits.agent.slots import Open
from latentbandits.agent.spec import policy_record
from latentbandits.agent.state import State
from latentbandits.memories import copied, parts
from latentbandits.settings import InvalidValueError


def heading(state: State) -> Event:
    """Return what a journal begins with: policy, settings and arms of the agent, with the number of its last event."""
    return Event(state.head, "create", state.last_us, body=text(_shown(state)))


def _shown(state: State) -> dict[str, object]:
    policy = policy_record(state.player.policy)
    return {**state.spec.plain(), "policy": policy, "arms": list(state.player.names)}


def check_heading(state: State, event: Event) -> None:
    """Refuse the journal of another agent."""
    there, here = event.payload, json.loads(text(_shown(state)) or "{}")
    for name, value in here.items():
        if there.get(name) != value:
            rule = f"{value}, as this agent has it (the journal is that of another agent)"
            raise InvalidValueError("Agent", f"journal's {name}", there.get(name), rule)


def check_decision(made: Decision, event: Event, names: Sequence[object]) -> None:
    """Refuse an event of a decision that came out otherwise here: rewards would be credited to arms that were not played."""
    played = tuple(names[arm] for arm in event.arms)
    if made.arms != played or made.by != event.decided_by:
        rule = (
            f"one that this agent repeats: it played {list(made.arms)} (a record is missing, or another agent wrote it)"
        )
        raise InvalidValueError("Agent", f"event {event.seq}", list(played), rule)


class Undo:
    """What a call may change of a state, as it was before: a call that fails, or whose journal does, is taken back."""

    def __init__(self, state: State, key: str | None = None) -> None:
        player = state.player
        self._state, self._key = state, key
        self._memory, self._random = copied(player.memory), player.random.copy()
        self._mixing, self._counts = player.mixing.random.copy(), dict(state.counts)
        self._scalars = state.head, state.last_us, state.newest, state.diverged, state.first
        self._past = None if state.past is None else state.past.copy()
        self._waiting: Open | None = None if key is None else player.open.get(key)

    def __call__(self) -> None:
        """Take it back."""
        state, player = self._state, self._state.player
        before = parts(self._memory)
        for name, array in parts(player.memory).items():
            array[...] = before[name]
        player.random[...], player.mixing.random[...] = self._random, self._mixing
        state.counts.update(self._counts)
        state.head, state.last_us, state.newest, state.diverged, state.first = self._scalars
        state.past = self._past
        if self._key is None:
            return
        player.open.pop(self._key, None)
        player.windows = None
        if self._waiting is not None:  # where it was: ids sort by time
            player.open[self._key] = self._waiting
            there = OrderedDict(sorted(player.open.items()))
            player.open.clear()
            player.open.update(there)


def standing(events: Iterable[Event | Sequence[object]]) -> Iterator[Event]:
    """Return the records of a journal that stand: of several with one number the last, since the calls before it were taken back.

    Examples
    --------
    >>> from latentbandits.agent.journal import standing
    >>> [event.decision for event in standing([(1, "decide", 5, "a"), (2, "reward", 6, "a"), (2, "reward", 7, "b")])]
    ['a', 'b']
    """
    waiting: Event | None = None
    for record in events:
        event = record if isinstance(record, Event) else Event(*record)  # type: ignore[arg-type]
        if waiting is not None and (waiting.seq < event.seq or event.kind == "create"):
            yield waiting
            waiting = None
        if event.kind == "create":
            yield event
        else:
            waiting = event
    if waiting is not None:
        yield waiting

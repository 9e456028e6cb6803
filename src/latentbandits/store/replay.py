"""From events to states: a start, an explanation, a check."""

import math
from typing import Any

from latentbandits.agent.explain import Explanation, explained
from latentbandits.settings import Refusal
from latentbandits.store import snapshots
from latentbandits.store.errors import Unavailable, Unknown
from latentbandits.store.events import Event
from latentbandits.store.protocol import Reads, Row
from latentbandits.store.spec import Spec
from latentbandits.store.state import State, arms_of, scores

CHUNK = 5_000  # events that are read at once: readers must be short


def named(reads: Reads, name: str) -> Row:
    """Return an experiment by its name, or refuse it by those that there are."""
    row = reads.experiment(name)
    if row is None:
        known = ", ".join(one.name for one in reads.experiments()) or "none: it is empty"
        raise Unknown("store", "experiment", name, f"one that it has ({known})")
    return row


def first(reads: Reads, row: Row, expected: Any) -> State:
    """Return the state after the first event."""
    events = reads.events(row.id, 0, 1)
    if not events or events[0].kind != "create":
        raise Unavailable(f"store: experiment {row.name} has no first event; restore it from a copy")
    state = State.fresh(Spec.read(events[0].said, expected))
    state.enter(events[0])
    return state


def begun(reads: Reads, row: Row, expected: Any) -> State:
    """Return the state of the newest snapshot that is whole, or that after the first event."""
    for snapshot in reads.snapshots(row.id):
        state = snapshots.restored(snapshot, expected) if snapshot.seq <= row.head else None
        if state is not None:
            return state
    return first(reads, row, expected)


def replay(reads: Reads, experiment: int, state: State, until: float = math.inf, each: Any = None) -> None:
    """Let all events after a state happen, up to one number; `each` is called with every one before it does."""
    while state.head < until:
        events = reads.events(experiment, state.head, CHUNK)
        for event in events:
            if event.seq > until:
                return
            if event.seq != state.head + 1 or event.at_us < state.last_us:
                raise Refusal(
                    "store", "event", event.seq, f"{state.head + 1}, at {state.last_us} or later (the log is damaged)"
                )
            if each is not None:
                each(event)
            state.apply(event)
        if len(events) < CHUNK:
            return


def explanation(event: Event, state: State) -> Explanation:
    """Return why a decision was made, by what was noted of it."""
    said, names = event.said, state.player.names
    arms = arms_of(event, said)
    rows = scores(event.scores) or [[float(arm in arms), *[math.nan] * 4] for arm in range(len(names))]
    certain = event.probability == 1.0
    why = tuple(said.get("why", ()))
    found = explained(str(event.key), arms, str(event.decided_by), why, rows, names, state.player.mixing, certain)
    if said.get("status") not in ("shadow", "killed"):
        return found
    meant = "in shadow" if said["status"] == "shadow" else said["status"]
    return found._replace(reason=f"the control arm, since the experiment is {meant}")

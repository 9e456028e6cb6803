"""From events to states: snapshots, so that a start need not repeat everything (any of them may be lost), a start, an explanation."""

import json
import math
import platform
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib import metadata

import numpy as np

from latentbandits import __version__
from latentbandits.agent import file
from latentbandits.agent.events import Event
from latentbandits.agent.explain import Explanation, explained
from latentbandits.agent.slots import scores
from latentbandits.agent.spec import Expected, Spec, SpecRecord
from latentbandits.agent.state import State
from latentbandits.compiled.cache import processor, source_digest
from latentbandits.settings import InvalidValueError
from latentbandits.store.errors import NotFoundError, StoreUnavailableError
from latentbandits.store.queries import Reads
from latentbandits.store.records import Row, Snapshot

CHUNK = 5_000  # events that are read at once: readers must be short


@cache
def build() -> str:
    """Return what computes here: versions, the sources of all that computes, and the processor.

    The same build repeats a log to the bit; another one is equivalent, up to rounding or to what was changed in its sources.
    """
    try:
        numba = metadata.version("numba")
    except metadata.PackageNotFoundError:
        numba = "none"
    code, chip = str(source_digest())[:8], sha256("\0".join(processor()).encode()).hexdigest()[:8]
    return f"latentbandits {__version__} ({code}), numpy {np.__version__}, numba {numba}, {platform.machine()} ({chip})"


def digest(state: State) -> str:
    """Return the digest of a state: equal for two states if they are the same to the last bit."""
    return file.contents(state).digest


def take_snapshot(state: State) -> Snapshot:
    """Return a snapshot of a state."""
    contents = file.contents(state)
    content = file.written(contents)
    return Snapshot(state.head, build(), contents.digest, sha256(content).hexdigest(), state.last_us, content)


def is_whole(snapshot: Snapshot) -> bool:
    """Return whether the bytes of a snapshot are those that were written."""
    return sha256(snapshot.state).hexdigest() == snapshot.checksum


def is_alike(snapshot: Snapshot, state: State) -> bool:
    """Return whether a state is that of a snapshot in all that no rounding can change."""
    if not is_whole(snapshot):
        return False
    kept, here = file.opened(snapshot.state)[0]["state"], file.contents(state).record
    return bool(json.loads(json.dumps(here)) == kept)


def restore(snapshot: Snapshot, expected: Expected) -> State | None:
    """Return the state in a snapshot, None if its bytes are not those that were written or it is not the state that it should be."""
    if not is_whole(snapshot):
        return None
    try:
        state = file.read(snapshot.state, f"snapshot {snapshot.seq}", expected)
    except InvalidValueError as refusal:
        if refusal.field == "policy of the file":
            raise
        return None  # of another version: the log is there
    # another build may keep the same state in other arrays
    return state if snapshot.build != build() or digest(state) == snapshot.digest else None


def named(reads: Reads, name: str) -> Row:
    """Return an experiment by its name, or refuse it by those that there are."""
    row = reads.experiment(name)
    if row is None:
        names = ", ".join(row.name for row in reads.experiments()) or "none: it is empty"
        raise NotFoundError("store", "experiment", name, f"one that it has ({names})")
    return row


def first(reads: Reads, row: Row, expected: Expected) -> State:
    """Return the state after the first event."""
    events = reads.events(row.id, 0, 1)
    if not events or events[0].kind != "create":
        raise StoreUnavailableError(f"store: experiment {row.name} has no first event; restore it from a copy")
    record: SpecRecord = json.loads(events[0].body or "{}")
    state = State.fresh(Spec.read(record, expected))
    state.apply(events[0])
    return state


def newest(reads: Reads, row: Row, expected: Expected) -> State:
    """Return the state of the newest snapshot that is whole, or that after the first event."""
    for snapshot in reads.snapshots(row.id):
        state = restore(snapshot, expected) if snapshot.seq <= row.head else None
        if state is not None:
            return state
    return first(reads, row, expected)


def replay(
    reads: Reads,
    experiment: int,
    state: State,
    until: float = math.inf,
    each: Callable[[Event], None] | None = None,
) -> None:
    """Let all events after a state happen, up to one number; `each` is called with every one before it does."""
    while state.head < until:
        events = reads.events(experiment, state.head, CHUNK)
        for event in events:
            if event.seq > until:
                return
            if each is not None:
                each(event)
            state.apply(event)
        if len(events) < CHUNK:
            return


def explain(event: Event, state: State) -> Explanation:
    """Return why a decision was made, by what was noted of it."""
    payload, names, arms = event.payload, state.player.names, event.arms
    rows = scores(event.scores) or [[float(arm in arms), *[math.nan] * 4] for arm in range(len(names))]
    certain = event.probability == 1.0
    probe_reasons = tuple(payload.get("probe_reasons", ()))
    explanation = explained(
        str(event.decision), arms, str(event.decided_by), probe_reasons, rows, names, state.player.mixing, certain
    )
    if payload.get("status") not in ("shadow", "killed"):
        return explanation
    meant = "in shadow" if payload["status"] == "shadow" else payload["status"]
    return explanation._replace(reason=f"the control arm, since the experiment is {meant}")

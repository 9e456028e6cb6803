"""Does a store say the truth? Its log is repeated, and all that follows from the log is compared with what the store has."""

import math
from typing import NamedTuple

from latentbandits.agent.events import Event
from latentbandits.agent.slots import Open
from latentbandits.agent.spec import Expected
from latentbandits.agent.state import State
from latentbandits.agent.steps import bind
from latentbandits.compiled.cache import installed
from latentbandits.settings import InvalidValueError
from latentbandits.store import replay
from latentbandits.store.errors import StoreUnavailableError
from latentbandits.store.minutes import MINUTE_US, Minutes
from latentbandits.store.queries import Reads
from latentbandits.store.records import Minute, Row
from latentbandits.store.replay import digest, is_alike, is_whole, named

IDENTICAL, EQUIVALENT, DIFFERENT = "identical", "equivalent", "different"
_WORTH = 20_000  # events from which on it pays to compile
_NEAR = 1e-9  # sums of a minute are added up group by group


class Verdict(NamedTuple):
    """What repeating a log has shown.

    Attributes
    ----------
    experiment : its name
    events, decisions : how many were repeated
    label : ``"identical"``, all of it to the last bit; ``"equivalent"``, all that does not depend on rounding, where another build has
        taken part; ``"different"``: see `problems`
    digest : of the state that the log leads to
    snapshots : how many were compared
    diverged : decisions that came out otherwise here than where they were made: arm, who decided, or a probability beyond rounding
    builds : what has appended, in order
    problems : what differs, in sentences
    """

    experiment: str
    events: int
    decisions: int
    label: str
    digest: str
    snapshots: int
    diverged: int
    builds: tuple[str, ...]
    problems: tuple[str, ...] = ()


class _Repeated:
    """A log as it is repeated: the state, and the counts of minutes."""

    def __init__(self, reads: Reads, row: Row, expected: Expected) -> None:
        self.reads, self.row = reads, row
        self.state: State = replay.first(reads, row, expected)
        if row.head >= _WORTH and installed():
            bind(self.state.spec.policy, True, self.state.player.use)
        self.counted = Minutes(self.state)

    def until(self, seq: int) -> None:
        """Go on up to an event."""
        try:
            replay.replay(self.reads, self.row.id, self.state, seq, self._count)
        except (InvalidValueError, StoreUnavailableError):
            raise
        except Exception as problem:  # whatever a damaged event leads to
            place = self.state.head + 1
            raise InvalidValueError(
                "store", "event", place, f"one that can be repeated ({type(problem).__name__}: {problem})"
            ) from problem

    def _count(self, event: Event) -> None:
        waiting = self.state.open.get(event.decision or "")
        if event.kind in ("decide", "late", "correct"):
            begun = event if event.kind == "decide" else self.reads.story(self.row.id, str(event.decision))[0]
            waiting = Open(b"", begun.arms, str(begun.decided_by), begun.at_us, begun.counted_under)
        self.counted.add(event, waiting)


def verify(reads: Reads, name: str, expected: Expected = None) -> Verdict:
    """Repeat the log of an experiment, and say whether everything else in the store follows from it.

    A store in use may be verified: what is appended meanwhile is left out.

    Parameters
    ----------
    reads : Reads
        A store, or its `reader`.
    name : str
        The experiment.
    expected : Policy, type or str, optional
        Its policy, if that is from outside this package.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentbandits.store import Create, Decide, Ledger, Spec, SQLite, verify
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(SQLite(Path(folder.name) / "decisions.db"))
    >>> _ = ledger.run([Create("offers", Spec.of("ucb1", arms=["red", "blue"]), "live"), Decide("offers")])
    >>> verdict = verify(ledger.storage.reader(), "offers")
    >>> verdict.label, verdict.events, verdict.digest == ledger.digest("offers")
    ('identical', 3, True)
    >>> ledger.close()
    >>> folder.cleanup()
    """
    row = named(reads, name)
    builds = tuple(dict.fromkeys(one.name for one in reads.builds(row.id)))
    foreign = any(one != replay.build() for one in builds)
    problems: list[str] = []
    same, compared = True, 0
    repeated = _Repeated(reads, row, expected)
    state = repeated.state
    try:
        for snapshot in sorted(reads.snapshots(row.id), key=lambda one: one.seq):
            if snapshot.seq > row.head:
                continue
            repeated.until(snapshot.seq)
            compared += 1
            exact = digest(state) == snapshot.digest
            same = same and exact
            if not is_whole(snapshot):
                problems.append(f"the snapshot of event {snapshot.seq} is damaged")
            elif not exact and not (foreign and is_alike(snapshot, state)):
                problems.append(f"the snapshot of event {snapshot.seq} is not what the log leads to")
        repeated.until(row.head)
    except InvalidValueError as refusal:
        problems.append(str(refusal))
    else:
        problems += _gaps(reads, row, state, foreign) + _derived(reads, row, repeated, foreign)
    label = DIFFERENT if problems else IDENTICAL if same and not state.diverged else EQUIVALENT
    return Verdict(
        name, state.head, state.decided, label, digest(state), compared, state.diverged, builds, tuple(problems)
    )


def _gaps(reads: Reads, row: Row, state: State, foreign: bool) -> list[str]:
    """Return what is wrong with the log itself."""
    found = []
    if state.head < row.head:
        found.append(f"events from {state.head + 1} to {row.head} are missing")
    newest = reads.latest(row.id, 1)[0].seq
    if newest > row.head and named(reads, row.name).head < newest:
        found.append(f"there are events up to {newest}, though {row.head} is the last")
    if state.diverged and not foreign:
        found.append(f"{state.diverged} decisions came out otherwise, though this build has made all of them")
    return found


def _derived(reads: Reads, row: Row, repeated: _Repeated, foreign: bool) -> list[str]:
    """Return what the store has that does not follow from its events."""
    state, counted = repeated.state, repeated.counted
    found = []
    if (row.spec, row.status) != (state.shown(), state.status):
        found.append("settings or status are not what the log says")
    minutes, beliefs = reads.minutes(row.id), reads.beliefs(row.id)
    until: float = state.last_us // MINUTE_US
    if named(reads, row.name).head == row.head:  # else the last minute is not over
        until = math.inf
    wanted = sorted(counted.rows(), key=lambda one: one[:3])
    pairs = ([one for one in rows if one.minute < until] for rows in (minutes, wanted))
    if not _alike(*pairs):
        found.append("counts of minutes are not what the log says")
    if not foreign and [one for one in beliefs if one.seq <= row.head] != counted.beliefs:
        found.append("beliefs of minutes are not what the log says")
    return found


def _alike(stored: list[Minute], wanted: list[Minute]) -> bool:
    """Return whether counts are the same, sums up to the order in which they were added."""
    if len(stored) != len(wanted):
        return False
    for one, other in zip(stored, wanted, strict=True):
        if one._replace(total=0.0, squares=0.0) != other._replace(total=0.0, squares=0.0):
            return False
        near = _NEAR * (1 + other.squares)
        if abs(one.total - other.total) > near or abs(one.squares - other.squares) > near:
            return False
    return True

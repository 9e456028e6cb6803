"""The decisions of an experiment as a table that `latentbandits diagnose`, pandas and others read: a row per decision and group.

=============  ==============================================================================================================
column         what it says
=============  ==============================================================================================================
id, at         the decision, and when it was made (UTC)
subject           for whom; if the policy decides for several groups at a time, which of them; no such column if there are none
arm            what was played
propensity     its probability; there is no such column if some probability is not known (Thompson sampling)
reward         what it paid, as corrected, also if it arrived too late to be learned; the default if it expired; empty if there is none
outcome        rewarded, late, expired, censored or open
ended_at       when the reward arrived or, of a decision with a window, was learned; or the decision ended without one
learned        the reward that the policy has learned, empty if it has learned nothing
decided_by     policy, floor or control
status         shadow, frozen or killed, if it was not live; in shadow and when killed the control arm is played
wanted         the arm of the policy, in shadow
why            why the policy probed
context_0 ...  what was known before the decision
=============  ==============================================================================================================
"""

import csv
import io
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple

from latentbandits.agent.decision import Name
from latentbandits.agent.events import COUNTED, ROLES, Event
from latentbandits.agent.spec import LEARNING
from latentbandits.extras import missing
from latentbandits.files import whole
from latentbandits.settings import InvalidValueError
from latentbandits.store.queries import Reads
from latentbandits.store.records import Row
from latentbandits.store.replay import CHUNK, named

ENDING = (".csv", ".parquet")
TOGETHER = 50_000  # rows of Parquet that are compressed together
SCANNED = 50_000  # events of which it is found out at once whether there are probabilities and subjects
TEXTS = {"subject", "arm", "wanted"}  # columns in which there is what callers have chosen
CHANGING = sum((kinds for role, kinds in ROLES.items() if role != "decided"), ())  # what happens to a decision
FORMULA = ("=", "+", "-", "@", "\t", "\r")

Cells = dict[str, Any]  # a row by the names of its columns


class Table(NamedTuple):
    """What must be known of a log before its first row can be written.

    Attributes
    ----------
    id : the number of the experiment
    names : of the arms, by number
    learning : the first events of the times in which it learned, and of those in which it did not, in turns
    context : how many numbers a context has
    known : whether the probability of every decision is known
    groups : whether any decision has groups
    after : the event after which decisions are written that were made or have changed; 0 for all
    until : the last event; what is appended later is left out
    since_us : when the first decisions were made that are written; 0 for all
    """

    id: int
    names: list[Name]
    learning: list[int]
    context: int
    known: bool
    groups: bool
    after: int
    until: int
    since_us: int = 0

    @property
    def columns(self) -> list[str]:
        """The columns, in order."""
        found = [
            "id",
            "at",
            *["subject"] * self.groups,
            "arm",
            *["propensity"] * self.known,
            "reward",
            "outcome",
            "ended_at",
        ]
        context = [f"context_{n}" for n in range(self.context)]
        return [*found, "learned", "decided_by", "status", "wanted", "probe_reasons", *context]

    def ended(self, made: Event, ends: Sequence[Event]) -> Cells:
        """Return how a decision ended: in which way, when, with which rewards, and which of them were learned."""
        if not ends:
            return {"outcome": "open", "ended_at": None, "rewards": (), "learned": ()}
        last = ends[-1]
        end, late = (next((one for one in ends if one.kind in ROLES[role]), None) for role in ("ended", "late"))
        if end is None:  # the reward is known, and the window open
            return {"outcome": "open", "ended_at": None, "rewards": last.rewards, "learned": ()}
        in_time = bisect(self.learning, end.seq) % 2 == 1
        learned = (
            in_time and end.kind != "censor" and made.payload.get("status") != "killed"
        )  # that policy was not asked
        corrected = [one for one in ends if one.kind == "correct" and one.seq > end.seq]
        return {
            "outcome": COUNTED[(late or end).kind],
            "ended_at": (late or end).at_us,
            "rewards": last.rewards,
            "learned": (corrected or [end])[-1].rewards if learned else (),
        }


def events_of(reads: Reads, experiment: int, after: int, until: int) -> Iterator[Sequence[Event]]:
    """Return the events of an experiment between two, a short read at a time."""
    while after < until:
        found = reads.events(experiment, after, min(CHUNK, until - after))
        if not found:
            return
        yield found
        after = found[-1].seq


def table(reads: Reads, row: Row, after: int = 0, since_us: int = 0) -> Table:
    """Find out what a log has: names of arms, when it learned, and which columns there are."""
    names: list[Name] = []
    learning: list[int] = []
    for event in reads.changes(row.id):
        kind, payload = event.kind, event.payload
        if kind == "create":
            names = list(payload["arms"])  # of a specification: names
        elif kind == "add" and payload["arm"] not in names:
            names.append(payload["arm"])
        elif kind == "status" and (payload["status"] in LEARNING) != (len(learning) % 2 == 1):
            learning.append(event.seq)
    first = reads.first(row.id)  # all have as many groups, and as many numbers in their context
    context = 0 if first is None else len(first.payload.get("context", ()))
    known, groups = True, first is not None and len(first.arms) > 1
    for begun in range(0, row.head, SCANNED):  # of all, so that the next part has the same columns
        unknown, named = reads.unknown(row.id, begun, min(row.head, begun + SCANNED))
        known, groups = known and not unknown, groups or named
        if groups and not known:
            break
    return Table(row.id, names, learning, context, known, groups, after, row.head, since_us)


def _touched(reads: Reads, found: Table) -> Iterator[Event]:
    """Return the decisions that were made or have changed, each once."""
    seen: set[str] = set()
    for events in events_of(reads, found.id, found.after, found.until):
        changed = dict.fromkeys(str(one.decision) for one in events if one.kind in CHANGING)
        again = [key for key in changed if reads.number(found.id, key) <= found.after and key not in seen]
        seen.update(again)
        made = reads.made(found.id, again) + [one for one in events if one.kind == "decide"]
        yield from (one for one in made if one.at_us >= found.since_us)


def rows(reads: Reads, found: Table) -> Iterator[Cells]:
    """Return the rows in order, with times in microseconds and None for what is empty.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentbandits.store import Create, Decide, Ledger, Reward, Spec, SQLite
    >>> from latentbandits.store.export import rows, table
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(SQLite(Path(folder.name) / "decisions.db"))
    >>> _, made = ledger.run([Create("offers", Spec.of("ucb1", arms=["red", "blue"]), "live"), Decide("offers")])
    >>> ledger.call(Reward("offers", made.id, 0.5))
    'accepted'
    >>> one = next(rows(ledger.storage, table(ledger.storage, ledger.storage.experiment("offers"))))
    >>> one["arm"], one["propensity"], one["reward"], one["outcome"]
    ('red', 1.0, 0.5, 'rewarded')
    >>> ledger.close()
    >>> folder.cleanup()
    """
    made, blank = _touched(reads, found), dict.fromkeys(found.columns)
    while part := list(islice(made, CHUNK)):
        ends: dict[str, list[Event]] = defaultdict(list)
        for end in reads.ends(found.id, [str(event.decision) for event in part]):
            if end.seq <= found.until:
                ends[str(end.decision)].append(end)
        for event in part:
            yield from _of(event, found, blank, found.ended(event, ends[str(event.decision)]))


def _of(event: Event, found: Table, blank: Cells, end: Cells) -> Iterator[Cells]:
    """Return the rows of a decision, one per group."""
    payload = event.payload
    arms, chances = event.arms, event.probabilities
    shared = blank | {
        "id": event.decision,
        "at": event.at_us,
        "outcome": end["outcome"],
        "ended_at": end["ended_at"],
        "decided_by": event.decided_by,
        "status": payload.get("status"),
        "wanted": payload.get("policy"),
        "probe_reasons": ", ".join(payload.get("probe_reasons", ())) or None,
        **{f"context_{n}": value for n, value in enumerate(payload.get("context", ()))},
    }
    for place, (arm, chance) in enumerate(zip(arms, chances, strict=True)):
        subject = event.subject if len(arms) == 1 else f"{event.subject}/{place}" if event.subject else str(place)
        own = {
            "arm": found.names[arm],
            "reward": end["rewards"][place] if end["rewards"] else None,
            "learned": end["learned"][place] if end["learned"] else None,
        }
        some = {"subject": subject, "propensity": chance}
        yield shared | own | {name: value for name, value in some.items() if name in blank}


def export(reads: Reads, name: str, path: Path, after: int = 0, until: int | None = None, since_us: int = 0) -> int:
    """Write the decisions of an experiment to a file, whole or not at all, in the format of its ending; return how many rows it has.

    `after` and `until` are numbers of events: written are decisions that were made or have changed between them, as they were then, none
    from before `since_us`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentbandits.store import Create, Decide, Ledger, Spec, SQLite, export
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(SQLite(Path(folder.name) / "decisions.db"))
    >>> _ = ledger.run([Create("offers", Spec.of("ucb1", arms=["red", "blue"]), "live"), Decide("offers")])
    >>> export(ledger.storage.reader(), "offers", Path(folder.name) / "offers.csv")
    1
    >>> ledger.close()
    >>> folder.cleanup()
    """
    kind = path.suffix.lower()
    if kind not in ENDING:
        raise InvalidValueError("store", "file", str(path), f"one whose name ends in {', '.join(ENDING)}")
    count = 0
    row = named(reads, name)
    found = table(reads, row if until is None else row._replace(head=until), after, since_us)
    with whole(path) as file:
        for content, number in pieces(reads, found, kind):
            file.write(content)
            count += number
    return count


def pieces(reads: Reads, found: Table, kind: str) -> Iterator[tuple[bytes, int]]:
    """Return the content of a file, ``.csv`` or ``.parquet``, piece by piece, and how many rows are in each: nothing is kept of them."""
    made = rows(reads, found)
    return _csv(found, made) if kind == ".csv" else _parquet(found, made)


def _moment(at_us: int | None) -> str | None:
    """Return a time as text, to the microsecond."""
    if at_us is None:
        return None
    return datetime.fromtimestamp(at_us // 1_000_000, UTC).replace(microsecond=at_us % 1_000_000).isoformat()


def _plain(value: object) -> object:
    """Return a cell that no spreadsheet takes for a formula: such a text begins with an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _csv(found: Table, made: Iterator[Cells]) -> Iterator[tuple[bytes, int]]:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(found.columns)
    while True:
        batch = list(islice(made, CHUNK))
        for row in batch:
            row["at"], row["ended_at"] = _moment(row["at"]), _moment(row["ended_at"])
            for name in TEXTS & row.keys():
                row[name] = _plain(row[name])
            writer.writerow(row.values())
        yield text.getvalue().encode(), len(batch)
        if not batch:
            return
        text.seek(0)
        text.truncate()


class _Sink(io.BytesIO):
    """What Parquet is written to: it is emptied again and again, and knows how much there was."""

    def __init__(self) -> None:
        super().__init__()
        self._before = 0

    def tell(self) -> int:
        """Return how much has been written."""
        return self._before + super().tell()

    def taken(self) -> bytes:
        """Return what was written since the last time."""
        content = self.getvalue()
        self._before += len(content)
        self.seek(0)
        self.truncate()
        return content

    def close(self) -> None:
        """Stay open, until all is taken."""


def _parquet(found: Table, made: Iterator[Cells]) -> Iterator[tuple[bytes, int]]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise missing("pyarrow") from None
    text = any(isinstance(name, str) for name in found.names)
    kinds = dict.fromkeys(found.columns, pa.string())
    kinds |= dict.fromkeys(("at", "ended_at"), pa.timestamp("us", "UTC"))
    kinds |= {name: pa.float64() for name in found.columns if name in ("propensity", "reward", "learned")}
    kinds |= {name: pa.float64() for name in found.columns if name.startswith("context_")}
    kinds |= dict.fromkeys(("arm", "wanted"), pa.string() if text else pa.int64())
    schema, sink = pa.schema(list(kinds.items())), _Sink()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        while batch := list(islice(made, TOGETHER)):
            if text:  # where some arms have numbers for names
                for row, name in product(batch, ("arm", "wanted")):
                    row[name] = None if row[name] is None else str(row[name])
            writer.write_table(pa.Table.from_pylist(batch, schema))
            yield sink.taken(), len(batch)
    yield sink.taken(), 0

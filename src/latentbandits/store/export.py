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
from typing import Any, BinaryIO, NamedTuple

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


Cells = dict[str, Any]  # a row by the names of its columns


class Table(NamedTuple):
    """What must be known of a log before its first row can be written.

    Attributes
    ----------
    names : of the arms, by number
    learning : the first events of the times in which it learned, and of those in which it did not, in turns
    context : how many numbers the longest context has
    known : whether the probability of every decision is known
    groups : whether any decision has groups
    until : the last event; what is appended later is left out
    """

    names: list[Name]
    learning: list[int]
    context: int
    known: bool
    groups: bool
    until: int

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


def events_of(reads: Reads, experiment: int, until: int) -> Iterator[Event]:
    """Return the events of an experiment up to one, a short read at a time."""
    after = 0
    while after < until:
        found = reads.events(experiment, after, min(CHUNK, until - after))
        yield from found
        if not found:
            return
        after = found[-1].seq


def table(reads: Reads, row: Row) -> Table:
    """Read a log once: names of arms, when it learned, and which columns there are."""
    names: list[Name] = []
    learning: list[int] = []
    context, known, groups = 0, True, False
    for event in events_of(reads, row.id, row.head):
        kind = event.kind
        if kind == "decide":
            context = max(context, len(event.payload.get("context", ())))
            known = known and None not in event.probabilities
            groups = groups or event.subject is not None or len(event.arms) > 1
        elif kind in ("create", "configure"):
            names = list(event.payload.get("arms", names))  # of a specification: names
        elif kind == "add" and event.payload["arm"] not in names:
            names.append(event.payload["arm"])
        elif kind == "status" and (event.payload["status"] in LEARNING) != (len(learning) % 2 == 1):
            learning.append(event.seq)
    return Table(names, learning, context, known, groups, row.head)


def rows(reads: Reads, row: Row, found: Table | None = None) -> Iterator[Cells]:
    """Return the rows in order, with times in microseconds and None for what is empty.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentbandits.store import Create, Decide, Ledger, Reward, Spec, SQLite
    >>> from latentbandits.store.export import rows
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(SQLite(Path(folder.name) / "decisions.db"))
    >>> _, made = ledger.run([Create("offers", Spec.of("ucb1", arms=["red", "blue"]), "live"), Decide("offers")])
    >>> ledger.call(Reward("offers", made.id, 0.5))
    'accepted'
    >>> one = next(rows(ledger.storage, ledger.storage.experiment("offers")))
    >>> one["arm"], one["propensity"], one["reward"], one["outcome"]
    ('red', 1.0, 0.5, 'rewarded')
    >>> ledger.close()
    >>> folder.cleanup()
    """
    found = found or table(reads, row)
    made = (event for event in events_of(reads, row.id, found.until) if event.kind == "decide")
    while part := list(islice(made, CHUNK)):
        ends: dict[str, list[Event]] = defaultdict(list)
        for end in reads.ends(row.id, [str(event.decision) for event in part]):
            if end.seq <= found.until:
                ends[str(end.decision)].append(end)
        for event in part:
            yield from _of(event, found, found.ended(event, ends[str(event.decision)]))


def _of(event: Event, found: Table, end: Cells) -> Iterator[Cells]:
    """Return the rows of a decision, one per group."""
    blank, payload = dict.fromkeys(found.columns), event.payload
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


def export(reads: Reads, name: str, path: Path) -> int:
    """Write the decisions of an experiment to a file, whole or not at all, in the format of its ending; return how many rows it has.

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
    if path.suffix.lower() not in ENDING:
        raise InvalidValueError("store", "file", str(path), f"one whose name ends in {', '.join(ENDING)}")
    row = named(reads, name)
    found = table(reads, row)
    write = _csv if path.suffix.lower() == ".csv" else _parquet
    with whole(path) as file:
        return write(file, found, rows(reads, row, found))


def _moment(at_us: int | None) -> str | None:
    """Return a time as text, to the microsecond."""
    if at_us is None:
        return None
    return datetime.fromtimestamp(at_us // 1_000_000, UTC).replace(microsecond=at_us % 1_000_000).isoformat()


def _csv(file: BinaryIO, found: Table, made: Iterator[Cells]) -> int:
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    writer, count = csv.DictWriter(text, found.columns, lineterminator="\n"), 0
    writer.writeheader()
    for row in made:
        writer.writerow(row | {"at": _moment(row["at"]), "ended_at": _moment(row["ended_at"])})
        count += 1
    text.detach()
    return count


def _parquet(file: BinaryIO, found: Table, made: Iterator[Cells]) -> int:
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
    schema, count = pa.schema(list(kinds.items())), 0
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while batch := list(islice(made, 50_000)):
            if text:  # where some arms have numbers for names
                for row, name in product(batch, ("arm", "wanted")):
                    row[name] = None if row[name] is None else str(row[name])
            writer.write_table(pa.Table.from_pylist(batch, schema))
            count += len(batch)
    return count

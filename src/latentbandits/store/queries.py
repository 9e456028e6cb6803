"""What a store must do: append groups of events, all or nothing, and return them in order. Two engines pass one suite of checks.

All that is read, and most of what is written, is the same SQL for every engine that has `?` or a translation of it.
"""

import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache, cached_property
from itertools import chain
from typing import Any

from latentbandits.agent.decision import decision_id, is_id, place_of
from latentbandits.agent.events import REPEATED, ROLES, Event
from latentbandits.store.records import Answered, ApiKey, Believed, Built, Group, Minute, Owner, Row, Snapshot

TOGETHER = 64  # rows of the largest statement; SQLite takes 999 values or more, an event has 14
ENDS = 500  # decisions about which one statement asks
VERSION = "SELECT COALESCE(MAX(version), 0) FROM schema_version"
ROW = "id, name, spec, status, head, epoch, salt"
# A column of an event says the number of the decision's event; its time, which the id has too, is there
EVENT = f"{', '.join(Event._fields)}, (SELECT at_us FROM event AS made WHERE (experiment, seq) = (event.experiment, event.decision))"
COLUMNS = (*Event._fields, "role")
# Stored numbers: a role that is added is the last
_ROLES = {kind: n for n, (role, kinds) in enumerate(ROLES.items()) if role not in REPEATED for kind in kinds}


class Reads(ABC):
    """What can be read. A thread other than the writer's reads through `Storage.reader`."""

    place: str
    indexed = "event"  # where events about a decision are found; an engine may have to be told by which index

    @abstractmethod
    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """Return the rows of a statement."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back."""

    @cached_property
    def _salts(self) -> dict[int, int]:
        return {}

    def _salt(self, experiment: int) -> int:
        if experiment not in self._salts:
            self._salts.update(self._rows("SELECT id, salt FROM experiment WHERE id = ?", (experiment,)))
        return self._salts.get(experiment, 0)

    def number(self, experiment: int, decision: str) -> int:
        """Return the number of the event in which a decision was made, by its id."""
        return place_of(decision, self._salt(experiment))

    def _events(self, sql: str, experiment: int, *values: object) -> list[Event]:
        found, salt = self._rows(f"SELECT {EVENT} FROM {sql}", (experiment, *values)), self._salt(experiment)
        events = []
        for seq, kind, at_us, about, *rest, made_us in found:
            key = decision_id(at_us, seq, salt) if about is None else made_us and decision_id(made_us, about, salt)
            events.append(Event(seq, kind, at_us, key, *rest))
        return events

    def experiments(self) -> list[Row]:
        """Return all experiments, in the order in which they were made."""
        return [Row(*row) for row in self._rows(f"SELECT {ROW} FROM experiment ORDER BY id")]

    def experiment(self, name: str) -> Row | None:
        """Return one experiment by its name."""
        found = self._rows(f"SELECT {ROW} FROM experiment WHERE name = ?", (name,))
        return Row(*found[0]) if found else None

    def events(self, experiment: int, after: int = 0, most: int = 10_000) -> list[Event]:
        """Return events in order, from the one after `after` on, at most so many."""
        return self._events("event WHERE experiment = ? AND seq > ? ORDER BY seq LIMIT ?", experiment, after, most)

    def latest(self, experiment: int, most: int = 100) -> list[Event]:
        """Return the last events, the newest first."""
        return self._events("event WHERE experiment = ? ORDER BY seq DESC LIMIT ?", experiment, most)

    def changes(self, experiment: int) -> list[Event]:
        """Return the events that concern no decision, in order: what people did."""
        return self._events(f"{self.indexed} WHERE experiment = ? AND decision = 0 ORDER BY seq", experiment)

    def story(self, experiment: int, decision: str) -> list[Event]:
        """Return everything about one decision, in order: decide, what was told, its end, a late reward, corrections."""
        made = self.made(experiment, [decision])
        return made + self.ends(experiment, [decision]) if made else []

    def made(self, experiment: int, decisions: Sequence[str]) -> list[Event]:
        """Return the events of some decisions, in order, without those that were never made."""
        wanted = set(decisions)
        found = self._about("event", "seq", experiment, decisions)
        return [event for event in found if event.kind == "decide" and event.decision in wanted]

    def ends(self, experiment: int, decisions: Sequence[str]) -> list[Event]:
        """Return what was told of some decisions, how they ended, and corrections, in order."""
        return self._about(self.indexed, "decision", experiment, decisions)

    def _about(self, table: str, column: str, experiment: int, decisions: Sequence[str]) -> list[Event]:
        found: list[Event] = []
        salt = self._salt(experiment)
        places = [place_of(key, salt) for key in decisions if is_id(key)]
        for begun in range(0, len(places), ENDS):
            part = places[begun : begun + ENDS]
            marks = ", ".join("?" * len(part))
            found += self._events(f"{table} WHERE experiment = ? AND {column} IN ({marks})", experiment, *part)
        return sorted(found, key=lambda event: event.seq)

    def unknown(self, experiment: int, after: int, until: int) -> tuple[bool, bool]:
        """Return whether there are decisions between two events whose probability is not known, and some that name a subject."""
        sql = (
            "SELECT COUNT(CASE WHEN probability IS NULL OR body LIKE ? THEN 1 END), COUNT(subject) FROM event "
            "WHERE experiment = ? AND seq > ? AND seq <= ? AND kind = 'decide'"
        )
        ((unknown, named),) = self._rows(sql, ('%"probabilities":[%null%', experiment, after, until))
        return bool(unknown), bool(named)

    def first(self, experiment: int) -> Event | None:
        """Return the first decision."""
        found = self._events("event WHERE experiment = ? AND kind = 'decide' ORDER BY seq LIMIT 1", experiment)
        return found[0] if found else None

    def of_subject(self, experiment: int, subject: str, most: int) -> list[int]:
        """Return the events of decisions that name a subject, at most so many. It goes through all events."""
        sql = "SELECT seq FROM event WHERE experiment = ? AND subject = ? LIMIT ?"
        return [row[0] for row in self._rows(sql, (experiment, subject, most))]

    def answered(self, experiment: int, key: str) -> Answered | None:
        """Return what an idempotency key stands for."""
        sql = f"SELECT {', '.join(Answered._fields)} FROM request WHERE experiment = ? AND idempotency_key = ?"
        found = self._rows(sql, (experiment, key))
        return Answered(*found[0]) if found else None

    def snapshots(self, experiment: int) -> list[Snapshot]:
        """Return the snapshots, the newest first."""
        sql = f"SELECT {', '.join(Snapshot._fields)} FROM snapshot WHERE experiment = ? ORDER BY seq DESC"
        return [Snapshot(*row) for row in self._rows(sql, (experiment,))]

    def builds(self, experiment: int) -> list[Built]:
        """Return which builds have appended, in order."""
        sql = "SELECT seq, name FROM build WHERE experiment = ? ORDER BY seq"
        return [Built(*row) for row in self._rows(sql, (experiment,))]

    def minutes(self, experiment: int, since: int = 0) -> list[Minute]:
        """Return the counts of minutes from `since` on, in order."""
        columns = ", ".join(Minute._fields)
        sql = f"SELECT {columns} FROM minute WHERE experiment = ? AND minute >= ? ORDER BY minute, arm, decided_by"
        return [Minute(*row) for row in self._rows(sql, (experiment, since))]

    def sums(self, experiment: int, since: int = 0) -> list[tuple[int, str, int, float, float]]:
        """Return what was rewarded from a minute on, by arm and who decided: how often, the sum of rewards, and of their squares."""
        sql = (
            "SELECT arm, decided_by, SUM(rewarded + expired), SUM(total), SUM(squares) FROM minute "
            "WHERE experiment = ? AND minute >= ? GROUP BY arm, decided_by ORDER BY arm, decided_by"
        )
        return [(arm, by, int(count), *sums) for arm, by, count, *sums in self._rows(sql, (experiment, since))]

    def beliefs(self, experiment: int, since: int = 0) -> list[Believed]:
        """Return the beliefs of minutes from `since` on, in order."""
        sql = "SELECT minute, seq, body FROM belief WHERE experiment = ? AND minute >= ? ORDER BY minute"
        return [Believed(*row) for row in self._rows(sql, (experiment, since))]

    def keys(self) -> list[ApiKey]:
        """Return all keys of the service."""
        rows = self._rows(f"SELECT {', '.join(ApiKey._fields)} FROM api_key ORDER BY created_us, id")
        return [ApiKey(*row) for row in rows]


class Storage(Reads):
    """A store. One thread at a time may use it; `reader` is for the others."""

    shared: bool  # whether several processes may use it at the same time, each experiment held by one of them

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[Callable[..., Any]]:
        """Run statements in one transaction, which is durable afterwards, or as if it had never begun."""

    @abstractmethod
    def create(self, name: str, spec: str, status: str, events: Sequence[Event]) -> Row:
        """Make an experiment with its first events, durably; raise `ConflictError` if the name is taken."""

    @abstractmethod
    def claim(self, experiment: int, build: str = "") -> Row:
        """Become the one who may append to an experiment, and return it; whoever was is fenced from here on.

        Notes which build appends from here on. Raises `FencedError` while another one holds it, in a store that several processes may use.
        """

    @abstractmethod
    def append(self, groups: Sequence[Group]) -> None:
        """Append groups in one transaction; return when they are durable.

        Raises `FencedError` if an experiment has another head or epoch, or a decision ends twice, `StoreUnavailableError` if it cannot be
        written; then nothing was appended, or, if the failure hides it, all of it was.
        """

    @abstractmethod
    def reader(self) -> Reads:
        """Return what other threads read with; it never waits for the writer nor makes it wait."""

    def rows(self, experiment: int, events: Sequence[Event]) -> list[tuple[object, ...]]:
        """Return events as rows of the table, with `COLUMNS`."""
        rows: list[tuple[object, ...]] = []
        salt = self._salt(experiment)
        for event in events:
            seq, kind, at_us, key, *rest = event
            about = 0 if key is None else place_of(key, salt)
            rows.append((seq, kind, at_us, None if about == seq else about, *rest, _ROLES.get(kind)))
        return rows

    # A store that one process has for itself needs none of the next five

    def hold(self, row: Row) -> bool:  # noqa: ARG002
        """Return whether nobody has claimed an experiment since this row was, nor can for now. Asked before every group."""
        return True

    def renew(self, experiments: Sequence[int]) -> None:
        """Go on holding experiments for another lease, though nothing is appended; those that others have claimed are left alone."""

    def release(self) -> None:
        """Hold nothing any more, so that nobody waits for a lease to end."""

    def expect(self, keys: Sequence[tuple[int, str]]) -> None:
        """Take note that `answered` is about to be asked for these keys of experiments, so that they may be fetched at once."""

    def owner(self, experiment: int) -> Owner | None:  # noqa: ARG002
        """Return who holds an experiment now, None if nobody does: others send it what they are asked."""
        return Owner("this process", None, True)

    def keep(self, experiment: int, snapshot: Snapshot, deep: int = 3) -> None:
        """Keep a snapshot, and of the older ones as many as make `deep`."""
        with self._transaction() as run:
            run(ADD_SNAPSHOT, (experiment, *snapshot))
            run(KEEP_NEWEST, (experiment, experiment, deep))

    def probe(self) -> None:
        """Write durably and change nothing, or raise `StoreUnavailableError`: then nothing else can be written either."""
        number = -secrets.randbelow(2**62) - 1  # several processes may do so at once
        with self._transaction() as run:
            run("INSERT INTO schema_version VALUES (?)", (number,))
            run("DELETE FROM schema_version WHERE version = ?", (number,))

    def erase(self, experiment: int, events: Sequence[int], pseudonym: str) -> None:
        """Put a pseudonym in the place of the subject of some decisions, and forget their idempotency keys, durably."""
        among = f"WHERE experiment = ? AND seq IN ({', '.join('?' * len(events))})"
        with self._transaction() as run:
            run(f"UPDATE event SET subject = ? {among}", (pseudonym, experiment, *events))
            run(f"DELETE FROM request {among}", (experiment, *events))

    def add_key(self, key: ApiKey) -> None:
        """Add a key of the service, durably."""
        with self._transaction() as run:
            run(ADD_KEY, key)

    def revoke_key(self, key: str, at_us: int) -> bool:
        """Revoke a key by its id, durably; return whether there is such a key."""
        with self._transaction() as run:
            return bool(run(REVOKE_KEY, (at_us, at_us, key)).rowcount == 1)

    def rotate_key(self, old: str, key: ApiKey, until_us: int) -> None:
        """Add a key that takes the place of another one, which is revoked from a time on, durably."""
        with self._transaction() as run:
            run(ADD_KEY, key)
            run(REVOKE_KEY, (until_us, until_us, old))


def add_rows(run: Callable[..., Any], sql: str, experiment: int, rows: Sequence[Any]) -> None:
    """Insert rows of an experiment, many with each statement."""
    for many, part in together(sql, rows):
        run(many, list(chain.from_iterable([(experiment, *row) for row in part])))


def insert(table: str, columns: Sequence[str], then: str = "") -> str:
    """Return the statement that inserts a row."""
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}){then}"


def together(sql: str, rows: Sequence[Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield statements that insert many rows each, and their rows: at most 64, so that there are not too many statements to know.

    One statement is one step of SQLite, and between two steps other threads take over: a step per row would wait for them each time.

    Examples
    --------
    >>> from latentbandits.store.queries import insert, together
    >>> [(sql, len(rows)) for sql, rows in together(insert("belief", ("minute", "seq")), ["a", "b", "c"])]
    [('INSERT INTO belief (minute, seq) VALUES (?, ?), (?, ?), (?, ?)', 3)]
    """
    for begun in range(0, len(rows), TOGETHER):
        part = rows[begun : begun + TOGETHER]
        yield _repeated(sql, len(part)), part


@cache
def _repeated(sql: str, times: int) -> str:
    head, values, rest = sql.partition(" VALUES ")
    row, close, then = rest.partition(")")
    return head + values + ", ".join([row + close] * times) + then


_COUNTS = Minute._fields[3:]
ADD_EVENT = insert("event", ("experiment", *COLUMNS))
ADD_EXPERIMENT = insert("experiment", ("name", "spec", "status", "head", "epoch", "salt"))
ADD_ANSWERED = insert("request", ("experiment", *Answered._fields))
ADD_MINUTE = insert(
    "minute",
    ("experiment", *Minute._fields),
    " ON CONFLICT (experiment, minute, arm, decided_by) DO UPDATE SET "
    + ", ".join(f"{name} = minute.{name} + excluded.{name}" for name in _COUNTS),
)
ADD_BELIEF = insert(
    "belief",
    ("experiment", *Believed._fields),
    " ON CONFLICT (experiment, minute) DO UPDATE SET seq = excluded.seq, body = excluded.body",
)
ADD_SNAPSHOT = insert(
    "snapshot",
    ("experiment", *Snapshot._fields),
    " ON CONFLICT (experiment, seq) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in Snapshot._fields[1:]),
)
ADD_BUILD = (  # unless it is the last one
    "INSERT INTO build (experiment, seq, name) SELECT id, head + 1, ? FROM experiment WHERE id = ? AND ? <> "
    "COALESCE((SELECT name FROM build WHERE experiment = ? ORDER BY seq DESC LIMIT 1), '') "
    "ON CONFLICT (experiment, seq) DO UPDATE SET name = excluded.name"
)
ADD_KEY = insert("api_key", ApiKey._fields)
KEEP_NEWEST = (
    "DELETE FROM snapshot WHERE experiment = ? AND seq NOT IN "
    "(SELECT seq FROM snapshot WHERE experiment = ? ORDER BY seq DESC LIMIT ?)"
)
REVOKE_KEY = "UPDATE api_key SET revoked_us = CASE WHEN revoked_us < ? THEN revoked_us ELSE ? END WHERE id = ?"
MOVE_HEAD = (
    "UPDATE experiment SET head = ?, spec = COALESCE(?, spec), status = COALESCE(?, status) "
    "WHERE id = ? AND head = ? AND epoch = ?"
)

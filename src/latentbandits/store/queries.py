"""Reading a store, and most of writing it: the same SQL for every engine that has `?` or a translation of it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from itertools import chain
from typing import Any

from latentbandits.agent.events import Event
from latentbandits.store.errors import FencedError
from latentbandits.store.protocol import Answered, ApiKey, Believed, Built, Minute, Row, Snapshot
from latentbandits.store.schema import CHANGED, OF_ROLE

TOGETHER = 64  # rows of the largest statement; SQLite takes 999 values or more, an event has 13
ENDS = 400  # decisions whose ends one statement asks for: twice as many values
VERSION = "SELECT COALESCE(MAX(version), 0) FROM schema_version"
ROW = "id, name, spec, status, head, epoch"
EVENT = ", ".join(Event._fields)
STORY = " UNION ALL ".join(
    f"SELECT {EVENT} FROM event WHERE experiment = ? AND key = ? AND {kinds}" for kinds in OF_ROLE.values()
)


class Queries:
    """Everything that can be read, by one method that an engine has: `_rows`."""

    changed = "event"  # where what people did is found

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        raise NotImplementedError

    def experiments(self) -> list[Row]:
        """See `Reads`."""
        return [Row(*row) for row in self._rows(f"SELECT {ROW} FROM experiment ORDER BY id")]

    def experiment(self, name: str) -> Row | None:
        """See `Reads`."""
        found = self._rows(f"SELECT {ROW} FROM experiment WHERE name = ?", (name,))
        return Row(*found[0]) if found else None

    def events(self, experiment: int, after: int = 0, most: int = 10_000) -> list[Event]:
        """See `Reads`."""
        sql = f"SELECT {EVENT} FROM event WHERE experiment = ? AND seq > ? ORDER BY seq LIMIT ?"
        return list(map(Event._make, self._rows(sql, (experiment, after, most))))

    def latest(self, experiment: int, most: int = 100) -> list[Event]:
        """See `Reads`."""
        sql = f"SELECT {EVENT} FROM event WHERE experiment = ? ORDER BY seq DESC LIMIT ?"
        return list(map(Event._make, self._rows(sql, (experiment, most))))

    def changes(self, experiment: int) -> list[Event]:
        """See `Reads`."""
        sql = f"SELECT {EVENT} FROM {self.changed} WHERE experiment = ? AND {CHANGED} ORDER BY seq"
        return list(map(Event._make, self._rows(sql, (experiment,))))

    def story(self, experiment: int, key: str) -> list[Event]:
        """See `Reads`."""
        found = self._rows(STORY, (experiment, key) * len(OF_ROLE))
        return sorted(map(Event._make, found), key=lambda event: event.seq)

    def ends(self, experiment: int, keys: Sequence[str]) -> list[Event]:
        """See `Reads`."""
        found: list[Any] = []
        for begun in range(0, len(keys), ENDS):
            part = keys[begun : begun + ENDS]
            marks = ", ".join("?" * len(part))
            one = f"SELECT {EVENT} FROM event WHERE experiment = ? AND key IN ({marks}) AND "
            found += self._rows(f"{one}{OF_ROLE['ended']} UNION ALL {one}{OF_ROLE['late']}", (experiment, *part) * 2)
        return sorted(map(Event._make, found), key=lambda event: event.seq)

    def answered(self, experiment: int, key: str) -> Answered | None:
        """See `Reads`."""
        sql = f"SELECT {', '.join(Answered._fields)} FROM request WHERE experiment = ? AND key = ?"
        found = self._rows(sql, (experiment, key))
        return Answered(*found[0]) if found else None

    def snapshots(self, experiment: int) -> list[Snapshot]:
        """See `Reads`."""
        sql = f"SELECT {', '.join(Snapshot._fields)} FROM snapshot WHERE experiment = ? ORDER BY seq DESC"
        return [Snapshot(*row) for row in self._rows(sql, (experiment,))]

    def builds(self, experiment: int) -> list[Built]:
        """See `Reads`."""
        sql = "SELECT seq, name FROM build WHERE experiment = ? ORDER BY seq"
        return [Built(*row) for row in self._rows(sql, (experiment,))]

    def minutes(self, experiment: int, since: int = 0) -> list[Minute]:
        """See `Reads`."""
        columns = ", ".join(Minute._fields)
        sql = f"SELECT {columns} FROM minute WHERE experiment = ? AND minute >= ? ORDER BY minute, arm, decided_by"
        return [Minute(*row) for row in self._rows(sql, (experiment, since))]

    def beliefs(self, experiment: int, since: int = 0) -> list[Believed]:
        """See `Reads`."""
        sql = "SELECT minute, seq, body FROM belief WHERE experiment = ? AND minute >= ? ORDER BY minute"
        return [Believed(*row) for row in self._rows(sql, (experiment, since))]

    def keys(self) -> list[ApiKey]:
        """See `Reads`."""
        return [
            ApiKey(*row)
            for row in self._rows(f"SELECT {', '.join(ApiKey._fields)} FROM api_key ORDER BY created_us, id")
        ]


class Writes(Queries):
    """What every engine writes with the same SQL, by two more methods that it has: `_transaction` and `_fenced`."""

    def _transaction(self) -> AbstractContextManager[Callable[..., Any]]:
        raise NotImplementedError

    def _fenced(self, experiment: int) -> FencedError:
        raise NotImplementedError

    def keep(self, experiment: int, snapshot: Snapshot, deep: int = 3) -> None:
        """See `Storage`."""
        with self._transaction() as run:
            run(ADD_SNAPSHOT, (experiment, *snapshot))
            run(KEEP_NEWEST, (experiment, experiment, deep))

    def forget_answers(self, experiment: int, before_us: int) -> int:
        """See `Storage`."""
        with self._transaction() as run:
            return int(run(FORGET_ANSWERS, (experiment, before_us)).rowcount)

    def rebuild(self, row: Row, minutes: Sequence[Minute], beliefs: Sequence[Believed], spec: str, status: str) -> None:
        """See `Storage`."""
        with self._transaction() as run:
            moved = run(REBUILD, (spec, status, row.id, row.head, row.epoch)).rowcount == 1
            for table, sql, rows in (("minute", ADD_MINUTE, minutes), ("belief", ADD_BELIEF, beliefs)) if moved else ():
                run(f"DELETE FROM {table} WHERE experiment = ?", (row.id,))
                add_rows(run, sql, row.id, rows)
        if not moved:
            raise self._fenced(row.id)

    def add_key(self, key: ApiKey) -> None:
        """See `Storage`."""
        with self._transaction() as run:
            run(ADD_KEY, key)

    def revoke_key(self, key: str, at_us: int) -> bool:
        """See `Storage`."""
        with self._transaction() as run:
            return bool(run(REVOKE_KEY, (at_us, key)).rowcount == 1)


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
ADD_EVENT = insert("event", ("experiment", *Event._fields))
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
FORGET_ANSWERS = "DELETE FROM request WHERE experiment = ? AND at_us < ?"
REVOKE_KEY = "UPDATE api_key SET revoked_us = COALESCE(revoked_us, ?) WHERE id = ?"
REBUILD = "UPDATE experiment SET spec = ?, status = ? WHERE id = ? AND head = ? AND epoch = ?"
MOVE_HEAD = (
    "UPDATE experiment SET head = ?, spec = COALESCE(?, spec), status = COALESCE(?, status) "
    "WHERE id = ? AND head = ? AND epoch = ?"
)

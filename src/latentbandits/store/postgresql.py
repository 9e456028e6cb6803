"""A store in a PostgreSQL database: several processes may use it, and each experiment is held by one of them at a time.

Whoever holds an experiment has a lease on its row, by the database's clock, which every append renews. When it ends, another may claim
the experiment and goes on by replay. A claim raises the epoch, and every append names its own in the same statement that writes: the
database is the arbiter, so that one who was stopped for an hour and wakes up writes nothing.
"""

import contextlib
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import psycopg

from latentbandits.agent.decision import SESSIONS
from latentbandits.agent.events import Event
from latentbandits.settings import Above, check_range
from latentbandits.store import queries
from latentbandits.store.connection import LEASE, Connection, PostgresReader
from latentbandits.store.errors import ConflictError, FencedError, StoreUnavailableError
from latentbandits.store.records import Answered, Believed, Group, Minute, Owner, Row
from latentbandits.store.schema import refuse_version, statements

_PREPARING = 7_206_112_915  # the number of an advisory lock: one process makes tables at a time
_KINDS = {
    **dict.fromkeys((*queries.COLUMNS, *Answered._fields, *Minute._fields, *Believed._fields), "bigint[]"),
    **dict.fromkeys(("kind", "idempotency_key", "subject", "decided_by", "actor", "body", "digest"), "text[]"),
    **dict.fromkeys(("probability", "value", "total", "squares"), "double precision[]"),
    "scores": "bytea[]",
}


def _rows_of(table: str, columns: Sequence[str], then: str = "") -> str:
    """Return the part of a statement that adds rows, given as an array per column, if the head has moved."""
    arrays = ", ".join(f"%s::{_KINDS[name]}" for name in columns)
    listed = ", ".join(columns)
    return f"INSERT INTO {table} (experiment, {listed}) SELECT moved.id, added.* FROM moved, unnest({arrays}) AS added{then}"


def _conflict(sql: str) -> str:
    """Return what a statement does with rows that are there already."""
    return " ON CONFLICT" + sql.partition(" ON CONFLICT")[2]


# One statement for all that a group appends: its rows follow from the head that has moved, and none is added if it has not
_MOVED = (
    queries.MOVE_HEAD.replace("SET head", "SET lease_until = clock_timestamp() + make_interval(secs => ?), head")
    + " RETURNING id"
).replace("?", "%s")
_PARTS = {
    "events": ("event", queries.COLUMNS, ""),
    "answered": ("request", Answered._fields, ""),
    "minutes": ("minute", Minute._fields, _conflict(queries.ADD_MINUTE)),
    "beliefs": ("belief", Believed._fields, _conflict(queries.ADD_BELIEF)),
}


def _append(group: Group, rows_of_events: Sequence[tuple[object, ...]], lease: float) -> tuple[str, list[object]]:
    """Return the statement that appends a group, and its values; it returns how many heads have moved, 1 or 0."""
    head = group.base + len(group.events)
    parts = [f"WITH moved AS ({_MOVED})"]
    values: list[object] = [lease, head, group.spec, group.status, group.experiment, group.base, group.epoch]
    given: dict[str, Sequence[tuple[object, ...]]]
    given = {"events": rows_of_events, "answered": group.answered, "minutes": group.minutes, "beliefs": group.beliefs}
    for name, (table, columns, then) in _PARTS.items():
        rows = given[name]
        if rows:
            parts.append(f"{name} AS ({_rows_of(table, columns, then)})")
            values += map(list, zip(*rows, strict=True))
    return f"{', '.join(parts)} SELECT COUNT(*) FROM moved", values


class PostgreSQL(queries.Storage, Connection):
    """A writer of a database; others may write other experiments at the same time.

    Every commit is on the server's disk before it returns: ``synchronous_commit`` is ``on``, or stricter if the server says so.

    Parameters
    ----------
    address : str
        ``postgresql://user@host/database``, with options as libpq knows them. Connect directly: a pooler that hands a connection to
        another client after each transaction loses its settings.
    reached_at : str, optional
        Where other processes can reach this one: `owner` tells them.
    lease : float
        Seconds without an append after which another process may claim an experiment; also how long the database may take to answer.
    """

    shared = True

    def __init__(self, address: str, reached_at: str | None = None, lease: float = LEASE) -> None:
        super().__init__(address, patience=check_range("store", "lease", lease, Above(0)))
        self.name = f"{socket.gethostname()}:{os.getpid()}:{os.urandom(4).hex()}"
        self._reached_at, self._lease = reached_at, lease
        self._held: dict[
            int, float
        ] = {}  # until when nobody else can have claimed an experiment, by this machine's clock
        self._expected: dict[tuple[int, str], Answered | None] = {}
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        """Make the tables of a new store, all or none, one process at a time; refuse tables of another version."""
        with self._transaction() as run:
            run("SELECT pg_advisory_xact_lock(?)", (_PREPARING,))
            if run("SELECT to_regclass('schema_version') IS NULL").fetchone() == (True,):
                for statement in statements("postgresql"):
                    run(statement)
        refuse_version(self.place, self._rows(queries.VERSION)[0][0])

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Callable[..., psycopg.Cursor[tuple[Any, ...]]]]:
        """Run statements in one transaction, which is durable afterwards, or as if it had never begun."""
        with self._asking() as connection, connection.transaction():
            yield lambda sql, values=None: connection.execute(sql.replace("?", "%s"), values)

    def _run(self, sql: str, values: Sequence[object]) -> int:
        """Run a statement and return how many rows it has changed."""
        with self._asking() as connection:
            return connection.execute(sql.replace("?", "%s"), values).rowcount

    def create(self, name: str, spec: str, status: str, events: Sequence[Event]) -> Row:
        """See `Storage`."""
        if self.experiment(name) is not None:
            raise ConflictError("store", "experiment", name, "a new name (this one is taken)")
        sql, salt = f"{queries.ADD_EXPERIMENT} RETURNING {queries.ROW}", secrets.randbelow(SESSIONS)
        try:
            with self._transaction() as run:
                row = Row(*run(sql, (name, spec, status, len(events), 0, salt)).fetchall()[0])
                self._salts[row.id] = salt
                for each in self.rows(row.id, events):
                    run(queries.ADD_EVENT, (row.id, *each))
        except FencedError:  # by another process, at the same time
            raise ConflictError("store", "experiment", name, "a new name (this one is taken)") from None
        return row

    def claim(self, experiment: int, build: str = "") -> Row:
        """See `Storage`."""
        began = time.monotonic()
        self._expected = {}
        with self._transaction() as run:
            claimed = run(
                "UPDATE experiment SET epoch = epoch + 1, owner = ?, address = ?, "
                "lease_until = clock_timestamp() + make_interval(secs => ?) "
                f"WHERE id = ? AND (owner = ? OR lease_until <= clock_timestamp()) RETURNING {queries.ROW}",
                (self.name, self._reached_at, self._lease, experiment, self.name),
            ).fetchall()
            if claimed:
                run(queries.ADD_BUILD, (build, experiment, build, experiment))
        if not claimed:
            raise self._fenced(experiment)
        self._held[experiment] = began + self._lease
        return Row(*claimed[0])

    def hold(self, row: Row) -> bool:
        """See `Storage`; asks the database, and renews the lease, if half of it is over."""
        began = time.monotonic()
        if began < self._held.get(row.id, 0.0) - self._lease / 2:
            return True
        sql = "UPDATE experiment SET lease_until = clock_timestamp() + make_interval(secs => ?) WHERE id = ? AND epoch = ?"
        if self._run(sql, (self._lease, row.id, row.epoch)) != 1:
            return False
        self._held[row.id] = began + self._lease
        return True

    def renew(self, experiments: Sequence[int]) -> None:
        """See `Storage`."""
        began = time.monotonic()
        sql = (
            "UPDATE experiment SET lease_until = clock_timestamp() + make_interval(secs => ?) "
            "WHERE id = ANY(?) AND owner = ? RETURNING id"
        )
        for (number,) in self._rows(sql, (self._lease, list(experiments), self.name)) if experiments else ():
            self._held[number] = began + self._lease

    def expect(self, keys: Sequence[tuple[int, str]]) -> None:
        """See `Storage`; what was fetched is good until the next append, or claim."""
        sql = (
            f"SELECT experiment, {', '.join(Answered._fields)} FROM request JOIN unnest(?::bigint[], ?::text[]) AS "
            "wanted(experiment, idempotency_key) USING (experiment, idempotency_key)"
        )
        self._expected = {}
        if len(keys) > 1:
            with contextlib.suppress(StoreUnavailableError):  # whoever asks will hear of it
                rows = self._rows(sql, tuple(map(list, zip(*keys, strict=True))))
                found = {(experiment, row[0]): Answered(*row) for experiment, *row in rows}
                self._expected = {**dict.fromkeys(keys), **found}

    def answered(self, experiment: int, key: str) -> Answered | None:
        """See `Reads`."""
        if (experiment, key) in self._expected:
            return self._expected[experiment, key]
        return super().answered(experiment, key)

    def owner(self, experiment: int) -> Owner | None:
        """See `Storage`."""
        sql = "SELECT owner, address FROM experiment WHERE id = ? AND owner IS NOT NULL AND lease_until > clock_timestamp()"
        found = self._rows(sql, (experiment,))
        return next((Owner(name, address, name == self.name) for name, address in found), None)

    def _fenced(self, experiment: int) -> FencedError:
        """Return why this process may not append; from here on it asks the database first."""
        self._held.pop(experiment, None)
        owner = self.owner(experiment)
        who = "somebody else" if owner is None else f"{owner.name}{f' at {owner.address}' if owner.address else ''}"
        said = f"store: {who} appends to experiment {experiment} of {self.place}; nothing was appended"
        return FencedError(said, owner)

    def append(self, groups: Sequence[Group]) -> None:
        """See `Storage`."""
        began = time.monotonic()
        self._expected = {}
        groups = sorted(groups)  # one order for all: no two wait for each other
        wanted = [_append(group, self.rows(group.experiment, group.events), self._lease) for group in groups]
        with self._asking() as connection:
            if len(wanted) == 1:
                moved = [connection.execute(wanted[0][0], wanted[0][1]).fetchone()]
            else:
                with connection.pipeline(), connection.transaction() as transaction:
                    asked = [connection.execute(sql, values) for sql, values in wanted]
                    moved = [one.fetchone() for one in asked]
                    if moved != [(1,)] * len(wanted):
                        raise psycopg.Rollback(transaction)
        stale = next((group for group, one in zip(groups, moved, strict=True) if one != (1,)), None)
        if stale is not None:
            raise self._fenced(stale.experiment)
        for group in groups:
            self._held[group.experiment] = began + self._lease

    def reader(self) -> PostgresReader:
        """See `Storage`."""
        return PostgresReader(self._given)

    def release(self) -> None:
        """See `Storage`."""
        self._held.clear()
        if not self._closed and self._connection is not None:
            sql = "UPDATE experiment SET lease_until = '-infinity' WHERE owner = ? AND lease_until > clock_timestamp()"
            with contextlib.suppress(StoreUnavailableError):
                self._run(sql, (self.name,))

    def close(self) -> None:
        """See `Storage`; experiments are given back."""
        self.release()
        super().close()

"""Connections to a PostgreSQL database: made when they are needed, made again when they were lost, and their errors in our words."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
from psycopg import conninfo, errors

from latentbandits.settings import InvalidValueError
from latentbandits.store import queries
from latentbandits.store.errors import FencedError, StoreUnavailableError
from latentbandits.store.schema import refuse_version

_SETTINGS = "-c statement_timeout=60s -c lock_timeout=10s -c idle_in_transaction_session_timeout=5s"


Database = psycopg.Connection[tuple[Any, ...]]


class Connection(queries.Reads):
    """A connection that is made when it is needed, and made again when it was lost."""

    def __init__(self, address: str, settings: str = "") -> None:
        try:
            given = conninfo.conninfo_to_dict(address)
        except psycopg.Error as problem:
            raise InvalidValueError(
                "store", "address", hidden(address), f"one that PostgreSQL reads ({_short(problem)})"
            ) from None
        self.place, self._given = hidden(address), address
        options = " ".join(filter(None, (_SETTINGS, settings, str(given.get("options") or ""))))
        usual = {"connect_timeout": "10", "application_name": "latentbandits"}
        self._address = conninfo.make_conninfo("", **{**usual, **given, "options": options})
        self._connection: Database | None = None
        self._closed, self._making = False, threading.Lock()

    def _ready(self) -> Database:
        if self._closed:
            raise StoreUnavailableError(f"store: {self.place} is closed; open it again")
        with self._making:
            if self._connection is None or self._connection.closed:
                self._connection = psycopg.connect(self._address, autocommit=True)
                if self._connection.execute("SHOW synchronous_commit").fetchone() in (("off",), ("local",)):
                    self._connection.execute("SET synchronous_commit = on")
            return self._connection

    @contextlib.contextmanager
    def _asking(self) -> Iterator[Database]:
        """Run statements, each a transaction of its own; what PostgreSQL refuses or cannot do is put into our words."""
        try:
            yield self._ready()
        except errors.IntegrityError as problem:
            raise FencedError(
                f"store: {self.place} has another writer ({_short(problem)}); nothing was appended"
            ) from problem
        except psycopg.Error as problem:
            if self._connection is not None and (self._connection.broken or isinstance(problem, errors.InterfaceError)):
                self._drop()
            raise StoreUnavailableError(
                f"store: {self.place} cannot be used now ({_short(problem)}); nothing was acknowledged, try again"
            ) from problem

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        with self._asking() as connection:
            found = connection.execute(sql.replace("?", "%s"), values)
            return found.fetchall() if found.description else []

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                connection.close()

    def close(self) -> None:
        """See `Reads`."""
        self._closed = True
        self._drop()


class PostgresReader(Connection):
    """Reads a database, on a connection of its own; threads may share it.

    Parameters
    ----------
    address : str
        As for `PostgreSQL`; refused if it is no store.
    """

    def __init__(self, address: str) -> None:
        super().__init__(address, "-c default_transaction_read_only=on")
        try:
            if self._rows("SELECT to_regclass('schema_version') IS NULL") == [(True,)]:
                raise InvalidValueError("store", "database", self.place, "one that is a store")
            refuse_version(self.place, self._rows(queries.VERSION)[0][0])
        except BaseException:
            self.close()
            raise


def hidden(address: str) -> str:
    """Return an address without what is secret in it.

    Examples
    --------
    >>> from latentbandits.store.connection import hidden
    >>> hidden("postgresql://ann:secret@db.example:5433/decisions")
    'postgresql://ann@db.example:5433/decisions'
    """
    try:
        given = conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        return "postgresql://..."
    user = f"{given['user']}@" if given.get("user") else ""
    host = str(given.get("host") or "")
    port = f":{given['port']}" if given.get("port") else ""
    folder = f"?host={host}" if host.startswith("/") else ""
    return f"postgresql://{user}{'' if folder else host}{port}/{given.get('dbname') or ''}{folder}"


def _short(problem: Exception) -> str:
    """Return what PostgreSQL says in one line."""
    return " ".join(str(problem).split())[:200] or type(problem).__name__

"""Connections to a PostgreSQL database: made when they are needed, made again when they were lost, and their errors in our words."""

import contextlib
import math
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import psycopg
from psycopg import conninfo, errors

from latentbandits.settings import InvalidValueError
from latentbandits.store import queries
from latentbandits.store.errors import FencedError, StoreUnavailableError
from latentbandits.store.schema import refuse_version

_SETTINGS = "-c statement_timeout=60s -c lock_timeout=10s -c idle_in_transaction_session_timeout=5s"


LEASE = 5.0  # seconds for which an experiment is held without a sign of life
PATIENT = 30.0  # seconds that whoever only reads waits for an answer


class Database(psycopg.Connection[tuple[Any, ...]]):
    """A connection that waits so many seconds for each answer, whatever the network does, and is given up then."""

    patience = PATIENT

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **given: Any) -> Any:
        """Wait for the server."""
        return super().wait(self._bounded(gen), *args, **given)

    def _bounded(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Return what waits for the server, which psycopg lets go on several times a second, until it has waited for too long."""
        until, ready = time.monotonic() + self.patience, None
        with contextlib.closing(gen):
            while True:
                try:
                    waits = gen.send(ready)
                except StopIteration as end:
                    return end.value
                ready = yield waits
                if not ready and time.monotonic() > until:
                    self.pgconn.finish()
                    raise psycopg.OperationalError(f"no answer within {self.patience:g} seconds")


class Connection(queries.Reads):
    """A connection that is made when it is needed, and made again when it was lost."""

    def __init__(self, address: str, settings: str = "", patience: float = PATIENT) -> None:
        try:
            given = conninfo.conninfo_to_dict(address)
        except psycopg.Error as problem:
            raise InvalidValueError(
                "store", "address", hidden(address), f"one that PostgreSQL reads ({_short(problem)})"
            ) from None
        self.place, self._given = hidden(address), address
        options = " ".join(filter(None, (_SETTINGS, settings, str(given.get("options") or ""))))
        self._patience = patience
        usual = {
            "connect_timeout": str(max(2, math.ceil(patience))),  # libpq takes no less
            "keepalives_idle": "1",  # seconds; the next two are as long together as one waits
            "keepalives_interval": "1",
            "keepalives_count": str(max(1, math.ceil(patience) - 1)),
            "tcp_user_timeout": str(int(1000 * patience)),
            "application_name": "latentbandits",
        }
        self._address = conninfo.make_conninfo("", **{**usual, **given, "options": options})
        self._connection: Database | None = None
        self._closed, self._making = False, threading.Lock()

    def _ready(self) -> Database:
        if self._closed:
            raise StoreUnavailableError(f"store: {self.place} is closed; open it again")
        with self._making:
            if self._connection is None or self._connection.closed:
                self._connection = Database.connect(self._address, autocommit=True)
                self._connection.patience = self._patience
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
            if self._connection is not None and (self._connection.closed or isinstance(problem, errors.InterfaceError)):
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

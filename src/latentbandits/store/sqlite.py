"""A store in one SQLite file: one process writes, any number of short readers look on."""

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from latentbandits.agent.decision import SESSIONS
from latentbandits.agent.events import Event
from latentbandits.files import Held
from latentbandits.settings import InvalidValueError
from latentbandits.store import queries
from latentbandits.store.errors import ConflictError, FencedError, StoreUnavailableError
from latentbandits.store.records import Group, Row
from latentbandits.store.schema import refuse_version, statements

_BUSY = 10_000  # ms that a reader waits while a file is being recovered
_INDEXED = "event INDEXED BY event_about"  # left to itself, SQLite goes through all events
_PAGES = 8_000  # of the write-ahead log, about 32 MB, after which they are written back: a commit in which that happens takes longer
_BOUND = 64 * 2**20  # bytes that the write-ahead log keeps when it starts again


class SQLite(queries.Storage):
    """The writer of a file.

    Every commit is on disk before it returns (``synchronous=FULL``). A second process is refused: a lock of the operating system on the
    file ``PATH.lock``, which ends with the process, however that ends.

    Parameters
    ----------
    path : path
        The file; made if it is not there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentbandits.store.sqlite import SQLite
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     storage = SQLite(Path(folder) / "decisions.db")
    ...     storage.experiments()
    ...     storage.close()
    []
    """

    indexed = _INDEXED
    shared = False

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        self.place = str(path)
        if not self.path.parent.is_dir():
            raise InvalidValueError("store", "file", self.place, "in a folder that exists")
        if self.path.exists() and not self.path.is_file():
            raise InvalidValueError("store", "file", self.place, "a file (this is a folder, or something else)")
        for own in (self.path, self.path.with_name(f"{self.path.name}.lock")):
            _make_private(own)
        try:
            lock = Held(self.path.with_name(f"{self.path.name}.lock"))
        except OSError as problem:
            raise InvalidValueError(
                "store", "file", self.place, f"in a folder that can be written ({problem.strerror})"
            ) from None
        if not lock.taken:
            raise InvalidValueError(
                "store",
                "file",
                self.place,
                "used by one process at a time (another one has it open; let that one decide for all, with `latentbandits serve`)",
            )
        self._lock = lock
        self._connection: sqlite3.Connection | None = None
        try:
            self._connection = self._connected()
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _connected(self) -> sqlite3.Connection:
        try:
            made = sqlite3.connect(
                self.path,
                timeout=_BUSY / 1000,
                isolation_level=None,
                check_same_thread=False,
                cached_statements=4 * queries.TOGETHER,
            )
            for setting in (
                "journal_mode = WAL",
                "synchronous = FULL",
                "fullfsync = 1",
                f"wal_autocheckpoint = {_PAGES}",
                f"journal_size_limit = {_BOUND}",
            ):
                made.execute(f"PRAGMA {setting}")
        except sqlite3.Error as problem:
            if "not a database" in str(problem):
                raise InvalidValueError(
                    "store", "file", self.place, "a store, or new (this is something else)"
                ) from None
            raise self._unavailable(problem) from problem
        return made

    def _prepare(self) -> None:
        """Make the tables of a new store, all or none; refuse another database, or tables of another version."""
        if not self._rows("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'"):
            if self._rows("SELECT 1 FROM sqlite_master"):
                raise InvalidValueError("store", "file", self.place, "a store, or new (this is another database)")
            with self._transaction() as run:
                for statement in statements("sqlite"):
                    run(statement)
        refuse_version(self.place, self._rows(queries.VERSION)[0][0])

    def _unavailable(self, problem: Exception) -> StoreUnavailableError:
        return StoreUnavailableError(
            f"store: {self.place} cannot be used now ({problem}); nothing was acknowledged, try again"
        )

    def _fenced(self, experiment: int) -> FencedError:
        return FencedError(
            f"store: somebody else appends to experiment {experiment} of {self.place}; nothing was appended"
        )

    def _ready(self) -> sqlite3.Connection:
        if self._lock is None:
            raise StoreUnavailableError(f"store: {self.place} is closed; open it again")
        if self._connection is None:
            self._connection = self._connected()
        return self._connection

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        try:
            return self._ready().execute(sql, values).fetchall()
        except sqlite3.Error as problem:
            raise self._unavailable(problem) from problem

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        """Run statements in one transaction, which is durable afterwards, or as if it had never begun."""
        connection = self._ready()
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield connection.execute
            self._commit(connection)
        except BaseException as problem:
            self._undo(connection)
            if isinstance(problem, sqlite3.IntegrityError):
                raise FencedError(
                    f"store: {self.place} has another writer ({problem}); nothing was appended"
                ) from problem
            if isinstance(problem, sqlite3.Error):
                raise self._unavailable(problem) from problem
            raise

    def _commit(self, connection: sqlite3.Connection) -> None:
        connection.execute("COMMIT")

    def _undo(self, connection: sqlite3.Connection) -> None:
        """Roll back; a connection that cannot is given up, and the next one reads what is really there."""
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            self._connection = None
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def create(self, name: str, spec: str, status: str, events: Sequence[Event]) -> Row:
        """See `Storage`."""
        if self.experiment(name) is not None:
            raise ConflictError("store", "experiment", name, "a new name (this one is taken)")
        with self._transaction() as run:
            salt = secrets.randbelow(SESSIONS)
            number = run(queries.ADD_EXPERIMENT, (name, spec, status, len(events), 0, salt)).lastrowid
            assert number is not None
            for row in self.rows(number, events):
                run(queries.ADD_EVENT, (number, *row))
        return Row(number, name, spec, status, len(events), 0, salt)

    def claim(self, experiment: int, build: str = "") -> Row:
        """See `Storage`."""
        with self._transaction() as run:
            run("UPDATE experiment SET epoch = epoch + 1 WHERE id = ?", (experiment,))
            run(queries.ADD_BUILD, (build, experiment, build, experiment))
        return Row(*self._rows(f"SELECT {queries.ROW} FROM experiment WHERE id = ?", (experiment,))[0])

    def append(self, groups: Sequence[Group]) -> None:
        """See `Storage`."""
        with self._transaction() as run:
            for group in groups:
                number, head = group.experiment, group.base + len(group.events)
                moved = run(queries.MOVE_HEAD, (head, group.spec, group.status, number, group.base, group.epoch))
                if moved.rowcount != 1:
                    raise self._fenced(number)
                for sql, rows in (
                    (queries.ADD_EVENT, self.rows(number, group.events)),
                    (queries.ADD_ANSWERED, group.answered),
                    (queries.ADD_MINUTE, group.minutes),
                    (queries.ADD_BELIEF, group.beliefs),
                ):
                    queries.add_rows(run, sql, number, rows)

    def erase(self, experiment: int, events: Sequence[int], pseudonym: str) -> None:
        """See `Storage`; what was written before is overwritten, also in the write-ahead log."""
        self._rows("PRAGMA secure_delete = ON")
        try:
            super().erase(experiment, events, pseudonym)
            self._rows("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._rows("PRAGMA secure_delete = OFF")

    def reader(self) -> "Reader":
        """See `Storage`."""
        return Reader(self.path)

    def close(self) -> None:
        """See `Storage`."""
        connection, self._connection = self._connection, None
        lock, self._lock = self._lock, None  # type: ignore[assignment]
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()
        if lock is not None:
            lock.give_back()


class Reader(queries.Reads):
    """Reads a file on a connection per question: a long one would keep the write-ahead log from being written back.

    Parameters
    ----------
    path : path
        A file that is a store; refused if it is none. It needs no lock, so that a file in use can be read.
    """

    indexed = _INDEXED

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        self.place = str(path)
        if not self.path.is_file():
            raise InvalidValueError("store", "file", self.place, "one that exists")
        try:
            version = self._rows(queries.VERSION)[0][0]
        except StoreUnavailableError as problem:
            if "no such table" in str(problem) or "not a database" in str(problem):
                raise InvalidValueError("store", "file", self.place, "a store (this is something else)") from None
            raise
        refuse_version(self.place, version)

    def _rows(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        try:
            with contextlib.closing(
                sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True, timeout=_BUSY / 1000)
            ) as connection:
                return connection.execute(sql, values).fetchall()
        except sqlite3.Error as problem:
            raise StoreUnavailableError(f"store: {self.place} cannot be read now ({problem}); try again") from problem

    def close(self) -> None:
        """See `Reads`; nothing is held."""


def _make_private(path: Path) -> None:
    """Make an empty file that only this user can read, unless there is one; what SQLite puts beside a database has its mode."""
    with contextlib.suppress(OSError):  # one that cannot be made is said by whoever opens it
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

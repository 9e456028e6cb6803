"""Files that are written whole or not at all, and locks between processes."""

import contextlib
import os
import sys
import uuid
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def write_whole(path: Path, content: bytes) -> None:
    """Write a file by way of a temporary one beside it, so that a crash leaves the old file or the new, never half of one."""
    with whole(path) as file:
        file.write(content)


@contextlib.contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file to be written piece by piece that is there when all is written, as `write_whole` does."""
    path = Path(os.path.realpath(path)) if path.is_symlink() else path  # a link stays a link
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that one process (and one thread) has at a time; it ends with the process, even if that is killed.

    Where the file cannot be made, or the file system has no locks, nothing is held. The empty file that is locked stays there.
    """
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            file = held.enter_context(open(path, "ab"))
            _take(file, wait=True)
        try:
            yield
        finally:
            with contextlib.suppress(OSError, NameError):
                _give_back(file)


class Held:
    """A lock that one process has until it gives it back or ends, even if it is killed; another is told at once that it is taken.

    Parameters
    ----------
    path : path
        The empty file that is locked; it stays there.

    Attributes
    ----------
    taken : whether the lock is now held by this object

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentbandits.files import Held
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first, second = Held(Path(folder) / "lock"), Held(Path(folder) / "lock")
    ...     first.taken, second.taken
    ...     first.give_back()
    (True, False)
    """

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO | None = open(path, "ab")  # noqa: SIM115
        try:
            _take(self._file, wait=False)
        except OSError:
            self._file.close()
            self._file = None
        self.taken = self._file is not None
        _held.add(self)

    def give_back(self) -> None:
        """Let another process have it."""
        file, self._file, self.taken = self._file, None, False
        if file is not None:
            with contextlib.suppress(OSError):
                _give_back(file)
            file.close()

    def drop(self) -> None:
        """Close the file of a forked process, which would hold the lock when this process has long ended."""
        file, self._file, self.taken = self._file, None, False
        if file is not None:
            file.close()


_held: "weakref.WeakSet[Held]" = weakref.WeakSet()


def _drop_all() -> None:
    for lock in list(_held):
        lock.drop()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_drop_all)


def _take(file: BinaryIO, wait: bool) -> None:
    """Take a lock, once it is free or else with an OSError at once."""
    if sys.platform == "win32":
        import msvcrt

        # it tries for ten seconds; a compilation may then be done twice
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        from fcntl import LOCK_EX, LOCK_NB, flock

        flock(file, LOCK_EX if wait else LOCK_EX | LOCK_NB)


def _give_back(file: BinaryIO) -> None:
    """Give the lock back now: closing the file is not enough if the process was forked meanwhile."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
    else:
        from fcntl import LOCK_UN, flock

        flock(file, LOCK_UN)

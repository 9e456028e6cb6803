"""Files that are written whole or not at all, and locks between processes."""

import contextlib
import os
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def write_whole(path: Path, content: bytes) -> None:
    """Write a file by way of a temporary one beside it, so that a crash leaves the old file or the new, never half of one."""
    path = Path(os.path.realpath(path))  # a link stays a link
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def locked(path: Path, keep: bool = True) -> Iterator[None]:
    """Hold a lock that one process (and one thread) has at a time; it ends with the process, even if that is killed.

    Where the file cannot be made, or the file system has no locks, nothing is held. The empty file that is locked stays there unless
    `keep` is False.
    """
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError):
            while True:
                file = held.enter_context(open(path, "ab"))
                _wait_for(file)
                if keep or _is_at(path, file):
                    break  # else whoever held it before has removed it
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                if not keep:
                    path.unlink()  # Windows removes no open file
            with contextlib.suppress(OSError, NameError):
                _give_back(file)


def _is_at(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _wait_for(file: BinaryIO) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)  # tries for ten seconds; a compilation may then be done twice
    else:
        from fcntl import LOCK_EX, flock

        flock(file, LOCK_EX)


def _give_back(file: BinaryIO) -> None:
    """Give the lock back now: closing the file is not enough if the process was forked meanwhile."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
    else:
        from fcntl import LOCK_UN, flock

        flock(file, LOCK_UN)

"""Where results are kept: a folder of this machine or a shared one, or anything that fsspec opens (`s3://`, `gs://`, `memory://`)."""

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from latentbandits.extras import missing
from latentbandits.files import write_whole
from latentbandits.settings import Refusal


class Folder(Protocol):
    """What a store needs of a folder: names have at most one slash, and no locks are taken.

    Attributes
    ----------
    where : the folder, as a person writes it
    """

    where: str

    def prepare(self) -> None:
        """Make the folder, or refuse one that cannot be written to."""

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, None if it is not there."""

    def write(self, name: str, content: bytes, durable: bool = True) -> None:
        """Write a file whole or not at all."""

    def settle(self, names: Sequence[str]) -> None:
        """Return once files that were written are durable: sooner for many at once than for each by itself."""

    def names(self, part: str = "") -> list[str]:
        """Return the names of the files in the folder, or in a folder within it."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""


def folder_at(where: str | Path, owner: str = "reproduce") -> Folder:
    """Return the folder of a path or an address; the owner is the command that refuses one that cannot be used.

    Examples
    --------
    >>> from latentbandits_studies.experiments.folders import folder_at
    >>> folder_at("results").where
    'results'
    """
    parts = urlsplit(str(where)) if isinstance(where, str) else None
    if parts is None or "://" not in str(where):
        return LocalFolder(Path(where), owner)
    local = parts.scheme == "file"
    return LocalFolder(Path(parts.path), owner) if local else RemoteFolder(str(where), owner)


def inside(where: str | Path, name: str) -> str | Path:
    """Return a folder within a folder, be it a path or an address."""
    return where / name if isinstance(where, Path) else f"{where.rstrip('/')}/{name}"


class LocalFolder:
    """A folder of a file system, which may be shared between machines."""

    def __init__(self, path: Path, owner: str = "reproduce") -> None:
        self.where, self._path, self._owner = str(path), path, owner

    def prepare(self) -> None:
        """Make the folder, and remove what a run that was killed while it wrote has left."""
        try:
            for part in ("cells", "builds"):
                (self._path / part).mkdir(parents=True, exist_ok=True)
            for name in os.listdir(self._path / "cells"):
                left = self._path / "cells" / name if name[0] == "." and name.endswith(".tmp") else None
                if left is not None and time.time() - left.stat().st_mtime > 3600:
                    left.unlink(missing_ok=True)
            probe = self._path / "cells" / f".probe-{time.time_ns()}.tmp"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as problem:
            raise Refusal(self._owner, "out", self.where, "a folder that can be written to") from problem

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, None if it is not there."""
        try:
            return (self._path / name).read_bytes()
        except OSError:
            return None

    def write(self, name: str, content: bytes, durable: bool = True) -> None:
        """Write a file whole or not at all."""
        path = self._path / name
        try:
            write_whole(path, content, durable)
        except FileNotFoundError:  # a folder within it
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content, durable)

    def settle(self, names: Sequence[str]) -> None:
        """Return once files that were written are durable."""
        for name in names:
            with (
                contextlib.suppress(FileNotFoundError),
                open(self._path / name, "rb+") as file,
            ):  # another may have replaced it
                os.fsync(file.fileno())

    def names(self, part: str = "") -> list[str]:
        """Return the names of the files in the folder, or in a folder within it."""
        try:
            return sorted(name for name in os.listdir(self._path / part) if not name.startswith("."))
        except OSError:
            return []

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        (self._path / name).unlink(missing_ok=True)


class RemoteFolder:
    """A folder that fsspec opens; writing one file is one request, which these services do whole or not at all."""

    def __init__(self, where: str, owner: str = "reproduce") -> None:
        try:
            import fsspec
        except ModuleNotFoundError:
            raise missing("fsspec") from None

        self.where, self._owner = where.rstrip("/"), owner
        made: tuple[Any, str] = self._asked(lambda: fsspec.core.url_to_fs(self.where))
        self._system, self._path = made

    def _asked(self, request: Callable[[], Any]) -> Any:
        try:
            return request()
        except FileNotFoundError:
            raise
        except ImportError as problem:
            rule = f"one that fsspec opens with what is installed ({problem})"
            raise Refusal(self._owner, "out", self.where, rule) from problem
        except Exception as problem:  # each service has errors of its own
            said = " ".join(f"{type(problem).__name__}: {problem}".split())[:300]
            raise Refusal(self._owner, "out", self.where, f"a folder that answers ({said})") from problem

    def prepare(self) -> None:
        """Refuse a folder that cannot be written to."""
        self.write("builds/.probe", b"")
        self.remove("builds/.probe")

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, None if it is not there."""
        try:
            found: bytes = self._asked(lambda: self._system.cat_file(f"{self._path}/{name}"))
        except FileNotFoundError:
            return None
        return found

    def write(self, name: str, content: bytes, durable: bool = True) -> None:  # noqa: ARG002
        """Write a file whole or not at all."""
        self._asked(lambda: self._system.pipe_file(f"{self._path}/{name}", content))

    def settle(self, names: Sequence[str]) -> None:
        """Do nothing: a file that was written is there to stay."""

    def names(self, part: str = "") -> list[str]:
        """Return the names of the files in the folder, or in a folder within it."""
        self._system.invalidate_cache()  # others write there too
        try:
            found = self._asked(lambda: self._system.ls(f"{self._path}/{part}".rstrip("/"), detail=True))
        except FileNotFoundError:
            return []
        names = [one["name"].rpartition("/")[2] for one in found if one["type"] == "file"]
        return sorted(name for name in names if name and not name.startswith("."))

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        try:
            self._asked(lambda: self._system.rm_file(f"{self._path}/{name}"))
        except FileNotFoundError:
            return

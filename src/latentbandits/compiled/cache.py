"""Where machine code is kept, and whether it is there: all of it without importing numba.

numba's disk cache looks only at the file of the outermost function, so an edit of a policy would run stale code. Ours is therefore in a
folder named by a digest of everything that machine code depends on: the package's sources and where they are, Python, numba and the
processor. A **marker**, a small file for each compiled function and types of its arguments, says that the code is there; it is written
after the code, and at worst a wrong one costs a compilation.
"""

import atexit
import contextlib
import functools
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from latentbandits.files import locked

Compilable: TypeAlias = Callable[..., Any]  # a function and, once compiled, its machine code
Key: TypeAlias = tuple[object, ...]  # what machine code depends on

_PACKAGE = Path(__file__).parents[1]
_KEPT_DAYS = 30
# Packages with nothing to compile: an edit there keeps the machine code
_NEVER_COMPILED = (
    "advice",
    "cli",
    "client",
    "presentation",
    "serve",
    "store",
    "testing",
)
_FOLDER = "latentbandits-code"
# Lines of /proc/cpuinfo that say what machine code a processor runs
_PROCESSOR = ("model name", "flags", "Features", "CPU implementer", "CPU part")


class CacheWarning(UserWarning):
    """Machine code cannot be kept, so that it is compiled again in every process."""


@functools.cache
def installed() -> bool:
    """Return whether numba can be imported, without importing it."""
    return importlib.util.find_spec("numba") is not None


def disabled() -> bool:
    """Return whether numba's own switch NUMBA_DISABLE_JIT is set: then the same code runs interpreted."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def _sources() -> dict[str, tuple[int, int, int]]:
    """Return the dates and the size of every source file that may be compiled."""
    found = {}
    folders = [str(_PACKAGE)]
    with contextlib.suppress(OSError):  # a package that is not a folder has no files
        for folder in folders:  # which grows; this runs at import, so it must be quick
            for item in os.scandir(folder):
                if item.is_dir() and item.name not in _NEVER_COMPILED:
                    folders.append(item.path)
                elif item.name.endswith(".py"):
                    stat = item.stat()
                    found[item.path] = (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size)
    return found


# Functions are compiled as they were when they were imported, even if their files have been edited since
_IMPORTED = _sources()


@functools.cache
def digest() -> str | None:
    """Return a fingerprint of all that machine code depends on; None if there is no numba or sources have changed since the import."""
    if not installed():
        return None
    from importlib.metadata import version

    sources = source_digest()
    parts = (version("numba"), sys.version, str(_PACKAGE), *processor(), str(sources))
    return None if sources is None else hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@functools.cache
def source_digest() -> str | None:
    """Return a digest of all sources that compute something; None if there are none, or they have changed since the import."""
    made = hashlib.sha256()
    try:
        for path in sorted(_IMPORTED):
            made.update(os.path.relpath(path, _PACKAGE).encode() + b"\0" + Path(path).read_bytes())
    except OSError:
        return None
    return made.hexdigest()[:16] if _IMPORTED and _sources() == _IMPORTED else None


def processor() -> list[str]:
    """Return what machine code is made for: numba's own settings, or else the processor of this machine."""
    name = os.environ.get("NUMBA_CPU_NAME", "")
    features = os.environ.get("NUMBA_CPU_FEATURES", "" if name.lower() == "generic" else None)
    chosen = [platform.machine(), name, str(features)]
    if name and features is not None:
        return chosen
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:  # not Linux
        return [*chosen, platform.processor()]
    return [*chosen, *(line for line in first.splitlines() if line.startswith(_PROCESSOR))]


def cache_root() -> Path:
    """Return where our folder of machine code goes: LATENTBANDITS_CACHE, or the user's cache folder."""
    if chosen := os.environ.get("LATENTBANDITS_CACHE"):
        return Path(chosen).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.cache"))


class Place(NamedTuple):
    """Where this process keeps machine code.

    Attributes
    ----------
    root : a value for LATENTBANDITS_CACHE
    folder : the folder of this version of everything, inside the root
    private : whether it is a temporary folder, since the user's cannot be written to
    """

    root: Path
    folder: Path
    private: bool


@functools.cache
def place() -> Place | None:
    """Return where machine code is kept; None if it is not, since sources have changed or nothing can be written anywhere."""
    version = digest()
    if version is None:
        return None
    root = cache_root()
    folder = root / _FOLDER / version
    if _writable(folder):
        _drop_old(root / _FOLDER)
        return Place(root, folder, private=False)
    try:
        temporary = Path(tempfile.mkdtemp(prefix="latentbandits-"))
        atexit.register(_remove, temporary, os.getpid())
        private = temporary / _FOLDER / version
        if os.access(
            folder, os.R_OK | os.X_OK
        ):  # filled by somebody else, for an image say; numba itself reads only what it can write
            _copy(folder, private)
        return Place(temporary, private, private=True) if _writable(private) else None
    except OSError:
        return None


def _copy(folder: Path, private: Path) -> None:
    """Link what is in a folder that cannot be written to from one that can; `shutil.copytree` would make that one read-only too."""
    for at, _, files in os.walk(folder):
        made = private / os.path.relpath(at, folder)
        made.mkdir(parents=True, exist_ok=True)
        for name in files:
            source, target = os.path.join(at, name), made / name
            os.symlink(source, target) if os.name == "posix" else shutil.copyfile(source, target)


def _writable(folder: Path) -> bool:
    """Return whether files can be made in a folder, which is made if need be."""
    if not folder.is_absolute():  # the user has no home
        return False
    try:
        for part in ("ready", "locks"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            os.utime(folder)
    except OSError:
        return False
    return True


def _drop_old(root: Path) -> None:
    """Remove the folders of other versions that were not used for a month."""
    with contextlib.suppress(OSError):
        for other in root.iterdir():
            ours = re.fullmatch("[0-9a-f]{16}", other.name) is not None
            if ours and time.time() - other.stat().st_mtime > _KEPT_DAYS * 86400:
                shutil.rmtree(other, ignore_errors=True)


def _remove(folder: Path, owner: int) -> None:
    """Remove a private folder when its process ends, not when a fork of it does."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def warn_once() -> None:
    """Say, once in a process, that machine code cannot be kept."""
    warnings.warn(
        f"cache of machine code: {str(cache_root() / _FOLDER)!r} cannot be written to, so that every process compiles again; "
        "set LATENTBANDITS_CACHE to a folder that can",
        CacheWarning,
        stacklevel=5,
    )


class Code:
    """A function for arguments of some types: what machine code is made of.

    Two codes are equal if one machine code serves both; a class counts as itself, whatever its name.
    """

    def __init__(self, function: Compilable, args: tuple[object, ...], label: str | None = None) -> None:
        self.function, self.args = function, args
        self.key: Key = (function, *map(_kind, args))
        self._label = label

    @property
    def owner(self) -> str:
        """The class of the policy that it is for, or else the function."""
        kinds = [type(arg).__name__ for arg in self.args if isinstance(arg, tuple) and type(arg) is not tuple]
        return kinds[0] if kinds else self.function.__name__

    @property
    def label(self) -> str:
        """What the user calls the policy that it is for, or else its owner."""
        return self.owner if self._label is None else self._label

    @functools.cached_property
    def outside(self) -> list[str]:
        """The names of what does not belong to this package, or not to what its digest covers: the function, the policy."""
        kinds: list[Compilable] = [self.function, *(kind for arg in self.args[:1] for kind in _classes(arg))]
        homes = [f"{kind.__module__}.".split(".") for kind in kinds]
        package = __package__.partition(".")[0]
        return [
            kind.__name__
            for kind, home in zip(kinds, homes, strict=True)
            if home[0] != package or home[1] in _NEVER_COMPILED
        ]

    @property
    def ready(self) -> bool:
        """Whether its machine code is on disk."""
        marker = self._marker()
        return marker is not None and marker.exists()

    def _marker(self) -> Path | None:
        where = None if self.outside else place()
        if where is None:
            return None
        return where.folder / "ready" / f"{hashlib.sha256(_text(self.key).encode()).hexdigest()[:24]}"

    @contextlib.contextmanager
    def compiled_once(self) -> Iterator[None]:
        """Hold back other processes that would compile the same code, unless it is there; then leave a marker."""
        marker, where = self._marker(), place()
        if marker is None or where is None or marker.exists():
            yield
            return
        if where.private:
            warn_once()
        with locked(where.folder / "locks" / marker.stem):
            yield
            with contextlib.suppress(OSError):  # a full disk: it is compiled again
                marker.touch()


def _classes(value: object) -> list[type]:
    """Return the classes of a NamedTuple and of those within it; none for anything else."""
    if not isinstance(value, tuple) or type(value) is tuple:
        return []
    return [type(value), *(kind for part in value for kind in _classes(part))]


def _kind(value: object) -> object:
    """Return what machine code depends on of a value: its type, for arrays its layout and for tuples its parts."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return value.dtype, value.ndim, layout, flags.aligned, flags.writeable
    return (type(value), *map(_kind, value)) if isinstance(value, tuple) else type(value)


def _text(key: object) -> str:
    """Return a key as text that is the same in every process."""
    if isinstance(key, tuple):
        return f"({', '.join(map(_text, key))})"
    if isinstance(key, np.dtype):
        return f"{key.descr} {key.itemsize}"
    return f"{key.__module__}.{key.__qualname__}" if hasattr(key, "__qualname__") else repr(key)

"""The only file that imports numba: what is compiled, how, and where the machine code is kept.

Nothing here imports numba until something is compiled, so that ``import latentbandits`` stays quick.

Compilation has three rules, each of which was measured:

- No ``fastmath``. Every operation keeps its IEEE meaning, so interpreted, simulated and online runs agree to the bit.
- ``choose``, ``learn`` and every kernel allocate nothing, and are compiled without reference counting (``_nrt``): the counting
  alone took half of a round.
- numba's disk cache looks only at the file of the outermost function, so an edit of a policy would run stale code. The cache
  therefore lives in a folder named by a digest of the package's sources; code from elsewhere is never cached, nor is anything
  once a source has been edited after the import.
"""

import contextlib
import functools
import hashlib
import os
import platform
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar


class CompileError(TypeError):
    """User code that numba cannot compile, in one sentence."""


Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).parent
_INLINE = {"forceinline": True, "error_model": "numpy"}
_KEPT_DAYS = 30
# Packages with nothing to compile: an edit there keeps the machine code
_NEVER_COMPILED = ("advice", "cli", "experiments", "presentation", "report", "testing", "theory")
_kernels: list[Callable[..., Any]] = []
_registered: set[Callable[..., Any]] = set()
_setting_cache = threading.Lock()


def kernel(function: Function) -> Function:
    """Mark a plain function so that compiled code may call it; it must not allocate.

    The function itself stays ordinary Python. Helper functions of user code may be marked too.

    Examples
    --------
    >>> from latentbandits.compiled import kernel
    >>> @kernel
    ... def double(x: float) -> float:
    ...     return 2 * x
    >>> double(4.0)
    8.0
    """
    _kernels.append(function)
    return function


def _register() -> None:
    """Register with numba how to compile policies' methods (once) and all functions marked since the last call."""
    from numba.core.types import BaseNamedTuple
    from numba.extending import overload, overload_method

    borrowed = {**_INLINE, "_nrt": False}
    if not _registered:
        _registered.add(_register)
        overload_method(BaseNamedTuple, "init", jit_options=_INLINE, strict=False)(
            lambda self: self.instance_class.init
        )
        overload_method(BaseNamedTuple, "choose", jit_options=borrowed, strict=False)(
            lambda self, memory, context, random, choice: self.instance_class.choose  # noqa: ARG005
        )
        overload_method(BaseNamedTuple, "learn", jit_options=borrowed, strict=False)(
            lambda self, memory, choice, rewards: self.instance_class.learn  # noqa: ARG005
        )
    for function in [f for f in _kernels if f not in _registered]:
        _registered.add(function)
        overload(function, jit_options=borrowed, strict=False)(_returning(function))


def _returning(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *_: function


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
    """Return a fingerprint of the compiler and of all sources that may be compiled; None if they have changed since the import."""
    import numba

    made = hashlib.sha256(f"{numba.__version__} {sys.version} {platform.machine()}".encode())
    try:
        for path in sorted(_IMPORTED):
            made.update(os.path.relpath(path, _PACKAGE).encode() + b"\0" + Path(path).read_bytes())
    except OSError:
        return None
    return made.hexdigest()[:16] if _IMPORTED and _sources() == _IMPORTED else None


def cache_root() -> Path:
    """Return where our folder of machine code goes: LATENTBANDITS_CACHE, or the user's cache folder."""
    if chosen := os.environ.get("LATENTBANDITS_CACHE"):
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or str(Path.home() / ".cache")
    return Path(home)


@functools.cache
def _cache_folder() -> Path | None:
    """Return this version's folder, and drop those unused for a month; None if nothing can be written or sources have changed."""
    root, version = cache_root() / "latentbandits-code", digest()
    if version is None:
        return None
    folder = root / version
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        if not os.access(folder, os.W_OK):
            return None
    except OSError:
        return None
    with contextlib.suppress(OSError):
        for other in root.iterdir():
            ours = re.fullmatch("[0-9a-f]{16}", other.name) is not None
            if ours and time.time() - other.stat().st_mtime > _KEPT_DAYS * 86400:
                shutil.rmtree(other, ignore_errors=True)
    return folder


@contextlib.contextmanager
def _cache_at(folder: Path) -> Iterator[None]:
    from numba.core import config

    with _setting_cache:  # numba has one such setting for all threads
        before = config.CACHE_DIR
        config.CACHE_DIR = str(folder)
        try:
            yield
        finally:
            config.CACHE_DIR = before


@functools.cache
def _dispatcher(function: Callable[..., Any], keep: bool) -> Callable[..., Any]:
    from numba import njit

    made: Any = njit(nogil=True, error_model="numpy")(function)
    folder = _cache_folder() if keep else None
    if folder is not None:
        with _cache_at(folder):
            made.enable_caching()
    return made  # type: ignore[no-any-return]


def _outside(function: Callable[..., Any], parts: tuple[object, ...]) -> list[str]:
    """Return the names of what does not belong to this package, or not to what its digest covers."""
    kinds = (function, *map(type, parts))
    homes = [f"{kind.__module__}.".split(".") for kind in kinds]
    return [
        k.__name__ for k, home in zip(kinds, homes, strict=True) if home[0] != __package__ or home[1] in _NEVER_COMPILED
    ]


@contextlib.contextmanager
def _explained(names: list[str]) -> Iterator[None]:
    """Say in one sentence why user code does not compile; numba's own message stays as the cause."""
    from numba.core.errors import NumbaError, UnsupportedBytecodeError

    try:
        yield
    except (NumbaError, UnsupportedBytecodeError) as problem:
        raise CompileError(
            f"{', '.join(names) or 'latentbandits'}: code is not compilable but must be what numba can compile, "
            f"with choose, learn and kernels that allocate nothing ({_location(str(problem))})"
        ) from problem


def _location(message: str) -> str:
    """Return the line that numba refuses, and its reason."""
    places = re.findall(r'File "([^"]+)", line (\d+)', message)
    reasons = [
        line.strip()
        for line in message.splitlines()
        if re.match(r"\s*(Unknown|Invalid use|Cannot|Untyped|No impl|NameError)", line)
    ]
    where = f"{Path(places[-1][0]).name}, line {places[-1][1]}" if places else "unknown line"
    return where + (f": {reasons[0]}" if reasons else "")


def disabled() -> bool:
    """Return whether numba's own switch NUMBA_DISABLE_JIT is set: then the same code runs interpreted."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def fast(function: Callable[..., Any], *parts: object) -> Callable[..., Any]:
    """Return the compiled form of a function; `parts` are the policies (or worlds) whose code it will run.

    The machine code is kept on disk only if the function and all its parts belong to this package, and it releases Python's
    lock while it runs.
    """
    if disabled():
        return plain(function)
    outside = _outside(function, parts)
    made = _dispatcher(function, not outside)
    _register()
    if not outside:
        return made

    @functools.wraps(made)
    def run(*args: Any) -> Any:
        with _explained(outside):
            return made(*args)

    return run


def machine_code(function: Callable[..., Any], *args: object) -> Callable[..., Any]:
    """Return the machine code of a function for arguments of just these types, the first of which is a policy.

    Calling it skips numba's check of the types of all arguments, which takes ten times as long as an online decision. The caller
    must pass the same types.
    """
    if disabled():
        return plain(function)
    from numba import typeof

    outside = _outside(function, args[:1])
    made: Any = _dispatcher(function, not outside)
    _register()
    signature = tuple(typeof(arg) for arg in args)
    with _explained(outside):
        made.compile(signature)
    return made.overloads[signature].entry_point  # type: ignore[no-any-return]


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the interpreted form of a function, without warnings about overflow, like the compiled one."""

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        import numpy as np

        with np.errstate(all="ignore"):
            return function(*args)

    return run

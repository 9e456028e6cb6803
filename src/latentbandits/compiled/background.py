"""Machine code without waiting: another process fills the cache, a thread loads what is there.

A process of its own compiles, because numba holds Python's lock nearly all of the time; it has low priority and may outlive this one. A
daemon thread waits for it, imports numba and loads the code, which takes about a second. `logging` and `concurrent.futures` are imported
here since they register what is to happen at a fork, which must not be while a fork waits for the thread.
"""

import atexit
import concurrent.futures.thread  # noqa: F401
import functools
import io
import logging  # noqa: F401
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from latentbandits.compiled.cache import Code, Compilable, Key, disabled, installed, place, warn_once
from latentbandits.compiled.compiler import compiling, machine_code

Job = tuple[Compilable, tuple[object, ...]]
Done = Callable[[list[Compilable]], None]

_CHILD = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from latentbandits.compiled.background import fill
fill(sys.stdin.buffer)
"""
_waiting: dict[tuple[Key, ...], list[Done]] = {}  # by the codes that are under way
_given_up: set[tuple[Key, ...]] = set()  # what another process could not make
_guard = threading.Lock()
_one_child = threading.Lock()
_leaving = threading.Event()
_useless: list[
    subprocess.Popen[bytes]
] = []  # children that fill a private folder, which nobody needs once this process ends


def in_background(jobs: Sequence[Job], done: Done) -> bool:
    """Have machine code made without waiting for it, and call `done` once with it, in another thread that holds none of our locks.

    A job is a function and example arguments, of which only the types matter. Whoever asks for what is already under way shares it. Code
    from outside this package is never kept on disk, so that no other process can compile it: it stays interpreted. Returns whether machine
    code may come; it never does if it cannot be made or the program ends before.
    """
    codes = [Code(function, args) for function, args in jobs]
    if not installed() or disabled() or any(code.outside for code in codes):
        return False
    where = place()
    if where is None or not (all(code.ready for code in codes) or _can_start()):
        return False
    if where.private and not all(code.ready for code in codes):
        warn_once()
    _leave_properly()
    key = tuple(code.key for code in codes)
    with _guard:
        if key in _given_up:
            return False
        waiting = _waiting.setdefault(key, [])
        waiting.append(done)
        first = len(waiting) == 1
    if first:
        threading.Thread(target=_make, args=(codes, key), name="latentbandits-compile", daemon=True).start()
    return True


def _can_start() -> bool:
    """Return whether this program is run by a Python that can be started once more: not so inside some servers and bundled programs."""
    return not getattr(sys, "frozen", False) and Path(sys.executable or "").name.startswith(("python", "pypy"))


def _make(codes: list[Code], key: tuple[Key, ...]) -> None:
    """Wait until the cache has it all, load it, and hand it to all who wait."""
    made = []
    try:
        with _one_child:
            if not all(code.ready for code in codes):
                _compile_elsewhere(codes)
        with compiling:
            if all(code.ready for code in codes) and not _leaving.is_set():
                made = [machine_code(code.function, *code.args) for code in codes]
    finally:
        with _guard:
            waiting = _waiting.pop(key, [])
            if not made:
                _given_up.add(key)
    for done in waiting if made else ():
        done(made)


def _compile_elsewhere(codes: list[Code]) -> None:
    """Run a process that compiles and keeps the code, and wait for it."""
    where = place()
    assert where is not None
    content = io.BytesIO()
    pickle.dump(sys.path, content)
    _Pickler(content).dump([(code.function, code.args) for code in codes])
    with _guard:
        if _leaving.is_set():
            return
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "LATENTBANDITS_CACHE": str(where.root)},
            start_new_session=True,  # an interrupt from the keyboard ends the program, not what its next start needs
        )
        _useless.extend([process] if where.private else [])
    process.communicate(content.getvalue())
    _useless.clear()


def fill(source: BinaryIO) -> None:
    """Compile, in a process of low priority, what another process has written."""
    if hasattr(os, "nice"):
        os.nice(10)
    for function, args in pickle.load(source):
        machine_code(function, *args)


class _Pickler(pickle.Pickler):
    """Writes only what machine code depends on: empty arrays, and tuples that nothing checks again."""

    def reducer_override(self, value: object) -> Any:
        if isinstance(value, np.ndarray):
            return _empty, (value.dtype.descr if value.dtype.names else value.dtype, value.ndim, value.flags.writeable)
        if isinstance(value, tuple):
            return tuple.__new__, (type(value), tuple(value))
        return NotImplemented


def _empty(kind: npt.DTypeLike, axes: int, writeable: bool) -> np.ndarray:
    made = np.empty((0,) * axes, kind)
    made.flags.writeable = writeable
    return made


@functools.cache
def _leave_properly() -> None:
    """See to the end of the process, before the private folder is removed: the last that is registered is the first to run."""
    atexit.register(_leave)


def _leave() -> None:
    """Start nothing more, and let a thread that loads machine code finish: ended inside LLVM it would take the process with it."""
    with _guard:
        _leaving.set()
    for process in [*_useless]:
        process.kill()
        process.wait()
    with compiling:
        pass


def _forget() -> None:
    """Begin again in a forked process, which has none of the threads."""
    global _guard, _one_child
    _waiting.clear()
    _useless.clear()
    _guard, _one_child = threading.Lock(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)

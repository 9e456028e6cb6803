"""What is compiled, and when. How numba does it is in `backend`, which is imported once something is compiled."""

import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from latentbandits.compiled.cache import Code, Compilable, Key, disabled, installed
from latentbandits.extras import missing

if TYPE_CHECKING:
    from latentbandits.memories import NamedArrays


class CompileError(TypeError):
    """User code that numba cannot compile, in one sentence."""


Arrays: TypeAlias = "np.ndarray | NamedArrays | tuple[Arrays, ...]"  # a memory, or a part of one
Function = TypeVar("Function", bound=Callable[..., Any])

kernels: list[Compilable] = []
quick_functions: set[Compilable] = set()
_loaded: dict[Key, Compilable] = {}
# Held by the thread that compiles or loads: numba's settings, and our registrations with it, belong to all threads
compiling = threading.RLock()
if hasattr(os, "register_at_fork"):  # a fork in the midst of it would leave its locks held permanently
    os.register_at_fork(before=compiling.acquire, after_in_parent=compiling.release, after_in_child=compiling.release)

# Called before anything is compiled, with all of it; entered as a context it returns what is called with each code before its turn
Listener = Callable[[list[Code]], contextlib.AbstractContextManager[Callable[[Code], None]]]
_listener: Listener | None = None
_announced: set[Key] = set()
_waited = 0.0


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
    kernels.append(function)
    return function


def quick(function: Function) -> Function:
    """Mark a function that takes microseconds: its machine code keeps Python's lock.

    To give the lock up and ask for it again costs its thread a whole turn of another one that is busy.
    """
    quick_functions.add(function)
    return function


def copy_into(target: Arrays, source: Arrays) -> None:
    """Copy all arrays of a memory, those of memories within it too, into the arrays of another of the same form; allocates nothing."""
    for own, given in zip(target, source, strict=True):
        if isinstance(own, np.ndarray):
            own[...] = np.asarray(given)
        else:
            copy_into(own, given)


def loaded(function: Compilable, *args: object) -> Compilable | None:
    """Return the machine code of a function for arguments of these types if this process has it, else None; takes microseconds."""
    return _loaded.get(Code(function, args).key)


def on_disk(function: Compilable, *args: object) -> bool:
    """Return whether machine code for arguments of these types is kept, so that it is loaded and not compiled."""
    return Code(function, args).ready


def machine_code(function: Compilable, *args: object) -> Compilable:
    """Return the machine code of a function for arguments of just these types; compile it if need be.

    It releases Python's lock while it runs, unless it is marked as `quick`. Calling it skips numba's check of the types of all arguments,
    which takes ten times as long as an online decision: the caller must pass the same types. It is kept on disk only if the function and
    the policies among the arguments belong to this package.
    """
    if disabled():
        return plain(function)
    code = Code(function, args)
    if code.key not in _loaded:
        if not installed():
            raise missing("numba")
        with compiling, _announcing([] if code.ready or code.key in _announced else [code]) as before:
            before(code)
            from latentbandits.compiled.backend import compiled

            _loaded[code.key] = compiled(code)
    return _loaded[code.key]


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have a listener called before anything is compiled; a program that uses the library is not disturbed otherwise."""
    global _listener
    before, _listener = _listener, listener
    try:
        yield
    finally:
        _listener = before


def waited() -> float:
    """Return the seconds of this process that went into compiling, so that a time of something else can be told without them."""
    return _waited


@contextlib.contextmanager
def _announcing(codes: list[Code]) -> Iterator[Callable[[Code], None]]:
    global _waited
    if not codes:
        yield lambda _: None
        return
    begin = time.perf_counter()
    try:
        with _listener(codes) if _listener is not None else contextlib.nullcontext(lambda _: None) as before:
            yield before
    finally:
        _waited += time.perf_counter() - begin


def compile_first(jobs: Iterable[tuple[str, Compilable, tuple[object, ...]]]) -> None:
    """Compile one after the other what will be needed and is not there, if somebody listens; else it is compiled when it is first run.

    A job is a label for people, a function, and arguments of the types that it will be called with.
    """
    if disabled():
        return
    if not installed():
        raise missing("numba")
    if _listener is None:
        return
    codes: dict[Key, Code] = {}
    for label, function, args in jobs:
        code = Code(function, args, label)
        if code.key not in _loaded and not code.ready:
            codes.setdefault(code.key, code)
    _announced.update(codes)
    with _announcing(list(codes.values())) as before:
        for code in codes.values():
            before(code)
            machine_code(code.function, *code.args)


def fast(function: Compilable) -> Compilable:
    """Return a function that runs as machine code, compiled for the arguments of each call; interpreted where numba is not installed."""
    if not installed() or disabled():
        return plain(function)

    @functools.wraps(function)
    def run(*args: object) -> object:
        return machine_code(function, *args)(*args)

    return run


def plain(function: Compilable) -> Compilable:
    """Return the interpreted form of a function, without warnings about overflow, like the compiled one."""

    @functools.wraps(function)
    def run(*args: object) -> object:
        with np.errstate(all="ignore"):
            return function(*args)

    return run

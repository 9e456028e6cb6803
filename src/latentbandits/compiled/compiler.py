"""What is compiled, and how. Only this file and `libraries` import numba.

Compilation has two rules, each of which was measured:

- No ``fastmath``. Every operation keeps its IEEE meaning, so interpreted, simulated and online runs agree to the bit.
- ``choose``, ``learn`` and every kernel allocate nothing, and are compiled without reference counting (``_nrt``): the counting
  alone took half of a round.
"""

import contextlib
import functools
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from latentbandits.compiled.cache import Code, disabled, installed, place, warn_once
from latentbandits.extras import missing
from latentbandits.files import locked


class CompileError(TypeError):
    """User code that numba cannot compile, in one sentence."""


Function = TypeVar("Function", bound=Callable[..., Any])

_DEEP = 10_000  # frames of Python that compiling may take
_PACKAGE = Path(__file__).resolve().parents[1]
_INLINE = {"forceinline": True, "error_model": "numpy"}
_kernels: list[Callable[..., Any]] = []
_quick: set[Callable[..., Any]] = set()
_registered: set[Callable[..., Any]] = set()
_loaded: dict[Any, Callable[..., Any]] = {}
# Held by the thread that compiles or loads: numba's settings, and our registrations with it, belong to all threads
compiling = threading.RLock()
if hasattr(os, "register_at_fork"):  # a fork in the midst of it would leave its locks held permanently
    os.register_at_fork(before=compiling.acquire, after_in_parent=compiling.release, after_in_child=compiling.release)

# Called before anything is compiled, with all of it; entered as a context it returns what is called with each code before its turn
Listener = Callable[[list[Code]], contextlib.AbstractContextManager[Callable[[Code], None]]]
_listener: Listener | None = None
_announced: set[Any] = set()
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
    _kernels.append(function)
    return function


def quick(function: Function) -> Function:
    """Mark a function that takes microseconds: its machine code keeps Python's lock.

    To give the lock up and ask for it again costs its thread a whole turn of another one that is busy.

    Examples
    --------
    >>> from latentbandits.compiled import quick
    >>> @quick
    ... def double(x: float) -> float:
    ...     return 2 * x
    >>> double(4.0)
    8.0
    """
    _quick.add(function)
    return function


def copy_into(target: Any, source: Any) -> None:
    """Copy all arrays of a memory, those of memories within it too, into the arrays of another of the same form; allocates nothing.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.compiled import copy_into
    >>> memory, other = lb.UCB1(arms=2).init(), lb.UCB1(arms=2).init()
    >>> other.sums[:] = 1.0, 2.0
    >>> copy_into(memory, other)
    >>> memory.sums.tolist()
    [1.0, 2.0]
    """
    for own, given in zip(target, source, strict=True):
        if isinstance(own, tuple):
            copy_into(own, given)
        else:
            own[...] = given


def _copying(target: Any, source: Any) -> Callable[..., None]:  # noqa: ARG001
    """Return what `copy_into` does for arguments of these types, compiled: the first part, then the rest."""
    from numba.core.types import Array

    def nothing(target: Any, source: Any) -> None:
        pass

    def numbers(target: Any, source: Any) -> None:
        for i in range(len(target)):
            target[i] = source[i]

    def rows(target: Any, source: Any) -> None:
        for i in range(len(target)):
            copy_into(target[i], source[i])

    def parts(target: Any, source: Any) -> None:
        copy_into(target[0], source[0])
        copy_into(target[1:], source[1:])

    if isinstance(target, Array):
        return numbers if target.ndim == 1 else rows
    return parts if len(target) > 0 else nothing


def arms_of(policy: Any) -> int:
    """Return the number of arms of a policy, be it around another."""
    return int(policy.arms)


def units_of(policy: Any) -> int:
    """Return the number of units of a policy, be it around another."""
    return int(policy.units)


def _arms_within(policy: Any) -> Callable[..., int]:
    """Return what `arms_of` does, compiled: properties are for the interpreter alone."""
    return (lambda policy: policy.arms) if "arms" in policy.fields else (lambda policy: arms_of(policy.inner))


def _units_within(policy: Any) -> Callable[..., int]:
    """Return what `units_of` does, compiled."""
    return (lambda policy: policy.units) if "units" in policy.fields else (lambda policy: units_of(policy.inner))


def _register() -> None:
    """Register with numba how to compile policies' methods (once) and all functions marked since the last call."""
    from numba.core.types import BaseNamedTuple
    from numba.extending import overload, overload_method

    from latentbandits.compiled.libraries import PartCompiler

    borrowed = {**_INLINE, "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    borrowed["pipeline_class"] = PartCompiler
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
        for function, typed in ((arms_of, _arms_within), (units_of, _units_within), (copy_into, _copying)):
            overload(function, jit_options=borrowed, strict=False)(typed)
    for function in [f for f in _kernels if f not in _registered]:
        _registered.add(function)
        overload(function, jit_options=borrowed, strict=False)(_returning(function))


def _returning(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *_: function


@contextlib.contextmanager
def _cache_at(folder: Path) -> Iterator[None]:
    from numba.core import config

    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before


@functools.cache
def _dispatcher(function: Callable[..., Any], keep: bool) -> Any:
    from numba import njit

    from latentbandits.compiled.libraries import WholeCompiler

    options = {"nogil": function not in _quick, "error_model": "numpy", "no_cfunc_wrapper": True}
    made: Any = njit(pipeline_class=WholeCompiler, **options)(function)
    where = place() if keep else None
    if where is not None:
        with _cache_at(where.folder):
            made.enable_caching()
        name = f"{function.__module__}.{function.__qualname__}"
        made._cache.save_overload = _one_at_a_time(made._cache.save_overload, where.folder / "locks" / name)
    return made


def _one_at_a_time(save: Callable[..., None], lock: Path) -> Callable[..., None]:
    """Return numba's function that keeps machine code, for one process at a time: it reads and writes an index of all types."""

    def run(*args: Any) -> None:
        with locked(lock):
            save(*args)

    return run


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
    """Return the line that numba refuses, and its reason: the author's own line rather than one of this package that calls it."""
    found = re.findall(r'File "([^"]+)", line (\d+)', message)  # the innermost first
    others = (_PACKAGE, Path(sys.modules["numba"].__file__ or "").resolve().parent)
    own = [one for one in found if not any(Path(one[0]).resolve().is_relative_to(other) for other in others)]
    places = own[:1] or found[-1:]
    reasons = [
        line.strip()
        for line in message.splitlines()
        if re.match(r"\s*(Unknown|Invalid use|Cannot|Untyped|No impl|NameError)", line)
    ]
    where = f"{Path(places[-1][0]).name}, line {places[-1][1]}" if places else "unknown line"
    reasons.sort(key=lambda reason: reason.startswith("No impl"))  # which only says that a kernel does not compile
    return where + (f": {reasons[0]}" if reasons else "")


def loaded(function: Callable[..., Any], *args: object) -> Callable[..., Any] | None:
    """Return the machine code of a function for arguments of these types if this process has it, else None; takes microseconds.

    Examples
    --------
    >>> from latentbandits.compiled import loaded
    >>> print(loaded(max, 1, 2))
    None
    """
    return _loaded.get(Code(function, args).key)


def on_disk(function: Callable[..., Any], *args: object) -> bool:
    """Return whether machine code for arguments of these types is kept, so that it is loaded and not compiled.

    Examples
    --------
    >>> from latentbandits.compiled import on_disk
    >>> on_disk(max, 1, 2)
    False
    """
    return Code(function, args).ready


def machine_code(function: Callable[..., Any], *args: object) -> Callable[..., Any]:
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
        with compiling:
            _loaded[code.key] = _compile(code)
    return _loaded[code.key]


def _compile(code: Code) -> Callable[..., Any]:
    """Load the machine code from the cache, or compile and keep it."""
    with _announcing([] if code.ready or code.key in _announced else [code]) as before:
        before(code)
        return _compile_silently(code)


def _compile_silently(code: Code) -> Callable[..., Any]:
    from numba import typeof

    made = _dispatcher(code.function, not code.outside)
    _register()
    signature = tuple(typeof(arg) for arg in code.args)
    try:
        with _explained(code.outside), code.compiled_once(), _deeply():
            made.compile(signature)
    except OSError:  # a full disk, say: numba has compiled it but could not keep it
        if signature not in made.overloads:
            raise
        warn_once()
    return made.overloads[signature].entry_point  # type: ignore[no-any-return]


@contextlib.contextmanager
def _deeply() -> Iterator[None]:
    """Let numba nest as deep as kernels call each other, tens of its frames for each: a large policy within another exceeds the default."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEP))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


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
    """Return the seconds of this process that went into compiling, so that a time of something else can be told without them.

    Examples
    --------
    >>> from latentbandits.compiled import waited
    >>> waited() >= 0
    True
    """
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


def compile_first(jobs: Iterable[tuple[str, Callable[..., Any], tuple[Any, ...]]]) -> None:
    """Compile one after the other what will be needed and is not there, if somebody listens; else it is compiled when it is first run.

    Parameters
    ----------
    jobs : iterable of triples
        A label for people, a function, and arguments of the types that it will be called with.
    """
    if disabled():
        return
    if not installed():
        raise missing("numba")
    if _listener is None:
        return
    codes: dict[Any, Code] = {}
    for label, function, args in jobs:
        code = Code(function, args, label)
        if code.key not in _loaded and not code.ready:
            codes.setdefault(code.key, code)
    _announced.update(codes)
    with _announcing(list(codes.values())) as before:
        for code in codes.values():
            before(code)
            machine_code(code.function, *code.args)


def fast(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that runs as machine code, compiled for the arguments of each call; interpreted where numba is not installed."""
    if not installed() or disabled():
        return plain(function)

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        return machine_code(function, *args)(*args)

    return run


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the interpreted form of a function, without warnings about overflow, like the compiled one."""

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*args)

    return run

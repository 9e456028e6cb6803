"""What numba compiles, and how: the only file that imports numba. `compiler` imports it once something is compiled.

Compilation has three rules, each of which was measured:

- No ``fastmath``. Every operation keeps its IEEE meaning, so interpreted, simulated and online runs agree to the bit.
- ``choose``, ``learn`` and every kernel allocate nothing, and are compiled without reference counting (``_nrt``): the counting
  alone took half of a round.
- A function is optimised once, with everything inlined into it. By itself numba optimises every kernel, makes machine code of it that
  nobody calls, and optimises it again in every function that calls it: half of the time that a large policy took. Here a kernel is a
  `Part`, which is left as it is until it is linked into a `Whole`.

The last two rules, and a cache that several processes may write to, use interfaces of numba that are not public. The version of
numba therefore has an upper bound, and `tests/test_compiled.py` says which of them is gone.
"""

import contextlib
import functools
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import numba
import numpy as np
from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numba.core.types import Array, BaseNamedTuple
from numba.extending import overload, overload_method

from latentbandits.compiled import compiler
from latentbandits.compiled.cache import Code, Compilable, place, warn_once
from latentbandits.compiled.compiler import Arrays, CompileError, copy_into
from latentbandits.files import locked

_DEEP = 10_000  # frames of Python that compiling may take
_PACKAGE = Path(__file__).resolve().parents[1]
_registered: set[Compilable] = set()


class Part(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel."""

    def finalize(self) -> None:
        """Leave it as it is."""
        self._raise_if_finalized()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
        """Return no address: there is no machine code."""
        return 0

    @property
    def codegen(self) -> Self:
        """What numba tells where a function's environment is, which no kernel has."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Forget it."""


class Whole(JITCodeLibrary):  # type: ignore[misc]
    """The code of a function that is called from outside, with every kernel that it needs."""

    _linking_libraries: list[JITCodeLibrary]

    def finalize(self) -> None:
        """Link all parts, those of parts too, and optimise the whole.

        What is called is linked after all that call it: LLVM leaves out what nobody has called so far.
        """
        found: dict[JITCodeLibrary, None] = {}

        def visit(library: JITCodeLibrary) -> None:
            if library not in found:
                for one in library._linking_libraries if isinstance(library, Part) else ():
                    visit(one)
                found.setdefault(library)

        for library in self._linking_libraries:
            visit(library)
        self._linking_libraries = list(found)[::-1]
        super().finalize()


class _Compiler(Compiler):  # type: ignore[misc]
    kind: type[JITCodeLibrary]

    def __init__(self, typing: object, target: object, library: JITCodeLibrary | None, *rest: object) -> None:
        super().__init__(typing, target, library, *rest)
        if library is None:
            self.state.library = self.kind(self.state.targetctx.codegen(), self.kind.__name__)
            self.state.library.enable_object_caching()


class PartCompiler(_Compiler):
    """Compiles kernels."""

    kind = Part


class WholeCompiler(_Compiler):
    """Compiles what is called from outside."""

    kind = Whole


def _copying(target: Array | BaseNamedTuple, source: Array | BaseNamedTuple) -> Callable[..., None]:  # noqa: ARG001
    """Return what `copy_into` does for arguments of these types, compiled: the first part, then the rest."""

    def nothing(target: tuple[()], source: tuple[()]) -> None:
        pass

    def numbers(target: np.ndarray, source: np.ndarray) -> None:
        for i in range(len(target)):
            target[i] = source[i]

    def rows(target: np.ndarray, source: np.ndarray) -> None:
        for i in range(len(target)):
            copy_into(target[i], source[i])

    def parts(target: tuple[Arrays, ...], source: tuple[Arrays, ...]) -> None:
        copy_into(target[0], source[0])
        copy_into(target[1:], source[1:])

    if isinstance(target, Array):
        return numbers if target.ndim == 1 else rows
    return parts if len(target) > 0 else nothing


def _register() -> None:
    """Register with numba how to compile policies' methods (once) and all functions marked since the last call."""
    borrowed = {
        "forceinline": True,
        "error_model": "numpy",
        "_nrt": False,
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "pipeline_class": PartCompiler,
    }
    if not _registered:
        _registered.add(_register)
        overload_method(BaseNamedTuple, "choose", jit_options=borrowed, strict=False)(
            lambda self, memory, context, random, choice: self.instance_class.choose  # noqa: ARG005
        )
        overload_method(BaseNamedTuple, "learn", jit_options=borrowed, strict=False)(
            lambda self, memory, choice, rewards: self.instance_class.learn  # noqa: ARG005
        )
        overload_method(BaseNamedTuple, "peek", jit_options=borrowed, strict=False)(
            lambda self, memory, waiting: self.instance_class.peek  # noqa: ARG005
        )
        overload(copy_into, jit_options=borrowed, strict=False)(_copying)
    for function in [f for f in compiler.kernels if f not in _registered]:
        _registered.add(function)
        overload(function, jit_options=borrowed, strict=False)(_returning(function))


def _returning(function: Compilable) -> Compilable:
    return lambda *_: function


@functools.cache
def _dispatcher(function: Compilable, keep: bool) -> Any:  # a dispatcher: numba's types leave out what is private
    options = {"nogil": function not in compiler.quick_functions, "error_model": "numpy", "no_cfunc_wrapper": True}
    jit = numba.njit(pipeline_class=WholeCompiler, **options)
    try:
        made = jit(function)
    except RuntimeError:  # numba's first call goes through all builtins, to which a prompt in another thread adds `_`
        made = jit(function)
    where = place() if keep else None
    if where is not None:
        before, config.CACHE_DIR = config.CACHE_DIR, str(where.folder)
        try:
            made.enable_caching()
        finally:
            config.CACHE_DIR = before
        save, lock = (
            made._cache.save_overload,
            where.folder / "locks" / f"{function.__module__}.{function.__qualname__}",
        )

        def save_alone(*args: object) -> None:  # numba reads and writes an index of all types: one process at a time
            with locked(lock):
                save(*args)

        made._cache.save_overload = save_alone
    return made


@contextlib.contextmanager
def _explained(names: list[str]) -> Iterator[None]:
    """Say in one sentence why user code does not compile; numba's own message stays as the cause."""
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


def compiled(code: Code) -> Compilable:
    """Return the machine code of a function, loaded from the cache or compiled and kept."""
    made = _dispatcher(code.function, not code.outside)
    _register()
    signature = tuple(numba.typeof(arg) for arg in code.args)
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

"""What numba optimises: a function with everything inlined into it, once.

By itself numba optimises every kernel, makes machine code of it that nobody calls, and optimises it again in every function that calls it,
up to the outermost one: half of the time that a large policy took. Here a kernel is a `Part`, which is left as it is until it is linked
into a `Whole`.

`compiler` imports this file once something is compiled.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


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
    def codegen(self) -> Any:
        """What numba tells where a function's environment is, which no kernel has."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Forget it."""


class Whole(JITCodeLibrary):  # type: ignore[misc]
    """The code of a function that is called from outside, with every kernel that it needs."""

    _linking_libraries: list[Any]

    def finalize(self) -> None:
        """Link all parts, those of parts too, and optimise the whole.

        What is called is linked after all that call it: LLVM leaves out what nobody has called so far.
        """
        found: dict[Any, None] = {}

        def visit(library: Any) -> None:
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

    def __init__(self, typing: Any, target: Any, library: Any, args: Any, *rest: Any) -> None:
        super().__init__(typing, target, library, args, *rest)
        if library is None:
            self.state.library = self.kind(self.state.targetctx.codegen(), self.kind.__name__)
            self.state.library.enable_object_caching()


class PartCompiler(_Compiler):
    """Compiles kernels."""

    kind = Part


class WholeCompiler(_Compiler):
    """Compiles what is called from outside."""

    kind = Whole

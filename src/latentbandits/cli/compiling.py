"""What a command says of compilation before it starts: what, and whether it is kept."""

import contextlib
import sys
from collections.abc import Callable, Iterator

from latentbandits.compiled.cache import CacheWarning, Code, place


@contextlib.contextmanager
def announce(codes: list[Code]) -> Iterator[Callable[[Code], None]]:
    """Say what is compiled, which takes seconds, for StateLibrary tens of them, and whether it is done once."""
    names = ", ".join(dict.fromkeys(code.label for code in codes))
    outside = list(dict.fromkeys(name for code in codes for name in code.outside))
    where = place()
    if outside:
        kept = f"in every run: machine code of user code, {', '.join(outside)}, is not kept"
    elif where is None or where.private:
        kept = "in every run: it cannot be kept"
    else:
        kept = "once, for all later runs"
    print(f"compiling {names} ({kept})", file=sys.stderr, flush=True)
    yield lambda _: None


def show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Print a warning as a sentence, without the line of code that it comes from."""
    print(message if issubclass(category, CacheWarning) else f"{category.__name__}: {message}", file=sys.stderr)

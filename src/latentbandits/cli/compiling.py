"""What a command says of compilation before it starts: what, and whether it is kept."""

import contextlib
import sys
from collections.abc import Callable, Iterator

from latentbandits.compiled.cache import CacheWarning, Code, place
from latentbandits.presentation.progress import current, wipe


@contextlib.contextmanager
def announce(codes: list[Code]) -> Iterator[Callable[[Code], None]]:
    """Say what is compiled, which takes seconds, for StateLibrary tens of them, and whether it is done once; beside a bar, if any."""
    names = ", ".join(dict.fromkeys(code.label for code in codes))
    outside = list(dict.fromkeys(name for code in codes for name in code.outside))
    where = place()
    if outside:
        kept = f"in every run: machine code of user code, {', '.join(outside)}, is not kept"
    elif where is None or where.private:
        kept = "in every run: it cannot be kept"
    else:
        kept = "once, for all later runs"
    bar = current()
    if bar is None:
        print(f"compiling {names} ({kept})", file=sys.stderr, flush=True)
    elif bar.first(kept):  # what follows stands beside the bar
        wipe()
        print(f"compiling policies as they are needed ({kept})", file=sys.stderr, flush=True)
    yield lambda code: bar.remark(f"compiling {code.label}") if bar is not None else None


def show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Print a warning as a sentence, without the line of code that it comes from."""
    print(message if issubclass(category, CacheWarning) else f"{category.__name__}: {message}", file=sys.stderr)

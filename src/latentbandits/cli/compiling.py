"""What a command says of compilation before it starts: what, how long it usually takes, and where it is kept."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from latentbandits.compiled.cache import CacheWarning, Code, place

Finish = Callable[[Code, float], None]  # what is called with each code and the seconds that it took

# Seconds that a function usually takes, and for some classes of policy, on a 2020s server (`latentbandits policies --compile --simulation`)
USUAL = {"play": 1.5, "record": 1.5}
LONGER = {
    ("choose", "StateLibrary"): 4.0,
    ("learn", "StateLibrary"): 11.0,
    ("play", "StateLibrary"): 9.0,
    ("record", "StateLibrary"): 9.0,
    ("choose", "TraceLearner"): 2.0,
    ("learn", "TraceLearner"): 1.5,
    ("play", "TraceLearner"): 4.5,
    ("record", "TraceLearner"): 4.5,
}
OTHER = 0.5
SHORT = 1.0  # less is not worth a word


def expected_seconds(codes: list[Code]) -> float:
    """Return the seconds that compiling usually takes."""
    return sum(LONGER.get((name := c.function.__name__, c.owner), USUAL.get(name, OTHER)) for c in codes)


@contextlib.contextmanager
def announce(codes: list[Code], finish: Finish | None = None) -> Iterator[Callable[[Code], None]]:
    """Say what is compiled, unless it takes less than a second; `finish` is called after each code."""
    if finish is not None or expected_seconds(codes) >= SHORT:
        print(describe(codes), file=sys.stderr, flush=True)
    begun: list[tuple[Code, float]] = []

    def end() -> None:
        code, since = begun.pop()
        if finish is not None:
            finish(code, time.perf_counter() - since)

    def begin(code: Code) -> None:
        if begun and begun[-1][0] is not code:
            end()
        if not begun:
            begun.append((code, time.perf_counter()))

    yield begin
    if begun:
        end()


def describe(codes: list[Code]) -> str:
    """Return what is compiled, how long that usually takes, and whether it is done once."""
    names = ", ".join(dict.fromkeys(code.label for code in codes))
    outside = list(dict.fromkeys(name for code in codes for name in code.outside))
    where = place()
    if outside:
        kept = f"in every run: machine code of user code ({', '.join(outside)}) is not kept"
    elif where is None or where.private:
        kept = "in every run: it cannot be kept"
    else:
        kept = f"once: it is kept in {where.folder}"
    return f"compiling {names}; this usually takes about {max(1, round(expected_seconds(codes)))} s, {kept}"


def show_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """Print a warning as a sentence, without the line of code that it comes from."""
    print(message if issubclass(category, CacheWarning) else f"{category.__name__}: {message}", file=sys.stderr)

"""What a command says of compilation: before it starts what, how long it usually takes and where it is kept; then how far it is."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator

from latentbandits.compiled.cache import CacheWarning, Code, place
from latentbandits.presentation.progress import Progress

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


class Compiling(Progress):
    """The line that says what is being compiled.

    Parameters
    ----------
    codes : list of Code
        What is compiled, in order.
    finish : callable, optional
        Called after each.
    """

    def __init__(self, codes: list[Code], finish: Finish | None = None) -> None:
        super().__init__("compiling")
        self._codes, self._finish, self._at = codes, finish, 0
        self._since = time.perf_counter()

    def begin(self, code: Code) -> None:
        """Go on to the next code."""
        if code is not self._codes[self._at]:
            self.end()
            self._at += 1

    def end(self) -> None:
        """Report the code that is finished."""
        now = time.perf_counter()
        if self._finish is not None:
            self.close()
            self._finish(self._codes[self._at], now - self._since)
        self._since = now

    def show(self, stop: threading.Event) -> None:
        """Show the line again and again: a single function may take half a minute."""
        while not stop.wait(0.2):
            self(self._at, len(self._codes))

    def _line(self, done: int, total: int | None, spent: float) -> str:
        turn = "" if total == 1 else f" ({done + 1} of {total})"
        return f"{self._title} {self._codes[done].label}{turn}  {spent:.0f} s of about {max(1, round(expected_seconds(self._codes)))} s"

    def _share(self, done: int, total: int | None, spent: float) -> float:  # noqa: ARG002
        return min(1.0, spent / expected_seconds(self._codes))


@contextlib.contextmanager
def announce(codes: list[Code], finish: Finish | None = None) -> Iterator[Callable[[Code], None]]:
    """Say what is compiled, unless it takes less than a second, and show progress until it is done."""
    if finish is not None or expected_seconds(codes) >= SHORT:
        print(describe(codes), file=sys.stderr, flush=True)
    stop = threading.Event()
    with Compiling(codes, finish) as progress:
        thread = threading.Thread(target=progress.show, args=(stop,))
        thread.start()
        try:
            yield progress.begin
            progress.end()
        finally:
            stop.set()
            thread.join()


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

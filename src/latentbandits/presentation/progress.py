"""What the terminal shows of long work: one line of progress."""

import sys
import time
from collections.abc import Callable

Report = Callable[[int, int], None]  # called with the rounds done and in all
STEADY = 0.1  # before this part is done, most of the time may have gone into compiling
EVERY = 20.0  # seconds between two lines where nobody watches


class Progress:
    """How far, how fast and how long still: one line that changes on a terminal, a new line now and then elsewhere."""

    def __init__(self, title: str) -> None:
        self._title, self._begin = title, time.perf_counter()
        self._shown = 0.0 if sys.stderr.isatty() else self._begin
        self._watched = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        """Show that so many of all rounds are done."""
        now = time.perf_counter()
        if now - self._shown < (0.1 if self._watched else EVERY) and not (self._watched and done == total):
            return
        self._shown = now
        spent = now - self._begin
        line = f"{self._title}  {done / total:4.0%}  {done / spent / 1e6:5.1f} M rounds/s"
        if done >= STEADY * total:
            line += f"  {spent * (total - done) / done:4.0f} s left"
        if self._watched:
            sys.stderr.write("\r\x1b[K" + ("" if done == total else line))
        else:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()


class Steps:
    """What is being done now: one line that changes on a terminal, a new line now and then elsewhere."""

    def __init__(self, title: str) -> None:
        self._title, self._shown = title, time.perf_counter()
        self._watched = sys.stderr.isatty()

    def __call__(self, name: str) -> None:
        """Show what is being done."""
        now = time.perf_counter()
        if self._watched:
            sys.stderr.write(f"\r\x1b[K{self._title} {name}")
        elif now - self._shown >= EVERY / 2:
            self._shown = now
            sys.stderr.write(f"{self._title} {name}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Wipe the line."""
        if self._watched:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Counter:
    """How much was done, for work whose end is not known: one line that changes on a terminal, a new line now and then elsewhere."""

    def __init__(self, title: str) -> None:
        self._title, self._begin, self._done = title, time.perf_counter(), 0
        self._shown, self._watched = self._begin, sys.stderr.isatty()

    def __call__(self, rounds: int) -> None:
        """Show that so many more rounds are done."""
        self._done += rounds
        now = time.perf_counter()
        line = f"{self._title}  {self._done / 1e6:.0f} M rounds in {now - self._begin:.0f} s"
        if self._watched:
            sys.stderr.write("\r\x1b[K" + line)
        elif now - self._shown >= EVERY:
            self._shown = now
            sys.stderr.write(line + "\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Wipe the line."""
        if self._watched and self._done:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Stages:
    """One progress of work in several stages: each reports its own rounds, done and at most in all.

    A stage may end early, or lower its total on the way: the total of all falls with it, so that both are equal in the end.

    Parameters
    ----------
    progress : callable or None
        Called with the rounds done so far and at most in all, of all stages together.
    *most : int
        Rounds that each stage takes at most, in order.

    Examples
    --------
    >>> from latentbandits.presentation.progress import Stages
    >>> stages = Stages(lambda done, total: print(done, total), 100, 50)
    >>> first = stages.next()
    >>> first(20, 100)
    20 150
    >>> first(40, 40)
    40 90
    >>> second = stages.next()
    >>> second(30, 50)
    70 90
    >>> stages.close()
    70 70
    """

    def __init__(self, progress: Report | None, *most: int) -> None:
        self._progress, self._most, self._done = progress, list(most), 0

    def next(self) -> Report:
        """Return what the next stage calls with its own rounds."""
        del self._most[:1]
        before, later = self._done, sum(self._most)

        def report(done: int, total: int) -> None:
            self._done = before + done
            if self._progress is not None:
                self._progress(self._done, before + total + later)

        return report

    def close(self) -> None:
        """Report the end: as many rounds in all as were done."""
        if self._progress is not None:
            self._progress(self._done, self._done)

"""What the terminal shows of long work: one line with a bar."""

import shutil
import sys
import time
from collections.abc import Callable
from typing import Self

from latentbandits.compiled import waited

Report = Callable[[int, int], None]  # called with the rounds done and the total
EVERY = 30.0  # seconds between two lines off a terminal
OFTEN = 0.1  # where one line changes
BAR = 24  # characters
STEADY = 0.1  # before this share is done, most of the time may have gone into compiling


def wipe() -> None:
    """Wipe the line of a terminal, so that nothing of a progress is left on it."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def in_notebook() -> bool:
    """Return whether this runs in a notebook: its cells are no terminal, but a carriage return rewrites their last line."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")


def clock(seconds: float) -> str:
    """Return a time as a clock shows it.

    Examples
    --------
    >>> from latentbandits.presentation.progress import clock
    >>> clock(7.2), clock(83), clock(4000)
    ('0:07', '1:23', '1:06:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Progress:
    """How far, how long already and how long still: a bar that moves on a terminal and in a notebook, a new line periodically elsewhere.

    As a context manager it wipes the line in the end, also after an error or an interrupt, and meanwhile `current` returns it.

    Parameters
    ----------
    title : str
        What is being done.
    unit : str
        What is counted where no total is known; rounds come in millions.

    Examples
    --------
    >>> from latentbandits.presentation.progress import Progress
    >>> with Progress("table2") as progress:
    ...     progress(done=1_000_000, total=4_000_000)
    """

    def __init__(self, title: str, unit: str = "rounds") -> None:
        self.title, self._unit = title, unit
        self._begin, self._compiled = time.perf_counter(), waited()
        self._notebook = in_notebook()
        self._watched = self._notebook or sys.stderr.isatty()
        self._shown = 1 - OFTEN if self._notebook else -EVERY if self._watched else 0.0
        self._width = 0  # of the line that a notebook shows
        self._far = ""  # the last line, without the time that is left
        self._said = set[str]()

    def __call__(self, done: int, total: int | None) -> None:
        """Show how much is done, of a total if there is one."""
        now = self.seconds()
        if self._watched and done == total:
            self.close()
        elif now - self._shown >= (OFTEN if self._watched else EVERY):
            self._shown = now
            self._write(self._line(done, total))

    def _write(self, line: str) -> None:
        """Show a line: in a notebook it goes where results go, since errors are red there, and spaces wipe what was longer."""
        if self._notebook:
            sys.stdout.write("\r" + line.ljust(self._width))
            sys.stdout.flush()
            self._width = len(line)
        else:
            room = shutil.get_terminal_size().columns - 1
            sys.stderr.write("\r\x1b[K" + line[:room] if self._watched else line + "\n")
            sys.stderr.flush()

    def seconds(self) -> float:
        """Return the seconds since the beginning, without those of compiling."""
        return time.perf_counter() - self._begin - (waited() - self._compiled)

    def _line(self, done: int, total: int | None) -> str:
        spent = clock(time.perf_counter() - self._begin)
        if total is None:
            count, unit = (f"{done / 1e6:.0f}", "M rounds") if self._unit == "rounds" else (f"{done}", self._unit)
            return f"{self.title}  {count} {unit} in {spent}"
        share = done / total if total else 1.0
        filled = int(share * BAR)
        self._far = f"{self.title}  [{'#' * filled}{'.' * (BAR - filled)}] {share:4.0%}  {spent}"
        left = f", {clock(self.seconds() * (1 - share) / share)} left" if share >= STEADY else ""
        return self._far + left

    def remark(self, words: str) -> None:
        """Say beside the bar of a terminal what is being done meanwhile; elsewhere that would be one line after another."""
        if self._watched and not self._notebook:
            self._write(f"{self._far or self.title}  {words}")

    def first(self, words: str) -> bool:
        """Return whether something is to be said for the first time since this began."""
        new = words not in self._said
        self._said.add(words)
        return new

    def close(self) -> None:
        """Wipe the line."""
        if not self._notebook:
            wipe()
        elif self._width:
            self._write("")
            sys.stdout.write("\r")

    def __enter__(self) -> Self:
        _at_work.append(self)
        return self

    def __exit__(self, *problem: object) -> None:
        _at_work.remove(self)
        self.close()


_at_work: list[Progress] = []


def current() -> Progress | None:
    """Return the progress that is on the screen as a context manager, the innermost if there are several."""
    return _at_work[-1] if _at_work else None


def usual(title: str, unit: str = "rounds") -> Progress | None:
    """Return the progress that is shown where none is asked for: a line in a notebook, none in a program."""
    return Progress(title, unit) if in_notebook() else None


class Stages:
    """One progress of work in several stages: each reports its own rounds, done and at most in all.

    A stage may end early, or lower its total on the way: the total of all falls with it, so that both are equal in the end.

    Parameters
    ----------
    progress : callable or None
        Called with the rounds done so far and an upper bound of the total, of all stages together.
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

"""What the terminal shows: aligned tables and one line of progress."""

import sys
import time
from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an aligned table: the first column to the left, all others to the right.

    Examples
    --------
    >>> from latentbandits.cli.screen import table
    >>> print(table(["policy", "regret"], [["ucb1", "1381.5"], ["lc-ucb", "765.0"]]))
    policy  regret
    ucb1    1381.5
    lc-ucb   765.0
    """
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    cells = [
        [c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))]
        for line in lines
    ]
    return "\n".join("  ".join(line).rstrip() for line in cells)


class Progress:
    """One line on the error stream that shows how far, how fast and how long still; silent where nobody watches."""

    def __init__(self, title: str) -> None:
        self._title, self._begin, self._shown = title, time.perf_counter(), 0.0
        self._watched = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        """Show that so many of all rounds are done."""
        now = time.perf_counter()
        if not self._watched or (now - self._shown < 0.1 and done < total):
            return
        self._shown = now
        spent = now - self._begin
        line = f"{self._title}  {done / total:4.0%}  {done / spent / 1e6:5.1f} M rounds/s  {spent * (total - done) / done:4.0f} s left"
        sys.stderr.write("\r\x1b[K" + ("" if done == total else line))
        sys.stderr.flush()

"""What a terminal shows beyond plain text: colours and a bar, by `rich`. Off a terminal, and without rich, text stays as it is."""

import functools
import importlib.util
import shutil
import sys
from collections.abc import Container
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

HEADLINE, TITLE, BEST, COMMAND = "bold", "bold", "bold green", "cyan"
# How many claims have which verdict: `3 hold, 1 does not hold, 2 are tied, 1 cannot be judged`
VERDICTS = {"holds?": "green", "do(?:es)? not hold": "red", "(?:is|are) tied": "yellow", "cannot be judged": "dim"}
BAR = 24  # columns
NARROW = 8  # a bar that would have to be smaller is left out


@functools.cache
def installed() -> bool:
    """Return whether rich can be imported, without importing it."""
    return importlib.util.find_spec("rich") is not None


def console(stream: TextIO) -> "Console | None":
    """Return what writes colours to a stream; None if it is no terminal, or rich is not installed. NO_COLOR leaves bold text."""
    if not stream.isatty() or not installed():
        return None
    from rich.console import Console

    return Console(file=stream, highlight=False, soft_wrap=True)


def show(text: str, best: Container[str] = (), headline: bool = False) -> None:
    """Print a text; a terminal shows the headline, titles, the rows of the best policies, verdicts and commands in style.

    Parameters
    ----------
    text : str
        What is printed.
    best : container of str
        The first cells of the rows of a table that stand out.
    headline : bool
        Whether the first line is the answer.

    Examples
    --------
    >>> from latentbandits.presentation.terminal import show
    >>> show("Use ucb1.", headline=True)
    Use ucb1.
    """
    screen = console(sys.stdout)
    if screen is None:
        print(text, flush=True)
    else:
        screen.print(style_text(text, best, headline))


def style_text(text: str, best: Container[str] = (), headline: bool = False) -> "Text":
    """Return a text as `show` prints it on a terminal."""
    from rich.text import Text

    shown, at = Text(text), 0
    for number, line in enumerate(text.split("\n")):
        end = at + len(line)
        if headline and number == 0:
            shown.stylize(HEADLINE, at, end)
        elif line.endswith(":") and not line.startswith(" "):
            shown.stylize(TITLE, at, end)
        elif line.partition("  ")[0] in best:
            shown.stylize(BEST, at, end)
        at = end + 1
    shown.highlight_regex(r"`[^`\n]+`", COMMAND)
    for words, style in VERDICTS.items():
        shown.highlight_regex(rf"(?<=\d ){words}\b", style)
    shown.highlight_regex(r"(?m)^  does not hold: .*$", "red")
    return shown


def with_bar(line: str, share: float | None, stream: TextIO) -> str:
    """Return a line of progress behind a bar, as much of it as the terminal has room for; a bar without a share goes to and fro.

    Examples
    --------
    >>> import io
    >>> from latentbandits.presentation.terminal import with_bar
    >>> with_bar("table2  50%", 0.5, io.StringIO())  # no terminal
    'table2  50%'
    """
    screen = console(stream)
    room = shutil.get_terminal_size().columns - 1
    line, width = line[:room], min(BAR, room - len(line) - 1)
    if screen is None or width < NARROW:
        return line
    from rich.progress_bar import ProgressBar

    with screen.capture() as captured:
        screen.print(ProgressBar(total=1.0, completed=share or 0.0, width=width, pulse=share is None), end="")
    return f"{captured.get()} {line}"

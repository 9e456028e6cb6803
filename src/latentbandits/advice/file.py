"""A problem in a TOML file: read strictly, with the line of every mistake; and an example with every word explained."""

import re
import tomllib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from latentbandits.advice.parameter import OWNER, SPECS, Parameter, Range, WordValues
from latentbandits.advice.vocabulary import PARAMETERS, refuse_unknown
from latentbandits.files import write_whole
from latentbandits.protocols import LARGEST_REWARD
from latentbandits.settings import InvalidValueError
from latentbandits.worlds.registry import HIDDEN_MARKOV

# What columns of a log of decisions are called, which is no record of the rewards of all arms
ARM_NAMES = {"arm", "action", "variant", "choice", "arm_id", "action_id", "chosen"}
REWARD_NAMES = {"reward", "click", "clicked", "conversion", "revenue", "payoff", "outcome"}
LOG = "`latentbandits diagnose` reads a log with one reward per line"
COUNTING = 20  # lines in which a column of rewards does not grow from each to the next
WIDTH = 26  # of a line before its comment
_HEAD = """\
# A problem, as `latentbandits compare`, `advise` and `tune` read it.
# Every line may be left out: `compare` and `tune` then take the value shown, `advise` takes it as unknown.
# What is not known exactly is a range: states = "3 to 20", dwell = "50 to 500".
"""


_OPTIONS = """
# Options: what most problems do not have. Remove the "# " before a line to use it.
"""


class Words(NamedTuple):
    """The words of a file, and where they are."""

    words: WordValues
    where: Callable[[str], str]


def example() -> str:
    """Return a commented description of the default problem.

    Examples
    --------
    >>> from latentbandits.advice.file import example
    >>> [line for line in example().splitlines() if line.startswith("states")]
    ['states = 10                # number of hidden regimes (states)']
    """
    common, options = (
        "\n".join(line for word in PARAMETERS.values() if word.option == option for line in _lines(word)) + "\n"
        for option in (False, True)
    )
    return _HEAD + common + _OPTIONS + options.lstrip("\n")


def _lines(word: Parameter) -> list[str]:
    """Return the lines of one word: its meaning, its default and its other form; a comment for options and what the default lacks."""
    lines = []
    if word.default is not None:
        silent = "" if HIDDEN_MARKOV in word.kinds and not word.option else "# "
        value = f'"{word.default}"' if isinstance(word.default, str | Range) else word.default
        lines.append(f"{silent}{word.name} = {value}")
    if word.example:
        lines.append(f"{'' if word.type == SPECS else '# '}{word.name} = {word.example}")
    choices = f" ({word.choices()})" if word.choices() else ""
    if len(lines) == 1 and len(lines[0]) < WIDTH and not choices:
        return [f"{lines[0]:<{WIDTH}} # {word.help}"]
    return ["", f"# {word.help}{choices}", *lines]


def write(path: Path, content: bytes, owner: str, option: str) -> None:
    """Write a file whole, or refuse a place where that cannot be done."""
    try:
        write_whole(path, content)
    except OSError as problem:
        reason = (problem.strerror or type(problem).__name__).lower()
        raise InvalidValueError(owner, option, str(path), f"a file that can be written ({reason})") from None


def read(path: str | Path) -> Words:
    r"""Return the words of a file, or refuse it with the line of the mistake.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentbandits.advice.file import read
    >>> path = Path(tempfile.mkdtemp(), "world.toml")
    >>> _ = path.write_text('arms = 4\nstate = "3 to 20"\n')
    >>> read(path)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    latentbandits.settings.InvalidValueError: ...world.toml, line 2: word is 'state' but must be one of kind, ... (did you mean states?)
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        words = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        reason = (problem.strerror if isinstance(problem, OSError) else None) or str(problem)
        rule = f"a TOML file, as `compare --write-example` writes it ({reason[:1].lower()}{reason[1:]})"
        raise InvalidValueError(OWNER, "file", str(path), rule) from None

    def where(word: str) -> str:
        return f"{path}, line {line(text, word)}"

    for word in words:
        if word not in PARAMETERS:
            raise refuse_unknown(where(word), word)
    if isinstance(words.get("file"), str):  # beside the description
        words["file"] = str(Path(path).parent / words["file"])
    return Words(words, where)


def line(text: str, key: str) -> int:
    r"""Return the number of the line on which a key of a TOML file is set, or a table is opened.

    Examples
    --------
    >>> from latentbandits.advice.file import line
    >>> line('arms = 2\n# noise = 1\n"noise" = 2\n', "noise")
    3
    """
    named = re.compile(rf"""[ \t]*(\[+[ \t]*)?["']?{re.escape(key)}["']?[ \t]*[=.\]]""")
    lines = enumerate(text.splitlines(), start=1)
    return next((number for number, content in lines if named.match(content)), 1)


def read_numbers(path: str) -> list[list[float]]:
    """Return the numbers of a file, separated by commas, line by line, or refuse it; a first line of names is left out."""
    rule = "a column of numbers for each of at least two arms, separated by commas, and a line per round"
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        reason = ((problem.strerror if isinstance(problem, OSError) else None) or "not a text file").lower()
        raise InvalidValueError(OWNER, "file", path, f"{rule} ({reason})") from None
    _refuse_log(path, lines[0] if lines else "")
    rows: list[list[float]] = []
    for number, content in enumerate(lines, start=1):
        cells = [_number(cell) for cell in content.split(",")]
        if not content.strip() or (number == 1 and not any(cell is not None for cell in cells)):
            continue
        row = [cell for cell in cells if cell is not None]
        if len(row) < max(2, len(cells)) or (rows and len(row) != len(rows[0])):
            raise InvalidValueError(OWNER, "file", path, f"{rule} (line {number} is {content[:40]!r})")
        rows.append(row)
    if not rows:
        raise InvalidValueError(OWNER, "file", path, f"{rule} (it has no numbers)")
    if len(rows) >= COUNTING and any(all(a < b for a, b in pairwise(column)) for column in zip(*rows, strict=True)):
        raise InvalidValueError(OWNER, "file", path, f"{rule} (a column only ever grows, as times do; {LOG})")
    return rows


def _refuse_log(path: str, first: str) -> None:
    """Refuse a log of decisions, which has one reward per line: its numbers are not the rewards of so many arms."""
    names = {cell.strip().strip('"').lower() for cell in first.split(",")}
    if names & ARM_NAMES and names & REWARD_NAMES:
        rule = "rewards of every arm, a column each"
        raise InvalidValueError(
            OWNER, "file", path, f"{rule} (the columns {', '.join(sorted(names))} are those of a log; {LOG})"
        )


def _number(text: str) -> float | None:
    """Return the number in a cell, None if it is not a valid reward."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) <= LARGEST_REWARD else None

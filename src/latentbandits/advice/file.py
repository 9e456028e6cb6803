"""A problem in a TOML file: read strictly; and an example with every word explained."""

import tomllib
from pathlib import Path

import numpy as np

from latentbandits.advice.parameter import OWNER, SPECS, Parameter, Range, WordValues, parse_number
from latentbandits.advice.vocabulary import COMMON, OPTIONS, PARAMETERS, refuse_unknown
from latentbandits.files import write_whole
from latentbandits.protocols import LARGEST_REWARD
from latentbandits.settings import InvalidValueError
from latentbandits.worlds.registry import HIDDEN_MARKOV

# What columns of a log of decisions are called, which is no record of the rewards of all arms
ARM_NAMES = {"arm", "action", "variant", "choice", "arm_id", "action_id", "chosen"}
REWARD_NAMES = {"reward", "click", "clicked", "conversion", "revenue", "payoff", "outcome"}
WIDTH = 26  # of a line before its comment
_HEAD = """\
# A problem, as `latentbandits compare`, `advise` and `tune` read it.
# Every line may be left out: `compare` and `tune` then take the value shown, `advise` takes it as unknown.
# What is not known exactly is a range: states = "3 to 20", dwell = "50 to 500".
"""


_OPTIONS = """
# Options: what most problems do not have. Remove the "# " before a line to use it.
"""


def example() -> str:
    """Return a commented description of the default problem.

    Examples
    --------
    >>> from latentbandits.advice.file import example
    >>> [line for line in example().splitlines() if line.startswith("states")]
    ['states = 10                # number of hidden regimes (states), or of the levels of an arm']
    """
    common, options = ("\n".join(line for word in words for line in _lines(word)) + "\n" for words in (COMMON, OPTIONS))
    return _HEAD + common + _OPTIONS + options.lstrip("\n")


def _lines(word: Parameter) -> list[str]:
    """Return the lines of one word: its meaning, its default and its other form; a comment for options and what the default lacks."""
    lines = []
    if word.default is not None:
        silent = "" if HIDDEN_MARKOV in word.kinds and word not in OPTIONS else "# "
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


LOGS = (".csv", ".gz", ".parquet")


def read(path: str | Path) -> WordValues:
    r"""Return the words of a file, or refuse it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentbandits.advice.file import read
    >>> path = Path(tempfile.mkdtemp(), "world.toml")
    >>> _ = path.write_text('arms = 4\nstate = "3 to 20"\n')
    >>> read(path)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    latentbandits.settings.InvalidValueError: ...world.toml: word is 'state' but must be one of kind, ... (did you mean states?)
    """
    try:
        words = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        reason = (problem.strerror if isinstance(problem, OSError) else None) or str(problem)
        if Path(path).suffix.lower() in LOGS:
            reason = (
                f"a log is diagnosed first: `latentbandits diagnose {path}`, then `latentbandits advise diagnosis.npz`"
            )
        rule = f"a TOML file, as `compare --write-example` writes it ({reason[:1].lower()}{reason[1:]})"
        raise InvalidValueError(OWNER, "file", str(path), rule) from None
    for word in words:
        if word not in PARAMETERS:
            raise refuse_unknown(str(path), word)
    if isinstance(words.get("file"), str):  # beside the description
        words["file"] = str(Path(path).parent / words["file"])
    return words


def read_numbers(path: str) -> list[list[float]]:
    """Return the numbers of a file, separated by commas, line by line, or refuse it; a first line of names is left out."""
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").strip().splitlines() or [""]
        names = {cell.strip(' "').lower() for cell in lines[0].split(",")}
        if names & ARM_NAMES and names & REWARD_NAMES:
            raise ValueError("it is a log, with one reward per line, which `latentbandits diagnose` reads")
        numbered = any(parse_number(name) is not None for name in names)
        if len(lines) == 1 and not numbered:
            raise ValueError("it has no numbers")
        rows = np.loadtxt(lines, delimiter=",", ndmin=2, skiprows=int(not numbered))
        if rows.shape[1] < 2 or not (np.abs(rows) <= LARGEST_REWARD).all():
            raise ValueError("it has a single column, or numbers that no reward can be")
    except (OSError, ValueError) as problem:
        rule = "a column of numbers for each of at least two arms, separated by commas, and a line per round"
        raise InvalidValueError(OWNER, "file", path, f"{rule} ({problem})") from None
    numbers: list[list[float]] = rows.tolist()
    return numbers

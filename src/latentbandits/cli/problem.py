"""The options that describe a problem, shared by the commands that need one; each has the name of the word that it sets."""

import argparse
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from latentbandits.advice.base import BaseProblem
    from latentbandits.advice.result import Result


def configure(parser: argparse.ArgumentParser, left_out: str, also: str = "") -> None:
    """Declare the options; `left_out` says what is taken for words that are left out, `also` which other files are taken."""
    parser.add_argument("problem", nargs="?", metavar="FILE", help=f"a TOML file that describes the problem{also}")
    parser.add_argument(
        "--write-example", metavar="FILE", type=Path, help="write a commented description of a problem and exit"
    )
    words(parser, left_out)


def words(parser: argparse.ArgumentParser, left_out: str) -> None:
    """Declare an option for every word."""
    from latentbandits.advice.parameter import SPECS
    from latentbandits.advice.vocabulary import PARAMETERS

    group = parser.add_argument_group("the problem", f'Not known exactly? Give a range: --states "3 to 20". {left_out}')
    for word in PARAMETERS.values():
        if word.type != SPECS:  # has an option of its own, where a command takes several policies
            choices = f" ({word.choices()})" if word.choices() else ""
            group.add_argument(
                f"--{word.name.replace('_', '-')}",
                metavar=word.type.upper(),
                help=f"{word.help}{choices}".replace("%", "%%"),
            )


def workers(parser: argparse.ArgumentParser) -> None:
    """Declare the options that say who plays."""
    parser.add_argument("--workers", type=int, metavar="N", help="threads or processes (default: one per core)")
    parser.add_argument(
        "--executor",
        default="threads",
        metavar="NAME",
        help="who plays: threads, processes or dask://HOST:PORT, with the same results (default: %(default)s)",
    )


def playing(options: argparse.Namespace) -> "contextlib.AbstractContextManager[Executor | None]":
    """Open the executor that was asked for."""
    from latentbandits.executors import open_executor

    return open_executor(options.executor, options.workers)


def policies(parser: argparse.ArgumentParser, help_text: str) -> None:
    """Declare the option that names policies."""
    parser.add_argument(
        "--policies",
        nargs="+",
        metavar="POLICY",
        help=help_text + "; NAME, NAME:KEY=VALUE,..., MODULE:CLASS or FILE.toml",
    )


def build_problem(options: argparse.Namespace) -> "BaseProblem":
    """Return the problem that file and options describe; options override the file."""
    from latentbandits.advice.problem import as_problem

    path: str | None = options.problem
    return as_problem(path, **given_words(options))


def given_words(options: argparse.Namespace) -> dict[str, object]:
    """Return the words that options give."""
    from latentbandits.advice.vocabulary import PARAMETERS

    given = {word: text for word, text in vars(options).items() if word in PARAMETERS and text is not None}
    return {word: parse(word, text) for word, text in given.items()}


def parse(word: str, text: str) -> object:
    """Return the value of an option: a number, a range as it is, a matrix as rows, or the text itself.

    Examples
    --------
    >>> from latentbandits.cli.problem import parse
    >>> parse("states", "3 to 20"), parse("noise", "0.3"), parse("means", "0.9 0.1; 0.2 0.6")
    ('3 to 20', 0.3, [[0.9, 0.1], [0.2, 0.6]])
    """
    from latentbandits.advice.parameter import DELAY, INTEGER, MATRIX, NUMBER
    from latentbandits.advice.vocabulary import PARAMETERS
    from latentbandits.specs import value

    kind = PARAMETERS[word].type
    if kind == MATRIX and (";" in text or " to " not in text):
        return [[value(cell) for cell in row.split()] for row in text.replace(",", " ").split(";")]
    return value(text) if kind in (INTEGER, NUMBER, DELAY) else text


def write_example(path: Path) -> int:
    """Write the example, unless something is there already."""
    from latentbandits.advice.file import example
    from latentbandits.settings import InvalidValueError

    if path.exists():
        raise InvalidValueError("problem", "--write-example", str(path), "a file that does not exist yet")
    write(path, example().encode(), "problem", "--write-example")
    print(f"{path}: a problem in TOML, every line explained. Next: edit it, then `latentbandits compare {path}`.")
    return 0


def write(path: Path, content: bytes, owner: str, option: str = "--out") -> None:
    """Write a file whole, or refuse a place where that cannot be done."""
    from latentbandits.advice import file

    file.write(path, content, owner, option)


def check_ending(path: Path, owner: str, *endings: str, option: str = "--out") -> str:
    """Return the ending of a file's name, or refuse it; a folder that cannot be written to is refused before anything is computed."""
    import tempfile

    from latentbandits.settings import InvalidValueError

    if path.suffix.lower() not in endings:
        raise InvalidValueError(owner, option, str(path), "a file name that ends in " + " or ".join(endings))
    if not path.parent.is_dir() or path.is_dir():
        raise InvalidValueError(owner, option, str(path), "a file in a folder that exists")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as problem:
        raise InvalidValueError(owner, option, str(path), "a file in a folder that can be written to") from problem
    return path.suffix.lower()[1:]


def answer(result: "Result", as_json: bool, *lines: str) -> None:
    """Print a result as JSON, or as a text and further lines."""
    print(result.json() if as_json else "\n".join([result.text(), *lines]))


def python_lines(code: str) -> list[str]:
    """Return the Python that does the same as a command, as the lines that follow its text."""
    return ["", "The same in Python:", *(f"    {line}".rstrip() for line in code.splitlines()), ""]


def as_options(described: "BaseProblem") -> str:
    """Return options that describe the same problem, whatever a command takes for words that are left out.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.cli.problem import as_options
    >>> as_options(lb.Problem(states="3 to 20", runs=50))
    "--arms 2 --states '3 to 20' --dwell 100 --noise 0.01 --runs 50"
    """
    import shlex

    from latentbandits.advice.vocabulary import PARAMETERS

    options: list[str] = []
    for name, value in described.values().items():
        word = PARAMETERS[name]
        same = word.wide is None and name != "arms"  # all commands have the same default
        if not (same and value == (word.default if isinstance(word.default, int | float) else str(word.default))):
            rows = "; ".join(" ".join(map(str, row)) for row in value) if isinstance(value, list) else str(value)
            options += [f"--{name.replace('_', '-')}", rows]
    return shlex.join(options)

"""The options that describe a problem, shared by `compare`, `advise` and `tune`; each has the name of the word that it sets."""

import argparse
from pathlib import Path
from typing import Any

# word -> what follows it, what it says
WORDS = {
    "kind": ("KIND", "hidden-markov, seasons, drift or recorded"),
    "arms": ("N", "what you choose from"),
    "states": ("N", "hidden regimes"),
    "dwell": ("ROUNDS", "how long a regime lasts on average"),
    "stickiness": ("P", "instead of --dwell: probability that a regime lasts one more round"),
    "transition": ("ROWS", 'instead of --dwell: "0.99 0.01; 0.02 0.98", a row per state'),
    "means": ("RANGE|ROWS", 'where means are drawn from, or "0.9 0.1; 0.2 0.6", a row per state'),
    "separation": ("DISTANCE", "how far the two states most alike are apart"),
    "rewards": ("KIND", "gaussian or bernoulli"),
    "noise": ("SD", "standard deviation of a gaussian reward, of all units together"),
    "carryover": ("WEIGHT", "weight of the previous state in the expected reward"),
    "timescale": ("ROUNDS", "kind drift: how soon a mean has changed a lot"),
    "file": ("CSV", "kind recorded: a column per arm, a line per round"),
    "units": ("N", "groups that can be treated differently at once"),
    "horizon": ("ROUNDS", "rounds played"),
    "runs": ("N", "worlds, each played once by every policy"),
    "seed": ("N", "names all randomness"),
}


def configure(parser: argparse.ArgumentParser, unsaid: str) -> None:
    """Declare the options."""
    parser.add_argument("problem", nargs="?", metavar="FILE", help="a TOML file that describes the problem")
    parser.add_argument(
        "--write-example", metavar="FILE", type=Path, help="write a commented description of a problem, and stop"
    )
    group = parser.add_argument_group("the problem", f'Not known exactly? Give a range: --states "3 to 20". {unsaid}')
    for word, (follows, says) in WORDS.items():
        group.add_argument(f"--{word}", metavar=follows, help=says)
    parser.add_argument("--workers", type=int, metavar="N", help="threads (default: one per core)")


def policies(parser: argparse.ArgumentParser, help_text: str) -> None:
    """Declare the option that names policies."""
    parser.add_argument(
        "--policies",
        nargs="+",
        metavar="POLICY",
        help=help_text + "; NAME, NAME:KEY=VALUE,..., MODULE:CLASS or FILE.toml",
    )


def described(options: argparse.Namespace) -> Any:
    """Return the problem that file and options describe; options go first, and `policies` is one of them where a command has it."""
    from latentbandits.advice.problem import as_problem

    words = {word: spoken(word, getattr(options, word)) for word in WORDS if getattr(options, word) is not None}
    return as_problem(options.problem, **words, policies=getattr(options, "policies", None))


def spoken(word: str, text: str) -> Any:
    """Return what an option says: a number, a range as it is, a matrix as rows, or the text itself.

    Examples
    --------
    >>> from latentbandits.cli.problem import spoken
    >>> spoken("states", "3 to 20"), spoken("noise", "0.3"), spoken("means", "0.9 0.1; 0.2 0.6")
    ('3 to 20', 0.3, [[0.9, 0.1], [0.2, 0.6]])
    """
    from latentbandits.specs import value

    if word in ("transition", "means") and (";" in text or " to " not in text):
        return [[value(cell) for cell in row.split()] for row in text.replace(",", " ").split(";")]
    return text if word in ("kind", "rewards", "file") else value(text)


def write_example(path: Path, next_step: str) -> int:
    """Write the example, unless something is there already."""
    from latentbandits.advice.file import EXAMPLE
    from latentbandits.settings import refuse

    if path.exists():
        raise refuse("problem", "--write-example", str(path), "a file that does not exist yet")
    write(path, EXAMPLE.encode(), "problem", "--write-example")
    print(f"{path}: a problem in TOML, every line explained. Next: edit it, then `{next_step}`.")
    return 0


def write(path: Path, content: bytes, owner: str, option: str = "--out") -> None:
    """Write a file whole, or refuse a place where that cannot be done."""
    from latentbandits.advice import file

    file.write(path, content, owner, option)


def ending(path: Path, owner: str, *endings: str, option: str = "--out") -> str:
    """Return how a file's name ends, or refuse it; and refuse a folder that is not there before anything is computed."""
    from latentbandits.settings import refuse

    if path.suffix.lower() not in endings:
        raise refuse(owner, option, str(path), "a file name that ends in " + " or ".join(endings))
    if not path.parent.is_dir() or path.is_dir():
        raise refuse(owner, option, str(path), "a file in a folder that exists")
    return path.suffix.lower()[1:]


def python_lines(code: str) -> list[str]:
    """Return the Python that does the same as a command, as the lines that follow its text."""
    return ["", "The same in Python:", *(f"    {line}".rstrip() for line in code.splitlines()), ""]


def as_words(described: Any) -> dict[str, Any]:
    """Return a problem as plain values, everything that it says or takes for granted.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.cli.problem import as_words
    >>> {word: value for word, value in as_words(lb.Problem(states="3 to 20")).items() if word in ("states", "dwell", "noise")}
    {'states': '3 to 20', 'dwell': 100, 'noise': 0.01}
    """
    import numpy as np

    from latentbandits.advice.problem import Range

    found = {word: getattr(described, word) for word in WORDS}
    return {
        word: str(value) if isinstance(value, Range) else np.asarray(value).tolist()
        for word, value in found.items()
        if value is not None
    }


def as_options(described: Any) -> str:
    """Return the options that describe a problem, such that all commands take it for the same.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.cli.problem import as_options
    >>> as_options(lb.Problem(states="3 to 20", runs=50))
    "--arms 2 --states '3 to 20' --dwell 100 --noise 0.01 --runs 50"
    """
    import shlex

    usual = {"kind": "hidden-markov", "means": "0 to 1", "rewards": "gaussian", "carryover": 0}
    usual |= {"units": 1, "horizon": 10_000, "runs": 200, "seed": 0}
    options: list[str] = []
    for word, value in as_words(described).items():
        if usual.get(word) != value:
            rows = "; ".join(" ".join(map(str, row)) for row in value) if isinstance(value, list) else str(value)
            options += [f"--{word}", rows]
    return shlex.join(options)

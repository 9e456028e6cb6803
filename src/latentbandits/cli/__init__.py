"""The command ``latentbandits``: one file per subcommand, which imports what it needs when it runs."""

import argparse
import errno
import importlib
import os
import sys
import warnings
from collections.abc import Container, Sequence
from importlib.metadata import entry_points
from types import ModuleType

from latentbandits import __version__
from latentbandits.cli.compiling import announce, show_warning
from latentbandits.cli.problem import write_example
from latentbandits.compiled import CompileError, listening
from latentbandits.extras import EXTRAS, missing
from latentbandits.presentation.progress import wipe

OWN = (
    "advise", "compare", "completion", "diagnose", "policies", "quickstart", "serve", "store", "trace", "tune",
)  # fmt: skip
GROUP = "latentbandits.commands"  # the entry points by which other packages add commands, the studies for instance
# What to type first, and what it answers
FIRST = {
    "latentbandits quickstart": "your problem, question by question: a policy, and a program that uses it",
    "latentbandits advise --arms 3": "which policy to use, how certain that is, and what another choice costs",
    "latentbandits diagnose log.csv": "does your log show regimes, or only drift, the calendar, noise?",
    "latentbandits serve --demo": "decisions over HTTP, and a page that shows what is best now",
    "latentbandits reproduce --quick": "the paper next to our own runs, on one page",
}

RESUMED = "what is finished is kept: the same command resumes there"


def commands() -> dict[str, ModuleType]:
    """Return the module of every command: those of this package, and those that others add by an entry point.

    A module has `SUMMARY`, `EXAMPLES`, `configure` and `run`; `RESUMES`, if it keeps what is finished when it is interrupted.

    Examples
    --------
    >>> from latentbandits.cli import commands
    >>> commands()["reproduce"].__name__
    'latentbandits_studies.commands.reproduce'
    """
    own = {name: importlib.import_module(f"latentbandits.cli.{name}") for name in OWN}
    added = {point.name: point.load() for point in entry_points(group=GROUP)}
    return dict(sorted((added | own).items()))


class Help(argparse.HelpFormatter):
    """Help whose examples stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("examples:") else super()._fill_text(text, width, indent)


def parser(configured: Container[str] | None = None) -> argparse.ArgumentParser:
    """Return the parser of the command line; options are declared for `configured` commands alone, all if None: some take time.

    Examples
    --------
    >>> from latentbandits.cli import parser
    >>> parser().parse_args(["compare", "--runs", "4"]).runs
    '4'
    """
    parser = argparse.ArgumentParser(
        prog="latentbandits",
        description="Choosing between options when the best one depends on hidden conditions that come and go.",
    )
    parser.add_argument("--version", action="version", version=f"latentbandits {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, module in commands().items():
        examples = "\n".join(["examples:", *(f"  {line}" for line in module.EXAMPLES)])
        sub = subparsers.add_parser(
            name,
            help=module.SUMMARY,
            description=module.__doc__,
            epilog=examples,
            allow_abbrev=False,
            formatter_class=Help,
        )
        if configured is None or name in configured:
            module.configure(sub)
        sub.set_defaults(run=module.run, resumes=vars(module).get("RESUMES", False))
    return parser


def overview() -> str:
    """Return what the command can do, and what to type next."""
    listed = commands()
    first, names = max(map(len, FIRST)), max(map(len, listed))
    return "\n".join(
        [
            f"latentbandits {__version__}: choosing between options when the best one depends on hidden conditions that come and go.",
            "",
            "Begin with one of these:",
            *(f"  {line.ljust(first)}  {text}" for line, text in FIRST.items()),
            "",
            "All commands:",
            *(f"  {name.ljust(names)}  {module.SUMMARY}" for name, module in listed.items()),
            "",
            "Next: `latentbandits quickstart`, or `latentbandits COMMAND --help` for the options and two examples of each.",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; bad input ends in one sentence and exit code 2, output that cannot be written in one and exit code 1."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        if given:
            code = command(given)
        else:
            print(overview())
            code = 0
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader, for example `head`, has closed the pipe
        silence()
        return 0
    except OSError as problem:
        if problem.errno != errno.ENOSPC:
            raise
        silence()
        print(
            f"latentbandits: {problem.filename or 'the output'} cannot be written, the device is full", file=sys.stderr
        )
        return 1


def silence() -> None:
    """Let nothing more be written to the standard output, not even when the program ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def command(given: Sequence[str]) -> int:
    """Run one command."""
    options = parser(given).parse_args(given)
    try:
        if vars(options).get("write_example") is not None:
            return write_example(options.write_example)
        with listening(announce), warnings.catch_warnings():
            warnings.showwarning = show_warning
            return int(options.run(options))
    except (ValueError, CompileError) as problem:
        print(problem, file=sys.stderr)
        return 2
    except ModuleNotFoundError as absent:
        if absent.name not in EXTRAS:
            raise
        print(f"{options.command}: {missing(absent.name)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        wipe()
        print("interrupted;", RESUMED if options.resumes else "nothing was written", file=sys.stderr)
        return 130

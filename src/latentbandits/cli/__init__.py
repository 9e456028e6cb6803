"""The command ``latentbandits``: one file per subcommand, which imports what it needs when it runs."""

import argparse
import errno
import importlib
import os
import sys
import warnings
from collections.abc import Container, Sequence

from latentbandits import __version__
from latentbandits.cli.compiling import announced, shown
from latentbandits.compiled import CompileError, listening
from latentbandits.extras import EXTRAS, missing
from latentbandits.presentation.progress import wipe
from latentbandits.presentation.terminal import show

COMMANDS = {
    "advise": "recommend a policy for a problem, with its confidence and when another would win",
    "compare": "play any policies on any world and rank them",
    "completion": "print a script that completes commands and options in your shell",
    "demo": "compare all policies on the paper's default world, in under a minute",
    "diagnose": "say what a log of decisions shows: regimes, drift, the calendar or noise",
    "experiments": "list the experiments: the paper's and our own",
    "policies": "list the policies, or the settings of one",
    "quickstart": "describe a problem question by question, and get a policy and a program that uses it",
    "report": "write the report again from results, without simulating",
    "reproduce": "run the experiments and write results and the report",
    "serve": "serve decisions over HTTP, from a store on disk",
    "store": "look after a store of decisions: verify, export, migrate, compact",
    "sweep": "advise on many problems, or tune for them: resumable, one table at the end",
    "trace": "show a policy at work on one run",
    "tune": "find settings of one policy for a problem, judged on worlds that it was not tuned on",
    "warm": "compile ahead of time, for a container image say",
}

# What to type first, and what it answers
FIRST = {
    "latentbandits quickstart": "your problem, question by question: a policy, and a program that uses it",
    "latentbandits advise --arms 3": "which policy, how sure that is, and what another choice costs",
    "latentbandits diagnose log.csv": "does your log show regimes, or only drift, the calendar, noise?",
    "latentbandits serve --demo": "decisions over HTTP, and a page that says what is best now",
    "latentbandits reproduce --quick": "the paper beside our own runs, on one page",
}

# Commands that keep what is finished
RESUMING = ("reproduce", "sweep", "tune", "warm")
RESUMED = "what is finished is kept: the same command goes on from there"


class Help(argparse.HelpFormatter):
    """Help whose examples stay as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("examples:") else super()._fill_text(text, width, indent)


def parser(configured: Container[str] = COMMANDS) -> argparse.ArgumentParser:
    """Return the parser of the command line; options are declared for the commands in `configured` alone, since some take time to collect.

    Examples
    --------
    >>> from latentbandits.cli import parser
    >>> parser().parse_args(["demo", "--draws", "4"]).draws
    4
    """
    made = argparse.ArgumentParser(
        prog="latentbandits", description="Bandits for problems whose best arm changes with a hidden regime."
    )
    made.add_argument("--version", action="version", version=f"latentbandits {__version__}")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in COMMANDS.items():
        module = importlib.import_module(f"latentbandits.cli.{name}")
        examples = "\n".join(["examples:", *(f"  {line}" for line in module.EXAMPLES)])
        sub = commands.add_parser(
            name,
            help=summary,
            description=module.__doc__,
            epilog=examples,
            allow_abbrev=False,
            formatter_class=Help,
        )
        if name in configured:
            module.configure(sub)
        sub.set_defaults(run=module.run)
    return made


def welcome() -> int:
    """Say what the command can do, and what to type next."""
    show(overview(), headline=True)
    return 0


def overview() -> str:
    """Return what the command can do, and what to type next."""
    first, names = max(map(len, FIRST)), max(map(len, COMMANDS))
    return "\n".join(
        [
            f"latentbandits {__version__}: decisions where the best option changes with a regime that nobody sees.",
            "",
            "Begin with one of these:",
            *(f"  {line.ljust(first)}  {text}" for line, text in FIRST.items()),
            "",
            "All commands:",
            *(f"  {name.ljust(names)}  {text}" for name, text in COMMANDS.items()),
            "",
            "Next: `latentbandits quickstart`, or `latentbandits COMMAND --help` for the options and two examples of each.",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; bad input ends in one sentence and exit code 2, output that cannot be written in one and exit code 1."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        code = command(given) if given else welcome()
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader, `head` say, has closed the pipe
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
        with listening(announced), warnings.catch_warnings():
            warnings.showwarning = shown
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
        print("interrupted;", RESUMED if options.command in RESUMING else "nothing was written", file=sys.stderr)
        return 130

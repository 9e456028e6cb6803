"""The command ``latentbandits``: one file per subcommand, which imports what it needs when it runs."""

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Sequence

from latentbandits import __version__
from latentbandits.cli.compiling import announced, shown
from latentbandits.compiled import CompileError, listening
from latentbandits.extras import EXTRAS, missing
from latentbandits.presentation.progress import wipe

COMMANDS = {
    "advise": "recommend a policy for a problem, with its confidence and when another would win",
    "compare": "play any policies on any world and rank them",
    "demo": "compare all policies on the paper's default world, in under a minute",
    "diagnose": "say what a log of decisions shows: regimes, drift, the calendar or noise",
    "experiments": "list the experiments: the paper's and our own",
    "policies": "list the policies, or the settings of one",
    "report": "write the report again from results, without simulating",
    "reproduce": "run the experiments and write results and the report",
    "serve": "serve decisions over HTTP, from a store on disk",
    "store": "look after a store of decisions: verify, export, migrate, compact",
    "sweep": "advise on many problems, or tune for them: resumable, one table at the end",
    "trace": "show a policy at work on one run",
    "tune": "find settings of one policy for a problem, judged on worlds that it was not tuned on",
    "warm": "compile ahead of time, for a container image say",
}

# Commands that keep what is finished
RESUMING = ("reproduce", "sweep", "tune", "warm")
RESUMED = "what is finished is kept: the same command goes on from there"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; bad input ends in one sentence and exit code 2."""
    parser = argparse.ArgumentParser(
        prog="latentbandits", description="Bandits for problems whose best arm changes with a hidden regime."
    )
    parser.add_argument("--version", action="version", version=f"latentbandits {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    given = sys.argv[1:] if arguments is None else arguments
    for name, summary in COMMANDS.items():
        module = importlib.import_module(f"latentbandits.cli.{name}")
        sub = commands.add_parser(name, help=summary, description=module.__doc__, allow_abbrev=False)
        if name in given:  # options that follow from the words of a problem take time to collect
            module.configure(sub)
        sub.set_defaults(run=module.run)
    options = parser.parse_args(arguments)
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
    except BrokenPipeError:  # the reader, `head` say, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        wipe()
        print("interrupted;", RESUMED if options.command in RESUMING else "nothing was written", file=sys.stderr)
        return 130

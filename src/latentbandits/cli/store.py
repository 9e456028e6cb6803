"""Look after a store of decisions: check it, take its decisions out as a table, forget somebody."""

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from latentbandits.store import Verdict

SUMMARY = "look after a store of decisions: verify, export, erase"
EXAMPLES = (
    "latentbandits store verify decisions.db",
    "latentbandits store export decisions.db offers --out offers.csv",
    "latentbandits store erase decisions.db offers visitor-17",
)

ACTIONS = {
    "verify": "repeat the log and compare everything else with what it leads to; works while the store is in use",
    "export": "write the decisions of an experiment as a table that `latentbandits diagnose` reads",
    "erase": "put a random pseudonym in the place of a subject; a file must not be in use (a service does it by request)",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    parsers = {}
    for name, summary in ACTIONS.items():
        parsers[name] = actions.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        parsers[name].add_argument("store", metavar="STORE", help="a path, sqlite:///PATH or postgresql://...")
    verify, export, erase = parsers.values()
    verify.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help="which (default: all)")
    verify.add_argument("--policy", metavar="MODULE:CLASS", help="the policy, if it is from outside this package")
    export.add_argument("experiment", nargs="?", metavar="EXPERIMENT", help="which (default: the only one)")
    export.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="file to write, .csv or .parquet (default: EXPERIMENT.csv)",
    )
    export.add_argument(
        "--after",
        type=int,
        default=0,
        metavar="EVENT",
        help="only decisions that were made or have changed after this event, the number that the last export has said",
    )
    export.add_argument("--days", type=float, metavar="N", help="only decisions of the last days (default: all)")
    erase.add_argument("experiment", metavar="EXPERIMENT", help="which")
    erase.add_argument("subject", metavar="SUBJECT", help="whom to forget")


def run(options: argparse.Namespace) -> int:
    """Do what is wanted; exit code 1 if the store is not what its log says, or cannot be used now."""
    from latentbandits.store import StoreUnavailableError

    try:
        return {"verify": verify, "export": export, "erase": erase}[options.action](options)
    except StoreUnavailableError as problem:
        print(problem, file=sys.stderr)
        return 1


def verify(options: argparse.Namespace) -> int:
    """Repeat the log of some experiments, or of all, and print a line for each."""
    from contextlib import closing

    from latentbandits.presentation.numbers import aligned
    from latentbandits.store import reader_of
    from latentbandits.store import verify as verified

    with closing(reader_of(options.store)) as reads:
        names = options.experiments or [row.name for row in reads.experiments()]
        verdicts = [verified(reads, name, options.policy) for name in names]
    if not verdicts:
        print(f"{options.store} has no experiments. Next: `lb.open_agent` makes one.")
        return 0
    head = ("experiment", "events", "decisions", "snapshots", "repeated", "digest")
    rows = [
        (
            verdict.experiment,
            f"{verdict.events:,}",
            f"{verdict.decisions:,}",
            str(verdict.snapshots),
            verdict.label,
            verdict.digest[:16],
        )
        for verdict in verdicts
    ]
    print(aligned(head, rows))
    print("\n".join(["", *notes(options.store, verdicts)]))
    return int(any(verdict.problems for verdict in verdicts))


def notes(store: str, verdicts: "list[Verdict]") -> list[str]:
    """Return what follows from verdicts, in sentences."""
    from latentbandits.store.replay import build
    from latentbandits.store.verify import EQUIVALENT

    lines = [f"{verdict.experiment}: {problem}." for verdict in verdicts for problem in verdict.problems]
    for verdict in verdicts:
        if verdict.label == EQUIVALENT:
            others = "; ".join(name for name in verdict.builds if name != build())
            otherwise = (
                f"; {verdict.diverged:,} decisions came out otherwise here, the log counts" if verdict.diverged else ""
            )
            lines.append(
                f"{verdict.experiment}: equal up to rounding, since another build took part ({others}){otherwise}."
            )
    if not any(verdict.problems for verdict in verdicts):
        return [*lines, f"Next: `latentbandits store export {store} {verdicts[0].experiment}` writes its decisions."]
    return [*lines, "Next: go back to a copy from before the damage; this one stays readable."]


def export(options: argparse.Namespace) -> int:
    """Write the decisions of one experiment."""
    from contextlib import closing

    from latentbandits.cli import problem
    from latentbandits.presentation.numbers import counted
    from latentbandits.settings import InvalidValueError
    from latentbandits.store import export as exported
    from latentbandits.store import reader_of
    from latentbandits.store.export import ENDING
    from latentbandits.store.minutes import DAY_US
    from latentbandits.store.replay import named

    with closing(reader_of(options.store)) as reads:
        names = [row.name for row in reads.experiments()]
        if options.experiment is None and len(names) != 1:
            raise InvalidValueError(
                "store", "experiment", None, f"one that it has ({', '.join(names) or 'none: it is empty'})"
            )
        name = options.experiment or names[0]
        out = options.out or Path(f"{name}.csv")
        problem.check_ending(out, "store", *ENDING)
        until = named(reads, name).head
        since_us = 0 if options.days is None else round(time.time() * 1e6 - options.days * DAY_US)
        number = exported(reads, name, out, options.after, until, since_us)
    print(f"{out}: {counted(number, 'row')} of {name}. `--after {until}` goes on from there.")
    print(f"Next: `latentbandits diagnose {out}` says what they show.")
    return 0


def erase(options: argparse.Namespace) -> int:
    """Forget a subject of one experiment."""
    from contextlib import closing

    from latentbandits.presentation.numbers import counted
    from latentbandits.store import Ledger, reader_of, storage_of
    from latentbandits.store.erase import erase as erased

    with closing(reader_of(options.store)) as reads, closing(Ledger(storage_of(options.store))) as ledger:
        found = erased(ledger, reads, options.experiment, options.subject, "command line")
    print(f"{counted(found.decisions, 'decision')} of {options.experiment}: {found.pseudonym or 'no such subject'}.")
    print("Next: delete copies of the store and exported files that have the subject still.")
    return 0

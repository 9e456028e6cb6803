"""Look after a store of decisions: check it, take its decisions out as a table, give space back."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from latentbandits.store import Verdict

SUMMARY = "look after a store of decisions: verify, export, compact"
EXAMPLES = (
    "latentbandits store verify decisions.db",
    "latentbandits store export decisions.db offers --out offers.csv",
)

ACTIONS = {
    "verify": "repeat the log and compare everything else with what it leads to; works while the store is in use",
    "export": "write the decisions of an experiment as a table that `latentbandits diagnose` reads",
    "compact": "give space back; with --forget, forget old idempotency keys",
}
DAY_US = 86_400_000_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    made = {}
    for name, summary in ACTIONS.items():
        made[name] = actions.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        made[name].add_argument("store", metavar="STORE", help="a path, sqlite:///PATH or postgresql://...")
    verify, export, compact = made["verify"], made["export"], made["compact"]
    verify.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help="which (default: all)")
    verify.add_argument("--policy", metavar="MODULE:CLASS", help="the policy, if it is from outside this package")
    verify.add_argument(
        "--rebuild",
        action="store_true",
        help="make again what follows from the log, then verify; needs the store for itself",
    )
    export.add_argument("experiment", nargs="?", metavar="EXPERIMENT", help="which (default: the only one)")
    export.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="file to write, .csv, .parquet, .jsonl or .dsjson (default: EXPERIMENT.csv)",
    )
    compact.add_argument(
        "--forget", type=float, metavar="DAYS", help="forget idempotency keys that are older: asked again, they are new"
    )


def run(options: argparse.Namespace) -> int:
    """Do what is wanted; exit code 1 if the store is not what its log says, or cannot be used now."""
    from latentbandits.store import StoreUnavailableError

    try:
        action = {"verify": verify, "export": export, "compact": compact}[options.action]
        return action(options)
    except StoreUnavailableError as problem:
        print(problem, file=sys.stderr)
        return 1


def verify(options: argparse.Namespace) -> int:
    """Repeat the log of some experiments, or of all, and print a line for each."""
    from contextlib import closing

    from latentbandits.presentation.numbers import aligned
    from latentbandits.store import Verdict, reader_of, rebuild, storage_of
    from latentbandits.store import verify as verified

    contradicted: list[Verdict] = []
    if options.rebuild:
        with closing(storage_of(options.store, new=False)) as storage:
            for name in options.experiments or [row.name for row in storage.experiments()]:
                before = verified(storage, name, options.policy)
                contradicted += [before] if before.problems and not before.rebuildable else []
                rebuild(storage, name, options.policy)
    with closing(reader_of(options.store)) as reads:
        names = options.experiments or [row.name for row in reads.experiments()]
        found = [verified(reads, name, options.policy) for name in names]
    if not found:
        print(f"{options.store} has no experiments. Next: `lb.open_agent` makes one.")
        return 0
    head = ("experiment", "events", "decisions", "snapshots", "repeated", "digest")
    rows = [
        (one.experiment, f"{one.events:,}", f"{one.decisions:,}", str(one.snapshots), one.label, one.digest[:16])
        for one in found
    ]
    print(aligned(head, rows))
    lines = [
        f"{one.experiment}: before it was made again, {problem}." for one in contradicted for problem in one.problems
    ]
    if contradicted:
        lines.append(
            "Events may have been changed after they were written; what was made again follows from them as they are."
        )
    print("\n".join(["", *lines, *notes(options.store, found, bool(contradicted))]))
    return int(bool(contradicted) or any(one.problems for one in found))


def notes(store: str, found: "list[Verdict]", contradicted: bool = False) -> list[str]:
    """Return what follows from verdicts, in sentences; `contradicted` says that the log was damaged before a rebuild."""
    from latentbandits.store.replay import build
    from latentbandits.store.verify import EQUIVALENT

    lines = [f"{one.experiment}: {problem}." for one in found for problem in one.problems]
    for one in found:
        if one.label == EQUIVALENT:
            others = "; ".join(name for name in one.builds if name != build())
            otherwise = f"; {one.diverged:,} decisions came out otherwise here, the log counts" if one.diverged else ""
            lines.append(
                f"{one.experiment}: equal up to rounding, since another build took part ({others}){otherwise}."
            )
    wrong = [one for one in found if one.problems]
    if not wrong and not contradicted:
        return [*lines, f"Next: `latentbandits store export {store} {found[0].experiment}` writes its decisions."]
    if not contradicted and all(one.rebuildable for one in wrong):
        return [*lines, f"Next: `latentbandits store verify --rebuild {store}` makes it again from the log."]
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

    with closing(reader_of(options.store)) as reads:
        names = [row.name for row in reads.experiments()]
        if options.experiment is None and len(names) != 1:
            raise InvalidValueError(
                "store", "experiment", None, f"one that it has ({', '.join(names) or 'none: it is empty'})"
            )
        name = options.experiment or names[0]
        out = options.out or Path(f"{name}.csv")
        problem.check_ending(out, "store", *ENDING)
        number = exported(reads, name, out)
    print(f"{out}: {counted(number, 'row')} of {name}. Next: `latentbandits diagnose {out}` says what they show.")
    return 0


def compact(options: argparse.Namespace) -> int:
    """Give space back."""
    import time
    from contextlib import closing

    from latentbandits.settings import Above, check_range
    from latentbandits.store import storage_of

    forgotten = 0
    if options.forget is not None:
        check_range("store", "--forget", options.forget, Above(0))
    with closing(storage_of(options.store, new=False)) as storage:
        before = storage.size()
        if options.forget is not None:
            until = time.time_ns() // 1000 - round(options.forget * DAY_US)
            forgotten = sum(storage.forget_answers(row.id, until) for row in storage.experiments())
        storage.compact()
        now = storage.size()
    keys = "" if options.forget is None else f", {forgotten:,} idempotency keys forgotten"
    print(
        f"{options.store}: {before / 1e6:,.1f} MB before, {now / 1e6:,.1f} MB now{keys}. "
        f"Next: `latentbandits store verify {options.store}` repeats its log."
    )
    return 0

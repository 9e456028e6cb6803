"""Say what a log of decisions shows: hidden regimes, or drift, the calendar, abrupt changes, noise; and what follows from it."""

import argparse
import sys
from pathlib import Path

SUMMARY = "say what a log of decisions shows: regimes, drift, the calendar or noise"
EXAMPLES = (
    "latentbandits diagnose log.csv",
    "latentbandits diagnose log.parquet --arm banner --reward click --time at --context age",
)

ROLES = {
    "arm": "the column of the arm",
    "reward": "the column of the reward",
    "time": "the column of the time: dates, seconds since 1970, or rounds",
    "subject": "the column of the subject, if a round has several rows",
    "propensity": "the column of the probability with which the arm was played",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "log",
        metavar="LOG",
        help="a log, .csv, .csv.gz or .parquet; or the .npz of an earlier run, to go on from there",
    )
    for role, text in ROLES.items():
        parser.add_argument(f"--{role}", metavar="COLUMN", help=f"{text} (default: guessed by its name)")
    parser.add_argument(
        "--context",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns of numbers that were known before the decision",
    )
    parser.add_argument(
        "--day-first",
        choices=("yes", "no"),
        help="whether 3/4/2025 is in April (default: as the column as a whole tells)",
    )
    parser.add_argument(
        "--above",
        type=float,
        metavar="VALUE",
        help="make rewards 0 and 1: 1 above VALUE (for rewards that are mostly one value)",
    )
    parser.add_argument(
        "--policies", nargs="+", metavar="POLICY", help="what to compare on worlds that are as the log was"
    )
    parser.add_argument(
        "--no-compare", action="store_true", help="do not compare policies, which takes most of the time"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="the seed of the search (default: 0)")
    parser.add_argument("--workers", type=int, metavar="N", help="threads (default: one per core)")
    parser.add_argument("--json", action="store_true", help="print everything as JSON instead of text")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("diagnosis.html"),
        help="page to write (.html); the fit is written beside it as .npz (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Diagnose, print what was found, write the page and the fit."""
    import dataclasses

    from latentbandits.cli import problem
    from latentbandits.logs.diagnose import diagnose
    from latentbandits.logs.diagnosis import Diagnosis
    from latentbandits.logs.log import Log
    from latentbandits.presentation.progress import Progress, wipe

    problem.check_ending(options.out, Diagnosis.owner, ".html")
    if options.log.endswith(".npz"):
        diagnosis = Diagnosis.load(options.log)
    else:
        columns: dict[str, str | None] = {role: vars(options)[role] for role in ROLES}
        day_first = None if options.day_first is None else options.day_first == "yes"
        log = Log.read(options.log, **columns, context=options.context, day_first=day_first)
        if options.above is not None:
            log = log.above(options.above)
        with Progress("diagnosing", unit="million steps") as progress:
            diagnosis = diagnose(
                log,
                seed=options.seed,
                workers=options.workers,
                progress=lambda done, total: progress(done // 1_000_000, total),
            )
    beside = options.out.with_suffix(".npz")
    diagnosis.save(options.out)  # before policies are compared: an interrupt then loses nothing
    diagnosis.save(beside)
    text = diagnosis.text()
    if not options.json:
        print(text, flush=True)  # the verdict at once: policies take longer, and at first a minute to compile
    if diagnosis.regimes and diagnosis.useful and not options.no_compare:
        try:
            comparison = diagnosis.compare(options.policies, workers=options.workers, progress=Progress("comparing"))
        except KeyboardInterrupt:
            wipe()
            print(
                f"interrupted; {options.out} is without policies: `{again(options, beside)}` goes on", file=sys.stderr
            )
            return 130
        diagnosis = dataclasses.replace(diagnosis, comparison=comparison)
        diagnosis.save(options.out)
    if options.json:
        print(diagnosis.json())
        return 0
    more = diagnosis.text().removeprefix(text).removeprefix("\n")
    print(f"{more}\n" if more else "")
    print(f"Next: open {options.out}; `latentbandits advise {beside}` says what to do.")
    return 0


def again(options: argparse.Namespace, fit: Path) -> str:
    """Return the command that goes on from a fit."""
    policies = f" --policies {' '.join(options.policies)}" if options.policies else ""
    return f"latentbandits diagnose {fit} --out {options.out}{policies}"

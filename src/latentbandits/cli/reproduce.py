"""Run the experiments and write results, figures and the report; what was run before is not run again."""

import argparse
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help="which ones (default: all)")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer matrices and shorter sweeps: the whole story in about a minute, with wider intervals",
    )
    parser.add_argument("--workers", type=int, help="threads (default: one per core)")
    parser.add_argument("--out", type=Path, default=Path(), help="folder for results/ and report/ (default: this one)")


def run(options: argparse.Namespace) -> int:
    """Run, print verdicts as they come, then draw the page."""
    import time

    from latentbandits.cli.screen import Progress
    from latentbandits.experiments.reproduce import Outcome, reproduce
    from latentbandits.report.page import write_report
    from latentbandits.text import table

    begin = time.perf_counter()

    def finished(outcome: Outcome) -> None:
        held = sum(claim.verdict == "holds" for claim in outcome.claims)
        found = (
            ""
            if not outcome.found
            else f", {outcome.found} of {outcome.found + outcome.computed} cells found in {results}"
        )
        print(
            f"{outcome.experiment.id}: {outcome.seconds:.1f} s{found}; {held} of {len(outcome.claims)} claims hold",
            flush=True,
        )
        for claim in outcome.claims:
            mark = {"holds": "+", "does not hold": "-"}.get(claim.verdict, "?")
            print(f"  {mark} {claim.text}\n      here {claim.measured}; {outcome.experiment.beside} {claim.published}")

    results = options.out / "results"
    try:
        (options.out / "report" / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ValueError(
            f"reproduce: out is {str(options.out)!r}, allowed is a folder that can be written to"
        ) from problem
    outcomes = reproduce(
        options.experiments, results, options.quick, options.workers, lambda name: Progress(f"{name:22}"), finished
    )
    words = ("holds", "does not hold", "cannot be judged")
    lines = [
        [
            outcome.experiment.id,
            f"{outcome.seconds:.1f}",
            *(str([c.verdict for c in outcome.claims].count(word)) for word in words),
        ]
        for outcome in outcomes
    ]
    print("\n" + table(["experiment", "seconds", "holds", "does not", "not judged"], lines))
    page = write_report(results, options.out / "report")
    print(f"{time.perf_counter() - begin:.0f} s in all. Next: open {page}")
    return 0

"""Run the experiments and write results, figures and the report; what was run before is not run again."""

import argparse
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "experiments",
        nargs="*",
        metavar="EXPERIMENT",
        help="which ones (default: all); `fit` alone reruns the search for the settings that the paper does not state",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer matrices and shorter sweeps: the whole story in about a minute, with wider intervals",
    )
    parser.add_argument("--workers", type=int, help="threads (default: one per core)")
    parser.add_argument("--out", type=Path, default=Path(), help="folder for results/ and report/ (default: this one)")


def run(options: argparse.Namespace) -> int:
    """Run, print verdicts as they come, then draw the page; or search for settings."""
    if "fit" in options.experiments:
        return fit(options)
    import time

    from latentbandits.experiments.claims import FAILS, HOLDS, KINDS, OPEN, TIED, VERDICTS, Claim
    from latentbandits.experiments.registry import experiments
    from latentbandits.experiments.reproduce import Outcome, reproduce
    from latentbandits.presentation.numbers import aligned
    from latentbandits.presentation.progress import Progress, Steps
    from latentbandits.report.page import write_report
    from latentbandits.settings import whole

    begin = time.perf_counter()
    results = options.out / "results"
    marks = {HOLDS: "+", FAILS: "-", TIED: "=", OPEN: "?"}

    def said(claim: Claim) -> str:
        return claim.points_to or claim.verdict

    def finished(outcome: Outcome) -> None:
        known = outcome.found + outcome.computed
        found = f", {outcome.found} of {known} cells found in {results}" if outcome.found else ""
        words = [said(claim) for claim in outcome.claims]
        counts = ", ".join(f"{words.count(word)} {mark}" for word, mark in marks.items() if word in words)
        noun = "claim" if len(words) == 1 else "claims"
        print(f"{outcome.experiment.id}: {outcome.seconds:.1f} s{found}; {len(words)} {noun}: {counts}", flush=True)
        for claim in outcome.claims:
            if said(claim) == FAILS:
                print(f"  - {claim.text}")

    experiments(options.experiments)  # refused before any folder is made
    if options.workers is not None:
        whole("reproduce", "workers", options.workers, least=1)
    try:
        (options.out / "report" / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ValueError(
            f"reproduce: out is {str(options.out)!r} but must be a folder that can be written to"
        ) from problem
    outcomes = reproduce(
        options.experiments, results, options.quick, options.workers, lambda name: Progress(f"{name:22}"), finished
    )
    claims = [claim for outcome in outcomes for claim in outcome.claims]

    lines = [
        [title, *(str(sum(claim.kind == kind and said(claim) == word for claim in claims)) for word in VERDICTS)]
        for kind, title in KINDS.items()
        if any(claim.kind == kind for claim in claims)
    ]
    print("\n" + aligned(["", *(f"{word} ({marks[word]})" for word in VERDICTS)], lines))
    if options.quick:
        print("A quick run is too small to confirm or to refute: these verdicts are what it points to.")
    steps = Steps("drawing")
    page = write_report(results, options.out / "report", steps)
    steps.close()
    print(f"{time.perf_counter() - begin:.0f} s in all. Next: open {page}")
    return 0


def fit(options: argparse.Namespace) -> int:
    """Search for the settings that fit the main table, and print what it pins down."""
    from latentbandits.experiments.fit import search
    from latentbandits.presentation.progress import Counter
    from latentbandits.settings import refuse

    if len(options.experiments) > 1:
        raise refuse("reproduce", "experiments", " ".join(options.experiments), "fit alone, or experiments without it")
    counter = Counter("fit")
    found = search(
        options.out / "results",
        options.quick,
        options.workers,
        counter,
        lambda one: print(
            f"{one.column.name}: {'at the preset' if not one.moved else ', '.join(one.moved)}", flush=True
        ),
    )
    counter.close()
    print("\n" + found.text())
    return 0

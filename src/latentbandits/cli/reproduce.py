"""Run the experiments and write results, figures and the report; what was run before is not run again."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from latentbandits.experiments.claims import Claim
    from latentbandits.experiments.reproduce import Outcome

EXAMPLES = (
    "latentbandits reproduce --quick",
    "latentbandits reproduce table2 ablation --out paper",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "experiments",
        nargs="*",
        metavar="EXPERIMENT",
        help="which ones (default: all); `fit` alone reruns the search for the settings that the paper does not state",
    )
    parser.add_argument(
        "--without",
        nargs="+",
        default=[],
        metavar="EXPERIMENT",
        help="leave these out, for instance `--without stress real`; the page keeps what an earlier run has found",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer matrices and shorter sweeps: all experiments in a few minutes, with wider intervals",
    )
    parser.add_argument("--workers", type=int, help="threads (default: one per core)")
    parser.add_argument("--out", type=Path, default=Path(), help="folder for results/ and report/ (default: this one)")


def run(options: argparse.Namespace) -> int:
    """Run, print verdicts as they come, then write the page; or search for settings."""
    if "fit" in options.experiments:
        return fit(options)
    import time

    from latentbandits.experiments.registry import experiments
    from latentbandits.experiments.reproduce import reproduce
    from latentbandits.presentation.progress import Progress
    from latentbandits.report.page import write_report
    from latentbandits.settings import whole

    begin = time.perf_counter()
    results = options.out / "results"
    chosen = [one.id for one in experiments(options.experiments, options.without)]  # refused before any folder is made
    if options.workers is not None:
        whole("reproduce", "workers", options.workers, least=1)
    try:
        (options.out / "report" / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ValueError(
            f"reproduce: out is {str(options.out)!r} but must be a folder that can be written to"
        ) from problem
    with Progress("simulating") as progress:

        def finished(outcome: "Outcome") -> None:
            progress.close()
            print(line(outcome, results), flush=True)

        outcomes = reproduce(chosen, results, options.quick, options.workers, progress, finished)
    print("\n" + counts([claim for outcome in outcomes for claim in outcome.claims]))
    if options.quick:
        print("A quick run is too small to confirm or to refute: these verdicts are what it points to.")
    with Progress("plotting", unit="experiments") as progress:
        page = write_report(results, options.out / "report", progress)
    print(f"{time.perf_counter() - begin:.0f} s in all. Next: open {page}")
    return 0


def marks() -> dict[str, str]:
    """Return the sign of each verdict."""
    from latentbandits.experiments.claims import VERDICTS

    return dict(zip(VERDICTS, "+-=?", strict=True))


def verdict(claim: "Claim") -> str:
    """Return a claim's verdict; of a quick run, the one that it points to."""
    return claim.points_to or claim.verdict


def line(outcome: "Outcome", results: Path) -> str:
    """Return what came of an experiment, and which claims do not hold."""
    from latentbandits.experiments.claims import FAILS

    known = outcome.found + outcome.computed
    found = f", {outcome.found} of {known} cells found in {results}" if outcome.found else ""
    words = [verdict(claim) for claim in outcome.claims]
    counted = ", ".join(f"{words.count(word)} {mark}" for word, mark in marks().items() if word in words)
    noun = "claim" if len(words) == 1 else "claims"
    first = f"{outcome.experiment.id}: {outcome.seconds:.1f} s{found}; {len(words)} {noun}: {counted}"
    return "\n".join([first, *(f"  - {claim.text}" for claim in outcome.claims if verdict(claim) == FAILS)])


def counts(claims: "list[Claim]") -> str:
    """Return how many claims of each kind have which verdict."""
    from latentbandits.experiments.claims import KINDS
    from latentbandits.presentation.numbers import aligned

    lines = [
        [title, *(str(sum(claim.kind == kind and verdict(claim) == word for claim in claims)) for word in marks())]
        for kind, title in KINDS.items()
        if any(claim.kind == kind for claim in claims)
    ]
    return aligned(["", *(f"{word} ({mark})" for word, mark in marks().items())], lines)


def fit(options: argparse.Namespace) -> int:
    """Search for the settings that fit the main table, and print what it pins down."""
    from latentbandits.experiments.fit import search
    from latentbandits.presentation.progress import Progress
    from latentbandits.settings import Refusal

    if len(options.experiments) > 1 or options.without:
        given = " ".join([*options.experiments, *options.without])
        raise Refusal("reproduce", "experiments", given, "fit alone, or experiments without it")
    with Progress("fit") as progress:
        found = search(
            options.out / "results",
            options.quick,
            options.workers,
            progress,
            lambda one: print(
                f"{one.column.name}: {'at the preset' if not one.moved else ', '.join(one.moved)}", flush=True
            ),
        )
    print("\n" + found.text())
    return 0

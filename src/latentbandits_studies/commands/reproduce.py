"""Run the experiments and write results, figures and the report; what was run before is not run again."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from latentbandits.cli import problem

if TYPE_CHECKING:
    from latentbandits_studies.experiments.claims import Claim
    from latentbandits_studies.experiments.registry import Experiment
    from latentbandits_studies.experiments.reproduce import Outcome

SUMMARY = "run the experiments and write results and the report"
RESUMES = True
FEWEST = 4  # draws: intervals of fewer say nothing
EXAMPLES = (
    "latentbandits reproduce --quick",
    "latentbandits reproduce table2 ablation --out paper",
    "latentbandits reproduce table2 --policies skeleton:WinStayLoseShift --quick --draws 8 --out mine",
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
        help="fewer matrices and shorter sweeps: all experiments in three to four minutes, with wider intervals",
    )
    problem.workers(parser)
    problem.policies(parser, "with table2 alone: policies of your own, beside the published cells and our rows")
    parser.add_argument(
        "--draws",
        type=int,
        metavar="N",
        help="draws of every case, such as reward matrices (default: those of the experiment); a part of a run judges nothing",
    )
    parser.add_argument(
        "--first",
        type=int,
        metavar="K",
        help="number of the first draw, for draws that nobody has seen or a run that is split by hand (default: 0)",
    )
    parser.add_argument("--out", default="", help="folder for results/ and report/ (default: this one)")


def run(options: argparse.Namespace) -> int:
    """Run, print verdicts as they come, then write the page; or search for settings."""
    if "fit" in options.experiments:
        return fit(options)
    import time

    from latentbandits.presentation.progress import Progress
    from latentbandits.settings import check_int
    from latentbandits_studies.experiments.reproduce import reproduce
    from latentbandits_studies.report.page import write_report

    begin = time.perf_counter()
    results, report = places(options.out)
    chosen, sizes = select(options), part(options)  # refused before any folder is made
    if options.workers is not None:
        check_int("reproduce", "workers", options.workers, least=1)
    try:
        (report / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise ValueError(
            f"reproduce: out is {str(options.out)!r} but must be a folder that can be written to"
        ) from reason
    with problem.playing(options) as executor, Progress("simulating") as progress:

        def finished(outcome: "Outcome") -> None:
            progress.close()
            print(line(outcome, results), flush=True)

        outcomes = reproduce(chosen, results, options.quick, options.workers, progress, finished, executor, sizes)
    if options.policies:
        print("\n" + own_text(chosen[0], results, options.quick))
    print("\n" + counts([claim for outcome in outcomes for claim in outcome.claims]))
    if options.quick or sizes is not None:
        minutes = "" if options.experiments or options.without else ", in tens of minutes"
        print(
            "A quick run, or a part of one, is too small to confirm or to refute: it judges nothing, and says what it points to. "
            f"In full{minutes}: `{in_full(options)}`."
        )
    with Progress("plotting", unit="experiments") as progress:
        page = write_report(results, report, progress)
    print(f"{time.perf_counter() - begin:.0f} s in all. Next: open {page}")
    return 0


def select(options: argparse.Namespace) -> "list[Experiment]":
    """Return the experiments that were asked for, the main table with policies of one's own."""
    from latentbandits.settings import InvalidValueError
    from latentbandits_studies.experiments.registry import experiments

    chosen = experiments(options.experiments, options.without)
    if options.policies is None:
        return chosen
    if [one.id for one in chosen] != ["table2"]:
        given = " ".join(one.id for one in chosen) if options.experiments else "all"
        raise InvalidValueError("reproduce", "experiments", given, "table2 alone where policies are given")
    from latentbandits_studies.experiments.table2.own import with_own

    return [with_own(chosen[0], options.policies)]


def part(options: argparse.Namespace) -> tuple[int | None, int] | None:
    """Return how many draws are wanted of every case and the number of the first; None for those of the experiments."""
    from latentbandits.settings import check_int

    if options.draws is None and options.first is None:
        return None
    draws = None if options.draws is None else check_int("reproduce", "draws", options.draws, least=FEWEST)
    return draws, check_int("reproduce", "first", options.first or 0, least=0)


def own_text(one: "Experiment", results: Path, quick: bool) -> str:
    """Return the main table of policies of one's own."""
    from latentbandits.simulation.runs import Runner
    from latentbandits_studies.experiments.store import Store
    from latentbandits_studies.experiments.table2 import own

    groups = {label: Runner(policy).groups for case in one.cases(quick) for label, policy in case.policies.items()}
    return own.own_text(Store(results, read_only=True).load(one.id), groups)


def places(out: str) -> tuple[Path, Path]:
    """Return where results are kept, and where the page is written."""
    return Path(out) / "results", Path(out) / "report"


def in_full(options: argparse.Namespace) -> str:
    """Return the command that runs the same experiments in full."""
    import shlex

    words = ["latentbandits", "reproduce", *options.experiments]
    words += ["--without", *options.without] if options.without else []
    words += ["--policies", *options.policies] if options.policies else []
    return shlex.join(words)


def marks() -> dict[str, str]:
    """Return the sign of each verdict."""
    from latentbandits_studies.experiments.claims import VERDICTS

    return dict(zip(VERDICTS, "+-=?", strict=True))


def signs(words: list[str]) -> str:
    """Return how many verdicts of each sign there are."""
    return ", ".join(f"{words.count(word)} {mark}" for word, mark in marks().items() if word in words)


def line(outcome: "Outcome", results: Path) -> str:
    """Return what came of an experiment, and which claims do not hold, or seem not to after a quick run."""
    from latentbandits_studies.experiments.claims import FAILS

    known = outcome.found + outcome.computed
    found = f", {outcome.found} of {known} cells found in {results}" if outcome.found else ""
    claims = outcome.claims
    hints = [claim.points_to for claim in claims if claim.points_to]
    counted = signs([claim.verdict for claim in claims]) + (f" (points to: {signs(hints)})" if hints else "")
    noun = "claim" if len(claims) == 1 else "claims"
    first = f"{outcome.experiment.id}: {outcome.seconds:.1f} s{found}; {len(claims)} {noun}: {counted}"
    failing = [
        f"  {marks()[claim.verdict]} {claim.text}" + (f" (points to: {FAILS})" if claim.points_to else "")
        for claim in claims
        if FAILS in (claim.verdict, claim.points_to)
    ]
    return "\n".join([first, *failing])


def counts(claims: "list[Claim]") -> str:
    """Return how many claims of each kind have which verdict, and what a quick run points to."""
    from latentbandits.presentation.numbers import aligned
    from latentbandits_studies.experiments.claims import KINDS

    lines = []
    for kind, title in KINDS.items():
        words = [claim.verdict for claim in claims if claim.kind == kind]
        hints = [claim.points_to for claim in claims if claim.kind == kind and claim.points_to]
        for name, found in ((title, words), ("  points to", hints)):
            lines += [[name, *(str(found.count(word)) for word in marks())]] if found else []
    return aligned(["", *(f"{word} ({mark})" for word, mark in marks().items())], lines)


def fit(options: argparse.Namespace) -> int:
    """Search for the settings that fit the main table, and print what it pins down."""
    from latentbandits.presentation.progress import Progress
    from latentbandits.settings import InvalidValueError
    from latentbandits_studies.experiments.fit import search

    sized = options.policies or options.draws is not None or options.first is not None
    if len(options.experiments) > 1 or options.without or sized:
        given = " ".join([*options.experiments, *options.without])
        raise InvalidValueError("reproduce", "experiments", given, "fit alone, or experiments without it")
    with problem.playing(options) as executor, Progress("fit") as progress:
        found = search(
            places(options.out)[0],
            options.quick,
            options.workers,
            progress,
            lambda one: print(
                f"{one.column.name}: {'at the preset' if not one.moved else ', '.join(one.moved)}", flush=True
            ),
            executor=executor,
        )
    print("\n" + found.text())
    return 0

"""Run the experiments and write results, figures and the report; what was run before is not run again."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from latentbandits.cli import problem

if TYPE_CHECKING:
    from latentbandits_studies.experiments.registry import Experiment
    from latentbandits_studies.experiments.reproduce import Outcome

SUMMARY = "run the experiments and write results and the report"
RESUMES = True
FEWEST = 4  # draws: intervals of fewer say nothing
EXAMPLES = (
    "latentbandits reproduce",
    "latentbandits reproduce table2 ablation --full --out paper",
    "latentbandits reproduce table2 --policies skeleton:WinStayLoseShift --quick --draws 8 --out mine",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "experiments",
        nargs="*",
        metavar="EXPERIMENT",
        help="which ones (default: all)",
    )
    parser.add_argument(
        "--without",
        nargs="+",
        default=[],
        metavar="EXPERIMENT",
        help="leave these out, for instance `--without stress real`; the page keeps what an earlier run has found",
    )
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument(
        "--quick",
        action="store_const",
        dest="size",
        const="quick",
        help="fewer matrices and shorter sweeps of everything, with wider intervals: judges nothing",
    )
    sizes.add_argument(
        "--full",
        action="store_const",
        dest="size",
        const="full",
        help="everything in full, in tens of minutes (default: the paper's main table in full, the rest quick)",
    )
    parser.set_defaults(size="paper")
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
    """Run, print verdicts as they come, then write the page."""
    import time

    from latentbandits.presentation.progress import Progress
    from latentbandits.settings import InvalidValueError, check_int
    from latentbandits_studies.experiments.claims import KINDS
    from latentbandits_studies.experiments.reproduce import reproduce
    from latentbandits_studies.report.page import write_report
    from latentbandits_studies.report.verdicts import counts

    begin = time.perf_counter()
    results, report = places(options.out)
    chosen, sizes = select(options), part(options)  # refused before any folder is made
    if options.workers is not None:
        check_int("reproduce", "workers", options.workers, least=1)
    try:
        (report / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise InvalidValueError("reproduce", "out", options.out, "a folder that can be written to") from reason
    with problem.playing(options) as executor, Progress("simulating") as progress:

        def finished(outcome: "Outcome") -> None:
            progress.close()
            print(line(outcome, results), flush=True)

        outcomes = reproduce(chosen, results, options.size, options.workers, progress, finished, executor, sizes)
    if options.policies:
        from latentbandits_studies.experiments.store import Store
        from latentbandits_studies.experiments.table2.own import own_text

        print("\n" + own_text(Store(results, read_only=True).load("table2"), chosen[0].cases(options.size)))
    for kind, title in KINDS.items():
        if claims := [claim for outcome in outcomes for claim in outcome.claims if claim.kind == kind]:
            print(f"{title[0].upper()}{title[1:]}: {counts(claims)}")
    if sizes is not None or any(outcome.experiment.is_quick(options.size) for outcome in outcomes):
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
    if [experiment.id for experiment in chosen] != ["table2"]:
        given = " ".join(experiment.id for experiment in chosen) if options.experiments else "all"
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


def places(out: str) -> tuple[Path, Path]:
    """Return where results are kept, and where the page is written."""
    return Path(out) / "results", Path(out) / "report"


def in_full(options: argparse.Namespace) -> str:
    """Return the command that runs the same experiments in full."""
    import shlex

    words = ["latentbandits", "reproduce", *options.experiments]
    words += ["--without", *options.without] if options.without else []
    words += ["--policies", *options.policies] if options.policies else []
    words.append("--full")
    return shlex.join(words)


def line(outcome: "Outcome", results: Path) -> str:
    """Return what came of an experiment, and which claims do not hold, or seem not to after a quick run."""
    from latentbandits_studies.experiments.claims import FAILS
    from latentbandits_studies.report.verdicts import counts

    cells = outcome.reused + outcome.computed
    reused = f", {outcome.reused} of {cells} cells found in {results}" if outcome.reused else ""
    first = f"{outcome.experiment.id}: {outcome.seconds:.1f} s{reused}. {counts(outcome.claims)}"
    failing = [
        f"  {claim.wording}: {claim.text}" for claim in outcome.claims if FAILS in (claim.verdict, claim.points_to)
    ]
    return "\n".join([first, *failing])

"""Run the experiments and write results, figures and the report; what was run before is not run again."""

import argparse
import os
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
    "latentbandits reproduce field --full --data field-data",
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
    parser.add_argument(
        "--data", metavar="DIR", help="for field: a folder with clones of the repositories that docs/field.md names"
    )
    parser.add_argument("--out", default="", help="folder for results/ and report/ (default: this one)")


def run(options: argparse.Namespace) -> int:
    """Run, print a line for each experiment, then write the page and print the closing screen."""
    import time

    from latentbandits.presentation.progress import Progress, clock
    from latentbandits.settings import InvalidValueError, check_int
    from latentbandits_studies.experiments.reproduce import reproduce
    from latentbandits_studies.report.page import write_report

    begin = time.perf_counter()
    results, report_at = places(options.out)
    chosen, sizes = select(options), part(options)  # refused before any folder is made
    if options.workers is not None:
        check_int("reproduce", "workers", options.workers, least=1)
    try:
        (report_at / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise InvalidValueError("reproduce", "out", options.out, "a folder that can be written to") from reason
    width = max(len(one.id) for one in chosen)
    waiting = [f"{one.id:{width}}" for one in chosen]
    with problem.playing(options) as executor, Progress(waiting[0]) as progress:

        def finished(outcome: "Outcome") -> None:
            progress.close()
            print(line(outcome), flush=True)
            waiting.remove(f"{outcome.experiment.id:{width}}")
            progress.title = waiting[0] if waiting else ""

        reproduce(chosen, results, options.size, options.workers, progress, finished, executor, sizes)
    if options.policies:
        from latentbandits_studies.experiments.store import Store
        from latentbandits_studies.experiments.table2.own import own_text

        print("\n" + own_text(Store(results, read_only=True).load("table2"), chosen[0].cases(options.size)))
    with Progress("plotting", unit="experiments") as progress:
        report = write_report(results, report_at, progress)
    quick = sizes is not None or any(one.is_quick(options.size) for one in chosen)
    print(f"\n{report.screen(*following(options, quick))}\nThis run took {clock(time.perf_counter() - begin)}.")
    return 0


def following(options: argparse.Namespace, quick: bool) -> list[str]:
    """Return what to do after a run: run in full what was not, or open the page; `quick` says whether there is such a thing."""
    if not quick:
        return ["open the page in a browser"]
    minutes = "" if options.experiments or options.without else ", in tens of minutes"
    return [f"`{in_full(options)}` judges all{minutes}"]


def select(options: argparse.Namespace) -> "list[Experiment]":
    """Return the experiments that were asked for, the main table with policies of one's own."""
    from latentbandits.settings import InvalidValueError
    from latentbandits_studies.data import traces
    from latentbandits_studies.experiments.registry import experiments

    chosen = experiments(options.experiments, options.without)
    if options.data is not None:
        os.environ[traces.VARIABLE] = options.data
    if any(one.brought for one in chosen):
        print("Traces        " + ("\n" + 14 * " ").join(trace.name for trace in traces.load()), flush=True)
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
    words += ["--data", options.data] if options.data is not None else []
    words += ["--full", *(["--out", options.out] if options.out else [])]
    return shlex.join(words)


def line(outcome: "Outcome") -> str:
    """Return what came of an experiment: how long it took, what was found from before, and its verdicts."""
    from latentbandits_studies.experiments.registry import ids
    from latentbandits_studies.report.verdicts import brief

    cells, width = outcome.reused + outcome.computed, max(map(len, ids(brought=True)))
    reused = f" ({outcome.reused} of {cells} cells found)" if outcome.reused else ""
    return f"{outcome.experiment.id:{width}} {outcome.seconds:6.1f} s  {brief(outcome.claims)}{reused}"

"""Play any policies on the same runs of any problem and rank them."""

import argparse
from pathlib import Path

from latentbandits.cli import problem

SUMMARY = "play any policies on any world and rank them"
EXAMPLES = (
    "latentbandits compare --states 5 --noise 0.1 --policies state-library adasp-ucb:staleness=12",
    "latentbandits compare --policies all --groups 2 --horizon 20000 --runs 32",
    "latentbandits compare --write-example problem.toml",
)

HINT = "; `latentbandits advise` finds when another policy would win, `latentbandits tune` finds settings."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    problem.configure(parser, "What is left out is as in the paper's default world.")
    problem.workers(parser)
    problem.policies(
        parser,
        "what to compare (default: six usual ones; `all`: all that the groups permit; `paper`: those of the paper)",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON instead of the table")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("compare.svg"),
        help="file to write: a figure (.svg, .png, .pdf), a page (.html), the table (.csv) or everything (.json) (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Simulate, print the table, write the figure."""
    from latentbandits.advice.compare import Comparison, compare
    from latentbandits.presentation.progress import Progress

    described = problem.build_problem(options)
    problem.check_ending(options.out, Comparison.owner, *Comparison.suffixes)
    with problem.playing(options) as executor:
        progress = Progress("comparing")
        comparison = compare(described, workers=options.workers, executor=executor, progress=progress)
    comparison.save(options.out)
    following = f"Next: open {options.out}" + ("." if comparison.record else HINT)
    problem.answer(comparison, options.json, *problem.python_lines(comparison.python(options.out)), following)
    return 0

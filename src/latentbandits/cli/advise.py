"""Find which policy suits a problem, how sure that is, what it costs to be wrong, and when the advice would flip."""

import argparse
from pathlib import Path

from latentbandits.cli import problem

SUMMARY = "recommend a policy for a problem, with its confidence and when another would win"
EXAMPLES = (
    'latentbandits advise --arms 4 --states "3 to 20" --dwell "200 to 500" --noise 0.3',
    "latentbandits advise problem.toml --policies state-library cp-ts ucb1 --out advice.html",
    "latentbandits advise diagnosis.npz",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    fit = ", or the diagnosis.npz that `latentbandits diagnose` writes: then the advice is by what the log shows"
    problem.configure(parser, "What is left out is taken as unknown and ranges widely.", fit)
    problem.workers(parser)
    problem.policies(parser, "candidates (default: all that the groups permit; `paper`: those of the paper)")
    parser.add_argument(
        "--no-flips",
        action="store_true",
        help="do not look for when the advice would flip, which takes most of the time",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        help="time to spend, without compiling: first on the choice, then on measuring it, then on flips; what is left undone is said, "
        "and depends on the clock (default: %(default)g; 0: as long as it takes, always with the same result)",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON instead of text")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("advice.html"),
        help="file to write: a page (.html), a figure (.svg, .png, .pdf), the candidates (.csv) or everything (.json) "
        "(default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Advise, print the advice, write the page."""
    from latentbandits.advice.advise import Advice, advise
    from latentbandits.presentation.progress import Progress

    problem.check_ending(options.out, Advice.owner, *Advice.suffixes)
    if str(options.problem or "").endswith(".npz"):
        return advise_on_log(options)
    described = problem.build_problem(options)
    with problem.playing(options) as executor:
        advice = advise(
            described, sweep=not options.no_flips, seconds=options.seconds or None, workers=options.workers,
            executor=executor, progress=Progress("advising;"),
        )  # fmt: skip
    advice.save(options.out)
    settings = f"`latentbandits tune {advice.winner} {problem.as_options(advice.problem)}` looks for better settings"
    lines = [*problem.python_lines(advice.python(options.out)), f"Next: open {options.out}; {settings}."]
    problem.answer(advice, options.json, *lines)
    return 0


def advise_on_log(options: argparse.Namespace) -> int:
    """Advise on what `latentbandits diagnose` wrote."""
    from latentbandits.logs.diagnosis import Diagnosis
    from latentbandits.presentation.progress import Progress
    from latentbandits.settings import check_int

    sizes = {"horizon": options.horizon, "runs": options.runs, "seed": options.seed}
    given = {
        word: None if text is None else check_int("advise", word, problem.parse(word, text))
        for word, text in sizes.items()
    }
    with problem.playing(options) as executor:
        advice = Diagnosis.load(options.problem).advise(
            options.policies, sweep=not options.no_flips, seconds=options.seconds or None, workers=options.workers,
            executor=executor, progress=Progress("advising;"), **given,
        )  # fmt: skip
    advice.save(options.out)
    problem.answer(advice, options.json, "", f"Next: open {options.out}.")
    return 0

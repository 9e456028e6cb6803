"""Find which policy suits a problem, how sure that is, what it costs to be wrong, and when the advice would flip."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from latentbandits.cli import problem

if TYPE_CHECKING:
    from latentbandits.advice.advise import Advice
    from latentbandits.advice.base import BaseProblem
    from latentbandits.logs.diagnosis import Diagnosis

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
        "--no-sweep",
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
    described, sizes = read(options)
    with problem.playing(options) as executor:
        advice = advise(
            described, options.policies, sweep=not options.no_sweep, seconds=options.seconds or None,
            workers=options.workers, executor=executor, progress=Progress("advising"), **sizes,
        )  # fmt: skip
    advice.save(options.out)
    opened = f"Next: open {options.out}"
    if sizes:
        problem.answer(advice, options.json, "", f"{opened}.")
        return 0
    problem.answer(
        advice, options.json, *problem.python_lines(advice.python(options.out)), f"{opened}{settings_step(advice)}."
    )
    return 0


def settings_step(advice: "Advice") -> str:
    """Return the command that looks for better settings of the winner; nothing if `tune` would refuse it, as it has none to search."""
    from latentbandits.advice.tune import prepare
    from latentbandits.settings import InvalidValueError

    try:
        prepare(advice.problem, advice.winner, None, {})
    except InvalidValueError:
        return ""
    return f"; `latentbandits tune {advice.winner} {problem.as_options(advice.problem)}` looks for better settings"


def read(options: argparse.Namespace) -> "tuple[BaseProblem | Diagnosis, dict[str, int | None]]":
    """Return the problem of file and options, or the diagnosis that `latentbandits diagnose` wrote and the sizes that it takes."""
    if not str(options.problem or "").endswith(".npz"):
        return problem.build_problem(options), {}
    from latentbandits.logs.diagnosis import Diagnosis
    from latentbandits.settings import InvalidValueError, check_int

    sizes: dict[str, int | None] = dict.fromkeys(("horizon", "runs", "seed"))
    for word, value in problem.given_words(options).items():
        if word in sizes:
            sizes[word] = check_int("advise", word, value)
        elif word != "policies":
            raise InvalidValueError("advise", word, value, "left out for a log, which says what it is")
    return Diagnosis.load(options.problem), sizes

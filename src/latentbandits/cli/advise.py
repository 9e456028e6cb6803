"""Find which policy suits a problem, how sure that is, what it costs to be wrong, and when the advice would flip."""

import argparse
from pathlib import Path
from typing import Any

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
    problem.policies(parser, "candidates (default: all that the units permit; `paper`: those of the paper)")
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
    if options.write_example is not None:
        return problem.write_example(options.write_example, f"latentbandits advise {options.write_example}")
    from latentbandits.advice.advise import Advice, advise
    from latentbandits.presentation.progress import Progress

    problem.ending(options.out, Advice.owner, *Advice.suffixes)
    seconds = options.seconds or None
    title = "advising;"
    if str(options.problem or "").endswith(".npz"):
        with problem.playing(options) as executor:
            played = {"executor": executor, "progress": Progress(title), "seconds": seconds}
            return fitted(options, played)
    described = problem.described(options)
    with problem.playing(options) as executor:
        advice = advise(
            described, sweep=not options.no_flips, seconds=seconds, workers=options.workers, executor=executor,
            progress=Progress(title),
        )  # fmt: skip
    advice.save(options.out)
    problem.answer(advice, options.json, terminal_text(advice, options.out))
    return 0


def fitted(options: argparse.Namespace, played: dict[str, Any]) -> int:
    """Advise on what `latentbandits diagnose` wrote."""
    from latentbandits.logs.diagnosis import Diagnosis

    sizes = {word: getattr(options, word) for word in ("horizon", "runs", "seed")}
    parsed = {word: None if text is None else problem.parsed(word, text) for word, text in sizes.items()}
    found = Diagnosis.load(options.problem)
    advice = found.advise(options.policies, sweep=not options.no_flips, workers=options.workers, **played, **parsed)
    advice.save(options.out)
    problem.answer(advice, options.json, f"{advice.text()}\n\nNext: open {options.out}.")
    return 0


def terminal_text(advice: Any, path: Path) -> str:
    """Return what the terminal shows."""
    options = problem.as_options(advice.problem)
    return "\n".join(
        [
            advice.text(),
            *problem.python_lines(advice.python(path)),
            f"Next: open {path}; `latentbandits tune {advice.winner} {options}` looks for better settings.",
        ]
    )

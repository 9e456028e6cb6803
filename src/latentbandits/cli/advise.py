"""Say which policy suits a problem, how sure that is, what it costs to be wrong, and when the advice would flip."""

import argparse
from pathlib import Path
from typing import Any

from latentbandits.cli import problem


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    problem.configure(parser, "What is left out is taken as unknown and ranges widely.")
    problem.policies(parser, "candidates (default: all that the units permit; `paper`: those of the paper)")
    parser.add_argument(
        "--no-flips",
        action="store_true",
        help="do not look for when the advice would flip, which takes most of the time",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON instead of words")
    parser.add_argument("--out", type=Path, default=Path("advice.html"), help="page to write (default: %(default)s)")


def run(options: argparse.Namespace) -> int:
    """Advise, print the advice, write the page."""
    if options.write_example is not None:
        return problem.write_example(options.write_example, f"latentbandits advise {options.write_example}")
    from latentbandits.advice.advise import advise
    from latentbandits.presentation.progress import Counter

    described = problem.described(options)
    problem.ending(options.out, "advise", ".html")
    counter = Counter("first use compiles; choosing, measuring, looking for flips;")
    try:
        advice = advise(
            described, described.policies, sweep=not options.no_flips, workers=options.workers, progress=counter
        )
    finally:
        counter.close()
    problem.write(options.out, advice.page().encode(), "advise")
    print(as_json(advice) if options.json else told(advice, options.out))
    return 0


def told(advice: Any, page: Path) -> str:
    """Return what the terminal shows."""
    parts = [
        advice.text(),
        "",
        "The same in Python:",
        *(f"    {line}".rstrip() for line in advice.python().splitlines()),
        "",
        f"Next: open {page}; `latentbandits tune {advice.winner} {problem.as_options(advice.problem)}` looks for better settings.",
    ]
    return "\n".join(parts)


def as_json(advice: Any) -> str:
    """Return everything but single runs as JSON."""
    import json

    from latentbandits.settings import describe

    def records(frame: Any) -> Any:
        return json.loads(frame.reset_index().to_json(orient="records", double_precision=15))

    about = {
        "problem": problem.as_words(advice.problem),
        "policy": advice.winner,
        "settings": dict(describe(advice.policy)),
        "sure": advice.sure,
        "runner_up": advice.runner_up,
        "fresh": records(advice.ranking),
        "costs": records(advice.costs),
        "candidates": records(advice),
        "flips": json.loads(advice.flips.to_json(orient="records", double_precision=15)),
        "theory": records(advice.theory),
        "python": advice.python(),
    }
    return json.dumps(about, indent=1)

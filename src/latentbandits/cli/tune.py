"""Find settings of one policy for a problem: searched on some worlds, judged against the defaults on others."""

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from latentbandits.cli import problem

if TYPE_CHECKING:
    from latentbandits.advice.tune import Tuning

SUMMARY = "find settings of one policy for a problem, judged on worlds that it was not tuned on"
EXAMPLES = (
    "latentbandits tune adasp-ucb --states 5 --noise 0.1",
    'latentbandits tune sw-ucb problem.toml --search window="20 to 2000" --trials 30',
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "policy",
        metavar="POLICY",
        help="NAME, NAME:KEY=VALUE,... (these settings stay as they are), MODULE:CLASS or FILE.toml",
    )
    problem.configure(parser, "What is left out is as in the paper's default world.")
    problem.workers(parser)
    parser.add_argument(
        "--search",
        nargs="+",
        metavar="KEY=RANGE",
        help='search only these: staleness="5 to 200" min_gap=2,4,8 (default: every number that changes how the policy behaves)',
    )
    parser.add_argument("--trials", type=int, default=60, metavar="N", help="settings to try (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print everything as JSON instead of the text")
    parser.add_argument("--out", type=Path, help="settings to write (default: tuned-POLICY.toml)")
    parser.add_argument("--figure", type=Path, help="figure to write, .svg, .png or .pdf (default: --out, as .svg)")


def run(options: argparse.Namespace) -> int:
    """Search, judge, write settings and figure, and print what was found."""
    from latentbandits.advice.tune import tune
    from latentbandits.presentation.progress import Progress

    described = problem.build_problem(options)
    out, figure = output_paths(options)
    with problem.playing(options) as executor, Progress("tuning", unit="trials") as progress:
        tuning = tune(
            described,
            options.policy,
            search=parse_search(options.search),
            trials=options.trials,
            workers=options.workers,
            executor=executor,
            progress=progress,
        )
        plotted = tuning.content(figure.suffix.lower())
    tuning.save(out)
    problem.write(figure, plotted, "tune", "--figure")
    files = f"{out}: {'the tuned settings' if tuning.recommended else 'the defaults'}. {figure}: the search and the verdict."
    lines = [*problem.python_lines(tuning.python(out)), files, f"Next: {next_step(tuning, options.policy, out)}"]
    problem.answer(tuning, options.json, *lines)
    return 0


def output_paths(options: argparse.Namespace) -> tuple[Path, Path]:
    """Return the paths of settings and figure, or refuse them; nothing is written yet."""
    from latentbandits.advice.result import FIGURES
    from latentbandits.settings import InvalidValueError
    from latentbandits.specs import file_stem

    stem = file_stem(options.policy)
    out = options.out or Path(f"tuned-{stem}.toml")
    figure = options.figure or out.with_suffix(".svg")
    problem.check_ending(out, "tune", ".toml")
    problem.check_ending(figure, "tune", *FIGURES, option="--figure")
    for other in (options.policy, options.problem):
        if other is not None and Path(other).resolve() == out.resolve():
            raise InvalidValueError("tune", "--out", str(out), "a file that has no other part in this")
    return out, figure


def parse_search(given: list[str] | None) -> dict[str, object] | None:
    """Return the settings to search.

    Examples
    --------
    >>> from latentbandits.cli.tune import parse_search
    >>> parse_search(["staleness=5 to 200", "min_gap=2,4,8"])
    {'staleness': '5 to 200', 'min_gap': [2, 4, 8]}
    """
    from latentbandits.settings import InvalidValueError
    from latentbandits.specs import setting

    if given is None:
        return None
    search: dict[str, object] = {}
    for key, where in (setting("tune: --search", text) for text in given):
        if key in search:
            raise InvalidValueError("tune", "--search", key, "given only once")
        search[key] = where
    return search


def next_step(tuning: "Tuning", policy: str, out: Path) -> str:
    """Return what to do next: use the tuned settings, or try other policies."""
    where = problem.as_options(tuning.problem)
    if not tuning.recommended:
        return f"`latentbandits advise {where}`, another policy may suit better."
    names = shlex.join([policy, str(out)])
    return f"`latentbandits compare {where} --policies {names}`, or `lb.Agent({str(out)!r})` in your own program."

"""Find settings of one policy for a problem: searched on some worlds, judged against the defaults on others."""

import argparse
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from latentbandits.cli import problem
from latentbandits.presentation.terminal import show, with_bar

SUMMARY = "find settings of one policy for a problem, judged on worlds that it was not tuned on"
RESUMES = True
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
    parser.add_argument(
        "--study",
        type=Path,
        metavar="FILE",
        help="file that stores the trials (default: one beside --out for each problem)",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON instead of the text")
    parser.add_argument("--out", type=Path, help="settings to write (default: tuned-POLICY.toml)")
    parser.add_argument("--figure", type=Path, help="figure to write, .svg, .png or .pdf (default: --out, as .svg)")


def run(options: argparse.Namespace) -> int:
    """Search, judge, write settings and figure, and print what was found."""
    if options.write_example is not None:
        step = f"latentbandits tune {options.policy} {options.write_example}"
        return problem.write_example(options.write_example, step)
    progress = Trials()
    try:
        from latentbandits.advice.tune import tune

        described = problem.described(options)
        out, figure, study = output_paths(options, described)
        with problem.playing(options) as executor:
            tuning = tune(
                described,
                options.policy,
                search=parse_search(options.search),
                trials=options.trials,
                study=study,
                workers=options.workers,
                executor=executor,
                progress=progress,
            )
        plotted = tuning.content(figure.suffix.lower())
    finally:
        progress.close()
    tuning.save(out)
    problem.write(figure, plotted, "tune", "--figure")
    if options.json:
        print(as_json(tuning, out))
    else:
        show(summary(tuning, options, out, figure, study))
    return 0


def output_paths(options: argparse.Namespace, described: Any) -> tuple[Path, Path, Path]:
    """Return the paths of settings, figure and study, or refuse them; nothing is written yet.

    The study's name has a digest of the problem, so that each problem has its own and the same command finds it again.
    """
    import hashlib

    from latentbandits.advice.result import FIGURES
    from latentbandits.settings import Refusal
    from latentbandits.specs import file_stem

    stem = file_stem(options.policy)
    out = options.out or Path(f"tuned-{stem}.toml")
    figure = options.figure or out.with_suffix(".svg")
    digest = hashlib.sha256(repr((options.policy, described, options.search)).encode()).hexdigest()[:6]
    study = options.study or out.with_name(f"tune-{stem}-{digest}.study")
    problem.ending(out, "tune", ".toml")
    problem.ending(figure, "tune", *FIGURES, option="--figure")
    for other in (options.policy, options.problem, study):
        if other is not None and Path(other).resolve() == out.resolve():
            raise Refusal("tune", "--out", str(out), "a file that has no other part in this")
    return out, figure, study


def parse_search(given: list[str] | None) -> dict[str, Any] | None:
    """Return the settings to search.

    Examples
    --------
    >>> from latentbandits.cli.tune import parse_search
    >>> parse_search(["staleness=5 to 200", "min_gap=2,4,8"])
    {'staleness': '5 to 200', 'min_gap': [2, 4, 8]}
    """
    from latentbandits.settings import Refusal
    from latentbandits.specs import setting

    if given is None:
        return None
    found: dict[str, Any] = {}
    for key, where in (setting("tune: --search", one) for one in given):
        if key in found:
            raise Refusal("tune", "--search", key, "given only once")
        found[key] = where
    return found


class Trials:
    """One line on the error stream that counts trials; silent where that is no terminal."""

    def __init__(self) -> None:
        self._begin, self._stored, self._watched = 0.0, -1, sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        """Show the number of trials that are done; the last step is the held-out worlds."""
        if self._stored < 0:  # the trials that the study file had already took no time
            self._begin, self._stored = time.perf_counter(), done
        new, trials = done - self._stored, total - 1
        left = f"  {(time.perf_counter() - self._begin) / new * (trials - done):4.0f} s left" if new else ""
        line = f"trial {done + 1} of {trials}{left}" if done < trials else "held-out worlds" if done < total else ""
        self._show(with_bar(line, done / total, sys.stderr) if line else "")

    def close(self) -> None:
        """Wipe the line."""
        if self._stored >= 0:
            self._show("")

    def _show(self, line: str) -> None:
        if self._watched:
            sys.stderr.write("\r\x1b[K" + line)
            sys.stderr.flush()


def summary(tuning: Any, options: argparse.Namespace, out: Path, figure: Path, study: Path) -> str:
    """Return what the terminal shows."""
    parts = [
        tuning.text(),
        *problem.python_lines(tuning.python(out)),
        f"{out}: {'the tuned settings' if tuning.recommended else 'the defaults'}. {figure}: the search and the verdict. "
        f"{study}: all trials; the same command with more --trials continues from there.",
        f"Next: {next_step(tuning, options, out)}",
    ]
    return "\n".join(parts)


def next_step(tuning: Any, options: argparse.Namespace, out: Path) -> str:
    """Return what to do next: use the tuned settings, or try other policies."""
    where = problem.as_options(tuning.problem)
    if not tuning.recommended:
        return f"`latentbandits advise {where}`, another policy may suit better."
    names = shlex.join([options.policy, str(out)])
    return f"`latentbandits compare {where} --policies {names}`, or `lb.Agent({str(out)!r})` in your own program."


def as_json(tuning: Any, out: Path) -> str:
    """Return everything as JSON, with the file that was written in the Python code."""
    import json

    return json.dumps(tuning.values() | {"python": tuning.python(out)}, indent=1)

"""Play any policies on the same runs of any world and rank them."""

import argparse
from pathlib import Path
from typing import Any

from latentbandits.cli import problem

HINT = "; `latentbandits advise` says when another policy would win, `latentbandits tune` finds settings."


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    problem.configure(parser, "What is left out is as in the paper's default world.")
    problem.policies(parser, "what to compare (default: six usual ones)")
    parser.add_argument("--json", action="store_true", help="print everything as JSON instead of the table")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("compare.svg"),
        help="figure to write, .svg, .png or .pdf (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Simulate, print the table, write the figure."""
    if options.write_example is not None:
        return problem.write_example(options.write_example, f"latentbandits compare {options.write_example}")
    from latentbandits.advice.compare import compare
    from latentbandits.presentation.palette import saved
    from latentbandits.presentation.progress import Progress

    described = problem.described(options)
    form = problem.ending(options.out, "compare", ".svg", ".png", ".pdf")
    ranking = compare(
        described, described.policies, workers=options.workers, progress=Progress("first use compiles;")
    )
    problem.write(options.out, saved(ranking.plot(), form), "compare")
    print(as_json(ranking) if options.json else told(ranking, options.out))
    return 0


def told(ranking: Any, figure: Path) -> str:
    """Return what the terminal shows."""
    parts = [
        ranking.text(),
        "",
        "The same in Python:",
        *(f"    {line}".rstrip() for line in ranking.python(figure).splitlines()),
        "",
        f"Next: open {figure}" + ("." if ranking["low"].isna().all() else HINT),
    ]
    return "\n".join(parts)


def as_json(ranking: Any) -> str:
    """Return everything but single runs as JSON."""
    import json

    results = ranking.results
    means = {name: results.regret_bins[i].mean(axis=0).cumsum().tolist() for i, name in enumerate(results.labels)}
    rows = json.loads(ranking.reset_index().to_json(orient="records", double_precision=15))
    about = {
        "problem": problem.as_words(ranking.world),
        "horizon": results.horizon,
        "runs": results.draws,
        "seed": results.seed,
        "python": ranking.python(),
        "policies": [row | {"regret_over_time": means[row["policy"]]} for row in rows],
        "rounds": results.edges[1:].tolist(),
    }
    return json.dumps(about, indent=1)

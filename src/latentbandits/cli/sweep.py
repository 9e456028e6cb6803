"""Advise on many problems, or tune a policy for each: what is finished is kept, and one table comes at the end."""

import argparse

from latentbandits.cli import problem

EXAMPLES = (
    "latentbandits sweep shop.toml routing.toml --out shared",
    "latentbandits sweep shop.toml routing.toml --out shared --tune sw-ucb --shard 3/64",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("problems", nargs="+", metavar="FILE", help="TOML files that describe the problems")
    parser.add_argument(
        "--out",
        required=True,
        help="folder for results, which machines may share, or an address such as s3://BUCKET/FOLDER",
    )
    problem.workers(parser)
    problem.policies(parser, "candidates (default: as for `advise`)")
    parser.add_argument("--no-flips", action="store_true", help="do not look for when the advice would flip")
    parser.add_argument("--tune", metavar="POLICY", help="tune this policy for each problem instead of advising")
    parser.add_argument("--trials", type=int, default=60, metavar="N", help="settings to try (default: %(default)s)")
    parser.add_argument(
        "--shard", metavar="I/N", help="only share I of N of the problems; a call without it merges all shares"
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="refuse results that different builds (NumPy, numba, processor, ...) have computed",
    )


def run(options: argparse.Namespace) -> int:
    """Do one problem after the other, then print the table."""
    from latentbandits.advice.sweep import sweep
    from latentbandits.experiments.store import Shard
    from latentbandits.presentation.numbers import aligned
    from latentbandits.presentation.progress import Progress

    problem.refuse_passing("sweep", options.out)
    share = None if options.shard is None else Shard.of(options.shard, "sweep")
    with problem.playing(options) as (executor, workers), Progress("sweeping;", more=workers) as progress:

        def finished(path: str, headline: str) -> None:
            progress.close()
            print(f"{path}: {headline}", flush=True)

        found = sweep(
            options.problems,
            options.out,
            policies=options.policies,
            flips=not options.no_flips,
            tuned=options.tune,
            trials=options.trials,
            shard=share,
            workers=options.workers,
            executor=executor,
            progress=progress,
            finished=finished,
            strict=options.strict,
        )
    if len(found.builds) > 1:
        print(f"Results of builds {', '.join(found.builds)} are in one table: the probes of their engines agree.")
    if found.left:
        print(f"{len(found.left)} of {len(options.problems)} problems are left. Next: the other shards.")
        return 0
    table = found.table
    lines = [
        [f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in table.itertuples(index=False)
    ]
    print("\n" + aligned(list(table.columns), lines))
    print(f"\nNext: {options.out.rstrip('/')}/sweep.csv is this table; sweep/ has everything about each problem.")
    return 0

"""Compare all policies on the paper's default world: ten hidden states, two arms, a change every hundred rounds."""

import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--runs", type=int, default=32, help="worlds, each played once by every policy (default: %(default)s)"
    )
    parser.add_argument("--horizon", type=int, default=20_000, help="rounds per run (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="names all randomness (default: %(default)s)")


def run(options: argparse.Namespace) -> int:
    """Simulate and print the table."""
    from latentbandits.advice.compare import compare
    from latentbandits.advice.problem import Problem
    from latentbandits.policies.registry import REGISTRY
    from latentbandits.presentation.progress import Progress

    problem = Problem(units=2, runs=options.runs, horizon=options.horizon, seed=options.seed)
    comparison = compare(problem, list(REGISTRY), progress=Progress("first use compiles for some seconds;"))
    print(comparison.text())
    print(
        "Next: `latentbandits policies state-library` shows the settings of a policy; the README shows one in your own program."
    )
    return 0

"""Show a policy at work on one run: the hidden state, the arms it plays, why it probes, what it believes and what that costs."""

import argparse
from pathlib import Path

from latentbandits.cli import problem

SUMMARY = "show a policy at work on one run"
EXAMPLES = (
    "latentbandits trace state-library --states 5 --noise 0.1",
    "latentbandits trace adasp-ucb:staleness=12 --start 400 --rounds 200 --out trace.png",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("policy", metavar="POLICY", help="NAME, NAME:KEY=VALUE,..., MODULE:CLASS or FILE.toml")
    problem.configure(parser, "What is left out is as in the paper's default world.")
    parser.add_argument("--start", type=int, metavar="ROUND", help="first round shown; those before are played too")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds shown")
    parser.add_argument(
        "--out", type=Path, help="file to write, .svg, .png, .pdf, .html, .csv or .json (default: trace-POLICY.svg)"
    )


def run(options: argparse.Namespace) -> int:
    """Play one run, write the file and print the sums."""
    from latentbandits.advice.trace import Trace, trace
    from latentbandits.specs import file_stem

    described = problem.build_problem(options)
    out = options.out or Path(f"trace-{file_stem(options.policy)}.svg")
    problem.check_ending(out, "trace", *Trace.suffixes)
    traced = trace(described, options.policy, start=options.start, rounds=options.rounds)
    content = traced.content(out.suffix.lower())
    problem.write(out, content, "trace")
    print(
        f"{out}: {traced.text()} Next: open it; --start and --rounds show other rounds, NAME:KEY=VALUE other settings."
    )
    return 0

"""Routing: six language models, requests whose mix changes, and much noise. The story is docs/problems/routing.md.

``python examples/routing.py`` takes seconds on few, short runs; ``--full`` has the sizes of the story and takes minutes.
"""

import argparse

import latentbandits as lb

# The last one is the class of skeleton.py, beside this file
POLICIES = [
    "state-library",
    "state-library-forgetful",
    "adasp-ucb",
    "ucb1",
    "ab-test:test=500",
    "skeleton:WinStayLoseShift:tolerance=0.5",
]


def main(horizon: int = 2000, runs: int = 16, trials: int = 5, full: bool = False) -> None:
    """Compare policies with one of your own, ask for advice, and look for better settings of the paper's policy."""
    if full:
        horizon, runs, trials = 5000, 64, 60
    problem = lb.Problem(
        arms=6,
        means="0 to 1",  # score of an answer less its price
        noise=0.5,  # a single score says little
        states="3 to 8",  # mixes of requests
        dwell="20 to 60",  # requests until the mix changes
        horizon=horizon,
        runs=runs,
    )
    print(lb.compare(problem, POLICIES).text(), end="\n\n")
    print(lb.advise(problem, "all" if full else POLICIES, sweep=full).text(), end="\n\n")

    tuning = lb.tune(problem, "adasp-ucb", trials=trials)
    print(tuning.text(), end="\n\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="the sizes of the story (minutes)")
    main(full=parser.parse_args().full)

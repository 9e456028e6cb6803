"""Pricing: four prices, two regions and a market with moods. The story is docs/problems/pricing.md.

``python examples/pricing.py`` takes seconds on few, short runs; ``--full`` has the sizes of the story and takes minutes.
"""

import argparse

import latentbandits as lb

POLICIES = [
    "state-library:groups=2",
    "state-library",
    "state-library-forgetful",
    "adarp-ucb:groups=2",
    "sw-ucb:window=1000",
    "ucb1",
    "ab-test:test=672",
]


def main(horizon: int = 2000, runs: int = 16, full: bool = False) -> None:
    """Compare policies, ask for advice, and look at single worlds: an average can hide a bad year."""
    if full:
        horizon, runs = 8760, 64
    problem = lb.Problem(
        arms=4,
        means="0 to 1",  # profit of an hour
        noise=0.3,  # of the profit of the whole market
        states="2 to 4",  # moods of the market
        dwell="300 to 2000",  # hours that a mood lasts
        groups=2,  # the regions
        horizon=horizon,
        runs=runs,
    )
    print(lb.compare(problem, POLICIES).text(), end="\n\n")
    print(lb.advise(problem, "all" if full else POLICIES, runs=200 if full else runs, sweep=False).text(), end="\n\n")

    names = ["state-library:groups=2", "state-library:groups=2,low=0,high=1", "state-library-forgetful"]
    results = lb.simulate(problem, names, horizon=horizon, draws=10 if full else 3, repeats=1, first=50)
    for label, regret in zip(results.labels, results.regret, strict=True):
        print([round(run) for run in regret], label)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="the sizes of the story (minutes)")
    main(full=parser.parse_args().full)

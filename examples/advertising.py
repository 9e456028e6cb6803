"""Advertising: two teasers, a click or none, and an audience that nobody sees. The story is docs/problems/advertising.md.

``python examples/advertising.py`` takes seconds on few, short runs; ``--full`` has the sizes of the story and takes minutes.
"""

import argparse

import latentbandits as lb

POLICIES = ["state-library", "state-library-forgetful", "glr-ucb", "ucb1", "ts", "ab-test:test=2000"]


def main(horizon: int = 4000, runs: int = 16, trials: int = 5, full: bool = False) -> None:
    """Compare policies, ask for advice, tune UCB1 and use the result."""
    if full:
        horizon, runs, trials = 20_000, 64, 20
    problem = lb.Problem(
        rewards="bernoulli",
        arms=2,
        means="0.02 to 0.2",  # click rates
        states="2 to 5",  # kinds of audience
        dwell="500 to 3000",  # visitors until the audience changes
        horizon=horizon,
        runs=runs,
    )
    print(lb.compare(problem, POLICIES).text(), end="\n\n")

    advice = lb.advise(problem, "all" if full else POLICIES, sweep=full)
    print(advice.text(), end="\n\n")

    tuning = lb.tune(problem, "ucb1", trials=trials)
    print(tuning.text(), end="\n\n")

    agent = lb.Agent(advice.policy)
    decision = agent.ask()
    agent.tell(decision, rewards=0)  # no click


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="the sizes of the story (minutes)")
    main(full=parser.parse_args().full)

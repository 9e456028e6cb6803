"""A nightly job: learn from the rewards that arrived today, decide for tomorrow, save, end.

``python examples/batch_job.py rewards.csv customers.csv decisions.csv`` reads rewards (columns decision, reward) and customers (column
customer), and writes a decision for each (columns customer, message, decision, probability). Run it again tomorrow with the rewards of
these decisions: the agent is kept in ``messages.agent``.
"""

import argparse
import csv
from pathlib import Path

import latentbandits as lb

MESSAGES = ["reminder", "discount", "story"]


def main(rewards: Path, customers: Path, decisions: Path, file: Path = Path("messages.agent")) -> tuple[int, int]:
    """Learn, decide and save; returns how many rewards were learned and how many were refused."""
    # five messages in a hundred are sent at random, with known probabilities: the log can be evaluated for other policies later
    agent = (
        lb.Agent.load(file)
        if file.exists()
        else lb.Agent(
            "state-library", arms=MESSAGES, floor=0.05, max_open=1_000_000
        )  # messages that wait for an answer
    )
    learned = refused = 0
    if rewards.exists():
        with rewards.open(newline="") as rows:
            for row in csv.DictReader(rows):
                try:
                    agent.tell(row["decision"], float(row["reward"]))
                    learned += 1
                except (KeyError, ValueError) as problem:  # no number, told before, not ours: nothing has changed
                    refused += 1
                    if refused == 1:
                        print(problem)
    with customers.open(newline="") as people, decisions.open("w", newline="") as out:
        written = csv.writer(out)
        written.writerow(["customer", "message", "decision", "probability"])
        for row in csv.DictReader(people):
            decision = agent.ask(subject=row["customer"])
            written.writerow([row["customer"], decision.arm, decision.id, decision.probability])
    agent.save(file)  # before the messages are sent: a decision that is not saved cannot be told
    print(f"{learned} rewards learned, {refused} refused; {decisions} written")
    return learned, refused


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("rewards", "customers", "decisions"):
        parser.add_argument(name, type=Path)
    main(**vars(parser.parse_args()))

"""Where StateLibrary's regret comes from in short runs: ``python -m benchmarks.short --rounds 500 --draws 256``.

Plays the world of the main table's first row and adds up the regret of rounds by why they had any: a look at an arm, the surprise of a
change, or what was believed.
"""

import argparse
from collections import Counter

import latentbandits as lb
from latentbandits.presentation.numbers import aligned


def cause(reasons: tuple[str, ...], tried: bool, best_tried: bool, changed: bool, known: bool) -> str:
    """Return why a round had regret."""
    if reasons:
        return f"{reasons[0]}, {'looked at before' if tried else 'first look'} in this state"
    if changed:
        return f"the round of a change to a {'known' if known else 'new'} state"
    return f"greedy, the best arm was {'' if best_tried else 'never '}tried in this state"


def main() -> None:
    """Play, add up, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.short", description=__doc__)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--draws", type=int, default=256)
    parser.add_argument("--seed", type=int, default=1000)
    given = parser.parse_args()
    world, policy = lb.HiddenMarkov(), lb.policy("state-library", arms=2)
    regret: Counter[str] = Counter()
    rounds: Counter[str] = Counter()
    for draw in range(given.draws):
        made = world.realise(given.rounds, 1, given.seed, draw, 0)
        if made.states is None:
            raise AssertionError("a hidden Markov chain has states")
        agent, tried = lb.Agent(policy, seed=draw, compiled=True), set[tuple[int, int]]()
        for t, (state, means) in enumerate(zip(made.states.tolist(), made.means, strict=True)):
            decision = agent.ask()
            arm, best = int(decision.arm), int(means.argmax())
            known = any(seen == state for seen, _ in tried)
            changed = t > 0 and state != int(made.states[t - 1])
            why = cause(decision.probe_reasons, (state, arm) in tried, (state, best) in tried, changed, known)
            regret[why] += means[best] - means[arm]
            rounds[why] += int(arm != best)
            tried.add((state, arm))
            agent.tell(decision, float(made.rewards[t, 0, arm]))
    lines = [
        [why, f"{lost / given.draws:.3f}", f"{rounds[why] / given.draws:.2f}"] for why, lost in regret.most_common()
    ]
    print(aligned(["cause", "regret per run", "rounds"], lines))
    print(f"in all {sum(regret.values()) / given.draws:.3f}")


if __name__ == "__main__":
    main()

"""How many numbers a user is shown for the regimes of a world, and which stay: ``python -m benchmarks.regimes [--runs 16] [--seed 0]``.

First: six regimes of 50 rounds on average, three arms, 6,000 rounds; the belief is read in every fifth round from 500 on. Numbers of
regimes, beside the ids that the states of the heaviest particle have there.

Then, in six times as many runs: three regimes of 60 rounds, three arms, 2,000 rounds, with observed features and without. Of all regimes
that had been present for a while before a round, the share whose latest number then is the most common one of the second half.
"""

import argparse
from collections import Counter
from typing import Any

import numpy as np

import latentbandits as lb
from benchmarks.features import KINDS, Shown
from latentbandits.presentation.numbers import aligned

HORIZON, FIRST, EVERY, SETTLED = 6_000, 500, 5, 15
LENGTH, MOMENTS, FEATURES = 2_000, (50, 100, 200, 400), ("", "two binary features", "daily sine per arm")
COLUMNS = ("noise", "states", "by", "shown", "highest", "of one regime", "own share", "pure")


def read(noise: float, seed: int, draw: int) -> tuple[int, list[tuple[list[int], list[int], int, int]]]:
    """Play one run; returns the size of the library, and of every look numbers, ids, the place of the present state and the truth.

    The truth is -1 in the first rounds of a visit.
    """
    made = lb.HiddenMarkov(states=6, arms=3, noise=noise, stickiness=0.98).realise(HORIZON, 1, seed, draw, 0)
    assert made.states is not None
    agent = lb.Agent(lb.policy("state-library", arms=3), seed=draw, compiled=True)
    looks, visit = [], 0
    for t, state in enumerate(made.states.tolist()):
        decision = agent.ask()
        agent.tell(decision, float(made.rewards[t, 0, int(decision.arm)]))
        visit = visit + 1 if t and state == made.states[t - 1] else 1
        if t > FIRST and t % EVERY == 0:
            belief, memory = agent.belief, agent.memory
            ids = memory.library.states["id"][memory.library.core[0].best, : len(belief.states)].tolist()
            numbers = [one.number for one in belief.states]
            looks.append((numbers, ids, numbers.index(belief.current), state if visit > SETTLED else -1))
    return len(belief.states), looks


def judged(looks: list[tuple[list[int], int, int]]) -> tuple[float, ...]:
    """Return how many numbers were shown, the highest, how many of one regime, the share of its main one, and of a number's main regime."""
    shown = {number for numbers, _, _ in looks for number in numbers}
    pairs = [(truth, numbers[current]) for numbers, current, truth in looks if truth >= 0]
    table = np.zeros((6, max(shown) + 1))
    for truth, number in pairs:
        table[truth, number] += 1
    several = (table > 0).sum(axis=1)
    own, pure = table.max(axis=1).sum() / len(pairs), table.max(axis=0).sum() / len(pairs)
    return len(shown), max(shown), several[several > 0].mean(), own, pure


def kept(kind: str, world: Any, seed: int, draw: int) -> list[list[bool]]:
    """Play one run; returns for every moment, and every regime known then, whether it kept its number."""
    made = (Shown(kind, world, clicks=False) if kind else world).realise(LENGTH, 1, seed, draw, 0)
    agent = lb.Agent(lb.policy("state-library", arms=3, covariates=KINDS.get(kind, 0)), seed=draw, compiled=True)
    latest: dict[int, int] = {}
    later: dict[int, Counter[int]] = {}
    known, visit = [], 0
    for t, state in enumerate(made.states.tolist()):
        if t in MOMENTS:
            known.append(dict(latest))
        decision = agent.ask(made.context[t] if kind else None)
        agent.tell(decision, float(made.rewards[t, 0, int(decision.arm)]))
        visit = visit + 1 if t and state == made.states[t - 1] else 1
        present = agent.belief.present if visit > SETTLED and t % EVERY == 0 else None
        if present is not None:
            latest[state] = present.number
            if t >= LENGTH // 2:
                later.setdefault(state, Counter())[present.number] += 1
    return [
        [later[one].most_common(1)[0][0] == number for one, number in then.items() if one in later] for then in known
    ]


def print_kept(draws: int, seed: int) -> None:
    """Print the second table."""
    rows = []
    for noise in (0.1, 0.3):
        world = lb.HiddenMarkov(states=3, arms=3, dwell=60, noise=noise)
        for kind in FEATURES:
            runs = [kept(kind, world, seed, draw) for draw in range(draws)]
            shares = [np.mean([one for run in runs for one in run[place]]) for place in range(len(MOMENTS))]
            rows.append((f"{noise:g}", kind or "no features", *(f"{share:.2f}" for share in shares)))
    print(aligned(("noise", "features", *(f"round {moment}" for moment in MOMENTS)), rows))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regimes", description=__doc__)
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rows: list[tuple[str, ...]] = []
    for noise in (0.1, 0.3):
        runs = [read(noise, asked.seed, draw) for draw in range(asked.runs)]
        size = np.mean([known for known, _ in runs])
        for place, kind in enumerate(("number", "id")):
            found = [judged([(one[:2][place], one[2], one[3]) for one in looks]) for _, looks in runs]
            shown, highest, several, own, pure = np.mean(found, axis=0)
            words = (f"{shown:.1f}", f"{highest:.0f}", f"{several:.1f}", f"{own:.3f}", f"{pure:.3f}")
            rows.append((f"{noise:g}", f"{size:.1f}", kind, *words))
    print(aligned(COLUMNS, rows))
    print()
    print_kept(6 * asked.runs, asked.seed)


if __name__ == "__main__":
    main()

"""Clicks told as they happen, with a window and a default: ``python -m benchmarks.windows [--runs 8] [--seed 0]``.

Three arms of 2 to 10 %, 20,000 decisions, one a second; a click comes after a geometric number of seconds, a third of the window on
average, and within it. Every agent is told clicks when they happen and has ``default=0.0``: *censored* (of policies that can: others
wait, and say so), *at_window* and *at_once* are its setting `learn`.
*After the window* is what they are measured against: an agent without a window is told clicks and no clicks when it is over.
Regret, with 95 % intervals; all policies and ways are played on the same clicks and waits.
"""

import argparse

import numpy as np

import latentbandits as lb
from latentbandits.presentation.numbers import aligned

ROUNDS, WINDOW, RATES = 20_000, 200, [0.02, 0.06, 0.1]
DWELLS = {"one regime": ROUNDS, "dwell 4,000": 4_000}
POLICIES = ("state-library", "cp-ts", "epsilon-greedy", "ts")
WAYS = ("censored", "at_window", "at_once", "after the window")
World = tuple[np.ndarray, np.ndarray, np.ndarray]


def world(dwell: int, seed: int, run: int) -> World:
    """Return the rates of all arms in every round, whether each would be clicked, and how many seconds a click takes."""
    chance = np.random.default_rng([seed, run])
    table = np.array([np.roll(RATES, shift) for shift in range(len(RATES))])[np.arange(ROUNDS) // dwell % len(RATES)]
    waits = np.minimum(chance.geometric(3 / WINDOW, ROUNDS), WINDOW)
    return table, chance.random(table.shape) < table, waits


def regret(policy: str, way: str, made: World, seed: int) -> float:
    """Play one run."""
    table, clicks, waits = made
    seconds = 0.0
    window = {} if way == WAYS[-1] else {"window": WINDOW, "default": 0.0, "learn": way}
    agent = lb.Agent(policy, arms=table.shape[1], seed=seed, compiled=True, clock=lambda: seconds, **window)  # type: ignore[arg-type]
    due: list[list[tuple[str, float]]] = [[] for _ in range(ROUNDS + WINDOW)]
    lost = 0.0
    for t, (rates, clicked, wait) in enumerate(zip(table.tolist(), clicks.tolist(), waits.tolist(), strict=True)):
        seconds = float(t)
        for known, reward in due[t]:
            agent.tell(known, reward)
        decision = agent.ask()
        yes = clicked[decision.arm]
        if not window:
            due[t + WINDOW].append((decision.id, float(yes)))
        elif yes:
            due[t + wait - 1].append((decision.id, 1.0)) if wait > 1 else agent.tell(decision, 1.0)
        lost += max(rates) - rates[decision.arm]
    return lost


def main() -> None:
    """Print a row per world and way."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.windows", description=__doc__)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--policies", nargs="+", default=POLICIES)
    asked = parser.parse_args()
    rows: list[list[str]] = []
    for kind, dwell in DWELLS.items():
        drawn = [world(dwell, asked.seed, run) for run in range(asked.runs)]
        for way in WAYS:
            rows.append([kind, way])
            for policy in asked.policies:
                found = [regret(policy, way, made, run) for run, made in enumerate(drawn)]
                half = 1.96 * np.std(found, ddof=1) / np.sqrt(asked.runs)
                rows[-1].append(f"{np.mean(found):.0f} ± {half:.0f}")
    print(aligned(["world", "told or learned", *asked.policies], rows))


if __name__ == "__main__":
    main()

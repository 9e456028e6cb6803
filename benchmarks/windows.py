"""Clicks that are told when they happen, and no clicks when a window closes: ``python -m benchmarks.windows [--runs 16] [--seed 0]``.

Three arms, 15,000 rounds; a click comes after a geometric number of rounds, a third of the window on average, and within it. Told *as it
happens*, the newest rounds have clicks only; told *at the close*, clicks and no clicks wait equally long. Regret, with 95 % intervals; all
policies and both ways are played on the same clicks and waits.
"""

import argparse

import numpy as np

import latentbandits as lb
from latentbandits.presentation.numbers import aligned

ROUNDS, STRETCH, WINDOWS = 15_000, 3_000, (60, 600)
RATES = {"one state": [[0.3, 0.4, 0.2]], "two regimes": [[0.3, 0.4, 0.2], [0.2, 0.3, 0.4]]}
POLICIES = ("state-library", "cp-ts", "epsilon-greedy", "ts")
WAYS = ("as it happens", "at the close")


def world(rates: list[list[float]], window: int, seed: int, run: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rates of all arms in every round, whether each would be clicked, and how many rounds a click takes."""
    chance = np.random.default_rng([seed, run])
    table = np.array(rates)[np.arange(ROUNDS) // STRETCH % len(rates)]
    waits = np.minimum(chance.geometric(3 / window, ROUNDS), window)
    return table, chance.random(table.shape) < table, waits


def regret(policy: str, way: str, window: int, made: tuple[np.ndarray, np.ndarray, np.ndarray], seed: int) -> float:
    """Play one run."""
    table, clicks, waits = made
    agent = lb.Agent(policy, arms=table.shape[1], seed=seed, compiled=True)
    due: list[list[tuple[str, float]]] = [[] for _ in range(ROUNDS + window)]
    lost = 0.0
    for t, (rates, clicked, wait) in enumerate(zip(table.tolist(), clicks.tolist(), waits.tolist(), strict=True)):
        for known, reward in due[t]:
            agent.tell(known, reward)
        decision = agent.ask()
        yes = clicked[decision.arm]
        due[t + (wait if yes and way == WAYS[0] else window)].append((decision.id, float(yes)))
        lost += max(rates) - rates[decision.arm]
    return lost


def main() -> None:
    """Print a row per world, window and way."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.windows", description=__doc__)
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rows: list[list[str]] = []
    for kind, rates in RATES.items():
        for window in WINDOWS:
            drawn = [world(rates, window, asked.seed, run) for run in range(asked.runs)]
            for way in WAYS:
                rows.append([kind, str(window), way])
                for policy in POLICIES:
                    found = [regret(policy, way, window, made, run) for run, made in enumerate(drawn)]
                    half = 1.96 * np.std(found, ddof=1) / np.sqrt(asked.runs)
                    rows[-1].append(f"{np.mean(found):.0f} ± {half:.0f}")
    print(aligned(["world", "window", "told", *POLICIES], rows))


if __name__ == "__main__":
    main()

"""The limit on the rows of the main table, and with more arms and states: ``python -m benchmarks.limit``.

Regret per unit of the greedy filter, of the planner and of a policy that is given nothing, on the same worlds; and what one look at every
arm costs in every state that occurs, which a policy that is given nothing cannot avoid.
"""

import time

import numpy as np

import latentbandits as lb
from latentbandits.experiments.paper.worlds import TITLES, rows
from latentbandits.policies.groups import GREEDY, LIBRARY, LIMIT
from latentbandits.presentation.numbers import aligned, figure, multiple

DRAWS, SHORT_DRAWS = 32, 256  # matrices; more for runs below 20,000 rounds
MORE = {
    "5 arms": lb.HiddenMarkov(arms=5),
    "10 arms": lb.HiddenMarkov(arms=10),
    "5 arms, noise 0.5": lb.HiddenMarkov(arms=5, noise=0.5),
    "100 states": lb.HiddenMarkov(states=100),
    "Bernoulli": lb.HiddenMarkov(rewards="bernoulli"),
    "carryover 0.3, noise 0.1": lb.HiddenMarkov(carryover=0.3, noise=0.1),
}


def one_look(world: lb.HiddenMarkov, horizon: int, draws: int) -> float:
    """Return the mean regret of playing every arm once in every state that occurs."""
    costs = []
    for draw in range(draws):
        states = np.unique(world.realise(horizon, 1, 0, draw, 0).states)
        means = world.matrix(0, draw)[states]
        costs.append((means.max(axis=1, keepdims=True) - means).sum())
    return float(np.mean(costs))


def main() -> None:
    """Print one line per world."""
    lines = []
    worlds = {TITLES[row]: found for row, found in rows().items()} | {
        name: (world, 20_000) for name, world in MORE.items()
    }
    for name, (world, horizon) in worlds.items():
        began, draws = time.process_time(), DRAWS if horizon == 20_000 else SHORT_DRAWS
        results = lb.simulate(world, [GREEDY, LIMIT, LIBRARY], horizon=horizon, draws=draws, repeats=1, bins=1)
        greedy, limit, library = results.regret.mean(axis=1)
        factors = (greedy / limit, library / limit, one_look(world, horizon, draws) / limit)
        seconds = (time.process_time() - began) / draws
        lines.append([name, figure(greedy), figure(limit), figure(library), *map(multiple, factors), f"{seconds:.2f}"])
    ratios = ["greedy / planner", "library / planner", "one look / planner"]
    heads = ["world", "greedy", "planner", "library", *ratios, "seconds"]
    print(aligned(heads, lines))


if __name__ == "__main__":
    main()

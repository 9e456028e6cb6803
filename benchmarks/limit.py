"""The limit on the rows of the main table, and with more arms and states: ``python -m benchmarks.limit``.

Regret per group of the greedy filter, of the planner and of a policy that is given nothing, on the same worlds; what one look at every arm
costs in every state that occurs, which a policy that is given nothing cannot avoid; and whether the rest is in all runs or in a few.
"""

import time

import numpy as np

import latentbandits as lb
from latentbandits.policies.groups import GREEDY, LIBRARY, LIMIT
from latentbandits.presentation.numbers import aligned, figure, multiple
from latentbandits_studies.experiments.paper.worlds import TITLES, rows

DRAWS, SHORT_DRAWS = 128, 512  # matrices; more for runs below 20,000 rounds
WORST = 20  # one run in so many is one of the worst
STUCK = 0.5  # excess above the planner, in units of its mean regret, from which on a run counts as stuck
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


def spread(library: np.ndarray, limit: np.ndarray) -> list[str]:
    """Return the typical excess of a run and what the worst add to the mean, as multiples of the limit, and the share of stuck runs."""
    excess = np.sort((library - limit) / limit.mean())[::-1]
    worst = excess[: len(excess) // WORST].sum() / len(excess)
    return [multiple(float(np.median(excess))), multiple(float(worst)), f"{100 * (excess > STUCK).mean():.0f} %"]


def main() -> None:
    """Print one line per world."""
    lines = []
    worlds = {TITLES[row]: found for row, found in rows().items()} | {
        name: (world, 20_000) for name, world in MORE.items()
    }
    for name, (world, horizon) in worlds.items():
        began, draws = time.process_time(), DRAWS if horizon == 20_000 else SHORT_DRAWS
        results = lb.simulate(world, [GREEDY, LIMIT, LIBRARY], horizon=horizon, draws=draws, repeats=1, bins=1)
        greedy, limit, library = results.regret
        one = one_look(world, horizon, draws)
        factors = (greedy.mean() / limit.mean(), library.mean() / limit.mean(), one / limit.mean())
        seconds = (time.process_time() - began) / draws
        means = map(figure, (greedy.mean(), limit.mean(), library.mean()))
        lines.append([name, *means, *map(multiple, factors), *spread(library, limit), f"{seconds:.2f}"])
    ratios = ["greedy / planner", "library / planner", "one look / planner"]
    heads = ["world", "greedy", "planner", "library", *ratios, "typical", "worst 5 %", "stuck", "seconds"]
    print(aligned(heads, lines))


if __name__ == "__main__":
    main()

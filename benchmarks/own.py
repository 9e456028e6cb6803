"""StateLibrary and ArmLibrary where every arm has regimes of its own, and where not: ``python -m benchmarks.own [--seed N] [--draws N]``.

Regret in 10,000 rounds; StateLibrary's as a multiple of the best other policy's (with 95 % intervals over paired draws) and of the limit's.
StateLibrary without own regimes is one of the others.
"""

import argparse
from collections.abc import Mapping
from typing import Any

import latentbandits as lb
from latentbandits.policies.groups import LIMIT
from latentbandits.protocols import World
from latentbandits.simulation.results import ratio

MINE, ALONE, SHARED_ONLY = "state-library", "arm-library", "state-library:own=false"
OTHERS = (SHARED_ONLY, "state-library-forgetful", "cp-ts", "d-ts", "glr-ucb")
SIX: dict[str, Any] = {"arms": 6, "dwell": 200, "noise": 0.1}
THREE: dict[str, Any] = {"arms": 3, "noise": 0.1}
SHARED: dict[str, Any] = {"states": 6, **THREE}
WORLDS: Mapping[str, World] = {
    "6 arms": lb.Independent(**SIX),
    "10 arms, dwell 500": lb.Independent(arms=10, dwell=500, noise=0.1),
    "3 arms": lb.Independent(dwell=200, **THREE),
    "3 levels": lb.Independent(states=3, **SIX),
    "Pareto dwell": lb.Independent(dwell_shape="pareto", **SIX),
    "hazards of their own": lb.Independent(uneven_dwell=10, **SIX),
    "1 % outliers": lb.Independent(noise_shape="outliers", **SIX),
    "noise 0.3, dwell 500": lb.Independent(arms=6, dwell=500, noise=0.3),
    "rewards of 0 and 1, dwell 500": lb.Independent(arms=6, dwell=500, rewards="bernoulli"),
    "mostly good": lb.Independent(rare=0.1, **SIX),
    "20 rounds late": lb.Independent(delay=20, **SIX),
    "incidents of all": lb.Independent(incidents=0.1, **SIX),
    "the arm that was burnt": lb.HiddenMarkov(
        transition=[[0.999, 0.001], [0.02, 0.98]], means=[[1.0, 0.8, 0.2], [0.0, 0.8, 0.2]], noise=0.1
    ),
    "drift in 500 rounds": lb.Drift(timescale=500, **THREE),
    "one state, small gaps": lb.HiddenMarkov(means=[[0.5, 0.55, 0.45]], noise=0.1),
    "6 shared states": lb.HiddenMarkov(**SHARED),
    "6 shared states, rewards of 0 and 1": lb.HiddenMarkov(states=6, arms=3, rewards="bernoulli"),
}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draws", type=int, default=32)
    given = parser.parse_args()
    print(
        "| world | `state-library` | `arm-library` | best other | of the best other | of the limit |\n|---|---|---|---|---|---|"
    )
    for name, world in WORLDS.items():
        first = world.realise(1, 1, 0, 0, 0)
        known = (first.truth is not None and world != WORLDS["one state, small gaps"]) or first.chains is not None
        policies = [MINE, ALONE, *OTHERS, *([LIMIT] if known else [])]
        found = lb.simulate(world, policies, horizon=10_000, draws=given.draws, repeats=1, seed=given.seed)
        regret = dict(zip(found.labels, found.regret, strict=True))
        best = min(OTHERS, key=lambda other: float(regret[other].mean()))
        shares = [f"{q:.2f} ({low:.2f} to {high:.2f})" for q, low, high in [ratio(regret[MINE], regret[best])]]
        limit = f"{ratio(regret[MINE], regret[LIMIT])[0]:.2f}" if known else "-"
        other = f"`{best}` {regret[best].mean():.0f}"
        mine = " | ".join(f"{regret[policy].mean():.0f}" for policy in (MINE, ALONE))
        print(f"| {name} | {mine} | {other} | {shares[0]} | {limit} |", flush=True)


if __name__ == "__main__":
    main()

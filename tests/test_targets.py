"""How near StateLibrary comes to the Bayes limit, on worlds that nothing was tuned on (`make test-slow`).

The limit knows means, chain and noise, and plays what is best in the next round: it never probes. Where noise hides the state that costs it
dearly, so that a ratio below one is no mistake, and says little about how far off the best possible policy is.
"""

from functools import cache
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.experiments.paper.worlds import LIMIT, SINGLE_UNIT, rows
from latentbandits.simulation.results import interval

pytestmark = pytest.mark.slow

SEED = 90001
OURS, TWO_UNITS, RIVAL_OF_TWO = "state-library", "state-library, two units", "adarp-ucb"
CHANGE_POINT = ("cp-ts", "glr-ucb", "cusum-ucb", "m-ucb")
# Of the limit's regret. A library must first be filled, which weighs more the more states there are and the shorter the time.
MOST = {"S50": 1.20, "T500": 2.0, "T1000": 2.0, "T5000": 1.6}


def regrets(world: lb.HiddenMarkov, names: tuple[str, ...], horizon: int, draws: int) -> dict[str, np.ndarray]:
    """Return regret per unit, by policy and draw of the world."""
    policies = {
        name: lb.policy(OURS, arms=world.arms, units=2) if name == TWO_UNITS else lb.policy(name, arms=world.arms)
        for name in names
    }
    results = lb.simulate(world, policies, horizon=horizon, draws=draws, repeats=1, seed=SEED, bins=1)
    return dict(zip(names, results.regret, strict=True))


def least_ratio(ours: np.ndarray, limit: np.ndarray) -> float:
    """Return the lower end of a 95 % interval of the ratio of mean regrets, by drawing worlds anew."""
    drawn = np.random.default_rng(0).integers(len(ours), size=(4000, len(ours)))
    ratios = ours[drawn].mean(axis=1) / limit[drawn].mean(axis=1)
    return float(np.quantile(ratios, 0.025))


def assert_near_limit(found: dict[str, np.ndarray], most: float) -> None:
    ratio = found[OURS].mean() / found[LIMIT].mean()
    print(f"{ratio:.3f} of the limit, at least {least_ratio(found[OURS], found[LIMIT]):.3f}, wanted {most}")
    assert least_ratio(found[OURS], found[LIMIT]) <= most


@cache
def row(name: str) -> dict[str, np.ndarray]:
    world, horizon = rows()[name]
    draws = 24 if horizon == 20_000 else 400 if horizon <= 1000 else 60
    return regrets(world, (OURS, TWO_UNITS, LIMIT, RIVAL_OF_TWO, *SINGLE_UNIT), horizon, draws)


@pytest.mark.parametrize("name", rows())
def test_near_the_limit(name: str) -> None:
    assert_near_limit(row(name), MOST.get(name, 1.15))


@pytest.mark.parametrize("name", rows())
def test_below_every_policy_of_the_paper(name: str) -> None:
    found = row(name)
    for rival in SINGLE_UNIT:
        _, least, _ = interval(found[rival] - found[OURS])
        assert least > 0, rival
    _, least, _ = interval(found[RIVAL_OF_TWO] - found[TWO_UNITS])
    assert least > 0


def chain(kind: str, states: int = 10, stay: float = 0.99) -> list[list[float]]:
    """Return a chain that walks in a circle, or one that prefers some states to others by far."""
    chances = 2.0 ** -np.arange(states)
    rows = []
    for state in range(states):
        leave = np.where(np.arange(states) == (state + 1) % states, 1.0, 0.0) if kind == "cycle" else chances.copy()
        leave[state] = 0.0
        leave *= (1 - stay) / leave.sum()
        leave[state] = stay
        rows.append(leave.tolist())
    return rows


@pytest.mark.parametrize("kind", ["cycle", "skewed"])
def test_other_chains(kind: str) -> None:
    world = lb.HiddenMarkov(states=10, transition=chain(kind))
    assert_near_limit(regrets(world, (OURS, LIMIT), 20_000, 24), 1.4)


@pytest.mark.parametrize("world", [{}, {"stickiness": 0.8}, {"noise": 0.5}], ids=["default", "p.8", "sd.5"])
@pytest.mark.parametrize("arms", [5, 10])
def test_more_arms(arms: int, world: dict[str, Any]) -> None:
    assert_near_limit(regrets(lb.HiddenMarkov(arms=arms, **world), (OURS, LIMIT), 20_000, 16), 1.4)


@pytest.mark.parametrize("world", [{}, {"stickiness": 0.8}, {"noise": 0.5}], ids=["default", "p.8", "sd.5"])
@pytest.mark.parametrize("arms", [5, 10])
def test_more_arms_and_little_time(arms: int, world: dict[str, Any]) -> None:
    """No policy that watches for changes is better."""
    found = regrets(lb.HiddenMarkov(arms=arms, **world), (OURS, *CHANGE_POINT), 500, 100)
    for rival in CHANGE_POINT:
        mean, _, high = interval(found[rival] - found[OURS])
        print(f"{rival}: {found[OURS].mean():.1f} against {found[rival].mean():.1f}")
        assert high >= 0, f"{rival} is better by {-mean:.1f}"

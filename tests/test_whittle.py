"""The limit where every arm has a chain of its own: exact beliefs, and an index against a dynamic program."""

import itertools
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.policies.whittle import WhittleFilter
from latentbandits.protocols import Choice
from latentbandits.random import stream
from latentbandits.settings import InvalidValueError

AGES = 120


def chain(up: float, down: float) -> np.ndarray:
    """Return the chain of an arm that is good or bad, and recovers and fails in a round with these probabilities."""
    return np.array([[1 - down, down], [up, 1 - up]])


def policy_of(means: Any, up: float, down: float) -> WhittleFilter:
    share = up / (up + down)
    return WhittleFilter(np.array([chain(up, down)] * 2), np.array(means), np.array([share, 1 - share]), noise=1e-6)


def ahead(policy: WhittleFilter, arm: int, level: int, rounds: int) -> np.ndarray:
    """Return the distribution of an arm's level some rounds after it was seen at a level."""
    return np.asarray(np.linalg.matrix_power(policy.transition[arm], rounds)[level])


def average_reward(policy: WhittleFilter, play: str) -> float:
    """Return the long-run reward of a way to play two arms whose levels are seen without noise, by value iteration.

    A state is: which arm was played last, the level it was seen at, the level of the other when it was seen last, and how long ago that is.
    """
    states = [(last, mine, other, age) for last in (0, 1) for mine in (0, 1) for other in (0, 1) for age in range(AGES)]
    number = {state: i for i, state in enumerate(states)}
    rewards, following = np.zeros((len(states), 2)), np.zeros((len(states), 2, 2), np.int64)
    chances, allowed = np.zeros((len(states), 2, 2)), np.ones((len(states), 2), bool)
    memory, choice, random = policy.init(), Choice.blank(policy), stream(0)
    memory.clock[0].rounds = 1
    for i, (last, mine, other, age) in enumerate(states):
        older = min(age + 1, AGES - 1)
        for arm in (0, 1):
            chances[i, arm] = ahead(policy, last, mine, 1) if arm == last else ahead(policy, arm, other, age + 2)
            rewards[i, arm] = chances[i, arm] @ policy.means[:, arm]
            for level in (0, 1):
                then = (arm, level, other, older) if arm == last else (arm, level, mine, 0)
                following[i, arm, level] = number[then]
        if play == "whittle":
            memory.belief[last] = np.eye(2)[mine]
            memory.belief[1 - last] = ahead(policy, 1 - last, other, age + 1)
            policy.choose(memory, np.zeros(0), random, choice)
            allowed[i] = np.arange(2) == choice.arms[0]
        elif play == "greedy":
            allowed[i] = np.arange(2) == rewards[i].argmax()
    values, gain = np.zeros(len(states)), 0.0
    for _ in range(4000):
        options = np.where(allowed, rewards + (chances * values[following]).sum(axis=2), -np.inf)
        new = 0.5 * options.max(axis=1) + 0.5 * values  # half a step: no cycles
        gain = 2 * float((new - values).mean())
        values = new - new[0]
    return gain


@pytest.mark.parametrize(
    ("means", "up", "down"),
    [
        ([[0.9, 0.8], [0.1, 0.2]], 0.05, 0.05),
        ([[0.6, 0.9], [0.5, 0.1]], 0.02, 0.02),  # the safe arm
        ([[1.0, 0.9], [0.0, 0.0]], 0.1, 0.01),  # mostly good
        ([[1.0, 1.0], [0.0, 0.4]], 0.01, 0.1),  # mostly bad
    ],
)
def test_it_loses_little_to_a_dynamic_program(means: Any, up: float, down: float) -> None:
    policy = policy_of(means, up, down)
    best, index = average_reward(policy, "best"), average_reward(policy, "whittle")
    share = up / (up + down)
    seen = sum(  # if the levels of both arms were known
        p * q * max(policy.means[i, 0], policy.means[j, 1])
        for i, p in enumerate((share, 1 - share))
        for j, q in enumerate((share, 1 - share))
    )
    assert index <= best + 1e-9
    assert best - index < 0.03 * (seen - best)


def test_it_beats_a_policy_that_never_looks_again() -> None:
    policy = policy_of([[0.6, 0.9], [0.5, 0.1]], 0.02, 0.02)
    assert average_reward(policy, "greedy") < average_reward(policy, "whittle") - 0.01


@pytest.mark.parametrize("rewards", ["gaussian", "bernoulli"])
def test_its_belief_is_the_sum_over_all_paths(rewards: str) -> None:
    """Every arm by itself, with two groups, in nine rounds."""
    world = lb.Independent(arms=3, states=3, dwell=4, noise=0.3, uneven_dwell=4, rewards=rewards)
    found = world.realise(9, 2, 0, 1, 0)
    policy: Any = lb.policies.BayesPlanner(arms=3, groups=2).informed(found)
    memory, choice = policy.init(), Choice.blank(policy)
    for t in range(9):
        policy.choose(memory, np.zeros(0), stream(0), choice)
        choice.arms[:] = t % 3
        policy.learn(memory, choice, found.rewards[t, :, t % 3])
    for arm in range(3):
        total = np.zeros(3)
        for path in itertools.product(range(3), repeat=9):
            chance = policy.start[path[0]] * np.prod(policy.transition[arm, path[:-1], path[1:]])
            for t in range(arm, 9, 3):
                mean, reward = policy.means[path[t], arm], found.rewards[t, :, arm]
                if rewards == "bernoulli":
                    chance *= np.where(reward > 0.5, mean, 1 - mean).prod()
                else:
                    chance *= np.exp(-0.5 * ((reward - mean) / policy.noise) ** 2).prod()
            total[path[8]] += chance
        np.testing.assert_allclose(memory.belief[arm], total / total.sum(), rtol=1e-9)


def test_the_limit_of_such_a_world_is_this_index() -> None:
    problem = lb.Problem(kind="independent", states=2, arms=3, noise=0.1, horizon=500, runs=4)
    comparison = lb.compare(problem, ["ts"])
    assert comparison.table.index[0] == "bayes-planner"
    found = lb.Independent(arms=3).realise(10, 1, 0, 0, 0)
    assert isinstance(lb.policies.BayesPlanner(arms=3).informed(found), WhittleFilter)
    late = lb.Independent(arms=3, delay=3).realise(10, 1, 0, 0, 0)
    with pytest.raises(InvalidValueError, match="filter of the world"):
        lb.policies.BayesPlanner(arms=3).informed(late)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"transition": np.eye(2)[None]}, "transition is"),
        ({"transition": np.array([[[0.5, 0.4], [0, 1]]] * 2)}, "rows of probabilities"),
        ({"start": [1.0]}, "start is"),
        ({"noise": 0.0}, "noise is"),
        ({"means": [[0.1], [0.2]]}, "means is"),
    ],
)
def test_what_it_refuses(change: dict[str, Any], words: str) -> None:
    settings: dict[str, Any] = {"transition": [np.eye(2)] * 2, "means": np.eye(2), "start": [0.5, 0.5], **change}
    with pytest.raises(InvalidValueError, match=words):
        WhittleFilter(**settings)

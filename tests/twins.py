"""Helpers of the tests that compare policies with their slow twins (naive.py and the naive_*.py)."""

import importlib
import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.parameters import describe
from latentbandits.policies.wrapping import Wrapper
from latentbandits.protocols import REASONS, Policy, Realisation
from latentbandits.random import below, normal, stream, uniform
from latentbandits.simulation.batch import record_one
from tests import naive, naive_filter, naive_planner

ROUNDS = 300
INTERPRETED_ROUNDS = 60
# A comparison checks every round: most tests play the first ones, and `make test-slow` plays on
LENGTHS = pytest.mark.parametrize("rounds", [ROUNDS, pytest.param(3000, marks=pytest.mark.slow)])
INTERPRETED_LENGTHS = pytest.mark.parametrize("rounds", [INTERPRETED_ROUNDS, pytest.param(400, marks=pytest.mark.slow)])

Settings = Mapping[str, Any]
Played = tuple[np.ndarray, np.ndarray]

# With rewards of 0 and 1 two indices of a linear learner can tie in exact arithmetic for reasons that no floating-point
# code can see, and rounding decides. So linear learners meet Gaussian worlds only; the others, whose sums of 0 and 1
# are exact, meet both.
GAUSSIAN: Mapping[str, Settings] = {"default": {}, "noisy": {"noise": 0.5}, "switching": {"stickiness": 0.5}}
# Of the other distributions the two extremes: two values alone, and mostly nothing
WORLDS: Mapping[str, Settings] = {**GAUSSIAN, "bernoulli": {"rewards": "bernoulli"}, "revenue": {"rewards": "revenue"}}


def twins() -> dict[type, Callable[..., naive.Twin]]:
    """Return the twin of every policy: the class of its name, with ``Naive`` before it, in a module naive*.py."""
    modules = [importlib.import_module(f"tests.{file.stem}") for file in Path(__file__).parent.glob("naive*.py")]
    found = {name.removeprefix("Naive"): kind for module in modules for name, kind in vars(module).items()}
    return {getattr(lb.policies, name): found[name] for name in lb.policies.__all__ if name in found}


TWINS = twins()


class StreamDraws:
    """The draws of a stream, for a twin that must receive the same ones as its policy."""

    def __init__(self, seed: int) -> None:
        self.stream = stream(seed)

    def uniform(self) -> float:
        with np.errstate(all="ignore"):  # the generator's arithmetic wraps around by design
            return float(uniform(self.stream))

    def normal(self) -> float:
        with np.errstate(all="ignore"):
            return float(normal(self.stream))

    def below(self, n: int) -> int:
        with np.errstate(all="ignore"):
            return int(below(self.stream, n))


def constant(rounds: int, arms: int, generator: np.random.Generator) -> np.ndarray:
    """One arm is never available."""
    return np.tile(np.arange(arms) != generator.integers(arms), (rounds, 1))


def arriving(rounds: int, arms: int, generator: np.random.Generator) -> np.ndarray:
    """All arms but one come during the first half."""
    first = generator.permutation([0, *generator.integers(0, rounds // 2, arms - 1)])
    return np.arange(rounds)[:, None] >= first[None, :]


def leaving(rounds: int, arms: int, generator: np.random.Generator) -> np.ndarray:
    """All arms but one go during the second half."""
    return arriving(rounds, arms, generator)[::-1].copy()


def scattered(rounds: int, arms: int, generator: np.random.Generator) -> np.ndarray:
    """Every round has other arms."""
    table = generator.random((rounds, arms)) < 0.7
    table[np.arange(rounds), generator.integers(arms, size=rounds)] = True
    return table


def stretches(rounds: int, arms: int, generator: np.random.Generator) -> np.ndarray:
    """Arms come and go every few rounds."""
    return np.repeat(scattered(rounds, arms, generator), generator.integers(1, 12, rounds), axis=0)[:rounds]


def singles(rounds: int, arms: int, generator: np.random.Generator) -> np.ndarray:
    """All arms, but in a third of the rounds one alone."""
    alone = np.eye(arms, dtype=bool)[generator.integers(arms, size=rounds)]
    return np.where((generator.random(rounds) < 1 / 3)[:, None], alone, True)


TABLES: Mapping[str, Callable[[int, int, np.random.Generator], np.ndarray]] = {
    table.__name__: table for table in (constant, arriving, leaving, scattered, stretches, singles)
}


def realise(policy: Any, world: Settings, rounds: int, seed: int, table: str = "") -> Realisation:
    realisation = lb.HiddenMarkov(arms=policy.arms, **world).realise(
        horizon=rounds, groups=policy.groups, seed=seed, draw=seed, repeat=0
    )
    if not table:
        return realisation
    return realisation._replace(available=TABLES[table](rounds, policy.arms, np.random.default_rng(seed)))


def stationary(transition: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.matrix_power(transition, 2**20)[0])


def twin_of(policy: Any, realisation: Realisation, seed: int, draws: naive.Draws | None = None) -> naive.Twin:
    draws = draws or StreamDraws(seed)
    if isinstance(policy, lb.policies.ProbeCommit):
        return naive.NaiveProbeCommit(**describe(policy))
    if isinstance(policy, Wrapper):
        settings = {key: value for key, value in describe(policy).items() if key != "inner"}
        sizes = {"arms": policy.arms, "groups": policy.groups}
        return TWINS[type(policy)](lambda: twin_of(policy.inner, realisation, seed, draws), **sizes, **settings)
    if isinstance(policy, Policy):
        return TWINS[type(policy)](draws, **describe(policy))
    if isinstance(policy, lb.policies.StateOracle):
        return naive.NaiveOracle(policy.groups, realisation.means)
    if isinstance(policy, lb.policies.BestSingleArm):
        average = realisation.means.mean(axis=0)
        if realisation.truth is not None:
            average = stationary(realisation.truth.transition) @ realisation.truth.means
        return naive.NaiveOracle(policy.groups, itertools.repeat(average))
    assert isinstance(policy, lb.policies.BayesGreedy | lb.policies.BayesPlanner)
    assert realisation.truth is not None
    known = naive_filter.pairs_of(realisation.truth)
    if isinstance(policy, lb.policies.BayesGreedy):
        return naive_filter.NaiveFilter(*known, groups=policy.groups)
    chosen: Any = policy.informed(realisation)
    return naive_planner.NaivePlanner(*known, groups=policy.groups, multiplier=chosen.multiplier)


def play(twin: naive.Twin, realisation: Realisation) -> Played:
    """Play a twin on a realisation, and return its arms and reasons as `record_one` returns those of a policy."""
    played, reasons = [], []
    offered = np.ones(realisation.means.shape, bool) if realisation.available is None else realisation.available
    for t, (context, available) in enumerate(zip(realisation.context, offered, strict=True)):
        played.append(twin.choose(context, np.flatnonzero(available).tolist()))
        probe_reason: frozenset[str] = getattr(twin, "probe_reasons", frozenset())
        reasons.append(sum(code for code, name in REASONS.items() if name in probe_reason))
        for when in arriving_in(t, realisation):
            if realisation.delays is not None:
                assert isinstance(twin, naive.LateTwin)
                twin.recall(when + 1)
            arms = played[when]
            twin.learn(arms, [float(realisation.rewards[when, group, arm]) for group, arm in enumerate(arms)])
    return np.array(played), np.array(reasons)


def arriving_in(t: int, realisation: Realisation) -> list[int]:
    """Return the rounds, in order, whose rewards arrive in a round."""
    if realisation.delays is None:
        return [t]
    return [when for when, delay in enumerate(realisation.delays[: t + 1]) if delay >= 0 and when + delay == t]


def assert_same(one: Played, other: Played) -> None:
    differs = np.flatnonzero((one[0] != other[0]).any(axis=1) | (one[1] != other[1]))
    if len(differs):
        t = differs[0]
        plays = [f"arms {arms[t].tolist()} for the reasons {reasons[t]}" for arms, reasons in (one, other)]
        pytest.fail(f"first of {len(differs)} differences in round {t + 1}: {plays[0]}, but {plays[1]}")


def assert_like_twin(policy: Any, world: Settings, seed: int, rounds: int = ROUNDS, table: str = "") -> Played:
    realisation = realise(policy, world, rounds, seed, table)
    fast = record_one(policy, realisation, stream(seed))
    assert_same(fast, play(twin_of(policy, realisation, seed), realisation))
    return fast


def assert_compiles_alike(
    policy: Any, world: Settings, seed: int, rounds: int = INTERPRETED_ROUNDS, table: str = ""
) -> None:
    realisation = realise(policy, world, rounds, seed, table)
    assert_same(
        record_one(policy, realisation, stream(seed), interpreted=False),
        record_one(policy, realisation, stream(seed), interpreted=True),
    )


def recorded(policy: Any, rewards: Any, context: Any = None, available: Any = None) -> Played:
    world = lb.Replay(rewards, context=context)
    realisation = world.realise(horizon=len(rewards), groups=policy.groups, seed=0, draw=0, repeat=0)
    if available is not None:
        realisation = realisation._replace(available=np.array(available, bool))
    played = record_one(policy, realisation, stream(0))
    assert_same(played, play(twin_of(policy, realisation, 0), realisation))
    return played


def forced(played: Played) -> dict[int, tuple[list[int], int]]:
    """Return arms and reasons of the probe rounds, by round (from 1)."""
    arms, probe_reason = played
    return {int(t) + 1: (arms[t].tolist(), int(probe_reason[t])) for t in np.flatnonzero(probe_reason)}

"""A small tuning and a policy with useless settings, for the tests of `tune`."""

from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import latentbandits as lb
from latentbandits.advice import study
from latentbandits.advice import tune as module
from latentbandits.protocols import Choice, Policy, Realisation
from latentbandits.random import Purpose, Stream, below, stream, uniform
from latentbandits.settings import AtLeast, Within

FLIP = lb.Problem(means=[[0.9, 0.1], [0.1, 0.9]], dwell=100, noise=0.1, horizon=900, runs=40)
OPTIONS: dict[str, Any] = {"policy": "d-ucb:discount=0.9", "search": {"discount": "0.8 to 0.999"}}


class Memory(NamedTuple):
    round: np.ndarray


class Careless(Policy):
    """Plays at random: arm 1 with probability `lean`. `idle` does nothing, `salt` changes the luck and nothing else."""

    arms: Annotated[int, AtLeast(2)]
    groups: Annotated[int, AtLeast(1)] = 1
    lean: Annotated[float, Within(0, 1)] = 0.5
    idle: float = 1.0
    salt: Annotated[int, AtLeast(0)] = 8

    def init(self) -> Memory:
        return Memory(np.zeros(1, np.int64))

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:
        for _ in range(self.salt):
            below(random, 2)
        arm = 1 if uniform(random) < self.lean else 0
        for group in range(self.groups):
            choice.arms[group] = arm

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        memory.round[0] += 1


class Misleading:
    """Where settings are tuned arm 1 is best; where they are judged it is arm 0."""

    arms = 2

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        noise = np.random.default_rng(stream(seed, Purpose.NOISE, draw, repeat)).normal(0, 0.1, (horizon, groups, 2))
        means = np.tile([0.0, 1.0] if draw >= study.FIRST_DRAW else [1.0, 0.0], (horizon, 1))
        return Realisation(means, means[:, None, :] + noise, np.zeros((horizon, 0)), np.zeros(horizon, np.int64), None)

    def __repr__(self) -> str:
        return "Misleading()"


def record_simulations(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return a list to which every simulation of `tune` is added."""
    found: list[dict[str, Any]] = []

    def recorded(world: Any, policies: Any, **options: Any) -> Any:
        results = lb.simulate(world, policies, **options)
        found.append({"policies": list(policies), "first": 0, **options, "results": results})
        return results

    for place in (module, study):
        monkeypatch.setattr(place, "simulate", recorded)
    return found


def tune_flip(**changes: Any) -> module.Tuning:
    """Tune a discount that is far too low for a problem with two states; some words changed."""
    options = OPTIONS | {"trials": 8} | changes
    return lb.tune(options.pop("problem", FLIP), options.pop("policy"), **options)


def same(one: module.Tuning, other: module.Tuning) -> None:
    """Assert that two tunings have the same trials and the same outcome."""
    pd.testing.assert_frame_equal(one.table, other.table, check_exact=True)
    for field in ("policy", "settings", "found", "gain", "gain_low", "gain_high", "recommended"):
        assert getattr(one, field) == getattr(other, field)

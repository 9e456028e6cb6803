"""Every world of the package passes the suite that user code inherits."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.logs.worlds import FittedChanges, FittedDrift, FittedRegimes
from latentbandits.protocols import Realisation
from latentbandits.testing import WorldChecks
from latentbandits.worlds.registry import RECORDED, REGISTRY

CYCLE = np.roll(np.eye(3), 1, axis=1) * 0.1 + np.eye(3) * 0.9

TWO = np.array([[0.5, 0.5]])
FITTED: dict[str, Any] = {"noise": np.array([0.1, 0.3])}
# Every kind with its defaults, and some special cases
WORLDS: dict[str, Any] = {
    **{kind: row.make() for kind, row in REGISTRY.items() if kind != RECORDED},
    RECORDED: lb.Replay(np.random.default_rng(0).random((300, 2))),
    "one state": lb.HiddenMarkov(states=1),
    "fitted regimes": FittedRegimes(
        **FITTED,
        means=np.random.default_rng(0).random((5, 2, 2)),
        exit_prob=np.full((5, 2), 0.1),
        entry_prob=np.repeat(TWO, 5, axis=0),
    ),
    "fitted shape": FittedRegimes(
        **{**FITTED, "components": np.array([[0.7, 0.0, 0.5], [0.3, 1.0, 2.0]])},
        means=np.random.default_rng(0).random((5, 2, 2)),
        exit_prob=np.full((5, 2), 0.1),
        entry_prob=np.repeat(TWO, 5, axis=0),
    ),
    "fitted drift": FittedDrift(**FITTED, centres=TWO[0], sizes=TWO[0], time=30.0),
    "fitted changes": FittedChanges(**FITTED, centres=TWO[0], sizes=TWO[0], time=30.0),
    "cyclic chain": lb.HiddenMarkov(transition=CYCLE, arms=4),
    "given means": lb.HiddenMarkov(means=[[0.1, 0.9], [0.8, 0.2]], stickiness=0.5),
    "bernoulli": lb.HiddenMarkov(rewards="bernoulli", states=3),
    "carryover": lb.HiddenMarkov(carryover=0.25, states=4),
    "overlap": lb.HiddenMarkov(separation=0.2),
    "state revealed": lb.HiddenMarkov(reveal="state"),
    "means revealed": lb.HiddenMarkov(reveal="means", carryover=0.5),
    "unequal groups": lb.HiddenMarkov(group_noise=(0.1, 0.3)),
    "three arms": lb.Drift(arms=3),
    "bernoulli seasons": lb.Seasons(rewards="bernoulli"),
    "counts": lb.HiddenMarkov(rewards="counts", span=(0, 5), available=0.7, stretch=20, together=0.5),
    "ratings": lb.Drift(rewards="ratings", arms=3, together=0.5, dominated=1, delay=(0, 9), lost=0.2),
    "revenue": lb.Seasons(rewards="revenue", dwell=20, trend=0.1, alike=0.5, returning=0.5, delay="geometric 5"),
    "unusual noise": lb.HiddenMarkov(
        noise=0.2,
        noise_shape="t3",
        uneven_arms=3,
        uneven_states=2,
        proportional=0.5,
        autocorrelation=0.8,
        changing_noise=4,
    ),
    "outliers": lb.Drift(noise_shape="outliers", autocorrelation=0.5),
    "semi-Markov": lb.HiddenMarkov(dwell=20, dwell_shape="pareto", carryover=0.5, returning=0.5, uneven_states=2),
    "rare state": lb.HiddenMarkov(states=3, rare=0.1, dwell=10, alike=0.5, lost=0.1),
    "effects": lb.Seasons(
        trend=1, calendar=0.2, calendar_arms=0.1, period=20, features=2, available=0.5, noise_shape="bimodal"
    ),
    "own regimes": lb.Independent(
        arms=3, dwell=20, dwell_shape="pareto", uneven_dwell=4, incidents=0.1, uneven_states=2
    ),
    "own regimes, clicks": lb.Independent(arms=3, rewards="bernoulli", rare=0.1, available=0.7, stretch=20, lost=0.1),
    "own regimes, never the same": lb.Independent(states=3, returning=0.5, carryover=0.3, dominated=1, together=0.5),
    "features and means revealed": lb.HiddenMarkov(features=3, reveal="means", dwell_shape="fixed"),
    "arms that come and go": lb.WithAvailability(
        lb.HiddenMarkov(arms=3), np.stack([np.ones(300), np.arange(300) >= 100, np.arange(300) < 200], axis=1)
    ),
}


@pytest.mark.parametrize("name", WORLDS)
class TestWorlds(WorldChecks):
    @pytest.fixture(autouse=True)
    def _chosen(self, name: str) -> None:
        self.name = name

    def world(self) -> Any:
        return WORLDS[self.name]


@dataclass
class Changed:
    """A world whose available arms break a rule."""

    available: Callable[..., Any]
    arms: int = 2

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        made = lb.Drift().realise(horizon, groups, seed, draw, repeat)
        return made._replace(available=self.available(horizon, groups))


def checks_of(world: Any) -> WorldChecks:
    checks = WorldChecks()
    checks.world = lambda: world  # type: ignore[method-assign]
    return checks


EVERY = "every_round_has_an_available_arm"
ticks = count()


@pytest.mark.parametrize(
    ("available", "check", "sentence"),
    [
        (lambda rounds, _: np.arange(rounds)[:, None] != [7, 7], EVERY, "no arm is available in round 7 but every"),
        (
            lambda rounds, _: np.ones((rounds, 3), bool),
            EVERY,
            r"available has shape \(300, 3\) but must have \(300, 2\)",
        ),
        (lambda rounds, _: np.ones((rounds, 2)), EVERY, "available has type float64 but must have bool or integers"),
        (lambda rounds, _: np.full((rounds, 2), 3), EVERY, "available has numbers other than 0 and 1"),
        (lambda rounds, _: np.tile([1, next(ticks) < 2], (rounds, 1)), "depends_on_its_arguments_alone", "not equal"),
        (lambda rounds, groups: np.tile([1, groups % 2], (rounds, 1)), "groups_share_all_but_the_noise", "not equal"),
        (
            lambda rounds, _: np.tile([1, rounds % 4 > 0], (rounds, 1)),
            "a_longer_realisation_begins_like_a_shorter_one",
            "not equal",
        ),
    ],
)
def test_a_world_that_breaks_a_rule_of_availability_is_caught(available: Any, check: str, sentence: str) -> None:
    checks = checks_of(Changed(lambda rounds, groups: np.ones((rounds, 2), np.uint8)))
    getattr(checks, f"test_{check}")()
    with pytest.raises(AssertionError, match=sentence):
        getattr(checks_of(Changed(available)), f"test_{check}")()

"""StateLibrary decides by evidence whether one state changes all arms or every arm changes by itself."""

from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.random import stream
from latentbandits.simulation.batch import record_one
from tests.twins import assert_same, play, twin_of

OWN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "levels": ({}, {"noise": 0.1}),
    "two groups": ({"groups": 2}, {"noise": 0.1}),
    "three groups, features": ({"groups": 3, "covariates": 2}, {"noise": 0.1, "features": 2, "feature_effect": 0.2}),
    "clicks": ({}, {"rewards": "bernoulli"}),
    "revenue": ({}, {"rewards": "revenue"}),
    "late": ({}, {"noise": 0.1, "delay": (0, 20), "lost": 0.1}),
    "come and go": ({}, {"noise": 0.1, "available": 0.6, "stretch": 30}),
    "a range": ({"low": 0.0, "high": 1.0, "noise": 0.1}, {"noise": 0.1}),
}


@pytest.mark.parametrize("case", OWN)
def test_it_plays_like_its_twin_where_arms_have_regimes_of_their_own(case: str) -> None:
    settings, world = OWN[case]
    policy = lb.policies.StateLibrary(arms=4, particles=6, states=8, **settings)
    found = lb.Independent(arms=4, dwell=60, **world).realise(500, policy.groups, 1, 2, 0)
    assert_same(record_one(policy, found, stream(1)), play(twin_of(policy, found, 1), found))


def belief_after(policy: Any, world: Any, rounds: int) -> Any:
    """Play a world without compiling anything, and return the belief at the end."""
    found = world.realise(rounds, 1, 0, 0, 0)
    agent = lb.Agent(policy, seed=1, compiled=False)
    for t in range(rounds):
        decision = agent.ask()
        agent.tell(decision, float(found.rewards[t, 0, decision.arm]))
    return agent.belief


LEVELS = np.array([[0.9, 0.7, 0.8, 0.6], [0.1, 0.3, 0.2, 0.4]])


def test_the_belief_says_that_every_arm_changes_by_itself() -> None:
    world = lb.Independent(means=LEVELS, dwell=60, noise=0.05)
    belief = belief_after(lb.policies.StateLibrary(arms=4), world, 700)
    assert belief.own > 0.9
    for arm, pays in zip(belief.arms, LEVELS.T, strict=True):
        assert all(np.abs(level.mean - pays).min() < 0.1 for level in arm.levels)
        assert sum(level.probability for level in arm.levels) + arm.elsewhere == pytest.approx(1.0)
        assert arm.changed <= arm.seen <= 700
    assert sum(len(arm.levels) == 2 and arm.changed > 0 for arm in belief.arms) > 1
    assert "Every arm changes by itself" in belief._repr_html_()


def test_the_belief_says_that_one_state_changes_all_arms() -> None:
    world = lb.HiddenMarkov(means=np.concatenate([LEVELS, LEVELS[:, ::-1]]), dwell=60, noise=0.05)
    belief = belief_after(lb.policies.StateLibrary(arms=4), world, 700)
    assert belief.own < 0.01
    assert "last change" in belief._repr_html_()


def test_without_own_regimes_nothing_is_kept_of_them() -> None:
    world = lb.Independent(means=LEVELS, dwell=60, noise=0.05)
    belief = belief_after(lb.policies.StateLibrary(arms=4, own=False), world, 60)
    assert (belief.own, belief.arms) == (0.0, ())

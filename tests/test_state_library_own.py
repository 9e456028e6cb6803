"""StateLibrary decides by evidence whether one state changes all arms or every arm changes by itself."""

from typing import Any

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

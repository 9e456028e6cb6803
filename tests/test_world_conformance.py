"""Every world of the package passes the suite that user code inherits."""

from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.testing import WorldChecks
from latentbandits.worlds.registry import RECORDED, REGISTRY

CYCLE = np.roll(np.eye(3), 1, axis=1) * 0.1 + np.eye(3) * 0.9
# Every kind with its defaults, and some special cases
WORLDS: dict[str, Any] = {
    **{kind: row.make() for kind, row in REGISTRY.items() if kind != RECORDED},
    RECORDED: lb.Recorded(np.random.default_rng(0).random((300, 2))),
    "one state": lb.HiddenMarkov(states=1),
    "cyclic chain": lb.HiddenMarkov(transition=CYCLE, arms=4),
    "given means": lb.HiddenMarkov(means=[[0.1, 0.9], [0.8, 0.2]], stickiness=0.5),
    "bernoulli": lb.HiddenMarkov(rewards="bernoulli", states=3),
    "carryover": lb.HiddenMarkov(carryover=0.25, states=4),
    "overlap": lb.HiddenMarkov(separation=0.2),
    "state revealed": lb.HiddenMarkov(reveal="state"),
    "means revealed": lb.HiddenMarkov(reveal="means", carryover=0.5),
    "unequal units": lb.HiddenMarkov(unit_noise=(0.1, 0.3)),
    "three arms": lb.Drift(arms=3),
    "bernoulli seasons": lb.Seasons(rewards="bernoulli"),
    "arms that come and go": lb.Available.between(lb.HiddenMarkov(arms=3), 300, {1: (100, None), 2: (0, 200)}),
}


@pytest.mark.parametrize("name", WORLDS)
class TestWorlds(WorldChecks):
    @pytest.fixture(autouse=True)
    def _chosen(self, name: str) -> None:
        self.name = name

    def world(self) -> Any:
        return WORLDS[self.name]

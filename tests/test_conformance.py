"""Every policy of the package goes through the suite that user code inherits."""

from typing import Any

import pytest

import latentbandits as lb
from latentbandits.policies.registry import REGISTRY
from latentbandits.testing import PolicyChecks

VARIANTS: dict[str, Any] = {name: lb.policy(name, arms=3) for name in REGISTRY} | {
    "adarp, five arms, two units": lb.policy("adarp-ucb", arms=5),
    "rp, five arms, five units": lb.policy("rp-ucb", arms=5, units=5),
    "adasp, some arms": lb.policy("adasp-ucb", arms=4, probe_set=[3, 1]),
    "covariates only": lb.TraceLearner(arms=2, lag="none", covariates=6),
    "gated Thompson": lb.policy("adasp-ucb", arms=2, thompson=True, lag="one-hot"),
    "ucb1, two units": lb.policy("ucb1", arms=2, units=2),
    "exp3-s, three units": lb.policy("exp3-s", arms=2, units=3),
    "bayes, two units": lb.policy("bayes-limit", arms=2, units=2),
    "scripted": lb.Scripted(arms=3, script=[2, 0, 1, 1]),
}
# What these play does not depend on rewards
IGNORANT = {"random", "scripted", "best-single-arm", "state-oracle"}


@pytest.mark.parametrize("name", VARIANTS)
class TestPolicies(PolicyChecks):
    @pytest.fixture(autouse=True)
    def _chosen(self, name: str) -> None:
        self.name = name

    def policy(self) -> Any:
        return VARIANTS[self.name]

    def learns(self) -> bool:
        return self.name not in IGNORANT

"""Every policy of the package goes through the suite that user code inherits."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.compiled import CompileError
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import Choice
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


class Counted(NamedTuple):
    counts: np.ndarray


class Modest(NamedTuple):
    """A policy of user code that keeps to the rules; those below break one each."""

    arms: int = 2
    units: int = 1

    def init(self) -> Counted:
        return Counted(np.zeros(self.arms))

    def choose(self, memory: Counted, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
        choice.arms[0] = 0

    def learn(self, memory: Counted, choice: Choice, rewards: np.ndarray) -> None:
        memory.counts[choice.arms[0]] += 1


class AllocatesToChoose(Modest):
    def choose(self, memory: Counted, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
        choice.arms[0] = np.argmax(memory.counts + 0.0)


class AllocatesToLearn(Modest):
    def learn(self, memory: Counted, choice: Choice, rewards: np.ndarray) -> None:
        memory.counts[choice.arms[0]] += np.ones(3).sum()


class NeverLearns(Modest):
    def learn(self, memory: Counted, choice: Choice, rewards: np.ndarray) -> None:
        pass


def checks_of(policy: Any) -> PolicyChecks:
    checks = PolicyChecks()
    checks.policy = lambda: policy  # type: ignore[method-assign]
    return checks


@pytest.mark.parametrize("policy", [AllocatesToChoose(), AllocatesToLearn()])
def test_a_policy_that_allocates_is_caught(policy: Any) -> None:
    checks_of(Modest()).test_choosing_and_learning_allocate_nothing()
    with pytest.raises(CompileError, match="allocate nothing"):
        checks_of(policy).test_choosing_and_learning_allocate_nothing()


def test_a_policy_that_never_learns_is_caught() -> None:
    checks_of(Modest()).test_learning_is_about_the_choice_it_is_given()
    with pytest.raises(AssertionError):
        checks_of(NeverLearns()).test_learning_is_about_the_choice_it_is_given()

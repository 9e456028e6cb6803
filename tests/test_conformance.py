"""Every policy of the package goes through the suite that user code inherits."""

from typing import Any, NamedTuple
from unittest import SkipTest

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.compiled import CompileError
from latentbandits.policies.arms import available, nth_available
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import PROBE_REASON, Choice, Policy
from latentbandits.random import below
from latentbandits.testing import PolicyChecks

VARIANTS: dict[str, Any] = {name: lb.policy(name, arms=3) for name in REGISTRY} | {
    "adarp, five arms, two groups": lb.policy("adarp-ucb", arms=5),
    "rp, five arms, five groups": lb.policy("rp-ucb", arms=5, groups=5),
    "adasp, some arms": lb.policy("adasp-ucb", arms=4, probe_set=[3, 1]),
    "covariates only": lb.policies.TraceLearner(arms=2, lag="none", covariates=6),
    "library, two features": lb.policies.StateLibrary(arms=3, covariates=2),
    "library, three features, two groups": lb.policies.StateLibrary(arms=2, groups=2, covariates=3),
    "gated Thompson": lb.policy("adasp-ucb", arms=2, thompson=True, lag="one-hot"),
    "ucb1, two groups": lb.policy("ucb1", arms=2, groups=2),
    "exp3-s, three groups": lb.policy("exp3-s", arms=2, groups=3),
    "bayes, two groups": lb.policy("bayes-greedy", arms=2, groups=2),
    "planner, two groups": lb.policy("bayes-planner", arms=2, groups=2),
    "scripted": lb.policies.Scripted(arms=3, script=[2, 0, 1, 1]),
}
# What these play does not depend on rewards
IGNORANT = {"random", "scripted", "best-single-arm", "state-oracle"}


@pytest.mark.parametrize("name", VARIANTS)
class TestPolicies(PolicyChecks):
    rounds, redraws = 80, 2_500

    @pytest.fixture(autouse=True)
    def _chosen(self, name: str) -> None:
        self.name = name

    def policy(self) -> Any:
        return VARIANTS[self.name]

    def learns(self) -> bool:
        return self.name not in IGNORANT


@pytest.mark.slow
class TestPoliciesForLonger(TestPolicies):
    rounds, redraws = PolicyChecks.rounds, PolicyChecks.redraws


class Counted(NamedTuple):
    counts: np.ndarray


class Modest(Policy):
    """A policy of user code that keeps to the rules: the available arm that was played least. Those below break one rule each."""

    arms: int = 2
    groups: int = 1

    def init(self) -> Counted:
        return Counted(np.zeros(self.arms))

    def choose(self, memory: Counted, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
        best = -1
        for arm in range(self.arms):
            if choice.arm_scores[arm].available and (best < 0 or memory.counts[arm] < memory.counts[best]):
                best = arm
        choice.arms[0] = best

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


class Stubborn(Modest):
    """It plays the arm that was played least, available or not."""

    def choose(self, memory: Counted, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
        choice.arms[0] = 0 if memory.counts[0] < memory.counts[1] else 1


class Restless(Modest):
    """It always probes."""

    def choose(self, memory: Counted, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
        choice.arms[0] = nth_available(choice, 0)
        choice.tags[PROBE_REASON] = 1


class Presumptuous(Modest):
    """It makes all arms available."""

    def choose(self, memory: Counted, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
        choice.arms[0] = nth_available(choice, 0)
        choice.arm_scores[1].available = 1


class Diverging(Modest):
    """What it remembers is not finite once a single arm was available."""

    def learn(self, memory: Counted, choice: Choice, rewards: np.ndarray) -> None:
        if available(choice) == 1:
            memory.counts[0] = np.inf


class Hidden(NamedTuple):
    counts: np.ndarray
    latest: np.ndarray


class Scratchy(Modest):
    """It says that a field need not be saved, and reads it."""

    scratch = ("latest",)

    def init(self) -> Hidden:  # type: ignore[override]
        return Hidden(np.zeros(self.arms), np.zeros(1))

    def choose(self, memory: Hidden, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:  # type: ignore[override]
        memory.latest[0] += 1
        choice.arms[0] = nth_available(choice, int(memory.latest[0] // 7) % available(choice))


class Pretending(Modest):
    """It says that it chooses without chance, and does not."""

    deterministic = True

    def choose(self, memory: Counted, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
        choice.arms[0] = nth_available(choice, below(random, available(choice)))


class Sampled(Policy):
    """Every available arm is equally likely; the probabilities that it writes of the first and the last of them may be wrong."""

    arms: int = 3
    groups: int = 2
    first: float = 0.0
    last: float = 0.0
    silent: bool = False  # about the first

    def init(self) -> Counted:
        return Counted(np.zeros(self.arms))

    def choose(self, memory: Counted, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
        number = available(choice)
        for n in range(number):
            choice.arm_scores[nth_available(choice, n)].probability = 1.0 / number
        if number > 1:
            choice.arm_scores[nth_available(choice, 0)].probability += np.nan if self.silent else self.first
            choice.arm_scores[nth_available(choice, number - 1)].probability += self.last
        for group in range(self.groups):
            choice.arms[group] = nth_available(choice, below(random, number))

    def learn(self, memory: Counted, choice: Choice, rewards: np.ndarray) -> None:
        memory.counts[choice.arms[0]] += 1


class Forgetful(Modest):
    """It forgets everything when it is given a new arm."""

    def grow(self, memory: Counted) -> Counted:
        return self._replace(arms=self.arms + 1).init()


class Crowded(Modest):
    """It counts arms that are not available among those that take turns."""

    def choose(self, memory: Counted, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
        choice.arms[0] = nth_available(choice, int(memory.counts.sum()) % self.arms % available(choice))


class Infinite(Modest):
    """What it remembers of a new arm is not finite."""

    def grow(self, memory: Counted) -> Counted:
        return Counted(np.append(memory.counts, np.inf))


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


PLAYS, LATE = "plays_available_arms_alone", "late_rewards_while_arms_come_and_go"
SCRATCH, CHANCE = "scratch_is_rebuilt_while_arms_come_and_go", "the_arms_are_as_random_as_it_says"
LOSES, LIKE = "a_new_arm_loses_nothing", "a_new_arm_is_one_like_the_others"
AVAILABILITY = (PLAYS, LATE, SCRATCH, CHANCE, LOSES, LIKE)


@pytest.mark.parametrize(
    "policy", [Modest(), Sampled(), Modest(arms=4), lb.policies.EXP3(arms=3, groups=2, share=0.01)]
)
@pytest.mark.parametrize("check", AVAILABILITY)
def test_a_policy_that_keeps_to_the_rules_passes(policy: Any, check: str) -> None:
    getattr(checks_of(policy), f"test_{check}")()


@pytest.mark.parametrize(
    ("policy", "check", "sentence"),
    [
        (Stubborn(), PLAYS, r"Stubborn: choice in round \d+ is \[\d\] but must be among the available arms \d"),
        (Stubborn(), LATE, r"Stubborn plays arm \d, which is not available, in round \d+: choose among the arms with"),
        (
            Restless(),
            PLAYS,
            r"Restless probes in round \d+ with one available arm: it must play it with tags\[PROBE_REASON\] = 0",
        ),
        (Restless(), LATE, "Restless probes with one available arm in round"),
        (
            Presumptuous(),
            LATE,
            "Presumptuous changes choice.arm_scores.arm..available, which belongs to the caller, in round",
        ),
        (Diverging(), LATE, "Diverging remembers numbers that are not finite after late rewards of masked rounds"),
        (Scratchy(), SCRATCH, "scratch is not rebuilt before it is read"),
        (Pretending(), CHANCE, r"Pretending has the trait deterministic but plays \[\(0,\), \(1,\)\] from one memory"),
        (
            Sampled(first=0.03, last=-0.03),
            CHANCE,
            r"writes probability 0.\d+ for arm \d in round \d+ but group 0 plays it",
        ),
        (
            Sampled(first=-0.1),
            CHANCE,
            "writes probabilities of the available arms that sum to 0.9 instead of 1 in round",
        ),
        (Sampled(silent=True), CHANCE, "writes some probabilities and not others in round"),
        (Sampled(first=0.6, last=-0.6), CHANCE, "writes a negative probability in round"),
        (Forgetful(), LOSES, r"Forgetful plays otherwise in round \d+ once it has a new arm that is not available"),
        (Crowded(), LOSES, r"Crowded plays otherwise in round \d+ once it has a new arm that is not available"),
        (Infinite(), LIKE, "Infinite remembers numbers that are not finite after it was given a new arm"),
    ],
)
def test_a_policy_that_breaks_a_rule_of_availability_is_caught(policy: Any, check: str, sentence: str) -> None:
    with pytest.raises((AssertionError, lb.InvalidValueError), match=sentence):
        getattr(checks_of(policy), f"test_{check}")()


@pytest.mark.parametrize("check", AVAILABILITY)
def test_fixed_arms_are_skipped_with_the_reason(check: str) -> None:
    with pytest.raises(SkipTest, match="Scripted has fixed_arms: all its arms are needed in every round"):
        getattr(checks_of(lb.policies.Scripted(arms=2)), f"test_{check}")()


@pytest.mark.parametrize("check", [LOSES, LIKE])
def test_a_policy_that_refuses_a_new_arm_is_skipped_with_its_sentence(check: str) -> None:
    with pytest.raises(SkipTest, match="ABTest: new arm is 2 but must be there from the start"):
        getattr(checks_of(lb.policies.ABTest(arms=2, test=5)), f"test_{check}")()

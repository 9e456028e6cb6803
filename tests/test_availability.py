"""Arms that come and go: what must hold for every policy, whichever arms are available and whenever rewards arrive."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.agent import steps
from latentbandits.compiled import machine_code
from latentbandits.memories import parts, saved
from latentbandits.parameters import replaced
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import PROBE_REASON, Choice, Oracle, Realisation, grown, grown_choice
from latentbandits.random import stream
from latentbandits.settings import InvalidValueError
from latentbandits.simulation.batch import record_one
from latentbandits.testing.availability import numbers
from latentbandits_studies.policies.decode_commit import DecodeCommit
from latentbandits_studies.policies.summaries import BeliefLearner, SummaryLearner
from tests.twins import TABLES, assert_same, realise

# Settings that no name stands for
MORE: dict[str, Any] = {
    "trace-pair": lb.policies.TraceLearner(arms=3, lag="pair", covariates=2, gated=True, fingerprint=True),
    "trace-one-hot": lb.policies.TraceLearner(
        arms=3, groups=2, lag="one-hot", interval=9, fingerprint=True, thompson=True
    ),
    "trace-probe-set": lb.policies.TraceLearner(arms=3, groups=2, gated=True, fingerprint=True, probe_set=(2, 0)),
    "probe-commit-surprise": lb.policies.ProbeCommit(arms=3, groups=2, interval=12, surprise=0.3),
    "glr-ucb-turns": lb.policies.GLRUCB(arms=3, forced=0.3),
    "m-ucb-turns": lb.policies.MonitoredUCB(arms=3, groups=2, forced=0.1),
    "library-of-two-groups": lb.policies.StateLibrary(arms=3, groups=2, states=4),
    "library-with-a-range": lb.policies.StateLibrary(arms=3, low=0.0, high=1.0),
    "library-with-features": lb.policies.StateLibrary(arms=3, covariates=2),
}
NAMES = [*REGISTRY, *MORE]
ONLINE = [name for name in NAMES if name in MORE or not hasattr(REGISTRY[name].make, "informed")]
GROWING = [name for name in ONLINE if name != "ab-test"]


def named(name: str, arms: int = 3) -> Any:
    return replaced(MORE[name], {"arms": arms}) if name in MORE else lb.policy(name, arms=arms)


class Online:
    """A policy that plays round by round; rewards arrive when the test says so."""

    def __init__(self, policy: Any, rewards: np.ndarray) -> None:
        self.policy, self.memory, self.random, self.rewards = policy, policy.init(), stream(1), rewards
        self.open: list[tuple[int, Choice]] = []
        self.now = 0

    def ask(self, available: Sequence[bool] | np.ndarray) -> Choice:
        choice = Choice.blank(self.policy)
        choice.arm_scores["available"] = available
        context = np.cos(np.arange(1, self.policy.covariates + 1) * self.now)
        choose = machine_code(steps.choose, self.policy, self.memory, context, self.random, choice)
        choose(self.policy, self.memory, context, self.random, choice)
        self.open.append((self.now, choice))
        self.now += 1
        return choice

    def tell(self, place: int) -> None:
        round_, choice = self.open.pop(place)
        rewards = self.rewards[round_, range(self.policy.groups), choice.arms]
        learn = machine_code(steps.learn, self.policy, self.memory, choice, rewards)
        learn(self.policy, self.memory, choice, rewards)

    def grow(self) -> None:
        larger, self.memory = grown(self.policy, self.memory)
        self.open = [(round_, grown_choice(self.policy, larger, choice)) for round_, choice in self.open]
        self.policy = larger


def rewards_of(rounds: int, groups: int, arms: int) -> np.ndarray:
    return lb.HiddenMarkov(arms=arms, stickiness=0.95, noise=0.1).realise(rounds, groups, 3, 0, 0).rewards


def arriving(generator: np.random.Generator, number: int) -> list[int]:
    """Return which open decisions (by place) to learn now: most rewards come at once, some late and in any order, some never."""
    if number > 40:
        return [int(generator.integers(number))]
    if generator.random() < 0.7:
        return [number - 1]
    return [int(generator.integers(number - i)) for i in range(int(generator.integers(0, min(number, 4))))]


def together(one: Online, other: Online, masks: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Play two policies side by side, with the arms that each has, and check that they do the same; returns what they played."""
    played = []
    for mask in masks:
        first, second = (which.ask(mask[: which.policy.arms]) for which in (one, other))
        assert first.arms.tolist() == second.arms.tolist(), f"round {one.now}"
        assert first.tags[PROBE_REASON] == second.tags[PROBE_REASON], f"round {one.now}"
        assert one.random == other.random
        played.append(first.arms.tolist())
        for place in arriving(generator, len(one.open)):
            one.tell(place)
            other.tell(place)
    return np.array(played)


# --- a spare arm ---


@pytest.mark.parametrize("table", ["", *TABLES])
@pytest.mark.parametrize("name", NAMES)
def test_a_masked_spare_arm_changes_no_choice(name: str, table: str) -> None:
    for seed, arms in enumerate((2, 3, 5) if name in REGISTRY else (3, 4)):
        policy = named(name, arms)
        world = {"noise": 0.1, "stickiness": 0.95, "states": policy.covariates or 3}
        reveal = {"reveal": "state"} if policy.covariates else {}
        larger = replaced(policy, {"arms": arms + 1})
        wide = realise(larger, {**world, **reveal}, 400, seed)
        wide.rewards[:, :, arms] = 1e3
        available = realise(policy, {}, 400, seed, table or "singles").available
        assert available is not None
        available = available if table else np.ones_like(available)
        random, other = stream(seed), stream(seed)
        alone = record_one(policy, narrowed(wide, arms)._replace(available=available), random)
        spare = np.column_stack([available, np.zeros(len(available), bool)])
        assert_same(alone, record_one(larger, wide._replace(available=spare), other))
        assert random == other


def narrowed(realisation: Realisation, arms: int) -> Realisation:
    """Return a realisation without its last arms."""
    assert realisation.truth is not None
    truth = realisation.truth._replace(means=realisation.truth.means[:, :arms])
    means, rewards = realisation.means[:, :arms], np.ascontiguousarray(realisation.rewards[:, :, :arms])
    return realisation._replace(means=means, rewards=rewards, truth=truth)


# --- a new arm ---


@pytest.mark.parametrize("table", [pytest.param("", marks=pytest.mark.slow), "stretches"])
@pytest.mark.parametrize("name", GROWING)
def test_a_new_arm_is_one_that_was_masked_until_then(name: str, table: str) -> None:
    """Decisions that are open when it comes are learned from later."""
    played = set()
    for seed, arrival in enumerate((0, 7, 60)):
        generator, rounds, policy = np.random.default_rng(seed), 110, named(name)
        masks = np.ones((rounds, 4), bool)
        masks[:, :3] = TABLES[table](rounds, 3, generator) if table else True
        masks[:arrival, 3] = False
        rewards = rewards_of(rounds, policy.groups, 4)
        growing, masked = Online(policy, rewards), Online(replaced(policy, {"arms": 4}), rewards)
        together(growing, masked, masks[:arrival], generator)
        growing.grow()
        assert growing.policy == masked.policy
        played |= set(together(growing, masked, masks[arrival:], generator).ravel().tolist())
    assert 3 in played, "the new arm was never played: the comparison says nothing about it"


@pytest.mark.parametrize("name", GROWING)
def test_an_arm_that_is_added_and_withdrawn_leaves_the_others_as_they_were(name: str) -> None:
    for seed, arrival in enumerate((0, 50)):
        generator, rounds, policy = np.random.default_rng(seed), 90, named(name)
        rewards = rewards_of(rounds, policy.groups, 4)
        alone, grew = Online(policy, rewards), Online(policy, rewards)
        masks = np.column_stack([TABLES["stretches"](rounds, 3, generator), np.zeros(rounds, bool)])
        together(alone, grew, masks[:arrival], generator)
        grew.grow()
        together(alone, grew, masks[arrival:], generator)
        assert_same_statistics(policy, alone.memory, grew.memory)


def assert_same_statistics(policy: Any, memory: Any, larger: Any) -> None:
    """Check that a memory is part of the one with an arm more."""
    if isinstance(policy, lb.policies.EXP3):
        kept = larger.weights[: policy.arms]
        np.testing.assert_allclose(kept / kept.sum(), memory.weights, rtol=1e-9)
        return
    at: dict[str, tuple[Any, ...]] = {}
    if isinstance(policy, lb.policies.TraceLearner | lb.policies.LatentAutoregressive):
        features, rows = policy.positions(), np.arange(policy.arms)
        at = {
            "factor": np.ix_(rows, features, features),
            "coefficients": np.ix_(rows, features),
            "gain": (features,),
        }
    grown_parts = parts(larger)
    for field, mine in saved(policy, memory).items():
        theirs = grown_parts[field][at.get(field, tuple(slice(size) for size in mine.shape))]
        for part in mine.dtype.names or (...,):
            np.testing.assert_array_equal(theirs[part], mine[part], err_msg=field)


@pytest.mark.parametrize(
    "policy",
    [
        lb.policies.ABTest(arms=2),
        lb.policies.Scripted(arms=2),
        SummaryLearner(arms=2),
        DecodeCommit(2, groups=2, interval=3, fingerprints=[[0.1, 0.2]]),
        lb.policies.BayesFilter([[0.9, 0.1], [0.1, 0.9]], [[0.0, 1.0], [1.0, 0.0]], [0.5, 0.5]),
        lb.policies.ProbeCommit(arms=2, interval=2),
        lb.policies.TraceLearner(arms=2, interval=2),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_a_new_arm_that_cannot_be_is_refused(policy: Any) -> None:
    memory = policy.init()
    with pytest.raises(InvalidValueError, match=rf"^{type(policy).__name__}: .* must be "):
        grown(policy, memory)
    assert (numbers(memory) == numbers(policy.init())).all()


@pytest.mark.parametrize(("name", "samples"), [("ts", True), ("lc-ts", True), ("ucb1", False), ("lc-ucb", False)])
def test_values_of_arms_that_are_not_available_are_those_of_this_round(name: str, samples: bool) -> None:
    """A choice that is used again has nothing left of the round before, and nothing is sampled for such an arm."""
    policy = lb.policy(name, arms=3)
    online = Online(policy, rewards_of(40, 1, 3))
    for _ in range(40):
        online.ask([True, True, True])
        online.tell(0)
    used, fresh = online.ask([True, True, True]), online.ask([True, True, False])
    used.arm_scores["available"] = [1, 1, 0]
    with np.errstate(all="ignore"):
        policy.choose(online.memory, np.zeros(0), online.random, used)
    assert np.isfinite(used.arm_scores["value"]).all()
    np.testing.assert_array_equal(used.arm_scores["value"], fresh.arm_scores["value"])
    assert np.isnan(used.arm_scores["index"][2]) == samples


# --- regret ---


STEADY = lb.HiddenMarkov(arms=3, states=1, stickiness=1.0, means=[[1.0, 0.6, 0.2]], noise=1e-9)
# all arms, without the best, the worst alone
COMING = [[1, 1, 1]] * 2 + [[0, 1, 1]] * 2 + [[0, 0, 1]] * 2


@pytest.mark.parametrize("table", TABLES)
def test_oracles_play_what_is_available(table: str) -> None:
    generator = np.random.default_rng(3)
    for arms in (3, 4):
        world = lb.WithAvailability(lb.HiddenMarkov(arms=arms, stickiness=0.9), TABLES[table](300, arms, generator))
        names = ["state-oracle", "best-single-arm", "bayes-planner", "random"]
        oracle, single, limit, random = lb.simulate(world, names, horizon=300, draws=3, repeats=1).regret
        assert (oracle == 0).all()
        assert (single >= 0).all()
        assert limit.sum() < random.sum()


def test_the_best_single_arm_is_the_best_of_those_available() -> None:
    realisation = lb.WithAvailability(STEADY, COMING).realise(6, 2, 0, 0, 0)
    arms, _ = record_one(lb.policies.BestSingleArm(arms=3, groups=2), realisation, stream(0))
    assert arms.tolist() == [[0, 0]] * 2 + [[1, 1]] * 2 + [[2, 2]] * 2


@pytest.mark.parametrize(
    "policy",
    [
        lb.policies.Scripted(arms=3),
        SummaryLearner(arms=3),
        BeliefLearner(arms=3),
        DecodeCommit(3, groups=3, interval=3, fingerprints=[[0.1, 0.2, 0.3]]),
    ],
    ids=lambda policy: type(policy).__name__,
)
def test_policies_that_need_all_arms_are_refused(policy: Any) -> None:
    assert isinstance(policy, Oracle) or policy.fixed_arms
    with pytest.raises(InvalidValueError, match="must be the same in every round"):
        lb.simulate(lb.WithAvailability(STEADY, COMING), [policy], horizon=6, draws=1, repeats=1)

"""Probabilities: what a decision says is how often it is made, from the same point of a run, by other random numbers and other groups."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.compiled import copy_into
from latentbandits.memories import copied
from tests.fixtures import policies

POLICIES = policies()
REDRAWS = pytest.mark.parametrize("redraws", [500, pytest.param(20_000, marks=pytest.mark.slow)])
SINGLE = [name for name, policy in POLICIES.items() if policy.groups == 1 and not policy.fixed_arms]


def trained(name: str, rounds: int = 57, **settings: Any) -> lb.Agent:
    agent = lb.Agent(POLICIES[name], arms=["a", "b", "c"], seed=3, compiled=True, **settings)
    for number in range(rounds):
        decision = agent.ask()
        rewards = [0.2 + 0.3 * ("abc".index(str(arm)) == number // 20 % 3) for arm in decision.arms]
        agent.tell(decision, [reward + 0.01 * (number % 7) for reward in rewards])
    return agent


def redrawn(agent: lb.Agent, redraws: int, **asked: Any) -> Counter[tuple[Any, float | None]]:
    """Return how often each arm was played, with each probability, in redraws of one decision."""
    player, seen = agent._player, Counter[tuple[Any, float | None]]()
    kept, words = copied(player.memory), np.random.default_rng(0).integers(2**64, size=(redraws, 2), dtype=np.uint64)
    for draw in range(redraws):
        copy_into(player.memory, kept)
        player.random[0], player.mixing.random[0] = words[draw]
        decision = agent.ask(subject=None if draw % 2 else f"visitor {draw}", **asked)
        agent.forget(decision)
        seen[decision.arms[0], decision.probability] += 1
    return seen


def assert_exact(seen: Counter[tuple[Any, float | None]], redraws: int) -> None:
    assert len({arm for arm, _ in seen}) == len(seen), f"two probabilities for one arm: {seen}"
    for (arm, probability), count in seen.items():
        assert probability is not None
        sigma = math.sqrt(probability * (1 - probability) / redraws)
        assert abs(count / redraws - probability) <= 5 * sigma + 1e-12, (arm, probability, count / redraws)


@pytest.mark.parametrize("available", [None, ["a", "c"]])
@pytest.mark.parametrize("name", POLICIES)
@REDRAWS
def test_probabilities_are_those_of_redraws(name: str, available: Any, redraws: int) -> None:
    fixed = getattr(POLICIES[name], "fixed_arms", False)
    if fixed and available:
        pytest.skip("its arms are always all available")
    agent = trained(name)
    deterministic = getattr(POLICIES[name], "deterministic", False)
    redraws = 100 if deterministic else redraws
    seen = redrawn(agent, redraws, **({"available": available} if available else {}))
    assert {arm for arm, _ in seen} <= set(available or "abc")
    if {probability for _, probability in seen} == {None}:
        assert name in ("ts", "cp-ts", "lc-ts", "lc-ts-stated", "d-ts", "sw-ts", "period", "scaled", "dal")
        return
    assert_exact(seen, redraws)
    assert (len(seen) == 1) == deterministic


@pytest.mark.parametrize("available", [None, ["a", "c"], ["b", "c"]])
@pytest.mark.parametrize("name", SINGLE)
@REDRAWS
def test_floor_and_holdback_have_exact_probabilities(name: str, available: Any, redraws: int) -> None:
    agent = trained(name, floor=0.2, holdback=0.3, control="a")
    seen = redrawn(agent, redraws, **({"available": available} if available else {}))
    arms = available or ["a", "b", "c"]
    assert {arm for arm, _ in seen} == set(arms)
    if {probability for _, probability in seen} == {None}:
        assert not getattr(POLICIES[name], "deterministic", False)
        return
    assert_exact(seen, redraws)
    assert math.isclose(sum(probability or 0.0 for _, probability in seen), 1)


def test_the_formula() -> None:
    agent = lb.Agent("ucb1", arms=["a", "b"], floor=0.2, holdback=0.3, control="a", seed=0)
    decision = agent.ask()  # nothing is known, so the policy plays a
    chances = {"a": 0.3 + 0.7 * (0.1 + 0.8), "b": 0.7 * 0.1}
    for option in agent.explain(decision).options:
        assert option.probability == pytest.approx(chances[str(option.name)])
    assert decision.probability == pytest.approx(chances[str(decision.arm)])
    assert not decision.deterministic


def test_one_available_arm_is_certain() -> None:
    for name in ("ts", "exp3", "ucb1"):
        for share in (0.0, 0.3):
            agent = lb.Agent(name, arms=["a", "b"], floor=share, holdback=share, control="b")
            assert agent.ask(available=["b"])[1:4] == (("b",), (), (1.0,))
            agent.retire("a")
            assert agent.ask().deterministic


def test_a_unit_stays_where_it_is() -> None:
    agent = lb.Agent("random", arms=["a", "b", "c"], holdback=0.3, control="c", seed=5)
    other = lb.Agent("random", arms=["a", "b", "c"], holdback=0.3, control="c", seed=6)
    held = [agent.ask(subject=subject).by == "control" for subject in range(500)]
    assert [agent.ask(subject=str(subject)).by == "control" for subject in range(500)] == held
    assert [other.ask(subject=subject).by == "control" for subject in range(500)] != held
    assert 100 < sum(held) < 200
    subject = held.index(True)
    assert agent.ask(subject=subject, available=["a", "b"]).by == "policy"
    agent.retire("c")
    assert agent.ask(subject=subject).by == "policy"


def test_what_the_policy_does_not_decide_teaches_it_too() -> None:
    agent = lb.Agent("ucb1", arms=["a", "b"], floor=1.0, seed=0)
    for _ in range(40):
        agent.tell(agent.ask(), 0.5)
    assert agent.memory.counts.sum() == 40
    assert agent.memory.counts.min() > 5
    held = lb.Agent("exp3", arms=["a", "b"], holdback=1.0, control="b", seed=0)
    for _ in range(40):
        held.tell(held.ask(), 1.0)
    assert held.memory.weights[1] > 0.6


def test_exp3_learns_with_the_total_probability() -> None:
    plain, mixed = lb.Agent("exp3", seed=0), lb.Agent("exp3", seed=0, floor=0.5)
    for agent, decision in ((agent, agent.ask(available=[0, 1])) for agent in (plain, mixed)):
        agent.tell(decision, 1.0)
    arm = int(plain.memory.weights.argmax())
    assert plain.memory.weights.max() == pytest.approx(mixed.memory.weights.max())  # both are 1/2 at the start
    probability = next(option.probability for option in mixed.explain(mixed.ask()).options if option.name == arm)
    policy = mixed.policy
    own = (1 - 0.1) * mixed.memory.weights[arm] + 0.1 / policy.arms
    assert probability == pytest.approx(0.25 + 0.5 * own)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"floor": -0.1}, "floor is -0.1 but must be a finite number from 0 to 1"),
        ({"floor": True}, "floor is True but must be a finite number from 0 to 1"),
        ({"holdback": 1.5, "control": 0}, "holdback is 1.5 but must be a finite number from 0 to 1"),
        ({"holdback": 0.1}, "control is None but must be one of 0, 1 when there is a holdback"),
        ({"holdback": 0.1, "control": "a"}, "control is 'a' but must be one of 0, 1"),
    ],
)
def test_bad_mixing_is_refused(settings: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        lb.Agent("ucb1", **settings)


def test_mixing_needs_one_unit_and_arms_that_may_be_missing() -> None:
    with pytest.raises(
        ValueError, match=r"floor is 0.1 but must be 0 for a policy with several groups \(this one has 2\)"
    ):
        lb.Agent(lb.policy("ucb1", groups=2), floor=0.1)
    with pytest.raises(ValueError, match=r"floor is 0.1 but must be 0 for Scripted, which needs all its arms"):
        lb.Agent(lb.policies.Scripted(arms=2, script=[0, 1]), floor=0.1)
    with pytest.raises(ValueError, match=r"subject is 1.5 but must be a text or an integer"):
        lb.Agent("ucb1").ask(subject=1.5)  # type: ignore[arg-type]

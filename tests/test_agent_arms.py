"""Arms by name that come and go."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.memories import parts
from latentbandits.protocols import Choice, grown
from tests.fixtures import UNGROWN, policies
from tests.test_agent import snapshot

POLICIES = policies()
CHANGING = [name for name in POLICIES if name != "scripted"]
GROWING = [name for name in CHANGING if name not in UNGROWN]


def play(agent: lb.Agent, rounds: int, **asked: Any) -> list[tuple[Any, ...]]:
    played = []
    for number in range(rounds):
        decision = agent.ask(**asked)
        played.append(decision.arms)
        agent.tell(decision, [0.2 + 0.1 * (len(str(arm)) + number % 5) for arm in decision.arms])
    return played


def bits(memory: Any) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in parts(memory).items()}


def test_arms_have_names() -> None:
    agent = lb.Agent("random", arms=["red", "blue", 7], seed=1)
    assert agent.arms == ("red", "blue", 7)
    assert agent.policy.arms == 3
    assert {agent.ask().arm for _ in range(50)} == {"red", "blue", 7}


@pytest.mark.parametrize(
    ("policy", "arms", "names"),
    [
        ("ucb1", None, (0, 1)),
        ("ucb1", 3, (0, 1, 2)),
        (lb.policy("ucb1", arms=3), None, (0, 1, 2)),
        (lb.policy("ucb1", arms=3), 3, (0, 1, 2)),
        (lb.policy("ucb1", arms=3), ["a", "b", "c"], ("a", "b", "c")),
        ("ucb1:exploration=1", ("x", "y"), ("x", "y")),
        ("ucb1", np.array([5, 6]), (5, 6)),
    ],
)
def test_every_way_to_give_arms(policy: Any, arms: Any, names: tuple[Any, ...]) -> None:
    assert lb.Agent(policy, arms=arms).arms == names


@pytest.mark.parametrize(
    ("policy", "arms", "sentence"),
    [
        ("ucb1", ["a"], "arms is 1 but must be an integer at least 2"),
        ("ucb1", 1, "arms is 1 but must be an integer at least 2"),
        ("ucb1", "abc", "arms is 'abc' but must be a number, or a list of names"),
        ("ucb1", 2.5, "arms is 2.5 but must be a number, or a list of names"),
        ("ucb1", ["a", "b", "a"], "must be names that all differ"),
        ("ucb1", ["a", 1.5], "arm is 1.5 but must be a text or an integer"),
        ("ucb1", ["a", True], "arm is True but must be a text or an integer"),
        (lb.policy("ucb1", arms=3), ["a", "b"], "must be 3, the policy's, or that many names"),
        (lb.policy("ucb1", arms=3), 2, "arms is 2 but must be 3, the policy's, or that many names"),
    ],
)
def test_bad_arms_are_refused(policy: Any, arms: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        lb.Agent(policy, arms=arms)


@pytest.mark.parametrize("name", CHANGING)
def test_only_available_arms_are_played(name: str) -> None:
    agent = lb.Agent(POLICIES[name], arms=["a", "b", "c"], seed=1, compiled=True)
    for offered in (["a", "c"], ["b"], ["c", "b", "b"], ["a"]):
        assert {arm for arms in play(agent, 40, available=offered) for arm in arms} <= set(offered)
    agent.retire("b")
    assert {arm for arms in play(agent, 60) for arm in arms} <= {"a", "c"}
    assert {arm for arms in play(agent, 20, available=["b", "c"]) for arm in arms} == {"c"}


@pytest.mark.parametrize("name", GROWING)
def test_a_spare_arm_that_is_never_available_changes_no_choice(name: str) -> None:
    policy = POLICIES[name]
    plain = lb.Agent(policy, arms=["a", "b", "c"], seed=2, compiled=True)
    larger = lb.Agent(policy, arms=["a", "b", "c"], seed=2, compiled=True)
    larger.add("spare")
    larger.retire("spare")
    assert play(plain, 150) == play(larger, 150)


@pytest.mark.parametrize("name", GROWING)
def test_adding_and_retiring_leaves_the_others_as_they_were(name: str) -> None:
    agent = lb.Agent(POLICIES[name], arms=["a", "b", "c"], seed=2, compiled=True)
    play(agent, 100)
    before = agent.memory
    agent.add("d")
    policy, expected = grown(POLICIES[name], before)
    assert agent.policy == policy
    assert bits(agent.memory) == bits(expected)
    agent.retire("d")
    agent.add("d")
    agent.retire("d")
    assert bits(agent.memory) == bits(expected)


@pytest.mark.parametrize("name", GROWING)
def test_a_new_arm_is_tried_and_old_decisions_still_count(name: str, tmp_path: Path) -> None:
    agent = lb.Agent(POLICIES[name], arms=["a", "b", "c"], seed=2, compiled=True)
    play(agent, 60)
    waiting = [agent.ask() for _ in range(3)]
    agent.add("d")
    agent.retire(waiting[0].arm)
    agent.save(tmp_path / "agent")
    other = lb.Agent.load(tmp_path / "agent", compiled=True)
    assert other.arms == agent.arms
    assert other.retired == agent.retired == (waiting[0].arm,)
    for decision in waiting:
        for one in (agent, other):
            one.tell(decision, [0.5] * len(decision.arms))
    assert snapshot(agent) == snapshot(other)
    played = play(agent, 150)
    assert play(other, len(played)) == played
    assert any("d" in arms for arms in played)


def test_a_retired_arm_comes_back_with_what_is_known_of_it() -> None:
    agent = lb.Agent("ucb1", arms=["a", "b"])
    play(agent, 50)
    known = agent.memory.counts[0]
    agent.retire("a")
    assert list(agent.arms) == ["b"]
    agent.add("a")
    assert list(agent.arms) == ["a", "b"]
    assert agent.retired == ()
    assert agent.memory.counts[0] == known


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda a: a.ask(available=["d"]), "available is 'd' but must be one of a, b, c"),
        (lambda a: a.ask(available=["aa"]), "available is 'aa' but must be one of a, b, c"),
        (lambda a: a.ask(available=[]), r"available is \[\] but must be at least one arm that is not retired"),
        (lambda a: a.ask(available=["c"]), r"available is \['c'\] but must be at least one arm that is not retired"),
        (lambda a: a.ask(available="a"), "available is 'a' but must be a list of names of arms"),
        (lambda a: a.ask(available=1), "available is 1 but must be a list of names of arms"),
        (lambda a: a.ask(available=[["a"]]), r"available is \['a'\] but must be a text or an integer"),
        (lambda a: a.add("a"), "arm is 'a' but must be a new one or a retired one"),
        (lambda a: a.add(None), "arm is None but must be a text or an integer"),
        (lambda a: a.retire("d"), "arm is 'd' but must be one of a, b, c"),
        (lambda a: a.retire("c"), "arm is 'c' but must be one that is not retired"),
        (
            lambda a: (a.retire("a"), a.retire("b")),
            "arm is 'b' but must be another than the last one that can be played",
        ),
    ],
)
def test_bad_changes_are_refused(act: Any, sentence: str) -> None:
    agent = lb.Agent("ucb1", arms=["a", "b", "c"])
    agent.retire("c")
    with pytest.raises(ValueError, match=sentence):
        act(agent)


@pytest.mark.parametrize("name", ["scripted", *UNGROWN])
def test_policies_that_cannot_refuse_in_one_sentence(name: str) -> None:
    agent = lb.Agent(POLICIES[name])
    with pytest.raises(ValueError, match="must be") as refusal:
        agent.add("d")
    assert "\n" not in str(refusal.value)
    if name == "scripted":
        for act in (lambda: agent.retire(0), lambda: agent.ask(available=[0, 1])):
            with pytest.raises(ValueError, match=r"Scripted: arms is .* but must be the same in every round"):
                act()


class Stubborn(lb.policies.UniformRandom):
    """It does not care what is available."""

    def choose(self, memory: Any, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
        choice.arms[0] = 1


def test_a_policy_that_plays_what_is_not_available_is_refused() -> None:
    agent = lb.Agent(Stubborn(2), arms=["a", "b"], compiled=False)
    assert agent.ask().arm == "b"
    with pytest.raises(ValueError, match=r"choice is \[1\] but must be among the arms \[0\] \(this is an error of the"):
        agent.ask(available=["a"])

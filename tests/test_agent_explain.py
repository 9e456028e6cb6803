"""Why a decision was made, and what was counted."""

import math
from pathlib import Path

import numpy as np
import pytest

import latentbandits as lb
from tests.fixtures import policies


def test_an_arm_without_rewards_goes_first_or_last_in_memory_and_in_a_store(tmp_path: Path) -> None:
    """Arms that were asked for go by when that was; mutation: such an index is shown as the number that only orders them."""
    agent = lb.Agent("br-mab", arms=3)
    with lb.open_agent(tmp_path / "decisions.db", "e", "br-mab", arms=3, compiled=False) as stored:
        for each in (agent, stored):
            rewarded = each.ask(available=[0])
            for arm in (1, 1, 2):
                each.ask(available=[arm])
            each.tell(rewarded, 0.5)
            indices = [option.index for option in each.explain(each.ask()).options]
            assert indices == [0.5, -math.inf, -math.inf]


def test_an_explanation_is_what_the_policy_compared() -> None:
    agent = lb.Agent(lb.policies.UCB1(arms=3), arms=["a", "b", "c"])
    rewards = {"a": 0.9, "b": 0.2, "c": 0.4}
    first = agent.explain(agent.ask())
    assert [option.index for option in first.options] == [math.inf] * 3
    assert [option.value for option in first.options] == [None] * 3
    for name in "abc":
        agent.tell(agent.ask(available=[name]), rewards[name])
    decision = agent.ask(available=["b", "c"])
    explanation = agent.explain(decision.id)
    assert explanation.arms == decision.arms == ("c",)
    assert (explanation.by, explanation.probe_reasons, explanation.reason) == (
        "policy",
        (),
        "the highest index of the arms that could be played; a could not: not available, or withheld by the guardrail",
    )
    assert explanation.time == decision.time
    bonus = 2 * math.sqrt(math.log(3))
    for option in explanation.options:
        name = str(option.name)
        assert option.value == pytest.approx(rewards[name])
        assert option.bonus == pytest.approx(bonus)
        assert option.index == pytest.approx(rewards[name] + bonus)
        assert option.available == (name != "a")
        assert option.played == (name == "c")
        assert option.probability == (name == "c")
    assert str(explanation).splitlines()[1:] == [
        "arm  value  std_error  bonus  index  probability",
        "a    0.900          -  2.096  2.996        0.000  not available",
        "b    0.200          -  2.096  2.296        0.000",
        "c    0.400          -  2.096  2.496        1.000         played",
    ]


def test_every_reason_has_words() -> None:
    agent = lb.Agent("ucb1", arms=["a", "b"], floor=0.999999, seed=1)
    assert agent.explain(agent.ask()).reason == "any arm, by the floor (100 % of all decisions)"
    agent = lb.Agent("ucb1", arms=["a", "b"], holdback=1.0, control="b")
    assert (
        agent.explain(agent.ask()).reason == "the control arm, since this subject is held back (100 % of all subjects)"
    )
    assert agent.explain(agent.ask(available=["a"])).reason == "the only available arm"
    agent = lb.Agent("sp-ucb:interval=2", arms=["a", "b"])
    agent.ask()
    assert agent.explain(agent.ask()).reason == "a probe, since it is time for one"
    assert agent.explain(agent.ask()).reason == "a probe, since it began earlier"
    agent = lb.Agent("random", arms=["a", "b"])
    assert agent.explain(agent.ask()).reason == "the policy's choice"


def test_rewards_that_never_differ_are_no_untried_arms() -> None:
    """Every arm has been tried; but nothing tells them apart."""
    agent = lb.Agent("state-library", arms=["a", "b"])
    for _ in range(10):
        agent.tell(agent.ask(), 1.0)
    assert agent.explain(agent.ask()).reason == "a probe, since too little is known of an arm"


@pytest.mark.parametrize("name", policies())
def test_explanations_of_every_policy_survive_a_file(name: str, tmp_path: Path) -> None:
    policy = policies()[name]
    agent = lb.Agent(policy, arms=["a", "b", "c"], seed=1)
    for number in range(50):
        decision = agent.ask()
        agent.tell(decision, [0.1 * (number % 3)] * policy.groups)
    decision = agent.ask()
    explanation = agent.explain(decision)
    assert {option.name for option in explanation.options if option.played} == set(decision.arms)
    if policy.groups == 1:
        (played,) = (option for option in explanation.options if option.played)
        assert played.probability == decision.probability
    agent.save(tmp_path / "agent")
    again = lb.Agent.load(tmp_path / "agent").explain(decision.id)
    assert again == explanation
    assert str(again) == str(explanation)
    assert len(str(explanation).splitlines()) == 5


def test_an_explanation_needs_an_open_decision() -> None:
    agent = lb.Agent("ucb1")
    decision = agent.ask()
    agent.tell(decision, 0.5)
    with pytest.raises(lb.InvalidValueError, match="must be an open one"):
        agent.explain(decision)


def test_stats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = lb.Agent("ucb1", max_open=3)
    assert list(agent.stats)[:7] == [0, 0, 0, 0, 0, 0, None]
    first, second, third = agent.ask(), agent.ask(), agent.ask()
    agent.tell(second, 0.5)
    agent.tell(third, 0.5)
    agent.forget(first)
    kept = agent.ask()
    monkeypatch.setattr("latentbandits.agent.base.time_ns", lambda: 1000 * (round(kept.time * 1e6) + 86_400_000_000))
    assert list(agent.stats)[:7] == [4, 2, 1, 1, 0, 1, 86400.0]
    agent.save(tmp_path / "agent")
    assert lb.Agent.load(tmp_path / "agent").stats == agent.stats
    monkeypatch.setattr(
        "latentbandits.agent.base.time_ns", lambda: round((kept.time - 5.0) * 1e9)
    )  # a clock that was put back
    assert agent.stats.oldest == 0.0


def test_the_usual_arm_against_the_highest_index_is_said_to_be_that() -> None:
    """Noise that is loud for a while looks like states: the library prefers other arms than the usual one, and is not trusted."""
    generator = np.random.default_rng(2)
    agent = lb.Agent("state-library", arms=3, seed=1, compiled=True)
    plays, found = [0, 0, 0], 0
    for t in range(3000):
        decision = agent.ask()
        explained, arm = agent.explain(decision), int(decision.arm)
        if explained.reason == "the policy's choice, against the highest index":
            found += 1
            assert plays[arm] == max(plays)
            assert explained.options[arm].index != max(option.index or 0.0 for option in explained.options)
            if found > 10:
                return
        plays[arm] += 1
        agent.tell(decision, (1.0, 1.1, 0.9)[arm] + generator.normal() * (3.0 if t // 50 % 2 else 0.3))
    pytest.fail(f"{found} times in 3,000 rounds")

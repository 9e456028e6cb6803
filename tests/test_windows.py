"""Windows, corrections and ranges of an agent in memory: what is learned, when, in which order, and what files and journals have."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.agent import Stats
from latentbandits.agent.events import Event
from latentbandits.memories import parts
from latentbandits.store.replay import digest

WINDOW = 10.0


class Case:
    """An agent whose time is told to it, and its journal."""

    def __init__(self, policy: Any = "ucb1", **given: Any) -> None:
        self.now = 0.0
        self.journal: list[str] = []
        self.settings: dict[str, Any] = {
            "arms": ["a", "b", "c"],
            "seed": 3,
            "compiled": False,
            "window": WINDOW,
            "default": 0.0,
        } | given
        self.policy = policy
        self.agent = self.made(journal=self.keep, clock=lambda: self.now)

    def made(self, **given: Any) -> lb.Agent:
        return lb.Agent(self.policy, **self.settings, **given)

    def keep(self, event: Event) -> None:
        self.journal.append(json.dumps(event))

    def repeated(self) -> lb.Agent:
        twin = self.made()
        for line in self.journal:
            twin.apply(json.loads(line))
        return twin

    @property
    def kinds(self) -> list[str]:
        return [json.loads(line)[1] for line in self.journal[1:]]  # after what it begins with


def bits(agent: lb.Agent) -> str:
    return digest(agent._state)


def test_a_click_and_no_click_are_learned_alike_when_their_windows_close_in_the_order_of_decisions() -> None:
    case = Case()
    first, second, third = (case.agent.ask() for _ in range(3))
    case.now = 4.0
    assert case.agent.tell(third, 1.0) == case.agent.tell(second.id, 0.5) == "accepted"
    # mutation: learn a reward as it comes
    assert (case.agent.stats.told, case.agent.stats.waiting, case.agent.memory.counts.sum()) == (0, 2, 0)
    with pytest.raises(lb.InvalidValueError, match="were not told yet"):
        case.agent.tell(third, 1.0)
    case.now = 10.1
    fourth = case.agent.ask()
    ended = [json.loads(line)[3] for line in case.journal if json.loads(line)[1] in ("reward", "expire")]
    assert ended == [first.id, second.id, third.id]
    assert case.kinds[-4:] == ["expire", "reward", "reward", "decide"]
    assert case.agent.memory.sums.sum() == 1.5
    assert case.agent.stats == Stats(4, 3, 2, 0, 0, 1, 0.0, 0, 1)
    assert case.agent.tell(first, 1.0) == "late"
    assert (case.agent.memory.sums.sum(), case.agent.stats.late) == (1.5, 1)  # mutation: learn what is late
    with pytest.raises(lb.InvalidValueError, match="must be an open one"):
        case.agent.tell(first, 1.0)
    case.agent.tell(fourth, 0.25)
    assert bits(case.repeated()) == bits(case.agent)


def test_without_a_default_what_is_not_told_is_dropped_and_not_learned() -> None:
    case = Case(default=None)
    first, second = case.agent.ask(), case.agent.ask()
    case.agent.tell(second, 0.5)
    case.now = 11.0
    case.agent.ask()
    assert case.kinds[-3:] == ["censor", "reward", "decide"]
    assert case.agent.memory.counts.sum() == 1
    assert case.agent.tell(first, 1.0) == "late"


def test_at_once_learns_a_reward_when_it_comes() -> None:
    case = Case(learn="at_once")
    case.agent.ask()
    case.agent.tell(case.agent.ask(), 1.0)
    assert case.agent.memory.sums.sum() == 1.0
    case.now = 11.0
    case.agent.ask()
    assert case.agent.memory.counts.sum() == 2


@pytest.mark.parametrize("default", [0.0, None])
def test_too_many_open_decisions_close_windows_early_and_clicks_are_no_better_off(default: float | None) -> None:
    """With a default, clicks and no clicks have the same shorter window (mutation: censor those without a reward)."""
    case = Case(max_open=4, default=default)
    case.agent._warned = True
    for n in range(40):
        decision = case.agent.ask()
        case.now += 0.1
        if n % 2:
            case.agent.tell(decision, 1.0)
    stats = case.agent.stats
    assert (stats.open, stats.asked) == (4, 40)
    assert (stats.told, stats.dropped, stats.early) == ((36, 0, 36) if default is not None else (18, 18, 18))
    assert bits(case.repeated()) == bits(case.agent)


@pytest.mark.parametrize("policy", ["ucb1", "exp3", "ts", "state-library:states=4", "scaled(ts)"])
def test_files_and_journals_have_half_open_windows_and_what_can_be_corrected(policy: str, tmp_path: Path) -> None:
    case = Case(policy, corrections=5, floor=0.2)
    chance = np.random.default_rng(1)
    open_: list[lb.Decision] = []
    for n in range(60):
        open_.append(case.agent.ask())
        case.now += 1.0
        if chance.random() < 0.4:
            case.agent.tell(open_[-1 - int(chance.integers(min(len(open_), 8)))], 1.0, correct=True)
        if n % 13 == 5 and n > 20:
            assert case.agent.tell(open_[n - 12], 0.75, correct=True) == "corrected"
        if n % 20 == 19:
            assert bits(case.repeated()) == bits(case.agent)
            case.agent.save(tmp_path / "agent")
            restored = lb.Agent.load(tmp_path / "agent", journal=case.keep, clock=lambda: case.now, compiled=False)
            assert bits(restored) == bits(case.agent)
            case.agent = restored
    stats = case.agent.stats
    assert stats.corrected > 3
    assert stats.expired > 10
    assert stats.waiting > 0
    past = case.agent._state.past
    assert past is not None
    assert len(past.since[0]) < 60  # memory is bounded
    case.agent.retire("c")
    case.agent.add("d")
    assert case.agent.tell(open_[-11], 0.5, correct=True) == "corrected"  # it was learned before there was a d
    assert bits(case.repeated()) == bits(case.agent)


@pytest.mark.parametrize("policy", ["ucb1", "sw-ucb:window=20", "ts", "state-library:states=4"])
def test_what_was_corrected_is_what_would_have_been_learned(policy: str) -> None:
    """Of two agents that play the same arms, one is told a wrong reward first (mutations: learn twice, lose what came meanwhile)."""
    agents = [lb.Agent(policy, arms=["a", "b"], seed=4, corrections=30, compiled=False) for _ in range(2)]
    chance = np.random.default_rng(0)
    kept: list[list[lb.Decision]] = []
    for n in range(75):
        arm = "ab"[int(chance.integers(2))]
        kept.append([agent.ask(available=[arm]) for agent in agents])
        reward = float(chance.normal())
        for agent, decision, told in zip(agents, kept[-1], (reward, -1000.0 if n == 50 else reward), strict=True):
            agent.tell(decision, told)
        if n == 50:
            right = reward
    assert agents[1].tell(kept[50][1], right, correct=True) == "corrected"
    after = parts(agents[1].memory)
    for name, part in parts(agents[0].memory).items():
        np.testing.assert_array_equal(part, after[name], err_msg=name)
    assert agents[0].ask().arm == agents[1].ask().arm
    with pytest.raises(lb.InvalidValueError, match=r"decision to correct .* one of the last 30 that were learned"):
        agents[1].tell(kept[0][1], 1.0, correct=True)


def test_a_pending_reward_is_replaced_without_any_setting() -> None:
    case = Case()
    decision = case.agent.ask()
    assert case.agent.tell(decision, -1000.0) == "accepted"
    assert case.agent.tell(decision, 1.0, correct=True) == "corrected"
    case.now = 11.0
    case.agent.ask()
    assert case.agent.memory.sums.sum() == 1.0
    with pytest.raises(lb.InvalidValueError, match="whose window is open"):
        case.agent.tell(decision, 0.5, correct=True)
    assert case.agent.stats.corrected == 1


def test_a_reward_outside_the_range_is_refused_or_clipped_and_counted() -> None:
    strict, lenient = (Case(reward_range=(0, 1), outside=outside) for outside in ("refuse", "clip"))
    with pytest.raises(lb.InvalidValueError, match=r"rewards is -1000\.0 but must be within the reward_range, 0 to 1"):
        strict.agent.tell(strict.agent.ask(), -1000.0)
    assert (strict.agent.stats.refused, strict.agent.stats.open, strict.kinds) == (1, 1, ["decide"])
    assert lenient.agent.tell(lenient.agent.ask(), -1000.0) == "accepted"
    assert json.loads(lenient.journal[-1])[8:11] == [0.0, None, '{"given":[-1000.0]}']
    assert lenient.agent.stats.clipped == 1
    assert bits(lenient.repeated()) == bits(lenient.agent)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"learn": "later"}, "learn is 'later' but must be one of censored, at_window, at_once"),
        ({"window": None}, "default is 0.0 but must be given with a window"),
        ({"reward_range": (1, 0)}, r"reward_range is \(1, 0\) but must be a pair"),
        ({"reward_range": (1, 2)}, "default is 0.0 but must be within the reward_range, 1 to 2"),
        ({"reward_range": 1}, "reward_range is 1 but must be a pair"),
        ({"outside": "drop"}, "outside is 'drop' but must be one of refuse, clip"),
        ({"corrections": -1}, "corrections is -1"),
    ],
)
def test_rules_that_make_no_sense_are_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(lb.InvalidValueError, match=problem):
        Case(**given)


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ({"default": None}, "the reward of a decision without one"),
        ({"learn": "at_once"}, "use learn='at_window'"),
        ({}, None),
    ],
)
def test_clicks_alone_are_warned_about_where_they_mislead(given: dict[str, Any], advice: str | None) -> None:
    case = Case(**given)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for n in range(120):
            decision = case.agent.ask()
            if n % 2:
                case.agent.tell(decision, 1.0)
            case.now += 1.0
    assert [str(one.message).endswith(str(advice)) for one in found] == ([True] if advice else [])
    assert all(one.category is lb.OneSidedRewardsWarning for one in found)


def test_rewards_that_differ_are_not_warned_about() -> None:
    case = Case(default=None)
    for n in range(120):
        decision = case.agent.ask()
        if n % 2:
            case.agent.tell(decision, n / 120)
        case.now += 1.0
    assert case.agent.stats.forgotten > 40

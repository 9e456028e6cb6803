"""The policies that forget, recall, regress on lags or expect a period: units of rewards, late rewards, and what each is for."""

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.random import stream
from latentbandits.simulation.batch import record_one
from tests.twins import assert_same, play, twin_of

# Policies from elsewhere that forget, recall, regress on lags or expect a period
NAMES = ("d-ts", "sw-ts", "br-mab", "larl", "period")
SCALE_FREE = [name for name in NAMES if name != "larl"]


@pytest.mark.parametrize("name", SCALE_FREE)
@pytest.mark.parametrize(("scale", "shift"), [(1024.0, 0.0), (1000.0, -300.0)])
def test_the_unit_of_rewards_does_not_matter(name: str, scale: float, shift: float) -> None:
    policy = lb.policy(name, arms=3)
    realisation = lb.HiddenMarkov(arms=3, states=3, noise=0.1).realise(600, 1, seed=5, draw=0, repeat=0)
    other = realisation._replace(rewards=scale * realisation.rewards + shift)
    assert_same(record_one(policy, realisation, stream(1)), record_one(policy, other, stream(1)))


def played_late(agent: lb.Agent, late: int, rewards: np.ndarray) -> list[int]:
    """Return the arms of an agent that is told each reward so many rounds late, at what its arm pays by then."""
    waiting, played = [], []
    for paid in rewards:
        waiting.append(agent.ask())
        played.append(waiting[-1].arm)
        if len(waiting) > late:
            decision = waiting.pop(0)
            agent.tell(decision, paid[decision.arm])
    return played


@pytest.mark.parametrize("name", NAMES)
def test_rewards_that_are_twenty_rounds_late_are_learned(name: str) -> None:
    """Arm 1 is better; untried arms take turns while nothing has arrived."""
    agent = lb.Agent(lb.policy(name, arms=3), seed=2, compiled=False)
    noise = np.random.default_rng(0).normal(0, 0.05, 300)
    played = played_late(agent, 20, np.array([0.2, 0.8, 0.5]) + noise[:, None])
    assert played[150:].count(1) > 90  # chance: 50
    if name != "larl":
        assert sorted(played[:3]) == [0, 1, 2]


def test_a_period_is_found_and_the_twin_finds_the_same() -> None:
    policy = lb.policy("period", arms=3, longest=40)
    realisation = lb.Seasons(states=4, dwell=3, arms=3, noise=0.1).realise(900, 1, seed=1, draw=0, repeat=0)
    arms, probe_reason = record_one(policy, realisation, stream(3))
    assert_same((arms, probe_reason), play(twin_of(policy, realisation, 3), realisation))
    assert (realisation.means[np.arange(900), arms[:, 0]] == realisation.means.max(axis=1))[600:].mean() > 0.85
    agent = lb.Agent(policy, seed=1, compiled=False)
    played_late(agent, 0, realisation.rewards[:, 0])
    assert agent.memory.scalars[0]["period"] == 12


def test_no_period_is_found_where_states_persist() -> None:
    agent = lb.Agent(lb.policy("period", longest=64), seed=1, compiled=False)
    realisation = lb.HiddenMarkov(states=4, stickiness=0.98, noise=0.1).realise(1000, 1, seed=2, draw=0, repeat=0)
    played_late(agent, 0, realisation.rewards[:, 0])
    assert agent.memory.scalars[0]["period"] == 0


def test_a_concept_that_returns_is_recalled_without_exploring() -> None:
    """Two states take turns, eighty rounds each; from their third visit on, the other arms need not be tried again."""
    means = np.repeat([[0.9, 0.1, 0.2], [0.3, 0.5, 0.8]] * 4, 80, axis=0)
    rewards = np.random.default_rng(0).normal(means, 0.02)
    realisation = lb.Replay(rewards).realise(len(means), 1, seed=0, draw=0, repeat=0)
    recalling, forgetting = lb.policy("br-mab", arms=3, forced=0.0), lb.policy("br-mab", arms=3, forced=0.0, margin=0.0)
    wrong = [
        (record_one(policy, realisation, stream(0))[0][240:, 0] != means.argmax(axis=1)[240:]).sum()
        for policy in (recalling, forgetting)
    ]
    assert wrong[0] < 12
    assert wrong[0] < wrong[1]


@pytest.mark.parametrize("name", ["sw-ts", "d-ts"])
def test_an_arm_outside_the_window_is_not_asked_for_again_while_its_reward_is_under_way(name: str) -> None:
    """Two arms, rewards five rounds late: once that delay is known, an untried arm is asked for once and then waited for."""
    policy = lb.policy(name, arms=2) if name == "d-ts" else lb.policy(name, arms=2, window=10)
    agent = lb.Agent(policy, seed=2, compiled=False)
    played = played_late(agent, 5, np.tile([0.9, 0.1], (60, 1)))
    assert played[20:].count(1) <= 6

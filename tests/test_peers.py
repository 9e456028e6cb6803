"""The policies that watch for changes: rare false alarms, quick detection, a memory that does not grow."""

from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.agent import Agent
from latentbandits.random import stream
from latentbandits.simulation.batch import record_one

NAMES = ("cp-ts", "glr-ucb", "cusum-ucb", "m-ucb")
RESTARTING = NAMES[1:]


def steady(means: tuple[float, float], rounds: int, noise: float, seed: int, groups: int = 1) -> np.ndarray:
    """Return rewards (rounds, groups, arms) of means that do not change."""
    return np.random.default_rng(seed).normal(means, noise, (rounds, groups, 2))


def restarts(name: str, rewards: np.ndarray, **settings: Any) -> list[int]:
    """Return the rounds in which a policy restarts when it plays on these rewards."""
    agent = Agent(lb.policy(name, groups=rewards.shape[1], **settings), seed=1, compiled=True)
    found, before = [], 0
    for t, paid in enumerate(rewards):
        decision = agent.ask()
        agent.tell(decision, paid[range(len(paid)), list(decision.arms)])
        now = int(agent.memory.counts.sum())
        if now <= before:
            found.append(t)
        before = now
    return found


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("noise", [0.01, 0.5])
@pytest.mark.parametrize(("name", "most"), [("glr-ucb", 0.2), ("cusum-ucb", 0.6), ("m-ucb", 4)])
def test_false_alarms_are_rare(name: str, most: float, noise: float, groups: int) -> None:
    """Per 1000 rounds without a change, when the noise is given."""
    alarms = [len(restarts(name, steady((0.3, 0.6), 1000, noise, seed, groups), noise=noise)) for seed in range(10)]
    assert sum(alarms) / 10 <= most


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("name", RESTARTING)
def test_a_change_is_found_quickly(name: str, groups: int) -> None:
    """The arm in use drops by ten times the noise after 300 rounds; M-UCB needs most, half a window of four rounds."""
    for seed in range(5):
        before, after = (steady((0.3, mean), 300, 0.02, seed, groups) for mean in (0.6, 0.4))
        found = restarts(name, np.concatenate([before, after]), noise=0.02)
        assert any(300 <= t < 304 for t in found)


@pytest.mark.parametrize("name", NAMES)
def test_the_new_best_arm_is_played_soon(name: str) -> None:
    swapped = np.concatenate([steady((0.3, 0.6), 300, 0.02, 1), steady((0.6, 0.3), 300, 0.02, 2)])
    realisation = lb.Replay(swapped).realise(600, 1, seed=0, draw=0, repeat=0)
    arms, _ = record_one(lb.policy(name), realisation, stream(0))
    assert (arms[50:300] == 1).mean() > 0.95
    assert (arms[320:] == 0).mean() > 0.95


def test_a_restart_of_one_arm_keeps_the_others() -> None:
    """Arm 1 drops in round 301: what is left are the nine rounds since, and the one that arm 0 had before."""
    paid = np.concatenate([steady((0.3, 0.6), 300, 0.02, 0), steady((0.3, 0.1), 10, 0.02, 0)])
    kept = {}
    for together in (False, True):
        agent = Agent(lb.policies.CUSUMUCB(arms=2, together=together, forced=0.0, noise=0.02), seed=1)
        for rewards in paid:
            decision = agent.ask()
            agent.tell(decision, rewards[0, decision.arm])
        kept[together] = int(agent.memory.counts.sum())
    assert kept == {False: 10, True: 9}


@pytest.mark.parametrize(("stay", "rate"), [(0.8, 0.2), (0.98, 0.02), (1.0, 0.0)])
def test_hazard_is_learned(stay: float, rate: float) -> None:
    agent = Agent(lb.policies.ChangePointThompson(arms=2, hazard=0.0), seed=1, compiled=True)
    realisation = lb.HiddenMarkov(stickiness=stay).realise(4000, 1, seed=3, draw=0, repeat=0)
    for rewards in realisation.rewards:
        decision = agent.ask()
        agent.tell(decision, rewards[0, decision.arm])
    assert agent.memory.scalars[0].hazard == pytest.approx(rate, rel=0.2, abs=0.001)
    assert agent.memory.noise[0].sd == pytest.approx(0.01, rel=0.1)


def test_weights_are_a_distribution_and_surprise_is_survived() -> None:
    agent = Agent(lb.policies.ChangePointThompson(arms=2, noise=1e-9), seed=1)
    for reward in (0.5, 0.5, 1e6, -1e6, 0.5, 1e50):
        for _ in range(20):
            agent.tell(agent.ask(), reward)
            assert agent.memory.weights.sum() == pytest.approx(1.0)
            assert (agent.memory.weights >= 0).all()


def test_rewards_far_from_the_prior_are_survived() -> None:
    """A mean that was given up comes back, when only a hypothesis of next to no weight can explain it."""
    agent = Agent(lb.policies.ChangePointThompson(arms=2, noise=1.0, hazard=1e-9), seed=1, compiled=True)
    for reward in np.random.default_rng(0).choice([-1e4, 0.0, 1e4], 3000):
        agent.tell(agent.ask(), reward)
    assert agent.memory.weights.sum() == pytest.approx(1.0)


def test_splits_are_dense_in_the_recent_past_and_never_far_from_a_change() -> None:
    policy = lb.policies.GLRUCB(arms=2, forced=0.0, noise=0.1, splits=32)
    agent = Agent(policy, seed=1, compiled=True)
    generator = np.random.default_rng(0)
    for n in range(1, 20_001):
        decision = agent.ask()
        agent.tell(decision, generator.normal((0.9, 0.1)[decision.arm], 0.1))
        if n in (100, 1000, 20_000):
            arm = int(agent.memory.counts.argmax())
            count = int(agent.memory.counts[arm])
            splits = agent.memory.split_counts[arm, : agent.memory.splits[arm]]
            assert len(splits) == policy.splits
            assert splits[-4:].tolist() == [count - 4, count - 3, count - 2, count - 1]
            gaps, ages = np.diff([0, *splits]), count - np.array([0, *splits[:-1]])
            assert ((gaps - 1) / ages).max() < 1.5 * np.log(count) / policy.splits


@pytest.mark.parametrize("name", NAMES)
def test_memory_does_not_grow(name: str) -> None:
    policy = lb.policy(name)
    agent = Agent(policy, seed=1, compiled=True)
    size = sum(part.nbytes for part in agent.memory)
    for rewards in steady((0.4, 0.5), 2000, 0.1, 0):
        decision = agent.ask()
        agent.tell(decision, rewards[0, decision.arm])
    assert sum(part.nbytes for part in agent.memory) == size < 20_000


def test_presets() -> None:
    assert lb.policy("cusum-ucb").together
    assert not lb.policies.CUSUMUCB(arms=2).together


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: lb.policies.MonitoredUCB(arms=2, window=7), "window is 7 but must be an even number"),
        (lambda: lb.policies.GLRUCB(arms=2, risk=1.5), "risk is 1.5"),
        (lambda: lb.policies.CUSUMUCB(arms=2, warm_up=0), "warm_up is 0"),
        (lambda: lb.policies.ChangePointThompson(arms=2, hypotheses=1), "hypotheses is 1"),
        (lambda: lb.policies.ChangePointThompson(arms=2, noise=-1), "noise is -1"),
    ],
)
def test_bad_settings_are_refused(make: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()

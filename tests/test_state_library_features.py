"""StateLibrary with observed features: what its slopes are, and what they depend on."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.agent import Agent
from latentbandits.memories import saved
from latentbandits.policies.state_library.covariates import regress
from latentbandits.random import stream
from latentbandits.simulation.batch import record_one
from tests.test_feature_twins import QUICK, featured
from tests.twins import assert_same

SLOPES = np.array([[0.2, -0.1], [-0.15, 0.1], [0.05, 0.25]])  # of three arms


def recordings(rounds: int, seed: int = 0, length: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Return features, the second of which is higher in the second of two regimes, and the reward of every arm (noise 0.1)."""
    generator = np.random.default_rng(seed)
    regime = np.arange(rounds) // length % 2
    x = generator.normal(size=(rounds, 2)) + np.stack([0 * regime, regime], axis=1)
    means = np.array([[0.8, 0.3, 0.5], [0.2, 0.7, 0.6]])[regime]
    return x, means + x @ SLOPES.T + generator.normal(0, 0.1, (rounds, 3))


def play(agent: Agent, x: np.ndarray, rewards: np.ndarray) -> list[int]:
    played = []
    for context, row in zip(x, rewards, strict=True):
        decision = agent.ask(context)
        agent.tell(decision, float(row[int(decision.arm)]))
        played.append(int(decision.arm))
    return played


def test_slopes_are_found() -> None:
    """Also that of a feature which is related to the regime: without states it would be 0.15 off."""
    agent = Agent(lb.policies.StateLibrary(arms=3, covariates=2), seed=1, compiled=True)
    x, rewards = recordings(2000)
    played = play(agent, x, rewards)
    assert (agent.memory.covariates.rewards > 300).all()
    assert np.array(agent.belief.slopes) == pytest.approx(SLOPES, abs=0.04)
    assert agent.belief.noise == pytest.approx(0.1, rel=0.15)
    assert len([state for state in agent.belief.states if sum(state.counts) > 200]) == 2
    gains = rewards[np.arange(500, 2000), played[500:]] - rewards[500:].mean(axis=1)
    assert gains.mean() > 0.2  # features and regimes together decide which arm is best


def test_slopes_are_least_squares_with_a_constant_for_every_state() -> None:
    """States are known, and the prior is as good as none."""
    policy = lb.policies.StateLibrary(arms=2, covariates=3, noise=0.1, low=0.0, high=1.0)
    memory = policy.init()
    memory.covariates.features["prior"] = 1e15
    generator = np.random.default_rng(3)
    state, arm = generator.integers(4, size=200), generator.integers(2, size=200)
    x = generator.normal(size=(200, 3)) + state[:, None]
    rewards = generator.normal(size=200) + 3 * state
    for row in zip(arm, rewards, state, 11 + state, x, strict=True):
        regress(memory.covariates, *row)
    for one in range(2):
        mine = arm == one
        columns = np.hstack([x[mine], np.eye(4)[state[mine]]])
        found = np.linalg.lstsq(columns, rewards[mine], rcond=None)[0]
        assert memory.covariates.slopes["value"][one] == pytest.approx(found[:3], abs=1e-9)
        assert memory.covariates.pairs["inverse"][one] == pytest.approx(
            np.linalg.inv(columns.T @ columns)[:3, :3], rel=1e-9
        )
        assert memory.covariates.rewards[one] == mine.sum()


def test_a_state_that_takes_the_place_of_another_has_a_constant_of_its_own() -> None:
    policy = lb.policies.StateLibrary(arms=2, covariates=1, noise=0.1, low=0.0, high=1.0)
    memory = policy.init()
    memory.covariates.features["prior"] = 1e15
    generator = np.random.default_rng(4)
    x = generator.normal(size=(60, 1))
    for t in range(60):
        regress(memory.covariates, 0, 5.0 * (t // 20) + 0.5 * x[t, 0], 0, 1 + t // 20, x[t])
    assert memory.covariates.slopes["value"][0, 0] == pytest.approx(0.5, abs=1e-9)
    assert memory.covariates.cells[0, 0].count == 20


def test_useless_features_are_shrunk() -> None:
    agent = Agent(lb.policies.StateLibrary(arms=3, covariates=3), seed=1, compiled=True)
    x, rewards = recordings(1500)
    useless = np.random.default_rng(9).normal(size=(1500, 1))
    play(agent, np.hstack([x, useless]), rewards)
    memory = agent.memory
    assert np.abs(memory.covariates.slopes["value"][:, 2]).max() < 0.015  # of noise 0.1
    assert memory.covariates.features["prior"][2] < 0.2 * memory.covariates.features["prior"][:2].min()


def test_a_feature_that_never_varies_has_no_slope() -> None:
    agent = Agent(lb.policies.StateLibrary(arms=3, covariates=3), seed=1, compiled=True)
    x, rewards = recordings(300)
    play(agent, np.hstack([x, np.full((300, 1), 0.1)]), rewards)
    assert (agent.memory.covariates.slopes["value"][:, 2] == 0).all()
    assert (agent.memory.covariates.slopes["value"][:, :2] != 0).all()


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("factor", [1000.0, 2.0**-20])
def test_the_unit_and_the_zero_of_a_feature_change_no_choice(factor: float, groups: int) -> None:
    policy = lb.policies.StateLibrary(arms=3, covariates=2, groups=groups)
    realisation = featured(groups, (1, 1), QUICK, rounds=1000, seed=5, table="")
    scaled = realisation._replace(context=realisation.context * [factor, 1.0] + [0.0, 7.0])
    assert_same(record_one(policy, realisation, stream(5)), record_one(policy, scaled, stream(5)))


@pytest.mark.parametrize("power", [-60, 1, 40])
def test_powers_of_two_of_rewards_change_no_choice(power: int) -> None:
    policy = lb.policies.StateLibrary(arms=3, covariates=2)
    realisation = featured(1, (1, 1), QUICK, rounds=1000, seed=6, table="")
    scaled = realisation._replace(rewards=realisation.rewards * 2.0**power)
    assert_same(record_one(policy, realisation, stream(6)), record_one(policy, scaled, stream(6)))


def test_a_new_arm_begins_without_slopes_and_finds_them() -> None:
    agent = Agent(lb.policies.StateLibrary(arms=2, covariates=2), seed=2, compiled=True)
    x, rewards = recordings(1200)
    play(agent, x[:400], rewards[:400])
    before = agent.memory
    agent.add(2)
    grown = agent.memory
    assert (grown.covariates.slopes["value"][:2] == before.covariates.slopes["value"]).all()
    assert (grown.covariates.pairs["inverse"][:2] == before.covariates.pairs["inverse"]).all()
    assert (grown.covariates.cells[:, :2] == before.covariates.cells).all()
    assert (grown.covariates.slopes["value"][2] == 0).all()
    assert (grown.covariates.rewards[2], grown.covariates.pairs["inverse"][2].any()) == (0, False)
    play(agent, x[400:], rewards[400:])
    assert agent.memory.covariates.rewards[2] > 100
    assert agent.memory.covariates.slopes["value"][2] == pytest.approx(SLOPES[2], abs=0.06)


def test_a_saved_agent_goes_on_exactly(tmp_path: Path) -> None:
    agent = Agent(lb.policies.StateLibrary(arms=3, covariates=2), seed=3, compiled=True)
    x, rewards = recordings(600)
    play(agent, x[:300], rewards[:300])
    waiting = agent.ask(x[0])
    agent.save(tmp_path / "agent")
    restored = Agent.load(tmp_path / "agent", compiled=True)
    for each in (agent, restored):
        each.tell(waiting.id, 0.4)
    assert play(restored, x[300:], rewards[300:]) == play(agent, x[300:], rewards[300:])
    one, other = (saved(each.policy, each.memory) for each in (agent, restored))
    for name, part in one.items():
        assert part.tobytes() == other[name].tobytes()
    assert restored.belief == agent.belief


def test_an_agent_plays_alike_compiled_and_interpreted() -> None:
    x, rewards = recordings(200)
    one, other = (Agent(lb.policies.StateLibrary(arms=3, covariates=2), seed=4, compiled=way) for way in (True, False))
    assert play(one, x, rewards) == play(other, x, rewards)
    assert one.memory.covariates.slopes["value"].tobytes() == other.memory.covariates.slopes["value"].tobytes()


@pytest.mark.parametrize("context", [None, [], [1.0], [1.0, 2.0, 3.0], [1.0, np.nan], [[1.0, 2.0]], "ab"])
def test_a_context_of_the_wrong_length_is_refused(context: object) -> None:
    agent = Agent(lb.policies.StateLibrary(arms=2, covariates=2))
    with pytest.raises(
        lb.InvalidValueError, match=r"must be 2 finite numbers of size at most .*, the policy's covariates"
    ):
        agent.ask(context)  # type: ignore[arg-type]
    assert agent.stats.asked == 0


def test_features_where_none_are_expected_are_refused() -> None:
    with pytest.raises(lb.InvalidValueError, match="must be left out, since the policy observes no covariates"):
        Agent("state-library").ask([1.0])
    with pytest.raises(lb.InvalidValueError, match="covariates is -1"):
        lb.policies.StateLibrary(arms=2, covariates=-1)


def one_sided(seed: int, rounds: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Return a feature that only the first of two arms depends on, and the rewards of both (noise 0.05)."""
    generator = np.random.default_rng(seed)
    x = generator.random((rounds, 1))
    return x, np.concatenate([0.2 + x, np.full((rounds, 1), 0.7)], axis=1) + generator.normal(0, 0.05, (rounds, 2))


def share_of_best(x: np.ndarray, arms: list[int]) -> float:
    return float(np.mean(np.array(arms)[500:] == (x[500:, 0] < 0.5)))


@pytest.mark.parametrize("seed", [2, 8, 11, 12])
def test_a_feature_that_is_useless_for_one_arm_is_looked_for_with_another(seed: int) -> None:
    """The prior of slopes is learned from all arms: it must not tell what nobody has tried (with these seeds it once did)."""
    x, rewards = one_sided(seed)
    agent = Agent(lb.policies.StateLibrary(arms=2, covariates=1), seed=1, compiled=True)
    assert share_of_best(x, play(agent, x, rewards)) > 0.9


def test_one_absurd_value_of_a_feature_does_not_bend_the_slopes_for_good() -> None:
    x, rewards = one_sided(2)
    seen = x.copy()
    seen[300] *= 1000
    agent = Agent(lb.policies.StateLibrary(arms=2, covariates=1), seed=1, compiled=True)
    assert share_of_best(x, play(agent, seen, rewards)) > 0.8
    assert agent.memory.covariates.features[0].squares / 1000 < 0.2  # the variance of a uniform number is 0.08


@pytest.mark.parametrize("seed", [5, 11, 22, 26])
def test_regimes_keep_their_numbers_when_the_past_is_learned_again_with_other_slopes(seed: int) -> None:
    """Means are those at average features, so they move with the slopes: by means, states that are found again would be other regimes."""
    agent = Agent(lb.policies.StateLibrary(arms=3, covariates=2), seed=1, compiled=True)
    x, rewards = recordings(600, seed, length=30)
    seen = []
    for visit in range(20):
        rounds = slice(30 * visit, 30 * visit + 30)
        play(agent, x[rounds], rewards[rounds])
        belief: Any = agent.belief
        seen.append(belief.present.number)
    assert agent.memory.core[0].retold > 60  # since both have a number
    assert seen[-2:] == seen[:2]

"""Seams to other packages, against the real packages."""

import warnings
from pathlib import Path
from typing import Any

import gymnasium
import mlflow
import numpy as np
import pandas as pd
import pytest
from gymnasium.utils.env_checker import check_env
from river import bandit, datasets

import latentbandits as lb
from latentbandits.neighbours import gymnasium as environments
from latentbandits.neighbours import mlflow as runs
from latentbandits.neighbours.river import AgentPolicy, classified

SETTINGS: dict[str, dict[str, Any]] = {
    "HiddenMarkov": {"states": 3, "arms": 3},
    "Seasons": {},
    "Drift": {"arms": 2},
    "Recorded": {"rewards": np.random.default_rng(0).random((60, 2)), "context": np.arange(120.0).reshape(60, 2)},
}


def made(name: str) -> Any:
    return gymnasium.make(f"latentbandits/{name}-v0", rounds=60, **SETTINGS[name])


@pytest.mark.parametrize("name", [world.__name__ for world in environments.WORLDS])
def test_every_world_passes_gymnasiums_own_check(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*Box.*(infinity|precision).*")  # a context has no bounds
        check_env(made(name).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", SETTINGS)
def test_an_episode_is_the_realisation_and_ends_by_truncation(name: str) -> None:
    env = made(name)
    env.reset(seed=5)
    episode = env.unwrapped._episode
    for t in range(60):
        arm = t % env.action_space.n
        observed, reward, terminated, truncated, info = env.step(arm)
        assert reward == episode.rewards[t, 0, arm]
        assert info["regret"] == episode.means[t].max() - episode.means[t, arm]
        assert info["state"] == episode.states[t]
        assert not terminated
        assert truncated == (t == 59)
        if name == "Recorded":
            assert np.array_equal(observed, episode.context[min(t + 1, 59)])
    with pytest.raises(lb.Refusal, match="before the episode has ended"):
        env.unwrapped.step(0)


def test_seeds_name_episodes_and_the_next_one_is_another() -> None:
    env = made("HiddenMarkov")
    found = []
    for seed in (3, 3, None):
        env.reset(seed=seed)
        found.append([env.step(0)[1] for _ in range(10)])
    assert found[0] == found[1] != found[2]


def test_arms_that_are_not_on_offer_are_masked_and_late_rewards_are_refused() -> None:
    table = np.ones((50, 2), bool)
    table[1, 0] = False
    env = environments.Bandit(lb.Available(lb.HiddenMarkov(), table), rounds=50)
    env.reset(seed=0)
    assert env.step(0)[4]["action_mask"].tolist() == [0, 1]
    with pytest.raises(lb.Refusal, match="must be an arm that is on offer"):
        env.step(0)
    with pytest.raises(lb.Refusal, match="not late"):
        environments.Bandit(lb.HiddenMarkov(delay=3))


def test_an_environment_as_a_world_pays_what_it_pays() -> None:
    world = environments.Environment(lambda: made("HiddenMarkov"))
    played = world.realise(60, 2, seed=1, draw=2, repeat=3)
    again = world.realise(60, 2, seed=1, draw=2, repeat=3)
    assert np.array_equal(played.rewards, again.rewards)
    assert not np.array_equal(played.rewards, world.realise(60, 2, seed=1, draw=3, repeat=3).rewards)
    assert played.rewards.shape == (60, 2, 3)
    assert len(np.unique(played.rewards[0, 0])) == 3
    with pytest.raises(lb.Refusal, match="rounds is 60 but must be at least the 61"):
        world.realise(61, 1, 0, 0, 0)


class Walk(gymnasium.Env[Any, Any]):
    """No bandit: the position depends on the actions."""

    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float64)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.at = 0.0
        return np.array([self.at]), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.at += action
        return np.array([self.at]), self.at, False, False, {}


def test_an_environment_that_is_no_bandit_is_refused() -> None:
    with pytest.raises(lb.Refusal, match="observations is 'different after different actions'"):
        environments.Environment(Walk).realise(5, 1, 0, 0, 0)
    with pytest.raises(lb.Refusal, match="action space"):
        _ = environments.Environment("Pendulum-v1").arms


def test_river_plays_an_agent_as_it_plays_its_own_policies() -> None:
    env = gymnasium.make("latentbandits/HiddenMarkov-v0", states=1, rounds=400)
    frame = pd.DataFrame(
        bandit.evaluate([AgentPolicy("ts", seed=1), bandit.RandomPolicy(seed=1)], env, n_episodes=1, seed=3)
    )
    totals = frame.groupby("policy_idx")["reward"].sum()
    assert len(frame) == 800
    assert totals[0] > totals[1]


def test_an_agent_in_river_learns_what_it_is_told_and_takes_new_arms() -> None:
    policy = AgentPolicy("ucb1", seed=2)
    for _ in range(30):
        arm = policy.pull(["a", "b"])
        policy.update(arm, {"a": 0.0, "b": 1.0}[arm])
    assert policy.ranking[0] == "b"
    assert policy.agent is not None
    assert policy.agent.stats.open == 0
    assert policy.pull(["a", "c"]) == "c"
    assert tuple(policy.agent.arms) == ("a", "b", "c")
    late = policy.pull(["b", "c"])
    policy.update(late, 1.0)
    assert policy.agent.stats.open == 1  # the pull before the last is still open


def test_a_stream_of_labels_is_a_world_with_features() -> None:
    world = classified(datasets.Phishing(), rounds=200)
    assert (world.rounds, world.arms) == (200, 2)
    assert world.context.shape == (200, 9)
    assert np.array_equal(world.rewards.sum(axis=2), np.ones((200, 1)))
    with pytest.raises(lb.Refusal, match="two or more"):
        classified([({"x": 1}, "a")] * 3)


def test_a_comparison_is_a_run_of_mlflow(tmp_path: Path) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    mlflow.create_experiment("bandits", artifact_location=(tmp_path / "artifacts").as_uri())
    mlflow.set_experiment("bandits")
    comparison = lb.compare(lb.Problem(horizon=200, runs=4), ["ucb1", "ts"])
    with mlflow.start_run() as outer:
        run = mlflow.get_run(runs.log(comparison))
    assert run.data.tags["mlflow.parentRunId"] == outer.info.run_id
    assert run.data.params["horizon"] == "200"
    assert run.data.metrics["regret/ts"] == comparison.table.loc["ts", "regret"]
    names = sorted(file.name for file in (tmp_path / "artifacts").rglob("compare.*"))
    assert names == ["compare.csv", "compare.json", "compare.svg"]
    with pytest.raises(lb.Refusal, match="what compare, advise or tune returns"):
        runs.log(comparison.table)

"""The examples for other packages, against the real packages."""

import importlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from river import bandit

import latentbandits as lb
from latentbandits.serve import served
from tests.services import ROOT

WORLDS: dict[str, Any] = {
    "HiddenMarkov": lb.HiddenMarkov(states=3, arms=3),
    "Seasons": lb.Seasons(),
    "Replay": lb.Replay(np.random.default_rng(0).random((60, 2)), context=np.arange(120.0).reshape(60, 2)),
}


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a script of examples/ by its name."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    return importlib.import_module


@pytest.fixture
def bandit_of(example: Any) -> Callable[..., Any]:
    """Make an environment of a world."""
    found: Callable[..., Any] = example("gymnasium_env").Bandit
    return found


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_passes_gymnasiums_own_check(bandit_of: Callable[..., Any], name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*Box.*(infinity|precision).*")  # a context has no bounds
        check_env(bandit_of(WORLDS[name], 60), skip_render_check=True)


@pytest.mark.parametrize("name", WORLDS)
def test_an_episode_is_the_realisation_and_ends_by_truncation(bandit_of: Callable[..., Any], name: str) -> None:
    env = bandit_of(WORLDS[name], 60)
    env.reset(seed=5)
    for t in range(60):
        arm = t % int(env.action_space.n)
        observed, reward, terminated, truncated, info = env.step(arm)
        assert reward == env.episode.rewards[t, 0, arm]
        assert info["regret"] == env.episode.means[t].max() - env.episode.means[t, arm]
        assert info["state"] == env.episode.states[t]
        assert not terminated
        assert truncated == (t == 59)
        if name == "Replay":
            assert np.array_equal(observed, env.episode.context[min(t + 1, 59)])
    with pytest.raises(ValueError, match="must be an arm on offer, in an episode"):
        env.step(0)


def test_seeds_name_episodes_and_the_next_one_is_another(bandit_of: Callable[..., Any]) -> None:
    env = bandit_of(rounds=60)
    found = []
    for seed in (3, 3, None):
        env.reset(seed=seed)
        found.append([env.step(0)[1] for _ in range(10)])
    assert found[0] == found[1] != found[2]


def test_arms_that_are_not_on_offer_are_masked_and_late_rewards_are_refused(bandit_of: Callable[..., Any]) -> None:
    table = np.ones((50, 2), bool)
    table[1, 0] = False
    env = bandit_of(lb.WithAvailability(lb.HiddenMarkov(), table), 50)
    env.reset(seed=0)
    assert env.step(0)[4]["action_mask"].tolist() == [0, 1]
    with pytest.raises(ValueError, match="must be an arm on offer"):
        env.step(0)
    with pytest.raises(ValueError, match="no word for them"):
        bandit_of(lb.HiddenMarkov(delay=3))


def test_river_plays_an_agent_as_it_plays_its_own_policies(example: Any) -> None:
    example("gymnasium_env")
    env = gymnasium.make("latentbandits/Bandit-v0", world=lb.HiddenMarkov(states=1), rounds=200)
    policies = [example("river_policy").AgentPolicy("ts", seed=1), bandit.RandomPolicy(seed=1)]
    rows = list(bandit.evaluate(policies, env, n_episodes=1, seed=3))
    ours, random = (sum(row["reward"] for row in rows if row["policy_idx"] == number) for number in (0, 1))
    assert len(rows) == 400
    assert ours > random


def test_an_agent_in_river_learns_what_it_is_told_and_takes_new_arms(example: Any) -> None:
    policy = example("river_policy").AgentPolicy("ucb1", seed=2)
    for _ in range(30):
        arm = policy.pull(["a", "b"])
        policy.update(arm, {"a": 0.0, "b": 1.0}[arm])
    assert policy.ranking[0] == "b"
    assert policy.agent.stats.open == 0
    assert policy.pull(["a", "c"]) == "c"
    assert tuple(policy.agent.arms) == ("a", "b", "c")
    policy.update(policy.pull(["b", "c"]), 1.0)
    assert policy.agent.stats.open == 1  # the pull before the last is still open


@pytest.mark.slow  # MLflow makes a database first
def test_a_comparison_is_a_run_of_mlflow(tmp_path: Path, example: Any) -> None:
    mlflow = pytest.importorskip("mlflow", reason="MLflow is large, and only an example needs it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow's own
        mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
        mlflow.set_experiment(experiment_id=mlflow.create_experiment("bandits", (tmp_path / "artifacts").as_uri()))
        comparison = lb.compare(lb.Problem(horizon=200, runs=4), ["ucb1", "ts"])
        run = mlflow.get_run(example("mlflow_run").log_result(comparison, "first"))
    assert run.data.metrics["regret/ts"] == comparison.table.loc["ts", "regret"]
    assert sorted(file.name for file in (tmp_path / "artifacts").rglob("first.*")) == [
        "first.csv",
        "first.json",
        "first.svg",
    ]


def test_flags_of_openfeature_are_decisions(example: Any) -> None:
    provider_of = example("openfeature_provider").Provider
    with served("button", "ucb1", arms=["red", "blue"], holdback=0.3) as (url, key):
        provider = provider_of(url, key, budget=20)
        api.set_provider(provider)
        client, about = api.get_client(), EvaluationContext("visitor-7")
        found = client.get_string_details("button", "none", about)
        assert found.variant == found.value
        assert found.value in ("red", "blue")
        assert provider.tell("button", found.flag_metadata["decision"], 1.0) == "accepted"
        again = [client.get_string_details("button", "none", about).flag_metadata["by"] for _ in range(6)]
        assert set(again) == {found.flag_metadata["by"]}  # a subject that is held back stays so
        wrong = client.get_float_details("button", 0.5, about)
        assert (wrong.value, wrong.error_code) == (0.5, ErrorCode.TYPE_MISMATCH)
        unknown = client.get_string_details("nobody", "none", about)
        assert (unknown.value, unknown.error_code) == ("none", ErrorCode.FLAG_NOT_FOUND)
        api.set_provider(provider_of("http://127.0.0.1:9", key, budget=0.01))
        gone = client.get_string_details("button", "none")
        assert (gone.value, gone.error_code) == ("none", ErrorCode.PROVIDER_NOT_READY)
        api.shutdown()

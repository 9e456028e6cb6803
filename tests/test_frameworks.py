"""The examples beside other packages, against the real ones: FastAPI, Flask, Django, river and MLflow; each needs the extra slow."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import latentbandits as lb

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[1] / "examples"
Send = Callable[[str, str, dict[str, Any]], tuple[int, dict[str, str]]]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store in a folder of its own; the policy is a cheap one, since it does not matter here."""
    path = str(tmp_path / "decisions.db")
    monkeypatch.setenv("STORE", path)
    real = lb.open

    def cheap(*given: Any, **settings: Any) -> Any:
        return real(*given, **{**settings, "policy": "ucb1"})

    monkeypatch.setattr(lb, "open", cheap, raising=False)
    return path


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Django finds the paths by the module's name
    spec.loader.exec_module(module)
    return module


def fastapi() -> Iterator[Send]:
    from fastapi.testclient import TestClient

    with TestClient(loaded("fastapi_app").app) as client:

        def send(method: str, path: str, query: dict[str, Any]) -> tuple[int, dict[str, str]]:
            answer = client.request(method, path, params=query)
            return answer.status_code, answer.json()

        yield send


def flask() -> Iterator[Send]:
    app = loaded("flask_app").made()
    client = app.test_client()

    def send(method: str, path: str, query: dict[str, Any]) -> tuple[int, dict[str, str]]:
        answer = client.open(path, method=method, query_string=query)
        return answer.status_code, answer.json

    yield send
    app.extensions["agent"].close()


def django() -> Iterator[Send]:
    module = loaded("django_app")
    from django.test import Client

    client = Client()

    def send(method: str, path: str, query: dict[str, Any]) -> tuple[int, dict[str, str]]:
        answer = client.generic(method, f"{path}?{urlencode(query)}")
        return answer.status_code, answer.json()

    yield send
    module.agent().close()


@pytest.mark.filterwarnings("ignore:Using `httpx` with")  # of the test client of FastAPI
@pytest.mark.parametrize("framework", [fastapi, flask, django], ids=lambda one: str(one.__name__))
def test_an_application_decides_and_learns(framework: Callable[[], Iterator[Send]], store: str) -> None:
    running = framework()
    send = next(running)
    visit = {"visitor": "17", "request": "a1"}
    status, first = send("GET", "/decide", visit)
    assert (status, first["offer"]) == (200, "a")
    assert send("GET", "/decide", visit) == (200, first)  # sent again: the same decision
    told = {"decision": first["decision"], "value": 1.0}
    assert send("POST", "/reward", told) == (200, {"outcome": "accepted"})
    assert send("POST", "/reward", told) == (200, {"outcome": "duplicate"})
    for wrong in ({**told, "value": 0.5}, {"decision": "nobody", "value": 1.0}):
        status, answer = send("POST", "/reward", wrong)
        assert status == 400
        assert "must be" in answer["error"]
    with pytest.raises(StopIteration):
        next(running)
    with lb.open(store, "offers", policy="ucb1") as agent:  # on disk
        assert agent.stats.told == 1


def test_river_plays_an_agent_as_it_plays_its_own_policies() -> None:
    import gymnasium
    import pandas as pd
    from river import bandit

    policies = [loaded("river_agent").AgentPolicy("ts", seed=1), bandit.RandomPolicy(seed=1)]
    env = gymnasium.make("latentbandits/HiddenMarkov-v0", states=1, rounds=400)
    frame = pd.DataFrame(bandit.evaluate(policies, env, n_episodes=1, seed=3))
    totals = frame.groupby("policy_idx")["reward"].sum()
    assert len(frame) == 800
    assert totals[0] > totals[1]


def test_an_agent_in_river_learns_what_it_is_told_and_takes_new_arms() -> None:
    policy = loaded("river_agent").AgentPolicy("ucb1", seed=2)
    for _ in range(30):
        arm = policy.pull(["a", "b"])
        policy.update(arm, {"a": 0.0, "b": 1.0}[arm])
    assert policy.ranking[0] == "b"
    assert policy.agent.stats.open == 0
    assert policy.pull(["a", "c"]) == "c"
    assert tuple(policy.agent.arms) == ("a", "b", "c")
    late = policy.pull(["b", "c"])
    policy.update(late, 1.0)
    assert policy.agent.stats.open == 1  # the pull before the last is still open


def test_a_stream_of_labels_is_a_world_with_features() -> None:
    from river import datasets

    world = loaded("river_agent").labelled(datasets.Phishing().take(200))
    assert (world.rounds, world.arms) == (200, 2)
    assert world.context.shape == (200, 9)
    assert (world.rewards.sum(axis=2) == 1).all()


def test_a_comparison_is_a_run_of_mlflow(tmp_path: Path) -> None:
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    mlflow.create_experiment("bandits", artifact_location=(tmp_path / "artifacts").as_uri())
    mlflow.set_experiment("bandits")
    comparison = lb.compare(lb.Problem(horizon=200, runs=4), ["ucb1:exploration=1", "ts"])
    with mlflow.start_run() as outer:
        run = mlflow.get_run(loaded("mlflow_run").log(comparison))
    assert run.data.tags["mlflow.parentRunId"] == outer.info.run_id
    assert run.data.params["horizon"] == "200"
    assert run.data.metrics["regret/ts"] == comparison.table.loc["ts", "regret"]
    assert run.data.metrics["regret/ucb1:exploration_1"] > 0
    names = sorted(file.name for file in (tmp_path / "artifacts").rglob("compare.*"))
    assert names == ["compare.csv", "compare.json", "compare.svg"]

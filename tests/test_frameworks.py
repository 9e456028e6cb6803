"""The applications of examples/ behind FastAPI, Flask and Django decide, take rewards and refuse: each by its framework's own client."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import latentbandits as lb

pytestmark = pytest.mark.slow  # they need the extra slow
EXAMPLES = Path(__file__).parents[1] / "examples"
Send = Callable[[str, str, dict[str, Any]], tuple[int, dict[str, str]]]


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store in a folder of its own; the policy is a cheap one, since it does not matter here."""
    path = str(tmp_path / "decisions.db")
    monkeypatch.setenv("STORE", path)
    real = lb.open_agent

    def cheap(*given: Any, **settings: Any) -> Any:
        return real(*given, **{**settings, "policy": "ucb1"})

    monkeypatch.setattr(lb, "open_agent", cheap)
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
    with lb.open_agent(store, "offers", policy="ucb1") as agent:  # on disk
        assert agent.stats.told == 1

"""Alerts: what they are about, how they reach a webhook, and the files that other tools read."""

import asyncio
import base64
import hmac
import http.server
import importlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from latentbandits.serve import Settings, alerts
from latentbandits.store import Minute
from tests.services import Web

E = "/v1/experiments/e"
FOLDER = Path(__file__).parent.parent / "examples" / "deploy"
SECRET = base64.b64encode(b"s" * 32).decode()


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Web]]:
    made: list[Web] = []

    def build(*args: Any, **given: Any) -> Web:
        made.append(Web(tmp_path / "web.db", *args, **given))
        return made[-1]

    yield build
    for web in made:
        web.close()


def looked(web: Web) -> list[dict[str, Any]]:
    """Look once, and return the new lines about alerts."""
    before = len(web.said.getvalue())
    web.runner.run(web.service.alerts.look())
    lines = [json.loads(line) for line in web.said.getvalue()[before:].splitlines()]
    return [line for line in lines if line["event"] == "alert"]


def visits(web: Web, rounds: int, reward: Callable[[Any], Any], **more: Any) -> None:
    made = web.send("POST", f"{E}/decide/batch", {"rounds": [{}] * rounds})[1]["decisions"]
    told = [{"id": one["id"], "reward": reward(one), **more} for one in made if reward(one) is not None]
    if told:
        assert web.send("POST", f"{E}/reward/batch", {"rewards": told})[0] == 200


def test_a_guardrail_that_breaks_is_said_once_and_again_when_it_is_over(make: Callable[..., Web]) -> None:
    web = make(guardrail=0.9, control="b")
    assert looked(web) == []
    for _ in range(4):
        visits(web, 100, lambda one: 1.0 - (one["arms"][0] == "b"), guard=0.1)
    said = looked(web)
    assert {(line["kind"], line["state"]) for line in said} == {("guardrail", "begun")}
    assert [line["about"] for line in said] == ["a in 0", "b in 0", "c in 0"]
    assert looked(web) == []
    assert 'latentbandits_alert{experiment="e",kind="guardrail"} 3.0' in web.response("GET", "/metrics").text
    web.send("PATCH", E, {"guardrail": None})
    assert {line["state"] for line in looked(web)} == {"over"}
    assert 'latentbandits_alert{experiment="e",kind="guardrail"} 0.0' in web.response("GET", "/metrics").text


def test_a_pipe_that_dries_up_is_said(make: Callable[..., Web]) -> None:
    web = make()
    for _ in range(10):
        visits(web, 10, lambda one: 0.5)
        web.clock.move(60)
    assert looked(web) == []
    for _ in range(4):
        visits(web, 10, lambda one: None)
        web.clock.move(60)
    assert [line["kind"] for line in looked(web)] == ["rewards"]


@pytest.mark.parametrize(
    ("since", "lag", "dry"),
    [([10] * 9, 0, True), ([10] * 9, 8, False), ([0] * 9, 0, False), ([1] * 9, 0, False), ([0] * 8 + [50], 5, False)],
    ids=["all", "rewards come late", "nobody came", "few came", "somebody came just now"],
)
def test_when_a_pipe_is_dry(since: list[int], lag: int, dry: bool) -> None:
    blank = Minute(0, 0, "policy", 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0)
    before = [blank._replace(minute=n, decided=10, rewarded=5) for n in range(20)]
    rows = [*before, *(blank._replace(minute=20 + n, decided=each) for n, each in enumerate(since))]
    assert alerts.is_dry(rows, 29, lag) is dry


def test_a_policy_that_is_worse_than_the_holdback_and_sides_that_differ(make: Callable[..., Web]) -> None:
    web = make(holdback=0.5)
    visits(web, 500, lambda one: 1.0 if one["by"] == "control" else 0.0)
    assert [line["kind"] for line in looked(web)] == ["gain"]
    visits(web, 900, lambda one: 1.0 if one["by"] == "control" else None)
    assert [line["kind"] for line in looked(web)] == ["ratio"]


def test_another_regime_is_said(make: Callable[..., Web]) -> None:
    web = make("state-library")
    means = [{"a": 0.1, "b": 0.9, "c": 0.5}, {"a": 0.9, "b": 0.1, "c": -0.5}]
    said = []
    for stay in range(4):
        for n in range(60):
            made = web.decide()
            web.reward(made, means[stay % 2][made["arms"][0]] + 0.01 * (n % 3))
        said += [line for line in looked(web) if line["kind"] == "regime"]
    assert [line["about"] for line in said] == ["2", "1", "2"]
    assert 'latentbandits_regime_changes_total{experiment="e"} 3.0' in web.response("GET", "/metrics").text


class Hook:
    """A webhook that answers what it is told to."""

    def __init__(self, *statuses: int) -> None:
        self.heard: list[tuple[dict[str, str], bytes]] = []
        left = list(statuses)
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["content-length"]))
                hook.heard.append((dict(self.headers), content))
                self.send_response(left.pop(0) if left else 204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(alerts.VARIABLE, f"whsec_{SECRET}")
    monkeypatch.setattr(alerts, "PAUSES", (0.0, 0.0, 0.0))


def sent(web: Web, done: Callable[[], bool]) -> None:
    async def wait() -> None:
        while not done():
            await asyncio.sleep(0.005)

    web.runner.run(asyncio.wait_for(wait(), 20))


@pytest.mark.usefixtures("quick")
def test_a_webhook_hears_it_signed_and_again_if_it_fails(make: Callable[..., Web]) -> None:
    hook = Hook(500, 503)
    web = make(settings={"webhook": hook.url})
    web.service.alerts._say("e", [alerts.Alert("e", "rewards", "", "they have stopped")])
    sent(web, lambda: len(hook.heard) == 3)
    (first, content), (again, same), _ = hook.heard
    assert first["webhook-id"] == again["webhook-id"]  # so that whoever has heard it knows
    assert content == same
    signed = f"{first['webhook-id']}.{first['webhook-timestamp']}.".encode() + content
    digest = base64.b64encode(hmac.digest(base64.b64decode(SECRET), signed, "sha256")).decode()
    assert first["webhook-signature"] == f"v1,{digest}"
    said = json.loads(content)
    assert (said["type"], said["data"]["experiment"], said["data"]["text"]) == (
        "rewards.begun",
        "e",
        "they have stopped",
    )
    hook.server.shutdown()
    hook.server.server_close()


@pytest.mark.usefixtures("quick")
def test_a_webhook_that_is_gone_makes_nobody_wait_and_is_bounded(make: Callable[..., Web]) -> None:
    web = make(settings={"webhook": "http://127.0.0.1:9/"})
    web.service.alerts._say("e", [alerts.Alert("e", "rewards", str(n), "x") for n in range(alerts.MOST + 50)])
    assert web.service.alerts.lost == 50
    web.decide()
    sent(web, lambda: web.service.alerts.lost == alerts.MOST + 50)
    assert "alert not delivered" in web.said.getvalue()
    assert f"latentbandits_alerts_lost_total {alerts.MOST + 50}.0" in web.response("GET", "/metrics").text


@pytest.mark.parametrize("secret", ["", "short", "!" * 64])
def test_nothing_is_sent_unsigned(secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(alerts.VARIABLE, secret)
    service: Any = SimpleNamespace(settings=Settings(webhook="http://127.0.0.1:9/"))
    with pytest.raises(ValueError, match="LATENTBANDITS_WEBHOOK_SECRET"):
        alerts.Alerts(service)


def test_the_service_looks_by_itself(make: Callable[..., Web], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "EVERY", 0.01)
    web = make(guardrail=0.9, control="b")
    for _ in range(4):
        visits(web, 100, lambda one: 0.0, guard=0.1)
    sent(web, lambda: bool(web.service.alerts.firing))
    assert Settings().webhook is None


def metrics_in(expression: str) -> set[str]:
    return set(re.findall(r"\blatentbandits_\w+", expression))


def known(make: Callable[..., Web]) -> set[str]:
    """Return the names of all numbers that a service has."""
    web = make()
    web.reward(web.decide(), 0.5)
    return set(re.findall(r"^(latentbandits_\w+)", web.response("GET", "/metrics").text, re.MULTILINE))


def test_the_rules_for_prometheus(make: Callable[..., Web]) -> None:
    (group,) = importlib.import_module("yaml").safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
    assert group["name"] == "latentbandits"
    names, here = [rule["alert"] for rule in group["rules"]], known(make)
    assert len(set(names)) == len(names)
    for rule in group["rules"]:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert metrics_in(rule["expr"]) <= here, rule["alert"]
        assert metrics_in(rule["expr"]) or "up{" in rule["expr"]
        for left, right in ("()", "{}", "[]"):
            assert rule["expr"].count(left) == rule["expr"].count(right), rule["alert"]
        labels = re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])
        assert set(labels) <= {"instance", "experiment"}
    kinds = re.findall(r'kind="(\w+)"', str(group["rules"]))
    assert set(kinds) == set(alerts.KINDS) - {"regime"}  # which is news, and no fault


def test_the_dashboard_for_grafana(make: Callable[..., Web]) -> None:
    board, here = json.loads((FOLDER / "dashboard.json").read_text()), known(make)
    assert [one["name"] for one in board["templating"]["list"]] == ["source", "experiment"]
    assert metrics_in(board["templating"]["list"][1]["query"]) <= here
    places = [tuple(panel["gridPos"].values()) for panel in board["panels"]]
    assert len(set(places)) == len(places) == len({panel["id"] for panel in board["panels"]})
    for panel in board["panels"]:
        assert {"type", "title", "datasource", "fieldConfig", "targets"} <= set(panel)
        assert panel["datasource"] == {"type": "prometheus", "uid": "${source}"}
        for target in panel["targets"]:
            assert metrics_in(target["expr"]), panel["title"]
            assert metrics_in(target["expr"]) <= here, panel["title"]
            by = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert by <= {"experiment", "kind", "status", "instance"}

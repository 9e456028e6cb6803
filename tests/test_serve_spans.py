"""OpenTelemetry spans of the service: what they say, what they never say, whose children they are, and that they are not there unasked."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from latentbandits import cli
from latentbandits.serve import endpoint, spans
from latentbandits.serve.replicas import SENT
from latentbandits.store import Unavailable
from tests.services import ADMIN, Process, Web

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class Seen:
    """A traced service, and the spans that it made."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.exporter, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        monkeypatch.setattr(spans, "tracer", lambda: provider.get_tracer("latentbandits"))
        self.web = Web(path, policy="lc-ucb", settings={"spans": True}, covariates=2)

    def spans(self) -> list[ReadableSpan]:
        found = list(self.exporter.get_finished_spans())
        self.exporter.clear()
        return found

    def one(self) -> ReadableSpan:
        (found,) = self.spans()
        return found


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    found = Seen(tmp_path / "s.db", monkeypatch)
    yield found
    found.web.close()


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_decisions_and_rewards_are_spans_and_nothing_else_is(seen: Seen) -> None:
    rounds = {"rounds": [{"context": [0.0, 1.0]}] * 3}
    made = seen.web.decide({"context": [0.5, 0.25]})
    assert seen.web.reward(made, 1.0)[0] == 200
    many = seen.web.send("POST", "/v1/experiments/e/decide/batch", rounds)[1]["decisions"]
    told = [{"id": one["id"], "reward": 0.5} for one in many]
    assert seen.web.send("POST", "/v1/experiments/e/reward/batch", {"rewards": told})[0] == 200
    assert seen.web.send("GET", "/v1/experiments/e/now")[0] == 200
    found = seen.spans()
    paths = ["/decide", "/reward", "/decide/batch", "/reward/batch"]
    assert [span.name for span in found] == [f"POST /v1/experiments/{{name}}{path}" for path in paths]
    for span in found:
        said = attributes(span)
        assert span.kind is SpanKind.SERVER
        assert span.parent is None
        assert span.status.status_code is StatusCode.UNSET
        assert set(said) == {
            "http.request.method", "http.route", "http.response.status_code", "latentbandits.experiment",
            "latentbandits.store.seconds", "latentbandits.store.share",
        }  # fmt: skip
        assert said["http.response.status_code"] == 200
        assert said["latentbandits.experiment"] == "e"
        assert 0 < said["latentbandits.store.share"] <= 1
        assert span.end_time is not None
        assert span.start_time is not None
        assert 0 < said["latentbandits.store.seconds"] < (span.end_time - span.start_time) / 1e9


def test_time_in_the_store_is_what_the_store_takes(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    append = seen.web.storage.append

    def slow(*args: Any, **given: Any) -> Any:
        time.sleep(0.05)
        return append(*args, **given)

    monkeypatch.setattr(seen.web.storage, "append", slow)
    seen.web.decide({"context": [0.0, 0.0]})
    said = attributes(seen.one())
    assert said["latentbandits.store.seconds"] >= 0.05


def test_a_span_has_no_key_no_context_no_unit_and_no_text_of_an_error(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> Any:
        raise Unavailable("disk 7.654321 is full")

    path = "/v1/experiments/e/decide"
    body = {"context": [7.654321, 1.234567], "unit": "cathy@example.org"}
    assert seen.web.send("POST", path, body, key="idempotent-17")[0] == 200
    assert seen.web.send("POST", path, {"context": [7.654321]})[0] == 422
    assert seen.web.send("POST", "/v1/experiments/cathy/decide", body)[0] == 404
    assert seen.web.send("POST", path, body, secret="lb_stranger_" + "b" * 43)[0] == 401
    monkeypatch.setattr(seen.web.storage, "append", failing)
    assert seen.web.send("POST", path, body)[0] == 503
    found = seen.spans()
    assert [attributes(span)["http.response.status_code"] for span in found] == [200, 422, 404, 401, 503]
    assert ["latentbandits.experiment" in attributes(span) for span in found] == [True, True, False, False, True]
    assert [span.status.status_code is StatusCode.ERROR for span in found] == [False] * 4 + [True]
    text = "".join(span.to_json() for span in found)
    for secret in ("7.654321", "1.234567", "cathy", "idempotent-17", ADMIN, "stranger", "disk"):
        assert secret not in text


def test_a_span_is_the_child_of_the_caller_s(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, str]] = []
    admit = endpoint._admit

    def noted(service: Any, route: Any, request: Any) -> Any:
        sent.append(dict(request.headers))
        return admit(service, route, request)

    monkeypatch.setattr(endpoint, "_admit", noted)
    headers = {"authorization": f"Bearer {ADMIN}", "traceparent": PARENT, "tracestate": "vendor=1"}

    async def ask() -> httpx.Response:
        return await seen.web.http.post("/v1/experiments/e/decide", json={"context": [0, 0]}, headers=headers)

    assert seen.web.runner.run(ask()).status_code == 200
    span = seen.one()
    assert span.parent is not None
    assert span.context is not None
    assert f"{span.context.trace_id:032x}" == PARENT.split("-")[1]
    assert f"{span.parent.span_id:016x}" == PARENT.split("-")[2]
    # what another replica would hear: this span is the parent of its own
    assert sent[0]["traceparent"] == f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-01"
    assert sent[0]["tracestate"] == "vendor=1"
    assert {"traceparent", "tracestate"} <= set(SENT)
    seen.web.response("POST", "/v1/experiments/e/decide", {"context": [0, 0]})
    assert seen.one().parent is None


def test_unasked_nothing_is_imported(tmp_path: Path) -> None:
    script = (
        "import sys; from latentbandits.serve import Service, create_app; from latentbandits.store import SQLite; "
        "from latentbandits.serve.writer import Writer; service = Service(SQLite(sys.argv[1])); create_app(service); "
        "assert type(service.writer) is Writer; "
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(tmp_path / "s.db")], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_the_command_sends_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    server = Process(tmp_path, "--spans", "--port", "0", "--store", str(tmp_path / "s.db"))
    headers = {"authorization": f"Bearer {ADMIN}"}
    with httpx.Client(base_url=server.url, headers=headers) as http:
        body = {"name": "e", "policy": "ucb1", "arms": ["a", "b"], "status": "live"}
        assert http.post("/v1/experiments", json=body).status_code == 201
        assert http.post("/v1/experiments/e/decide", json={}).status_code == 200
    code, said, _ = server.stop()
    assert code == 0
    assert '"name": "POST /v1/experiments/{name}/decide"' in said
    assert '"service.name": "latentbandits"' in said


def test_an_exporter_that_there_is_not_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "jaeger")
    assert cli.main(["serve", "--spans", "--store", str(tmp_path / "s.db")]) == 2
    assert "OTEL_TRACES_EXPORTER is 'jaeger' but must be one of otlp, console, none" in capsys.readouterr().err

"""A service when things go wrong: nothing that was acknowledged is lost, and nothing is acknowledged that is not on disk."""

import asyncio
import json
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import httpx
import numpy as np
import pytest

from latentbandits.agent import Decision
from latentbandits.store import Decide, Ledger, Reader, SQLite, StoreUnavailableError
from tests.serve_load import work
from tests.services import ADMIN, Process, Web
from tests.stores import assert_kept, repeated

E = "/v1/experiments/e"


class Failing(SQLite):
    """A store whose next commits fail, before or after they are on disk."""

    fails, after = 0, False

    def _commit(self, connection: sqlite3.Connection) -> None:
        if self.fails and self.after:
            super()._commit(connection)
        if self.fails:
            self.fails -= 1
            raise sqlite3.OperationalError("disk I/O error")
        super()._commit(connection)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    found = Web(tmp_path / "web.db", storage=Failing(tmp_path / "web.db"))
    yield found
    found.close()


def test_64_posts_of_one_reward_are_learned_once(web: Web) -> None:
    # mutation: a reward that looks only at the store, not at its own group, is accepted several times
    made = web.decide()
    found = web.together([("POST", f"{E}/reward", {"id": made["id"], "reward": 0.5})] * 64)
    assert all(status == 200 for status, _ in found)
    outcomes = [said["outcome"] for _, said in found]
    assert (outcomes.count("accepted"), outcomes.count("duplicate")) == (1, 63)
    assert web.look(lambda ledger: ledger.state("e", lambda state: state.player.memory.counts.sum())) == 1


def test_64_posts_of_one_key_are_one_decision(web: Web) -> None:
    found = web.together([("POST", f"{E}/decide", {}, ADMIN, "visit-1")] * 64)
    assert len({said["id"] for _, said in found}) == 1
    assert web.look(lambda ledger: ledger.view("e")).counts["decided"] == 1


def test_requests_that_come_together_share_a_commit(web: Web) -> None:
    before = web.service.writer.groups
    web.together([("POST", f"{E}/decide", {})] * 64)
    assert web.service.writer.groups - before < 64  # mutation: a queue that is taken one by one


def test_a_connection_that_drops_after_the_commit_is_answered_again(web: Web) -> None:
    """The trap of decisions in doubt. Mutation: a key that is kept in memory, or dropped with the connection."""

    async def dropped() -> None:
        body, headers = (
            b'{"subject":"u"}',
            [(b"authorization", f"Bearer {ADMIN}".encode()), (b"idempotency-key", b"visit-9")],
        )

        async def receive() -> Any:
            return {"type": "http.request", "body": body}

        async def send(_: Any) -> None:
            raise ConnectionResetError  # it was stored, and nobody hears of it

        scope = {"type": "http", "method": "POST", "path": f"{E}/decide", "query_string": b"", "headers": headers}
        with pytest.raises(ConnectionResetError):
            await web.app(scope, receive, send)

    web.runner.run(dropped())
    (event,) = [one for one in web.storage.events(1) if one.kind == "decide"]
    again = web.decide({"subject": "u"}, key="visit-9")
    assert again["id"] == event.decision


def test_whoever_hangs_up_while_waiting_harms_nobody(web: Web) -> None:
    async def hung_up() -> list[httpx.Response]:
        tasks = [asyncio.create_task(web._send("POST", f"{E}/decide", {})) for _ in range(20)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        return [one for one in found if isinstance(one, httpx.Response)]

    found = web.runner.run(hung_up())
    assert [one.status_code for one in found] == [200] * 10
    assert web.decide()["id"]


def test_whoever_answers_a_ticket_delivers_it(web: Web) -> None:
    """A look that calls the ledger itself also answers what has come meanwhile. Mutation: only the writer delivers, what it answered."""
    writer, seen = web.service.writer, threading.Event()

    def look(ledger: Ledger) -> Decision:
        seen.set()
        while not ledger.waiting:
            time.sleep(0.001)
        made: Decision = ledger.call(Decide("e"))
        return made

    async def both() -> tuple[Decision, list[object]]:
        looked = writer.look(look)
        while not seen.is_set():
            await asyncio.sleep(0.001)
        return await asyncio.wait_for(asyncio.gather(looked, writer.run([Decide("e")])), 10)

    made, (other,) = web.runner.run(both())
    assert isinstance(other, Decision)
    assert {made.id, other.id} == {event.decision for event in web.storage.events(1) if event.kind == "decide"}
    assert writer.waiting == 0


@pytest.mark.parametrize("after", [False, True])
def test_a_commit_that_fails_is_a_503_without_an_arm(web: Web, after: bool) -> None:
    # mutation: an answer before COMMIT has an arm in it
    web.decide()
    before = web.everything()
    assert isinstance(web.storage, Failing)
    web.storage.fails, web.storage.after = 1, after
    found = web.response("POST", f"{E}/decide", {"subject": "u"}, key="visit-1")
    assert (found.status_code, set(found.json())) == (503, {"error"})
    assert found.headers["retry-after"] == "1"
    if not after:
        assert web.everything() == before
    made = sum(event.kind == "decide" for event in web.storage.events(1))
    web.decide({"subject": "u"}, key="visit-1")  # the same request again
    assert sum(event.kind == "decide" for event in web.storage.events(1)) == made + (not after)
    assert web.look(lambda ledger: ledger.digest("e")) == repeated(web.storage)


def test_a_batch_of_rewards_that_cannot_be_stored_has_no_outcomes(web: Web) -> None:
    made = web.decide()
    assert isinstance(web.storage, Failing)
    web.storage.fails = 1
    status, said = web.send("POST", f"{E}/reward/batch", {"rewards": [{"id": made["id"], "reward": 1}]})
    assert (status, set(said)) == (503, {"error"})
    assert web.reward(made, 1) == (200, {"outcome": "accepted"})


def test_an_error_of_the_service_is_logged_and_the_writer_goes_on(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("latentbandits.store.ledger.Ledger._run", broken)
    assert web.send("POST", f"{E}/decide", {})[0] == 503
    monkeypatch.undo()
    monkeypatch.setattr("latentbandits.serve.read.as_experiment", broken)
    status, said = web.send("GET", "/v1/experiments")
    assert (status, "oh" in said["error"]) == (500, False)  # what went wrong is for the log alone
    assert any("ZeroDivisionError: oh" in line for line in web.said.getvalue().splitlines())
    monkeypatch.undo()
    assert web.decide()["id"]


def test_a_503_says_in_the_log_why(web: Web) -> None:
    """Mutation: log the status alone."""
    assert isinstance(web.storage, Failing)
    web.storage.fails = 1
    assert web.send("POST", f"{E}/decide", {})[0] == 503
    (line,) = [json.loads(each) for each in web.said.getvalue().splitlines() if '"status": 503' in each]
    assert "disk I/O error" in line["error"]


def test_ready_says_whether_the_store_can_be_written(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutation: answer 200 as long as the process lives."""
    monkeypatch.setattr("latentbandits.serve.service.PROBED", 0.0)
    monkeypatch.setattr("latentbandits.serve.service.RECENT", 0.0)
    assert web.send("GET", "/ready")[0] == 200
    assert isinstance(web.storage, Failing)
    web.storage.fails = 1
    status, said = web.send("GET", "/ready")
    assert (status, "disk I/O error" in said["error"]) == (503, True)
    assert web.send("GET", "/ready") == (200, {"status": "ready", "experiments": 1, "waiting": 0, "failed": {}})
    assert web.storage._rows("SELECT version FROM schema_version") == [(1,)]


def test_ready_is_no_longer_so_when_the_writer_hangs(tmp_path: Path) -> None:
    web = Web(tmp_path / "web.db", settings={"lease": 0.1})
    over = threading.Event()

    async def asked() -> httpx.Response:
        hanging = web.service.writer.look(lambda _: over.wait(30))
        found = await web._send("GET", "/ready")
        over.set()
        await hanging
        return found

    found = web.runner.run(asked())
    assert (found.status_code, found.json()["error"]) == (503, "serve: the store has not answered for 0.1 seconds")
    web.close()


def test_ready_says_when_no_experiment_can_decide(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when one is held by nobody and refused all the same; it is ready again when none has failed for a while."""
    assert isinstance(web.storage, Failing)
    web.storage.fails = 1
    assert web.send("POST", f"{E}/decide", {})[0] == 503
    status, said = web.send("GET", "/ready")
    assert (status, "no experiment can decide" in said["error"], "disk I/O" in said["error"]) == (503, True, True)
    other = {"name": "f", "policy": "ucb1", "arms": ["x", "y"], "status": "live"}
    assert web.send("POST", "/v1/experiments", other)[0] == 201
    assert web.send("GET", "/ready")[1]["failed"].keys() == {"e"}
    monkeypatch.setattr("latentbandits.serve.service.RECENT", -1.0)
    assert web.send("GET", "/ready")[1]["failed"] == {}
    monkeypatch.undo()
    web.decide()
    assert web.send("GET", "/ready")[1]["failed"] == {}


def test_wrong_keys_are_counted_and_logged_once_a_second(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutation: no line, or a line for each."""
    monkeypatch.setattr("latentbandits.serve.logs.QUIET", 1e9)
    for _ in range(300):
        assert web.send("POST", f"{E}/decide", {}, "lb_guess000_x")[0] == 401
    (line,) = [json.loads(line) for line in web.said.getvalue().splitlines() if "key refused" in line]
    assert (line["status"], line["path"], line["times"]) == (401, f"{E}/decide", 1)
    assert "it is missing or not known" in line["error"]
    counted = 'latentbandits_requests_total{endpoint="decide",status="401"} 300.0'
    assert counted in web.response("GET", "/metrics").text.splitlines()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits another process's files")
def test_a_full_disk_shows(tmp_path: Path) -> None:
    """No file can grow: `/ready` says so though nobody decides, and is well again by itself."""
    import resource

    server = Process(tmp_path, "--store", "k.db", "--port", "0", "--lease", "30")
    pid = server.process.pid
    hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]

    def until(status: int) -> httpx.Response:
        deadline = time.monotonic() + 60
        while (found := httpx.get(f"{server.url}/ready")).status_code != status:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        return found

    until(200)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, ((tmp_path / "k.db-wal").stat().st_size, hard))
    assert "cannot be used now" in until(503).json()["error"]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
    until(200)
    assert server.stop()[0] == 0


def test_an_experiment_that_cannot_be_opened_does_not_stop_the_others(tmp_path: Path) -> None:
    first = Web(tmp_path / "web.db")
    assert (
        first.send("POST", "/v1/experiments", {"name": "f", "policy": "ucb1", "arms": ["x", "y"], "status": "live"})[0]
        == 201
    )
    first.storage._rows(
        """UPDATE event SET body = replace(body, '"UCB1"', '"Elsewhere"') WHERE experiment = 2 AND seq = 1"""
    )
    first.close()
    again = Web(tmp_path / "web.db")
    try:
        assert again.decide()["id"]
        assert again.send("GET", "/ready")[1]["failed"].keys() == {"f"}
        assert again.send("POST", "/v1/experiments/f/decide", {})[0] in (422, 503)
        assert again.response("GET", "/metrics").status_code == 200
    finally:
        again.close()


def killed(folder: Path, run: int, lines: int) -> list[list[str]]:
    """Run a server under load until so much was acknowledged, kill it, and return all that was."""
    server = Process(folder, "--store", "k.db", "--port", "0")
    if run == 0:
        body = {"name": "e", "policy": "exp3", "arms": ["a", "b", "c"], "status": "live", "floor": 0.1, "max_open": 50}
        headers = {"authorization": f"Bearer {ADMIN}"}
        assert httpx.post(f"{server.url}/v1/experiments", json=body, headers=headers).status_code == 201
    said: SimpleQueue[str] = SimpleQueue()
    with ThreadPoolExecutor(3) as pool:
        for number in range(3):
            pool.submit(work, server.url, ADMIN, str(run), number, said.put)
        found = [said.get(timeout=60) for _ in range(lines)]
        server.kill()
    while not said.empty():
        found.append(said.get())
    return [line.split() for line in found]


def kills(folder: Path, number: int) -> None:
    random = np.random.default_rng(number)
    made: dict[str, tuple[str, str]] = {}
    told: dict[str, float] = {}
    for run in range(number):
        for word, *rest in killed(folder, run, int(random.integers(5, 60))):
            if word == "made":
                made[rest[0]] = (rest[1], rest[2])
            elif rest[1] == "accepted":
                told[rest[0]] = float(rest[2])
    assert len(made) > number
    assert_kept(str(folder / "k.db"), made, told)


@pytest.mark.parametrize("number", [4, pytest.param(100, marks=pytest.mark.slow)])
def test_kills_of_a_server_under_load_lose_nothing(number: int, tmp_path: Path) -> None:
    kills(tmp_path, number)


def test_sigterm_finishes_what_was_accepted(tmp_path: Path) -> None:
    server = Process(tmp_path, "--store", "k.db", "--port", "0", "--log-requests")
    headers = {"authorization": f"Bearer {ADMIN}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=30) as client:
        body = {"name": "e", "policy": "ucb1", "arms": ["a", "b"], "status": "live"}
        assert client.post("/v1/experiments", json=body).status_code == 201
        made = [client.post(f"{E}/decide", json={}).json()["id"] for _ in range(20)]
        code, out, err = server.stop()
    assert code == 0
    said = [json.loads(line) for line in err.splitlines()]
    assert said[-1]["event"] == "stopped"
    assert out.startswith("page:")
    assert ADMIN not in out + err
    events = Reader(tmp_path / "k.db").events(1)
    assert [event.decision for event in events if event.kind == "decide"] == made
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.url}/health")


def test_a_store_that_does_not_answer_does_not_keep_it_from_stopping(tmp_path: Path) -> None:
    """Mutation: wait for the writer as long as it takes."""
    stuck = "import time; from latentbandits.store import Ledger; Ledger.release = lambda self: time.sleep(1000)"
    server = Process(tmp_path, "--store", "k.db", "--port", "0", "--stop", "1", first=stuck)
    code, _, log = server.stop()
    assert code == 1
    assert "not stopped in time" in log


def test_metrics_are_counted_without_looking_at_beliefs(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """Totals are counters. Mutation: a view of every experiment, which takes a millisecond each."""
    web.reward(web.decide(), 0.5)

    def looked(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr("latentbandits.store.ledger.View.of", looked)
    lines = web.response("GET", "/metrics").text.splitlines()
    assert 'latentbandits_decided_total{experiment="e"} 1.0' in lines
    assert 'latentbandits_open_decisions{experiment="e"} 0.0' in lines
    kinds = dict(line.split()[2:] for line in lines if line.startswith("# TYPE"))
    totals = {name for name in kinds if name.endswith("_total")}
    assert totals >= {f"latentbandits_{kind}_total" for kind in ("requests", "decided", "rewarded", "late", "stored")}
    assert {kinds[name] for name in totals} == {"counter"}
    assert kinds["latentbandits_open_decisions"] == "gauge"


def test_no_answer_says_where_the_store_is(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutation: send what the log has."""

    def full(*_: Any) -> Any:
        raise StoreUnavailableError(f"store: {web.storage.place} cannot be used now (disk full); try again")

    monkeypatch.setattr(web.storage, "append", full)
    status, said = web.send("POST", f"{E}/decide", {})
    assert (status, said["error"]) == (503, "store: its store cannot be used now (disk full); try again")
    assert web.storage.place in web.said.getvalue()
    status, said = web.send("GET", "/ready")
    assert (status, web.storage.place in str(said)) == (503, False)

"""Two servers on one PostgreSQL: whichever is asked, one of them decides; killed or stopped, the other goes on, and nothing is lost."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from latentbandits.serve import Settings
from latentbandits.serve.replicas import Replicas
from latentbandits.store import Owner, reader_of, verify
from latentbandits.store.connection import PostgresReader
from tests.postgres import address
from tests.services import ADMIN, ROOT, Process
from tests.stores import repeated

E = "/v1/experiments/e"
HEADERS = {"authorization": f"Bearer {ADMIN}"}
LEASE = 3.0  # long enough for a busy machine, since it bounds how long one may take to answer another
MOST = 300  # tries until a lease has ended, a tenth of a second apart


class Pair:
    """Two servers, and whoever talks to them."""

    def __init__(self, folder: Path, store: str) -> None:
        self.folder, self.store = folder, store
        self.servers = [self.start(), self.start()]
        self.clients = [httpx.Client(base_url=one.url, headers=HEADERS, timeout=30) for one in self.servers]

    def start(self) -> Process:
        return Process(self.folder, "--store", self.store, "--port", "0", "--lease", str(LEASE))

    def restart(self, place: int) -> None:
        self.servers[place] = self.start()
        self.clients[place].close()
        self.clients[place] = httpx.Client(base_url=self.servers[place].url, headers=HEADERS, timeout=30)

    def make(self, name: str, **spec: Any) -> None:
        body = {"name": name, "policy": "exp3", "arms": ["a", "b", "c"], "status": "live", "floor": 0.1, **spec}
        assert self.clients[0].post("/v1/experiments", json=body).status_code == 201

    def owner(self, name: str) -> int:
        """Return which of the two holds an experiment."""
        reader = reader_of(self.store)
        assert isinstance(reader, PostgresReader)
        ((found,),) = reader._rows("SELECT address FROM experiment WHERE name = ?", (name,))
        reader.close()
        return [one.url for one in self.servers].index(found)

    def until_answered(self, place: int, path: str, **given: Any) -> Any:
        """Send a request until it is answered, as clients do; meanwhile every answer must be a 503 that says when to come again."""
        for _ in range(MOST):
            found = self.clients[place].post(path, **given)
            if found.status_code == 200:
                return found.json()
            assert (found.status_code, found.headers["retry-after"], set(found.json())) == (503, "1", {"error"})
            time.sleep(0.1)
        raise AssertionError("nobody has taken over")

    def close(self) -> None:
        for client, server in zip(self.clients, self.servers, strict=True):
            client.close()
            server.kill()


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, postgres: None) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("replicas")
    found = Pair(folder, address(folder))
    found.make("e")  # here, since pytest's workers may share out the tests
    assert found.clients[0].post(f"{E}/decide", json={}).is_success
    yield found
    found.close()


def test_any_replica_answers_any_request(pair: Pair) -> None:
    """Mutation: leave out `Replicas.answer` in the endpoint, and one of the two refuses everything."""
    holder = pair.owner("e")
    here, other = pair.clients[holder], pair.clients[1 - holder]
    keyed = {"idempotency-key": "visit-1"}
    made = other.post(f"{E}/decide", json={"subject": "u"}, headers=keyed).json()
    again = here.post(f"{E}/decide", json={"subject": "u"}, headers=keyed).json()
    assert again["id"] == made["id"]
    assert other.post(f"{E}/decide", json={"subject": "v"}, headers=keyed).status_code == 409
    assert other.post(f"{E}/reward", json={"id": made["id"], "reward": 0.5}).json() == {"outcome": "accepted"}
    assert here.post(f"{E}/reward", json={"id": made["id"], "reward": 0.5}).json() == {"outcome": "duplicate"}
    batch = other.post(f"{E}/decide/batch", json={"rounds": [{}] * 1000}).json()["decisions"]
    assert len({one["id"] for one in batch}) == 1000
    for path in ("", "/regimes", "/timeline", "/changes", "/tail?most=3", f"/decisions/{made['id']}"):
        assert other.get(E + path).json() == here.get(E + path).json(), path
    assert other.get(f"{E}/now").json()["head"] == here.get(f"{E}/now").json()["head"]
    for kind in ("csv", "parquet"):
        found, wanted = other.get(f"{E}/log.{kind}"), here.get(f"{E}/log.{kind}")
        assert found.content == wanted.content
        for name in ("content-type", "content-disposition", "content-security-policy"):
            assert found.headers[name] == wanted.headers[name]
    assert other.patch(E, json={"floor": 0.2}).json()["floor"] == 0.2
    assert other.put(f"{E}/status", json={"status": "gone"}).status_code == 422
    assert other.get("/").status_code == 200
    assert [one["name"] for one in other.get("/v1/experiments").json()["experiments"]] == ["e"]
    assert other.get("/ready").json()["failed"] == {}
    counted = ['latentbandits_decided_total{experiment="e"}' in one.get("/metrics").text for one in (here, other)]
    assert counted == [True, False]  # mutation: `/metrics` that fails where another replica holds something
    assert other.get("/v1/experiments/nothing").status_code == 404


def test_a_key_of_one_replica_is_known_to_the_other(pair: Pair) -> None:
    secret = pair.clients[0].post("/v1/keys", json={"name": "k", "roles": ["read"]}).json()["secret"]
    headers = {"authorization": f"Bearer {secret}"}
    for _ in range(MOST):
        if (found := pair.clients[1].get("/v1/experiments", headers=headers)).status_code == 200:
            break
        assert found.status_code == 401
        time.sleep(0.1)
    assert found.status_code == 200
    assert pair.clients[1].get(E, headers={"authorization": "Bearer nobody"}).status_code == 401


def test_a_request_is_sent_on_once(pair: Pair) -> None:
    """Mutation: look at no header, and two replicas that are wrong about each other send a request to and fro for ever."""
    other = pair.clients[1 - pair.owner("e")]
    found = other.post(f"{E}/decide", json={}, headers={"latentbandits-forwarded": "1"})
    assert (found.status_code, found.headers["retry-after"]) == (503, "1")
    assert "was asked in its stead" in found.json()["error"]


def test_both_are_asked_at_once_for_what_nobody_holds(pair: Pair) -> None:
    for number in range(5):
        name = f"both{number}"
        pair.make(name)
        found: list[httpx.Response] = []
        _together(pair, name, found)
        assert [one.status_code for one in found] == [200] * 8
        reader = reader_of(pair.store)
        row = reader.experiment(name)
        assert row is not None
        decided = [event.decision for event in reader.events(row.id) if event.kind == "decide"]
        assert sorted(map(str, decided)) == sorted(one.json()["id"] for one in found)
        reader.close()


def _together(pair: Pair, name: str, found: list[httpx.Response]) -> None:
    def ask(place: int) -> None:
        found.append(pair.clients[place].post(f"/v1/experiments/{name}/decide", json={}))

    threads = [threading.Thread(target=ask, args=(number % 2,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_one_that_sleeps_past_its_lease_writes_nothing(pair: Pair) -> None:
    """SIGSTOP the owner (mutation: an owner that goes by what it knew answers, and its decision is lost)."""
    pair.make("stopped")
    path = "/v1/experiments/stopped/decide"
    assert pair.clients[0].post(path, json={}).is_success
    stale = pair.owner("stopped")
    process = pair.servers[stale].process
    assert '{experiment="stopped"}' in pair.clients[stale].get("/metrics").text
    os.kill(process.pid, signal.SIGSTOP)
    try:
        keyed = {"idempotency-key": "while-it-slept"}
        made = pair.until_answered(1 - stale, path, json={"subject": "u"}, headers=keyed)
        assert pair.owner("stopped") == 1 - stale
    finally:
        os.kill(process.pid, signal.SIGCONT)
    again = pair.until_answered(stale, path, json={"subject": "u"}, headers=keyed)
    assert again["id"] == made["id"]
    assert pair.owner("stopped") == 1 - stale
    # mutation: numbers of an experiment that another replica counts by now are kept, and sums over replicas are wrong
    assert '{experiment="stopped"}' not in pair.clients[stale].get("/metrics").text
    reader = reader_of(pair.store)
    assert verify(reader, "stopped").label == "identical"
    row = reader.experiment("stopped")
    assert row is not None
    assert [event.kind for event in reader.events(row.id)].count("decide") == 2
    reader.close()


@pytest.mark.parametrize("number", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_kills_of_the_owner_under_load_lose_nothing(pair: Pair, number: int) -> None:
    """Mutation: a take-over without replay; a request in doubt that is sent on again without its key; an answer before the commit."""
    made: dict[str, tuple[str, str]] = {}
    told: dict[str, float] = {}
    for run in range(number):
        dead = pair.owner("e")
        url = pair.servers[1 - dead].url
        command = [sys.executable, "-m", "tests.serve_load", url, ADMIN, f"load{number}-{run}", "3", "patient"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as load:
            assert load.stdout is not None
            said = [load.stdout.readline() for _ in range(60)]
            pair.servers[dead].kill()
            while pair.owner("e") == dead:  # what was answered before waits in the pipe
                said.append(load.stdout.readline())
                assert said[-1], "nobody has taken over"
            said += [load.stdout.readline() for _ in range(60)]  # the other one goes on, for the same clients
            load.kill()
            said += load.stdout.readlines()
        assert pair.owner("e") == 1 - dead
        pair.restart(dead)
        for word, *rest in (line.split() for line in said if line.endswith("\n")):
            if word == "made":
                made[rest[0]] = (rest[1], rest[2])
            elif rest[1] in ("accepted", "duplicate"):
                told[rest[0]] = float(rest[2])
    assert len(made) >= 30 * number
    reader = reader_of(pair.store)
    row = reader.experiment("e")
    assert row is not None
    for known, arm in made.values():
        assert reader.story(row.id, known)[0].arm == ("a", "b", "c").index(arm)
    events = reader.events(row.id, 0, 1_000_000)
    rewards = [(event.decision, event.value) for event in events if event.kind == "reward"]
    assert told.items() <= dict(rewards).items()
    assert len(rewards) == len(dict(rewards))
    groups = [event.subject for event in events if event.kind == "decide" and str(event.subject).startswith("load")]
    assert len(groups) == len(set(groups))  # what was in doubt was asked again by its key, and decided once
    assert repeated(reader) == verify(reader, "e").digest
    assert verify(reader, "e").label == "identical"
    reader.close()


class Holders:
    """A writer that finds others holding the experiment, one after the other, and then this replica."""

    def __init__(self, *owners: Owner | None) -> None:
        self.owners = list(owners)

    def look(self, _: Any) -> Any:
        found = asyncio.get_running_loop().create_future()
        found.set_result(self.owners.pop(0))
        return found


def asked(*owners: Owner | None) -> tuple[Any, Holders]:
    """Return what a replica answers to one request, if these hold the experiment, and what it has not looked at."""
    writer: Any = Holders(*owners)

    async def answered() -> Any:
        replicas = Replicas(writer, Settings(lease=2.0))
        scope = {"type": "http", "path_params": {"name": "e"}, "method": "POST", "raw_path": b"/x"}
        request = Request(scope | {"query_string": b"", "headers": []})
        try:
            return await replicas.answer(request, b"{}")
        except HTTPException as failure:
            return failure
        finally:
            await replicas.close()

    return asyncio.run(answered()), writer


def test_who_holds_it_is_looked_up_again_if_nobody_listens() -> None:
    """It has given the experiment back (mutation: leave out the second look), or has died and its lease has not ended."""
    with socket.create_server(("127.0.0.1", 0)) as heard:
        dead = Owner("dead", f"http://127.0.0.1:{heard.getsockname()[1]}", False)
    assert asked(None)[0] is None
    assert asked(dead, None)[0] is None
    failure, _ = asked(dead, dead)
    assert (failure.status_code, "does not listen" in str(failure)) == (503, True)
    failure, _ = asked(dead._replace(address=None))
    assert (failure.status_code, "has no address" in str(failure)) == (503, True)


def test_what_another_may_have_heard_is_not_done_again() -> None:
    """Without a key it would be decided twice (mutation: take every error of the network for one who does not listen)."""
    with socket.create_server(("127.0.0.1", 0)) as heard:
        owner = Owner("dying", f"http://127.0.0.1:{heard.getsockname()[1]}", False)

        def hang_up() -> None:
            connection, _ = heard.accept()
            connection.recv(10_000)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        failure, writer = asked(owner, None)
        thread.join()
    assert (failure.status_code, "perhaps it has done it" in str(failure), writer.owners) == (503, True, [None])


def test_a_replica_that_stops_hands_over_without_an_error(pair: Pair) -> None:
    """SIGTERM gives experiments back at once: nobody waits for a lease."""
    holder = pair.owner("e")
    assert pair.clients[1 - holder].post(f"{E}/decide", json={}).is_success
    code, _, _ = pair.servers[holder].stop()
    assert code == 0
    assert pair.clients[1 - holder].post(f"{E}/decide", json={}).status_code == 200
    assert pair.owner("e") == 1 - holder
    pair.restart(holder)


@pytest.mark.slow  # under a load of its own: beside other tests a hand-over can take longer than a client waits
def test_a_rolling_update_under_load_shows_no_error(pair: Pair) -> None:
    """Each is stopped while both are asked all the time. Mutation: stop to listen first, and give back what is held then."""
    pair.make("rolling")
    path = "/v1/experiments/rolling/decide"
    for _ in range(2):
        pair.until_answered(0, path, json={})
        holder = pair.owner("rolling")
        found: list[tuple[int, int]] = []
        over = threading.Event()

        def ask(place: int, found: list[tuple[int, int]] = found, over: threading.Event = over) -> None:
            with httpx.Client(base_url=pair.servers[place].url, headers=HEADERS, timeout=30) as client:
                while not over.is_set():
                    try:
                        found.append((place, client.post(path, json={}).status_code))
                    except httpx.TransportError:  # it does not listen any more, as a proxy would find
                        found.append((place, 0))
                        return

        threads = [threading.Thread(target=ask, args=(place,)) for place in (0, 0, 1, 1)]
        for thread in threads:
            thread.start()
        while len(found) < 40:
            time.sleep(0.01)
        code, _, log = pair.servers[holder].stop()
        seen = len(found)
        while len(found) < seen + 40:
            time.sleep(0.01)
        over.set()
        for thread in threads:
            thread.join()
        assert code == 0
        assert {status for place, status in found if place == holder} <= {200, 0}
        assert {status for place, status in found if place != holder} == {200}, log
        assert pair.owner("rolling") == 1 - holder
        pair.restart(holder)
    reader = reader_of(pair.store)
    assert verify(reader, "rolling").label == "identical"
    reader.close()


def test_a_shared_store_needs_a_key_that_all_replicas_know(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    from latentbandits import cli

    monkeypatch.delenv("LATENTBANDITS_ADMIN_KEY", raising=False)
    monkeypatch.setattr("latentbandits.serve.run.uvicorn.Server.run", None)  # it must not come so far
    assert cli.main(["serve", "--store", pair.store, "--port", "0"]) == 2
    assert "must be one file until there is an admin key" in capsys.readouterr().err

"""Clients: the verbs of an agent, tries with one key, fallbacks, and rewards that wait."""

import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import latentbandits as lb
from latentbandits.client import ServiceError, ServiceTimeout
from latentbandits.client.exchange import Exchange
from latentbandits.client.wire import Reply
from latentbandits.serve import served
from latentbandits.settings import InvalidValueError
from tests.services import ADMIN, ROOT, Process

Answer = Callable[[httpx.Request], httpx.Response]


class Script:
    """A service that answers as it is told: a status, an exception, or a function; the last one for ever."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.seen = list(answers), list[httpx.Request]()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, int):
            return httpx.Response(answer, json={"error": "no"})
        return httpx.Response(200, json=answer)


MADE = {"id": "a" * 25, "arms": ["b"], "probe_reasons": [], "probabilities": [0.5], "by": "policy"}
LOST = httpx.ReadTimeout("lost")
GONE = httpx.ConnectError("gone")


def client(script: Script, **given: Any) -> lb.Client:
    return lb.Client(
        "http://here", "key", "offers", transport=httpx.MockTransport(script), **{"budget": 5.0, "copy": 0, **given}
    )


def test_every_try_has_the_same_key() -> None:
    script = Script(503, LOST, 502, MADE)  # mutation: a key made per try decides several times
    with client(script) as one:
        assert one.ask(subject="u").arm == "b"
    keys = [request.headers["idempotency-key"] for request in script.seen]
    assert len(keys) == 4
    assert len(set(keys)) == 1
    with client(Script(MADE)) as one:
        one.ask()
        one.ask()


def test_two_calls_have_two_keys() -> None:
    script = Script(MADE)
    with client(script) as one:
        one.ask()
        one.ask()
        one.ask(key="mine")
    first, second, mine = (request.headers["idempotency-key"] for request in script.seen)
    assert first != second
    assert mine == "mine"


def test_a_refusal_is_not_tried_again() -> None:
    for status in (401, 403, 404, 409, 422):
        script = Script(status)
        with client(script, control="a") as one, pytest.raises(ServiceError) as problem:
            one.ask()
        assert (problem.value.status, str(problem.value), len(script.seen)) == (status, "no", 1)


def test_the_fallback_is_marked_and_available() -> None:
    with client(Script(GONE), control="a", budget=0.01) as one:
        decision = one.ask()
        assert (decision.arm, decision.by, decision.probability, decision.id) == ("a", "fallback", None, "")
        assert one.ask(available=["b", "c"]).arm == "b"  # mutation: a control arm that cannot be played
        assert [made.by for made in one.ask_many([{}, {"subject": "u"}])] == ["fallback"] * 2
        assert one.tell(decision, 1.0) == one.forget(decision) == "fallback"
        assert (one.fallbacks, one.pending) == (4, 0)
    with client(Script(GONE), budget=0.01) as one, pytest.raises(ServiceTimeout):
        one.ask()


def test_a_service_that_is_gone_is_left_alone_for_a_while() -> None:
    script = Script(GONE)
    with client(script, control="a", budget=0.01) as one:
        one.ask()
        tries = len(script.seen)
        one.ask()
        assert len(script.seen) == tries  # visitors do not wait for it one after the other


class Slow:
    """A line with given answers, on a clock that moves by waiting alone; nothing waits for an event loop."""

    def __init__(self, *answers: Reply | None) -> None:
        self.answers, self.now = list(answers), 0.0
        self.tries, self.pauses = list[float](), list[float]()

    async def send(self, method: str, path: str, content: bytes, headers: Any, seconds: float) -> Reply | None:
        self.tries.append(seconds)
        return self.answers.pop(0)

    closed = False

    def start(self, work: Any) -> None:
        """What waits is not sent here."""

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def ask(self, budget: float) -> str:
        """Return who decides."""
        line: Any = self
        exchange = Exchange(line, "key", "offers", "a", 0, budget, 10, lambda: self.now)
        return asyncio.run(exchange.ask([{}], None, single=True))[0].by


def test_the_budget_bounds_all_tries_together() -> None:
    line = Slow(*[Reply(503)] * 50)
    assert line.ask(0.25) == "fallback"
    assert line.now < 0.25
    assert len(line.tries) > 2
    assert all(seconds <= 0.25 for seconds in line.tries)
    assert line.tries[-1] < line.tries[0]  # mutation: every try with the whole budget


def test_retry_after_is_waited_for_if_the_budget_allows() -> None:
    line = Slow(Reply(429, b"", "2"), Reply(200, json.dumps(MADE).encode()))
    assert line.ask(5.0) == "policy"
    assert line.pauses == [2.0]


def test_a_decision_in_doubt_is_withdrawn_when_the_service_is_back() -> None:
    script = Script(LOST)  # it may have decided: nobody was shown that decision
    with client(script, control="a", budget=0.005) as one:
        assert one.ask(subject="u", key="visit-1").by == "fallback"
        assert one.pending == 1
        seen = len(script.seen)
        script.answers = [MADE, {"outcome": "accepted"}]
        assert one.flush()
    again, ended = script.seen[seen:]
    assert again.headers["idempotency-key"] == "visit-1"
    assert json.loads(again.content) == {"subject": "u"}
    assert (ended.url.path, json.loads(ended.content)) == ("/v1/experiments/offers/censor", {"id": MADE["id"]})


def test_rewards_wait_and_are_sent_together(caplog: pytest.LogCaptureFixture) -> None:
    script = Script(GONE)
    with client(script, budget=0.005, queue=3) as one:
        ids = [f"{n:025x}" for n in range(5)]
        assert [one.tell(known, n / 10) for n, known in enumerate(ids)] == ["queued"] * 5
        assert (one.pending, one.dropped) == (3, 2)  # bounded: the oldest give way
        seen = len(script.seen)
        script.answers = [
            {
                "outcomes": [
                    {"outcome": "accepted"},
                    {"outcome": "refused", "error": "why"},
                    {"outcome": "late"},
                ]
            }
        ]
        with caplog.at_level(logging.WARNING, "latentbandits.client"):
            assert one.flush()
        (request,) = script.seen[seen:]
        assert (
            json.loads(request.content)["rewards"]
            == [{"id": known, "reward": n / 10} for n, known in enumerate(ids)][2:]
        )
        assert (one.pending, one._exchange.refused) == (0, 1)
        assert "why" in caplog.text


def test_numbers_of_numpy_and_bad_ones() -> None:
    script = Script(MADE, {"outcome": "accepted"})
    with client(script) as one:
        one.ask(np.array([0.5, 1.0]), subject=7)
        assert json.loads(script.seen[0].content) == {"context": [0.5, 1.0], "subject": 7}
        assert one.tell("a" * 25, np.float64(0.5)) == "accepted"
        with pytest.raises(InvalidValueError, match="finite numbers"):
            one.tell("a" * 25, float("nan"))
        values: tuple[Any, ...] = (True, np.True_, [True, False], np.array([0.5, 1.0]), 3)
        for told in values:
            one.tell("a" * 25, told)
        rewards = [json.loads(request.content)["reward"] for request in script.seen[2:]]
        assert [repr(one) for one in rewards] == ["1.0", "1.0", "[1.0, 0.0]", "[0.5, 1.0]", "3"]  # no booleans
    for bad in ({"budget": 0}, {"queue": -1}):
        with pytest.raises(InvalidValueError):
            client(script, **bad)


ADDRESSES = (
    "127.0.0.1:18101",
    "",
    "htp://x",
    "ftp://x",
    "http://",
    "http://no such",
    "http://x:99999",
    "http://x:y",
    "unix:x.sock",
)


@pytest.mark.parametrize("url", ADDRESSES)
@pytest.mark.parametrize("kind", [lb.Client, lb.AsyncClient])
def test_what_cannot_be_an_address_is_refused_at_once(kind: Any, url: str) -> None:
    with pytest.raises(InvalidValueError, match=r"^Client: url is .* but must be http://HOST or https://HOST$"):
        kind(url, "key", "offers", control="a")  # mutation: every visitor gets the fallback, and nobody hears why


def test_a_closed_client_says_so() -> None:
    one = client(Script(MADE))
    one.ask()
    one.close()
    one.close()
    for call in (one.ask, lambda: one.tell("a" * 25, 1.0), one.flush):
        with pytest.raises(
            InvalidValueError, match=r"^Client: client is 'closed' but must be open \(make another one\)$"
        ):
            call()

    async def main() -> None:
        other = lb.AsyncClient("http://here", "k", "offers", transport=httpx.MockTransport(Script(MADE)))
        await other.ask()
        await other.close()
        await other.close()
        with pytest.raises(InvalidValueError, match="must be open"):
            await other.ask()

    asyncio.run(main())


def test_a_service_answers_threads_and_batches() -> None:
    with served("offers", "ucb1", arms=["a", "b", "c"]) as (url, key), lb.Client(url, key, "offers", budget=20) as one:

        def visit(n: int) -> str:
            return one.tell(one.ask(subject=f"u{n}"), 0.5)

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(visit, range(40))) == ["accepted"] * 40
        made = one.ask_many([{"subject": "u"}, {"available": ["c"]}, {}])
        assert made[1].arm == "c"
        assert one.forget(made[2]) == "accepted"
        assert one.forget(made[0]) == "accepted"
        spare = one.ask()
        assert one.tell(spare, 0.5) == "accepted"
        with pytest.raises(ServiceError, match="decision to correct"):  # mutation: `correct` is not sent
            one.tell(spare, 1.0, correct=True)
        told = one.tell_many([(made[1], 1.0), (made[2], 0.0), (made[0], 0.0), ("f" * 25, 1.0)])
        assert told == ["accepted", "late", "late", "refused"]
        with pytest.raises(ServiceError, match="must be the id of a decision"):
            one.tell("f" * 25, 1.0)


def test_the_asynchronous_twin() -> None:
    async def main(url: str, key: str) -> tuple[list[str], int]:
        async with lb.AsyncClient(url, key, "offers", control="a", budget=20) as one:
            made = await asyncio.gather(*(one.ask(subject=f"u{n}") for n in range(20)))
            told = await asyncio.gather(*(one.tell(decision, 0.5) for decision in made))
            many = await one.ask_many([{}, {}])
            await one.forget(many[0])
            assert await one.tell_many([(many[1], 1.0)]) == ["accepted"]
            return told, len({decision.id for decision in made})

    with served("offers", "ucb1", arms=["a", "b"]) as (url, key):
        assert asyncio.run(main(url, key)) == (["accepted"] * 20, 20)

    async def gone() -> tuple[str, str, int, bool]:
        script = Script(GONE)
        async with lb.AsyncClient(
            "http://here", "k", "offers", control="a", budget=0.005, transport=httpx.MockTransport(script)
        ) as one:
            decision, outcome = await one.ask(), await one.tell("a" * 25, 1.0)
            waiting = one.pending
            script.answers = [{"outcomes": [{"outcome": "accepted"}]}]
            return decision.by, outcome, waiting, await one.flush()

    assert asyncio.run(gone()) == ("fallback", "queued", 1, True)


def test_rewards_of_a_restart_are_sent_when_it_is_back(tmp_path: Path) -> None:
    """A real service goes away and comes back at the same port; nothing is lost, and nobody has to ask for it."""
    server = Process(tmp_path, "--store", "d.db", "--port", "0")
    url = server.url
    with httpx.Client(base_url=url) as http:
        body = {"name": "offers", "policy": "ucb1", "arms": ["a", "b"], "status": "live"}
        assert http.post("/v1/experiments", json=body, headers={"authorization": f"Bearer {ADMIN}"}).status_code == 201
    with lb.Client(url, ADMIN, "offers", control="a", budget=20) as one:
        made = [one.ask(subject=f"u{n}") for n in range(5)]
        server.kill()
        one._exchange.budget = 0.05
        assert [one.tell(decision, 0.5) for decision in made] == ["queued"] * 5
        server = Process(tmp_path, "--store", "d.db", "--port", url.rpartition(":")[2])
        assert one.flush(20)
        assert one.dropped == 0
        one._exchange.budget = 20
        assert [one.tell(decision, 0.5) for decision in made] == ["duplicate"] * 5
    assert server.stop()[0] == 0


def test_workers_of_an_application_share_one_learner(tmp_path: Path) -> None:
    server = Process(tmp_path, "--store", "d.db", "--port", "0")
    with httpx.Client(base_url=server.url) as http:
        headers = {"authorization": f"Bearer {ADMIN}"}
        body = {"name": "offers", "policy": "ucb1", "arms": ["a", "b", "c"], "status": "live"}
        assert http.post("/v1/experiments", json=body, headers=headers).status_code == 201
        wanted = {"name": "shop", "roles": ["decide", "reward"], "experiments": ["offers"]}
        secret = http.post("/v1/keys", json=wanted, headers=headers).json()["secret"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "OFFERS_URL": server.url, "OFFERS_KEY": secret}
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "workers:app",
        "--workers",
        "2",
        "--port",
        str(port),
        "--log-level",
        "error",
    ]
    application = subprocess.Popen(command, cwd=ROOT / "examples", env=environment)
    try:
        url = f"http://127.0.0.1:{port}"
        seen: dict[str, Any] = {}
        with httpx.Client(transport=httpx.HTTPTransport(retries=0), timeout=60) as http:
            while len({one["worker"] for one in seen.values()}) < 2 and len(seen) < 2000:
                try:
                    made = httpx.get(f"{url}/decide?visitor={len(seen)}", timeout=60).json()
                except httpx.TransportError:
                    continue  # the workers start
                seen[made["decision"]] = made
                if len(seen) % 2:
                    told = http.post(f"{url}/reward?decision={made['decision']}&value=1").json()
                    assert told == {"outcome": "accepted"}
        assert len({one["worker"] for one in seen.values()}) == 2
        assert {one["by"] for one in seen.values()} == {"policy"}
        assert httpx.post(f"{url}/reward?decision=nobody&value=1").status_code == 400
    finally:
        application.send_signal(signal.SIGTERM)
        application.wait(60)
    assert server.stop()[0] == 0
    with lb.open_agent(tmp_path / "d.db", "offers", compiled=False) as agent:
        assert agent.stats.asked == len(seen)
        assert agent.stats.told == (len(seen) + 1) // 2

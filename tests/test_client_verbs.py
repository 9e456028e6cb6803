"""Clients: what is known of the policy, the copy that is played while the service is away, and one family of exceptions."""

import asyncio
import contextlib
import json
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, assert_type

import pytest

import latentbandits as lb
from latentbandits.agent.explain import Explanation
from latentbandits.beliefs import Belief
from latentbandits.client import ServiceError, ServiceRefused, ServiceTimeout
from latentbandits.client.clients import run
from latentbandits.client.exchange import REFRESH, Exchange
from latentbandits.client.wire import NEVER_SENT, Reply
from latentbandits.serve import served
from tests.services import Web

MADE = {"id": "a" * 25, "arms": ["b"], "probe_reasons": [], "probabilities": [0.5], "by": "policy"}


@pytest.fixture(scope="module")
def service() -> Iterator[tuple[str, str]]:
    with served("offers", arms=["red", "blue"], policy="state-library") as found:
        yield found


def test_a_client_has_the_verbs_of_an_agent(service: tuple[str, str]) -> None:
    agent = lb.Agent("state-library", arms=["red", "blue"], compiled=False)
    with lb.Client(*service, "offers", budget=20) as client:
        for n in range(40):
            one, other = client.ask(), agent.ask()
            assert one.arm == other.arm
            client.tell(one, n % 7 / 7)
            agent.tell(other, n % 7 / 7)
        last, own = client.ask(), agent.ask()
        mine, theirs = agent.explain(own), client.explain(last)
        assert isinstance(theirs, Explanation)
        assert theirs._replace(id="", time=0.0, options=()) == mine._replace(id="", time=0.0, options=())
        assert [option.name for option in theirs.options] == ["red", "blue"]
        assert theirs.options[0].value == pytest.approx(mine.options[0].value)
        assert str(theirs).startswith(f"decision {last.id} of")
        assert client.belief == agent.belief  # every number, also within states
        assert client.stats._replace(oldest=None) == agent.stats._replace(oldest=None)
        client.add("green")
        assert client.ask(available=["green"]).arm == "green"
        client.retire("green")
        with pytest.raises(ServiceRefused, match=r"available is .'green'. but") as refusal:
            client.ask(available=["green"])
        assert isinstance(refusal.value, ServiceError)
        assert refusal.value.status == 422


def test_an_async_client_has_them_too(service: tuple[str, str]) -> None:
    async def play() -> None:
        async with lb.AsyncClient(*service, "offers", budget=20) as client:
            decision = await client.ask()
            assert (await client.explain(decision)).id == decision.id
            assert (await client.stats).open >= 1
            assert isinstance(await client.belief, Belief)
            await client.add("pink")
            await client.retire("pink")

    asyncio.run(play())


def test_a_policy_without_beliefs_says_so() -> None:
    with served("offers", arms=["red", "blue"], policy="ucb1") as found, lb.Client(*found, "offers", budget=20) as one:
        with pytest.raises(ServiceRefused, match="must be one that has beliefs"):
            one.belief  # noqa: B018
        with pytest.raises(ServiceRefused, match="the id of a decision of offers"):
            one.explain("a" * 25)


def test_all_exceptions_are_of_one_family() -> None:
    with lb.Client("http://127.0.0.1:9", "key", "offers", budget=0.01) as client:
        for ask in (client.ask, lambda: client.stats, lambda: client.add("x"), lambda: client.explain("a" * 25)):
            with pytest.raises(ServiceError) as problem:
                ask()
            assert isinstance(problem.value, ServiceTimeout)
            assert problem.value.status == 0


def test_the_control_arm_or_an_annotation_gives_the_type_of_arms(service: tuple[str, str]) -> None:
    """mypy checks the types; this is what they are about."""
    with lb.Client(*service, "offers", control="red", copy=0, budget=20) as client:
        assert_type(client.ask().arm, str)
    colour: lb.Client[Literal["red", "blue"]] = lb.Client(*service, "offers", budget=20)
    with colour:
        assert_type(colour.ask().arm, Literal["red", "blue"])


class Beside:
    """A line with a service that has known probabilities, until it goes away; what runs beside runs at once."""

    closed = False

    def __init__(self, **chances: float) -> None:
        self.chances, self.now, self.away = chances, 0.0, False
        self.asked: Counter[str] = Counter()

    def start(self, work: Callable[[], Coroutine[None, None, None]]) -> None:
        run(work())

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    async def send(self, method: str, path: str, content: bytes, headers: Any, seconds: float) -> Reply:
        self.asked[f"{method} {path.rpartition('/')[2]}"] += 1
        if self.away:
            return Reply(NEVER_SENT)
        known = {"arms": list(self.chances), "probabilities": list(self.chances.values())}
        return Reply(200, json.dumps(MADE if method == "POST" else known).encode())


def exchange(line: Beside, control: str | None = "a", copy: float = 60.0) -> Exchange:
    given: Any = line
    return Exchange(given, "key", "offers", control, copy, 0.01, 10, lambda: line.now)


def test_a_control_arm_that_does_not_exist_is_refused() -> None:
    """Mutation: play it, once there is no copy."""
    with (
        served("offers", arms=["red", "blue"], policy="ucb1") as found,
        lb.Client(*found, "offers", control="rad") as one,
    ):
        one._exchange.budget = 20
        one.ask()
        _wait(lambda: bool(one._exchange._copied > 0))
        with pytest.raises(ValueError, match=r"control is 'rad' but must be one of red, blue \(did you mean red\?\)"):
            one.ask()


def test_rewards_may_be_decimals(service: tuple[str, str]) -> None:
    with lb.Client(*service, "offers", budget=20) as client:
        assert client.tell(client.ask(), Decimal("0.5")) == "accepted"  # type: ignore[arg-type]


def asked(one: Exchange, available: list[str] | None = None) -> lb.Decision:
    return run(one.ask([{"available": available}], None, single=True))[0]


def test_while_the_service_is_away_its_last_probabilities_are_played() -> None:
    """Mutation: the control arm alone."""
    line = Beside(b=0.75, c=0.25)
    one = exchange(line)
    asked(one)
    line.away = True
    made = [asked(one) for _ in range(400)]
    assert {decision.by for decision in made} == {"fallback"}
    counts = Counter(decision.arm for decision in made)
    assert counts["a"] == 0
    assert 0.65 < counts["b"] / 400 < 0.85
    assert {decision.arm: decision.probability for decision in made} == {"b": 0.75, "c": 0.25}
    only = asked(one, ["a", "c"])
    assert (only.arm, only.probability) == ("c", 1.0)
    assert asked(one, ["a"]).arm == "a"
    assert asked(one, ["z"]).arm == "z"
    assert run(one.tell([(only, 1.0)])) == ["fallback"]
    line.now += 61  # mutation: for ever
    assert asked(one).arm == "a"


def test_the_copy_is_renewed_now_and_then() -> None:
    line = Beside(b=1.0)
    one = exchange(line)
    for _ in range(5):
        asked(one)
    assert line.asked == {"POST decide": 5, "GET probabilities": 1}
    line.now, line.chances = REFRESH, {"c": 1.0}
    asked(one)
    line.away = True
    assert asked(one).arm == "c"


@pytest.mark.parametrize(("control", "copy"), [("a", 0.0), (None, 60.0)])
def test_nothing_is_copied_that_nobody_wants(control: str | None, copy: float) -> None:
    line = Beside(b=1.0)
    one = exchange(line, control, copy)
    asked(one)
    assert line.asked == {"POST decide": 1}
    line.away = True
    if control is None:
        with pytest.raises(ServiceTimeout):
            asked(one)
    else:
        assert asked(one).arm == "a"


@pytest.mark.parametrize("kind", [lb.Client, lb.AsyncClient])
def test_a_client_copies_beside_its_calls(kind: Any) -> None:
    with served("offers", arms=["red", "blue"], policy="ucb1") as found:
        if kind is lb.Client:
            with kind(*found, "offers", control="red", budget=5) as client:
                client.tell(client.ask(), 0.0)
                client.tell(client.ask(), 1.0)
                client._exchange._refreshed = -1e9
                client.ask()
                _wait(lambda: "blue" in client._exchange._copy)
        else:
            asyncio.run(_copied(kind(*found, "offers", control="red", budget=5)))


async def _copied(client: Any) -> None:
    async with client:
        decision = await client.ask()
        await client.tell(decision, 1.0)
        client._exchange._refreshed = -1e9
        await client.ask()
        for _ in range(200):
            if client._exchange._copy:
                return
            await asyncio.sleep(0.01)
    raise AssertionError("there must be a copy")


def _wait(done: Callable[[], bool]) -> None:
    for _ in range(500):
        if done():
            return
        time.sleep(0.01)
    raise AssertionError("it must have happened by now")


@pytest.mark.parametrize(("policy", "status", "wanted"), [
    ("ucb1", "live", {"b": 1.0}),
    ("exp3", "live", {"a": None, "b": None, "c": None}),
    ("ucb1", "killed", {"a": 1.0}),
    ("ts", "live", {"b": 1.0}),
])  # fmt: skip
def test_the_service_says_what_it_would_play(policy: str, status: str, wanted: dict[str, Any], tmp_path: Path) -> None:
    with contextlib.closing(Web(tmp_path / "e.db", policy)) as web:
        for reward in {"a": 0.1, "b": 0.9, "c": 0.5}, {"a": 0.2, "b": 0.8, "c": 0.5}, {"a": 0.1, "b": 0.9, "c": 0.5}:
            for arm in reward:
                _, made = web.send("POST", "/v1/experiments/e/decide", {"available": [arm]})
                web.send("POST", "/v1/experiments/e/reward", {"id": made["id"], "reward": reward[arm]})
        web.send("PUT", "/v1/experiments/e/status", {"status": status})
        assert web.send("GET", "/v1/experiments/e/stats")[1]["told"] == 9
        assert web.send("GET", "/v1/experiments/e/belief")[0] == 404
        code, said = web.send("GET", "/v1/experiments/e/probabilities")
        assert code == 200
        assert said["arms"] == list(wanted)
        assert sum(said["probabilities"]) == pytest.approx(1.0)
        if None not in wanted.values():
            assert said["probabilities"] == list(wanted.values())


def test_an_arm_that_breaks_the_guardrail_is_neither_best_nor_copied(tmp_path: Path) -> None:
    """Mutation: ask the policy about all arms."""
    with contextlib.closing(Web(tmp_path / "e.db", "ucb1", guardrail=0.9, control="c")) as web:
        for arm, reward, guard in [("a", 0.5, 1.0), ("b", 0.9, 0.0), ("c", 0.1, 1.0)] * 12:
            code, made = web.send("POST", "/v1/experiments/e/decide", {"available": [arm, "c"]})
            if code == 200 and made["arms"] == [arm]:
                web.send("POST", "/v1/experiments/e/reward", {"id": made["id"], "reward": reward, "guard": guard})
        now = web.send("GET", "/v1/experiments/e/now")[1]
        assert [one["arm"] for one in now["broken"]] == ["b"]
        assert now["best"]["arm"] == "a"
        said = web.send("GET", "/v1/experiments/e/probabilities")[1]
        assert said == {"arms": ["a"], "probabilities": [1.0], "known": ["a", "b", "c"]}
        # the table of a decision does not contradict its sentence
        made = web.send("POST", "/v1/experiments/e/decide", {"available": ["c"]})[1]
        while made["arms"] != ["a"]:
            made = web.decide()
            web.reward(made, 0.5)
        explained = web.send("GET", f"/v1/experiments/e/decisions/{made['id']}")[1]
        indices = {one["name"]: one["index"] for one in explained["options"]}
        assert indices["b"] > indices["a"]
        assert explained["reason"].startswith("the highest index of the arms that could be played; b could not")

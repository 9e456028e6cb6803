"""The clients: `Client` waits, `AsyncClient` is awaited. What they do is written once, in `exchange`; here are the verbs and the lines."""

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

import httpx
import numpy as np

from latentbandits.agent.decision import ArmT, Decision, Name, Stats
from latentbandits.agent.explain import Explanation
from latentbandits.beliefs import Belief
from latentbandits.client.exchange import Exchange
from latentbandits.client.wire import NEVER_SENT, Line, Reply, Rewards, Round, checked_address

T = TypeVar("T")
Work = Callable[[], Coroutine[None, None, None]]


class _Blocking:
    """A line of threads. A forked process makes connections of its own."""

    def __init__(self, url: str, transport: httpx.BaseTransport | None) -> None:
        self._base, self._transport = checked_address(url), transport
        self._process, self._http, self._lock = -1, None, threading.Lock()  # type: int, httpx.Client | None, threading.Lock
        self._alone, self._ended = threading.Lock(), threading.Event()
        self._beside: dict[str, threading.Thread] = {}

    @property
    def closed(self) -> bool:
        return self._ended.is_set()

    async def send(
        self, method: str, path: str, content: bytes, headers: Mapping[str, str], seconds: float
    ) -> Reply | None:
        try:
            reply = self._connected().request(method, path, content=content, headers=headers, timeout=seconds)
            return Reply(reply.status_code, reply.content, reply.headers.get("retry-after"))
        except (httpx.ConnectError, httpx.ConnectTimeout):
            return Reply(NEVER_SENT)
        except httpx.TransportError:
            return None

    async def sleep(self, seconds: float) -> None:
        self._ended.wait(seconds)

    @contextlib.asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        with self._alone:
            yield

    def start(self, work: Work) -> None:
        name = work.__name__
        if name not in self._beside or not self._beside[name].is_alive():
            self._beside[name] = threading.Thread(target=lambda: run(work()), name="latentbandits-client", daemon=True)
            self._beside[name].start()

    def _connected(self) -> httpx.Client:
        with self._lock:
            if self._http is None or self._process != os.getpid():
                self._http = httpx.Client(base_url=self._base, transport=self._transport)
                self._process = os.getpid()
            return self._http

    async def close(self) -> None:
        self._ended.set()
        if self._http is not None and self._process == os.getpid():
            self._http.close()


class _Awaiting:
    """A line of an event loop."""

    def __init__(self, url: str, transport: httpx.AsyncBaseTransport | None) -> None:
        self._http = httpx.AsyncClient(base_url=checked_address(url), transport=transport)
        self._alone = asyncio.Lock()
        self._beside: dict[str, asyncio.Task[None]] = {}

    @property
    def closed(self) -> bool:
        return self._http.is_closed

    async def send(
        self, method: str, path: str, content: bytes, headers: Mapping[str, str], seconds: float
    ) -> Reply | None:
        try:
            async with asyncio.timeout(seconds):
                reply = await self._http.request(method, path, content=content, headers=headers)
            return Reply(reply.status_code, reply.content, reply.headers.get("retry-after"))
        except (httpx.ConnectError, httpx.ConnectTimeout):
            return Reply(NEVER_SENT)
        except (httpx.TransportError, TimeoutError):
            return None

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def alone(self) -> asyncio.Lock:
        return self._alone

    def start(self, work: Work) -> None:
        name = work.__name__
        if name not in self._beside or self._beside[name].done():
            self._beside[name] = asyncio.create_task(work())

    async def close(self) -> None:
        for task in self._beside.values():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await self._http.aclose()


def run(work: Coroutine[None, None, T]) -> T:
    """Return what a coroutine of a blocking line returns: one step is all of it."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise RuntimeError("Client: a blocking call has waited for an event loop")


class _Client(Generic[ArmT]):
    """What both clients are, and say of themselves."""

    _line: type[Any]

    def __init__(
        self,
        url: str,
        key: str,
        experiment: str,
        *,
        control: ArmT | None = None,
        copy: float = 300.0,
        budget: float = 0.25,
        queue: int = 10_000,
        transport: Any = None,
    ) -> None:
        line: Line = self._line(url, transport)
        self._exchange = Exchange(line, key, experiment, cast("Name | None", control), copy, budget, queue)

    @property
    def pending(self) -> int:
        """What waits for the service: rewards, and decisions to withdraw since they were never shown."""
        return len(self._exchange.pending)

    @property
    def dropped(self) -> int:
        """What was dropped, since too much waited."""
        return self._exchange.dropped

    @property
    def fallbacks(self) -> int:
        """Decisions that were made here, since the service did not answer."""
        return self._exchange.fallbacks


class Client(_Client[ArmT]):
    """An experiment of a service, with the verbs of an agent. Threads may share it, and forked processes.

    If the service does not answer within the budget, `ask` decides here, marked by ``decision.by == "fallback"``: by a copy of the
    probabilities with which the service would play each arm, at most 5 seconds old when it went away, or else with the control arm. A
    reward for that is not sent. Rewards for the service's decisions that cannot be sent are queued, and sent when it is back.

    Parameters
    ----------
    url : str
        Where the service is, such as ``"http://127.0.0.1:8000"``.
    key : str
        A key with the roles decide and reward; `explain`, `belief` and `stats` need read, `add` and `retire` admin.
    experiment : str
        The experiment.
    control : str or int, optional
        The arm to play when the service does not answer and there is no copy; if not given, `ask` raises `ServiceTimeout` in both cases.
        One that the experiment does not have is refused as soon as its arms are known, after the first decision. It gives the type of
        ``decision.arm``; so does an annotation, such as ``lb.Client[Literal["red", "blue"]]``.
    copy : float
        Seconds for which the copy is used once the service is away; 0 to play the control arm from the first moment.
    budget : float
        Seconds that a call may take, tries included.
    queue : int
        Rewards that may wait for the service; beyond it the oldest are dropped, and `dropped` counts them.
    transport : httpx.BaseTransport, optional
        How requests are sent, for tests.

    Examples
    --------
    >>> import latentbandits as lb
    >>> client = lb.Client("http://127.0.0.1:9", "a key", "offers", control="red", budget=0.02)  # nobody listens there
    >>> decision = client.ask(subject="visitor-7")
    >>> decision.arm, decision.by
    ('red', 'fallback')
    >>> client.tell(decision, 1.0)
    'fallback'
    >>> client.close()

    With a service it is used as an agent is:

    >>> from latentbandits.serve import served
    >>> with served("offers", arms=["red", "blue"], policy="ucb1") as (url, key):
    ...     with lb.Client(url, key, "offers", control="red", budget=5) as client:
    ...         decision = client.ask()
    ...         client.tell(decision, 0.5), client.tell(decision, 0.5), decision.by
    ('accepted', 'duplicate', 'policy')
    """

    _line = _Blocking

    def ask(
        self,
        context: Sequence[float] | np.ndarray | None = None,
        available: Iterable[Name] | None = None,
        subject: Name | None = None,
        *,
        key: str | None = None,
    ) -> Decision[ArmT]:
        """Return a decision: see `Agent.ask`, and `DurableAgent.ask` for `key`. A key is made if none is given."""
        given = {"context": context, "available": available, "subject": subject}
        return run(self._exchange.ask([given], key, single=True))[0]

    def ask_many(self, rounds: Iterable[Round], *, key: str | None = None) -> list[Decision[ArmT]]:
        """Return decisions for up to 1,000 rounds, in one request: each a mapping with what `ask` takes."""
        return run(self._exchange.ask(rounds, key))

    def tell(
        self, decision: Decision | str, rewards: Rewards, *, correct: bool = False, guard: float | None = None
    ) -> str:
        """Tell the rewards of a decision: "accepted", "duplicate", "late", "queued", or "fallback" for a decision that was made here.

        With `correct` they replace what was told before, which is "corrected"; a `guard` is for the guardrail: see `Agent.tell`.
        """
        return run(self._exchange.tell([(decision, rewards)], correct, guard))[0]

    def tell_many(self, told: Iterable[tuple[Decision | str, Rewards]]) -> list[str]:
        """Tell rewards of up to 1,000 decisions in one request; what is refused is "refused", and the others count."""
        return run(self._exchange.tell(told))

    def forget(self, decision: Decision | str) -> str:
        """End a decision whose rewards will never arrive, or that was never shown."""
        return run(self._exchange.forget(decision))

    def explain(self, decision: Decision | str) -> Explanation:
        """Return why a decision was made, however long ago: see `Agent.explain`."""
        return run(self._exchange.explain(decision))

    @property
    def belief(self) -> Belief:
        """What the policy believes about hidden states, as the service knows it now."""
        return run(self._exchange.belief())

    @property
    def stats(self) -> Stats:
        """What happened to the decisions so far."""
        return run(self._exchange.stats())

    def add(self, name: Name) -> None:
        """Add an arm, or bring a retired one back."""
        run(self._exchange.change("/arms", name))

    def retire(self, name: Name) -> None:
        """Never play an arm again, until `add` brings it back."""
        run(self._exchange.change("/arms/retire", name))

    def flush(self, seconds: float = 10.0) -> bool:
        """Send what waits, for so many seconds at most; return whether nothing waits any more."""
        return run(self._exchange.flush(seconds))

    def close(self, seconds: float = 1.0) -> None:
        """Send what waits, for so many seconds at most, and end."""
        run(self._exchange.close(seconds))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(_Client[ArmT]):
    """`Client` for event loops: the same parameters and verbs, to be awaited.

    Examples
    --------
    >>> import asyncio
    >>> import latentbandits as lb
    >>> async def main():
    ...     async with lb.AsyncClient("http://127.0.0.1:9", "a key", "offers", control="red", budget=0.02) as client:
    ...         decision = await client.ask(subject="visitor-7")
    ...         return decision.arm, decision.by, await client.tell(decision, 1.0)
    >>> asyncio.run(main())
    ('red', 'fallback', 'fallback')
    """

    _line = _Awaiting

    async def ask(
        self,
        context: Sequence[float] | np.ndarray | None = None,
        available: Iterable[Name] | None = None,
        subject: Name | None = None,
        *,
        key: str | None = None,
    ) -> Decision[ArmT]:
        """Return a decision: see `Client.ask`."""
        given = {"context": context, "available": available, "subject": subject}
        return (await self._exchange.ask([given], key, single=True))[0]

    async def ask_many(self, rounds: Iterable[Round], *, key: str | None = None) -> list[Decision[ArmT]]:
        """Return decisions for up to 1,000 rounds: see `Client.ask_many`."""
        return await self._exchange.ask(rounds, key)

    async def tell(
        self, decision: Decision | str, rewards: Rewards, *, correct: bool = False, guard: float | None = None
    ) -> str:
        """Tell the rewards of a decision: see `Client.tell`."""
        return (await self._exchange.tell([(decision, rewards)], correct, guard))[0]

    async def tell_many(self, told: Iterable[tuple[Decision | str, Rewards]]) -> list[str]:
        """Tell rewards of up to 1,000 decisions: see `Client.tell_many`."""
        return await self._exchange.tell(told)

    async def forget(self, decision: Decision | str) -> str:
        """End a decision: see `Client.forget`."""
        return await self._exchange.forget(decision)

    async def explain(self, decision: Decision | str) -> Explanation:
        """Return why a decision was made: see `Client.explain`."""
        return await self._exchange.explain(decision)

    @property
    def belief(self) -> Awaitable[Belief]:
        """What the policy believes: ``await client.belief``."""
        return self._exchange.belief()

    @property
    def stats(self) -> Awaitable[Stats]:
        """What happened to the decisions: ``await client.stats``."""
        return self._exchange.stats()

    async def add(self, name: Name) -> None:
        """Add an arm: see `Client.add`."""
        await self._exchange.change("/arms", name)

    async def retire(self, name: Name) -> None:
        """Retire an arm: see `Client.retire`."""
        await self._exchange.change("/arms/retire", name)

    async def flush(self, seconds: float = 10.0) -> bool:
        """Send what waits: see `Client.flush`."""
        return await self._exchange.flush(seconds)

    async def close(self, seconds: float = 1.0) -> None:
        """Send what waits, for so many seconds at most, and end."""
        await self._exchange.close(seconds)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

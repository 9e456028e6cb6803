"""The clients: `Client` waits, `AsyncClient` is awaited. What they do is written once, in `exchange`."""

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

import httpx
import numpy as np

from latentbandits.agent.decision import Decision, Name
from latentbandits.client.exchange import NEVER_SENT, REST, Exchange, Reply, Rewards, Round, parse_address
from latentbandits.settings import InvalidValueError

T = TypeVar("T")


class _Client:
    """What both clients say of themselves."""

    _exchange: Exchange

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


class _Blocking:
    """A line of threads. A forked process makes connections of its own."""

    def __init__(self, url: str, transport: httpx.BaseTransport | None) -> None:
        (self._base, self._path), self._transport = parse_address(url), transport
        self._process, self._http, self._lock = -1, None, threading.Lock()  # type: int, httpx.Client | None, threading.Lock

    async def post(self, path: str, content: bytes, headers: Mapping[str, str], seconds: float) -> Reply | None:
        try:
            reply = self._connected().post(path, content=content, headers=headers, timeout=seconds)
            return Reply(reply.status_code, reply.content, reply.headers.get("retry-after"))
        except (httpx.ConnectError, httpx.ConnectTimeout):
            return Reply(NEVER_SENT)
        except httpx.TransportError:
            return None

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def _connected(self) -> httpx.Client:
        with self._lock:
            if self._http is None or self._process != os.getpid():
                transport = self._transport or (httpx.HTTPTransport(uds=self._path) if self._path else None)
                self._http, self._process = httpx.Client(base_url=self._base, transport=transport), os.getpid()
            return self._http

    def close(self) -> None:
        if self._http is not None and self._process == os.getpid():
            self._http.close()


class Client(_Client):
    """An experiment of a service, with the verbs of an agent. Threads may share it, and forked processes.

    If the service does not answer within the budget, `ask` returns the control arm, marked by ``decision.by == "fallback"``; a reward for
    it is not sent. Rewards for the service's decisions that cannot be sent are queued, and sent when it is back.

    Parameters
    ----------
    url : str
        Where the service is: ``"http://127.0.0.1:8000"``, or ``"unix:/run/latentbandits.sock"`` for one that listens at a Unix socket.
    key : str
        A key with the roles decide and reward.
    experiment : str
        The experiment.
    control : str or int, optional
        The arm to play when the service does not answer; if not given, `ask` raises `ServiceTimeout` then.
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

    def __init__(
        self,
        url: str,
        key: str,
        experiment: str,
        *,
        control: Name | None = None,
        budget: float = 0.25,
        queue: int = 10_000,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._line = _Blocking(url, transport)
        self._exchange = Exchange(self._line, key, experiment, control, budget, queue)
        self._flushing, self._closed = threading.Lock(), threading.Event()
        self._sending: threading.Thread | None = None

    def ask(
        self,
        context: Sequence[float] | np.ndarray | None = None,
        available: Iterable[Name] | None = None,
        subject: Name | None = None,
        *,
        key: str | None = None,
        deferred: bool = False,
    ) -> Decision:
        """Return a decision: see `Agent.ask`, and `DurableAgent.ask` for `key` and `deferred`. A key is made if none is given."""
        given = {"context": context, "available": available, "subject": subject, "deferred": deferred}
        return self._call(self._exchange.ask([given], key, single=True))[0]

    def ask_many(self, rounds: Iterable[Round], *, key: str | None = None) -> list[Decision]:
        """Return decisions for up to 1,000 rounds, in one request: each a mapping with what `ask` takes."""
        return self._call(self._exchange.ask(rounds, key))

    def tell(self, decision: Decision | str, rewards: Rewards) -> str:
        """Tell the rewards of a decision: "accepted", "duplicate", "late", "queued", or "fallback" for a decision that was made here."""
        return self._call(self._exchange.tell([(decision, rewards)]))[0]

    def tell_many(self, told: Iterable[tuple[Decision | str, Rewards]]) -> list[str]:
        """Tell rewards of up to 1,000 decisions in one request; what is refused is "refused", and the others count."""
        return self._call(self._exchange.tell(told))

    def activate(self, decision: Decision | str) -> str:
        """Say that a deferred decision was shown."""
        return self._call(self._exchange.end("/activate", decision))

    def forget(self, decision: Decision | str) -> str:
        """End a decision whose rewards will never arrive."""
        return self._call(self._exchange.end("/censor", decision))

    def flush(self, seconds: float = 10.0) -> bool:
        """Send what waits, for so many seconds at most; return whether nothing waits any more."""
        with self._flushing:
            return self._run(self._exchange.flush(seconds))

    def close(self, seconds: float = 1.0) -> None:
        """Send what waits, for so many seconds at most, and end."""
        if self._exchange.pending and not self._closed.is_set():
            self.flush(seconds)
        self._closed.set()
        self._line.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, work: Coroutine[None, None, T]) -> T:
        """Return what a coroutine returns, and see to it that what is queued will be sent."""
        result = self._run(work)
        if self._exchange.pending and (self._sending is None or not self._sending.is_alive()):
            self._sending = threading.Thread(target=self._keep_sending, name="latentbandits-client", daemon=True)
            self._sending.start()
        return result

    def _run(self, work: Coroutine[None, None, T]) -> T:
        """Return what a coroutine returns: it waits by blocking, so that one step is all of it."""
        if self._closed.is_set():
            work.close()
            raise _closed()
        try:
            work.send(None)
        except StopIteration as end:
            result: T = end.value
            return result
        raise RuntimeError("Client: a blocking call has waited for an event loop")

    def _keep_sending(self) -> None:
        while self._exchange.pending and not self._closed.wait(REST):
            with contextlib.suppress(InvalidValueError):  # closed meanwhile
                self.flush(self._exchange.budget)


class _Awaiting:
    """A line of an event loop."""

    def __init__(self, url: str, transport: httpx.AsyncBaseTransport | None) -> None:
        base, path = parse_address(url)
        if transport is None and path:
            transport = httpx.AsyncHTTPTransport(uds=path)
        self.http = httpx.AsyncClient(base_url=base, transport=transport)

    async def post(self, path: str, content: bytes, headers: Mapping[str, str], seconds: float) -> Reply | None:
        try:
            async with asyncio.timeout(seconds):
                reply = await self.http.post(path, content=content, headers=headers)
            return Reply(reply.status_code, reply.content, reply.headers.get("retry-after"))
        except (httpx.ConnectError, httpx.ConnectTimeout):
            return Reply(NEVER_SENT)
        except (httpx.TransportError, TimeoutError):
            return None

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class AsyncClient(_Client):
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

    def __init__(
        self,
        url: str,
        key: str,
        experiment: str,
        *,
        control: Name | None = None,
        budget: float = 0.25,
        queue: int = 10_000,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._line = _Awaiting(url, transport)
        self._exchange = Exchange(self._line, key, experiment, control, budget, queue)
        self._flushing = asyncio.Lock()
        self._sending: asyncio.Task[None] | None = None

    async def ask(
        self,
        context: Sequence[float] | np.ndarray | None = None,
        available: Iterable[Name] | None = None,
        subject: Name | None = None,
        *,
        key: str | None = None,
        deferred: bool = False,
    ) -> Decision:
        """Return a decision: see `Client.ask`."""
        given = {"context": context, "available": available, "subject": subject, "deferred": deferred}
        return (await self._call(self._exchange.ask([given], key, single=True)))[0]

    async def ask_many(self, rounds: Iterable[Round], *, key: str | None = None) -> list[Decision]:
        """Return decisions for up to 1,000 rounds: see `Client.ask_many`."""
        return await self._call(self._exchange.ask(rounds, key))

    async def tell(self, decision: Decision | str, rewards: Rewards) -> str:
        """Tell the rewards of a decision: see `Client.tell`."""
        return (await self._call(self._exchange.tell([(decision, rewards)])))[0]

    async def tell_many(self, told: Iterable[tuple[Decision | str, Rewards]]) -> list[str]:
        """Tell rewards of up to 1,000 decisions: see `Client.tell_many`."""
        return await self._call(self._exchange.tell(told))

    async def activate(self, decision: Decision | str) -> str:
        """Say that a deferred decision was shown."""
        return await self._call(self._exchange.end("/activate", decision))

    async def forget(self, decision: Decision | str) -> str:
        """End a decision whose rewards will never arrive."""
        return await self._call(self._exchange.end("/censor", decision))

    async def flush(self, seconds: float = 10.0) -> bool:
        """Send what waits, for so many seconds at most; return whether nothing waits any more."""
        if self._line.http.is_closed:
            raise _closed()
        async with self._flushing:
            return await self._exchange.flush(seconds)

    async def close(self, seconds: float = 1.0) -> None:
        """Send what waits, for so many seconds at most, and end."""
        if self._sending is not None:
            self._sending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sending
        if self._exchange.pending and not self._line.http.is_closed:
            await self.flush(seconds)
        await self._line.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _call(self, work: Coroutine[None, None, T]) -> T:
        """Return what a coroutine returns, and see to it that what is queued will be sent."""
        if self._line.http.is_closed:
            work.close()
            raise _closed()
        result = await work
        if self._exchange.pending and (self._sending is None or self._sending.done()):
            self._sending = asyncio.create_task(self._keep_sending())
        return result

    async def _keep_sending(self) -> None:
        while self._exchange.pending:
            await asyncio.sleep(REST)
            await self.flush(self._exchange.budget)


def _closed() -> InvalidValueError:
    return InvalidValueError("Client", "client", "closed", "open (make another one)")

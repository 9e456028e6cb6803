"""The client for event loops."""

import asyncio
import contextlib
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx
import numpy as np

from latentbandits.agent.decision import Decision, Name
from latentbandits.client.blocking import address, refuse_closed
from latentbandits.client.exchange import NEVER_SENT, REST, Exchange, Reply, Send, Steps, as_round


class AsyncClient:
    """`Client` for event loops: the same parameters and verbs, to be awaited.

    Examples
    --------
    >>> import asyncio
    >>> import latentbandits as lb
    >>> async def main():
    ...     async with lb.AsyncClient("http://127.0.0.1:9", "a key", "offers", control="red", budget=0.02) as client:
    ...         decision = await client.ask(unit="visitor-7")
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
        self._exchange = Exchange(key, experiment, control, budget, queue)
        base, path = address(url)
        if transport is None and path:
            transport = httpx.AsyncHTTPTransport(uds=path)
        self._http = httpx.AsyncClient(base_url=base, transport=transport)
        self._sending: asyncio.Task[None] | None = None
        self._flushing = asyncio.Lock()

    async def ask(
        self,
        context: Sequence[float] | np.ndarray | None = None,
        available: Iterable[Name] | None = None,
        unit: Name | None = None,
        *,
        key: str | None = None,
        deferred: bool = False,
    ) -> Decision:
        """Return a decision: see `Client.ask`."""
        found = await self._take(self._exchange.ask([as_round(context, available, unit, deferred)], key, True))
        decision: Decision = found[0]
        return decision

    async def ask_many(self, rounds: Iterable[Mapping[str, Any]], *, key: str | None = None) -> list[Decision]:
        """Return decisions for up to 1,000 rounds: see `Client.ask_many`."""
        wanted = [as_round(**{"context": None, "available": None, "unit": None, **one}) for one in rounds]
        found: list[Decision] = await self._take(self._exchange.ask(wanted, key, False))
        return found

    async def tell(self, decision: Decision | str, rewards: float | Sequence[float] | np.ndarray) -> str:
        """Tell the rewards of a decision: see `Client.tell`."""
        found = await self._take(self._exchange.tell([(decision, rewards)]))
        return str(found[0])

    async def tell_many(self, told: Iterable[tuple[Decision | str, float | Sequence[float]]]) -> list[str]:
        """Tell rewards of up to 1,000 decisions: see `Client.tell_many`."""
        found: list[str] = await self._take(self._exchange.tell(list(told)))
        return found

    async def activate(self, decision: Decision | str) -> str:
        """Say that a deferred decision was shown."""
        return str(await self._take(self._exchange.plain("/activate", decision)))

    async def forget(self, decision: Decision | str) -> str:
        """End a decision whose rewards will never arrive."""
        return str(await self._take(self._exchange.plain("/censor", decision)))

    @property
    def pending(self) -> int:
        """What waits for the service."""
        return len(self._exchange.pending)

    @property
    def dropped(self) -> int:
        """What was dropped, since too much waited."""
        return self._exchange.dropped

    @property
    def fallbacks(self) -> int:
        """Decisions that were made here."""
        return self._exchange.fallbacks

    async def flush(self, seconds: float = 10.0) -> bool:
        """Send what waits, for so many seconds at most; return whether nothing waits any more."""
        refuse_closed(self._http.is_closed)
        async with self._flushing:
            return bool(await self._driven(self._exchange.flush(seconds)))

    async def close(self, seconds: float = 1.0) -> None:
        """Send what waits, for so many seconds at most, and end."""
        if self._sending is not None:
            self._sending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._sending
        if self._exchange.pending and not self._http.is_closed:
            await self.flush(seconds)
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _take(self, steps: Steps) -> Any:
        refuse_closed(self._http.is_closed)
        found = await self._driven(steps)
        if self._exchange.pending and (self._sending is None or self._sending.done()):
            self._sending = asyncio.create_task(self._keep_sending())
        return found

    async def _driven(self, steps: Steps) -> Any:
        answer: Reply | None = None
        try:
            while True:
                step = steps.send(answer)
                if isinstance(step, Send):
                    answer = await self._sent(step)
                else:
                    await asyncio.sleep(step.seconds)
                    answer = None
        except StopIteration as end:
            return end.value

    async def _sent(self, step: Send) -> Reply | None:
        try:
            async with asyncio.timeout(step.seconds):
                reply = await self._http.post(step.path, content=step.body, headers=step.headers)
            return Reply(reply.status_code, reply.content, reply.headers.get("retry-after"))
        except (httpx.ConnectError, httpx.ConnectTimeout):
            return Reply(NEVER_SENT, b"", None)
        except (httpx.TransportError, TimeoutError):
            return None

    async def _keep_sending(self) -> None:
        while self._exchange.pending:
            await asyncio.sleep(REST)
            async with self._flushing:
                await self._driven(self._exchange.flush(self._exchange.budget))

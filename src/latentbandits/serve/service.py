"""A service: the ledger on its thread, the keys, the counters, and what must be done once a second."""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from latentbandits.serve.access import Access
from latentbandits.serve.alerts import Alerts, watch
from latentbandits.serve.history import Past
from latentbandits.serve.logs import flush
from latentbandits.serve.replicas import Replicas
from latentbandits.serve.settings import Settings
from latentbandits.serve.writer import Writer
from latentbandits.store import Expire, FencedError, Ledger, Reads, Storage, StoreUnavailableError, View
from latentbandits.store.clock import JUMP_US, Clock
from latentbandits.store.erase import Erased, erase
from latentbandits.store.requests import Request

T = TypeVar("T")
Task = Callable[["Service"], Awaitable[None]]
log = logging.getLogger("latentbandits.serve")
BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
PROBED, RECENT = 1.0, 10.0  # seconds between two looks at the store, and for which a failure counts
KEPT = 2000  # durations of decisions from which pages compute quantiles


class Service:
    """What all endpoints share.

    Parameters
    ----------
    storage : Storage
    settings : Settings, optional
    clock : callable, optional
        Microseconds since 1970, for tests.

    Attributes
    ----------
    writer, access, alerts, meters, past, settings : see there
    reads : what pages read with
    ready : whether all experiments are open
    unopened : experiments that could not be opened, and why
    stopping : whether the service stops
    replicas : the other processes of a store that is shared, None of one that is not
    """

    def __init__(
        self, storage: Storage, settings: Settings | None = None, clock: Callable[[], int] | None = None
    ) -> None:
        self.settings = settings or Settings()
        self.alerts = Alerts(self)
        self._ledger = Ledger(storage, clock, compiled=None if self.settings.compiled else False)
        self.storage, self.reads = storage, storage.reader()
        self.writer = Writer(self._ledger, self.settings.waiting)
        self.access, self.meters, self.past = Access(self.now_us), Meters(), Past()
        self.access.replace(self.reads.keys())
        self.ready, self.unopened, self.stopping = False, dict[str, str](), False
        self._probe: tuple[asyncio.Future[None], float] | None = None
        self.replicas = Replicas(self.writer, self.settings) if storage.shared else None
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="latentbandits-reader")

    def now_us(self) -> int:
        """Return the time."""
        return self._ledger.clock()

    @property
    def clock_behind_us(self) -> int:
        """How far the time that the store goes by is behind the system's clock, since that has jumped."""
        clock = self._ledger.clock
        return clock.behind_us if isinstance(clock, Clock) else 0

    @contextlib.asynccontextmanager
    async def running(self, *also: Task) -> AsyncIterator[None]:
        """Begin, and at the end do what was accepted, keep snapshots, and give the store back.

        Experiments are opened while the service already answers that it lives.
        """
        self.writer.start()
        tasks = [asyncio.ensure_future(work(self)) for work in (_open_all, _keep_house, watch, *also)]
        try:
            yield
        finally:
            self.stopping = True
            for task in tasks:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            await self.writer.stop()
            if self.replicas is not None:
                await self.replicas.close()
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._ledger.close()
            flush(stopping=True)
            log.info("stopped")

    async def hand_over(self) -> None:
        """Give experiments back while requests are still heard: what comes from here on is sent on to whoever takes them."""
        self.stopping = True
        if self.replicas is not None:
            released = self.writer.look(lambda ledger: ledger.release())
            self.replicas.leave()
            await released

    async def do(self, request: Request) -> Any:
        """Return the answer to a request, once it is on disk, or raise why not."""
        answer = (await self.writer.run((request,)))[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def view(self, name: str) -> View:
        """Return an experiment as it is now."""
        return await self.writer.look(lambda ledger: ledger.view(name))

    async def read(self, question: Callable[[Reads], T]) -> T:
        """Return what a function reads, on a thread that may wait."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, question, self.reads)

    async def probe(self) -> None:
        """Raise if the store cannot be written, or if the writer does not answer. All who ask within a second hear the same."""
        if self._probe is None or (self._probe[0].done() and time.monotonic() >= self._probe[1]):
            patience = asyncio.wait_for(self.writer.look(lambda ledger: ledger.probe()), self.settings.lease)
            self._probe = asyncio.ensure_future(patience), time.monotonic() + PROBED
        try:
            await asyncio.shield(self._probe[0])
        except TimeoutError:
            text = f"serve: the store has not answered for {self.settings.lease:g} seconds"
            raise StoreUnavailableError(text) from None

    @property
    def failed(self) -> dict[str, str]:
        """Experiments that could not be opened, or decide, within the last seconds, and why."""
        since = time.monotonic() - RECENT
        failing = list(self._ledger.failing.items())  # of another thread
        return self.unopened | {name: text for name, (at, text) in failing if at >= since}

    async def erase(self, name: str, subject: str, actor: str | None) -> Erased:
        """Forget a subject, on a thread that may wait."""
        work = partial(erase, self._ledger, self.reads, name, subject, actor)
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    async def change_keys(self, change: Callable[[Storage], T]) -> T:
        """Change keys, on the writer's thread, and know them at once."""
        result = await self.writer.look(lambda ledger: change(ledger.storage))
        self.access.replace(await self.read(lambda reads: reads.keys()))
        return result


async def _open_all(service: Service) -> None:
    """Make every experiment ready that is not archived; one that cannot be does not keep the others from working."""
    began = time.perf_counter()
    rows = await service.read(lambda reads: reads.experiments())
    for row in rows:
        if row.status == "archived":
            continue
        try:
            last = await service.writer.look(lambda ledger, name=row.name: _opened(ledger, name))  # type: ignore[misc]
            ahead = (last - service.now_us()) / 1e6
            if ahead > JUMP_US / 1e6:
                log.error("log is ahead of the clock", extra={"experiment": row.name, "seconds": round(ahead, 3)})
        except FencedError:  # another replica has it
            continue
        except Exception as problem:  # a damaged log, a policy from elsewhere, no memory
            service.unopened[row.name] = str(problem)
            log.error("not opened", extra={"experiment": row.name, "error": str(problem)})
    service.ready = True
    log.info("ready", extra={"experiments": len(rows), "seconds": round(time.perf_counter() - began, 3)})


def _opened(ledger: Ledger, name: str) -> int:
    """Open an experiment, and return the time of its last event."""
    ledger.open(name)
    return ledger.state(name, lambda state: state.last_us)


async def _keep_house(service: Service) -> None:
    """Now and then: end decisions whose window is over, hold what is held, and look for keys that others have made or revoked."""
    every, told = min(1.0, service.settings.lease / 4), 0
    while True:
        await asyncio.sleep(every)
        flush()
        behind = service.clock_behind_us
        if abs(behind - told) >= JUMP_US:  # else the time approaches the clock
            log.error(
                "the system's clock has jumped; it is approached by a second in ten", extra={"seconds": behind / 1e6}
            )
        told = behind
        try:
            await service.writer.look(expire)
            await service.writer.look(lambda ledger: ledger.renew())
            service.access.replace(await service.read(lambda reads: reads.keys()))
        except Exception as problem:  # it must go on, whatever it was
            log.error("housekeeping failed", extra={"error": str(problem)})


def expire(ledger: Ledger) -> None:
    """End the decisions whose window is over."""
    ended: list[Request] = [Expire(name) for name in ledger.due()]
    if ended:
        ledger.run(ended)


class Meters:
    """All counters of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        counter = Counter(
            "latentbandits_requests", "Answers by endpoint and status", ("endpoint", "status"), registry=self._registry
        )
        times = Histogram(
            "latentbandits_seconds", "Seconds to an answer", ("endpoint",), registry=self._registry, buckets=BUCKETS
        )
        self._metrics = cache(lambda endpoint, status: (counter.labels(endpoint, status), times.labels(endpoint)))
        self._decisions: deque[float] = deque(maxlen=KEPT)

    def note(self, endpoint: str, status: int, seconds: float) -> None:
        """Count an answer."""
        count, times = self._metrics(endpoint, status)
        count.inc()
        times.observe(seconds)
        if endpoint == "decide":
            self._decisions.append(seconds)

    def text(self, numbers: Iterable[Metric]) -> bytes:
        """Return everything in the format of Prometheus, with some numbers that are as they are now."""
        now = CollectorRegistry()
        now.register(_Now(list(numbers)))
        return generate_latest(self._registry) + generate_latest(now)

    @property
    def p99_ms(self) -> float | None:
        """The 99th percentile of the last decisions, in milliseconds."""
        seconds = sorted(self._decisions)
        return 1000 * seconds[int(0.99 * (len(seconds) - 1))] if seconds else None


class _Now(Collector):
    """Numbers as they are now."""

    def __init__(self, numbers: list[Metric]) -> None:
        self._numbers = numbers

    def collect(self) -> list[Metric]:
        """Return them."""
        return self._numbers

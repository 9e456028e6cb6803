"""A service: the ledger on its thread, the keys, the counters, and what must be done once a second."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from latentbandits.serve.access import Access
from latentbandits.serve.history import Past
from latentbandits.serve.journal import Journal
from latentbandits.serve.meters import Meters
from latentbandits.serve.problems import raised
from latentbandits.serve.replicas import Replicas
from latentbandits.serve.settings import Settings
from latentbandits.serve.writer import Writer
from latentbandits.store import Expire, Fenced, Ledger, Reads, Storage, Unavailable, View

T = TypeVar("T")


class Service:
    """What all endpoints share.

    Parameters
    ----------
    storage : Storage
    settings : Settings, optional
    journal : Journal, optional
    clock : callable, optional
        Microseconds since 1970, for tests.

    Attributes
    ----------
    writer, access, meters, past, journal, settings : see there
    reads : what pages read with
    ready : whether all experiments are open
    failed : experiments that could not be opened, and why
    stopping : set when the service stops: live views end
    replicas : the other processes of a store that is shared, None of one that is not
    """

    def __init__(
        self,
        storage: Storage,
        settings: Settings | None = None,
        journal: Journal | None = None,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self.settings, self.journal = settings or Settings(), journal or Journal()
        self._ledger = Ledger(storage, clock, compiled=None if self.settings.compiled else False)
        self._clock = clock or _now
        self.storage, self.reads = storage, storage.reader()
        self.writer = _writer(self.settings)(self._ledger, self.settings.waiting)
        self.access, self.meters, self.past = Access(self.settings.rate), Meters(), Past()
        self.access.replace(self.reads.keys())
        self.ready, self.failed, self.streams = False, dict[str, str](), 0
        self.stopping = asyncio.Event()
        self.replicas = Replicas(self.writer, self.settings, self.journal, self.stopping) if storage.shared else None
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="latentbandits-reader")
        self._tasks: list[asyncio.Task[None]] = []

    def now_us(self) -> int:
        """Return the time."""
        return self._clock()

    async def start(self, *also: Callable[["Service"], Any]) -> None:
        """Begin: experiments are opened while the service already answers that it lives."""
        self.writer.start()
        for work in (_opened, _housekeeping, *also):
            self._tasks.append(asyncio.create_task(work(self)))

    async def stop(self) -> None:
        """Do what was accepted, keep snapshots, and give the store back."""
        self.stopping.set()
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await self.writer.stop()
        if self.replicas is not None:
            await self.replicas.close()
        self._pool.shutdown()
        self._ledger.close()
        self.journal.note("stopped")

    async def do(self, request: Any, weight: int = 1) -> Any:
        """Return the answer to a request, once it is on disk, or raise why not."""
        return raised((await self.writer.run((request,), weight))[0])

    async def view(self, name: str) -> View:
        """Return an experiment as it is now."""
        found: View = await self.writer.look(lambda ledger: ledger.view(name))
        return found

    async def read(self, question: Callable[[Reads], T]) -> T:
        """Return what a function reads, on a thread that may wait."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, question, self.reads)

    async def change_keys(self, change: Callable[[Storage], T]) -> T:
        """Change keys, on the writer's thread, and know them at once."""
        found: T = await self.writer.look(lambda ledger: change(ledger.storage))
        self.access.replace(await self.read(lambda reads: reads.keys()))
        return found


async def _opened(service: Service) -> None:
    """Make every experiment ready that is not archived; one that cannot be does not keep the others from working."""
    began = time.perf_counter()
    rows = await service.read(lambda reads: reads.experiments())
    for row in rows:
        if row.status == "archived":
            continue
        try:
            await service.writer.look(lambda ledger, name=row.name: ledger.open(name))  # type: ignore[misc]
        except Fenced:  # another replica has it
            continue
        except Exception as problem:  # a damaged log, a policy from elsewhere, no memory
            service.failed[row.name] = str(problem)
            service.journal.note("not opened", experiment=row.name, error=str(problem))
    service.ready = True
    service.journal.note("ready", experiments=len(rows), seconds=round(time.perf_counter() - began, 3))
    for row in rows:  # a long past is added up now, so that nobody who opens the page waits for it
        with contextlib.suppress(Unavailable):
            await service.read(lambda reads, number=row.id: service.past.gains(reads, number, 0, {}))  # type: ignore[misc]


async def _housekeeping(service: Service) -> None:
    """Now and then: end decisions whose window is over, hold what is held, and look for keys that others have made or revoked."""
    every = min(1.0, service.settings.lease / 4)
    while True:
        await asyncio.sleep(every)
        try:
            await service.writer.look(expire)
            await service.writer.look(lambda ledger: ledger.renew())
            service.access.replace(await service.read(lambda reads: reads.keys()))
        except Exception as problem:  # it must go on, whatever it was
            service.journal.note("housekeeping failed", error=str(problem))


def expire(ledger: Ledger) -> None:
    """End the decisions whose window is over."""
    ended = [Expire(name) for name in ledger.due()]
    if ended:
        ledger.run(ended)


def _writer(settings: Settings) -> type[Writer]:
    """Return the kind of writer that the settings ask for."""
    if not settings.spans:
        return Writer
    from latentbandits.serve.spans import TimedWriter

    return TimedWriter


def _now() -> int:
    return time.time_ns() // 1000

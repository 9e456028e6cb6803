"""The one thread that answers what waits for the ledger: requests of an event loop go in, futures come out.

What comes in one turn of the event loop is handed over together: a thread that is woken for each request takes the loop's turns away.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from starlette.exceptions import HTTPException

from latentbandits.store import Ledger
from latentbandits.store.requests import Request, Ticket

T = TypeVar("T")


class Writer:
    """Answers requests of an event loop on a thread of its own.

    Parameters
    ----------
    ledger : Ledger
    most : int
        Tickets that may wait; beyond it they are refused with 503.

    Attributes
    ----------
    waiting : tickets that wait
    groups, stored : groups that were run, and requests in them
    """

    def __init__(self, ledger: Ledger, most: int) -> None:
        self._ledger, self._most = ledger, most
        self._coming: list[tuple[Ticket, asyncio.Future[Any]]] = []
        self._futures: dict[Ticket, asyncio.Future[Any]] = {}
        self._wake: queue.SimpleQueue[bool] = queue.SimpleQueue()  # True: something waits; False: nothing will any more
        self._thread = threading.Thread(target=self._work, name="latentbandits-writer", daemon=True)
        self.waiting = self.groups = self.stored = 0

    def start(self) -> None:
        """Begin, for the event loop that runs now."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Do what was accepted, then end."""
        self._hand_over()
        self._wake.put(False)
        await asyncio.to_thread(self._thread.join)

    def run(self, requests: Sequence[Request]) -> "asyncio.Future[list[object]]":
        """Return the future answers to requests, in one transaction: each an answer, or the exception that says why not."""
        return self._put(Ticket(requests, deliver=self._answered))

    def look(self, look: Callable[[Ledger], T]) -> "asyncio.Future[T]":
        """Return what a function will find in the ledger, between two groups."""
        return self._put(Ticket((), look, self._answered))

    def _put(self, ticket: Ticket) -> "asyncio.Future[Any]":
        if self.waiting >= self._most:
            raise HTTPException(503, f"serve: {self.waiting} requests wait already; try again", {"retry-after": "1"})
        future = self._loop.create_future()
        self.waiting += 1
        if not self._coming:
            self._loop.call_soon(self._hand_over)
        self._coming.append((ticket, future))
        return future

    def _hand_over(self) -> None:
        """Let the thread have what has come in this turn."""
        for ticket, future in self._coming:
            self._futures[ticket] = future
            self._ledger.waiting.append(ticket)
        if self._coming:
            self._wake.put(True)
            self._coming = []

    def _work(self) -> None:
        """Answer what waits, as long as there is something or will be."""
        more = True
        while more:
            more = self._wake.get()
            while self._ledger.waiting:
                self._ledger.work()

    def _answered(self, group: list[Ticket]) -> None:
        """Have answers delivered by the event loop, whoever has answered: this thread, or one that calls the ledger itself."""
        self._loop.call_soon_threadsafe(self._deliver, group)

    def _deliver(self, group: list[Ticket]) -> None:
        """Hand answers to those who wait, unless they are gone, on their own thread."""
        stored = sum(len(ticket.requests) for ticket in group)
        self.waiting -= len(group)
        self.groups += stored > 0
        self.stored += stored
        for ticket in group:
            future = self._futures.pop(ticket)
            if future.done():
                continue
            if isinstance(ticket.answer, Exception):
                future.set_exception(ticket.answer)
            else:
                future.set_result(ticket.answer)

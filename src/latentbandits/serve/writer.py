"""The one thread that uses the ledger. Whoever comes while it writes is in the next group: no timer, and one `fsync` for all of them.

What comes in one turn of the event loop is handed over together: a thread that is woken for each request takes the loop's turns away.
"""

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from latentbandits.serve.problems import Failure
from latentbandits.store import Ledger, Unavailable

GROUP = 2000  # decisions and rewards in one transaction, about: a large group makes others wait


class _Ticket(NamedTuple):
    """Something to do, and who waits for it: requests for the ledger, or a look at it."""

    requests: Sequence[Any]
    look: Callable[[Ledger], Any] | None
    weight: int
    future: "asyncio.Future[Any]"


class Writer:
    """Answers requests of an event loop on a thread of its own.

    Parameters
    ----------
    ledger : Ledger
    most : int
        Requests that may wait; beyond it they are refused with 503.

    Attributes
    ----------
    waiting : requests that wait
    groups, stored : groups that were run, and requests in them
    """

    def __init__(self, ledger: Ledger, most: int) -> None:
        self._ledger, self._most = ledger, most
        self._queue: queue.SimpleQueue[list[_Ticket] | None] = queue.SimpleQueue()
        self._coming: list[_Ticket] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="latentbandits-writer", daemon=True)
        self.waiting = self.groups = self.stored = 0

    def start(self) -> None:
        """Begin, for the event loop that runs now."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Do what was accepted, then end."""
        self._hand_over()
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def run(self, requests: Sequence[Any], weight: int = 1) -> "asyncio.Future[list[Any]]":
        """Return the future answers to requests, in one transaction: each an answer, or the exception that says why not."""
        return self._put(requests, None, weight)

    def look(self, look: Callable[[Ledger], Any]) -> "asyncio.Future[Any]":
        """Return what a function will find in the ledger, between two groups."""
        return self._put((), look, 0)

    def _put(self, requests: Sequence[Any], look: Any, weight: int) -> "asyncio.Future[Any]":
        assert self._loop is not None
        if self.waiting >= self._most:
            raise Failure(503, f"serve: {self.waiting} requests wait already; try again", retry_after="1")
        future = self._loop.create_future()
        self.waiting += 1
        if not self._coming:
            self._loop.call_soon(self._hand_over)
        self._coming.append(_Ticket(requests, look, weight, future))
        return future

    def _hand_over(self) -> None:
        """Let the thread have what has come in this turn."""
        if self._coming:
            self._queue.put(self._coming)
            self._coming = []

    def _work(self) -> None:
        waiting: deque[_Ticket] = deque()
        ended = False
        while waiting or not ended:
            try:
                while not ended:
                    came = self._queue.get(block=not waiting)
                    ended = came is None
                    waiting.extend(came or ())
            except queue.Empty:
                pass
            group: list[_Ticket] = []
            weight = 0
            while waiting and weight < GROUP:
                group.append(waiting.popleft())
                weight += group[-1].weight
            answers = self._answers(group)
            assert self._loop is not None
            self._loop.call_soon_threadsafe(self._deliver, group, answers)

    def _answers(self, group: list[_Ticket]) -> list[Any]:
        """Return the answers to all tickets of a group; whatever happens, everybody has one."""
        wanted = [request for ticket in group for request in ticket.requests]
        found: list[Any] = []
        if wanted:
            try:
                found = self._ledger.run(wanted)
                self.groups += 1
                self.stored += len(wanted)
            except Exception as problem:
                failure = Unavailable(f"serve: the group of this request failed ({type(problem).__name__}: {problem})")
                failure.__cause__ = problem
                found = [failure] * len(wanted)
        answers: list[Any] = []
        place = 0
        for ticket in group:
            if ticket.look is None:
                answers.append(found[place : place + len(ticket.requests)])
                place += len(ticket.requests)
                continue
            try:
                answers.append(ticket.look(self._ledger))
            except Exception as problem:
                answers.append(problem)
        return answers

    def _deliver(self, group: list[_Ticket], answers: list[Any]) -> None:
        """Hand answers to those who wait, on their own thread."""
        self.waiting -= len(group)
        for ticket, answer in zip(group, answers, strict=True):
            if ticket.future.done():  # whoever asked is gone
                continue
            if isinstance(answer, Exception):
                ticket.future.set_exception(answer)
            else:
                ticket.future.set_result(answer)

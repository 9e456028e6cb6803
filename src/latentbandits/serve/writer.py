"""The one thread that uses the ledger: a queue in, futures out. All that came while it wrote is one call of `Ledger.run`.

What comes in one turn of the event loop is handed over together: a thread that is woken for each request takes the loop's turns away.
"""

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.exceptions import HTTPException

from latentbandits.store import Ledger, StoreUnavailableError
from latentbandits.store.requests import Request

GROUP = 2000  # decisions and rewards in one transaction, about: a large one makes others wait
T = TypeVar("T")


@dataclass(slots=True)
class _Job:
    """Requests for the ledger or a look at it, and who waits for the answer."""

    requests: Sequence[Request]
    look: Callable[[Ledger], object] | None
    weight: int
    future: "asyncio.Future[Any]"
    answer: object = None

    def deliver(self) -> None:
        """Hand the answer to whoever waits, unless they are gone."""
        if self.future.done():
            return
        if isinstance(self.answer, Exception):
            self.future.set_exception(self.answer)
        else:
            self.future.set_result(self.answer)


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
        self._queue: queue.SimpleQueue[list[_Job]] = queue.SimpleQueue()
        self._coming: list[_Job] = []
        self._thread = threading.Thread(target=self._work, name="latentbandits-writer", daemon=True)
        self.waiting = self.groups = self.stored = 0

    def start(self) -> None:
        """Begin, for the event loop that runs now."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Do what was accepted, then end."""
        self._hand_over()
        self._queue.put([])
        await asyncio.to_thread(self._thread.join)

    def run(self, requests: Sequence[Request], weight: int = 1) -> "asyncio.Future[list[object]]":
        """Return the future answers to requests, in one transaction: each an answer, or the exception that says why not."""
        return self._put(requests, None, weight)

    def look(self, look: Callable[[Ledger], T]) -> "asyncio.Future[T]":
        """Return what a function will find in the ledger, between two groups."""
        return self._put((), look, 0)

    def _put(
        self, requests: Sequence[Request], look: Callable[[Ledger], object] | None, weight: int
    ) -> "asyncio.Future[Any]":
        if self.waiting >= self._most:
            raise HTTPException(503, f"serve: {self.waiting} requests wait already; try again", {"retry-after": "1"})
        future = self._loop.create_future()
        self.waiting += 1
        if not self._coming:
            self._loop.call_soon(self._hand_over)
        self._coming.append(_Job(requests, look, weight, future))
        return future

    def _hand_over(self) -> None:
        """Let the thread have what has come in this turn."""
        if self._coming:
            self._queue.put(self._coming)
            self._coming = []

    def _work(self) -> None:
        """Take what waits, answer it, and begin again, until there is a hand-over of nothing."""
        waiting: deque[_Job] = deque()
        ended = False
        while waiting or not ended:
            while not ended and (not waiting or not self._queue.empty()):
                jobs = self._queue.get()
                ended = not jobs
                waiting.extend(jobs)
            group: list[_Job] = []
            weight = 0
            while waiting and weight < GROUP:
                group.append(waiting.popleft())
                weight += group[-1].weight
            self._answer(group)
            self._loop.call_soon_threadsafe(self._deliver, group)

    def _answer(self, group: list[_Job]) -> None:
        """Answer all jobs of a group; whatever happens, everybody has an answer."""
        requests = [request for job in group for request in job.requests]
        answers = iter(self._run(requests) if requests else ())
        for job in group:
            if job.look is None:
                job.answer = [next(answers) for _ in job.requests]
                continue
            try:
                job.answer = job.look(self._ledger)
            except Exception as problem:
                job.answer = problem

    def _run(self, requests: Sequence[Request]) -> Sequence[object]:
        try:
            answers = self._ledger.run(requests)
        except Exception as problem:
            failure = StoreUnavailableError(
                f"serve: the group of this request failed ({type(problem).__name__}: {problem})"
            )
            failure.__cause__ = problem
            return [failure] * len(requests)
        self.groups += 1
        self.stored += len(requests)
        return answers

    def _deliver(self, group: list[_Job]) -> None:
        """Hand answers to those who wait, on their own thread."""
        self.waiting -= len(group)
        for job in group:
            job.deliver()

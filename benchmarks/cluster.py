"""A model of scaling: one program that sends blocks, many workers that play them, event by event.

The sender does one thing at a time: it sends a block, takes a result and keeps it. A worker plays its block and has the next one waiting,
as in `latentbandits.simulation.spread`. What a block costs beside its work was measured on this machine; nothing else enters.
"""

import heapq
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from latentbandits.simulation.spread import AHEAD, LEAST, SECONDS


class Costs(NamedTuple):
    """What a block costs beside its work, in seconds.

    Attributes
    ----------
    sender : of the sender, which does one thing at a time: sending, taking, and keeping the result
    worker : of the worker: receiving, unpacking, answering
    """

    sender: float
    worker: float


def sized(total: float, workers: int, seconds: float = SECONDS) -> Iterator[float]:
    """Yield the work of each block, as `spread` sizes them: smaller ones at the end."""
    while total > 1e-9:
        block = min(total, seconds, max(LEAST, total / (AHEAD * workers)))
        total -= block
        yield block


def played(blocks: Iterable[float], workers: int, costs: Costs) -> float:
    """Return the seconds that blocks take, in their order."""
    waiting = iter(blocks)
    clock = 0.0  # of the sender
    free = [0.0] * workers
    results: list[tuple[float, int]] = []  # when each arrives, and from whom

    def send(worker: int) -> None:
        nonlocal clock
        block = next(waiting, None)
        if block is not None:
            clock += costs.sender / 2
            free[worker] = max(clock, free[worker]) + costs.worker + block
            heapq.heappush(results, (free[worker], worker))

    for _ in range(AHEAD):
        for worker in range(workers):
            send(worker)
    while results:
        arrived, worker = heapq.heappop(results)
        clock = max(clock, arrived) + costs.sender / 2
        send(worker)
    return clock


def efficiency(workers: int, costs: Costs, seconds: float, minutes: float = 10.0) -> float:
    """Return the share of the workers' time that goes into work, if each has some minutes of it."""
    total = 60.0 * minutes * workers
    return total / (workers * played(sized(total, workers, seconds), workers, costs))

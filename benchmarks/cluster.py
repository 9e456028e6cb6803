"""A model of scaling: one program that sends blocks, many workers that play them, event by event.

The sender does one thing at a time: it sends a block, takes a result and keeps it. A worker plays its block and has the next one waiting,
as in `latentbandits.simulation.spread`. What a block costs beside its work was measured on this machine; nothing else enters.
"""

import heapq
from collections import deque
from collections.abc import Callable, Sequence
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


def sized(total: float, workers: int, seconds: float = SECONDS) -> Callable[[float], float]:
    """Return the work of the next block, given the work that is left, as `spread` sizes it."""
    return lambda left: min(left, seconds, max(LEAST, left / (AHEAD * workers))) if total > 0 else 0.0


def simulated(total: float, workers: int, costs: Costs, seconds: float = SECONDS) -> float:
    """Return the seconds that some work takes on workers."""
    next_block = sized(total, workers, seconds)
    blocks, left = deque[float](), total
    while left > 1e-9:
        blocks.append(next_block(left))
        left -= blocks[-1]
    return played(blocks, workers, costs)


def played(blocks: Sequence[float] | deque[float], workers: int, costs: Costs) -> float:
    """Return the seconds that given blocks take, in their order."""
    waiting = deque(blocks)
    clock, last = 0.0, 0.0  # of the sender, and of the last result
    queues: list[deque[float]] = [
        deque() for _ in range(workers)
    ]  # when each block that waits reached its worker, and its work
    free = [0.0] * workers
    events: list[tuple[float, int]] = []

    def send(worker: int) -> None:
        nonlocal clock
        clock += costs.sender / 2
        begin = max(clock, free[worker])
        free[worker] = begin + costs.worker + waiting.popleft()
        heapq.heappush(events, (free[worker], worker))
        queues[worker].append(free[worker])

    for _ in range(AHEAD):
        for worker in range(workers):
            if waiting:
                send(worker)
    while events:
        arrived, worker = heapq.heappop(events)
        clock = max(clock, arrived) + costs.sender / 2
        last = clock
        queues[worker].popleft()
        if waiting:
            send(worker)
    return last


def efficiency(workers: int, costs: Costs, seconds: float, minutes: float = 10.0) -> float:
    """Return the share of the workers' time that goes into work, if each has some minutes of it."""
    total = 60.0 * minutes * workers
    return total / (workers * simulated(total, workers, costs, seconds))

"""What each worker has done so far, seen from where the work is sent."""

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from latentbandits.presentation.numbers import counted


class Tally:
    """Rounds and seconds of each worker.

    Examples
    --------
    >>> from latentbandits.executors.tally import Tally
    >>> tally = Tally()
    >>> tally.add("node1:17", rounds=6_000_000, seconds=2.0)
    >>> tally.add("node2:23", rounds=4_000_000, seconds=2.0)
    >>> tally.text()
    '2 workers: node1:17 3.0, node2:23 2.0 M rounds/s'
    """

    SHOWN = 4  # workers that are named one by one

    def __init__(self) -> None:
        self._done: dict[str, tuple[int, float]] = {}
        self._lock = threading.Lock()

    def add(self, worker: str, rounds: int, seconds: float) -> None:
        """Count what a worker has done."""
        with self._lock:
            before = self._done.get(worker, (0, 0.0))
            self._done[worker] = before[0] + rounds, before[1] + seconds

    def text(self) -> str:
        """Return how fast the workers are: each, or the slowest and the fastest of many; empty if nothing is known."""
        with self._lock:
            speed = {name: rounds / max(seconds, 1e-9) / 1e6 for name, (rounds, seconds) in self._done.items()}
        if not speed:
            return ""
        if len(speed) <= self.SHOWN:
            each = ", ".join(f"{name} {speed[name]:.1f}" for name in sorted(speed))
            return f"{counted(len(speed), 'worker')}: {each} M rounds/s"
        slow, quick = min(speed, key=lambda name: speed[name]), max(speed, key=lambda name: speed[name])
        return f"{len(speed)} workers: {slow} {speed[slow]:.1f} to {quick} {speed[quick]:.1f} M rounds/s"


class Watched(Executor):
    """An executor whose finished blocks are counted.

    Parameters
    ----------
    executor : concurrent.futures.Executor
        Who plays.
    tally : Tally
        Where the blocks are counted.
    """

    def __init__(self, executor: Executor, tally: Tally) -> None:
        self._executor, self._tally = executor, tally

    def __getattr__(self, name: str) -> Any:  # its size, say
        return getattr(self._executor, name)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Submit, and count what comes back."""
        future = self._executor.submit(function, *args, **kwargs)
        rounds = sum(getattr(arg, "rounds", 0) for arg in args)
        if hasattr(future, "add_done_callback"):  # anything else is refused by who asked
            future.add_done_callback(lambda done: self._count(done, rounds))
        return future

    def _count(self, future: "Future[Any]", rounds: int) -> None:
        if not future.cancelled() and future.exception() is None:
            piece = future.result()
            self._tally.add(getattr(piece, "worker", "unknown"), rounds, sum(getattr(piece, "seconds", ())))

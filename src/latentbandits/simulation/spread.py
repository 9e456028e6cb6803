"""Blocks on any executor: how large they are, in what order they are sent, and what may come back.

Results go to their place in whatever order they arrive, so nothing here changes a bit of them.
"""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from latentbandits.compiled import CompileError
from latentbandits.settings import Refusal
from latentbandits.simulation.blocks import Block, Piece, play_block
from latentbandits.simulation.build import probe, this_build

Report = Callable[[int, int], None]

# Seconds of work in a block: long enough to hide what it costs to send it, short enough that little is lost with a worker
SECONDS = 5.0
# The last blocks are smaller, down to this, so that all workers end at the same time
LEAST = 0.25
# Blocks that each worker has been sent: one to play, one that waits for it
AHEAD = 2
# Seconds per round that are assumed of a policy before one of its kind has been measured, and how long its first blocks are by that:
# some policies take ten times as long
ASSUMED, FIRST = 2e-6, 0.5
# Seconds after which a block is given up, or this many times as long as it should take
LIMIT, TIMES = 900.0, 20
# Seconds between two looks at how many workers there are: some join late
LOOK = 5.0


class Task:
    """A simulation that is to be cut into blocks: the whole of it, what to do with each piece, and the runs that are left."""

    def __init__(self, block: Block, done: Callable[[Piece], None]) -> None:
        self.block, self.done, self.next = block, done, block.begin
        self.seconds, self.played = 0.0, 0  # measured

    @property
    def left(self) -> int:
        """Runs that were not sent yet."""
        return self.block.end - self.next

    def take(self, runs: int) -> Block:
        """Return a block of the next runs."""
        begin, self.next = self.next, min(self.next + max(1, runs), self.block.end)
        return self.block.part(begin, self.next)


class Rates:
    """Seconds per round of each kind of policy, as measured so far."""

    def __init__(self) -> None:
        self._known: dict[type, tuple[float, int]] = {}

    def knows(self, task: Task) -> bool:
        """Return whether every policy of a task has been measured, or one of its kind."""
        return task.played > 0 or all(type(one) in self._known for one in task.block.contestants.values())

    def run(self, task: Task) -> float:
        """Return the seconds that a run of a task takes."""
        if task.played:
            return max(task.seconds / task.played, 1e-9)
        kinds = [self._known.get(type(one)) for one in task.block.contestants.values()]
        return task.block.horizon * sum(ASSUMED if known is None else known[0] / known[1] for known in kinds)

    def learn(self, task: Task, piece: Piece) -> None:
        """Take a piece into account."""
        runs = piece.end - piece.begin
        task.seconds, task.played = task.seconds + sum(piece.seconds), task.played + runs
        for one, spent in zip(task.block.contestants.values(), piece.seconds, strict=True):
            seconds, rounds = self._known.get(type(one), (0.0, 0))
            self._known[type(one)] = seconds + spent, rounds + runs * task.block.horizon


class Sent(NamedTuple):
    """A block that is under way."""

    task: Task
    block: Block
    seconds: float
    deadline: float


def width(executor: Executor, otherwise: int) -> int:
    """Return how many blocks an executor plays at a time, if it says so.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from latentbandits.simulation.spread import width
    >>> with ThreadPoolExecutor(3) as pool:
    ...     width(pool, otherwise=8)
    3
    """
    found = _said(executor)
    return found if isinstance(found, int) and found > 0 else otherwise


def _said(executor: Executor) -> Any:
    """Return what an executor says of its width, if anything; a Dask cluster may have no workers yet."""
    client = getattr(executor, "_client", None)  # of Dask
    return sum(client.ncores().values()) if client is not None else getattr(executor, "_max_workers", None)


def spread(tasks: Sequence[Task], executor: Executor, workers: int, progress: Report | None = None) -> None:
    """Play tasks on an executor, block by block, and hand each piece to its task as it arrives.

    Parameters
    ----------
    tasks : sequence of Task
        What to play, in this order; a task begins while the last blocks of the one before are under way.
    executor : concurrent.futures.Executor
        Who plays.
    workers : int
        How many blocks it plays at a time, if it does not say so itself.
    progress : callable, optional
        Called with the rounds played so far and the total.
    """
    if not hasattr(executor, "submit") or isinstance(executor, type):
        raise Refusal("simulate", "executor", executor, "a concurrent.futures.Executor, made and open")
    _Spread(tasks, executor, workers, progress).run()


class _Spread:
    def __init__(self, tasks: Sequence[Task], executor: Executor, workers: int, progress: Report | None) -> None:
        self._tasks, self._executor, self._workers, self._progress = list(tasks), executor, workers, progress
        self._total, self._played = sum(task.block.rounds for task in tasks), 0
        self._rates, self._names, self._sent = Rates(), itertools.count(), dict[Future[Piece], Sent]()
        self._arrived: SimpleQueue[Future[Piece]] = SimpleQueue()
        self._looked = -np.inf

    def run(self) -> None:
        try:
            while self._send() or self._sent:
                self._take(self._next())
                if self._progress is not None:
                    self._progress(self._played, self._total)
        except BaseException:
            for future in self._sent:
                future.cancel()
            for future in self._finished():  # what is there is kept
                with suppress(Exception):
                    self._take(future)
            raise

    def _send(self) -> bool:
        """Send blocks until every worker has one that waits for it; return whether anything was sent."""
        waiting = [task for task in self._tasks if task.left]
        if not waiting:
            return False
        now, any_sent = time.monotonic(), False
        if now - self._looked > LOOK:
            with _Explained("next block"):
                self._workers, self._looked = width(self._executor, self._workers), now
        left = sum(task.left * self._rates.run(task) for task in waiting)
        for task in waiting:
            while task.left and len(self._sent) < AHEAD * self._workers:
                each = self._rates.run(task)
                most = SECONDS if self._rates.knows(task) else min(SECONDS, FIRST)
                wanted = min(most, max(LEAST, left / (AHEAD * self._workers)))
                block = task.take(round(wanted / each)).send(f"{id(self)}-{next(self._names)}")
                took = each * (block.end - block.begin)
                left, any_sent = left - took, True
                with _Explained(_named(block)):
                    future = self._executor.submit(play_block, block)
                if not hasattr(future, "add_done_callback"):
                    raise Refusal("simulate", "answer of the executor", future, f"a future of the {_named(block)}")
                self._sent[future] = Sent(task, block, took, time.monotonic() + max(LIMIT, TIMES * took))
                future.add_done_callback(self._arrived.put)
        return any_sent

    def _next(self) -> "Future[Piece]":
        """Wait for a block, but no longer than the deadline of the one that was sent first."""
        first = next(iter(self._sent.values()))
        try:
            return self._arrived.get(timeout=max(0.0, first.deadline - time.monotonic()))
        except Empty:
            limit, state = f"done within {max(LIMIT, TIMES * first.seconds):.0f} s", "not done"
            with suppress(Exception):  # of a scheduler that is gone
                state += ": the executor has no workers" if _said(self._executor) == 0 else ""
            raise Refusal("simulate", _named(first.block), state, limit) from None

    def _finished(self) -> "Iterator[Future[Piece]]":
        with suppress(Empty):
            while True:
                yield self._arrived.get_nowait()

    def _take(self, future: "Future[Piece]") -> None:
        """Check what came back, and hand it on."""
        sent = self._sent.pop(future)
        with _Explained(_named(sent.block)):
            held = future.exception()
            if held is not None and not isinstance(held, Exception):  # SystemExit, say: it was meant for the worker
                raise _refusal(_named(sent.block), held) from held
            piece = future.result()
        check(piece, sent.block)
        self._rates.learn(sent.task, piece)
        sent.task.done(piece)
        self._played += sent.block.rounds


class _Explained:
    """Say in one sentence that an executor failed; what a policy, a world or the compiler refuses stays as it is."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        if isinstance(problem, Exception | CancelledError) and not isinstance(problem, Refusal | CompileError):
            raise _refusal(self._what, problem) from problem


def _refusal(what: str, problem: BaseException) -> Refusal:
    said = " ".join(f"{type(problem).__name__}: {problem}".split())
    return Refusal("simulate", "answer of the executor", said[:300].rstrip(": "), f"the results of the {what}")


def _named(block: Block) -> str:
    return f"block of runs {block.begin} to {block.end - 1}"


def check(piece: Any, block: Block) -> None:
    """Refuse anything but the results of a block."""
    if not isinstance(piece, Piece):
        raise Refusal("simulate", f"result of the {_named(block)}", piece, "what `play_block` returns")
    found, wanted = (piece.name, piece.begin, piece.end), (block.name, block.begin, block.end)
    if found != wanted:
        raise Refusal("simulate", f"result of the {_named(block)}", found, f"of the block that was sent, {wanted}")
    if piece.probe and piece.probe != probe():
        text = f"{probe()}, that of the program which sends the work (build {this_build().text()})"
        raise Refusal("simulate", f"probe of worker {piece.worker} (build {piece.build.text()})", piece.probe, text)
    arrays = zip((piece.regret, piece.optimal, piece.counts), block.empty(), strict=True)
    wrong = [_form(one) for one, empty in arrays if _form(one) != _form(empty) or not np.isfinite(one).all()]
    if wrong or len(piece.seconds) != len(block.contestants):
        raise Refusal("simulate", f"result of the {_named(block)}", wrong, "finite numbers for every policy and run")


def _form(array: Any) -> Iterable[Any]:
    return (np.shape(array), getattr(array, "dtype", type(array)))

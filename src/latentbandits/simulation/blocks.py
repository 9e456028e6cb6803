"""A block: some runs of a simulation as data, which any thread, process or machine plays to the same bits."""

import contextlib
import hashlib
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from latentbandits.compiled import compile_first, machine_code
from latentbandits.protocols import Oracle, Realisation, World
from latentbandits.random import Purpose, stream
from latentbandits.settings import Refusal
from latentbandits.simulation.batch import Player, validated
from latentbandits.simulation.build import Build, probe, this_build
from latentbandits.simulation.loop import COUNTS, play

# Rounds times policies that one task of a thread plays: long enough to hide its overhead, short enough to be interrupted
_TASK_ROUNDS = 1_000_000
# Below this horizon two threads spend more time handing Python's lock to each other than a second core saves
_SHORT = 1500
_PACKAGE = Path(__file__).parents[1]

Report = Callable[[int, int], None]


@dataclass(frozen=True)
class Block:
    """Runs `begin` to `end` of a simulation: settings and numbers, so that it is small when it travels.

    Attributes
    ----------
    world, contestants : what is played; label -> policy or oracle
    horizon, repeats, seed, first, bins : as in `latentbandits.simulate`
    begin, end : the runs; run r is repeat ``r % repeats`` of draw ``first + r // repeats``
    interpreted : whether it is played without compiling
    name, code, build : set when it is sent away: what its results must carry, the code that must play it, and the sender's build
    """

    world: World
    contestants: Mapping[str, Any]
    horizon: int
    repeats: int
    seed: int
    first: int
    bins: int
    begin: int
    end: int
    interpreted: bool = False
    name: str = ""
    code: str = ""
    build: str = ""

    @property
    def run_rounds(self) -> int:
        """Rounds of one run, of all contestants."""
        return self.horizon * len(self.contestants)

    @property
    def rounds(self) -> int:
        """Rounds of all runs and contestants."""
        return self.run_rounds * (self.end - self.begin)

    def empty(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return arrays for the results: regret and optimal arms per contestant, run and bin; counts per contestant and run."""
        size = (len(self.contestants), self.end - self.begin)
        return np.empty((*size, self.bins)), np.empty((*size, self.bins)), np.zeros((*size, len(COUNTS)), np.int64)

    def part(self, begin: int, end: int) -> "Block":
        """Return a block of some of its runs."""
        return replace(self, begin=begin, end=end)

    def send(self, name: str) -> "Block":
        """Return the block as it is sent to a worker."""
        return replace(self, name=name, code=code_of(self), build=this_build().id)


class Piece(NamedTuple):
    """What came of a block, or of a part of it.

    Attributes
    ----------
    name : of the block
    begin, end : the runs
    regret, optimal, counts : as `Block.empty` makes them
    seconds : that each contestant took, without compiling
    worker : who played it
    build : with what
    probe : of the build, if it is not the sender's
    """

    name: str
    begin: int
    end: int
    regret: np.ndarray
    optimal: np.ndarray
    counts: np.ndarray
    seconds: tuple[float, ...]
    worker: str
    build: Build
    probe: str = ""


Done = Callable[[Piece], None]


def play_block(block: Block) -> Piece:
    """Play a block and return its results; they depend on the block alone, but for the seconds and the name of the worker.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.simulation.blocks import Block, play_block
    >>> block = Block(lb.HiddenMarkov(), {"ucb1": lb.policy("ucb1")}, 300, 1, seed=0, first=0, bins=1, begin=0, end=4)
    >>> whole, half = play_block(block), play_block(block.part(2, 4))
    >>> bool((whole.regret[:, 2:] == half.regret).all())
    True
    """
    if block.code and block.code != code_of(block):
        rule = f"that of the program which sends the work ({block.code})"
        raise Refusal("simulate", f"code of worker {worker_name()}", code_of(block), rule)
    players = [Player(contestant, block.interpreted) for contestant in block.contestants.values()]
    if not block.interpreted:
        plain = [player for player in players if not isinstance(player.contestant, Oracle)]
        for player in plain:  # before the clock starts; to inform an oracle may take longer than a block
            machine_code(play, *player.example(block.world))
    regret, optimal, counts = block.empty()
    seconds = _play(block, players, block.begin, block.end, regret, optimal, counts)
    build = this_build()
    probed = probe() if block.build not in ("", build.id) else ""
    who = (worker_name(), build, probed)
    return Piece(block.name, block.begin, block.end, regret, optimal, counts, tuple(seconds), *who)


def _play(
    block: Block, players: list[Player], begin: int, end: int, regret: np.ndarray, optimal: np.ndarray, counts: np.ndarray
) -> list[float]:  # fmt: skip
    """Play some runs, write what they cost at their place in the block, and return the seconds of each player."""
    seconds = [0.0] * len(players)
    clock = time.perf_counter()
    for run in range(begin, end):
        draw, repeat, at = block.first + run // block.repeats, run % block.repeats, run - block.begin
        realisations: dict[int, Realisation] = {}
        random = stream(block.seed, Purpose.POLICY, draw, repeat)
        for i, player in enumerate(players):
            if player.units not in realisations:
                made = block.world.realise(block.horizon, player.units, block.seed, draw, repeat)
                realisations[player.units] = validated(made, block.horizon, block.world.arms, player.units)
            player.play(realisations[player.units], random.copy(), regret[i, at], optimal[i, at], counts[i, at])
            before, clock = clock, time.perf_counter()
            seconds[i] += clock - before
    return seconds


def play_all(
    block: Block,
    workers: int,
    executor: Executor | None = None,
    progress: Report | None = None,
    done: Done | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Play a block on threads, or piece by piece on an executor, and return its arrays; pieces are also given to `done` as they come."""
    arrays = block.empty()
    if executor is None:
        _on_threads(block, arrays, workers, progress, done)
        return arrays
    from latentbandits.simulation.spread import Task, spread

    def place(piece: Piece) -> None:
        at = slice(piece.begin - block.begin, piece.end - block.begin)
        for array, part in zip(arrays, (piece.regret, piece.optimal, piece.counts), strict=True):
            array[:, at] = part
        if done is not None:
            done(piece)

    spread([Task(block, place)], executor, workers, progress)
    return arrays


def _on_threads(
    block: Block,
    arrays: tuple[np.ndarray, np.ndarray, np.ndarray],
    workers: int,
    progress: Report | None,
    done: Done | None,
) -> None:
    """Share out runs among threads, which write to the same arrays."""
    players = [Player(contestant, block.interpreted) for contestant in block.contestants.values()]
    if block.interpreted or block.horizon < _SHORT:
        workers = 1
    if not block.interpreted:
        compile_first(_examples(players, block))
    runs, played = block.end - block.begin, 0
    step = max(1, min(_TASK_ROUNDS // block.run_rounds, runs // (8 * workers)))
    regret, optimal, counts = arrays

    def work(begin: int, end: int) -> Piece:
        seconds = _play(block, players, begin, end, *arrays)
        at = slice(begin - block.begin, end - block.begin)
        return Piece(
            block.name, begin, end, regret[:, at], optimal[:, at], counts[:, at], tuple(seconds), "", this_build()
        )

    with ThreadPoolExecutor(workers) as pool:
        starts = range(block.begin, block.end, step)
        tasks = [pool.submit(work, begin, min(begin + step, block.end)) for begin in starts]
        try:
            for task in as_completed(tasks):
                piece = task.result()
                played += (piece.end - piece.begin) * block.run_rounds
                if done is not None:
                    done(piece)
                if progress is not None:
                    progress(played, block.rounds)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _examples(players: list[Player], block: Block) -> Iterator[tuple[str, Callable[..., Any], Any]]:
    """Yield what has to be compiled; an oracle that cannot be given one round alone is compiled when it first plays."""
    for label, player in zip(block.contestants, players, strict=True):
        with contextlib.suppress(Refusal):
            yield label, play, player.example(block.world)


def worker_name() -> str:
    """Return the name of this process among all machines."""
    return f"{socket.gethostname()}:{os.getpid()}"


def code_of(block: Block) -> str:
    """Return a digest of all code that may play a block: this package, and the files of the user's classes in it.

    Classes of `__main__` do not count: they travel with the block, or come from the same script.
    """
    made = hashlib.sha256(package_code().encode())
    modules = {name for thing in (block.world, *block.contestants.values()) for name in _modules(thing)}
    for name in sorted(modules - {"__main__", "__mp_main__"}):
        file = getattr(sys.modules.get(name), "__file__", None)
        if name.partition(".")[0] != _PACKAGE.name and file is not None:
            made.update(name.encode() + b"\0" + Path(file).read_bytes() + b"\0")
    return made.hexdigest()[:16]


@cache
def package_code() -> str:
    """Return a digest of all sources of this package."""
    made = hashlib.sha256()
    for file in sorted(_PACKAGE.rglob("*.py")):
        made.update(file.relative_to(_PACKAGE).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return made.hexdigest()


def _modules(thing: Any) -> list[str]:
    """Return the modules that the classes of a policy or world, and of those within it, are written in."""
    within = thing if isinstance(thing, tuple) else getattr(thing, "__dict__", {}).values()
    parts = [part for part in within if hasattr(part, "_fields") or is_dataclass(part)]
    return [type(thing).__module__, *(name for part in parts for name in _modules(part))]

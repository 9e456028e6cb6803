"""A block: some runs of a simulation as data, which any thread, process or machine plays to the same bits."""

import contextlib
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path

import numpy as np

from latentbandits.compiled import CompileError, compile_first
from latentbandits.compiled.cache import source_digest
from latentbandits.protocols import Contestant, Realisation, World
from latentbandits.random import Purpose, stream
from latentbandits.settings import InvalidValueError
from latentbandits.simulation.loop import COUNTS, Run, Tally, play
from latentbandits.simulation.runs import Runner, validate

# Rounds times policies in a block: long enough to hide what it costs to send it, short enough to be interrupted
_THREAD_ROUNDS, _EXECUTOR_ROUNDS = 1_000_000, 4_000_000
# Below this horizon two threads spend more time handing Python's lock to each other than a second core saves
_SHORT = 1500

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Block:
    """Runs `begin` to `end` of a simulation: settings and numbers, so that it is small when it travels.

    Attributes
    ----------
    world, contestants : what is played; label -> policy or oracle
    horizon, repeats, seed, first, bins : as in `latentbandits.simulate`
    begin, end : the runs; run r is repeat ``r % repeats`` of draw ``first + r // repeats``
    interpreted : whether it is played without compiling
    code : digest of the code that must play it, any if empty
    """

    world: World
    contestants: Mapping[str, Contestant]
    horizon: int
    repeats: int
    seed: int
    first: int
    bins: int
    begin: int
    end: int
    interpreted: bool = False
    code: str = ""

    @property
    def run_rounds(self) -> int:
        """Rounds of one run, of all contestants."""
        return self.horizon * len(self.contestants)

    def empty(self) -> Arrays:
        """Return arrays for the results: regret and optimal arms per contestant, run and bin; counts per contestant and run."""
        size = (len(self.contestants), self.end - self.begin)
        return np.empty((*size, self.bins)), np.empty((*size, self.bins)), np.zeros((*size, len(COUNTS)), np.int64)

    def split(self, runs: int) -> "list[Block]":
        """Return blocks of at most so many runs each."""
        starts = range(self.begin, self.end, runs)
        return [replace(self, begin=begin, end=min(begin + runs, self.end)) for begin in starts]


def play_block(block: Block) -> Arrays:
    """Play a block and return its results, which depend on the block alone.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.simulation.blocks import Block, play_block
    >>> block = Block(lb.HiddenMarkov(), {"ucb1": lb.policy("ucb1")}, 300, 1, seed=0, first=0, bins=1, begin=0, end=4)
    >>> regret, *_ = play_block(block)
    >>> second_half, *_ = play_block(block.split(2)[1])
    >>> bool((regret[:, 2:] == second_half).all())
    True
    """
    if block.code and block.code != digest_code(block.world, *block.contestants.values()):
        raise InvalidValueError("simulation", "code of a worker", "another", "that of the program which sends the work")
    runners = [Runner(contestant, block.interpreted) for contestant in block.contestants.values()]
    regret, optimal, counts = block.empty()
    for run in range(block.begin, block.end):
        draw, repeat, at = block.first + run // block.repeats, run % block.repeats, run - block.begin
        realisations: dict[int, Realisation] = {}
        random = stream(block.seed, Purpose.POLICY, draw, repeat)
        for i, runner in enumerate(runners):
            groups = runner.groups
            if groups not in realisations:
                realised = block.world.realise(block.horizon, groups, block.seed, draw, repeat)
                realisations[groups] = validate(realised, block.horizon, block.world.arms, groups)
            tally = Tally(realisations[groups].offered, regret[i, at], optimal[i, at], counts[i, at])
            runner.play(realisations[groups], random.copy(), tally)
    return regret, optimal, counts


def play_all(
    block: Block, workers: int, executor: Executor | None = None, progress: Callable[[int, int], None] | None = None
) -> Arrays:
    """Play a block, piece by piece, on threads or on an executor, and return its arrays."""
    if executor is not None and not isinstance(executor, Executor):
        raise InvalidValueError("simulation", "executor", executor, "a concurrent.futures.Executor, open")
    if executor is None:
        if not block.interpreted:
            compile_first(_examples(block))
        with ThreadPoolExecutor(1 if block.interpreted or block.horizon < _SHORT else workers) as threads:
            return _play_on(threads, block, _THREAD_ROUNDS, workers, progress)
    code = digest_code(block.world, *block.contestants.values())
    with _explained():
        return _play_on(executor, replace(block, code=code), _EXECUTOR_ROUNDS, workers, progress)


def _play_on(
    executor: Executor, block: Block, most: int, workers: int, progress: Callable[[int, int], None] | None
) -> Arrays:
    """Submit pieces of a block and put their results in place as they come."""
    arrays, runs, done = block.empty(), block.end - block.begin, 0
    pieces = block.split(max(1, min(most // block.run_rounds, runs // (8 * workers))))
    futures: dict[Future[Arrays], Block] = {}
    try:
        for piece in pieces:
            futures[executor.submit(play_block, piece)] = piece
        for future in as_completed(futures):
            piece = futures[future]
            at = slice(piece.begin - block.begin, piece.end - block.begin)
            for array, part in zip(arrays, future.result(), strict=True):
                array[:, at] = part
            done += piece.end - piece.begin
            if progress is not None:
                progress(done * block.run_rounds, runs * block.run_rounds)
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return arrays


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Say in one sentence that an executor failed; what a policy, a world or the compiler refuses stays as it is."""
    try:
        yield
    except (InvalidValueError, CompileError):
        raise
    except (Exception, CancelledError) as problem:
        answer = " ".join(f"{type(problem).__name__}: {problem}".split())[:300].rstrip(": ")
        raise InvalidValueError(
            "simulation", "answer of the executor", answer, "the results of a block of runs"
        ) from problem


def _examples(block: Block) -> Iterator[tuple[str, Callable[..., int], Run]]:
    """Yield what has to be compiled; an oracle that cannot be given one round alone is compiled when it first plays."""
    for label, contestant in block.contestants.items():
        with contextlib.suppress(InvalidValueError):
            yield label, play, Runner(contestant).example(block.world)


def digest_code(*things: object) -> str:
    """Return a digest of the code that results of policies and worlds depend on: all that may be compiled, and the files of their classes.

    Classes of a script do not count: they travel with the block, or come from the same script.
    """
    digest = hashlib.sha256((source_digest() or "").encode())
    kinds = {base for thing in things for kind in _classes(thing) for base in kind.__mro__}
    modules = {kind.__module__ for kind in kinds} - {"__main__", "__mp_main__"}
    for name in sorted(name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names):
        file = sys.modules[name].__file__
        if file is not None:
            digest.update(name.encode() + b"\0" + Path(file).read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _classes(thing: object) -> set[type]:
    """Return the classes of a policy or a world, and of those within it."""
    parts: Iterable[object] = ()
    if isinstance(thing, tuple):
        parts = thing
    elif is_dataclass(thing) and not isinstance(thing, type):
        parts = [vars(thing)[field.name] for field in fields(thing)]
    nested = [part for part in parts if isinstance(part, tuple) or is_dataclass(part)]
    return {type(thing)}.union(*(_classes(part) for part in nested))

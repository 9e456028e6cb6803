"""The same bits from any executor, and one sentence from one that fails."""

import multiprocessing
import os
import pickle
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.executors import Tally, Watched, opened
from latentbandits.simulation import blocks, build, spread
from latentbandits.simulation.blocks import Block, Piece, play_block
from latentbandits_studies import data as datasets
from latentbandits_studies.experiments.real.settings import replay

SIZES: dict[str, Any] = {"horizon": 200, "draws": 5, "repeats": 3, "bins": 4}
NAMES = ("ucb1", "random")


@pytest.fixture
def crumbs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of one run."""
    monkeypatch.setattr(spread, "SECONDS", 1e-9)
    monkeypatch.setattr(spread, "LEAST", 1e-9)


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with opened("processes", workers=1) as pool:
        assert pool is not None
        yield pool


class Stub(Executor):
    """Runs what it is given when all of it is there or it is asked for more, in any order, `times` times, and changes the results."""

    def __init__(self, change: Callable[[Any], Any] = lambda piece: piece, times: int = 1) -> None:
        self.change, self.times, self.sent = change, times, list[tuple[Future[Any], Any]]()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        (block,) = pickle.loads(pickle.dumps(args))  # as if it came from another process
        self.sent.append((future, block))
        if len(self.sent) == 1:
            threading.Timer(0.02, self.play, (function,)).start()
        return future

    def play(self, function: Callable[[Any], Any]) -> None:
        mine, self.sent = self.sent, []
        random.Random(0).shuffle(mine)
        for future, block in mine:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(self.change([function(block) for _ in range(self.times)][-1]))
                except Exception as problem:
                    future.set_exception(problem)


def play(executor: Executor | None = None, **options: Any) -> Any:
    return lb.simulate(lb.HiddenMarkov(), NAMES, executor=executor, **{**SIZES, **options})


def same(one: Any, other: Any) -> None:
    assert one.labels == other.labels
    np.testing.assert_array_equal(one.regret_bins, other.regret_bins)
    np.testing.assert_array_equal(one.optimal_bins, other.optimal_bins)
    for name in one.counts:
        np.testing.assert_array_equal(one.counts[name], other.counts[name])


@pytest.mark.usefixtures("crumbs")
def test_blocks_out_of_order_and_played_twice_are_the_same_to_the_bit() -> None:
    seen: list[tuple[int, int]] = []
    same(play(Stub(times=2), progress=lambda done, total: seen.append((done, total))), play())
    assert len(seen) == 15
    assert seen[-1] == (6000, 6000)


@pytest.mark.usefixtures("crumbs")
def test_another_process_plays_the_same_to_the_bit(processes: Executor) -> None:
    tally = Tally()
    same(play(Watched(processes, tally)), play())
    assert tally.text().startswith("1 worker: ")
    assert f":{os.getpid()} " not in tally.text()


@pytest.mark.usefixtures("crumbs")
def test_compare_and_advise_and_tune_take_an_executor(hasty_limit: None) -> None:
    problem = lb.Problem(states=2, horizon=300, runs=8)
    stub = Stub()
    one, other = (lb.compare(problem, ["ucb1"], executor=executor) for executor in (stub, None))
    assert one.values() == other.values()
    advice = lb.advise(problem, ["ucb1", "random"], executor=stub)
    assert advice.values() == lb.advise(problem, ["ucb1", "random"]).values()
    tuned = [lb.tune(problem, "ucb1", trials=2, executor=executor) for executor in (stub, None)]
    assert tuned[0].values() == tuned[1].values()


def test_a_block_is_small_and_datasets_travel_by_name() -> None:
    block = Block(replay("airports"), {"ucb1": lb.policy("ucb1", arms=3)}, 50, 1, 0, 0, 1, 0, 2)
    content = pickle.dumps(block.send("1"))
    assert len(content) < 1000
    again = pickle.loads(content)
    np.testing.assert_array_equal(play_block(again).regret, play_block(block).regret)
    mine = lb.Recorded(datasets.load("airports").rewards[:5])  # not the dataset itself
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(mine)).rewards, mine.rewards)


def test_blocks_have_seconds_of_work_and_the_last_ones_less() -> None:
    block = Block(lb.HiddenMarkov(), {"ucb1": lb.policy("ucb1")}, 1000, 1, 0, 0, 1, 0, 100_000)
    sizes: list[int] = []

    class Quick(Executor):
        _max_workers = 2

        def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
            (sent,) = args
            sizes.append(sent.end - sent.begin)
            future: Future[Any] = Future()
            took = 0.002 * sizes[-1]  # two milliseconds a run
            _, optimal, counts = sent.empty()
            optimal[:] = 0.0
            found = (optimal, optimal, counts, (took,), "stub", build.this_build())
            future.set_result(Piece(sent.name, sent.begin, sent.end, *found))
            return future

    spread.spread([spread.Task(block, lambda piece: None)], Quick(), workers=2)
    assert sum(sizes) == 100_000
    assert 0.002 * np.median(sizes) == spread.SECONDS
    assert 0.002 * max(sizes) <= spread.SECONDS  # what was assumed at first is not too quick
    assert 0.002 * sizes[-2] < 1.0


def wrong(**changes: Any) -> Callable[[Piece], Piece]:
    return lambda piece: piece._replace(**changes)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda piece: None, r"result of the block of runs \d+ to \d+ is None but must be what `play_block` returns"),
        (wrong(begin=1, end=2, name="another"), r"is \('another', 1, 2\) but must be of the block that was sent"),
        (lambda piece: piece._replace(regret=piece.regret[:, :, :-1]), "finite numbers for every policy and run"),
        (lambda piece: piece._replace(regret=piece.regret * np.nan), "finite numbers for every policy and run"),
        (wrong(probe="0123"), r"probe of worker .* is '0123' but must be \w+, that of the program which sends"),
    ],
)
def test_a_wrong_block_is_refused_in_one_sentence(change: Any, sentence: str) -> None:
    with pytest.raises(lb.Refusal, match=sentence) as caught:
        play(Stub(change))
    assert "\n" not in str(caught.value)


class Raising(Executor):
    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        raise RuntimeError("no more room")


class Failing(Executor):
    def __init__(self, problem: BaseException | None = None) -> None:
        self.problem = problem or OSError("the network\nis gone")

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        future.set_exception(self.problem)
        return future


class Answering(Executor):
    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        return 42


class Hanging(Executor):
    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        return Future()


@pytest.mark.parametrize(
    ("executor", "sentence"),
    [
        (
            Raising(),
            r"answer of the executor is 'RuntimeError: no more room' but must be the results of the block of runs",
        ),
        (Failing(), r"answer of the executor is 'OSError: the network is gone' but must be the results of the block"),
        (Failing(SystemExit(3)), r"answer of the executor is 'SystemExit: 3' but must be the results of the block"),
        (Answering(), r"answer of the executor is 42 but must be a future of the block of runs 0 to"),
        (Watched(Answering(), Tally()), r"answer of the executor is 42 but must be a future of the block of runs 0 to"),
        (Hanging(), r"block of runs 0 to \d+ is 'not done' but must be done within 0 s"),
        ("processes", r"executor is 'processes' but must be a concurrent.futures.Executor"),
        (
            ThreadPoolExecutor,
            r"executor is .*ThreadPoolExecutor.* but must be a concurrent.futures.Executor, made and open",
        ),
    ],
)
def test_an_executor_that_fails_ends_in_one_sentence(
    executor: Any, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spread, "LIMIT", 0.05)
    monkeypatch.setattr(spread, "TIMES", 0)
    with pytest.raises(lb.Refusal, match=sentence) as caught:
        play(executor)
    assert "\n" not in str(caught.value)


def test_what_a_world_refuses_is_said_as_it_is() -> None:
    with pytest.raises(lb.Refusal, match="Recorded: horizon is 9 but must be at most the 2 rounds recorded"):
        lb.simulate(lb.Recorded([[0.1, 0.2], [0.2, 0.1]]), ["ucb1"], horizon=9, draws=1, repeats=1, executor=Stub())


def test_a_worker_whose_code_differs_is_refused() -> None:
    block = Block(lb.HiddenMarkov(), {"ucb1": lb.policy("ucb1")}, 50, 1, 0, 0, 1, 0, 2).send("1")
    other = Block(**{**vars(block), "code": "0" * 16})
    with pytest.raises(
        lb.Refusal, match=r"code of worker \S+:\d+ is '\w{16}' but must be that of the program"
    ) as caught:
        play_block(other)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # as it comes from another process


def test_the_code_of_a_user_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (Path(__file__).parents[1] / "examples" / "skeleton.py").read_text()
    (tmp_path / "mine.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    import mine  # type: ignore[import-not-found]

    kind = next(one for one in vars(mine).values() if isinstance(one, type) and hasattr(one, "choose"))
    assert kind.__module__ == "mine"
    block = Block(lb.HiddenMarkov(), {"mine": kind(arms=2)}, 50, 1, 0, 0, 1, 0, 2)
    before = blocks.code_of(block)
    (tmp_path / "mine.py").write_text(source + "\n# edited\n")
    assert blocks.code_of(block) != before


def test_a_pool_whose_process_dies_ends_in_one_sentence() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        pool.submit(time.sleep, 0).result()
        for process in list(pool._processes.values()):
            process.kill()
        with pytest.raises(lb.Refusal, match=r"answer of the executor is .BrokenProcessPool"):
            play(pool)


def test_names_of_executors(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", "--executor", "treads"]) == 2
    expected = "executor: name is 'treads' but must be one of threads, processes or dask://HOST:PORT"
    assert capsys.readouterr().err.strip() == expected
    with pytest.raises(lb.Refusal, match="executor: workers is 0"), opened("threads", workers=0):
        pass


def test_many_workers_are_summed_up() -> None:
    tally = Tally()
    for number in range(1, 7):
        tally.add(f"node{number}", rounds=number * 1_000_000, seconds=1.0)
    assert tally.text() == "6 workers: node1 1.0 to node6 6.0 M rounds/s"

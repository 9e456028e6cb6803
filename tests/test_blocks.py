"""The same bits from any executor, and one sentence from one that fails."""

import multiprocessing
import pickle
import random
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.executors import open_executor
from latentbandits.simulation import blocks
from latentbandits.simulation.blocks import Block, digest_code, play_block
from latentbandits_studies import data as datasets

SIZES: dict[str, Any] = {"horizon": 200, "draws": 5, "repeats": 3, "bins": 4}
NAMES = ("ucb1", "random")


@pytest.fixture
def crumbs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of one run."""
    monkeypatch.setattr(blocks, "_EXECUTOR_ROUNDS", 1)


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with open_executor("processes", workers=1) as pool:
        assert pool is not None
        yield pool


class Stub(Executor):
    """Runs what it is given after a moment, in any order, `times` times, as if it came from another process."""

    def __init__(self, times: int = 1) -> None:
        self.times, self.sent = times, list[tuple[Future[Any], Any]]()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        (block,) = pickle.loads(pickle.dumps(args))
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
                    future.set_result([function(block) for _ in range(self.times)][-1])
                except Exception as problem:
                    future.set_exception(problem)


def play(executor: Executor | None = None, **options: Any) -> lb.Results:
    return lb.simulate(lb.HiddenMarkov(), NAMES, executor=executor, **{**SIZES, **options})


def same(one: lb.Results, other: lb.Results) -> None:
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
    same(play(processes), play())


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
    block = Block(datasets.load("airports").world, {"ucb1": lb.policy("ucb1", arms=3)}, 50, 1, 0, 0, 1, 0, 2)
    content = pickle.dumps(block)
    assert len(content) < 1000
    np.testing.assert_array_equal(play_block(pickle.loads(content))[0], play_block(block)[0])
    mine = lb.Replay(datasets.load("airports").rewards[:5])  # not the dataset itself
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(mine)).rewards, mine.rewards)


class Failing(Executor):
    def __init__(self, problem: BaseException | None = None) -> None:
        self.problem = problem or OSError("the network\nis gone")

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        future.set_exception(self.problem)
        return future


@pytest.mark.parametrize(
    ("executor", "sentence"),
    [
        (Failing(), "answer of the executor is 'OSError: the network is gone' but must be the results of a block"),
        (Executor(), "answer of the executor is 'NotImplementedError' but must be the results of a block"),
        ("processes", "executor is 'processes' but must be a concurrent.futures.Executor"),
        (ProcessPoolExecutor, "executor is .*ProcessPoolExecutor.* but must be a concurrent.futures.Executor, open"),
    ],
)
def test_an_executor_that_fails_ends_in_one_sentence(executor: Any, sentence: str) -> None:
    with pytest.raises(lb.InvalidValueError, match=sentence) as caught:
        play(executor)
    assert "\n" not in str(caught.value)


def test_a_pool_whose_process_dies_ends_in_one_sentence() -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        pool.submit(abs, 0).result()
        for process in multiprocessing.active_children():
            process.kill()
        with pytest.raises(lb.InvalidValueError, match=r"answer of the executor is .BrokenProcessPool"):
            play(pool)


def test_what_a_world_refuses_is_said_as_it_is() -> None:
    with pytest.raises(lb.InvalidValueError, match="Replay: horizon is 9 but must be at most the 2 rounds recorded"):
        lb.simulate(lb.Replay([[0.1, 0.2], [0.2, 0.1]]), ["ucb1"], horizon=9, draws=1, repeats=1, executor=Stub())


def test_a_worker_whose_code_differs_is_refused() -> None:
    block = Block(lb.HiddenMarkov(), {"ucb1": lb.policy("ucb1")}, 50, 1, 0, 0, 1, 0, 2)
    play_block(replace(block, code=digest_code(block.world, *block.contestants.values())))
    with pytest.raises(
        lb.InvalidValueError, match="code of a worker is 'another' but must be that of the program"
    ) as caught:
        play_block(replace(block, code="0" * 16))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # as it comes from another process


def test_the_code_of_a_user_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (Path(__file__).parents[1] / "examples" / "skeleton.py").read_text()
    (tmp_path / "mine.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    policies = [lb.policy(spec) for spec in ("mine:WinStayLoseShift", "scaled(mine:WinStayLoseShift)")]
    before = [digest_code(policy) for policy in policies]
    assert digest_code(lb.policy("ucb1")) not in before
    (tmp_path / "mine.py").write_text(source + "\n# edited\n")
    assert not {digest_code(policy) for policy in policies} & set(before)


def test_the_code_of_a_problem_and_of_what_it_inherits_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = lb.Problem(arms=2)
    before = digest_code(problem)
    for kind in type(problem).__mro__[:2]:
        monkeypatch.setattr(Path, "read_bytes", _edited(sys.modules[kind.__module__].__file__))
        assert digest_code(problem) != before
        monkeypatch.undo()
    assert digest_code(problem) == before


def _edited(file: str | None) -> Callable[[Path], bytes]:
    """Return a way to read files as if one of them had been edited."""

    def read(path: Path) -> bytes:
        with path.open("rb") as content:
            return content.read() + (b"# edited" if str(path) == file else b"")

    return read


def test_names_of_executors(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compare", "--executor", "treads"]) == 2
    expected = "executor: name is 'treads' but must be one of threads, processes or dask://HOST:PORT"
    assert capsys.readouterr().err.strip() == expected
    with pytest.raises(lb.InvalidValueError, match="executor: workers is 0"), open_executor("threads", workers=0):
        pass

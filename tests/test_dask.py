"""A real Dask scheduler with two worker processes: the same bits, whatever happens to the workers."""

import os
import runpy
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.compiled.cache import cache_root
from latentbandits.executors import open_executor
from latentbandits.simulation import blocks
from tests.test_blocks import same

distributed = pytest.importorskip("distributed") if os.environ.get("CI") != "true" else __import__("distributed")
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SIZES: dict[str, Any] = {"horizon": 2000, "draws": 60, "repeats": 1, "bins": 4}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """One cluster for all tests; its workers use the cache of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LATENTBANDITS_CACHE", str(cache_root()))
        here: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
        local = distributed.LocalCluster(n_workers=2, threads_per_worker=1, **here)
        yield local
        local.close(timeout=5)


@pytest.fixture
def address(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(blocks, "_EXECUTOR_ROUNDS", 2000)
    return f"dask://{cluster.scheduler_address.removeprefix('tcp://')}"


def play(executor: Any = None, **options: Any) -> lb.Results:
    return lb.simulate(lb.HiddenMarkov(), ["ucb1"], executor=executor, **SIZES, **options)


def test_two_workers_one_of_which_is_killed_half_way(
    cluster: Any, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    killed: list[int] = []

    def kill(done: int, total: int) -> None:
        if done > total / 2 and not killed:
            killed.append(next(iter(cluster.workers.values())).pid)
            os.kill(killed[0], signal.SIGKILL)

    with open_executor(address) as executor:
        same(play(executor, progress=kill), play())
    assert killed
    assert capsys.readouterr().err.startswith("Dask dashboard: http://127.0.0.1:")


def test_workers_whose_code_differs_are_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "digest_code", lambda *things: "0" * 16)
    with (
        open_executor(address) as executor,
        pytest.raises(lb.InvalidValueError, match="simulation: code of a worker is 'another'"),
    ):
        play(executor)


def test_the_example_advises_as_without_a_cluster(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "cluster" / "dask_cluster.py"))
    problem, policies = lb.Problem(states=2, horizon=300, runs=8), ["ucb1", "random"]
    advice = script["main"](address.removeprefix("dask://"), problem, policies)
    assert advice.values() == lb.advise(problem, policies, sweep=False).values()
    assert "ucb1" in capsys.readouterr().out


def test_a_scheduler_that_does_not_answer_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("latentbandits.executors.CONNECT", 0.2)
    for where in ("127.0.0.1:1", "nowhere"):
        assert cli.main(["compare", "--executor", f"dask://{where}"]) == 2
        line = capsys.readouterr().err.strip().splitlines()[-1]
        assert line.startswith(f"executor: dask is '{where}' but must be HOST:PORT of a scheduler (")

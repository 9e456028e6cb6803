"""A real Dask scheduler with two worker processes: the same bits, whatever happens to the workers."""

import json
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.compiled.cache import cache_root
from latentbandits.executors import opened
from latentbandits.executors.dask import Node, local_folder
from latentbandits.simulation import blocks, spread
from latentbandits_studies.experiments.store import Store
from tests.test_blocks import same
from tests.test_parts import content, tiny

distributed = pytest.importorskip("distributed") if os.environ.get("CI") != "true" else __import__("distributed")
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SIZES: dict[str, Any] = {"horizon": 2000, "draws": 60, "repeats": 1, "bins": 4}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """One cluster for all tests; its workers use the cache of the tests."""
    before = os.environ.get("LATENTBANDITS_CACHE")
    os.environ["LATENTBANDITS_CACHE"] = str(cache_root())
    made = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
    )
    yield made
    made.close(timeout=5)
    if before is None:
        del os.environ["LATENTBANDITS_CACHE"]


@pytest.fixture
def address(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(spread, "SECONDS", 0.004)
    monkeypatch.setattr(spread, "LEAST", 0.001)
    return f"dask://{cluster.scheduler_address.removeprefix('tcp://')}"


def play(executor: Any = None, **options: Any) -> Any:
    return lb.simulate(lb.HiddenMarkov(), ["ucb1"], executor=executor, **SIZES, **options)


def test_two_workers_one_of_which_is_killed_half_way(
    cluster: Any, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    killed: list[int] = []
    with opened(address) as executor:
        same(play(executor), play())

        def kill(done: int, total: int) -> None:
            if done > total / 2 and not killed:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)

        same(play(executor, progress=kill), play())
    assert killed
    assert capsys.readouterr().err.startswith("Dask dashboard: http://127.0.0.1:")


def test_a_worker_that_joins_late_plays_too(cluster: Any, address: str) -> None:
    with opened(address) as executor:
        threading.Timer(0.05, cluster.scale, (3,)).start()
        same(play(executor), play())
    cluster.scale(2)


def test_a_store_is_the_same_bytes(address: str, tmp_path: Path) -> None:
    with opened(address) as executor:
        Store(tmp_path / "dask").compute(tiny(), executor=executor)
    Store(tmp_path / "threads").compute(tiny())
    assert content(tmp_path / "dask") == content(tmp_path / "threads")


def test_workers_whose_code_differs_are_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "code_of", lambda block: "0" * 16)
    with (
        opened(address) as executor,
        pytest.raises(lb.Refusal, match=r"simulate: code of worker \S+ is '\w{16}'") as caught,
    ):
        play(executor)
    assert "must be that of the program which sends the work (0000000000000000)" in str(caught.value)


def test_the_example_advises_as_without_a_cluster(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "cluster" / "dask_cluster.py"))
    problem = lb.Problem(states=2, horizon=200, runs=8)
    found = script["main"](address.removeprefix("dask://"), problem, ["ucb1", "random"])
    assert found.values() == lb.advise(problem, ["ucb1", "random"], sweep=False).values()
    assert found.winner in capsys.readouterr().out


def test_a_scheduler_that_is_not_there_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("latentbandits.executors.dask.CONNECT", 0.2)
    assert cli.main(["compare", "--executor", "dask://127.0.0.1:9", "--horizon", "50", "--runs", "2"]) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("executor: dask is '127.0.0.1:9' but must be the address of a scheduler")
    assert "\n" not in said


@pytest.mark.parametrize("address", ["localhost", "127.0.0.1:notaport", ":8786", "127.0.0.1:0", "127.0.0.1:99999"])
def test_what_is_not_an_address_is_refused_before_anybody_looks_for_it(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("latentbandits.executors.dask.Client", lambda *_, **__: pytest.fail("a client was made"))
    with pytest.raises(lb.Refusal, match=r"executor: dask is '.*' but must be the address of a scheduler, HOST:PORT"):
        opened(f"dask://{address}").__enter__()


def test_a_scheduler_without_workers_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(spread, "LIMIT", 0.3)
    monkeypatch.setattr(spread, "TIMES", 0)
    here: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with distributed.LocalCluster(n_workers=0, **here) as nobody:
        where = nobody.scheduler_address.removeprefix("tcp://")
        sentence = r"block of runs 0 to \d+ is 'not done: the executor has no workers' but must be done within"
        with pytest.raises(lb.Refusal, match=sentence), opened(f"dask://{where}") as executor:
            play(executor)
    assert f"Waiting for workers: the scheduler at {where} has none yet." in capsys.readouterr().err


def test_a_scheduler_that_is_killed_ends_in_one_sentence_and_what_is_finished_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a user starts them: `dask scheduler` and `dask worker`."""
    monkeypatch.setattr(spread, "SECONDS", 1e-9)
    monkeypatch.setattr(spread, "LEAST", 1e-9)
    monkeypatch.setenv("LATENTBANDITS_CACHE", str(cache_root()))
    file, case = tmp_path / "scheduler.json", tiny(draws=200)
    start = [sys.executable, "-m", "dask"]
    here = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    scheduler = subprocess.Popen([*start, "scheduler", "--port", "0", *here], **quiet)
    worker = subprocess.Popen([*start, "worker", "--no-nanny", "--nthreads", "1", *here], **quiet)
    try:
        while not file.exists():
            assert scheduler.poll() is None
            time.sleep(0.1)
        where = json.loads(file.read_text())["address"].removeprefix("tcp://")
        with opened(f"dask://{where}") as executor:

            def kill(done: int, total: int) -> None:
                if done > total / 4:
                    scheduler.kill()

            with pytest.raises(lb.Refusal, match=r"simulate: answer of the executor is .*Error") as caught:
                Store(tmp_path / "out").compute(case, executor=executor, progress=kill)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
    assert "\n" not in str(caught.value)
    (left,) = Store(tmp_path / "out").left([case])
    assert 0 < sum(end - begin for begin, end in left["ucb1"]) < 400  # some runs were kept


def test_a_node_has_a_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.delenv("LATENTBANDITS_CACHE", raising=False)
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    Node().setup(None)
    assert os.environ["LATENTBANDITS_CACHE"] == str(local_folder())
    assert local_folder().parent == tmp_path
    assert local_folder().stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("LATENTBANDITS_CACHE", "given")
    Node().setup(None)
    assert os.environ["LATENTBANDITS_CACHE"] == "given"

"""What is made in the background, by whom, and how machine code is recognised: by its types."""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.agent import compiled_jobs
from latentbandits.compiled import background, cache, in_background, installed, loaded
from latentbandits.protocols import Choice, Policy
from tests.test_start import COMPILE, ONLINE, run

compiled = pytest.mark.compiled


class Mine(Policy):
    """User code."""

    arms: int = 2
    groups: int = 1

    def init(self) -> Any:
        return lb.policies.UCB1(2).init()

    def choose(self, memory: Any, context: np.ndarray, random: np.ndarray, choice: Choice) -> None:
        choice.arms[0] = 1

    def learn(self, memory: Any, choice: Choice, rewards: np.ndarray) -> None:
        pass


def never(_: Any) -> None:
    raise AssertionError("called")


def test_user_code_stays_interpreted_unless_it_is_compiled_now() -> None:
    assert not in_background(compiled_jobs(Mine()), never)
    assert lb.Agent(Mine()).ask().arms == (1,)


@compiled
def test_user_code_is_found_once_it_is_compiled() -> None:
    lb.Agent(Mine(), compiled=True)
    assert all(loaded(function, *args) for function, args in compiled_jobs(Mine()))
    assert in_background(compiled_jobs(Mine()), never) is False


@pytest.mark.parametrize("name", ["frozen", "executable"])
@pytest.mark.usefixtures("background_allowed")
def test_no_process_is_started_by_what_is_no_python(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A bundled program, or a server with Python inside, would start itself."""
    monkeypatch.setattr(cache, "place", lambda: cache.Place(tmp_path, tmp_path, private=False))
    monkeypatch.setattr(background, "place", cache.place)
    if name == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    else:
        monkeypatch.setattr(sys, "executable", "/usr/bin/uwsgi")
    assert not in_background(compiled_jobs(lb.policies.UCB1(2)), never)


def test_interpreted_by_request_means_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert not in_background(compiled_jobs(lb.policies.UCB1(2)), never)


def keys(policy: Any) -> list[Any]:
    return [cache.Code(function, args).key for function, args in compiled_jobs(policy)]


def test_one_code_serves_all_settings_of_the_same_types() -> None:
    assert keys(lb.policies.UCB1(2)) == keys(lb.policies.UCB1(arms=7, exploration=3))


def test_other_types_need_other_code() -> None:
    class UCB1(lb.policies.UCB1):
        """Of the same name, but not the same."""

    def double(x: Any) -> Any:
        return x

    assert keys(UCB1(2)) != keys(lb.policies.UCB1(2))
    made = np.zeros((2, 3))
    readonly = np.zeros((2, 3))
    readonly.flags.writeable = False
    examples = (
        1,
        1.0,
        True,
        None,
        "a",
        np.uint64(1),
        made,
        made[0],
        made.T,
        made[:, ::2],
        made > 0,
        readonly,
        (1, 2),
        (1, 2.0),
    )
    assert len({cache.Code(double, (example,)).key for example in examples}) == len(examples)
    assert len({cache._text(cache.Code(double, (example,)).key) for example in examples}) == len(examples)


@compiled
@pytest.mark.parametrize("name", ONLINE)
def test_what_another_process_compiles_has_the_same_types(name: str) -> None:
    """Only types are sent: empty arrays, tuples without their checks; numba and the markers see no difference."""
    import io
    import pickle

    from numba import typeof

    for function, args in compiled_jobs(lb.policy(name)):
        content = io.BytesIO()
        background._Pickler(content).dump(args)
        sent = pickle.loads(content.getvalue())
        assert [typeof(arg) for arg in sent] == [typeof(arg) for arg in args]
        assert cache._text(cache.Code(function, sent).key) == cache._text(cache.Code(function, args).key)


@compiled
def test_a_wrong_marker_costs_a_compilation_and_no_more(tmp_path: Path) -> None:
    script = COMPILE + "print(agents[0].ask().arms)"
    right = run(script, tmp_path)
    for file in tmp_path.rglob("*.nb?"):
        file.unlink()
    assert run(script, tmp_path) == right


@compiled
@pytest.mark.parametrize("trouble", ["no folder", "full disk"])
def test_a_cache_that_is_lost_on_the_way_costs_no_more_than_a_warning(trouble: str, tmp_path: Path) -> None:
    script = """
import errno, shutil, warnings
import latentbandits as lb
from latentbandits.agent import choose, learn
from latentbandits.compiled import CacheWarning, cache
from latentbandits.compiled.backend import _dispatcher

def full(*_):
    raise OSError(errno.ENOSPC, "no space left")

for function in (choose, learn):
    caching = _dispatcher(function, True)._cache
    if {trouble!r} == "full disk":
        caching.save_overload = full
if {trouble!r} == "no folder":
    shutil.rmtree(cache.place().folder)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    agent = lb.Agent("ucb1", compiled=True)
agent.tell(agent.ask(), 1.0)
print([w.category is CacheWarning for w in said])
print(len(list(cache.place().folder.glob("ready/*"))))
"""
    said, markers = run(script.format(trouble=trouble), tmp_path).splitlines()
    assert (said, markers) == ("[True]" if trouble == "full disk" else "[]", "0")


@compiled
@pytest.mark.usefixtures("background_allowed")
def test_what_cannot_be_made_is_tried_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = cache.Place(tmp_path, tmp_path, private=False)
    for module in (cache, background):
        monkeypatch.setattr(module, "place", lambda: place)
    monkeypatch.setattr(background, "_given_up", set())
    tried: list[Any] = []
    monkeypatch.setattr(background, "_compile_elsewhere", tried.append)
    jobs = compiled_jobs(lb.policies.UCB1(2))
    assert in_background(jobs, never)
    for thread in threading.enumerate():
        if thread.name == "latentbandits-compile":
            thread.join(60)
    assert not in_background(jobs, never)
    assert len(tried) == 1


@compiled
@pytest.mark.usefixtures("background_allowed")
def test_whoever_asks_for_what_is_under_way_shares_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = cache.Place(tmp_path, tmp_path, private=False)
    monkeypatch.setattr(cache, "place", lambda: place)
    monkeypatch.setattr(background, "place", lambda: place)
    (tmp_path / "ready").mkdir()
    started, go, done = [], threading.Event(), []

    def compile_elsewhere(codes: list[cache.Code]) -> None:
        started.append(len(codes))
        go.wait(60)
        for code in codes:
            marker = code._marker()
            assert marker is not None
            marker.touch()

    monkeypatch.setattr(background, "_compile_elsewhere", compile_elsewhere)
    jobs = compiled_jobs(lb.policies.UCB1(2))
    finished = threading.Barrier(2)

    def one_done(made: list[Callable[..., Any]]) -> None:
        done.append(made)
        if len(done) == 10:
            finished.wait(60)

    assert all(in_background(jobs, one_done) for _ in range(10))
    go.set()
    finished.wait(60)
    assert started == [2]
    assert all(made == done[0] for made in done)


def test_installed_does_not_import_numba(tmp_path: Path) -> None:
    script = "import sys; from latentbandits.compiled import installed; print(installed(), 'numba' in sys.modules)"
    assert run(script, tmp_path) == f"{installed()} False"
    assert run("import sys; sys.modules['numba'] = None\n" + script, tmp_path) == "False True"

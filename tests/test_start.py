"""A start without waiting: answers at once, without numba too; machine code comes later, once, and changes nothing."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.agent import compiled_jobs
from latentbandits.compiled import background, cache, in_background, installed, loaded, machine_code
from latentbandits.files import locked
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import Choice, Oracle

SOURCES = Path(lb.__file__).parents[1]
ONLINE = [name for name in REGISTRY if not isinstance(lb.policy(name), Oracle)]
HEAVY = ("matplotlib", "numba", "optuna", "pandas", "pyarrow", "scipy")
BLOCKED = f"import sys\nfor name in {HEAVY}: sys.modules[name] = None\n"
compiled = pytest.mark.compiled


def start(script: str, cache_at: Path, **more: Any) -> "subprocess.Popen[str]":
    """Start a Python that treats every warning as an error."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "LATENTBANDITS_CACHE": str(cache_at)}
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", script]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True, **more)


def run(script: str, cache_at: Path, **more: Any) -> str:
    """Run Python and return what it printed, which is nothing on the error stream."""
    with start(script, cache_at, **more) as process:
        out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    return out.strip()


USE = """
import latentbandits as lb
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import Oracle
import pathlib, tempfile
path = pathlib.Path(tempfile.mkdtemp()) / "agent"
for name in REGISTRY:
    policy = lb.policy(name)
    if not isinstance(policy, Oracle):
        agent = lb.Agent(policy, compiled=False)
        for reward in (0.1, 0.9, 0.4):
            agent.tell(agent.ask(), [reward] * policy.units)
        agent.save(path)
        assert lb.Agent.load(path).ask().arms == agent.ask().arms
"""


def test_everything_online_works_without_numba(tmp_path: Path) -> None:
    assert run(BLOCKED + USE.replace(", compiled=False", "") + "print('used')", tmp_path) == "used"


def test_nothing_online_imports_more_than_numpy(tmp_path: Path) -> None:
    used = USE + f"import sys; print([n for n in {HEAVY} if n in sys.modules])"
    assert run("import os; os.environ['NUMBA_DISABLE_JIT'] = '1'\n" + used, tmp_path) == "[]"


@pytest.mark.parametrize("arguments", [["policies"], ["policies", "state-library"], ["--help"], ["warm", "--help"]])
def test_commands_that_do_not_simulate_work_without_numba(arguments: list[str], tmp_path: Path) -> None:
    script = f"from latentbandits.cli import main\ntry: print(main({arguments}))\nexcept SystemExit as e: print(e.code)"
    assert run(BLOCKED + script, tmp_path).endswith("\n0")


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("demo", "sim"),
        ("compare", "sim"),
        ("advise", "sim"),
        ("trace ucb1", "sim"),
        ("tune ucb1", "sim"),
        ("reproduce", "sim"),
        ("warm", "sim"),
    ],
)
def test_commands_that_simulate_refuse_in_one_sentence_without_numba(command: str, extra: str, tmp_path: Path) -> None:
    script = f"from latentbandits.cli import main\nsys.exit(main({command.split()!r}))"
    with start(BLOCKED + script, tmp_path, cwd=tmp_path) as process:
        _, err = process.communicate()
    assert process.returncode == 2
    assert err.count("\n") == 1
    assert err.startswith(f"{command.split()[0]}: ")
    assert f"is not installed, `pip install 'latentbandits[{extra}]'` brings it" in err


def test_simulate_refuses_without_numba_unless_interpreted(tmp_path: Path) -> None:
    script = """
import latentbandits as lb
world, sizes = lb.HiddenMarkov(), dict(horizon=30, draws=1, repeats=1)
print(lb.simulate(world, ["ucb1"], interpreted=True, **sizes).regret.shape)
try:
    lb.simulate(world, ["ucb1"], **sizes)
except ModuleNotFoundError as problem:
    print(problem)
try:
    lb.compare
except ModuleNotFoundError as problem:
    print(problem)
"""
    shape, first, second = run(BLOCKED + script, tmp_path).splitlines()
    assert shape == "(1, 1)"
    assert first == "numba is not installed, `pip install 'latentbandits[sim]'` brings it"
    assert second == "pandas is not installed, `pip install 'latentbandits[sim]'` brings it"


SWITCH = """
import time
import latentbandits as lb
from latentbandits.compiled import loaded
from latentbandits.agent import compiled_jobs
agents = [lb.Agent("ucb1", seed=seed) for seed in range(20)]
end = time.monotonic() + 200
while not all(loaded(f, *args) for f, args in compiled_jobs(agents[0].policy)) and time.monotonic() < end:
    time.sleep(0.01)
"""


@compiled
def test_machine_code_comes_in_the_background_and_is_kept(tmp_path: Path) -> None:
    report = """
from latentbandits.agent import choose, learn
from latentbandits.compiled.compiler import _dispatcher
stats = [_dispatcher(f, True).stats for f in (choose, learn)]
print(*(sum(s.cache_misses.values()) for s in stats), *(sum(s.cache_hits.values()) for s in stats))
"""
    assert run(SWITCH + report, tmp_path) == "0 0 1 1"  # loaded once for all agents, compiled by another process
    begun = "import latentbandits.compiled.background as b\nb._compile_elsewhere = None\n"  # nothing is started again
    assert run(begun + SWITCH + report, tmp_path) == "0 0 1 1"


@compiled
def test_agents_switch_when_the_machine_code_is_there(tmp_path: Path) -> None:
    script = """
asked = []
while type(agents[-1]._player.choose).__name__ == "function" and time.monotonic() < end:
    time.sleep(0.01)
print({type(agent._player.choose).__name__ for agent in agents})
"""
    assert run(SWITCH + script, tmp_path) == "{'builtin_function_or_method'}"


def played(policy: Any, switch_at: int, rounds: int) -> tuple[list[Any], Any]:
    """Return the choices and the memory of an agent that goes over to machine code before step `switch_at`, of two a round."""
    agent = lb.Agent(policy, seed=3, compiled=False)
    made = [machine_code(function, *args) for function, args in compiled_jobs(policy)]
    rewards = np.random.default_rng(5).normal(size=(rounds, policy.units))
    choices = []
    for step in range(2 * rounds):
        if step == switch_at:
            agent._switch(made)
        if step % 2 == 0:
            choices.append(agent.ask())
        else:
            agent.tell(choices[-1], rewards[step // 2])
    return [(choice.arms, choice.why) for choice in choices], agent.memory


@compiled
@pytest.mark.parametrize("name", ONLINE)
def test_the_switch_to_machine_code_changes_no_choice_at_any_round(name: str) -> None:
    policy, rounds = lb.policy(name), 40
    choices, memory = played(policy, 2 * rounds, rounds)
    scratch = getattr(policy, "scratch", ())
    for switch_at in range(2 * rounds):
        found, after = played(policy, switch_at, rounds)
        assert found == choices
        for field in set(memory._fields) - set(scratch):
            assert getattr(memory, field).tobytes() == getattr(after, field).tobytes()


EXIT = """
import sys, time
import latentbandits as lb
lb.Agent("ucb1").ask()
time.sleep({delay})
"""


@compiled
def test_a_program_may_end_at_any_moment(tmp_path: Path) -> None:
    """With an empty cache and with a full one; nothing is said, nothing crashes."""
    for delay in (0, 0.1, 0.3, 1):
        run(EXIT.format(delay=delay), tmp_path / str(delay))
    run(SWITCH, tmp_path / "full")
    for delay in (0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7):
        run(EXIT.format(delay=delay), tmp_path / "full")


@compiled
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_begins_again(tmp_path: Path) -> None:
    script = """
import os, time, warnings
warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside threads
import latentbandits as lb
lb.Agent("ucb1")
time.sleep(0.2)
child = os.fork()
agent = lb.Agent("ucb1", compiled=True)
agent.tell(agent.ask(), 1.0)
if child:
    assert os.waitpid(child, 0)[1] == 0
print("done")
"""
    assert run(script, tmp_path).split() == ["done", "done"]


COMPILE = """
import latentbandits as lb
from latentbandits.agent import choose, learn
from latentbandits.compiled.compiler import _dispatcher
lb.Agent("ab-test", compiled=True)
print(*(sum(_dispatcher(f, True).stats.cache_misses.values()) for f in (choose, learn)))
"""


@compiled
def test_several_processes_compile_once(tmp_path: Path) -> None:
    processes = [start(COMPILE, tmp_path) for _ in range(4)]
    said = [process.communicate(timeout=300) for process in processes]
    misses = [tuple(map(int, out.split())) for out, _ in said]
    assert [sum(function) for function in zip(*misses, strict=True)] == [1, 1]
    assert [err for _, err in said] == [""] * 4


def test_a_lock_ends_with_its_killed_holder(tmp_path: Path) -> None:
    script = """
import pathlib, time
from latentbandits.files import locked
with locked(pathlib.Path({path!r})):
    print("held", flush=True)
    time.sleep(600)
"""
    path = tmp_path / "lock"
    with start(script.format(path=str(path)), tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        got = threading.Event()

        def wait() -> None:
            with locked(path):
                got.set()

        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        assert not got.wait(0.3)
        process.send_signal(signal.SIGKILL)
        assert got.wait(60)
        waiting.join()


UNWRITABLE = """
import warnings
warnings.simplefilter("always")
import latentbandits as lb
from latentbandits.agent import compiled_jobs
from latentbandits.compiled import CacheWarning, cache, loaded
import time
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    agents = [lb.Agent("ucb1"), lb.Agent("ts"), lb.Agent("random", compiled=True)]
print([(w.category is CacheWarning, "LATENTBANDITS_CACHE" in str(w.message), w.filename) for w in said])
end = time.monotonic() + 200
while not all(loaded(f, *args) for f, args in compiled_jobs(agents[0].policy)) and time.monotonic() < end:
    time.sleep(0.01)
print(all(loaded(f, *args) for f, args in compiled_jobs(agents[0].policy)))
"""


@compiled
def test_an_unwritable_cache_is_said_once_and_does_no_harm(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    (tmp_path / "private").mkdir()
    script = f"import tempfile; tempfile.tempdir = {str(tmp_path / 'private')!r}\n" + UNWRITABLE
    said, came = run(script, blocked / "cache").splitlines()
    assert said == "[(True, True, '<string>')]"
    assert came == "True"
    assert list((tmp_path / "private").iterdir()) == []  # nor does a process that still compiles leave anything


@compiled
def test_a_full_cache_that_cannot_be_written_to_is_used_silently(tmp_path: Path) -> None:
    """As in an image: filled by root, run by somebody else."""
    run(SWITCH, tmp_path)
    script = "import latentbandits.compiled.cache as c\nwritable = c._writable\n"
    script += f"c._writable = lambda folder: writable(folder) and {str(tmp_path)!r} not in str(folder)\n"
    report = "from latentbandits.compiled import cache\nprint(cache.place().private)"
    assert run(script + SWITCH + report, tmp_path) == "True"  # a warning would be an error


class Mine(NamedTuple):
    """User code."""

    arms: int = 2
    units: int = 1

    def init(self) -> Any:
        return lb.UCB1(2).init()

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
def test_no_process_is_started_by_what_is_no_python(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A bundled program, or a server with Python inside, would start itself."""
    monkeypatch.setattr(cache, "place", lambda: cache.Place(tmp_path, tmp_path, private=False))
    monkeypatch.setattr(background, "place", cache.place)
    if name == "frozen":
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    else:
        monkeypatch.setattr(sys, "executable", "/usr/bin/uwsgi")
    assert not in_background(compiled_jobs(lb.UCB1(2)), never)


def test_interpreted_by_request_means_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert not in_background(compiled_jobs(lb.UCB1(2)), never)


def keys(policy: Any) -> list[Any]:
    return [cache.Code(function, args).key for function, args in compiled_jobs(policy)]


def test_one_code_serves_all_settings_of_the_same_types() -> None:
    assert keys(lb.UCB1(2)) == keys(lb.UCB1(arms=7, exploration=3))


def test_other_types_need_other_code() -> None:
    class UCB1(lb.UCB1):
        """Of the same name, but not the same."""

    def double(x: Any) -> Any:
        return x

    assert keys(UCB1(2)) != keys(lb.UCB1(2))
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
    right = run(COMPILE + "print(lb.Agent('ab-test', compiled=True).ask().arms)", tmp_path)
    for file in tmp_path.rglob("*.nb?"):
        file.unlink()
    assert run(COMPILE + "print(lb.Agent('ab-test', compiled=True).ask().arms)", tmp_path) == right


@compiled
@pytest.mark.parametrize("trouble", ["no folder", "full disk"])
def test_a_cache_that_is_lost_on_the_way_costs_no_more_than_a_warning(trouble: str, tmp_path: Path) -> None:
    script = """
import errno, shutil, warnings
import latentbandits as lb
from latentbandits.agent import choose, learn
from latentbandits.compiled import CacheWarning, cache
from latentbandits.compiled.compiler import _dispatcher

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
print(len(list(cache.place().folder.rglob("*.json"))))
"""
    said, markers = run(script.format(trouble=trouble), tmp_path).splitlines()
    assert (said, markers) == ("[True]" if trouble == "full disk" else "[]", "0")


@compiled
def test_what_cannot_be_made_is_tried_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = cache.Place(tmp_path, tmp_path, private=False)
    for module in (cache, background):
        monkeypatch.setattr(module, "place", lambda: place)
    monkeypatch.setattr(background, "_given_up", set())
    tried: list[Any] = []
    monkeypatch.setattr(background, "_compile_elsewhere", tried.append)
    jobs = compiled_jobs(lb.UCB1(2))
    assert in_background(jobs, never)
    for thread in threading.enumerate():
        if thread.name == "latentbandits-compile":
            thread.join(60)
    assert not in_background(jobs, never)
    assert len(tried) == 1


@compiled
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
    jobs = compiled_jobs(lb.UCB1(2))
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

"""A start without waiting: answers at once, without numba too; machine code comes later, once, and changes nothing."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.agent import compiled_jobs
from latentbandits.compiled import machine_code
from latentbandits.files import locked
from latentbandits.memories import saved
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import Oracle

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
            agent.tell(agent.ask(), [reward] * policy.groups)
        agent.save(path)
        assert lb.Agent.load(path).ask().arms == agent.ask().arms
"""


def test_everything_online_works_without_numba(tmp_path: Path) -> None:
    assert run(BLOCKED + USE.replace(", compiled=False", "") + "print('used')", tmp_path) == "used"


def test_nothing_online_imports_more_than_numpy(tmp_path: Path) -> None:
    used = USE + f"import sys; print([n for n in {HEAVY} if n in sys.modules])"
    assert run("import os; os.environ['NUMBA_DISABLE_JIT'] = '1'\n" + used, tmp_path) == "[]"


def outcomes(commands: list[str], folder: Path) -> list[tuple[int, str, str]]:
    """Return what commands, run one after the other in a process without numba, end with, print and complain of."""
    script = f"""
import contextlib, io, json
from latentbandits.cli import main
for command in {commands}:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try: code = main(command.split())
        except SystemExit as end: code = end.code
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""
    return [tuple(json.loads(line)) for line in run(BLOCKED + script, folder, cwd=folder).splitlines()]


def test_commands_that_do_not_simulate_work_without_numba(tmp_path: Path) -> None:
    for code, out, err in outcomes(["policies", "policies state-library", "--help", "policies --help"], tmp_path):
        assert (code, err) == (0, "")
        assert out


def test_commands_that_simulate_refuse_in_one_sentence_without_numba(tmp_path: Path) -> None:
    commands = ["compare", "advise", "trace ucb1", "tune ucb1", "reproduce", "policies --compile"]
    for command, (code, _, err) in zip(commands, outcomes(commands, tmp_path), strict=True):
        assert (code, err.count("\n")) == (2, 1), command
        assert err.startswith(f"{command.split()[0]}: ")
        assert "is not installed, `pip install 'latentbandits[sim]'` brings it" in err


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


REPORT = """
from latentbandits.agent import choose, learn
from latentbandits.compiled.backend import _dispatcher
stats = [_dispatcher(f, True).stats for f in (choose, learn)]
print(*(sum(s.cache_misses.values()) for s in stats), *(sum(s.cache_hits.values()) for s in stats))
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A cache that agents have filled, and what they reported of it."""
    folder = tmp_path_factory.mktemp("full")
    return folder, run(SWITCH + REPORT, folder)


@pytest.fixture
def full(filled: tuple[Path, str]) -> Path:
    """A cache that has what these agents need."""
    return filled[0]


@compiled
def test_machine_code_comes_in_the_background_and_is_kept(filled: tuple[Path, str]) -> None:
    folder, said = filled
    assert said == "0 0 1 1"  # loaded once for all agents, compiled by another process
    begun = "import latentbandits.compiled.background as b\nb._compile_elsewhere = None\n"  # nothing is started again
    assert run(begun + SWITCH + REPORT, folder) == "0 0 1 1"


@compiled
def test_agents_switch_when_the_machine_code_is_there(full: Path) -> None:
    script = """
asked = []
while type(agents[-1]._player.choose).__name__ == "function" and time.monotonic() < end:
    time.sleep(0.01)
print({type(agent._player.choose).__name__ for agent in agents})
"""
    assert run(SWITCH + script, full) == "{'builtin_function_or_method'}"


def played(policy: Any, switch_at: int, rounds: int) -> tuple[list[Any], Any]:
    """Return the choices and the memory of an agent that goes over to machine code before step `switch_at`, of two a round."""
    agent = lb.Agent(policy, seed=3, compiled=False)
    made = [machine_code(function, *args) for function, args in compiled_jobs(policy)]
    rewards = np.random.default_rng(5).normal(size=(rounds, policy.groups))
    choices = []
    for step in range(2 * rounds):
        if step == switch_at:
            agent._switch(made)
        if step % 2 == 0:
            choices.append(agent.ask())
        else:
            agent.tell(choices[-1], rewards[step // 2])
    return [(choice.arms, choice.probe_reasons) for choice in choices], agent.memory


@compiled
@pytest.mark.parametrize("name", ONLINE)
def test_the_switch_to_machine_code_changes_no_choice(name: str) -> None:
    """Before an `ask` and before a `tell`, early and late."""
    policy, rounds = lb.policy(name), 40
    choices, memory = played(policy, 2 * rounds, rounds)
    for switch_at in (0, 7, 28, 2 * rounds - 1):  # before an `ask` and before a `tell`
        found, after = played(policy, switch_at, rounds)
        assert found == choices
        kept = saved(policy, after)
        for part, array in saved(policy, memory).items():
            assert array.tobytes() == kept[part].tobytes(), part


EXIT = """
import sys, time
import latentbandits as lb
lb.Agent("ucb1").ask()
time.sleep({delay})
"""


@compiled
@pytest.mark.parametrize("delays", [(0, 0.3), pytest.param((0.1, 0.2, 0.4, 0.5, 0.6), marks=pytest.mark.slow)])
def test_a_program_may_end_at_any_moment(delays: tuple[float, ...], full: Path, tmp_path: Path) -> None:
    """With an empty cache and with a full one; nothing is said, nothing crashes."""
    for delay in delays[::2]:
        run(EXIT.format(delay=delay), tmp_path / str(delay))
    for delay in delays:
        run(EXIT.format(delay=delay), full)


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
from latentbandits.compiled.backend import _dispatcher
agents = [lb.Agent(name, compiled=True) for name in ("ab-test",)]
print(*(sum(_dispatcher(f, True).stats.cache_misses.values()) for f in (choose, learn)))
"""


@compiled
def test_several_processes_compile_once(tmp_path: Path) -> None:
    processes = [start(COMPILE, tmp_path) for _ in range(3)]
    said = [process.communicate(timeout=300) for process in processes]
    misses = [tuple(map(int, out.split())) for out, _ in said]
    assert [sum(function) for function in zip(*misses, strict=True)] == [1, 1]
    assert [err for _, err in said] == [""] * 3


HOLD = """
import contextlib, pathlib, time
from latentbandits.compiled import cache
locked, go = cache.locked, pathlib.Path({go!r})
@contextlib.contextmanager
def held(path):
    with locked(path):
        print("held", flush=True)
        end = time.monotonic() + 100
        while not go.exists():
            assert time.monotonic() < end
            time.sleep(0.01)
        yield
cache.locked = held
"""


@compiled
def test_processes_that_compile_different_policies_do_not_wait_for_each_other(tmp_path: Path) -> None:
    """And both are kept, though the same function has one index."""
    go, other = tmp_path / "go", COMPILE.replace("ab-test", "random")
    both = COMPILE.replace('"ab-test",', '"ab-test", "random"')
    with start(HOLD.format(go=str(go)) + COMPILE, tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        assert run(other, tmp_path) == "1 1"
        go.touch()
        assert process.communicate(timeout=300) == ("held\n1 1\n", "")
    assert run(both, tmp_path) == "0 0"


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
    agents = [lb.Agent("ucb1"), lb.Agent("ucb1:exploration=3"), lb.Agent("random", compiled=True)]
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
def test_a_full_cache_that_cannot_be_written_to_is_used_silently(full: Path) -> None:
    """As in an image: filled by root, run by somebody else."""
    script = "import latentbandits.compiled.cache as c\nwritable = c._writable\n"
    script += f"c._writable = lambda folder: writable(folder) and {str(full)!r} not in str(folder)\n"
    report = "from latentbandits.compiled import cache\nprint(cache.place().private)"
    assert run(script + SWITCH + report, full) == "True"  # a warning would be an error

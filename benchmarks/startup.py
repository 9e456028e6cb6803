"""What a fresh install and a fresh process pay: megabytes, importing, the first decision, compiling, starting from the cache, memory."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figures import Figure, fastest, say, seconds

_IMPORT = """
import sys, time
start = time.perf_counter()
import latentbandits as lb
lb.policy("ucb1")
print(time.perf_counter() - start)
assert "numba" not in sys.modules, "importing latentbandits has imported numba"
"""
_ALL_POLICIES = """
import latentbandits as lb
from latentbandits.policies.registry import REGISTRY
lb.simulate(lb.HiddenMarkov(), REGISTRY.keys(), horizon=20, draws=1, repeats=1)
"""
_FIRST_ASK = """
import sys, time
start = time.perf_counter()
import latentbandits as lb
agent = lb.Agent("state-library")
agent.ask()
print(time.perf_counter() - start)
from latentbandits.agent import compiled_jobs
from latentbandits.compiled import installed, loaded
while installed() and not all(loaded(function, *args) for function, args in compiled_jobs(agent.policy)):
    time.sleep(0.01)
print(time.perf_counter() - start)
"""
_MEMORY = """
import resource, sys
import latentbandits as lb
lb.simulate(lb.HiddenMarkov(), ["adarp-ucb", "lc-ucb", "ucb1"], horizon=20_000, draws=128, repeats=5)
group = 1 if sys.platform == "darwin" else 1024  # kilobytes, but on a Mac
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * group / 2**20)
"""


def measure() -> list[Figure]:
    """Measure it all with a cache of our own; call it first, for a child's peak memory is never below its parent's."""
    with tempfile.TemporaryDirectory() as cache:
        say("startup: import, compile everything, start again from the cache")
        imported = min(float(_python(_IMPORT, cache)) for _ in range(7))
        cold = seconds(lambda: _python(_ALL_POLICIES, cache))
        warm = fastest({"warm": lambda: _python(_ALL_POLICIES, cache)}, repeats=5)["warm"]
        say("memory: 640 runs of three policies")
        peak = float(_python(_MEMORY, cache))
    return [
        Figure("import_seconds", imported, "< 0.3", "import latentbandits and make a policy, without numba"),
        Figure("cold_compile_seconds", cold, "< 60", "fresh process, empty cache: a tiny simulation of all policies"),
        Figure("warm_start_seconds", warm, "< 2.5", "the same process with a warm cache"),
        *_help(),
        *_fresh_installs(),
        Figure("simulate_640_runs_peak_mb", peak, "< 1024", "peak memory of 640 runs of 20,000 rounds, three policies"),
    ]


def _python(code: str, cache: str, python: str = sys.executable) -> str:
    """Run code in a fresh interpreter and return what it printed."""
    environment = {**os.environ, "LATENTBANDITS_CACHE": cache}
    if python != sys.executable:  # an installed package, not these sources
        environment.pop("PYTHONPATH", None)
    command = [python, "-P", "-c", code]
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def _fresh_installs() -> list[Figure]:
    """Install into empty environments with and without numba, and time the first decision there."""
    found: dict[str, float | None] = {}
    for kind, extra in (("plain", ""), ("sim", "[sim]")):
        say(f"startup: pip install 'latentbandits{extra}' into an empty environment, first decisions")
        with tempfile.TemporaryDirectory() as folder:
            try:
                python, found[f"{kind}_mb"] = _install(Path(folder) / "venv", extra)
            except subprocess.CalledProcessError as problem:  # no registry can be reached
                say(f"skipped: {problem}")
                continue
            cache = str(Path(folder) / "cache")
            asked = _first_ask(python, cache)
            found[f"{kind}_empty"], found[f"{kind}_switch"] = asked
            again = [_first_ask(python, cache) for _ in range(5)]
            found[f"{kind}_full"], found[f"{kind}_switch_full"] = (min(times) for times in zip(*again, strict=True))
    first = "process that imports latentbandits, to state-library's first decision"
    switch = "the same, to machine code"
    return [
        Figure("installed_mb", found.get("plain_mb"), "< 120", "installed by pip install latentbandits"),
        Figure("installed_sim_mb", found.get("sim_mb"), "", "installed by pip install 'latentbandits[sim]'"),
        Figure("first_ask_seconds", found.get("plain_full"), "< 0.5", f"without numba: {first}"),
        Figure("first_ask_numba_empty_seconds", found.get("sim_empty"), "< 0.5", f"with numba, empty cache: {first}"),
        Figure("first_ask_numba_full_seconds", found.get("sim_full"), "< 0.5", f"with numba, full cache: {first}"),
        Figure("machine_code_empty_seconds", found.get("sim_switch"), "", f"with an empty cache: {switch}"),
        Figure("machine_code_full_seconds", found.get("sim_switch_full"), "", f"with a full cache: {switch}"),
    ]


def _install(venv: Path, extra: str) -> tuple[str, float]:
    """Install this project into a new environment; return its Python and the megabytes that were added."""
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    python, before = str(venv / "bin" / "python"), _megabytes(venv)
    project = str(Path(__file__).parents[1])
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"{project}{extra}"], check=True)
    return python, _megabytes(venv) - before


def _megabytes(folder: Path) -> float:
    return sum(file.lstat().st_size for file in folder.rglob("*")) / 1e6


def _first_ask(python: str, cache: str) -> tuple[float, float]:
    """Return the seconds to the first decision, and to machine code (if there is any)."""
    asked, switched = map(float, _python(_FIRST_ASK, cache, python).split())
    return asked, switched


def _help() -> list[Figure]:
    """Time the command's help, if the command is installed and works."""
    command = Path(sys.executable).with_name("latentbandits")
    if not command.exists():
        return []

    def run() -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([command, "--help"], capture_output=True)

    if b"policies" not in run().stdout:  # installed, but its program is not there
        return []
    best = fastest({"help": run}, repeats=5)["help"]
    return [Figure("help_seconds", best, "", "latentbandits --help")]

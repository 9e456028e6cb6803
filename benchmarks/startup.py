"""What a fresh process pays: importing, compiling, starting from the cache, and memory."""

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
_MEMORY = """
import resource, sys
import latentbandits as lb
lb.simulate(lb.HiddenMarkov(), ["adarp-ucb", "lc-ucb", "ucb1"], horizon=20_000, draws=128, repeats=5)
unit = 1 if sys.platform == "darwin" else 1024  # kilobytes, but on a Mac
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20)
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
        Figure("simulate_640_runs_peak_mb", peak, "< 1024", "peak memory of 640 runs of 20,000 rounds, three policies"),
    ]


def _python(code: str, cache: str) -> str:
    """Run code in a fresh interpreter and return what it printed."""
    environment = {**os.environ, "LATENTBANDITS_CACHE": cache}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


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

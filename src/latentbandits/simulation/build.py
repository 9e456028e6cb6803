"""The build that plays: versions, machine, C library and processor; and a probe of what the engine computes with them.

Sources say what is computed, but logarithms are the C library's, sums are NumPy's and machine code is the compiler's: two builds of the same
sources may differ in the last bit. The **probe** is a digest over small runs; builds whose probes agree compute the same.
"""

import contextlib
import functools
import hashlib
import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from latentbandits.compiled.cache import disabled, place
from latentbandits.files import write_whole

# They use between them logarithms, exponentials, square roots, normal numbers and linear regression
PROBED = ("ucb1", "exp3", "lc-ts")
_ROUNDS, _RUNS = 300, 3
_FEATURES = ("flags", "Features", "CPU implementer", "CPU part")  # lines of /proc/cpuinfo


class Build(NamedTuple):
    """What computes beside the sources.

    Attributes
    ----------
    python, numpy, numba, llvmlite : versions; "interpreted" for numba where nothing is compiled
    libc, system, machine, processor : C library, operating system, architecture, model of the processor
    features : what the processor can do
    """

    python: str
    numpy: str
    numba: str
    llvmlite: str
    libc: str
    system: str
    machine: str
    processor: str
    features: str

    @property
    def id(self) -> str:
        """A digest of everything in it."""
        return hashlib.sha256("\0".join(self).encode()).hexdigest()[:8]

    def text(self) -> str:
        """Return it in a line."""
        versions = f"Python {self.python}, NumPy {self.numpy}, numba {self.numba}, {self.libc}"
        return f"{self.id}: {versions}, {self.system} {self.machine}, {self.processor}"


@functools.cache
def this_build() -> Build:
    """Return the build of this process.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.simulation.build import this_build
    >>> this_build().numpy == np.__version__, len(this_build().id)
    (True, 8)
    """
    lines: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines():
            name, _, value = line.partition(":")
            lines[name.strip()] = value.strip()
    chosen = [os.environ.get(name, "") for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")]
    features = " ".join(filter(None, [*(lines.get(name, "") for name in _FEATURES), *chosen]))
    return Build(
        platform.python_version(),
        _version("numpy"),
        "interpreted" if disabled() else _version("numba"),
        _version("llvmlite"),
        " ".join(platform.libc_ver()).strip() or "unknown",
        platform.system(),
        platform.machine(),
        lines.get("model name", platform.processor() or "unknown"),
        features,
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


@functools.cache
def probe() -> str:
    """Return the digest of small runs in this build: computed once, then kept beside the machine code.

    Examples
    --------
    >>> from latentbandits.simulation.build import probe
    >>> len(probe())
    16
    """
    where = place()
    file = None if where is None else where.folder / f"probe-{this_build().id}.json"
    if file is not None:
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            kept: dict[str, Any] = json.loads(file.read_text())
            return str(kept["probe"])
    found = _probe()
    if file is not None:
        with contextlib.suppress(OSError):
            write_whole(file, json.dumps({"probe": found}).encode())
    return found


def _probe() -> str:
    from latentbandits.simulation.blocks import Block, play_block
    from latentbandits.specs import policy
    from latentbandits.worlds.hidden_markov import HiddenMarkov

    made = hashlib.sha256()
    for rewards in ("gaussian", "bernoulli"):
        contestants = {name: policy(name) for name in PROBED}
        world = HiddenMarkov(states=3, rewards=rewards)
        piece = play_block(Block(world, contestants, _ROUNDS, 1, seed=7, first=0, bins=10, begin=0, end=_RUNS))
        made.update(piece.regret.tobytes() + piece.optimal.tobytes())
    return made.hexdigest()[:16]

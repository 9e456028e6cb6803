"""The C kernel that everything is measured against: compiled at bench time, called by ctypes."""

import ctypes
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import latentbandits as lb
from latentbandits.protocols import Realisation

_SOURCE = Path(__file__).with_name("adarp.c")
_DOUBLE, _LONG, _POINTER = ctypes.c_double, ctypes.c_long, ctypes.c_void_p
Kernel = Callable[[Realisation], tuple[float, int]]


def compiler() -> list[str]:
    """Return the C compiler's command, or leave with one sentence."""
    command = shlex.split(os.environ.get("CC", "")) or ["gcc" if shutil.which("gcc") else "cc"]
    if shutil.which(command[0]) is None:
        sys.exit("The benchmarks need a C compiler (gcc or cc, or the one that CC names) and found none.")
    return command


def build(folder: str) -> Kernel:
    """Compile the kernel into a folder; return a function from a table to regret per group and number of probes."""
    library = Path(folder) / "adarp.so"
    flags = ["-O3", "-march=native", "-shared", "-fPIC"]
    subprocess.run([*compiler(), *flags, str(_SOURCE), "-o", str(library), "-lm"], check=True)
    adarp = ctypes.CDLL(str(library)).adarp
    adarp.restype = _DOUBLE
    adarp.argtypes = [_LONG, _POINTER, _POINTER, *[_DOUBLE] * 5, _LONG, _LONG, _POINTER]
    policy = lb.policy("adarp-ucb")
    # read from the policy, so that the two cannot drift apart
    settings = (
        policy.exploration,
        policy.regularization,
        policy.residual_threshold,
        policy.residual_floor,
        policy.margin,
        policy.staleness,
        policy.min_gap,
    )

    def run(table: Realisation) -> tuple[float, int]:
        probes = _LONG()
        means, rewards = _address(table.means), _address(table.rewards)
        regret = adarp(len(table.means), means, rewards, *settings, ctypes.byref(probes))
        return float(regret), probes.value

    return run


def _address(array: np.ndarray) -> int:
    if array.dtype != np.float64 or not array.flags.c_contiguous:
        raise TypeError("the kernel reads contiguous doubles only")
    return array.ctypes.data

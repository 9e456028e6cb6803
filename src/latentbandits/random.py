"""Randomness as an argument: a stream is an array with one 64-bit word, and every draw moves it on.

The generator is SplitMix64 (Steele, Lea & Flood 2014): a counter stepped by a fixed odd number and scrambled. One word is its whole
state, so it can be saved exactly, copied cheaply and used in any thread. Normal variates come by inversion (Wichura's algorithm
AS 241, relative error about 1e-16), so every draw costs exactly one word.
"""

import math
from enum import IntEnum
from typing import Any

import numpy as np

from latentbandits.compiled import kernel

Stream = np.ndarray[Any, np.dtype[np.uint64]]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_30, _27, _31, _12 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(12)


class Purpose(IntEnum):
    """What a random stream is for; the first step of its path, so that no two purposes share a stream."""

    WORLD = 0
    PATH = 1
    NOISE = 2
    POLICY = 3


def stream(seed: int, *path: int) -> Stream:
    """Return the random stream named by a seed and a path of non-negative integers.

    Examples
    --------
    >>> from latentbandits.random import stream
    >>> bool(stream(1, 2) == stream(1, 2)), bool(stream(1, 2) == stream(1, 3))
    (True, False)
    """
    return np.random.SeedSequence(entropy=seed, spawn_key=path).generate_state(1, np.uint64).astype(np.uint64)


@kernel
def word(random: Stream) -> np.uint64:
    """Draw 64 random bits."""
    random[0] += _STEP
    z = random[0]
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)  # type: ignore[no-any-return]


@kernel
def uniform(random: Stream) -> float:
    """Draw a number from the open interval (0, 1): the middle of one of 2^52 cells, so never 0 or 1."""
    return (np.float64(word(random) >> _12) + 0.5) * 2.220446049250313e-16  # 2^-52


@kernel
def below(random: Stream, n: int) -> int:
    """Draw an integer from 0, ..., n - 1."""
    return min(int(uniform(random) * n), n - 1)


@kernel
def normal(random: Stream) -> float:
    """Draw a standard normal number."""
    return quantile(uniform(random))


@kernel
def quantile(p: float) -> float:
    """Return the standard normal quantile at p in (0, 1); Wichura (1988), Applied Statistics 37, algorithm AS 241, PPND16."""
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        # fmt: off
        top = (((((((2.5090809287301226727e+3 * r + 3.3430575583588128105e+4) * r + 6.7265770927008700853e+4) * r
                  + 4.5921953931549871457e+4) * r + 1.3731693765509461125e+4) * r + 1.9715909503065514427e+3) * r
               + 1.3314166789178437745e+2) * r + 3.3871328727963666080e+0)
        bottom = (((((((5.2264952788528545610e+3 * r + 2.8729085735721942674e+4) * r + 3.9307895800092710610e+4) * r
                     + 2.1213794301586595867e+4) * r + 5.3941960214247511077e+3) * r + 6.8718700749205790830e+2) * r
                  + 4.2313330701600911252e+1) * r + 1.0)
        # fmt: on
        return q * top / bottom
    r = math.sqrt(-math.log(p if q < 0 else 1.0 - p))
    if r <= 5.0:
        r -= 1.6
        # fmt: off
        top = (((((((7.74545014278341407640e-4 * r + 2.27238449892691845833e-2) * r + 2.41780725177450611770e-1) * r
                  + 1.27045825245236838258e+0) * r + 3.64784832476320460504e+0) * r + 5.76949722146069140550e+0) * r
               + 4.63033784615654529590e+0) * r + 1.42343711074968357734e+0)
        bottom = (((((((1.05075007164441684324e-9 * r + 5.47593808499534494600e-4) * r + 1.51986665636164571966e-2) * r
                     + 1.48103976427480074590e-1) * r + 6.89767334985100004550e-1) * r + 1.67638483018380384940e+0) * r
                  + 2.05319162663775882187e+0) * r + 1.0)
        # fmt: on
    else:
        r -= 5.0
        # fmt: off
        top = (((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r + 1.24266094738807843860e-3) * r
                  + 2.65321895265761230930e-2) * r + 2.96560571828504891230e-1) * r + 1.78482653991729133580e+0) * r
               + 5.46378491116411436990e+0) * r + 6.65790464350110377720e+0)
        bottom = (((((((2.04426310338993978564e-15 * r + 1.42151175831644588870e-7) * r + 1.84631831751005468180e-5) * r
                     + 7.86869131145613259100e-4) * r + 1.48753612908506148525e-2) * r + 1.36929880922735805310e-1) * r
                  + 5.99832206555887937690e-1) * r + 1.0)
        # fmt: on
    return -top / bottom if q < 0 else top / bottom

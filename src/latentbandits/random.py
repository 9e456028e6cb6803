"""Randomness as an argument: a stream is an array with one 64-bit word, and every sampled number moves it on.

The generator is SplitMix64 (Steele, Lea & Flood 2014): a counter stepped by a fixed odd number and scrambled. One word is all that it
keeps, so it can be saved exactly, copied cheaply and used in any thread.
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
_0, _1, _12, _27, _30, _31 = (np.uint64(n) for n in (0, 1, 12, 27, 30, 31))


class Purpose(IntEnum):
    """What a random stream is for; the first step of its path, so that no two purposes share a stream."""

    WORLD = 0
    PATH = 1
    NOISE = 2
    POLICY = 3
    PROBLEM = 4
    AGENT = 5
    DELIVERY = 6
    MEANS = 7
    VISITS = 8
    EFFECTS = 9
    SHAPE = 10
    AVAILABLE = 11
    IMAGINATION = 20


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
    """Sample 64 random bits."""
    random[0] += _STEP
    z = random[0]
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)  # type: ignore[no-any-return]


@kernel
def uniform(random: Stream) -> float:
    """Sample a number from the open interval (0, 1): the middle of one of 2^52 cells, so never 0 or 1."""
    return (np.float64(word(random) >> _12) + 0.5) * 2.220446049250313e-16  # 2^-52


@kernel
def below(random: Stream, n: int) -> int:
    """Sample an integer from 0, ..., n - 1."""
    return min(int(uniform(random) * n), n - 1)


@kernel
def normal(random: Stream) -> float:
    """Sample a standard normal number by the ziggurat of Marsaglia & Tsang (2000): 99 % of the numbers cost one word and one product."""
    while True:
        bits = word(random)
        layer = bits & _LAST_LAYER
        x = np.float64(bits >> _12) * 2.220446049250313e-16 * _EDGES[layer]  # 2^-52
        if x >= _EDGES[layer + _1]:  # not inside the layer's rectangle
            if layer == _0:  # the tail: Marsaglia's exact method
                x = -math.log(uniform(random)) / _TAIL
                while -2.0 * math.log(uniform(random)) < x * x:
                    x = -math.log(uniform(random)) / _TAIL
                x += _TAIL
            else:
                low, high = _HEIGHTS[layer], _HEIGHTS[layer + _1]
                if low + uniform(random) * (high - low) >= math.exp(-0.5 * x * x):
                    continue
        return -float(x) if bits & _SIGN else float(x)


def _ziggurat(layers: int, tail: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the right edges of layers of equal area under exp(-x^2/2), from the base up, and the curve's heights there."""

    def height(x: float) -> float:
        return math.exp(-0.5 * x * x)

    area = tail * height(tail) + math.sqrt(math.pi / 2) * math.erfc(tail / math.sqrt(2))
    edges = [area / height(tail), tail]
    while len(edges) < layers:
        edges.append(math.sqrt(-2 * math.log(area / edges[-1] + height(edges[-1]))))
    edges.append(0.0)
    return np.array(edges), np.array([height(x) for x in edges])


# Where the tail begins when 256 layers close exactly
_TAIL = 3.6541528853610088
_LAST_LAYER, _SIGN = np.uint64(255), np.uint64(256)
_EDGES, _HEIGHTS = _ziggurat(256, _TAIL)

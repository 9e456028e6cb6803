"""The noise of rewards: its shape, and how its size differs between arms, states and times."""

import math
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from latentbandits.compiled import fast

Size = tuple[int, ...]

MODE = 0.9  # of bimodal noise, in standard deviations
OUTLIERS, LARGER = 0.01, 20.0  # share of outliers, and how many times larger they are
CHANGES = 500.0  # rounds for which the size of changing noise lasts, on average


def student(generator: np.random.Generator, degrees: int, size: Size) -> np.ndarray:
    """Sample numbers of Student's t distribution, scaled to a variance of 1."""
    return generator.standard_t(degrees, size) * math.sqrt((degrees - 2) / degrees)


def bimodal(generator: np.random.Generator, size: Size) -> np.ndarray:
    """Sample numbers around two modes, with a variance of 1."""
    pairs = generator.standard_normal((*size, 2))
    return MODE * np.sign(pairs[..., 0]) + math.sqrt(1 - MODE**2) * pairs[..., 1]


def outliers(generator: np.random.Generator, size: Size) -> np.ndarray:
    """Sample normal numbers of which some are much larger, with a variance of 1 in all."""
    pairs = generator.standard_normal((*size, 2))
    values = np.where(pairs[..., 0] < NormalDist().inv_cdf(OUTLIERS), LARGER, 1.0) * pairs[..., 1]
    return values / math.sqrt(1 - OUTLIERS + OUTLIERS * LARGER**2)


class Shape(NamedTuple):
    """A shape of noise: what it is, and a function that samples numbers with mean 0 and variance 1."""

    summary: str
    sample: Callable[[np.random.Generator, Size], np.ndarray]


SHAPES: Mapping[str, Shape] = {
    "normal": Shape("the bell curve", lambda generator, size: generator.standard_normal(size)),
    "t3": Shape("Student's t with 3 degrees of freedom", lambda generator, size: student(generator, 3, size)),
    "t5": Shape("with 5: milder", lambda generator, size: student(generator, 5, size)),
    "laplace": Shape("two-sided exponential", lambda generator, size: generator.laplace(0, math.sqrt(0.5), size)),
    "bimodal": Shape("around two modes", bimodal),
    "outliers": Shape(f"normal, but one in {1 / OUTLIERS:g} is {LARGER:g} times larger", outliers),
}


def correlate(noise: np.ndarray, weight: float) -> None:
    """Turn independent numbers into an autoregressive sequence of the same variance, in place, along the first axis."""
    fresh = math.sqrt(1.0 - weight * weight)
    for t in range(1, noise.shape[0]):
        for group in range(noise.shape[1]):
            noise[t, group] = weight * noise[t - 1, group] + fresh * noise[t, group]


def standardised(
    generator: np.random.Generator, shape: str, autocorrelation: float, rounds: int, groups: int
) -> np.ndarray:
    """Return noise with mean 0 and variance 1, an array (rounds, groups).

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.worlds.noise import standardised
    >>> noise = standardised(np.random.default_rng(0), "laplace", 0.5, 20_000, 1)[:, 0]
    >>> round(float(noise.std()), 1), round(float(np.corrcoef(noise[1:], noise[:-1])[0, 1]), 1)
    (1.0, 0.5)
    """
    values = np.ascontiguousarray(SHAPES[shape].sample(generator, (rounds, groups)), dtype=np.float64)
    if autocorrelation > 0:
        fast(correlate)(values, autocorrelation)
    return values


def unequal(generator: np.random.Generator, factor: float, count: int) -> np.ndarray:
    """Return factors for the noise of several arms or states: the largest is at most `factor` times the smallest."""
    return factor ** (generator.random(count) - 0.5)


def alternating(generator: np.random.Generator, factor: float, rounds: int) -> np.ndarray:
    """Return factors over time: two levels that follow each other after random times, the upper `factor` times the lower."""
    uniform = generator.random(rounds)
    uniform[:1] = np.where(uniform[:1] < 0.5, 0.0, 1.0)  # it begins in either
    upper = np.cumsum(uniform < 1 / CHANGES) % 2
    return math.sqrt(2 / (1 + factor**2)) * np.where(upper, factor, 1.0)

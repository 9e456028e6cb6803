import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from latentbandits.compiled import fast
from latentbandits.random import Purpose, below, normal, quantile, stream, uniform, word


def uniforms(random: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(out)):
        out[i] = uniform(random)


def normals(random: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(out)):
        out[i] = normal(random)


def choices(random: np.ndarray, n: int, out: np.ndarray) -> None:
    for i in range(len(out)):
        out[i] = below(random, n)


def quantiles(p: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(p)):
        out[i] = quantile(p[i])


@pytest.mark.parametrize("seed", range(3))
def test_samplers_against_scipy(seed: int) -> None:
    flat, bell, dice = np.empty(100_000), np.empty(100_000), np.empty(100_000)
    fast(uniforms)(stream(seed), flat)
    fast(normals)(stream(seed, 1), bell)
    fast(choices)(stream(seed, 2), 7, dice)
    assert stats.kstest(flat, "uniform").pvalue > 1e-4
    assert stats.kstest(bell, "norm").pvalue > 1e-4
    assert stats.chisquare(np.bincount(dice.astype(int), minlength=7)).pvalue > 1e-4
    for sample in (flat - 0.5, bell):
        assert abs(np.corrcoef(sample[1:], sample[:-1])[0, 1]) < 0.02


def test_quantile_is_scipys() -> None:
    p = np.concatenate([np.linspace(1e-6, 1 - 1e-6, 10_001), 10.0 ** -np.linspace(1, 300, 500), [2.0**-53]])
    out = np.empty_like(p)
    fast(quantiles)(p, out)
    np.testing.assert_allclose(out, special.ndtri(p), rtol=5e-15, atol=1e-15)


def test_the_generator_is_splitmix64() -> None:
    """The first outputs for state 1234567, as published with the reference implementation."""
    random = np.array([1234567], np.uint64)
    with np.errstate(over="ignore"):
        drawn = [int(word(random)) for _ in range(3)]
    assert drawn == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@given(st.integers(0, 2**64 - 1))
def test_uniform_is_strictly_inside(start: int) -> None:
    with np.errstate(over="ignore"):
        assert 0 < uniform(np.array([start], np.uint64)) < 1


@given(st.integers(0, 2**64 - 1))
def test_compiled_and_interpreted_draw_the_same(start: int) -> None:
    out = np.empty(8)
    fast(normals)(np.array([start], np.uint64), out)
    random = np.array([start], np.uint64)
    with np.errstate(over="ignore"):
        assert out.tolist() == [normal(random) for _ in range(8)]


def test_streams_differ() -> None:
    paths = [(seed, purpose, draw) for seed in range(4) for purpose in Purpose for draw in range(20)]
    assert len({int(stream(*path)[0]) for path in paths}) == len(paths)

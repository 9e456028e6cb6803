import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from latentbandits.compiled import fast
from latentbandits.random import _EDGES, _HEIGHTS, Purpose, below, normal, stream, uniform, word


def uniforms(random: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(out)):
        out[i] = uniform(random)


def normals(random: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(out)):
        out[i] = normal(random)


def choices(random: np.ndarray, n: int, out: np.ndarray) -> None:
    for i in range(len(out)):
        out[i] = below(random, n)


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


def test_normal_tails_and_moments() -> None:
    """Ten million draws: every corner of the ziggurat (rectangles, wedges, tail) is visited many times."""
    drawn = np.empty(10_000_000)
    fast(normals)(stream(9), drawn)
    edges = np.concatenate([[-np.inf], np.linspace(-4.5, 4.5, 91), [np.inf]])
    expected = np.diff(stats.norm.cdf(edges)) * len(drawn)
    assert stats.chisquare(np.histogram(drawn, edges)[0], expected).pvalue > 1e-4
    tail = 3.6541528853610088
    beyond = np.abs(drawn[np.abs(drawn) > tail])
    assert stats.binomtest(len(beyond), len(drawn), 2 * stats.norm.sf(tail)).pvalue > 1e-4
    assert stats.kstest(stats.norm.sf(beyond) / stats.norm.sf(tail), "uniform").pvalue > 1e-4
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3)):
        spread = np.sqrt([1, 2, 15, 96][power - 1] / len(drawn))
        assert abs((drawn**power).mean() - moment) < 4 * spread


def test_the_ziggurat_closes() -> None:
    """All layers have the same area: the last one ends exactly at the peak."""
    area = _EDGES[0] * _HEIGHTS[1]
    np.testing.assert_allclose(_EDGES[1:-1] * np.diff(_HEIGHTS[1:]), area, rtol=1e-9)


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


@settings(deadline=None)  # the first call may compile
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

"""Noise with a memory (AR(1)) around the means of hidden states."""

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.logs import em, emissions, memory, posterior
from latentbandits.logs.model import MEMORY, Model
from latentbandits.logs.series import Series
from latentbandits.worlds.noise import standardised
from tests.logged import as_log

MEANS = np.array([[0.2, 0.8, 0.5], [0.9, 0.3, 0.4]])


def series(rows: int, pauses: bool = False) -> Series:
    """Return a log of two states whose noise has a memory."""
    random = np.random.default_rng(6)
    arms, states = random.integers(3, size=rows), np.arange(rows) // 40 % 2
    noise = standardised(random, "normal", 0.7, rows, 1)[:, 0]
    gaps = np.where(pauses & (np.arange(rows) % 97 == 50), 4.0, 1.0)
    return Series.of(arms, MEANS[states, arms] + 0.1 * noise, gaps, 3)


def begun(made: Series) -> Model:
    """Return a model near the truth."""
    return em.as_remembering(em.start(made, MEANS / made.noise, dwell=40), 0.3)


def test_likelihood_never_falls_and_memory_is_found() -> None:
    made, history = series(2000), list[float]()
    model = em.fitted(made, begun(made), 60, 1e-3, history=history)
    assert np.diff(history).min() > -1e-6
    assert model.memory == pytest.approx(0.7, abs=0.08)
    np.testing.assert_allclose(np.sort(model.means * made.noise, axis=0), np.sort(MEANS, axis=0), atol=0.06)


def test_likelihood_of_a_row_is_that_of_the_formula() -> None:
    made = series(200, pauses=True)
    model = begun(made)
    got = emissions.likelihoods(made, model)
    for t in (0, 1, 50, 120):
        for state in range(2):
            off = made.values[t] - model.means[state, made.arms[t]]
            sigma = model.noise[state]
            before = made.values[t - 1] - model.means[state, made.arms[t - 1]]

            def bell(x: float, width: float) -> float:
                return float(np.exp(-0.5 * (x / width) ** 2) / (width * np.sqrt(2 * np.pi)))

            density = bell(off, sigma)
            if t > 0 and made.gaps[t] == 1:
                loose = memory.FORGET * bell(off, memory.LOOSE * sigma)
                density = (1 - memory.FORGET) * bell(off - model.memory * before, sigma) + loose
            assert got[t, state] == pytest.approx(np.log(density))


def test_slope_is_the_derivative_of_the_objective() -> None:
    made = series(400)
    model = em.fitted(made, begun(made), 3, 0.0)
    top = posterior.packed(model)
    slope = posterior.slope(made, model)
    for place in (0, 4, 6, len(top) - 1):
        ends = []
        for sign in (1, -1):
            moved = top.copy()
            moved[place] += sign * 1e-4
            there = em.fitted(made, posterior.unpacked(model, moved), 0)
            ends.append(there.objective)
        assert slope[place] == pytest.approx((ends[0] - ends[1]) / 2e-4, rel=1e-3, abs=1e-3)


def test_regimes_are_told_from_the_memory_of_the_noise() -> None:
    random = np.random.default_rng(3)
    rows = 3000
    truth = lb.HiddenMarkov(means=MEANS, dwell=80, noise=0.0).realise(rows, 1, 4, 0, 0)
    noise = standardised(random, "normal", 0.4, rows, 1)[:, 0]
    log = as_log(truth.rewards[:, 0] + 0.2 * noise[:, None], random.integers(3, size=rows))
    d = lb.diagnose(log)
    assert d.regimes
    assert d.fit is not None
    assert (d.fit.family, d.fit.states) == (MEMORY, 2)
    assert d.fit.memory == pytest.approx(0.4, abs=0.06)
    assert d.noise.mean() == pytest.approx(0.2, rel=0.2)
    world = d.problem().world.realise(4000, 1, 0, 0, 0)
    rest = (world.rewards[:, 0] - world.means)[:, 0]
    assert np.corrcoef(rest[1:], rest[:-1])[0, 1] == pytest.approx(d.fit.memory, abs=0.05)

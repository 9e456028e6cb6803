"""Noise with a memory (AR(1)) around the means of hidden states."""

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.logs import em, emissions
from latentbandits.logs.hmm import AUTOREGRESSIVE, Model
from latentbandits.logs.series import Series
from latentbandits.worlds.noise import standardised
from tests.logged import as_log
from tests.test_logs_fit import objectives

MEANS = np.array([[0.2, 0.8, 0.5], [0.9, 0.3, 0.4]])


def series(rows: int, pauses: bool = False) -> Series:
    """Return a log of two states whose noise has a memory."""
    random = np.random.default_rng(6)
    arms, states = random.integers(3, size=rows), np.arange(rows) // 40 % 2
    noise = standardised(random, "normal", 0.7, rows, 1)[:, 0]
    gaps = np.where(pauses & (np.arange(rows) % 97 == 50), 4.0, 1.0)
    return Series.of(arms, MEANS[states, arms] + 0.1 * noise, gaps, 3)


def begun(rows_of_log: Series) -> Model:
    """Return a model near the truth."""
    return em.to_autoregressive(em.init_model(rows_of_log, MEANS / rows_of_log.noise, dwell=40), 0.3)


def test_likelihood_never_falls_and_memory_is_found() -> None:
    rows_of_log = series(2000)
    history, model = objectives(rows_of_log, begun(rows_of_log), 60)
    assert np.diff(history).min() > -1e-6
    assert model.ar_coef == pytest.approx(0.7, abs=0.08)
    np.testing.assert_allclose(np.sort(model.means * rows_of_log.noise, axis=0), np.sort(MEANS, axis=0), atol=0.06)


def test_likelihood_of_a_row_is_that_of_the_formula() -> None:
    rows_of_log = series(200, pauses=True)
    model = begun(rows_of_log)
    got = emissions.log_likelihoods(rows_of_log, model)
    for t in (0, 1, 50, 120):
        for state in range(2):
            off = rows_of_log.values[t] - model.means[state, rows_of_log.arms[t]]
            sigma = model.noise[state]
            before = rows_of_log.values[t - 1] - model.means[state, rows_of_log.arms[t - 1]]

            def bell(x: float, width: float) -> float:
                return float(np.exp(-0.5 * (x / width) ** 2) / (width * np.sqrt(2 * np.pi)))

            density = bell(off, sigma)
            if t > 0 and rows_of_log.gaps[t] == 1:
                loose = emissions.RESET_PROB * bell(off, emissions.RESET_SCALE * sigma)
                density = (1 - emissions.RESET_PROB) * bell(off - model.ar_coef * before, sigma) + loose
            assert got[t, state] == pytest.approx(np.log(density))


def test_regimes_are_told_from_the_memory_of_the_noise() -> None:
    random = np.random.default_rng(3)
    rows = 2000
    truth = lb.HiddenMarkov(means=MEANS, dwell=80, noise=0.0).realise(rows, 1, 4, 0, 0)
    noise = standardised(random, "normal", 0.4, rows, 1)[:, 0]
    log = as_log(truth.rewards[:, 0] + 0.2 * noise[:, None], random.integers(3, size=rows))
    d = lb.diagnose(log)
    assert d.regimes
    assert d.fit is not None
    assert (d.fit.family, d.fit.num_states) == (AUTOREGRESSIVE, 2)
    assert d.fit.ar_coef == pytest.approx(0.4, abs=0.06)
    assert d.noise.mean() == pytest.approx(0.2, rel=0.2)
    world = d.problem().world.realise(4000, 1, 0, 0, 0)
    rest = (world.rewards[:, 0] - world.means)[:, 0]
    assert np.corrcoef(rest[1:], rest[:-1])[0, 1] == pytest.approx(d.fit.ar_coef, abs=0.05)

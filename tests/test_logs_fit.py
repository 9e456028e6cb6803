import numpy as np
import pytest

import latentbandits as lb
from latentbandits.logs import em, emissions, hmm, posterior
from latentbandits.logs.hmm import AUTOREGRESSIVE, BINARY, HETEROSCEDASTIC, MIXTURE, NOISE_ONLY, NORMAL, Model
from latentbandits.logs.regimes import shuffled_gain
from latentbandits.logs.series import Series
from tests.naive_chain import stepped

MEANS = np.array([[0.0, 2.0, 1.0], [2.0, 0.5, 1.0]])


def normal_series(rows: int = 1500, noise: float = 1.0, seed: int = 0) -> tuple[Series, np.ndarray]:
    world = lb.HiddenMarkov(means=MEANS, dwell=60, noise=noise).realise(rows, 1, seed=seed, draw=0, repeat=0)
    arms = np.random.default_rng(seed).integers(3, size=rows)
    return Series.of(arms, world.rewards[np.arange(rows), 0, arms], np.ones(rows), 3), world.states


def binary_series(rows: int = 2000) -> Series:
    world = lb.HiddenMarkov(means=[[0.1, 0.6], [0.7, 0.2]], dwell=80, rewards="bernoulli").realise(rows, 1, 3, 0, 0)
    arms = np.random.default_rng(3).integers(2, size=rows)
    return Series.of(arms, world.rewards[np.arange(rows), 0, arms], np.ones(rows), 2)


def begun(family: str) -> tuple[Series, Model]:
    random = np.random.default_rng(1)
    if family == BINARY:
        series = binary_series()
        return series, em.init_model(series, random.uniform(0.2, 0.8, (3, 2)), dwell=30)
    series = normal_series()[0]
    model = em.init_model(series, random.normal(1, 1, (3, 3)), dwell=30)
    if family == MIXTURE:
        return series, em.to_mixture(model)
    if family == AUTOREGRESSIVE:
        return series, em.to_autoregressive(model, 0.3)
    if family == NOISE_ONLY:
        model = model._replace(means=np.repeat(series.centres[None, :], 3, axis=0))
    return series, model._replace(
        family=family, noise=model.noise * (np.array([0.5, 1.0, 1.5]) if family != NORMAL else 1.0)
    )


def objectives(series: Series, model: Model, steps: int) -> tuple[list[float], Model]:
    """Return the objective before the first step and after every one, and the last model."""
    models = [em.fit_em(series, model, 0)]
    for _ in range(steps):
        models.append(em.fit_em(series, models[-1], 1, -np.inf))
    return [fitted.objective for fitted in models], models[-1]


@pytest.mark.parametrize("family", [NORMAL, BINARY, MIXTURE, HETEROSCEDASTIC, NOISE_ONLY, AUTOREGRESSIVE])
def test_the_objective_never_falls(family: str) -> None:
    history, _ = objectives(*begun(family), 40)
    assert (np.diff(history) > -1e-7).all()
    assert history[-1] > history[0] + 10


def test_a_chain_of_one_number_never_falls_and_is_worth_it_where_states_are_alike() -> None:
    states = np.arange(4000) // 50 % 4
    random = np.random.default_rng(4)
    arms = random.integers(2, size=4000)
    means = random.normal(size=(4, 2))
    series = Series.of(arms, means[states, arms] + 0.7 * random.normal(size=4000), np.ones(4000), 2)
    free = em.init_model(series, means / series.noise, dwell=20)
    history, even = objectives(series, em.tie_states(free), 40)
    assert (np.diff(history) > -1e-7).all()
    assert np.ptp(even.exit_prob) == np.ptp(even.entry_prob) == 0
    assert em.bic_score(series, even) > em.bic_score(series, em.fit_em(series, free, 40))


def test_the_objective_hardly_falls_with_a_calendar_of_odds() -> None:
    series = binary_series()
    series = series._replace(logit_offset=np.sin(np.arange(series.rows) / 20.0))
    history, _ = objectives(series, em.init_model(series, np.array([[0.2, 0.5], [0.6, 0.3]]), dwell=30), 40)
    assert (np.diff(history) > -1e-3).all()


def test_one_step_is_that_of_the_naive_twin() -> None:
    series, _ = normal_series(400)
    model = em.init_model(series, np.array([[0.1, 1.5, 1.0], [1.5, 0.7, 1.2]]), dwell=20)
    found = em.fit_em(series, model, 1, -np.inf)
    again = stepped(series.arms, series.values, model.means, model.exit_prob, model.entry_prob, float(model.noise[0]))
    for one, other in zip((found.means, found.exit_prob, found.entry_prob, found.noise[:1]), again, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-9)


@pytest.mark.parametrize("family", [NORMAL, BINARY, MIXTURE, HETEROSCEDASTIC, AUTOREGRESSIVE])
def test_the_gradient_is_the_derivative_of_the_objective(family: str) -> None:
    series, model = begun(family)
    model = em.fit_em(series, model, 5)
    point = posterior.to_vector(model) + 0.05 * np.random.default_rng(0).normal(size=len(posterior.to_vector(model)))

    def objective(numbers: np.ndarray) -> float:
        at = posterior.from_vector(model, numbers)
        prior = emissions.log_prior(series, at) + hmm.log_prior(at.exit_prob, at.entry_prob)
        return em.e_step(series, at).log_lik + prior

    steps = 1e-4 * np.eye(len(point))
    truth = [(objective(point + step) - objective(point - step)) / 2e-4 for step in steps]
    found = posterior.gradient(series, posterior.from_vector(model, point))
    np.testing.assert_allclose(found, truth, atol=2e-3 * np.abs(truth).max())


def test_states_means_and_dwell_are_found_within_their_intervals() -> None:
    series, states = normal_series(6000, noise=0.5, seed=4)
    models = em.select_num_states(series)
    best = max(models, key=lambda model: em.bic_score(series, model))
    assert best.num_states == 2
    best = em.fit_em(series, best, 300, 1e-4).sort_states()
    samples = posterior.sample_models(series, best, 400)
    shares = [(states == state).mean() for state in range(2)]
    truth = MEANS[np.argsort(shares)[::-1]]
    low, high = posterior.credible_interval(samples.means * series.noise)
    assert ((low - 0.05 < truth) & (truth < high + 0.05)).all()
    low, high = posterior.credible_interval(samples.dwell)
    assert (low < 60).all()
    assert (high > 60).all()
    assert (np.abs(best.means * series.noise - truth) < 0.1).all()


def test_a_cell_that_was_never_tried_stays_wide() -> None:
    random, means = np.random.default_rng(0), np.array([[0.0, 2.0, 3.0], [2.0, 0.5, 0.0]])
    states = np.arange(3000) // 100 % 2
    arms = np.where(
        states == 0, random.integers(1, 3, size=3000), random.integers(3, size=3000)
    )  # arm 0 never in state 0
    series = Series.of(arms, means[states, arms] + 0.3 * random.normal(size=3000), np.ones(3000), 3)
    best = em.fit_em(series, em.init_model(series, means / series.noise, dwell=100), 100)
    widths = posterior.sample_models(series, best, 300).means.std(axis=0)
    assert best.tried[0, 0] < 20
    assert widths[0, 0] > 3 * widths[1, 0]
    assert widths[0, 0] > 3 * widths[0, 1:].max()


def test_a_shape_gains_on_shuffled_rewards_and_a_chain_does_not() -> None:
    series, _ = normal_series(2000, noise=1.0)
    normal = em.fit_em(series, em.init_model(series, MEANS / series.noise, dwell=60), 50)
    assert shuffled_gain(series, normal) < 5
    heavy = series._replace(values=np.random.default_rng(0).standard_t(2, size=series.rows))
    shaped = em.fit_em(heavy, em.to_mixture(normal), 50)
    assert shuffled_gain(heavy, shaped) > 50


def test_a_fit_does_not_depend_on_the_unit_or_the_order_of_arms() -> None:
    series, _ = normal_series(1500)
    rewards = series.values * series.noise[series.arms]
    other = Series.of(2 - series.arms, 1000 * rewards - 500, np.ones(series.rows), 3)
    one, two = (
        em.fit_em(each, em.init_model(each, each.centres + np.array([[-0.5], [0.5]]), dwell=50), 30)
        for each in (series, other)
    )
    assert em.bic_score(series, one) == pytest.approx(em.bic_score(other, two), abs=1e-3)
    np.testing.assert_allclose(1000 * one.means * series.noise - 500, (two.means * other.noise)[:, ::-1], rtol=1e-4)

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.logs import chain, em, emissions, growth, posterior
from latentbandits.logs.explanations import shape_gain
from latentbandits.logs.model import BINARY, LEVEL, LOUD, NORMAL, SHAPED, Model
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
        return series, em.start(series, random.uniform(0.2, 0.8, (3, 2)), dwell=30)
    series = normal_series()[0]
    model = em.start(series, random.normal(1, 1, (3, 3)), dwell=30)
    if family == SHAPED:
        return series, em.as_shaped(model)
    if family == LEVEL:
        model = model._replace(means=np.repeat(series.centres[None, :], 3, axis=0))
    return series, model._replace(
        family=family, noise=model.noise * (np.array([0.5, 1.0, 1.5]) if family != NORMAL else 1.0)
    )


@pytest.mark.parametrize("family", [NORMAL, BINARY, SHAPED, LOUD, LEVEL])
def test_the_objective_never_falls(family: str) -> None:
    series, model = begun(family)
    history: list[float] = []
    em.fitted(series, model, 40, -1.0, history=history)
    assert len(history) == 41
    assert (np.diff(history) > -1e-7).all()
    assert history[-1] > history[0] + 10


def test_a_chain_of_one_number_never_falls_and_is_worth_it_where_states_are_alike() -> None:
    states = np.arange(4000) // 50 % 4
    random = np.random.default_rng(4)
    arms = random.integers(2, size=4000)
    means = random.normal(size=(4, 2))
    series = Series.of(arms, means[states, arms] + 0.7 * random.normal(size=4000), np.ones(4000), 2)
    free = em.start(series, means / series.noise, dwell=20)
    history: list[float] = []
    even = em.fitted(series, em.as_alike(free), 40, -1.0, history=history)
    assert (np.diff(history) > -1e-7).all()
    assert np.ptp(even.leave) == np.ptp(even.enter) == 0
    assert growth.score(series, even) > growth.score(series, em.fitted(series, free, 40))


def test_the_objective_hardly_falls_with_a_calendar_of_odds() -> None:
    series = binary_series()
    series = series._replace(odds=np.sin(np.arange(series.rows) / 20.0))
    history: list[float] = []
    em.fitted(series, em.start(series, np.array([[0.2, 0.5], [0.6, 0.3]]), dwell=30), 40, -1.0, history=history)
    assert (np.diff(history) > -1e-3).all()


def test_one_step_is_that_of_the_naive_twin() -> None:
    series, _ = normal_series(400)
    model = em.start(series, np.array([[0.1, 1.5, 1.0], [1.5, 0.7, 1.2]]), dwell=20)
    found = em.fitted(series, model, 1, -np.inf)
    again = stepped(series.arms, series.values, model.means, model.leave, model.enter, float(model.noise[0]))
    for one, other in zip((found.means, found.leave, found.enter, found.noise[:1]), again, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-9)


@pytest.mark.parametrize("family", [NORMAL, BINARY, SHAPED, LOUD])
def test_the_slope_is_the_derivative_of_the_objective(family: str) -> None:
    series, model = begun(family)
    model = em.fitted(series, model, 5)
    point = posterior.packed(model) + 0.05 * np.random.default_rng(0).normal(size=len(posterior.packed(model)))

    def objective(numbers: np.ndarray) -> float:
        at = posterior.unpacked(model, numbers)
        prior = emissions.prior(series, at) + chain.prior(at.leave, at.enter)
        return em.expected(series, at).likelihood + prior

    steps = 1e-4 * np.eye(len(point))
    truth = [(objective(point + step) - objective(point - step)) / 2e-4 for step in steps]
    found = posterior.slope(series, posterior.unpacked(model, point))
    np.testing.assert_allclose(found, truth, atol=2e-3 * np.abs(truth).max())


def test_states_means_and_dwell_are_found_within_their_intervals() -> None:
    series, states = normal_series(6000, noise=0.5, seed=4)
    models = growth.grown(series)
    best = max(models, key=lambda model: growth.score(series, model))
    assert best.states == 2
    best = em.fitted(series, best, 300, 1e-4).ordered()
    samples = posterior.sampled(series, best, 400)
    shares = [(states == state).mean() for state in range(2)]
    truth = MEANS[np.argsort(shares)[::-1]]
    low, high = posterior.interval(samples.means * series.noise)
    assert ((low - 0.05 < truth) & (truth < high + 0.05)).all()
    low, high = posterior.interval(samples.dwell)
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
    best = em.fitted(series, em.start(series, means / series.noise, dwell=100), 100)
    widths = posterior.sampled(series, best, 300).means.std(axis=0)
    assert best.tried[0, 0] < 20
    assert widths[0, 0] > 3 * widths[1, 0]
    assert widths[0, 0] > 3 * widths[0, 1:].max()


def test_a_shape_gains_on_shuffled_rewards_and_a_chain_does_not() -> None:
    series, _ = normal_series(2000, noise=1.0)
    normal = em.fitted(series, em.start(series, MEANS / series.noise, dwell=60), 50)
    assert shape_gain(series, normal) < 5
    heavy = series._replace(values=np.random.default_rng(0).standard_t(2, size=series.rows))
    shaped = em.fitted(heavy, em.as_shaped(normal), 50)
    assert shape_gain(heavy, shaped) > 50


def test_a_fit_does_not_depend_on_the_unit_or_the_order_of_arms() -> None:
    series, _ = normal_series(1500)
    rewards = series.values * series.noise[series.arms]
    other = Series.of(2 - series.arms, 1000 * rewards - 500, np.ones(series.rows), 3)
    one, two = (
        em.fitted(each, em.start(each, each.centres + np.array([[-0.5], [0.5]]), dwell=50), 30)
        for each in (series, other)
    )
    assert growth.score(series, one) == pytest.approx(growth.score(other, two), abs=1e-3)
    np.testing.assert_allclose(1000 * one.means * series.noise - 500, (two.means * other.noise)[:, ::-1], rtol=1e-4)

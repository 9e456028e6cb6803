"""What each option of the worlds does, that options combine, and what is refused."""

import hashlib
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import latentbandits as lb
from latentbandits.protocols import Realisation
from latentbandits.worlds.dwell import DWELLS, length, visited
from latentbandits.worlds.noise import CHANGES, LARGER, OUTLIERS, SHAPES

FLAT: dict[str, Any] = {"means": [[0.0, 1.0]], "noise": 0.3}  # one state: everything that varies is noise


def realise(world: Any, horizon: int = 20_000, groups: int = 1, draw: int = 0, repeat: int = 0) -> Realisation:
    found: Realisation = world.realise(horizon, groups, 1, draw, repeat)
    return found


def noise_of(world: Any, **sizes: int) -> np.ndarray:
    found = realise(world, **sizes)
    noise: np.ndarray = found.rewards - found.means[:, None, :]
    return noise


def lag_one(values: np.ndarray) -> float:
    return float(np.corrcoef(values[1:], values[:-1])[0, 1])


def test_the_defaults_are_as_they_always_were() -> None:
    """To the bit, as before there were options."""
    digest = hashlib.sha256()
    for world in (
        lb.HiddenMarkov(arms=3, carryover=0.3),
        lb.Seasons(rewards="bernoulli"),
        lb.HiddenMarkov(separation=0.2),
    ):
        found = realise(world, horizon=300, groups=2)
        assert found.available is None
        assert found.delays is None
        digest.update(found.rewards.tobytes() + found.means.tobytes() + found.states.astype(np.int64).tobytes())
    assert digest.hexdigest()[:16] == "894a4e927742357a"


@pytest.mark.parametrize("shape", SHAPES)
def test_noise_of_any_shape_has_its_standard_deviation(shape: str) -> None:
    noise = noise_of(lb.HiddenMarkov(**FLAT, noise_shape=shape), horizon=40_000)[:, 0, 0] / 0.3
    assert abs(noise.mean()) < 0.02
    assert noise.std() == pytest.approx(1, rel=0.2 if shape == "t3" else 0.06)
    assert abs(lag_one(noise)) < 0.02
    two = noise_of(lb.HiddenMarkov(**FLAT, noise_shape=shape), groups=2)[:, :, 1]
    assert two[:, 1].std() == pytest.approx(0.3 * 2**0.5, rel=0.2 if shape == "t3" else 0.08)
    assert abs(np.corrcoef(two.T)[0, 1]) < 0.03


def test_shapes_are_what_they_are_called() -> None:
    def sample(shape: str) -> np.ndarray:
        return SHAPES[shape].sample(np.random.default_rng(0), (20_000,))

    for shape, law in (
        ("t3", stats.t(3, scale=3**-0.5)),
        ("t5", stats.t(5, scale=0.6**0.5)),
        ("laplace", stats.laplace(scale=0.5**0.5)),
        ("normal", stats.norm()),
    ):
        assert stats.kstest(sample(shape), law.cdf).pvalue > 0.001, shape
    assert (np.abs(sample("bimodal")) < 0.1).mean() < 0.04  # a normal one: 0.08
    body = (1 - OUTLIERS + OUTLIERS * LARGER**2) ** -0.5
    assert (np.abs(sample("outliers")) > 5 * body).mean() == pytest.approx(OUTLIERS * 0.8, rel=0.2)


def test_noise_differs_between_arms_and_between_states() -> None:
    ratios = []
    for draw in range(40):
        noise = noise_of(lb.HiddenMarkov(**FLAT, uneven_arms=9), horizon=20, draw=draw)[:, 0]
        np.testing.assert_allclose(noise[:, 1] / noise[:, 0], (noise[0, 1] / noise[0, 0]))
        ratios.append(noise[0, 1] / noise[0, 0])
    assert 1 / 9 <= min(ratios) < 0.4
    assert 2.5 < max(ratios) <= 9
    world = lb.Seasons(states=3, dwell=2000, noise=0.3, uneven_states=9)
    found = realise(world)
    noise = (found.rewards[:, 0] - found.means)[:, 0]
    by_state = [noise[found.states == state].std() for state in range(3)]
    assert max(by_state) / min(by_state) > 1.5
    np.testing.assert_allclose(by_state, [noise_of(world)[found.states == s, 0, 1].std() for s in range(3)])


def test_autocorrelation_keeps_the_standard_deviation() -> None:
    noise = noise_of(lb.HiddenMarkov(**FLAT, autocorrelation=0.8), horizon=40_000)[:, 0, 0]
    assert noise.std() == pytest.approx(0.3, rel=0.05)
    assert lag_one(noise) == pytest.approx(0.8, abs=0.02)


def test_proportional_noise_grows_with_the_mean() -> None:
    noise = noise_of(lb.HiddenMarkov(means=[[1.0, -3.0, 0.0]], noise=0.3, proportional=1))[:, 0]
    np.testing.assert_allclose(noise[:, 1] / noise[:, 0], 3)
    assert (noise[:, 2] == 0).all()
    half = noise_of(lb.HiddenMarkov(means=[[1.0, 3.0]], noise=0.3, proportional=0.5))[:, 0]
    np.testing.assert_allclose(half[:, 1] / half[:, 0], (0.5 + 0.5 * 3 / 2) / (0.5 + 0.5 * 1 / 2))


def test_noise_changes_between_two_levels() -> None:
    noise = noise_of(lb.HiddenMarkov(**FLAT, changing_noise=6), horizon=100_000)[:, 0, 0]
    assert np.sqrt((noise**2).mean()) == pytest.approx(0.3, rel=0.15)
    blocks = noise.reshape(-1, 100).std(axis=1)
    assert np.quantile(blocks, 0.9) / np.quantile(blocks, 0.1) == pytest.approx(6, rel=0.3)
    changes = (np.diff(blocks > np.sqrt(blocks.min() * blocks.max())) != 0).sum()
    assert changes == pytest.approx(100_000 / CHANGES, rel=0.3)


@pytest.mark.parametrize("shape", DWELLS)
def test_regimes_last_as_long_as_they_should(shape: str) -> None:
    generator = np.random.default_rng(0)
    lengths = np.array([length(generator, shape, 50) for _ in range(20_000)])
    assert lengths.mean() == pytest.approx(50, rel=0.15 if shape == "pareto" else 0.03)
    variation = lengths.std() / lengths.mean()
    assert {
        "geometric": 0.9 < variation < 1.1,
        "fixed": variation == 0,
        "lognormal": 1.1 < variation < 1.5,
        "pareto": variation > 1.5,
    }[shape]
    found = realise(lb.HiddenMarkov(states=5, dwell=50, dwell_shape=shape))
    assert (np.diff(found.states) != 0).sum() == pytest.approx(400, rel=0.5 if shape == "pareto" else 0.25)
    assert (found.truth is None) == (shape != "geometric")


@pytest.mark.parametrize("shape", DWELLS)
def test_a_run_begins_at_any_time_of_a_visit(shape: str) -> None:
    """The share of each state in the first round is that of all rounds, and the first visit is what is left of one."""
    chain = np.array([[0.75, 0.25], [0.5, 0.5]])
    generator = np.random.default_rng(0)
    first = [visited(generator, shape, chain, np.array([2 / 3, 1 / 3]), 8) for _ in range(3000)]
    for round_ in (0, 3, 7):
        share = np.mean([states[round_] == 0 for states in first])
        assert share == pytest.approx(2 / 3, abs=0.05), round_
    left = [length(generator, "fixed", 10, under_way=True) for _ in range(5000)]
    assert sorted(set(left)) == list(range(1, 11))
    assert np.mean(left) == pytest.approx(5.5, rel=0.05)


def test_alternation_and_a_single_change() -> None:
    alternating = realise(lb.Seasons(states=2, dwell=1), horizon=50).states
    assert (np.diff(alternating) != 0).all()
    assert (realise(lb.HiddenMarkov(states=2, dwell=1, dwell_shape="fixed"), horizon=50).states[1:] == 1 - realise(
        lb.HiddenMarkov(states=2, dwell=1, dwell_shape="fixed"), horizon=50).states[:-1]).all()  # fmt: skip
    changes = [
        (np.diff(realise(lb.Seasons(states=2, dwell=500), horizon=500, repeat=r).states) != 0).sum() for r in range(20)
    ]
    assert set(changes) == {1}


def test_a_rare_state_has_its_share_and_a_terrible_usual_arm() -> None:
    world = lb.HiddenMarkov(states=4, arms=3, rare=0.05, dwell=10)
    assert world.start[-1] == pytest.approx(0.05)
    np.testing.assert_allclose(world.start @ world.chain, world.start)
    np.testing.assert_allclose(np.diag(world.chain), 0.9)
    matrix = world.matrix(1, 0)
    usual = matrix[:3].mean(axis=0)
    assert matrix[3, usual.argmax()] == 0
    np.testing.assert_allclose(np.delete(matrix[3] - usual, usual.argmax()), 0)
    assert (realise(world, horizon=100_000).states == 3).mean() == pytest.approx(0.05, rel=0.2)
    two = lb.HiddenMarkov(states=2, rare=0.1, dwell=20)
    np.testing.assert_allclose(two.start @ two.chain, two.start)


def test_states_that_do_not_return() -> None:
    for world in (
        lb.HiddenMarkov(states=3, dwell=20, returning=0, span=(2, 3)),
        lb.Seasons(states=3, dwell=20, returning=0, means=np.full((3, 2), 2.0) + np.eye(3, 2)),
    ):
        found = realise(world, horizon=2000)
        visits = np.append(0, np.cumsum(np.diff(found.states) != 0))
        rows = {visit: found.means[visits == visit] for visit in set(visits.tolist())}
        assert len({tuple(row[0]) for row in rows.values()}) == len(rows) > 50
        assert all((row == row[0]).all() for row in rows.values())
        assert ((found.means >= 2) & (found.means <= 3)).all()
        assert found.truth is None
    some = realise(lb.HiddenMarkov(states=3, dwell=20, returning=0.5), horizon=20_000)
    fresh = [state for state, after in zip(some.states, some.states[1:], strict=False) if state != after]
    assert np.mean(np.array(fresh) >= 3) == pytest.approx(0.5, abs=0.1)


def test_states_alike_share_the_mean_of_one_arm() -> None:
    assert len(np.unique(lb.HiddenMarkov(states=9, arms=3).matrix(0, 0))) == 27
    matrix = lb.HiddenMarkov(states=9, arms=3, alike=1).matrix(0, 0)
    shared = [[(row[arm] == matrix[:s, arm]).any() for arm in range(3)] for s, row in enumerate(matrix)]
    assert [sum(row) for row in shared] == [0] + [1] * 8


@pytest.mark.parametrize("kind", ["states", "drift"])
def test_arms_that_move_together_stay_uniform(kind: str) -> None:
    means = (
        lb.HiddenMarkov(states=4000, arms=2, together=0.8).matrix(0, 0)
        if kind == "states"
        else np.vstack([realise(lb.Drift(together=0.8), horizon=1, draw=draw).means for draw in range(2000)])
    )
    # of normal numbers with correlation r, as uniform ones
    assert np.corrcoef(means.T)[0, 1] == pytest.approx(6 / np.pi * np.arcsin(0.8 / 2), abs=0.05)
    assert stats.kstest(means[:, 0], "uniform").pvalue > 0.001
    same = realise(lb.Drift(together=1), horizon=50).means
    np.testing.assert_allclose(same[:, 0], same[:, 1])


def test_dominated_arms_are_never_better() -> None:
    for world in (lb.HiddenMarkov(arms=5, dominated=3), lb.Drift(arms=5, dominated=3, span=(-2, 7))):
        means = realise(world).means
        assert (means[:, 2:] <= means[:, :1]).all()
        assert (means[:, 1] > means[:, 0]).any()


def test_effects_are_added_to_the_means() -> None:
    def moved(**options: Any) -> tuple[np.ndarray, Realisation]:
        found = realise(lb.Seasons(arms=3, **options), horizon=1000)
        assert found.truth is None
        return found.means - realise(lb.Seasons(arms=3), horizon=1000).means, found

    trend, _ = moved(trend=-2)
    np.testing.assert_allclose(trend, np.repeat(-2e-3 * np.arange(1000)[:, None], 3, axis=1), atol=1e-12)
    common, _ = moved(calendar=0.5, period=40)
    np.testing.assert_allclose(common[40:], common[:-40], atol=1e-12)
    np.testing.assert_allclose(common.max(axis=0), 0.5, rtol=0.01)
    np.testing.assert_allclose(common[:, 0], common[:, 1])
    own, _ = moved(calendar_arms=0.5, period=40)
    assert np.abs(own[:, 0] - own[:, 1]).max() > 0.05
    linear, found = moved(features=2, feature_effect=0.4)
    assert set(np.unique(found.context)) == {-1.0, 1.0}
    assert np.abs(found.context.mean(axis=0)).max() < 0.1
    effects, residual, *_ = np.linalg.lstsq(found.context, linear, rcond=None)
    assert residual.max() < 1e-20
    assert 0.05 < np.abs(effects).max() <= 0.4
    both, _ = moved(trend=-2, features=2, feature_effect=0.4)
    np.testing.assert_allclose(both, trend + linear, atol=1e-12)
    # rewards are around the moved means
    assert np.abs(found.rewards[:, 0] - found.means).max() < 0.06


def test_features_help_a_policy_that_reads_them() -> None:
    world = lb.HiddenMarkov(states=1, features=2, noise=0.1)
    blind, seeing = lb.simulate(
        world, ["adasp-ucb", "adasp-ucb:covariates=2"], horizon=500, draws=4, repeats=1, interpreted=True
    ).regret.mean(axis=1)
    assert seeing < blind / 2


def test_rewards_are_late_or_lost() -> None:
    delays = realise(lb.Drift(delay="3 to 6", lost=0.25)).delays
    assert delays is not None
    assert set(delays.tolist()) == {-1, 3, 4, 5, 6}
    assert (delays == -1).mean() == pytest.approx(0.25, abs=0.02)
    assert lb.Drift(delay="7") == lb.Drift(delay=7)
    assert lb.Drift(delay=(2, 9)).delay == "2 to 9"
    # a filter that misses some rewards is still exact, one that reads them late is not
    assert realise(lb.HiddenMarkov(lost=0.2), horizon=9).truth is not None
    assert realise(lb.HiddenMarkov(delay=5), horizon=9).truth is None


def test_arms_come_and_go_in_stretches() -> None:
    available = realise(lb.HiddenMarkov(arms=6, available=0.5, stretch=40), horizon=50_000).available
    assert available is not None
    assert available.any(axis=1).all()
    assert available.mean() == pytest.approx(0.5, abs=0.05)
    leaves = (np.diff(available.astype(int), axis=0) == -1).sum()
    assert available.sum() / leaves == pytest.approx(40, rel=0.15)


def test_a_description_says_what_is_unusual() -> None:
    world = lb.Seasons(states=2, noise=0.1, noise_shape="t3", delay=(2, 9), means=[[0.1, 0.2], [0.3, 0.4]])
    assert repr(world) == (
        "Seasons(states=2, noise=0.1, noise_shape='t3', delay='2 to 9', means=[[0.1, 0.2], [0.3, 0.4]])"
    )
    assert eval(repr(world), {"Seasons": lb.Seasons}) == world
    assert repr(lb.Drift(rewards="ratings")) == "Drift(rewards='ratings')"
    assert lb.Drift(rewards="ratings").span == (1, 5)


CLICKS: dict[str, Any] = {"rewards": "bernoulli"}
BAD: list[tuple[Any, dict[str, Any], str]] = [
    *((kind, {**CLICKS, "span": (0, 1.5)}, "must be finite numbers from 0 to 1") for kind in (lb.HiddenMarkov, lb.Seasons, lb.Drift)),
    (lb.Seasons, {**CLICKS, "means": [[0.1, -0.1]], "states": 1}, "means is [[0.1, -0.1]] but must be finite numbers from 0"),
    (lb.HiddenMarkov, {**CLICKS, "calendar": 0.1}, "calendar is 0.1 but must be such that means from 0 to 1 stay from 0 to 1"),
    (lb.Drift, {**CLICKS, "calendar_arms": 0.2, "span": (0.1, 0.9)}, "calendar_arms is 0.2 but must be such that means"),
    (lb.Drift, {**CLICKS, "features": 3, "span": (0.5, 0.6)}, "feature_effect is 0.2 but must be such that means"),
    (lb.HiddenMarkov, {**CLICKS, "trend": 1e-9}, "trend is 1e-09 but must be such that means"),
    (lb.Seasons, {"rewards": "counts", "trend": -1}, "trend is -1.0 but must be such that means"),
    (lb.Seasons, {"rewards": "counts", "span": (-1, 1)}, "span is (-1.0, 1.0) but must be finite numbers at least 0"),
    (lb.Drift, {"rewards": "ratings", "span": (0, 5)}, "must be finite numbers from 1 to 5 for ratings rewards"),
    (lb.Drift, {"rewards": "revenue", "noise_shape": "t3"}, "noise_shape is 't3' but must be left out for revenue rewards"),
    (lb.HiddenMarkov, {"noise_shape": "t4"}, "noise_shape is 't4' but must be one of normal, t3"),
    (lb.HiddenMarkov, {"dwell_shape": "long"}, "dwell_shape is 'long' but must be one of geometric, fixed"),
    (lb.HiddenMarkov, {"rare": 0.1, "states": 1}, "rare is 0.1 but must be left out when"),
    (lb.HiddenMarkov, {"together": 0.1, "separation": 0.1}, "together is 0.1 but must be left out when separation is given"),
    (lb.HiddenMarkov, {"alike": 0.1, "means": np.eye(2)}, "alike is 0.1 but must be left out when means are given"),
    (lb.HiddenMarkov, {"returning": 0.5, "reveal": "state"}, "reveal is 'state' but must be nothing or means"),
    (lb.Drift, {"dominated": 2}, "dominated is 2 but must be less than the 2 arms"),
    (lb.Drift, {"delay": "soon"}, "Drift: delay is 'soon' but must be rounds from 0"),
    (lb.Drift, {"lost": 1}, "lost is 1 but must be a finite number from 0 to 0.99"),
    (lb.Drift, {"uneven_arms": 0.5}, "uneven_arms is 0.5 but must be a finite number at least 1"),
    # what cannot have the share or the mean that it should
    (lb.HiddenMarkov, {"available": 0.9, "stretch": 5}, "available is 0.9 but must be"),
    (lb.HiddenMarkov, {"dwell": 2, "dwell_shape": "lognormal"}, "dwell_shape is 'lognormal' but must be"),
    (lb.HiddenMarkov, {"transition": [[0.5, 0.5], [0.1, 0.9]], "dwell_shape": "pareto"}, "dwell_shape is 'pareto' but must be"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "options", "said"), BAD)
def test_what_no_world_can_be_is_refused(make: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        make(**options)


def test_effects_within_the_range_are_not_refused() -> None:
    world = lb.HiddenMarkov(
        rewards="bernoulli", span=(0.3, 0.6), calendar=0.1, calendar_arms=0.1, features=1, feature_effect=0.1
    )
    means = realise(world).means
    assert ((means >= 0) & (means <= 1)).all()
    assert realise(lb.HiddenMarkov(rewards="bernoulli", span=(0.001, 0.05))).rewards.mean() < 0.05


def test_options_combine() -> None:
    """Each does what it does alone."""
    world = lb.HiddenMarkov(
        states=3, arms=4, dwell=30, dwell_shape="lognormal", returning=0.5, together=0.5, dominated=1, noise=0.2,
        noise_shape="laplace", uneven_arms=2, autocorrelation=0.5, features=1, trend=1, delay="geometric 9", lost=0.1,
        available=0.6,
    )  # fmt: skip
    found = realise(world)
    noise = (found.rewards[:, 0] - found.means) / 0.2
    assert lag_one(noise[:, 0]) == pytest.approx(0.5, abs=0.05)
    assert np.all((noise.std(axis=0) > 0.65) & (noise.std(axis=0) < 1.5))
    assert found.delays is not None
    assert (found.delays < 0).mean() == pytest.approx(0.1, abs=0.02)
    assert found.delays[found.delays >= 0].mean() == pytest.approx(9, rel=0.1)
    assert found.context.shape == (20_000, 1)
    assert (np.diff(found.states) != 0).sum() == pytest.approx(20_000 / 30, rel=0.3)
    results = lb.simulate(world, ["ucb1", "state-oracle"], horizon=100, draws=2, repeats=1, interpreted=True)
    assert results.regret[1].max() == 0


SHARE, FACTOR, AMOUNT = st.floats(0, 0.5), st.floats(1, 5), st.floats(0, 2)
COMMON: dict[str, Any] = {
    "noise_shape": st.sampled_from(sorted(SHAPES)), "uneven_arms": FACTOR, "proportional": SHARE, "autocorrelation": SHARE,
    "changing_noise": FACTOR, "together": SHARE, "dominated": st.integers(0, 2), "trend": st.floats(-2, 2), "calendar": AMOUNT,
    "calendar_arms": AMOUNT, "period": st.floats(2, 50), "features": st.integers(0, 3), "feature_effect": AMOUNT,
    "delay": st.integers(0, 20), "lost": SHARE, "available": st.floats(0.1, 0.9), "stretch": st.floats(9, 50),
}  # fmt: skip
STATES = {"uneven_states": FACTOR, "alike": SHARE, "returning": SHARE, "states": st.integers(1, 4)}
CHAIN = {"dwell": st.floats(5, 50), "dwell_shape": st.sampled_from(sorted(DWELLS)), "carryover": SHARE}
KINDS: dict[Any, dict[str, Any]] = {
    lb.HiddenMarkov: {**COMMON, **STATES, **CHAIN},
    lb.Seasons: {**COMMON, **STATES, "dwell": st.integers(1, 50)},
    lb.Drift: COMMON,
}


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_options_combine(data: st.DataObject) -> None:
    """A longer realisation begins like a shorter one, groups share all but the noise, and the description makes the same world."""
    kind = data.draw(st.sampled_from(list(KINDS)))
    world = kind(arms=3, **data.draw(st.fixed_dictionaries({}, optional=KINDS[kind])))
    long, short, two = realise(world, 60), realise(world, 30), realise(world, 60, groups=2)
    for field in ("means", "rewards", "context", "states", "available", "delays"):
        whole, part, other = (getattr(one, field) for one in (long, short, two))
        if whole is None:
            assert part is other is None
            continue
        assert np.isfinite(whole).all()
        np.testing.assert_array_equal(whole[:30], part)
        if field != "rewards":
            np.testing.assert_array_equal(whole, other)
    assert long.available is None or long.available.any(axis=1).all()
    assert eval(repr(world), {"HiddenMarkov": lb.HiddenMarkov, "Seasons": lb.Seasons, "Drift": lb.Drift}) == world


def test_small_counts_are_exact_beside_large_ones() -> None:
    world = lb.HiddenMarkov(means=[[0.5, 2000.0]], rewards="counts")
    rewards = realise(world, horizon=40_000).rewards[:, 0]
    assert rewards.mean(axis=0) == pytest.approx([0.5, 2000.0], rel=0.03)
    assert rewards.var(axis=0) == pytest.approx([0.5, 2000.0], rel=0.05)


def test_dominated_arms_stay_so_where_states_are_alike() -> None:
    world = lb.HiddenMarkov(states=6, arms=3, dominated=1, alike=1.0)
    for draw in range(50):
        matrix = world.matrix(seed=0, draw=draw)
        assert (matrix[:, 2] <= matrix[:, 0]).all()

import re
from typing import Any

import numpy as np
import pytest
from scipy import stats

import latentbandits as lb
from latentbandits import rewards
from latentbandits.protocols import Realisation
from latentbandits.worlds.hidden_markov import stationary
from latentbandits.worlds.registry import REGISTRY

BAD: list[tuple[Any, dict[str, Any], str]] = [
    (lb.HiddenMarkov, {"states": 0}, "states is 0 but must be an integer at least 1"),
    (lb.HiddenMarkov, {"arms": 1}, "arms is 1 but must be an integer at least 2"),
    (lb.HiddenMarkov, {"stickiness": 1.2}, "stickiness is 1.2 but must be a finite number from 0 to 1"),
    (lb.HiddenMarkov, {"carryover": -0.1}, "carryover is -0.1 but must be a finite number from 0 to 1"),
    (lb.HiddenMarkov, {"noise": -1}, "noise is -1 but must be a finite number at least 0"),
    (lb.HiddenMarkov, {"noise": np.nan}, "noise is NaN"),
    (
        lb.HiddenMarkov,
        {"transition": [[0.9, 0.2], [0, 1]]},
        "transition[0] is [0.9, 0.2] but must be probabilities that sum to one",
    ),
    (lb.HiddenMarkov, {"transition": [[1.5, -0.5], [0, 1]]}, "transition[0] is [1.5, -0.5]"),
    (
        lb.HiddenMarkov,
        {"transition": [[1, 0], [0, 1]], "states": 3},
        "transition.shape is (2, 2) but must be (3, 3)",
    ),
    (lb.HiddenMarkov, {"transition": "sticky"}, "transition is 'sticky' but must be a 2-axis array"),
    (lb.HiddenMarkov, {"means": [[0, 1]], "states": 2}, "means.shape is (1, 2) but must be (2, 2)"),
    (lb.HiddenMarkov, {"means": [0, 1]}, "means is [0, 1] but must be a 2-axis array of finite numbers"),
    (lb.HiddenMarkov, {"means": [[0, np.nan]]}, "means is [[0, NaN]] but must be a 2-axis array of finite numbers"),
    (lb.HiddenMarkov, {"means": [[0, 2]], "rewards": "bernoulli"}, "finite numbers from 0 to 1 for bernoulli rewards"),
    (lb.HiddenMarkov, {"rewards": "poisson"}, "rewards is 'poisson' but must be one of gaussian, bernoulli"),
    (
        lb.HiddenMarkov,
        {"transition": np.eye(2), "stickiness": 0.9},
        "stickiness is 0.9 but must be left out when transition",
    ),
    (
        lb.HiddenMarkov,
        {"group_noise": -0.1},
        "group_noise is -0.1 but must be a 1-axis array of finite numbers at least 0",
    ),
    (lb.HiddenMarkov, {"noise": 10**400}, "must be a finite number at least 0"),
    (
        lb.HiddenMarkov,
        {"separation": 0.1, "separated_arms": [0, 5]},
        "separated_arms is [0, 5] but must be different arms",
    ),
    (lb.Seasons, {"means": [[1, 2]]}, "means.shape is (1, 2) but must be (4, 2)"),
    (lb.Replay, {"rewards": [[1, 2], [3]]}, "rewards is [[1, 2], [3]] but must be a 2-axis array"),
    (lb.HiddenMarkov, {"separation": -1}, "separation is -1 but must be a finite number above 0"),
    (
        lb.HiddenMarkov,
        {"separation": 0.1, "means": [[0, 1]]},
        "separation is 0.1 but must be left out when means are given",
    ),
    (lb.HiddenMarkov, {"reveal": "all"}, "reveal is 'all' but must be one of nothing, state, means"),
    (
        lb.Seasons,
        {"states": 1, "means": [[0.2, 1.5]], "rewards": "bernoulli"},
        "Seasons: means is [[0.2, 1.5]] but must be finite numbers from 0 to 1 for bernoulli rewards",
    ),
    (
        lb.Seasons,
        {"span": (0, 2), "rewards": "bernoulli"},
        "Seasons: span is (0.0, 2.0) but must be finite numbers from 0",
    ),
    (
        lb.Drift,
        {"span": (0, 1.5), "rewards": "bernoulli"},
        "Drift: span is (0.0, 1.5) but must be finite numbers from 0",
    ),
    (lb.HiddenMarkov, {"span": (1, 1)}, "HiddenMarkov: span is (1, 1) but must be two finite numbers, the lower first"),
    (lb.Drift, {"span": 3}, "Drift: span is 3 but must be two finite numbers, the lower first"),
    (lb.Seasons, {"states": 2.5}, "Seasons: states is 2.5 but must be an integer at least 1"),
    (lb.Drift, {"timescle": 3}, "Drift: setting is 'timescle' but must be one of arms, timescale,"),
    (lb.HiddenMarkov, {"dwell": 0.5}, "HiddenMarkov: dwell is 0.5 but must be a finite number at least 1"),
    (lb.HiddenMarkov, {"dwell": 5, "stickiness": 0.9}, "dwell is 5 but must be left out when stickiness is given"),
    (
        lb.HiddenMarkov,
        {"dwell": 5, "transition": np.eye(2)},
        "dwell is 5 but must be left out when transition is given",
    ),
    (lb.Drift, {"timescale": 0}, "timescale is 0 but must be a finite number above 0"),
    (lb.Seasons, {"dwell": 0}, "dwell is 0 but must be an integer at least 1"),
    (lb.Replay, {"rewards": [[1], [2]]}, "at least one round and two arms"),
    (
        lb.Replay,
        {"rewards": [[1, 2]], "means": [[1, 2], [3, 4]]},
        "means.shape is (2, 2) but must be (1, 2)",
    ),
    (
        lb.Replay,
        {"rewards": [[1, 2]], "context": [[1], [3]]},
        "context.shape is (2, 1) but must be (1, columns), a row per round",
    ),
    (
        lb.WithAvailability,
        {"world": lb.Drift(), "available": [[1, 1], [0, 0]]},
        "WithAvailability: available[1] is [0, 0] but must be 0 or 1 for every arm, with at least one 1",
    ),
    (lb.WithAvailability, {"world": lb.Drift(), "available": [[1, 2]]}, "available[0] is [1, 2] but must be 0 or 1"),
    (lb.WithAvailability, {"world": lb.Drift(), "available": [[1, np.nan]]}, "but must be a 2-axis array of integers"),
    (
        lb.WithAvailability,
        {"world": lb.Drift(), "available": [[1, 1, 1]]},
        "available.shape is (1, 3) but must be (rounds, 2), one column for each arm of the world",
    ),
    (lb.WithAvailability, {"world": lb.Drift, "available": [[1, 1]]}, "but must be a world, such as HiddenMarkov()"),
]


def realise(world: Any, horizon: int = 20_000, groups: int = 1, draw: int = 0) -> Realisation:
    made: Realisation = world.realise(horizon, groups, seed=5, draw=draw, repeat=0)
    return made


@pytest.mark.parametrize(("kind", "options", "sentence"), BAD)
def test_bad_worlds_are_refused_in_one_sentence(kind: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)) as refusal:
        kind(**options)
    assert "\n" not in str(refusal.value)


def test_what_cannot_be_realised_is_refused() -> None:
    with pytest.raises(ValueError, match="horizon is 3 but must be at most the 2 rounds recorded"):
        realise(lb.Replay([[0, 1], [1, 0]]), horizon=3)
    with pytest.raises(ValueError, match="groups is 3 but must be the 2 groups recorded"):
        realise(lb.Replay(np.zeros((5, 2, 2))), horizon=3, groups=3)
    with pytest.raises(ValueError, match="WithAvailability: horizon is 3 but must be at most the 2 rows of available"):
        realise(lb.WithAvailability(lb.Drift(), np.ones((2, 2))), horizon=3)
    with pytest.raises(ValueError, match=r"separation is .* but must be less"):
        realise(lb.HiddenMarkov(states=10, separation=0.9))
    with pytest.raises(
        ValueError, match=r"group_noise is \[0.1\] but must be one standard deviation for each of the 2"
    ):
        realise(lb.HiddenMarkov(group_noise=(0.1,)), groups=2)


def test_the_chain_moves_as_its_matrix_says() -> None:
    chain = np.array([[0.7, 0.3, 0.0], [0.1, 0.5, 0.4], [0.25, 0.25, 0.5]])
    states = realise(lb.HiddenMarkov(transition=chain), horizon=200_000).states
    for row in range(3):
        after = np.bincount(states[1:][states[:-1] == row], minlength=3)
        possible = chain[row] > 0
        assert after[~possible].sum() == 0
        assert stats.chisquare(after[possible], after.sum() * chain[row][possible]).pvalue > 1e-4
    np.testing.assert_allclose(np.bincount(states) / len(states), stationary(chain), atol=0.01)


def test_the_chain_starts_in_its_stationary_distribution() -> None:
    chain = np.array([[0.9, 0.1], [0.4, 0.6]])
    first = [int(realise(lb.HiddenMarkov(transition=chain), horizon=1, draw=d).states[0]) for d in range(2000)]
    assert stats.binomtest(sum(first), 2000, 0.2).pvalue > 1e-4


def test_stickiness_is_a_matrix_with_uniform_jumps() -> None:
    np.testing.assert_allclose(lb.HiddenMarkov(states=4, stickiness=0.7).chain, 0.1 * np.ones((4, 4)) + 0.6 * np.eye(4))


def test_stationary_of_odd_chains() -> None:
    np.testing.assert_allclose(stationary(np.eye(3)), [1 / 3] * 3)
    np.testing.assert_allclose(stationary(np.roll(np.eye(4), 1, axis=1)), [1 / 4] * 4)
    np.testing.assert_allclose(stationary(np.array([[0.5, 0.5], [0.0, 1.0]])), [0, 1], atol=1e-12)


def test_gaussian_noise_per_unit() -> None:
    found = realise(lb.HiddenMarkov(noise=0.2), groups=2)
    noise = found.rewards - found.means[:, None, :]
    np.testing.assert_allclose(noise[:, :, 0], noise[:, :, 1], atol=1e-12)  # one number per group, shared by the arms
    for group in range(2):  # two groups share the traffic: twice the variance each, as in the paper
        assert stats.kstest(noise[:, group, 0] / (0.2 * np.sqrt(2)), "norm").pvalue > 1e-4
    assert abs(np.corrcoef(noise[:, 0, 0], noise[:, 1, 0])[0, 1]) < 0.03
    unequal = realise(lb.HiddenMarkov(group_noise=(0.1, 0.4)), groups=2)
    spread = (unequal.rewards[:, :, 0] - unequal.means[:, None, 0]).std(axis=0)
    np.testing.assert_allclose(spread, [0.1, 0.4], rtol=0.05)


def test_bernoulli_rewards() -> None:
    found = realise(lb.HiddenMarkov(means=[[0.2, 0.9]], rewards="bernoulli"))
    assert set(np.unique(found.rewards)) == {0.0, 1.0}
    np.testing.assert_allclose(found.rewards[:, 0].mean(axis=0), [0.2, 0.9], atol=0.02)


@pytest.mark.parametrize("name", rewards.NAMES)
def test_every_distribution_has_its_mean_and_its_variance_and_a_filtered_one_its_likelihood(name: str) -> None:
    low, high = rewards.DISTRIBUTIONS[name].span
    grid = low + (high - low) * np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    means = np.tile(grid, (40_000, 1))
    made = rewards.sampled(means, np.array([0.2]), name, seed=3, draw=0, repeat=0)[:, 0]
    variance = rewards.DISTRIBUTIONS[name].variance(grid, 0.2)
    np.testing.assert_allclose(made.mean(axis=0), grid, atol=4 * np.sqrt(variance.max() / 40_000))
    np.testing.assert_allclose(made.var(axis=0), variance, rtol=0.1 if name == "revenue" else 0.05)  # a heavy tail
    for arm, mean in enumerate(grid if name in rewards.FILTERED else []):  # the true mean is the likeliest
        seen = made[:4000, arm].tolist()
        fits = [
            sum(rewards.log_likelihood(rewards.FILTERED.index(name), one, other, 0.2) for one in seen) for other in grid
        ]
        assert grid[int(np.argmax(fits))] == mean


@pytest.mark.parametrize("kind", REGISTRY)
def test_every_kind_checks_its_arguments_and_can_be_compared(kind: str) -> None:
    make = REGISTRY[kind].make
    given: Any = {"file": np.eye(3)} if kind == "recorded" else {}
    one, other = make(**given), make(**given)
    assert one == other
    assert len({one, other}) == 1
    assert type(one).rules
    if kind != "recorded":
        assert make(noise=0.3) != one
        assert type(make(noise=1).noise) is float


def test_dwell_is_another_word_for_stickiness() -> None:
    assert lb.HiddenMarkov(dwell=50) == lb.HiddenMarkov(stickiness=0.98)


def test_carryover_mixes_the_previous_state() -> None:
    world = lb.HiddenMarkov(means=[[0.0, 1.0], [1.0, 0.0]], stickiness=0.5, carryover=0.25)
    found = realise(world, horizon=1000)
    mixed = 0.75 * world.means[found.states[1:]] + 0.25 * world.means[found.states[:-1]]
    np.testing.assert_allclose(found.means[1:], mixed)
    assert found.truth is not None
    assert found.truth.carryover == 0.25


@pytest.mark.parametrize(("states", "arms", "distance"), [(2, 2, 0.9), (10, 2, 0.2), (10, 2, 0.05), (5, 4, 0.5)])
def test_separation_is_exact(states: int, arms: int, distance: float) -> None:
    for draw in range(5):
        means = lb.HiddenMarkov(states=states, arms=arms, separation=distance).matrix(seed=0, draw=draw)
        assert ((means >= 0) & (means <= 1)).all()
        gaps = [np.linalg.norm(a - b) for i, a in enumerate(means) for b in means[:i]]
        assert min(gaps) == pytest.approx(distance, rel=1e-9)


def test_separation_over_some_arms() -> None:
    means = lb.HiddenMarkov(states=6, arms=3, separation=0.3, separated_arms=[2, 0]).matrix(seed=0, draw=0)
    gaps = [np.linalg.norm(a[[0, 2]] - b[[0, 2]]) for i, a in enumerate(means) for b in means[:i]]
    assert min(gaps) == pytest.approx(0.3, rel=1e-9)


def test_a_single_precision_matrix_will_do() -> None:
    chain = np.full((3, 3), 1 / 3, dtype=np.float32)
    np.testing.assert_allclose(lb.HiddenMarkov(transition=chain).chain.sum(axis=1), 1, atol=1e-15)


def test_carryover_with_many_states_is_cheap() -> None:
    """The chain of pairs, which has states^2 states, is built only for the oracle that needs it."""
    assert realise(lb.HiddenMarkov(states=300, carryover=0.3), horizon=10).means.shape == (10, 2)


def test_uniform_means_are_uniform_and_differ_between_draws() -> None:
    sampled = np.array([lb.HiddenMarkov().matrix(seed=1, draw=d) for d in range(200)])
    assert stats.kstest(sampled.ravel(), "uniform").pvalue > 1e-4
    assert len(np.unique(sampled)) == sampled.size


def test_what_is_revealed() -> None:
    found = realise(lb.HiddenMarkov(states=4, reveal="state"), horizon=100)
    np.testing.assert_array_equal(found.context.argmax(axis=1), found.states)
    shown = realise(lb.HiddenMarkov(states=4, reveal="means", carryover=0.5), horizon=100)
    np.testing.assert_array_equal(shown.context, shown.means)


def test_drift_is_smooth_and_uniform() -> None:
    far = np.array([realise(lb.Drift(timescale=50), horizon=1, draw=d).means[0] for d in range(500)])
    assert stats.kstest(far.ravel(), "uniform").pvalue > 1e-4
    slow, quick = (np.abs(np.diff(realise(lb.Drift(timescale=s)).means, axis=0)).mean() for s in (1000, 100))
    assert quick == pytest.approx(10 * slow, rel=0.4)


def test_seasons_return_in_order() -> None:
    found = realise(lb.Seasons(states=3, dwell=7), horizon=210)
    np.testing.assert_array_equal(found.states[21:], found.states[:-21])
    assert set(np.diff(found.states).tolist()) == {0, 1, -2}


def test_a_record_is_played_as_it_is() -> None:
    record = np.random.default_rng(0).random((30, 3))
    found = realise(lb.Replay(record, context=np.arange(30.0)[:, None]), horizon=20, groups=2)
    np.testing.assert_array_equal(found.rewards[:, 0], record[:20])
    np.testing.assert_array_equal(found.rewards[:, 1], record[:20])
    np.testing.assert_array_equal(found.context[:, 0], np.arange(20))


def test_availability_adds_to_the_realisation_and_changes_nothing_else() -> None:
    inner = lb.HiddenMarkov(arms=3, reveal="state", carryover=0.2)
    given = np.random.default_rng(0).random((500, 3)) < 0.6
    given[:, 1] |= ~given.any(axis=1)
    for groups in (1, 2):
        plain = realise(inner, horizon=400, groups=groups)
        found = realise(lb.WithAvailability(inner, given.astype(float)), horizon=400, groups=groups)
        np.testing.assert_array_equal(found.available, given[:400])
        for name in ("means", "rewards", "context", "states"):
            np.testing.assert_array_equal(getattr(found, name), getattr(plain, name))
        assert found.truth is not None
        assert plain.truth is not None
        np.testing.assert_array_equal(found.truth.means, plain.truth.means)


def test_an_arm_needs_every_availability() -> None:
    first = lb.WithAvailability(lb.Drift(arms=3), np.arange(40)[:, None] >= [10, 0, 0])
    both = lb.WithAvailability(first, np.arange(30)[:, None] < [30, 20, 30])
    available = realise(both, horizon=30).available
    assert available is not None
    assert available[[0, 9, 10, 19, 20, 29]].astype(int).tolist() == [
        [0, 1, 1], [0, 1, 1], [1, 1, 1], [1, 1, 1], [1, 0, 1], [1, 0, 1]
    ]  # fmt: skip


def test_rounds_of_availability_are_those_that_both_have() -> None:
    record = lb.Replay(np.random.default_rng(0).random((30, 2)))
    assert lb.WithAvailability(record, np.ones((50, 2))).rounds == 30
    assert lb.WithAvailability(record, np.ones((20, 2))).rounds == 20
    assert lb.WithAvailability(lb.Drift(), np.ones((50, 2))).rounds == 50
    assert lb.WithAvailability(record, np.ones((5, 2))) == lb.WithAvailability(record, np.ones((5, 2), bool))
    assert lb.WithAvailability(record, np.ones((5, 2))) != lb.WithAvailability(record, np.eye(2))

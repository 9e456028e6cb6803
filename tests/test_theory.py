"""The closed forms of gaps and decoding against brute force: paths enumerated or simulated, never by the simulator itself."""

import ast
import itertools
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from latentbandits_studies import theory
from tests.chains import CHAIN, CLOSE, MEANS, TABLE_1, World, agrees, paths, quick, walk, worlds

# --- gaps ---


@quick
@given(worlds())
def test_gaps_and_separations_are_what_loops_find(world: World) -> None:
    means, chain = world
    states, arms = means.shape
    for s in range(states):
        assert theory.optimal_arms(means)[s] == list(means[s]).index(max(means[s]))
        for a in range(arms):
            assert theory.state_gaps(means)[s, a] == max(means[s]) - means[s, a]
    assert theory.largest_gap(means) == max(max(row) - min(row) for row in means)
    pairs = list(itertools.combinations(range(states), 2))
    for a in range(arms):
        alone = min((abs(means[s, a] - means[u, a]) for s, u in pairs), default=math.inf)
        assert theory.arm_separations(means)[a] == pytest.approx(alone, abs=CLOSE)
        assert theory.joint_separation(means, [a]) == pytest.approx(alone, abs=CLOSE)
    joint = min((math.dist(means[s], means[u]) for s, u in pairs), default=math.inf)
    assert theory.joint_separation(means) == pytest.approx(joint, abs=CLOSE)
    assert theory.prediction_error(chain) == pytest.approx(max(1 - max(row) for row in chain), abs=CLOSE)
    assert theory.switch_rate(chain) == pytest.approx(max(1 - chain[s, s] for s in range(states)), abs=CLOSE)
    assert theory.prediction_error(chain) <= theory.switch_rate(chain)


def test_table_1_is_ambiguous_alone_and_separated_together() -> None:
    assert theory.arm_separations(TABLE_1).tolist() == [0, 0]
    assert theory.joint_separation(TABLE_1) == pytest.approx(0.2)
    assert theory.joint_separation(TABLE_1, [1, 0]) == theory.joint_separation(TABLE_1)


@quick
@given(worlds())
def test_stationary_stays(world: World) -> None:
    found = theory.stationary(world.chain)
    assert found.sum() == pytest.approx(1)
    assert (found > 0).all()
    assert found @ world.chain == pytest.approx(found, abs=1e-13)


def test_stationary_of_odd_chains() -> None:
    tiny = 1e-18  # 1 - tiny is 1 in floating point, and still the answer is right
    assert theory.stationary([[1.0, tiny], [3 * tiny, 1.0]]) == pytest.approx([0.75, 0.25])
    assert theory.stationary([[0.0, 1.0], [1.0, 0.0]]).tolist() == [0.5, 0.5]
    assert theory.stationary([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]).tolist() == [0, 0.5, 0.5]
    assert theory.stationary([[0.5, 0.5], [0.0, 1.0]]).tolist() == [0, 1]
    assert theory.stationary([[1.0]]).tolist() == [1]


@pytest.mark.parametrize("window", [1, 2, 3, 4])
def test_window_change_is_the_sum_over_paths(window: int) -> None:
    each = [sum(chance for path, chance in paths(CHAIN, start, window - 1) if len(set(path)) > 1) for start in range(3)]
    assert theory.window_change(CHAIN, window) == pytest.approx(theory.stationary(CHAIN) @ each, abs=CLOSE)
    assert theory.window_change(CHAIN, window, worst=True) == pytest.approx(max(each), abs=CLOSE)


@pytest.mark.parametrize("lag", [0, 1, 2, 4])
def test_drift_and_stale_regret_are_sums_over_paths(lag: int) -> None:
    best, gaps, start = theory.optimal_arms(MEANS), theory.state_gaps(MEANS), theory.stationary(CHAIN)
    moved, cost = np.zeros(3), np.zeros(3)
    for state in range(3):
        for path, chance in paths(CHAIN, state, lag):
            moved[state] += chance * (best[path[-1]] != best[state])
            cost[state] += chance * gaps[path[-1], best[state]]
    assert theory.drift_probability(MEANS, CHAIN, lag) == pytest.approx(start @ moved, abs=CLOSE)
    assert theory.drift_probability(MEANS, CHAIN, lag, worst=True) == pytest.approx(moved.max(), abs=CLOSE)
    assert theory.stale_regret(MEANS, CHAIN, lag) == pytest.approx(start @ cost, abs=CLOSE)
    assert theory.stale_regret(MEANS, CHAIN, lag, worst=True) == pytest.approx(cost.max(), abs=CLOSE)


@pytest.mark.parametrize("arms", [None, [1], [2, 0], [1, 2, 0]])
def test_probe_regret_is_the_sum_over_paths(arms: list[int] | None) -> None:
    probed, gaps, start = arms or [0, 1, 2], theory.state_gaps(MEANS), theory.stationary(CHAIN)
    together = [np.mean([gaps[s, a] for a in probed]) for s in range(3)]
    in_turn = [
        sum(
            chance * sum(gaps[state, arm] for state, arm in zip(path, probed, strict=True))
            for path, chance in paths(CHAIN, s, len(probed) - 1)
        )
        for s in range(3)
    ]
    for sequential, each in ((False, together), (True, in_turn)):
        found = [theory.probe_regret(MEANS, CHAIN, arms, sequential=sequential, worst=w) for w in (False, True)]
        assert found == pytest.approx([start @ each, max(each)], abs=CLOSE)


@quick
@given(worlds(), st.integers(0, 40))
def test_exact_changes_stay_below_their_bounds(world: World, lag: int) -> None:
    q, top = theory.switch_rate(world.chain), theory.largest_gap(world.means)
    average, worst = (theory.drift_probability(*world, lag, worst=w) for w in (False, True))
    assert 0 <= average <= worst + CLOSE <= theory.drift_bound(lag, q) + 2 * CLOSE
    assert theory.stale_regret(*world, lag) <= top * average + CLOSE
    assert theory.stale_regret(*world, lag, worst=True) <= top * worst + CLOSE
    average, worst = (theory.window_change(world.chain, lag + 1, worst=w) for w in (False, True))
    assert 0 <= average <= worst + CLOSE <= theory.window_change_bound(lag + 1, q) + 2 * CLOSE
    assert theory.drift_probability(*world, lag) <= average + CLOSE


def test_simulated_chains_agree() -> None:
    generator = np.random.default_rng(1)
    states = walk(CHAIN, rounds=12, runs=40_000, generator=generator)
    best, gaps = theory.optimal_arms(MEANS)[states], theory.state_gaps(MEANS)
    assert agrees((states[:4] != states[0]).any(axis=0).astype(float), theory.window_change(CHAIN, 4))
    for lag in (1, 5, 11):
        assert agrees((best[lag] != best[0]).astype(float), theory.drift_probability(MEANS, CHAIN, lag))
        assert agrees(gaps[states[lag], best[0]], theory.stale_regret(MEANS, CHAIN, lag))
    in_turn = sum(gaps[states[i], arm] for i, arm in enumerate([2, 0]))
    assert agrees(np.asarray(in_turn), theory.probe_regret(MEANS, CHAIN, [2, 0], sequential=True))


# --- decoding ---


def simulated_rewards(
    levels: np.ndarray, sigma: float, weights: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    states = generator.choice(len(levels), size=100_000, p=weights)
    return states, levels[states] + sigma * generator.standard_normal(len(states))


@pytest.mark.parametrize("levels", [[0.5], [0.2, 0.7], [0.6, 0.1, 0.35, 0.3], [0.4, 0.4, 0.6, 0.6], [0.5, 0.5, 0.5]])
@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.6])
def test_errors_of_one_arm_are_those_of_decoders(levels: list[float], sigma: float) -> None:
    marks = np.array(levels)
    weights = np.arange(1.0, len(marks) + 1) / np.arange(1.0, len(marks) + 1).sum()
    states, rewards = simulated_rewards(marks, sigma, weights, seed=len(levels))
    distance = (rewards[:, None] - marks) ** 2
    nearest = distance.argmin(axis=1)
    likeliest = (np.log(weights) - distance / (2 * sigma**2)).argmax(axis=1)
    assert agrees((nearest != states).astype(float), theory.nearest_mean_error(marks, sigma, weights))
    assert agrees((likeliest != states).astype(float), theory.bayes_error(marks, sigma, weights))
    found = theory.nearest_centroid_error(marks[:, None], sigma, weights, 50_000, np.random.default_rng(3))
    assert abs(found.value - theory.nearest_mean_error(marks, sigma, weights)) <= 5 * found.standard_error + CLOSE


@quick
@given(worlds(), st.floats(0.01, 2), st.data())
def test_exact_errors_stay_below_their_bounds(world: World, sigma: float, data: st.DataObject) -> None:
    means, chain = world
    arm = data.draw(st.integers(0, means.shape[1] - 1))
    weights = theory.stationary(chain)
    nearest = theory.nearest_mean_error(means[:, arm], sigma, weights)
    bound = theory.synchronous_bound(means, sigma, [arm], clip=False)
    assert theory.bayes_error(means[:, arm], sigma, weights) <= nearest + CLOSE
    assert nearest <= bound / 2 + CLOSE or bound >= 2 or theory.arm_separations(means)[arm] == 0
    assert nearest <= min(1, bound) + CLOSE
    shares = np.eye(means.shape[1])[arm]
    least, found, most = (
        theory.lagged_error(means, chain, sigma, shares, bayes=True),
        theory.lagged_error(means, chain, sigma, shares),
        theory.lagged_bound(means, chain, sigma, shares),
    )
    assert -CLOSE <= least <= found + 1e-5
    assert found <= most + CLOSE


@quick
@given(arrays(np.float64, st.integers(1, 6), elements=st.integers(0, 20).map(lambda n: n / 20)), st.floats(0.02, 1))
def test_weights_of_zero_and_order_do_not_matter(levels: np.ndarray, sigma: float) -> None:
    weights = np.arange(1.0, len(levels) + 1) / np.arange(1.0, len(levels) + 1).sum()
    found = theory.bayes_error(levels, sigma, weights)
    assert theory.bayes_error(levels[::-1], sigma, weights[::-1]) == pytest.approx(found, abs=CLOSE)
    assert theory.bayes_error([*levels, 0.33], sigma, [*weights, 0.0]) == pytest.approx(found, abs=CLOSE)
    equal = np.full(len(levels), 1 / len(levels))
    assert theory.bayes_error(levels, sigma) == pytest.approx(
        theory.nearest_mean_error(levels, sigma, equal), abs=CLOSE
    )


def test_far_tails_keep_their_digits() -> None:
    assert theory.pair_error(2.0, 0.1) == pytest.approx(7.619853e-24, rel=1e-6)  # the normal tail beyond 10
    assert theory.nearest_mean_error([0.0, 2.0], 0.1) == pytest.approx(theory.pair_error(2.0, 0.1), rel=1e-12)
    assert theory.bayes_error([0.0, 2.0], 0.1) == pytest.approx(theory.pair_error(2.0, 0.1), rel=1e-12)
    assert theory.synchronous_bound([[0.0], [1.0]], 1e-200) == 0
    assert theory.synchronous_bound([[0.3, 0.4]], 0.1) == theory.lagged_bound([[0.3, 0.4]], [[1.0]], 0.1) == 0


@pytest.mark.parametrize("sigma", [0.05, 0.2, 1.0])
def test_lagged_errors_are_those_of_decoders(sigma: float) -> None:
    shares, start = np.array([0.2, 0.5, 0.3]), theory.stationary(CHAIN)
    generator = np.random.default_rng(2)
    before, now = walk(CHAIN, rounds=2, runs=100_000, generator=generator)
    arms = generator.choice(3, size=len(now), p=shares)
    rewards = MEANS[before, arms] + sigma * generator.standard_normal(len(now))
    distance = (rewards[:, None] - MEANS.T[arms]) ** 2
    nearest = CHAIN.argmax(axis=1)[distance.argmin(axis=1)]
    belief = (np.exp(-distance / (2 * sigma**2)) * start) @ CHAIN
    assert agrees((nearest != now).astype(float), theory.lagged_error(MEANS, CHAIN, sigma, shares))
    assert agrees(
        (belief.argmax(axis=1) != now).astype(float), theory.lagged_error(MEANS, CHAIN, sigma, shares, bayes=True)
    )


@pytest.mark.parametrize("sigma", [0.003, 0.1, 0.5, 3.0])
def test_quadrature_agrees_with_the_closed_form(sigma: float) -> None:
    """Of a chain that almost never moves, the present state is the previous one."""
    for levels in ([0.1, 0.5, 0.45, 0.9], [0.2, 0.7, 0.2, 0.4]):
        means = np.array(levels)[:, None]
        frozen = np.full((4, 4), 1e-13) + np.diag(np.full(4, 1 - 4e-13))
        found = theory.lagged_error(means, frozen, sigma, bayes=True)
        assert found == pytest.approx(theory.bayes_error(levels, sigma), abs=1e-6)


def test_two_states_are_told_apart_as_on_a_line() -> None:
    means = np.array([[0.1, 0.6, 0.3], [0.5, 0.4, 0.2]])
    found = theory.nearest_centroid_error(means, 0.2, [0.3, 0.7], 100_000, np.random.default_rng(5))
    assert abs(found.value - theory.pair_error(theory.joint_separation(means), 0.2)) < 5 * found.standard_error


@pytest.mark.parametrize("sigma", [0.03, 0.08, 0.2])
@pytest.mark.parametrize("arms", [[0, 1], [0, 1, 2]])
def test_fingerprints_err_less_than_their_bounds(sigma: float, arms: list[int]) -> None:
    generator = np.random.default_rng(7)
    prints = MEANS[:, arms]
    together = theory.nearest_centroid_error(prints, sigma, theory.stationary(CHAIN), 50_000, generator)
    assert together.value - 5 * together.standard_error <= theory.synchronous_bound(MEANS, sigma, arms)
    states = walk(CHAIN, rounds=len(arms), runs=50_000, generator=generator)
    rewards = MEANS[states.T, arms] + sigma * generator.standard_normal(states.T.shape)
    decoded = ((rewards[:, None, :] - prints) ** 2).sum(axis=2).argmin(axis=1)
    wrong = (decoded != states[-1]).mean()
    bound = theory.sequential_bound(MEANS, CHAIN, sigma, arms)
    assert wrong <= bound + 0.01
    assert bound <= theory.sequential_bound(MEANS, CHAIN, sigma, arms, union=True)
    assert theory.sequential_bound(MEANS, CHAIN, 9.0, clip=False) > 1 == theory.sequential_bound(MEANS, CHAIN, 9.0)


# --- the split of regret ---


@quick
@given(worlds(), st.data())
def test_the_split_adds_up_to_the_regret(world: World, data: st.DataObject) -> None:
    rounds = data.draw(st.integers(1, 30))
    arms = arrays(np.int64, rounds, elements=st.integers(0, world.means.shape[1] - 1))
    states = data.draw(arrays(np.int64, rounds, elements=st.integers(0, len(world.means) - 1)))
    rule, played = data.draw(arms), data.draw(arms)
    split = theory.decompose(world.means[states], rule, played)
    gaps = theory.state_gaps(world.means)
    assert sum(split) == pytest.approx(gaps[states, played].sum(), abs=1e-9)
    assert split.approximation == pytest.approx(gaps[states, rule].sum(), abs=1e-9)


@pytest.mark.parametrize("sigma", [0.05, 0.2])
def test_approximation_is_bounded_by_decoding_errors(sigma: float) -> None:
    """The best rule on the lagged pair, when arms are drawn at random: Bayes' rule for the arm."""
    generator = np.random.default_rng(12)
    before, now = walk(CHAIN, rounds=2, runs=50_000, generator=generator)
    arms = generator.integers(0, 3, len(now))
    rewards = MEANS[before, arms] + sigma * generator.standard_normal(len(now))
    likelihood = np.exp(-((rewards[:, None] - MEANS.T[arms]) ** 2) / (2 * sigma**2))
    rule = ((likelihood * theory.stationary(CHAIN)) @ CHAIN @ MEANS).argmax(axis=1)
    split = theory.decompose(MEANS[now], rule, arms)
    error = theory.lagged_error(MEANS, CHAIN, sigma, bayes=True)
    bound = theory.approximation_bound(theory.largest_gap(MEANS), np.full(len(now), error))
    assert 0 < split.approximation < bound
    assert split.learning > 0


# --- refusals ---

GOOD: tuple[Any, Any] = ([[0.1, 0.9], [0.8, 0.2]], [[0.9, 0.1], [0.1, 0.9]])


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: theory.state_gaps([0.1, 0.9]), "means"),
        (lambda: theory.state_gaps([[0.1, math.nan]]), "means"),
        (lambda: theory.largest_gap(np.zeros((0, 2))), "means"),
        (lambda: theory.joint_separation(GOOD[0], [0, 2]), "arms"),
        (lambda: theory.joint_separation(GOOD[0], [0, 0]), "arms"),
        (lambda: theory.joint_separation(GOOD[0], []), "arms"),
        (lambda: theory.switch_rate([[0.9, 0.2], [0.1, 0.9]]), "transition[0]"),
        (lambda: theory.switch_rate([[0.9, 0.1], [-0.1, 1.1]]), "transition[1]"),
        (lambda: theory.prediction_error([[0.5, 0.5]]), "transition"),
        (lambda: theory.stationary([[1.0, 0.0], [0.0, 1.0]]), "transition"),
        (lambda: theory.window_change(GOOD[1], 0), "window"),
        (lambda: theory.window_change_bound(2, 1.5), "q"),
        (lambda: theory.drift_probability(GOOD[0], [[1.0]], 1), "transition"),
        (lambda: theory.drift_probability(*GOOD, -1), "lag"),
        (lambda: theory.drift_bound(1, -0.1), "q"),
        (lambda: theory.stale_regret(*GOOD, 1.5), "lag"),  # type: ignore[arg-type]
        (lambda: theory.probe_regret(*GOOD, arms=[3]), "arms"),
        (lambda: theory.synchronous_bound(GOOD[0], 0.0), "sigma"),
        (lambda: theory.sequential_bound(*GOOD, 0.1, [2]), "arms"),
        (lambda: theory.lagged_bound(*GOOD, 0.1, [0.5, 0.4]), "plays"),
        (lambda: theory.lagged_error(*GOOD, 0.1, [1.0]), "plays"),
        (lambda: theory.pair_error(-1.0, 0.1), "separation"),
        (lambda: theory.pair_error(math.nan, 0.1), "separation"),
        (lambda: theory.nearest_mean_error([], 0.1), "levels"),
        (lambda: theory.bayes_error([0.1, 0.2], 0.1, [1.5, -0.5]), "weights"),
        (lambda: theory.nearest_centroid_error(GOOD[0], 0.1, None, 0, np.random.default_rng(0)), "draws"),
        (lambda: theory.episode_bound([1], [2], [0.1, 0.1], [0.1], 1.0), "number of costs, lengths and errors"),
        (lambda: theory.episode_bound([1], [3], [0.1], [0.1], 1.0), "lengths"),
        (lambda: theory.episode_bound([-1], [2], [0.1], [0.1], 1.0), "costs"),
        (lambda: theory.periodic_bound(0.5, 0.1, 1.0, 0.1), "tau"),
        (lambda: theory.periodic_bound(2, 0.1, 1.0, 0.1, horizon=0), "horizon"),
        (lambda: theory.best_interval(-0.1, 1.0, 0.1), "probe_cost"),
        (lambda: theory.paper_interval(0.1, -1.0, 0.1), "delta_max"),
        (lambda: theory.age_cap(0.0, 0.5), "hazard_rate"),
        (lambda: theory.age_cap(0.1, 1.0), "threshold"),
        (lambda: theory.reuse_cap(0.1, 0.5, window=0), "window"),
        (lambda: theory.hazard_bound(4, 0.1, 0.1, 1.0, [0.1, 0.2]), "drift"),
        (lambda: theory.approximation_bound(1.0, [0.5, 1.5]), "errors"),
        (lambda: theory.adaptive_bound(0, 0.1, 0.1, 1.0, 0.1), "cap"),
        (lambda: theory.adaptive_bound(4, 1.5, 0.1, 1.0, 0.1), "probe_rate"),
        (lambda: theory.matched_exploration(2, 2, 0, 0.1), "horizon"),
        (lambda: theory.matched_exploration(2, 2, 10, 0.1, risk=0.0), "risk"),
        (lambda: theory.matched_exploration(2, 2, 10, 0.0), "sigma"),
        (lambda: theory.matched_plays(GOOD[0], 0.5, regularization=0.0), "regularization"),
        (lambda: theory.matched_bound(*GOOD, 10, 0.1, exploration=0.1), "exploration"),
        (lambda: theory.decoded_bound(*GOOD, 0.1, 0, 10), "interval"),
        (lambda: theory.decoded_bound(*GOOD, 0.1, 5, 10, [2]), "arms"),
        (lambda: theory.decompose(GOOD[0], [0, 1], [0, 2]), "played_arms"),
        (lambda: theory.decompose(GOOD[0], [0], [0, 1]), "best_rule_arms"),
    ],
)
def test_bad_values_are_refused_in_one_sentence(call: Callable[[], object], field: str) -> None:
    with pytest.raises(ValueError) as refusal:
        call()
    assert f": {field} is " in str(refusal.value)
    assert " but must be " in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_theory_stands_alone() -> None:
    """It may import the standard library, NumPy, SciPy and the refusals, and nothing of what it is there to check."""
    allowed = sys.stdlib_module_names | {"numpy", "scipy"}
    files = sorted(Path(theory.__file__).parent.glob("*.py"))
    assert len(files) == 6
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0
                names = [node.module or ""]
            for name in names:
                own = name.startswith(("latentbandits_studies.theory.", "latentbandits.settings"))
                assert own or name.split(".")[0] in allowed, (file.name, name)

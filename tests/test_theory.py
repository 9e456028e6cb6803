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
from tests.chains import CHAIN, CLOSE, MEANS, TABLE_1, World, agrees, paths, quick, stale_regret, walk, worlds

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
        assert theory.joint_separation(means, [a]) == pytest.approx(alone, abs=CLOSE)
    joint = min((math.dist(means[s], means[u]) for s, u in pairs), default=math.inf)
    assert theory.joint_separation(means) == pytest.approx(joint, abs=CLOSE)
    assert theory.switch_rate(chain) == pytest.approx(max(1 - chain[s, s] for s in range(states)), abs=CLOSE)


def test_table_1_is_ambiguous_alone_and_separated_together() -> None:
    assert [theory.joint_separation(TABLE_1, [arm]) for arm in (0, 1)] == [0, 0]
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
    assert stale_regret(MEANS, CHAIN, lag) == pytest.approx(start @ cost, abs=CLOSE)
    assert stale_regret(MEANS, CHAIN, lag, worst=True) == pytest.approx(cost.max(), abs=CLOSE)


def test_probe_regret_is_the_sum_over_paths() -> None:
    gaps, start = theory.state_gaps(MEANS), theory.stationary(CHAIN)
    together = [np.mean(gaps[s]) for s in range(3)]
    in_turn = [
        sum(chance * sum(gaps[state, arm] for arm, state in enumerate(path)) for path, chance in paths(CHAIN, s, 2))
        for s in range(3)
    ]
    for sequential, each in ((False, together), (True, in_turn)):
        found = [theory.probe_regret(MEANS, CHAIN, sequential=sequential, worst=w) for w in (False, True)]
        assert found == pytest.approx([start @ each, max(each)], abs=CLOSE)


@quick
@given(worlds(), st.integers(0, 40))
def test_exact_changes_stay_below_their_bounds(world: World, lag: int) -> None:
    q, top = theory.switch_rate(world.chain), theory.largest_gap(world.means)
    average, worst = (theory.drift_probability(*world, lag, worst=w) for w in (False, True))
    assert 0 <= average <= worst + CLOSE <= theory.drift_bound(lag, q) + 2 * CLOSE
    assert stale_regret(*world, lag) <= top * average + CLOSE
    assert stale_regret(*world, lag, worst=True) <= top * worst + CLOSE
    average = theory.window_change(world.chain, lag + 1)
    assert 0 <= average <= theory.window_change_bound(lag + 1, q) + CLOSE
    assert theory.drift_probability(*world, lag) <= average + CLOSE


def test_simulated_chains_agree() -> None:
    generator = np.random.default_rng(1)
    states = walk(CHAIN, rounds=12, runs=40_000, generator=generator)
    best, gaps = theory.optimal_arms(MEANS)[states], theory.state_gaps(MEANS)
    assert agrees((states[:4] != states[0]).any(axis=0).astype(float), theory.window_change(CHAIN, 4))
    for lag in (1, 5, 11):
        assert agrees((best[lag] != best[0]).astype(float), theory.drift_probability(MEANS, CHAIN, lag))
        assert agrees(gaps[states[lag], best[0]], stale_regret(MEANS, CHAIN, lag))
    in_turn = sum(gaps[states[arm], arm] for arm in range(3))
    assert agrees(np.asarray(in_turn), theory.probe_regret(MEANS, CHAIN, sequential=True))


# --- decoding ---


@pytest.mark.parametrize("levels", [[0.5], [0.2, 0.7], [0.6, 0.1, 0.35, 0.3], [0.4, 0.4, 0.6, 0.6], [0.5, 0.5, 0.5]])
@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.6])
def test_the_error_of_one_arm_is_that_of_the_nearest_mean(levels: list[float], sigma: float) -> None:
    marks, generator = np.array(levels), np.random.default_rng(len(levels))
    states = generator.integers(0, len(marks), 100_000)
    rewards = marks[states] + sigma * generator.standard_normal(len(states))
    nearest = ((rewards[:, None] - marks) ** 2).argmin(axis=1)
    assert agrees((nearest != states).astype(float), theory.bayes_error(marks, sigma))
    found = theory.nearest_centroid_error(marks[:, None], sigma, None, 50_000, np.random.default_rng(3))
    assert abs(found.value - theory.bayes_error(marks, sigma)) <= 5 * found.standard_error + CLOSE


@quick
@given(worlds(), st.floats(0.01, 2), st.data())
def test_exact_errors_stay_below_their_bounds(world: World, sigma: float, data: st.DataObject) -> None:
    means, chain = world
    arm = data.draw(st.integers(0, means.shape[1] - 1))
    nearest = theory.bayes_error(means[:, arm], sigma)
    bound = theory.synchronous_bound(means, sigma, [arm], clip=False)
    assert nearest <= bound / 2 + CLOSE or bound >= 2 or theory.joint_separation(means, [arm]) == 0
    assert nearest <= min(1, bound) + CLOSE
    least, found, most = (
        theory.lagged_error(means, chain, sigma, bayes=True),
        theory.lagged_error(means, chain, sigma),
        theory.lagged_bound(means, chain, sigma),
    )
    assert -CLOSE <= least <= found + 1e-5
    assert found <= most + CLOSE


@quick
@given(arrays(np.float64, st.integers(1, 6), elements=st.integers(0, 20).map(lambda n: n / 20)), st.floats(0.02, 1))
def test_the_order_of_states_does_not_matter(levels: np.ndarray, sigma: float) -> None:
    assert theory.bayes_error(levels[::-1], sigma) == pytest.approx(theory.bayes_error(levels, sigma), abs=CLOSE)


def test_far_tails_keep_their_digits() -> None:
    assert theory.bayes_error([0.0, 2.0], 0.1) == pytest.approx(7.619853e-24, rel=1e-6)  # the normal tail beyond 10
    assert theory.synchronous_bound([[0.0], [1.0]], 1e-200) == 0
    assert theory.synchronous_bound([[0.3, 0.4]], 0.1) == theory.lagged_bound([[0.3, 0.4]], [[1.0]], 0.1) == 0


@pytest.mark.parametrize("sigma", [0.05, 0.2, 1.0])
def test_lagged_errors_are_those_of_decoders(sigma: float) -> None:
    start = theory.stationary(CHAIN)
    generator = np.random.default_rng(2)
    before, now = walk(CHAIN, rounds=2, runs=100_000, generator=generator)
    arms = generator.integers(0, 3, len(now))
    rewards = MEANS[before, arms] + sigma * generator.standard_normal(len(now))
    distance = (rewards[:, None] - MEANS.T[arms]) ** 2
    nearest = CHAIN.argmax(axis=1)[distance.argmin(axis=1)]
    belief = (np.exp(-distance / (2 * sigma**2)) * start) @ CHAIN
    assert agrees((nearest != now).astype(float), theory.lagged_error(MEANS, CHAIN, sigma))
    assert agrees((belief.argmax(axis=1) != now).astype(float), theory.lagged_error(MEANS, CHAIN, sigma, bayes=True))


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
    assert abs(found.value - theory.bayes_error([0.0, theory.joint_separation(means)], 0.2)) < 5 * found.standard_error


@pytest.mark.parametrize("sigma", [0.03, 0.08, 0.2])
def test_fingerprints_err_less_than_their_bounds(sigma: float) -> None:
    generator = np.random.default_rng(7)
    together = theory.nearest_centroid_error(MEANS, sigma, theory.stationary(CHAIN), 50_000, generator)
    assert together.value - 5 * together.standard_error <= theory.synchronous_bound(MEANS, sigma)
    states = walk(CHAIN, rounds=3, runs=50_000, generator=generator)
    rewards = MEANS[states.T, [0, 1, 2]] + sigma * generator.standard_normal(states.T.shape)
    decoded = ((rewards[:, None, :] - MEANS) ** 2).sum(axis=2).argmin(axis=1)
    assert (decoded != states[-1]).mean() <= theory.sequential_bound(MEANS, CHAIN, sigma) + 0.01
    assert theory.sequential_bound(MEANS, CHAIN, 9.0) == 1


# --- refusals ---

GOOD: tuple[Any, Any] = ([[0.1, 0.9], [0.8, 0.2]], [[0.9, 0.1], [0.1, 0.9]])


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: theory.state_gaps([0.1, 0.9]), "means"),
        (lambda: theory.state_gaps([[0.1, math.nan]]), "means"),
        (lambda: theory.largest_gap(np.zeros((0, 2))), "means"),
        (lambda: theory.switch_rate([[0.9, 0.2], [0.1, 0.9]]), "transition"),
        (lambda: theory.switch_rate([[0.9, 0.1], [-0.1, 1.1]]), "transition"),
        (lambda: theory.switch_rate([[0.5, 0.5]]), "transition"),
        (lambda: theory.stationary([[1.0, 0.0], [0.0, 1.0]]), "transition"),
        (lambda: theory.drift_probability(GOOD[0], [[1.0]], 1), "transition"),
        (lambda: theory.episode_bound([1], [3], [0.1], [0.1], 1.0), "lengths"),
        (lambda: theory.hazard_bound(4, 0.1, 0.1, 1.0, [0.1, 0.2]), "drift"),
        (lambda: theory.gated_bound(*GOOD, 0.1, 0.0, 10, 100), "surprise"),
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
    assert len(files) == 5
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0
                names = [node.module or ""]
            for name in names:
                own = name.startswith(("latentbandits_studies.theory.", "latentbandits.settings"))
                assert own or name.split(".")[0] in allowed, (file.name, name)

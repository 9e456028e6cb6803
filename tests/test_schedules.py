"""The closed forms of probe schedules against brute force: cycles and gates simulated in plain NumPy."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latentbandits_studies import theory
from tests.chains import CHAIN, CLOSE, MEANS, World, agrees, quick, stale_regret, walk, worlds

# --- schedules ---


class Runs(NamedTuple):
    """What idealised runs cost: regret per round of each, and the schedule they had (probes, longest reuse)."""

    regret: np.ndarray
    probes: np.ndarray
    longest: int


def idealised(
    world: World,
    rounds: int,
    runs: int,
    error: float,
    due: Callable[[int, np.ndarray, np.ndarray, np.ndarray], np.ndarray],
    seed: int,
) -> Runs:
    """Play the policy of the theorem: probe when due, at the mean gap of the state, then reuse the arm that was named.

    `due(t, age, stale, wrong)` sees even the truth: whether, one round ago, the best arm had changed since the probe,
    and whether the probe was wrong.
    """
    generator = np.random.default_rng(seed)
    states = walk(world.chain, rounds, runs, generator)
    gaps, best = theory.state_gaps(world.means), theory.optimal_arms(world.means)
    regret, probes = np.zeros(runs), np.zeros(runs, np.int64)
    age, named, then = np.full(runs, -1), np.zeros(runs, np.int64), np.full(runs, -1)
    wrong, longest = np.zeros(runs, bool), 0
    for t in range(rounds):
        stale = (then >= 0) & (best[states[t - 1]] != then)  # as of the round before
        probe = due(t, age, stale, wrong)
        regret += np.where(probe, gaps[states[t]].mean(axis=1), gaps[states[t], named])
        probes += probe
        then = np.where(probe, best[states[t]], then)
        slip = generator.random(runs) < error
        other = (then + generator.integers(1, gaps.shape[1], runs)) % gaps.shape[1]
        named, wrong = np.where(probe, np.where(slip, other, then), named), np.where(probe, slip, wrong)
        age = np.where(probe, 1, np.where(age >= 0, age + 1, age))
        longest = max(longest, int(age.max()))
    return Runs(regret / rounds, probes, longest)


TWO = World(np.array([[0.8, 0.3], [0.1, 0.6]]), np.array([[0.97, 0.03], [0.05, 0.95]]))
THREE = World(MEANS, CHAIN)


@pytest.mark.parametrize("world", [TWO, THREE])
@pytest.mark.parametrize("tau", [1, 2, 3, 5, 8, 13, 30])
@pytest.mark.parametrize("first", [0, -1])  # the first probe in the first round, or in round tau as in RP-UCB
def test_periodic_probing_obeys_corollary_1(world: World, tau: int, first: int) -> None:
    rounds, error = 140, 0.1 if tau in (3, 13) else 0.0
    offset = first % tau
    run = idealised(world, rounds, 1500, error, lambda t, age, *_: np.full(age.shape, t % tau == offset), seed=tau)
    noise = 5 * run.regret.std() / math.sqrt(len(run.regret))
    cost, top, q = (
        theory.probe_regret(*world, worst=True),
        theory.largest_gap(world.means),
        theory.switch_rate(world.chain),
    )
    assert run.regret.mean() - noise <= theory.periodic_bound(tau, cost, top, q, error, rounds)
    if first == 0 and error == 0:  # then the regret is known exactly
        ages = [t % tau for t in range(rounds)]
        probe, stale = theory.probe_regret(*world), [stale_regret(*world, age) for age in range(tau)]
        assert agrees(run.regret, float(np.mean([probe if age == 0 else stale[age] for age in ages])))


@quick
@given(worlds(), st.integers(1, 30), st.floats(0, 1))
def test_exact_cycles_cost_less_than_the_theorem_and_the_corollary(world: World, tau: int, error: float) -> None:
    top, q, cost = theory.largest_gap(world.means), theory.switch_rate(world.chain), theory.probe_regret(*world)
    drift = [theory.drift_probability(*world, lag) for lag in range(1, tau)]
    exact = cost + sum(stale_regret(*world, lag) for lag in range(1, tau))
    assert exact <= theory.episode_bound([cost], [tau], [0.0], drift, top) + 1e-9
    assert theory.episode_bound([cost], [tau], [error], drift, top) <= (
        tau * theory.periodic_bound(tau, cost, top, q, error) + 1e-9
    )


def test_episode_bound_is_the_double_sum() -> None:
    generator = np.random.default_rng(4)
    costs, errors, drift = generator.random(6), generator.random(6), generator.random(9)
    lengths = generator.integers(1, 11, 6)
    wanted = 0.7 * 3.5
    for m in range(6):
        wanted += costs[m] + sum(0.7 * (errors[m] + drift[j - 1]) for j in range(1, lengths[m]))
    assert theory.episode_bound(costs, lengths, errors, drift, 0.7, 3.5) == pytest.approx(wanted)
    assert theory.episode_bound([], [], [], [], 0.5, leftover=4) == 2


def test_random_episodes_obey_theorem_1() -> None:
    """Lengths are drawn independently of the state, so that plain probabilities are enough."""
    for world in (TWO, THREE):
        rounds, generator = 150, np.random.default_rng(9)
        script = generator.random(rounds) < 0.15
        run = idealised(world, rounds, 2000, 0.05, lambda t, age, *_, s=script: np.full(age.shape, s[t]), seed=10)
        starts = np.flatnonzero(script)
        lengths = np.diff(np.append(starts, rounds))
        drift = [theory.drift_probability(*world, lag, worst=True) for lag in range(1, int(lengths.max()))]
        cost, top = theory.probe_regret(*world, worst=True), theory.largest_gap(world.means)
        full = np.full(len(lengths), 1.0)
        bound = theory.episode_bound(cost * full, lengths, 0.05 * full, drift, top, leftover=float(starts[0]))
        assert run.regret.mean() - 5 * run.regret.std() / math.sqrt(2000) <= bound / rounds


def test_the_ends_of_a_run_are_paid_for() -> None:
    """Before its first probe a policy may always play the worst arm, and a run may end right after a probe."""
    assert theory.periodic_bound(10, 0.25, 0.5, 0.0, horizon=9) >= 9 * 0.5 / 9
    assert theory.periodic_bound(10, 0.25, 0.5, 0.0, horizon=1) >= 0.25
    ends = theory.periodic_bound(10, 0.25, 0.5, 0.1, 0.2, horizon=50) - theory.periodic_bound(10, 0.25, 0.5, 0.1, 0.2)
    assert ends == pytest.approx((0.25 + 10 * 0.5) / 50)


@quick
@given(st.floats(0.01, 2), st.floats(0.05, 1), st.floats(0.001, 1))
def test_best_interval_is_the_lowest_point(cost: float, top: float, q: float) -> None:
    best = theory.best_interval(cost, top, q)
    lowest = theory.periodic_bound(max(1.0, best), cost, top, q)
    assert all(lowest <= theory.periodic_bound(tau, cost, top, q) + CLOSE for tau in np.geomspace(1, 200, 300))
    whole = min(range(1, 300), key=lambda tau: theory.periodic_bound(tau, cost, top, q))
    assert abs(whole - max(1.0, best)) < 1 + 1e-9
    assert best == pytest.approx(math.sqrt(2) * theory.paper_interval(cost, top, q))
    if (
        theory.paper_interval(cost, top, q) >= 1
    ):  # the constant that the paper leaves out costs 6 % of the leading terms
        at_best, at_paper = (
            theory.periodic_bound(tau, cost, top, q) + top * q / 2
            for tau in (best, theory.paper_interval(cost, top, q))
        )
        assert at_paper / at_best == pytest.approx(1.5 / math.sqrt(2))


def test_intervals_of_a_world_that_never_changes() -> None:
    assert theory.best_interval(0.5, 1.0, 0.0) == theory.paper_interval(0.5, 0.0, 0.5) == math.inf


@quick
@given(st.floats(0.01, 3), st.floats(0, 0.99))
def test_age_cap_is_the_first_age_that_opens_the_gate(rate: float, threshold: float) -> None:
    cap = theory.age_cap(rate, threshold)
    assert -math.expm1(-rate * cap) >= threshold - CLOSE
    assert cap == 0 or -math.expm1(-rate * (cap - 1)) < threshold + CLOSE


def test_the_papers_defaults_give_seven() -> None:
    assert theory.age_cap(0.1, 0.5) == 7


def hazard_case(world: World, error: float, perverse: Callable[..., np.ndarray]) -> tuple[float, float, float]:
    """Return regret per round, its noise, and the bound, of a gate that opens at the cap or when a rule says so."""
    cap, rounds = theory.age_cap(0.1, 0.5), 300
    run = idealised(
        world, rounds, 1000, error, lambda t, age, *truth: (age < 0) | (age >= cap) | perverse(age, *truth), seed=11
    )
    assert run.longest == cap
    drift = [theory.drift_bound(lag, theory.switch_rate(world.chain)) for lag in range(1, cap)]
    cost, top = theory.probe_regret(*world, worst=True), theory.largest_gap(world.means)
    rate = float(run.probes.mean()) / rounds
    bound = theory.hazard_bound(cap, rate, cost, top, drift, error, leftover_rate=cap / rounds)
    return float(run.regret.mean()), 5 * float(run.regret.std()) / math.sqrt(1000), bound


@pytest.mark.parametrize("world", [TWO, THREE])
def test_hazard_bound_holds_for_gates_blind_to_error(world: World) -> None:
    """Even for a gate that renews only fresh probes and keeps the stale ones."""
    for error, perverse in (
        (0.1, lambda age, stale, wrong: np.zeros(age.shape, bool)),
        (0.1, lambda age, stale, wrong: (age >= 2) & ~stale),
        (0.1, lambda age, stale, wrong: stale),
        (0.1, lambda age, stale, wrong: wrong),
    ):
        regret, noise, bound = hazard_case(world, error, perverse)
        assert regret - noise <= bound


def test_hazard_bound_needs_gates_that_do_not_keep_wrong_probes() -> None:
    """The corollary asks for the error of a completed probe only, which is too little; `schedules` says why."""
    frozen = World(np.array([[0.6, 0.4], [0.4, 0.6]]), np.array([[1 - 1e-9, 1e-9], [1e-9, 1 - 1e-9]]))
    regret, noise, bound = hazard_case(frozen, 0.1, lambda age, stale, wrong: ~wrong)
    assert regret - noise > bound


GATES: dict[str, Callable[..., np.ndarray]] = {
    "cap only": lambda age, stale, wrong: np.zeros(age.shape, bool),
    "renews the fresh": lambda age, stale, wrong: (age >= 2) & ~stale,
    "renews the stale": lambda age, stale, wrong: stale,
    "renews the wrong": lambda age, stale, wrong: wrong,
    "renews the right": lambda age, stale, wrong: ~wrong,
    "renews the right and fresh": lambda age, stale, wrong: ~wrong & ~stale,
}


@pytest.mark.parametrize("world", [TWO, THREE])
@pytest.mark.parametrize("gate", GATES)
def test_the_corrected_corollary_holds_for_every_gate(world: World, gate: str) -> None:
    cap, rounds, error = 7, 300, 0.1
    due = GATES[gate]
    run = idealised(
        world, rounds, 1000, error, lambda t, age, *truth: (age < 0) | (age >= cap) | due(age, *truth), seed=12
    )
    cost, top = theory.probe_regret(*world, worst=True), theory.largest_gap(world.means)
    rate, q = float(run.probes.mean()) / rounds, theory.switch_rate(world.chain)
    noise = 5 * float(run.regret.std()) / math.sqrt(1000)
    assert run.regret.mean() - noise <= theory.adaptive_bound(cap, rate, cost, top, q, error)


def test_the_corrected_corollary_is_exact_where_the_gate_is_perverse() -> None:
    """The state never changes, right probes are renewed after a round, wrong ones kept to the end."""
    frozen = World(np.array([[0.6, 0.4], [0.4, 0.6]]), np.array([[1 - 1e-9, 1e-9], [1e-9, 1 - 1e-9]]))
    rounds, error = 700, 0.1
    for cap in (3, 7, 20):

        def due(t: int, age: np.ndarray, stale: np.ndarray, wrong: np.ndarray, cap: int = cap) -> np.ndarray:
            return np.asarray((age < 0) | (age >= cap) | ~wrong)

        run = idealised(frozen, rounds, 1000, error, due, seed=13)
        rate = float(run.probes.mean()) / rounds
        bound = theory.adaptive_bound(cap, rate, 0.1, 0.2, 1e-9, error)
        assert run.regret.mean() == pytest.approx(bound, rel=0.05)


@quick
@given(st.integers(1, 60), st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.01), st.floats(0, 0.1))
def test_for_fixed_schedules_the_corrected_corollary_is_corollary_1(
    tau: int, cost: float, top: float, q: float, error: float
) -> None:
    found = theory.adaptive_bound(tau, 1 / tau, cost, top, q, error)
    wanted = theory.periodic_bound(tau, cost, top, q, error) - top * error / tau  # of the probe's own round
    assert found == pytest.approx(min(wanted, cost / tau + top), abs=CLOSE)

"""Bounds on learners against brute force and against simulation, and the policy of the second one."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import latentbandits as lb
from latentbandits.protocols import RESIDUAL, SCHEDULED, Realisation
from latentbandits.random import stream
from latentbandits.simulation.batch import record_one
from latentbandits.testing import PolicyChecks
from latentbandits_studies import theory
from latentbandits_studies.policies.decode_commit import DecodeCommit

MEANS = np.array([[0.8, 0.5, 0.3], [0.2, 0.55, 0.7], [0.4, 0.9, 0.6]])
CHAIN = np.array([[0.9, 0.06, 0.04], [0.02, 0.95, 0.03], [0.1, 0.0, 0.9]])


# --- a learner that sees the state ---


@pytest.mark.parametrize(("sigma", "penalty", "top"), [(0.1, 0.1, 1.0), (0.5, 2.0, 0.3), (0.02, 5.0, 1.0)])
def test_exploration_is_the_largest_error_in_units_of_the_width(sigma: float, penalty: float, top: float) -> None:
    """Over all counts, of a mean that is as far off as the event allows and of a shrinkage that makes it worse."""
    level = math.log(4 * 3 * 1000 / 0.01)
    counts = np.geomspace(1e-3, 1e6, 20_000)  # real numbers too: then the bound is attained
    errors = (counts * sigma * np.sqrt(2 * level / counts) + penalty * top) / (counts + penalty)
    alpha = theory.matched_exploration(4, 3, 1000, sigma, 0.01, penalty, top)
    assert (errors * np.sqrt(counts + penalty)).max() == pytest.approx(alpha, rel=1e-4)
    assert theory.matched_exploration(4, 3, 1000, sigma) == theory.matched_exploration(4, 3, 1000, sigma, 1 / 1000)


def test_estimates_leave_their_widths_as_seldom_as_promised() -> None:
    """Rewards on stacks, one per state and arm: of each, the side that matters, at all counts."""
    generator, rounds, sigma, penalty, risk = np.random.default_rng(1), 60, 0.3, 0.1, 0.5
    alpha = theory.matched_exploration(3, 3, rounds, sigma, risk, penalty)
    counts = np.arange(1, rounds + 1)
    side = np.where(theory.state_gaps(MEANS) > 0, 1.0, -1.0)[..., None]
    failed = 0
    for _ in range(400):
        rewards = MEANS[..., None] + sigma * generator.standard_normal((*MEANS.shape, rounds))
        errors = np.cumsum(rewards, axis=2) / (counts + penalty) - MEANS[..., None]
        failed += bool((side * errors > alpha / np.sqrt(counts + penalty)).any())
    assert failed / 400 <= risk


@pytest.mark.parametrize(("alpha", "penalty"), [(0.7, 0.1), (0.35, 0.01), (1.3, 2.0), (0.1, 3.0)])
def test_plays_are_those_against_the_worst_estimates(alpha: float, penalty: float) -> None:
    """Each best arm's estimate as low as its width allows, all others as high; ties go to the worse arm."""
    for means, most in zip(MEANS, theory.matched_plays(MEANS, alpha, penalty), strict=True):
        best = int(means.argmax())
        counts = np.zeros(3)
        for _ in range(1000):
            index = means + 2 * alpha / np.sqrt(counts + penalty)
            index[best] = means[best]
            arm = max((a for a in range(3) if a != best), key=lambda a: index[a])
            if index[arm] < means[best]:
                break
            counts[arm] += 1
        assert math.isinf(most[best])
        assert np.delete(counts, best).tolist() == np.delete(most, best).tolist()


def means_learner(realisation: Realisation, alpha: float, penalty: float) -> list[int]:
    """Play shrunken means with confidence widths: what LinUCB on a one-hot state is."""
    counts, sums = np.zeros(MEANS.shape), np.zeros(MEANS.shape)
    played = []
    for state, rewards in zip(realisation.states, realisation.rewards[:, 0], strict=True):
        index = sums[state] / (counts[state] + penalty) + alpha / np.sqrt(counts[state] + penalty)
        arm = int(index.argmax())
        counts[state, arm] += 1
        sums[state, arm] += rewards[arm]
        played.append(arm)
    return played


def test_linucb_on_a_one_hot_state_is_a_table() -> None:
    world = lb.HiddenMarkov(means=MEANS, transition=CHAIN, noise=0.2, reveal="state")
    realisation = world.realise(1500, 1, seed=1, draw=0, repeat=0)
    policy = lb.policies.TraceLearner(3, lag="none", covariates=3, exploration=0.6, regularization=0.5)
    arms, _ = record_one(policy, realisation, stream(0))
    assert arms[:, 0].tolist() == means_learner(realisation, 0.6, 0.5)


@pytest.mark.parametrize("horizon", [20, 300, 3000])
@pytest.mark.parametrize("sigma", [0.05, 0.3])
def test_matched_bound_lies_above_simulation(horizon: int, sigma: float) -> None:
    world = lb.HiddenMarkov(means=MEANS, transition=CHAIN, noise=sigma, reveal="state")
    alpha = theory.matched_exploration(3, 3, horizon, sigma)
    policy = lb.policies.TraceLearner(3, lag="none", covariates=3, exploration=alpha)
    regret = lb.simulate(world, {"matched": policy}, horizon=horizon, draws=24, repeats=1).regret[0]
    bound = theory.matched_bound(MEANS, CHAIN, horizon, sigma, alpha)
    assert regret.mean() + 5 * regret.std() / math.sqrt(24) < bound
    assert theory.matched_bound(MEANS, CHAIN, horizon, sigma) <= bound  # the means are below 1, so less will do


def test_matched_bound_is_the_sum_over_states_and_arms() -> None:
    rounds, sigma, risk = 5000, 0.2, 0.01
    alpha = math.sqrt(0.1 + 2 * sigma**2 * math.log(9 * rounds / risk))
    wanted, share = risk * rounds * 0.5, theory.stationary(CHAIN)
    for s in range(3):
        for a in range(3):
            gap = max(MEANS[s]) - MEANS[s, a]
            if gap > 0:
                wanted += gap * min(math.floor(4 * alpha**2 / gap**2 - 0.1) + 1, share[s] * rounds)
    assert theory.matched_bound(MEANS, CHAIN, rounds, sigma, alpha, risk) == pytest.approx(wanted)


def test_a_single_arm_of_a_single_state_costs_nothing_but_the_risk() -> None:
    assert theory.matched_bound([[0.5]], [[1.0]], 100, 0.1) == 0


# --- a fixed schedule with decoded states ---


def test_decoded_bound_is_its_parts() -> None:
    sigma, tau, rounds = 0.1, 6, 600
    probes, share, best = 100, theory.stationary(CHAIN), [0, 2, 1]
    gaps = MEANS.max(axis=1, keepdims=True) - MEANS
    learning = 0.0
    for s in range(3):
        for a in range(3):
            if a != best[s]:
                later = sum((np.linalg.matrix_power(CHAIN, j) @ gaps)[s, a] for j in range(1, tau))
                x = math.exp(-(gaps[s, a] ** 2) / (4 * sigma**2))
                learning += later * x * (1 - x ** (share[s] * probes)) / (1 - x)
    found = theory.decoded_bound(MEANS, CHAIN, sigma, tau, rounds)
    assert found.learning == pytest.approx(learning)
    assert found.probes == pytest.approx(probes * share @ gaps.mean(axis=1))
    moved = [theory.drift_probability(MEANS, CHAIN, lag) for lag in range(1, tau)]
    assert found.drift == pytest.approx(0.5 * probes * sum(moved))
    separation = min(math.dist(MEANS[0], MEANS[1]), math.dist(MEANS[0], MEANS[2]), math.dist(MEANS[1], MEANS[2]))
    error = 2 * math.exp(-(separation**2) / (8 * sigma**2))
    assert found.decoding == pytest.approx(min(1.0, probes * error) * 0.5 * probes * (tau - 1))
    assert found.total == pytest.approx(sum(found))
    assert theory.decoded_bound(MEANS, CHAIN, sigma, 7, rounds).probes == pytest.approx(0.86 * found.probes)


def test_arms_that_tie_are_never_told_apart() -> None:
    found = theory.decoded_bound([[0.5, 0.5], [0.7, 0.2]], [[0.9, 0.1], [0.1, 0.9]], 0.01, 4, 400)
    slips = 50  # in every probe of the first state, half of all
    later = sum((1 - 0.8**j) / 2 * 0.5 for j in range(1, 4))  # the second arm's cost, once the state has changed
    assert found.learning == pytest.approx(slips * later)


def test_learning_alone_costs_no_more_than_its_part() -> None:
    """With one state nothing drifts and nothing is decoded wrongly, and the errors of the means are known exactly."""
    sigma, gap, tau, rounds = 0.5, 0.3, 5, 500
    world = lb.HiddenMarkov(means=[[0.3, 0.6]], transition=[[1.0]], noise=sigma / math.sqrt(2))
    policy = DecodeCommit(2, 2, tau, [[0.3, 0.6]])
    regret = lb.simulate(world, {"decoded": policy}, horizon=rounds, draws=600, repeats=1).regret[0]
    n = np.arange(1, rounds // tau + 1)
    exact = gap * (tau - 1) * ndtr(-gap * np.sqrt(n / 2) / sigma).sum()
    found = theory.decoded_bound([[0.3, 0.6]], [[1.0]], sigma, tau, rounds)
    assert abs(regret.mean() - found.probes - exact) < 5 * regret.std() / math.sqrt(600)
    assert exact < found.learning < 5 * exact
    assert found.drift == found.decoding == 0


@pytest.mark.parametrize("sigma", [0.02, 0.05, 0.2])
@pytest.mark.parametrize("tau", [1, 4, 25])
def test_decoded_bound_lies_above_simulation(sigma: float, tau: int) -> None:
    world = lb.HiddenMarkov(means=MEANS, transition=CHAIN, noise=sigma / math.sqrt(3))
    policy = DecodeCommit(3, 3, tau, MEANS[:, [2, 0]], [2, 0])
    regret = lb.simulate(world, {"decoded": policy}, horizon=1000, draws=24, repeats=1).regret[0]
    bound = theory.decoded_bound(MEANS, CHAIN, sigma, tau, 1000, [2, 0]).total
    assert regret.mean() - 5 * regret.std() / math.sqrt(24) <= bound


# --- a gated schedule with decoded states ---


def test_gated_bound_is_its_parts() -> None:
    """Two states and two arms: every quantity of the docstring by hand, at the best of the grid of slacks."""
    means, chain, sigma, surprise, cap, rounds = [[0.9, 0.3], [0.2, 0.6]], [[0.95, 0.05], [0.1, 0.9]], 0.1, 0.4, 9, 700
    candidates = []
    for share in range(1, 20):
        slack, spread = surprise * share / 20, sigma / math.sqrt(2)
        miss = max(
            ndtr((surprise + slack - moved) / spread) - ndtr(-(surprise + slack + moved) / spread)
            for moved in (0.7, 0.3)
        )
        lost = sum(miss**n for n in range(cap - 1))
        order = sum(sum(math.exp(-n * gap**2 / (4 * sigma**2)) for n in range(1, rounds + 1)) for gap in (0.6, 0.4))
        blind = 2 * sum(2 * math.exp(-n * slack**2 / (2 * sigma**2)) for n in range(1, rounds + 1))
        probes = 1 + rounds / cap + rounds * (2 * ndtr(-(surprise - slack) / spread) + 0.1) + order + blind
        error = math.exp(-(0.7**2 + 0.3**2) / (8 * sigma**2))
        learning = 0.6 * (cap - 1) * (order + min(1.0, 0.1 * cap / 2) * blind)
        candidates.append(
            (
                min(rounds, probes) * 0.3,
                0.6 * 0.1 * rounds * lost,
                min(1.0, min(rounds, probes) * error) * 0.6 * rounds,
                learning,
            )
        )
    found = theory.gated_bound(means, chain, sigma, surprise, cap, rounds)
    assert found == pytest.approx(min(candidates, key=sum))
    known = theory.gated_bound(means, chain, sigma, surprise, cap, rounds, probes=50.0)
    assert known.probes == pytest.approx(50 * 0.3)


def test_a_gate_that_cannot_see_is_an_age_cap() -> None:
    """The arm in use pays the same in both states: lost rounds last until the cap, as with a fixed schedule of that interval."""
    means, chain = [[0.5, 0.2], [0.5, 0.8]], [[0.99, 0.01], [0.01, 0.99]]
    blind, seeing = (
        theory.gated_bound(table, chain, 0.01, 0.1, 21, 1000).drift for table in (means, [[0.9, 0.2], [0.2, 0.8]])
    )
    assert blind == pytest.approx(0.3 * 0.01 * 1000 * 20, rel=1e-3)
    assert seeing == pytest.approx(0.7 * 0.01 * 1000)


@pytest.mark.parametrize("sigma", [0.02, 0.05, 0.2])
@pytest.mark.parametrize(("surprise", "cap"), [(0.05, 10), (0.1, 4), (0.1, 50), (0.3, 50)])
def test_gated_bound_lies_above_simulation(sigma: float, surprise: float, cap: int) -> None:
    world = lb.HiddenMarkov(means=MEANS, transition=CHAIN, noise=sigma / math.sqrt(3))
    policy = DecodeCommit(3, 3, cap, MEANS[:, [2, 0]], [2, 0], surprise)
    found = lb.simulate(world, {"gated": policy}, horizon=1000, draws=24, repeats=1)
    regret, probes = found.regret[0], found.counts["probes"][0]
    for known in (None, float(probes.mean())):
        bound = theory.gated_bound(MEANS, CHAIN, sigma, surprise, cap, 1000, [2, 0], known).total
        assert regret.mean() - 5 * regret.std() / math.sqrt(24) <= bound


# --- the policy ---


def naive_play(realisation: Realisation, policy: DecodeCommit) -> tuple[list[list[int]], list[int]]:
    """Play as the policy should, from lists of all probes."""
    prints = np.asarray(policy.fingerprints)
    chosen = np.asarray(policy.decoding).tolist() or list(range(policy.arms))
    probes: list[tuple[int, np.ndarray]] = []
    arms, probe_reason = [], []
    age, surprised = 0, False
    for rewards in realisation.rewards:
        age = 0 if surprised else age % policy.interval
        probe_reason.append(RESIDUAL if surprised else SCHEDULED if age == 0 else 0)
        surprised = False
        if age == 0:
            seen = np.array([rewards[arm, arm] for arm in range(policy.arms)])
            probes.append((int(((prints - seen[chosen]) ** 2).sum(axis=1).argmin()), seen))
            arms.append([group % policy.arms for group in range(policy.groups)])
        else:
            alike = [seen for state, seen in probes if state == probes[-1][0]]
            arm = int(np.sum(alike, axis=0).argmax())
            arms.append([arm] * policy.groups)
            away = abs(rewards[:, arm].mean() - np.mean(alike, axis=0)[arm])
            surprised = bool(policy.surprise > 0 and away >= policy.surprise)
        age += 1
    return arms, probe_reason


POLICIES: dict[str, Any] = {
    "all arms": DecodeCommit(3, 3, 4, MEANS),
    "one arm": DecodeCommit(3, 3, 7, MEANS[:, [1]], [1]),
    "spare groups": DecodeCommit(3, 5, 2, MEANS[:, [2, 0]], [2, 0]),
    "gated": DecodeCommit(3, 3, 20, MEANS, (), 0.1),
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("noise", [0.01, 0.3])
def test_it_plays_like_its_twin(name: str, noise: float) -> None:
    policy = POLICIES[name]
    realisation = lb.HiddenMarkov(means=MEANS, transition=CHAIN, noise=noise).realise(1500, policy.groups, 1, 0, 0)
    arms, probe_reason = record_one(policy, realisation, stream(0))
    assert (arms.tolist(), probe_reason.tolist()) == naive_play(realisation, policy)


@pytest.mark.parametrize("name", POLICIES)
class TestDecodeCommit(PolicyChecks):
    @pytest.fixture(autouse=True)
    def _chosen(self, name: str) -> None:
        self.name = name

    def policy(self) -> Any:
        return POLICIES[self.name]


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"groups": 2}, "groups"),
        ({"decoding": [0, 3]}, "decoding"),
        ({"decoding": [1, 1, 0]}, "decoding"),
        ({"decoding": [1, 0]}, "fingerprints"),
        ({"interval": 0}, "interval"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(ValueError, match=f"DecodeCommit: {field} is .* but must be "):
        DecodeCommit(**{"arms": 3, "groups": 3, "interval": 5, "fingerprints": MEANS, **settings})

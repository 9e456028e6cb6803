"""ArmLibrary: the conformance suite, its twin, its filter against enumeration, and what it does."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.policies.arm_library.chain import set_shares
from latentbandits.policies.arm_library.filter import begin_regimes, learn_regimes
from latentbandits.protocols import Choice
from latentbandits.random import stream
from latentbandits.simulation.batch import record_one
from latentbandits.testing import PolicyChecks
from tests.twins import assert_same, play, twin_of


class TestConformance(PolicyChecks):
    def policy(self) -> Any:
        return lb.policies.ArmLibrary(arms=3, groups=2)


OWN: dict[str, dict[str, Any]] = {
    "levels": {"noise": 0.1},
    "noise 0.3": {"noise": 0.3, "states": 3},
    "clicks": {"rewards": "bernoulli"},
    "revenue": {"rewards": "revenue"},
    "outliers": {"noise": 0.2, "noise_shape": "outliers"},
    "late": {"noise": 0.1, "delay": (0, 30), "lost": 0.1},
    "come and go": {"noise": 0.1, "available": 0.6, "stretch": 30},
    "without noise": {"noise": 0.0},
}


@pytest.mark.parametrize("world", OWN)
def test_it_plays_like_its_twin_where_arms_have_regimes_of_their_own(world: str) -> None:
    for arms, groups in ((3, 1), (4, 2)):
        realisation = lb.Independent(arms=arms, dwell=40, **OWN[world]).realise(600, groups, 1, arms, 0)
        policy = lb.policies.ArmLibrary(arms, groups)
        assert_same(record_one(policy, realisation, stream(1)), play(twin_of(policy, realisation, 1), realisation))


def hypotheses_of(memory: Any, arm: int) -> list[Any]:
    return list(memory.hypotheses[arm, : memory.arms[arm]["live"]])


def enumerated(
    policy: Any, memory: Any, arm: int, rewards: list[float], gaps: list[int], hazard: float
) -> dict[int, float]:
    """Return the likelihood of some rewards, by the number of levels, as a sum over all ways to assign them to levels."""
    core, sd = memory.core[0], 0.1
    width, centre = core["high"] - core["low"], (core["high"] + core["low"]) / 2
    spread = 0.35 * width
    out = 1 / (width + 6 * sd)
    total: dict[int, float] = {}
    for path in itertools.product(range(len(rewards)), repeat=len(rewards)):
        if path[0] != 0 or any(k > max(path[:i]) + 1 for i, k in enumerate(path) if i):
            continue  # levels are numbered in the order of appearance
        likelihood, seen = 1.0, {0: (rewards[0], 1.0)}
        visits, left, rounds = [1.0], [0.0], [0.0]
        for before, now, reward, gap in zip(path[:-1], path[1:], rewards[1:], gaps, strict=True):
            usual, stay = 2 / hazard, (1 - hazard) ** gap
            times = [v * (r + usual) / (n + 1) for v, r, n in zip(visits, rounds, left, strict=True)]
            times.append(usual * (0.125 + 0.5 * max(0, sum(v < 1.5 for v in visits) - 1)))
            chance = (1 - stay) * times[now] / sum(times) + (stay if now == before else 0)
            if now == len(visits):
                likelihood *= chance * gauss(reward - centre, spread**2 + sd**2)
                prior = (sd / spread) ** 2
                seen[now] = ((reward + prior * centre) / (1 + prior), 1 + prior)
                visits, left, rounds = [*visits, 0.0], [*left, 0.0], [*rounds, 0.0]
            else:
                average, number = seen[now]
                good = 0.99 * gauss(reward - average, sd**2 * (1 + 1 / number))
                likelihood *= chance * (good + 0.01 * out)
                weight = good / (good + 0.01 * out)
                seen[now] = (average + weight / (number + weight) * (reward - average), number + weight)
            rounds[before] += min(gap, 1 / hazard)
            left[before] += now != before
            visits[now] += now != before
        total[len(visits)] = total.get(len(visits), 0.0) + likelihood
    return total


def gauss(away: float, variance: float) -> float:
    return math.exp(-0.5 * away**2 / variance) / math.sqrt(2 * math.pi * variance)


@pytest.mark.parametrize("rewards", [[0.2, 0.25, 0.8], [0.2, 0.7, 0.22], [0.5, 0.9, 0.1]])
def test_filter_and_evidence_are_sums_over_all_assignments(rewards: list[float]) -> None:
    """As long as no hypothesis is dropped or merged: two arms, three rewards of each, with gaps."""
    policy = lb.policies.ArmLibrary(arms=2)
    memory, hazard, gaps = policy.init(), 0.05, [3, 9]
    memory.core[0] = (0.0, 1.0, 0.0, 1.0, 3)
    for arm in (0, 1):
        mine = rewards if arm == 0 else rewards[::-1]
        memory.arms[arm]["hazard"] = hazard
        begin_regimes(memory, arm, mine[0])
        evidence = 1.0
        for reward, gap in zip(mine[1:], gaps, strict=True):
            for h in range(memory.arms[arm]["live"]):
                set_shares(memory.hypotheses[arm, h], memory.levels[arm, h], hazard)
            evidence *= learn_regimes(memory, arm, gap, False, reward, 0.1, 1 / 1.6)
        exact = enumerated(policy, memory, arm, mine, gaps, hazard)
        assert evidence == pytest.approx(sum(exact.values()), rel=1e-6)
        for known, likelihood in exact.items():
            found = sum(h["weight"] for h in hypotheses_of(memory, arm) if h["known"] == known)
            assert found == pytest.approx(likelihood / sum(exact.values()), abs=1e-5)


@pytest.mark.parametrize("unit", [1e-6, 4096.0])
def test_nothing_depends_on_the_unit_or_the_zero_of_rewards(unit: float) -> None:
    found = lb.Independent(arms=3, dwell=50, noise=0.1).realise(2000, 1, 0, 0, 0)
    policy = lb.policies.ArmLibrary(arms=3)
    moved = found._replace(means=unit * found.means, rewards=unit * found.rewards)
    assert_same(record_one(policy, found, stream(0)), record_one(policy, moved, stream(0)))
    shifted = found._replace(rewards=found.rewards + 8.0)
    same = record_one(policy, found, stream(0))[0] == record_one(policy, shifted, stream(0))[0]
    assert same.mean() > 0.99  # but for rounding


def test_it_looks_again_at_an_arm_that_may_have_recovered() -> None:
    """An arm that failed after it had been best is looked at again, and played once it has recovered."""
    rounds = 3000
    means = np.full((rounds, 2), 0.5)
    for begin in range(0, rounds, 400):  # up for 300 rounds, down for 100
        means[begin : begin + 300, 1], means[begin + 300 : begin + 400, 1] = 0.9, 0.1
    rewards = means[:, None, :] + 0.05 * np.random.default_rng(0).standard_normal((rounds, 1, 2))
    found = lb.Independent(arms=2).realise(rounds, 1, 0, 0, 0)._replace(means=means, rewards=rewards)
    arms = record_one(lb.policies.ArmLibrary(arms=2), found, stream(0))[0][:, 0]
    up = means[:, 1] == 0.9
    late = np.arange(rounds) > 800
    assert (arms[up & late] == 1).mean() > 0.85
    assert (arms[~up & late] == 1).mean() < 0.3


def test_a_late_reward_says_what_the_level_was() -> None:
    """An old reward of the other level does not move the present one."""
    policy = lb.policies.ArmLibrary(arms=2)
    memory, choice, held = policy.init(), Choice.blank(policy), None
    random = np.random.default_rng(0)
    for t in range(80):
        choice.arm_scores["available"] = 1
        policy.choose(memory, np.zeros(0), stream(0), choice)
        choice.arms[:] = t // 2 % 2
        if t == 40:
            held = choice._replace(arms=choice.arms.copy(), tags=choice.tags.copy())
            continue
        mean = (0.9 if t < 60 else 0.1) if t // 2 % 2 == 0 else 0.5
        policy.learn(memory, choice, np.array([mean + 0.02 * random.standard_normal()]))
    before = int(memory.hypotheses[0, 0]["present"])
    counts = memory.levels[0, 0]["rewards"].copy()
    assert held is not None
    policy.learn(memory, held, np.array([0.9]))
    assert memory.hypotheses[0, 0]["present"] == before
    grown = memory.levels[0, 0]["rewards"] - counts
    assert grown[1 - before] > 0.9
    assert grown[before] < 0.1


def test_an_arm_that_is_left_alone_for_long_is_tried_once_more() -> None:
    found = lb.HiddenMarkov(states=1, means=[[0.5, 0.9]], noise=0.05).realise(4000, 1, 0, 0, 0)
    arms, reasons = record_one(lb.policies.ArmLibrary(arms=2), found, stream(0))
    tried = np.flatnonzero(arms[:, 0] == 0)
    assert 4 < len(tried) < 30
    assert np.diff(tried).max() <= 0.4 * 4000 + 62
    assert 4 in reasons.tolist()

"""Rewards that are nothing or an amount: what StateLibrary makes of them, and what it costs not to know."""

import itertools
import math

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.agent import Agent
from latentbandits.policies.state_library import amounts, constants, emissions
from latentbandits.policies.state_library.memory import ONE
from latentbandits.protocols import Choice
from latentbandits.random import stream
from tests.test_state_library import play
from tests.test_state_library_bayes import EXACT, paths, urns_of


def test_nothing_and_amounts_are_weighed_by_how_often_and_how_large_they_were() -> None:
    """Two values of any size; an arm that pays other amounts has sizes, too."""
    policy = lb.policies.StateLibrary(arms=2)
    agent = Agent(policy, seed=1)
    rewards = np.array([3.0, 3.0, 3.0, 7.0, 3.0, 3.0, 7.0, 3.0])
    play(agent, rewards[:, None, None] + np.zeros((1, 1, 2)))
    memory = agent.memory
    assert amounts.pays_amounts(memory.standard)
    usual, mine = memory.standard.usual[0], memory.standard.amounts
    assert (usual.value, usual.hits) == (3.0, 2)
    mine[0].hits, mine[0].paid, mine[0].moved = 2, 7.0, 0.0
    mine[0].amount = mine[0].last_amount = math.log(4)
    mean = memory.library.means[0, 0, 0]
    mean.average, mean.share, mean.count = 4.0, 0.25, 8  # two of eight were 7
    emission, guess = emissions.emission_of(policy, memory.standard), 0.5

    def chance(emission: emissions.Emission, effect: float, hits: int, size: float) -> tuple[float, float]:
        return emissions.amounts_predictive(emission, mean, True, 0, ONE, effect, hits, size)

    assert chance(emission, 0.0, 1, math.log(4)) == pytest.approx(((2 + 2 * guess) / 10, 0.0))
    assert chance(emission, 0.0, 0, 0.0) == pytest.approx(((6 + 2 * (1 - guess)) / 10, 0.0))
    # Features from which one more of four is expected to be 7, an effect of 1.0, which is taken off the reward
    shifted = emissions.emission_of(policy._replace(covariates=1), memory.standard)
    assert chance(shifted, 1.0, 1, math.log(4)) == pytest.approx(((4 + 2 * guess) / 10, 0.0))
    # Another amount: sizes now have a density, whose mean is that of the two that the state has seen and of two of the arm
    amounts.count_reward(memory.standard, 0, 5.0)
    mean.amount = math.log(3)
    spread = math.sqrt((0.5 * math.log(2) ** 2 + 1) / 3)
    assert amounts.spread_of(mine[0]) == pytest.approx(spread)
    height, exponent = chance(emission, 0.0, 1, math.log(2))
    middle = (math.log(3) + (2 * math.log(4) + math.log(2)) / 3) / 2
    assert height == pytest.approx((2 + 2 * guess) / 10 / math.sqrt(1 + 1 / 4))
    assert exponent == pytest.approx(((math.log(2) - middle) / spread) ** 2 / (1 + 1 / 4) / 2)


def test_the_deviation_of_a_mean_is_that_of_the_arms_amounts_in_all_states() -> None:
    """An arm that pays 9 in a tenth of rounds, one that pays 1 in half of them; one that never paid has the noise of all."""
    policy = lb.policies.StateLibrary(arms=3, noise=0.5, low=0.0, high=2.0)
    standard = policy.init().standard
    for arm, rewards in ((0, [0.0] * 18 + [9.0] * 2), (1, [0.0, 1.0] * 10), (2, [0.0] * 4)):
        for reward in rewards:
            amounts.count_reward(standard, arm, reward)
    usual, spread = standard.usual[0], standard.scale[0].spread
    for arm, paid in ((0, 9.0), (1, 1.0)):
        share = (standard.amounts[arm].hits + 2 * (usual.hits + 1) / (usual.count + 2)) / 22
        variance = share * (1 - share) * paid**2
        deviation = amounts.deviation_of(standard, True, arm, 18)
        assert deviation == pytest.approx(math.sqrt(variance / (18 + variance / spread**2)))
        assert amounts.deviation_of(standard, True, arm, 0) == pytest.approx(spread)
    assert amounts.deviation_of(standard, True, 2, 18) == standard.deviation[18]
    assert amounts.deviation_of(standard, False, 0, 18) == standard.deviation[18]


@pytest.mark.parametrize("seed", range(6))
def test_the_evidence_of_amounts_is_exact(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A price of 1 of both arms; a range around 0.5 makes the guess even, which is worth two rewards. Equal means merge later."""
    monkeypatch.setattr(constants, "RICHER", 0.5)
    monkeypatch.setattr(constants, "STAYS", 5.0)
    policy = lb.policies.StateLibrary(arms=2, noise=0.5, **EXACT)
    memory, random, choice = policy.init(), stream(seed), Choice.blank(policy)
    usual, mine = memory.standard.usual[0], memory.standard.amounts
    usual.known = usual.hits = usual.count = 1
    usual.smooth = usual.lasting = 100.0
    mine["hits"] = mine["count"] = mine["paid"] = 1
    memory.standard.noise[0].ties = 1
    paid = np.random.default_rng(seed).integers(2, size=3)
    arms: list[int] = []
    for t, reward in enumerate(paid.astype(float)):
        with np.errstate(over="ignore"):
            policy.choose(memory, np.zeros(0), random, choice)
        arms.append(int(choice.arms[0]))
        policy.learn(memory, choice, np.array([reward]))
        total = 0.0
        for fast_switching, path in itertools.product((False, True), paths(t + 1)):
            if any(step.outlier for step in path):
                continue
            chance, seen = urns_of(path, policy, fast_switching).chance, dict[tuple[int, int], list[int]]()
            visited = {0}
            for (state, _), arm, pays in zip(path[1:], arms, paid.tolist(), strict=False):
                before = seen.setdefault((state, arm), [])
                chance *= (before.count(pays) + 1) / (len(before) + 2) * (1 if state in visited else 1 / 2)
                before.append(pays)
                visited.add(state)
            total += chance
        assert memory.library.core[0].log_evidence == pytest.approx(math.log(total), abs=1e-9)

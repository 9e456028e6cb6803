"""What StateLibrary says of rival explanations: log evidence by brute force, and which explanation wins where."""

import math
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import latentbandits as lb
from latentbandits.policies.state_library import constants

NOISE, LOW, HIGH = 0.3, 0.0, 1.0
SPREAD, CENTRE = 0.29 * (HIGH - LOW), 0.5 * (LOW + HIGH)
Told = list[tuple[int, int, float]]  # round, arm, reward


def known_scale(**settings: Any) -> lb.policies.StateLibrary:
    return lb.policies.StateLibrary(arms=3, noise=NOISE, low=LOW, high=HIGH, **settings)


def played(agent: lb.Agent, rewards: np.ndarray) -> Told:
    """Tell an agent rewards (rounds, 1, arms); returns what it was told."""
    told: Told = []
    for t, row in enumerate(rewards, 1):
        decision = agent.ask()
        arm = 3 if decision.arm == "new" else int(decision.arm)
        told.append((t, arm, float(row[0, arm])))
        agent.tell(decision, told[-1][2])
    return told


def marginal(told: Told, pace: float) -> float:
    """Return the log density of all rewards by one multivariate normal distribution per arm: prior, random walk and noise."""
    total = 0.0
    for arm in {arm for _, arm, _ in told}:
        rounds = np.array([t for t, one, _ in told if one == arm])
        rewards = [reward for _, one, reward in told if one == arm]
        since = np.minimum.outer(rounds, rounds) - rounds[0]
        covariance = SPREAD**2 + pace * NOISE**2 * since + NOISE**2 * np.eye(len(rounds))
        total += multivariate_normal.logpdf(rewards, np.full(len(rounds), CENTRE), covariance)
    return total


def by_whole_rewards(told: Told, pace: float) -> float:
    """Return the log density by a Kalman filter per arm, which knows whole rewards and is never less sure than its prior."""
    prior, total = (NOISE / SPREAD) ** 2, 0.0
    known: dict[int, tuple[float, int, int]] = defaultdict(lambda: (CENTRE, 0, 0))
    for t, arm, reward in told:
        mean, n, latest = known[arm]
        if pace:
            n = max(math.floor(1 / (1 / (n + prior) + pace * (t - latest)) - prior + 0.5), 0)
        variance = NOISE**2 * (1 + 1 / (n + prior))
        total += -0.5 * math.log(2 * math.pi * variance) - (reward - mean) ** 2 / (2 * variance)
        known[arm] = mean + (reward - mean) / (n + 1 + prior), n + 1, t
    return total


def by_lag(told: Told) -> float:
    """Return the log density by the lag model: levels three noises apart, and the mean reward of every arm after each."""
    levels: dict[int, list[tuple[float, int]]] = defaultdict(list)
    after: dict[tuple[int, int, int], list[float]] = defaultdict(list)
    of_arm: dict[int, list[float]] = defaultdict(list)
    last, squares, total = None, 0.0, 0.0
    for rounds, (_, arm, reward) in enumerate(told, 1):
        overall = sum(of_arm[arm]) / len(of_arm[arm]) if of_arm[arm] else CENTRE
        seen = after[(*last, arm)] if last else []
        expected = (sum(seen) + 2 * overall) / (len(seen) + 2) if last else overall
        variance = (SPREAD**2 + squares) / rounds
        total += -0.5 * math.log(2 * math.pi * variance) - (reward - expected) ** 2 / (2 * variance)
        squares += (reward - expected) ** 2
        of_arm[arm].append(reward)
        seen.append(reward)
        far = [abs(reward - centre) for centre, _ in levels[arm]]
        if not far or min(far) > 3 * NOISE:
            levels[arm].append((reward, 1))
            last = (arm, len(levels[arm]) - 1)
        else:
            k = far.index(min(far))
            centre, n = levels[arm][k]
            levels[arm][k] = (centre + (reward - centre) / (n + 1), n + 1)
            last = (arm, k)
    return total


@pytest.mark.parametrize("seed", range(3))
def test_rivals_are_weighed_as_by_brute_force(seed: int) -> None:
    rewards = lb.HiddenMarkov(states=3, arms=3, noise=NOISE).realise(120, 1, seed, 0, 0).rewards
    agent = lb.Agent(known_scale(), seed=seed, compiled=False)
    told = played(agent, np.clip(rewards, 0.1, 0.9))  # none of them an outlier
    found, walks = agent.belief.evidence, agent.memory.evidence.walks
    assert found.rounds == 120
    assert found.one_state * 120 == pytest.approx(marginal(told, 0.0), abs=1e-8)
    assert found.lag * 120 == pytest.approx(by_lag(told), abs=1e-8)
    for pace, walk in zip(constants.PACES, walks, strict=True):
        assert walk == pytest.approx(by_whole_rewards(told, pace), abs=1e-8)
        assert walk == pytest.approx(marginal(told, pace), abs=0.06 * 120)  # rounding costs little
    assert found.drift * 120 == pytest.approx(math.log(np.mean(np.exp(walks[1:]))), abs=1e-8)


def test_the_explanation_that_made_the_rewards_wins() -> None:
    worlds = {
        "library": lb.HiddenMarkov(states=3, arms=3, noise=0.1),
        "one_state": lb.HiddenMarkov(states=1, arms=3, noise=0.3),
        "drift": lb.Drift(timescale=300, arms=3, noise=0.1),
        "lag": lb.HiddenMarkov(
            means=[[0.9, 0.1, 0.5], [0.2, 0.8, 0.5]], transition=[[0.02, 0.98], [0.98, 0.02]], noise=0.1
        ),
    }
    for name, world in worlds.items():
        agent = lb.Agent("state-library", arms=3, seed=1, compiled=True)
        played(agent, world.realise(1500, 1, 5, 0, 0).rewards)
        evidence = agent.belief.evidence
        rivals = {rival: getattr(evidence, rival) for rival in worlds}
        if name == "lag":  # a library learns that states alternate, too, but one state and drift do not
            assert min(rivals["lag"], rivals["library"]) > max(rivals["one_state"], rivals["drift"]), rivals
        else:
            assert max(rivals, key=rivals.__getitem__) == name, (name, rivals)


def test_nothing_is_known_before_the_first_reward_nor_of_what_is_off() -> None:
    agent = lb.Agent(known_scale(levels=0), seed=1, compiled=False)
    assert agent.belief.evidence == lb.beliefs.Evidence()
    played(agent, np.full((5, 1, 3), 0.4))
    assert math.isnan(agent.belief.evidence.lag)
    assert agent.belief.evidence.one_state > agent.belief.evidence.drift


def test_evidence_is_saved_and_belongs_to_new_arms_and_a_wider_range(tmp_path: object) -> None:
    rewards = lb.HiddenMarkov(states=2, arms=3, noise=0.1).realise(700, 1, 3, 0, 0).rewards
    rewards[400:] *= 5.0  # the range is widened, long after the rounds that could be learned again
    agent = lb.Agent("state-library", arms=3, seed=3, compiled=True)
    played(agent, rewards[:500])
    file = f"{tmp_path}/agent"
    agent.save(file)
    again = lb.Agent.load(file)
    for one in (agent, again):
        played(one, rewards[500:])
        one.add("new")
        played(one, np.concatenate([rewards[:50], np.full((50, 1, 1), 9.0)], axis=2))
    assert again.belief.evidence == agent.belief.evidence
    assert all(map(math.isfinite, agent.belief.evidence))

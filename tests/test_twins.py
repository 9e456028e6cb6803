"""Every policy against its slow twin, compiled against interpreted code, and cases worked out by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.policies.groups import GREEDY, LIMIT
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import (
    CONTINUED,
    REASONS,
    RESIDUAL,
    RIVAL,
    SCHEDULED,
    STALENESS,
    UNTRIED,
)
from latentbandits.random import stream
from latentbandits.simulation.batch import record_one
from tests import naive_filter
from tests.twins import (
    GAUSSIAN,
    INTERPRETED_LENGTHS,
    LENGTHS,
    ROUNDS,
    TABLES,
    WORLDS,
    Settings,
    assert_compiles_alike,
    assert_like_twin,
    assert_same,
    play,
    realise,
    recorded,
    twin_of,
)


def is_linear(spec: str) -> bool:
    return isinstance(lb.policy(spec), lb.policies.TraceLearner | lb.policies.LatentAutoregressive)


# Revenue has no limit
INTERPRETED = [
    (name, world) for name in REGISTRY for world in WORLDS if name not in (LIMIT, GREEDY) or world != "revenue"
]
NAMED = [(name, world) for name, world in INTERPRETED if world in GAUSSIAN or not is_linear(name)]


def some(cases: Sequence[tuple[str, str]], *worlds: str) -> list[Any]:
    """Return all cases; those in other worlds are slow."""
    return [pytest.param(*case, marks=[] if case[1] in worlds else pytest.mark.slow) for case in cases]


@pytest.mark.parametrize(("name", "world"), some(NAMED, "noisy", "switching", "bernoulli"))
@LENGTHS
def test_named_policy_plays_like_its_twin(name: str, world: str, rounds: int) -> None:
    assert_like_twin(lb.policy(name), WORLDS[world], seed=1, rounds=rounds)


@pytest.mark.parametrize("arms", [3, 5])
@pytest.mark.parametrize("name", REGISTRY)
@LENGTHS
def test_named_policy_with_more_arms_plays_like_its_twin(name: str, arms: int, rounds: int) -> None:
    assert_like_twin(lb.policy(name, arms=arms), {}, seed=arms, rounds=rounds)


@pytest.mark.parametrize(("name", "world"), some(INTERPRETED, "default", "bernoulli"))
@INTERPRETED_LENGTHS
def test_named_policy_interpreted(name: str, world: str, rounds: int) -> None:
    for arms in (2, 5):
        assert_compiles_alike(lb.policy(name, arms=arms), WORLDS[world], seed=2, rounds=rounds)


SIZES = [(2, 1), (2, 2), (3, 3), (5, 2)]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", REGISTRY)
@LENGTHS
def test_named_policy_with_arms_that_come_and_go_plays_like_its_twin(name: str, table: str, rounds: int) -> None:
    sizes = list(enumerate(SIZES))
    for seed, (arms, groups) in sizes if rounds > ROUNDS else sizes[list(TABLES).index(table) % 2 :: 2]:
        clicks: Settings = {"rewards": "bernoulli"} if seed % 2 and not is_linear(name) else {}
        world = {"noise": 0.1, "stickiness": 0.95, **clicks}
        assert_like_twin(lb.policy(name, arms=arms, groups=groups), world, seed, rounds=rounds // 5, table=table)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", REGISTRY)
@INTERPRETED_LENGTHS
def test_named_policy_with_arms_that_come_and_go_interpreted(name: str, table: str, rounds: int) -> None:
    assert_compiles_alike(lb.policy(name, arms=3, groups=2), {"noise": 0.1}, seed=5, rounds=rounds, table=table)


# Baselines and oracles: settings off the preset, and several groups; of the sizes every second, in turn, unless it is slow.
BASELINES: Sequence[tuple[str, Settings]] = [
    ("d-ucb", {"discount": 0.8, "exploration": 2.0}),
    ("d-ucb", {"discount": 0.5, "exploration": 0.1}),
    ("sw-ucb", {"window": 7}),
    ("sw-ucb", {"window": 3, "exploration": 2.0}),  # with three groups, all that is remembered is one round
    ("exp3", {"mixing": 0.5}),
    ("exp3", {"mixing": 0.01}),
    ("exp3-s", {"share": 0.05}),
    ("ucb1", {"exploration": 0.3}),
    ("ucb1", {"exploration": 0.0}),
    ("ts", {"noise": 1.0, "prior_weight": 3.0}),
    ("epsilon-greedy", {"epsilon": 0.5}),
    ("epsilon-greedy", {"epsilon": 0.0}),
    ("ab-test", {"test": 1}),  # most arms have no turn
    ("ab-test", {"test": 100}),
    ("cp-ts", {"hazard": 0.0}),
    ("cp-ts", {"hazard": 0.1, "hypotheses": 3, "noise": 0.3, "prior_mean": 0.2, "prior_sd": 1.0}),
    ("glr-ucb", {"risk": 1.0, "forced": 0.2, "exploration": 0.5, "splits": 4}),
    ("glr-ucb", {"forced": 0.0, "noise": 0.3}),
    ("cusum-ucb", {"together": False, "warm_up": 2, "drift": 0.25, "forced": 0.1}),
    ("cusum-ucb", {"threshold": 3.0, "noise": 0.3}),
    ("m-ucb", {"window": 2, "threshold": 2.0, "forced": 0.1}),
    ("m-ucb", {"window": 20, "forced": 0.0, "noise": 0.3}),
    ("d-ts", {"discount": 0.5, "exploration": 2.0}),
    ("d-ts", {"discount": 0.99, "noise": 0.3}),
    ("sw-ts", {"window": 3, "exploration": 1.0}),  # all arms but the last few are forced
    ("sw-ts", {"window": 40, "noise": 0.3}),
    ("br-mab", {"concepts": 2, "margin": 0.3, "confidence": 1.0, "warm_up": 2}),
    ("br-mab", {"together": False, "threshold": 3.0, "forced": 0.1, "noise": 0.2}),
    ("larl", {"lags": 1, "exploration": 0.1}),
    ("larl", {"lags": 8, "regularization": 0.1}),
    ("period", {"longest": 12, "dip": 0.9, "discount": 0.8}),
    ("period", {"longest": 40, "dip": 0.7, "exploration": 1.0, "noise": 0.2}),
    ("probe-commit", {"interval": 7}),
    ("probe-commit", {"interval": 30, "surprise": 0.5}),
    ("probe-commit", {"interval": 8, "surprise": 0.1}),  # often both old and contradicted
    ("scaled", {"opening": 3, "reach": 0.2}),
    ("scaled(dal(exp3))", {"forced": 0.1}),
    ("dal", {"risk": 1.0, "forced": 0.2, "splits": 4}),
    ("random", {}),
    ("best-single-arm", {}),
    ("state-oracle", {}),
    ("bayes-greedy", {}),
    ("bayes-planner", {}),
]
BASELINE_CASES = [
    pytest.param(
        name,
        {**settings, "arms": arms, "groups": groups},
        id="-".join([name, *(f"{k}={v}" for k, v in settings.items()), f"{arms}-arms-{groups}-groups"]),
        marks=[] if (row + size) % 2 else pytest.mark.slow,
    )
    for row, (name, settings) in enumerate(BASELINES)
    for size, (arms, groups) in enumerate(SIZES)
]


@pytest.mark.parametrize(("name", "settings"), BASELINE_CASES)
@LENGTHS
def test_baseline_plays_like_its_twin(name: str, settings: Settings, rounds: int) -> None:
    clicks: Settings = {"noise": 0.5} if is_linear(name) else {"rewards": "bernoulli"}
    worlds: list[Settings] = [clicks, {"noise": 0.2, "stickiness": 0.9}]
    for seed, world in enumerate(worlds):
        assert_like_twin(lb.policy(name, **settings), world, seed, rounds=rounds // 2)
    for seed, table in enumerate(TABLES):
        assert_like_twin(lb.policy(name, **settings), worlds[seed % 2], seed, rounds=rounds // 6, table=table)


@pytest.mark.parametrize(("name", "settings"), BASELINE_CASES)
@INTERPRETED_LENGTHS
def test_baseline_interpreted(name: str, settings: Settings, rounds: int) -> None:
    assert_compiles_alike(lb.policy(name, **settings), {"rewards": "bernoulli"}, seed=3, rounds=rounds)


# Libraries: small ones in which states replace others, few particles, parts switched off. Settings, and the world.
QUICK: Settings = {"stickiness": 0.9, "noise": 0.1}
COIN: Settings = {"rewards": "bernoulli"}
LIBRARIES: Sequence[tuple[Settings, Settings]] = [
    ({"arms": 2, "states": 2}, QUICK),
    ({"arms": 3, "states": 3, "groups": 2}, QUICK),
    ({"arms": 5, "states": 3, "groups": 3, "particles": 4}, COIN),
    ({"arms": 2, "particles": 2}, {"noise": 0.3}),
    ({"arms": 3, "particles": 4, "groups": 3, "floor": 0.1}, {"noise": 0.3}),
    ({"arms": 5, "groups": 2, "noise": 0.05}, {"noise": 0.05}),
    ({"arms": 2, "noise": 0.2, "low": 0.0, "high": 1.0}, QUICK),
    ({"arms": 3, "low": -1.0, "high": 2.0, "groups": 2}, {"stickiness": 0.95}),
    ({"arms": 3, "levels": 0}, QUICK),
    ({"arms": 2, "levels": 2}, {"transition": [[0.9, 0.1, 0], [0, 0.9, 0.1], [0.1, 0, 0.9]]}),
    ({"arms": 2, "groups": 2}, {"stickiness": 0.5}),
    ({"arms": 3, "particles": 8}, QUICK),
    ({"arms": 2, "floor": 0.0, "particles": 5}, COIN),
    ({"arms": 5, "floor": 0.0, "groups": 3}, {"stickiness": 0.7}),
    ({"arms": 2, "levels": 0}, {"transition": [[0.02, 0.98], [0.98, 0.02]], "states": 2, "noise": 0.02}),
    ({"arms": 2}, {"dwell_shape": "fixed", "dwell": 25}),
    ({"arms": 2}, {"noise_shape": "bimodal", "noise": 0.1}),
    ({"arms": 2}, {"noise_shape": "outliers", "noise": 0.1, "states": 2}),
    ({"arms": 3, "low": 0.0, "high": 0.1}, {"rewards": "bernoulli", "span": (0.01, 0.1)}),
    ({"arms": 3, "levels": 0, "trust": False, "staleness": False}, {"noise": 0.5, "stickiness": 0.8}),
    ({"arms": 3}, {**COIN, "span": (0.02, 0.2), "wrong": 0.03, "wrong_reward": -1000.0}),
    ({"arms": 2, "groups": 2}, {"rewards": "revenue", "wrong": 0.02, "wrong_reward": 1e4}),
]


@pytest.mark.parametrize("case", range(len(LIBRARIES)))
@LENGTHS
def test_library_plays_like_its_twin(case: int, rounds: int) -> None:
    settings, world = LIBRARIES[case]
    assert_like_twin(lb.policies.StateLibrary(**settings), world, seed=case, rounds=rounds // 2)
    for table in (list(TABLES) * 4)[case : case + 5 : 4]:
        assert_like_twin(lb.policies.StateLibrary(**settings), world, seed=case, rounds=rounds // 6, table=table)


@pytest.mark.parametrize("case", range(len(LIBRARIES)))
@INTERPRETED_LENGTHS
def test_library_interpreted(case: int, rounds: int) -> None:
    settings, world = LIBRARIES[case]
    assert_compiles_alike(lb.policies.StateLibrary(**settings), world, seed=case, rounds=rounds)


# Late, lost and out-of-order rewards: settings, the world, and the table of available arms
LATE: Sequence[tuple[Settings, Settings, str]] = [
    ({"arms": 2}, {"delay": 1}, ""),
    ({"arms": 2}, {"delay": 20, "stickiness": 0.95}, ""),
    ({"arms": 3, "groups": 2}, {"delay": "geometric 5", "lost": 0.1}, ""),
    ({"arms": 2, "states": 2, "floor": 0.0}, {"delay": (0, 30), "lost": 0.3, "stickiness": 0.95}, ""),
    ({"arms": 3, "groups": 3}, {"delay": (3, 40), "rewards": "bernoulli"}, "stretches"),
    ({"arms": 2, "low": -1.0, "high": 2.0}, {"delay": "geometric 12", "noise": 0.3}, "singles"),
    ({"arms": 2, "noise": 0.1}, {"lost": 0.5, "stickiness": 0.9}, ""),
    ({"arms": 2}, {"delay": (0, 3), "rewards": "revenue"}, ""),
    ({"arms": 2}, {"delay": (0, 30), "rewards": "bernoulli", "stickiness": 0.95}, ""),
]


@pytest.mark.parametrize("case", range(len(LATE)))
@LENGTHS
def test_library_with_late_rewards_plays_like_its_twin(case: int, rounds: int) -> None:
    settings, world, table = LATE[case]
    assert_like_twin(lb.policies.StateLibrary(**settings), world, seed=case, rounds=rounds // 2, table=table)


@pytest.mark.parametrize("scale", [1e-3, 1e6])
def test_library_on_other_scales_plays_like_its_twin(scale: float) -> None:
    """Rewards that wander off make the range grow, and all is learned again."""
    realisation = lb.HiddenMarkov(stickiness=0.95).realise(horizon=600, groups=1, seed=3, draw=0, repeat=0)
    rewards = scale * (realisation.rewards * np.linspace(1, 9, 600)[:, None, None] - 5)
    recorded(lb.policies.StateLibrary(arms=2), rewards)


def test_every_reason_occurs_somewhere_in_the_comparison() -> None:
    """Arms that have idled for long are rare where states change often: five arms of one calm state make some."""
    worlds: Sequence[tuple[int, Settings]] = [(2, {"noise": 0.05}), (5, {"noise": 0.05, "stickiness": 0.9999})]
    played = [assert_like_twin(lb.policies.StateLibrary(arms), world, seed=5, rounds=1000) for arms, world in worlds]
    probe_reason = np.concatenate([found for _, found in played])
    for reason in (STALENESS, UNTRIED, RIVAL):
        assert (probe_reason & reason).any(), f"{REASONS[reason]} never occurred: the comparison says nothing about it"


def test_best_single_arm_without_a_chain_is_best_over_the_table() -> None:
    policy = lb.policies.BestSingleArm(arms=4)
    for draw in range(5):
        realisation = lb.Drift(arms=4).realise(horizon=500, groups=1, seed=0, draw=draw, repeat=0)
        assert_same(record_one(policy, realisation, stream(0)), play(twin_of(policy, realisation, 0), realisation))


def test_best_single_arm_of_a_chain_that_prefers_some_states() -> None:
    """The state that the chain visits in one round of eleven has the largest gap, but not the say."""
    rare = {"transition": [[0.9, 0.1], [0.01, 0.99]], "means": [[1.0, 0.0], [0.4, 0.6]]}
    arms, _ = assert_like_twin(lb.policies.BestSingleArm(arms=2), rare, seed=0, rounds=10)
    assert (arms == 1).all()


# The exact filter against a sum over all paths of the hidden state.
CYCLE = [[0.1, 0.9, 0.0], [0.0, 0.2, 0.8], [0.7, 0.0, 0.3]]
TINY: Mapping[str, Settings] = {
    "gaussian": {"noise": 0.3},
    "bernoulli": {"rewards": "bernoulli"},
    "cycle": {"transition": CYCLE, "noise": 0.3},
    "memory": {"carryover": 0.4, "noise": 0.3},
    "memory-bernoulli": {"carryover": 0.4, "rewards": "bernoulli"},
}


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("case", TINY)
def test_filter_agrees_with_a_sum_over_all_paths(case: str, groups: int) -> None:
    world = TINY[case] if case == "cycle" else {"states": 3, "stickiness": 0.6, **TINY[case]}
    policy = lb.policies.BayesGreedy(arms=3, groups=groups)
    for seed in range(4):
        realisation = realise(policy, world, rounds=6, seed=seed)
        assert realisation.truth is not None
        arms, _ = record_one(policy, realisation, stream(seed))
        rewards = np.take_along_axis(realisation.rewards, arms[:, :, None], axis=2)[:, :, 0]
        twin = naive_filter.NaiveFilter(*naive_filter.pairs_of(realisation.truth), groups=groups)
        for t in range(6):
            expected = naive_filter.expected_by_paths(
                *naive_filter.pairs_of(realisation.truth), arms[:t].tolist(), rewards[:t].tolist()
            )
            assert arms[t].tolist() == [int(np.argmax(expected))] * groups
            assert twin.expected() == pytest.approx(expected, abs=1e-12)
            twin.learn(arms[t].tolist(), rewards[t].tolist())


def test_filter_given_unequal_noise_trusts_the_better_unit() -> None:
    assert_like_twin(lb.policies.BayesGreedy(arms=3, groups=2), {"group_noise": (0.05, 1.0), "stickiness": 0.9}, seed=6)


# Cases worked out by hand.
def test_the_ab_test_is_one_probe_and_then_nothing_is_learnt() -> None:
    """Two turns for each of three arms, which pay -2, -1 and -3 in the test; what comes after it is ignored."""
    rewards = np.tile([-2.0, -1.0, -3.0], (6, 2, 1))
    rewards[3:] = [9.0, -9.0, 9.0]
    arms, probe_reason = recorded(lb.policies.ABTest(arms=3, groups=2, test=3), rewards)
    assert arms.tolist() == [[0, 1], [2, 0], [1, 2], [1, 1], [1, 1], [1, 1]]
    assert probe_reason.tolist() == [SCHEDULED, CONTINUED, CONTINUED, 0, 0, 0]


def test_the_ab_test_never_chooses_an_arm_that_had_no_turn() -> None:
    arms, _ = recorded(lb.policies.ABTest(arms=3, test=2), np.full((4, 3), [-2.0, -1.0, 5.0]))
    assert arms[:, 0].tolist() == [0, 1, 1, 1]
    arms, _ = recorded(lb.policies.ABTest(arms=2, test=2), np.ones((4, 2)))  # a tie
    assert arms[:, 0].tolist() == [0, 1, 0, 0]


def test_the_ab_test_counts_what_belongs_to_the_test_whenever_it_comes() -> None:
    agent = lb.Agent(lb.policies.ABTest(arms=3, test=4))
    test = [agent.ask() for _ in range(4)]
    assert [decision.arm for decision in test] == [0, 1, 2, 0]
    after = agent.ask()
    assert (after.arm, after.probe_reasons) == (0, ())  # no reward has arrived yet
    played = []
    for decision, reward in ((test[2], -1.0), (after, 9.0), (test[3], 0.0), (test[1], 0.5), (test[0], 1.5)):
        agent.tell(decision, reward)
        played.append(agent.ask().arm)
    assert played == [2, 2, 0, 1, 0]


def test_the_ab_test_waits_while_there_is_one_arm() -> None:
    """Turns 0 to 3 of the test, each among the arms of its round; the second and fourth round are no part of it."""
    available = [[1, 1, 1], [0, 0, 1], [1, 0, 1], [0, 1, 0], [1, 1, 1], [0, 1, 1], [1, 1, 1], [0, 1, 0]]
    rewards = np.tile([2.0, 1.0, 3.0], (8, 1))
    rewards[1, 2] = -9.0  # not learned
    arms, probe_reason = recorded(lb.policies.ABTest(arms=3, test=4), rewards, available=available)
    assert arms[:, 0].tolist() == [0, 2, 2, 1, 2, 2, 2, 1]
    assert probe_reason.tolist() == [SCHEDULED, 0, CONTINUED, 0, CONTINUED, CONTINUED, 0, 0]


def test_an_arm_that_was_never_probed_is_not_taken_for_one_that_paid_nothing() -> None:
    """Arm 2 comes after the probe: it is played when it is alone, and no surprise then, and probed in its turn."""
    available = [[1, 1, 0], [1, 1, 0], [1, 1, 1], [0, 0, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    rewards = np.tile([-2.0, -1.0, -0.5], (9, 1))
    arms, probe_reason = recorded(
        lb.policies.ProbeCommit(arms=3, interval=5, surprise=0.1), rewards, available=available
    )
    assert arms[:, 0].tolist() == [0, 1, 2, 2, 2, 2, 0, 1, 2]
    assert probe_reason.tolist() == [SCHEDULED, CONTINUED, CONTINUED, 0, 0, 0, SCHEDULED, CONTINUED, CONTINUED]
    available[2] = [1, 1, 0]  # its turn is over when it comes
    arms, probe_reason = recorded(
        lb.policies.ProbeCommit(arms=3, interval=5, surprise=0.1), rewards, available=available
    )
    assert arms[:, 0].tolist() == [0, 1, 1, 2, 1, 1, 0, 1, 2]
    assert probe_reason.tolist() == [SCHEDULED, CONTINUED, 0, 0, 0, 0, SCHEDULED, CONTINUED, CONTINUED]


def test_noise_is_learned_from_an_arm_that_was_alone_for_long() -> None:
    """The first estimate has more than 32 pairs to begin with."""
    policy = lb.policies.StateLibrary(arms=2)
    rewards = np.random.default_rng(0).normal([0.2, 0.8], 0.1, (200, 2))
    available = np.ones((200, 2), bool)
    available[:60, 1] = False
    arms, probe_reason = recorded(policy, rewards, available=available)
    assert (arms[:60] == 0).all()
    assert (probe_reason[:60] == 0).all()
    assert (arms[70:] == 1).mean() > 0.9


def test_a_surprise_brings_the_next_probe_forward() -> None:
    """Arm 1 wins the probe of the first round with 0.6 and pays 0.6, then 0.4: a round later all arms are probed, whatever is due."""
    rewards = np.tile([0.5, 0.6], (8, 2, 1))
    rewards[2:] = [0.5, 0.4]
    arms, probe_reason = recorded(lb.policies.ProbeCommit(arms=2, groups=2, interval=6, surprise=0.15), rewards)
    assert arms.tolist() == [[0, 1], [1, 1], [1, 1], [0, 1], [0, 0], [0, 0], [0, 0], [0, 0]]
    assert probe_reason.tolist() == [SCHEDULED, 0, 0, RESIDUAL, 0, 0, 0, 0]
    assert (
        recorded(lb.policies.ProbeCommit(arms=2, groups=2, interval=6, surprise=0.25), rewards)[1]
        .tolist()
        .count(RESIDUAL)
        == 0
    )
    _, probe_reason = recorded(lb.policies.ProbeCommit(arms=2, groups=2, interval=3, surprise=0.15), rewards)
    assert probe_reason.tolist() == [SCHEDULED, 0, 0, SCHEDULED + RESIDUAL, 0, 0, SCHEDULED, 0]


def test_late_rewards_of_an_older_probe_are_no_surprise() -> None:
    agent = lb.Agent(lb.policies.ProbeCommit(arms=2, groups=2, interval=3, surprise=0.1))
    agent.tell(agent.ask(), [0.2, 0.9])
    late, in_time = agent.ask(), agent.ask()
    agent.tell(in_time, [0.9, 0.9])
    probe = agent.ask()
    assert probe.probe_reasons == ("schedule",)
    agent.tell(probe, [0.2, 0.3])
    agent.tell(late, [0.9, 0.9])  # far from 0.3, but of the probe before
    assert agent.ask().probe_reasons == ()

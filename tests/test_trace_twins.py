"""The paper's family against its slow twin, compiled against interpreted code, and cases worked out by hand."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.protocols import (
    CONTINUED,
    MARGIN,
    PROBE_REASON,
    REASONS,
    RESIDUAL,
    SCHEDULED,
    STALENESS,
    Choice,
)
from latentbandits.random import stream
from tests.twins import (
    INTERPRETED_LENGTHS,
    LENGTHS,
    TABLES,
    Settings,
    assert_compiles_alike,
    assert_like_twin,
    forced,
    recorded,
)

# Trace learners. Each case: settings of the learner, settings of the world.
PROBING: Settings = {"fingerprint": True, "exploration": 0.5}
SCHEDULES: Mapping[str, Settings] = {"fixed": {"interval": 11}, "gated": {"gated": True, "staleness": 30}}
GRID: Mapping[str, tuple[Settings, Settings]] = {
    **{
        f"{schedule}-{lag}-{arms}-arms-{groups}-groups": (
            {**PROBING, **when, "lag": lag, "arms": arms, "groups": groups},
            {},
        )
        for schedule, when in SCHEDULES.items()
        for lag in ("none", "pair", "one-hot", "slopes", "curves")
        for arms, groups in [(2, 1), (2, 2), (3, 2), (5, 3)]
    },
    **{
        f"never-{lag}-{arms}-arms-{groups}-groups": ({"lag": lag, "arms": arms, "groups": groups}, {})
        for lag in ("pair", "one-hot", "slopes", "curves")
        for arms, groups in [(2, 1), (2, 3), (3, 2), (5, 1)]
    },
}
GATED: Settings = {**PROBING, "gated": True}
SEES_STATE: Settings = {"states": 4, "reveal": "state", "noise": 0.1}
SEES_MEANS: Settings = {"states": 4, "reveal": "means", "noise": 0.1}
CORNERS: Mapping[str, tuple[Settings, Settings]] = {
    "no-fingerprint-fixed": ({"arms": 2, "interval": 9}, {}),
    "no-fingerprint-gated": ({"arms": 2, "gated": True}, {}),
    "no-fingerprint-gated-two-groups": ({"arms": 3, "groups": 2, "gated": True}, {}),
    "no-lag-gated-two-groups": ({**GATED, "arms": 2, "groups": 2, "lag": "none"}, {}),
    "fingerprint-never-filled": ({**PROBING, "arms": 3}, {}),
    "thompson-gated": ({**GATED, "arms": 2, "thompson": True}, {}),
    "thompson-gated-three-groups": ({**GATED, "arms": 5, "groups": 3, "thompson": True, "margin": 0.01}, {}),
    "thompson-fixed": ({**PROBING, "arms": 3, "interval": 12, "thompson": True}, {}),
    "thompson-covariates": ({"arms": 3, "lag": "none", "covariates": 4, "thompson": True}, SEES_STATE),
    "more-groups-than-arms-fixed": ({**PROBING, "arms": 2, "groups": 5, "interval": 8}, {"noise": 0.1}),
    "more-groups-than-arms-gated": ({**GATED, "arms": 3, "groups": 5}, {"noise": 0.1}),
    "probe-set-fixed": ({**PROBING, "arms": 3, "probe_set": (2, 0), "interval": 7}, {}),
    "probe-set-gated": ({**GATED, "arms": 3, "probe_set": (2, 0)}, {}),
    "probe-set-in-one-round": ({**GATED, "arms": 3, "groups": 2, "probe_set": (2, 0)}, {}),
    "probe-set-smaller-than-groups": ({**GATED, "arms": 3, "groups": 5, "probe_set": (2, 0)}, {"noise": 0.1}),
    "probe-set-wraps-fixed": ({**PROBING, "arms": 5, "groups": 2, "probe_set": (4, 0, 2), "interval": 6}, {}),
    "probe-set-wraps-gated": ({**GATED, "arms": 5, "groups": 2, "probe_set": (4, 0, 2)}, {}),
    "probe-set-of-one": ({**GATED, "arms": 3, "probe_set": (1,)}, {}),
    "probe-of-some-arms-fixed": ({**PROBING, "arms": 5, "probe_size": 3, "interval": 9}, {}),
    "probe-of-some-arms-gated": ({**GATED, "arms": 5, "probe_size": 2}, {}),
    "probe-of-one-arm": ({**GATED, "arms": 4, "probe_size": 1, "min_gap": 1}, {}),
    "probe-of-all-arms-by-what-they-paid": ({**GATED, "arms": 3, "probe_size": 3}, {}),
    "probe-of-some-of-a-set": ({**GATED, "arms": 5, "probe_set": (4, 0, 2), "probe_size": 2}, {}),
    "probe-of-some-arms-sampled": ({**GATED, "arms": 4, "probe_size": 2, "thompson": True}, {}),
    "state-alone": ({"arms": 3, "lag": "none", "covariates": 4}, SEES_STATE),
    "state-gated": ({**GATED, "arms": 3, "covariates": 4}, SEES_STATE),
    "state-two-groups": (
        {**PROBING, "arms": 2, "groups": 2, "lag": "pair", "covariates": 4, "interval": 10},
        SEES_STATE,
    ),
    "means-alone": ({"arms": 3, "lag": "none", "covariates": 3}, SEES_MEANS),
    "means-gated": ({**GATED, "arms": 2, "groups": 2, "covariates": 2, "lag": "one-hot"}, SEES_MEANS),
    "probes-all-the-time": ({**PROBING, "arms": 2, "interval": 2}, {}),
    "probes-all-the-time-in-one-round": ({**PROBING, "arms": 2, "groups": 2, "interval": 1}, {}),
    "probes-all-the-time-wrapping": ({**PROBING, "arms": 5, "groups": 2, "interval": 3}, {}),
    "one-round-between-probes": ({**PROBING, "arms": 2, "interval": 3}, {}),
    "stale-at-once": ({**GATED, "arms": 2, "staleness": 1, "min_gap": 1}, {}),
    "gap-of-one": ({**GATED, "arms": 3, "groups": 3, "min_gap": 1}, {}),
    "gap-beyond-staleness": ({**GATED, "arms": 2, "staleness": 10, "min_gap": 30}, {}),
    "gap-within-a-probe": ({**GATED, "arms": 5, "min_gap": 2, "staleness": 7}, {}),
    "stated-gates-adarp": ({**GATED, "arms": 2, "groups": 2, "staleness": 7, "min_gap": 2}, {"noise": 0.05}),
    "stated-gates-adasp": ({**GATED, "arms": 2, "staleness": 7, "min_gap": 2}, {"noise": 0.05}),
    "hazard-adarp": ({**GATED, "arms": 2, "groups": 2, "hazard": (0.1, 0.5), "min_gap": 2}, {"noise": 0.05}),
    "hazard-at-once": ({**GATED, "arms": 2, "hazard": (0.2, 0.0)}, {}),
    "noise-learned": ({**GATED, "arms": 2, "learn_noise": True, "residual_floor": 0.0}, {"noise": 0.1}),
    "noise-learned-from-groups": ({**GATED, "arms": 2, "groups": 2, "learn_noise": True}, {"noise": 0.3}),
    "noise-learned-from-repeated-arms": (
        {**GATED, "arms": 2, "groups": 5, "learn_noise": True, "min_gap": 1},
        {"noise": 0.2},
    ),
    "noise-below-the-floor": (
        {**GATED, "arms": 3, "groups": 2, "learn_noise": True, "residual_floor": 0.2},
        {"noise": 0.1},
    ),
    "never-stale": ({**GATED, "arms": 2, "staleness": 10**6}, {}),
    "any-residual": ({**GATED, "arms": 2, "residual_threshold": 0.0}, {}),
    "residuals-alone": ({**GATED, "arms": 2, "groups": 2, "residual_threshold": 0.7, "margin": 0.0}, {"noise": 0.1}),
    "residuals-of-repeated-arms": (
        {**GATED, "arms": 2, "groups": 5, "residual_threshold": 0.7, "margin": 0.0, "min_gap": 1},
        {"noise": 0.1},
    ),
    "residuals-before-learning": ({**GATED, "arms": 2, "margin": 0.0, "residual_before": True}, {"noise": 0.1}),
    "residuals-before-learning-from-groups": (
        {**GATED, "arms": 2, "groups": 5, "margin": 0.0, "residual_before": True, "learn_noise": True},
        {"noise": 0.1},
    ),
    "any-margin": ({**GATED, "arms": 3, "margin": 10.0}, {}),
    "greedy": ({**GATED, "arms": 3, "exploration": 0.0, "margin": 0.001}, {}),
    "heavy-ridge": ({**GATED, "arms": 3, "regularization": 20.0}, {}),
    "light-ridge": ({**GATED, "arms": 3, "regularization": 0.01}, {}),
    "noisy-adarp": ({**GATED, "arms": 2, "groups": 2}, {"noise": 0.5}),
    "switching-adasp": ({**GATED, "arms": 3}, {"stickiness": 0.3}),
    "unequal-groups": ({**GATED, "arms": 2, "groups": 2}, {"group_noise": (0.01, 0.4)}),
    "memory": ({**GATED, "arms": 2, "groups": 2}, {"carryover": 0.5}),
}
TRACES = {**GRID, **CORNERS}


@pytest.mark.parametrize("case", TRACES)
@LENGTHS
def test_trace_learner_plays_like_its_twin(case: str, rounds: int) -> None:
    settings, world = TRACES[case]
    assert_like_twin(lb.policies.TraceLearner(**settings), world, seed=len(case), rounds=rounds)


@pytest.mark.parametrize("case", TRACES)
@LENGTHS
def test_trace_learner_with_arms_that_come_and_go_plays_like_its_twin(case: str, rounds: int) -> None:
    settings, world = TRACES[case]
    for table in TABLES:
        assert_like_twin(lb.policies.TraceLearner(**settings), world, seed=len(case), rounds=rounds // 6, table=table)


@pytest.mark.parametrize("case", TRACES)
@INTERPRETED_LENGTHS
def test_trace_learner_interpreted(case: str, rounds: int) -> None:
    settings, world = TRACES[case]
    for rewards in ("gaussian", "bernoulli"):
        assert_compiles_alike(
            lb.policies.TraceLearner(**settings), {**world, "rewards": rewards}, seed=4, rounds=rounds
        )


@pytest.mark.parametrize("name", ["adarp-ucb", "adasp-ucb"])
def test_every_gate_opens_somewhere_in_the_comparison(name: str) -> None:
    _, probe_reasons = assert_like_twin(lb.policy(name), {}, seed=5)
    for gate in (RESIDUAL, MARGIN, STALENESS):
        assert (probe_reasons & gate).any(), f"{REASONS[gate]} never opened: the comparison says nothing about it"


# Cases worked out by hand.
def test_sequential_schedule_begins_in_its_second_phase() -> None:
    """Algorithm 3: t mod tau is 1 in the very first round, so arm 1 is probed there."""
    policy = lb.policy("sp-ucb", interval=5)
    assert forced(assert_like_twin(policy, {}, seed=7, rounds=13)) == {
        1: ([1], CONTINUED),
        5: ([0], SCHEDULED),
        6: ([1], CONTINUED),
        10: ([0], SCHEDULED),
        11: ([1], CONTINUED),
    }


def test_a_probe_waits_while_there_is_one_arm() -> None:
    """The one of round 5 is interrupted, and the one of round 10 left out."""
    policy = lb.policy("sp-ucb", interval=5)
    available = np.ones((16, 2), bool)
    available[[5, 6, 9], 1] = False  # rounds 6, 7 and 10
    rewards = np.random.default_rng(0).random((16, 2))
    assert forced(recorded(policy, rewards, available=available)) == {
        1: ([1], CONTINUED),
        5: ([0], SCHEDULED),
        8: ([1], CONTINUED),
        15: ([0], SCHEDULED),
        16: ([1], CONTINUED),
    }


def test_sequential_schedule_of_some_arms() -> None:
    policy = lb.policy("sp-ucb", arms=4, interval=6, probe_set=(3, 0, 2))
    assert forced(assert_like_twin(policy, {}, seed=7, rounds=9)) == {
        1: ([0], CONTINUED),
        2: ([2], CONTINUED),
        6: ([3], SCHEDULED),
        7: ([0], CONTINUED),
        8: ([2], CONTINUED),
    }


def test_randomized_schedule() -> None:
    """Algorithm 2: both arms in every tau-th round, the same arm for both groups in the others."""
    arms, probe_reasons = assert_like_twin(lb.policy("rp-ucb", interval=4), {}, seed=8, rounds=12)
    assert forced((arms, probe_reasons)) == {t: ([0, 1], SCHEDULED) for t in (4, 8, 12)}
    assert (arms[probe_reasons == 0, 0] == arms[probe_reasons == 0, 1]).all()


def test_staleness_alone_probes_every_seven_rounds() -> None:
    """The stated lambda_h = 0.1 and delta_h = 0.5 cap the age at 7, counted from the first round of a probe."""
    assert math.ceil(-math.log(1 - 0.5) / 0.1) == 7
    # with another encoding the arms would tie, and open the margin gate, when arm 1 is the lag for the first time
    closed: Settings = {"lag": "one-hot", "residual_threshold": 1e9, "margin": 0.0, "staleness": 7, "min_gap": 2}
    randomized = assert_like_twin(lb.policy("adarp-ucb", **closed), {}, seed=9, rounds=22)
    assert forced(randomized) == {t: ([0, 1], STALENESS) for t in (7, 14, 21)}
    sequential = assert_like_twin(lb.policy("adasp-ucb", **closed), {}, seed=9, rounds=22)
    assert forced(sequential) == {
        **{t: ([0], STALENESS) for t in (7, 14, 21)},
        **{t: ([1], CONTINUED) for t in (8, 15, 22)},
    }


# A learner that sees the constant 1 and starts from A = 1: after n rewards that sum to s, theta is s / (1 + n) and v is
# 1 / (1 + n).
CONSTANT: Settings = {"lag": "none", "covariates": 1, "gated": True, "regularization": 1.0, "staleness": 1000}


@pytest.mark.parametrize(("threshold", "probes"), [(1.66, {6: ([0], RESIDUAL)}), (1.67, {})])
def test_residual_gate(threshold: float, probes: dict[int, tuple[list[int], int]]) -> None:
    """Rewards 0, 0, 0, 0, 1 of arm 0: theta = v = 1/6, and with sigma_0^2 = 1/12 z = (5/6) / (1/2) = 5/3."""
    policy = lb.policies.TraceLearner(
        arms=2, exploration=0.0, residual_threshold=threshold, residual_floor=math.sqrt(1 / 12), min_gap=6, **CONSTANT
    )
    rewards = [[0.0, 0.0]] * 4 + [[1.0, 0.0]] + [[0.0, 0.0]]
    assert forced(recorded(policy, rewards, np.ones((6, 1)))) == probes


@pytest.mark.parametrize(("threshold", "probes"), [(1.85, {6: ([0], RESIDUAL)}), (1.86, {})])
def test_residual_gate_before_learning(threshold: float, probes: dict[int, tuple[list[int], int]]) -> None:
    """The same rewards: before the last, theta = 0 and v = 1/5, and with sigma_0^2 = 1/11 z = 1 / sqrt(16 / 55) = 1.854."""
    policy = lb.policies.TraceLearner(
        arms=2,
        exploration=0.0,
        residual_threshold=threshold,
        residual_floor=math.sqrt(1 / 11),
        min_gap=6,
        residual_before=True,
        **CONSTANT,
    )
    rewards = [[0.0, 0.0]] * 4 + [[1.0, 0.0]] + [[0.0, 0.0]]
    assert forced(recorded(policy, rewards, np.ones((6, 1)))) == probes


@pytest.mark.parametrize(("threshold", "probes"), [(0.24, {2: ([0, 1], RESIDUAL)}), (0.26, {})])
def test_residual_gate_of_two_units(threshold: float, probes: dict[int, tuple[list[int], int]]) -> None:
    """Rewards 0 and 1 in a round: theta = v = 1/3, the lag is 1/2, with sigma_0^2 = 1/9 z = (1/6) / (2/3) = 1/4."""
    policy = lb.policies.TraceLearner(
        arms=2, groups=2, exploration=0.0, residual_threshold=threshold, residual_floor=1 / 3, min_gap=2, **CONSTANT
    )
    rewards = [[[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]
    assert forced(recorded(policy, rewards, np.ones((2, 1)))) == probes


@pytest.mark.parametrize(
    ("arms", "margin", "probes"),
    [(2, 0.29, {}), (2, 0.30, {2: ([0], MARGIN)}), (3, 0.0, {2: ([0], MARGIN)})],
)
def test_margin_gate(arms: int, margin: float, probes: dict[int, tuple[list[int], int]]) -> None:
    """After a reward of 0 from arm 0 the indices are 1 / sqrt(2), 1 and, of three arms, 1 again: the top two count."""
    policy = lb.policies.TraceLearner(arms=arms, exploration=1.0, margin=margin, min_gap=2, **CONSTANT)
    assert forced(recorded(policy, np.zeros((2, arms)), np.ones((2, 1)))) == probes


def test_no_residual_before_the_first_reward() -> None:
    policy = lb.policies.TraceLearner(
        arms=2, exploration=0.0, residual_threshold=1e-9, margin=0.0, min_gap=1, **CONSTANT
    )
    assert forced(recorded(policy, np.zeros((1, 2)), np.ones((1, 1)))) == {1: ([0], MARGIN)}


def features_seen(policy: Any, rewards: Sequence[Sequence[float]]) -> list[tuple[list[int], list[float]]]:
    """Feed rewards to a policy whatever it plays, and return arms and features of every round."""
    memory, choice, seen = policy.init(), Choice.blank(policy), []
    for received in rewards:
        policy.choose(memory, np.zeros(0), stream(0), choice)
        seen.append((choice.arms.tolist(), choice.features.tolist()))
        policy.learn(memory, choice, np.array(received))
    return seen


def test_fingerprint_and_lag_of_two_units_on_three_arms() -> None:
    policy = lb.policies.TraceLearner(arms=3, groups=2, interval=4, lag="pair", fingerprint=True)
    rewards = [(0.3, 0.3), (0.25, 0.75), (0.0, 0.0), (0.5, 0.7), (0.1, 0.9), (0.0, 0.0)]
    seen = features_seen(policy, rewards)
    # t = 1 is the second phase, and wraps around; of two equal rewards the first group's becomes the lag
    assert seen[0] == ([2, 0], [0.0, 0.0, 0.0, 0.0, 0.0])
    assert seen[1][1] == [0.3, 0.0, 0.3, 2.0, 0.3]
    # after an exploiting round the lag is the mean of the groups
    exploited = seen[1][0]
    assert exploited[0] == exploited[1]
    assert seen[2][1] == [0.3, 0.0, 0.3, exploited[0], 0.5]
    # in the middle of a probe the lag is new and the fingerprint is not
    assert seen[3][0] == [0, 1]
    assert seen[4] == ([2, 0], [0.3, 0.0, 0.3, 1.0, 0.7])
    assert seen[5][1] == [0.9, 0.7, 0.1, 0.0, 0.9]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_arms_that_leave_during_a_probe_keep_their_part_of_the_fingerprint(order: tuple[int, int]) -> None:
    """A probe of four arms, then one that loses arms 0 and 1 after its first round; its rewards arrive in either order."""
    policy = lb.policies.TraceLearner(arms=4, interval=4, lag="none", fingerprint=True)
    memory, probes = policy.init(), []
    for t in range(10):
        choice = Choice.blank(policy)
        choice.arm_scores["available"] = [t < 8, t < 8, True, True]
        policy.choose(memory, np.zeros(0), stream(0), choice)
        if t < 7:
            policy.learn(memory, choice, np.array([0.1 * (t + 1)]))
        elif choice.tags[PROBE_REASON]:
            probes.append(choice)
    assert memory.fingerprint.tolist() == pytest.approx([0.4, 0.5, 0.6, 0.7])
    assert [choice.arms.tolist() for choice in probes] == [[0], [3]]
    for place in order:
        policy.learn(memory, probes[place], np.array([0.8 + 0.1 * place]))
    assert memory.fingerprint.tolist() == pytest.approx([0.8, 0.5, 0.6, 0.9])


def test_groups_beyond_the_probe_set_are_averaged() -> None:
    policy = lb.policies.TraceLearner(arms=3, groups=5, interval=1, lag="one-hot", fingerprint=True, probe_set=(2, 0))
    seen = features_seen(policy, [(0.25, 0.4, 0.5, 0.6, 0.75), (0.0, 0.0, 0.0, 0.0, 0.0)])
    assert seen[0][0] == [2, 0, 2, 0, 2]
    # means 0.5 of arm 2 and 0.5 of arm 0 tie: the first group's arm is the lag
    assert seen[1][1] == pytest.approx([0.5, 0.5, 0.0, 0.0, 1.0, 0.5])


@pytest.mark.parametrize(
    ("lag", "features"),
    [
        ("pair", [1.0, 0.5]),
        ("one-hot", [0.0, 1.0, 0.0, 0.5]),
        ("slopes", [0.0, 1.0, 0.0, 0.0, 0.5, 0.0]),
        ("curves", [0.0, 1.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.25, 0.0]),
    ],
)
def test_encodings_of_the_lag(lag: str, features: list[float]) -> None:
    policy = lb.policies.TraceLearner(arms=3, interval=1, lag=lag, probe_set=(1,))
    assert features_seen(policy, [(0.5,), (0.0,)])[1][1] == features


@pytest.mark.parametrize("first", [0.1, 0.3, 0.48, 0.9])
def test_an_exact_tie_goes_to_the_lower_arm(first: float) -> None:
    """What arm 0 learnt about the first feature says nothing about the second: the arms tie, and 0 comes first."""
    policy = lb.policies.TraceLearner(arms=2, lag="none", covariates=2, regularization=0.1)
    arms, _ = recorded(policy, np.zeros((2, 2)), [[first, 0.0], [0.0, 1.0]])
    assert arms.tolist() == [[0], [0]]

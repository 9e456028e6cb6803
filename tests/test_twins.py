"""Every policy against its slow twin (naive.py), compiled against interpreted code, and cases worked out by hand."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import (
    CONTINUED,
    MARGIN,
    REASONS,
    RESIDUAL,
    RIVAL,
    SCHEDULED,
    STALENESS,
    UNTRIED,
    Choice,
    Realisation,
)
from latentbandits.random import below, normal, stream, uniform
from latentbandits.simulation.batch import record_one
from tests import naive, naive_library, naive_peers

ROUNDS = 3000
INTERPRETED_ROUNDS = 400

Settings = Mapping[str, Any]
Played = tuple[np.ndarray, np.ndarray]

# With rewards of 0 and 1 two indices of a linear learner can tie in exact arithmetic for reasons that no floating-point
# code can see, and rounding decides. So linear learners meet Gaussian worlds only; the others, whose sums of 0 and 1
# are exact, meet both.
GAUSSIAN: Mapping[str, Settings] = {"default": {}, "noisy": {"noise": 0.5}, "switching": {"stickiness": 0.5}}
WORLDS: Mapping[str, Settings] = {**GAUSSIAN, "bernoulli": {"rewards": "bernoulli"}}

TWINS: Mapping[type, Callable[..., naive.Twin]] = {
    lb.TraceLearner: naive.NaiveTraces,
    lb.UCB1: naive.NaiveUCB1,
    lb.EpsilonGreedy: naive.NaiveEpsilonGreedy,
    lb.ABTest: naive.NaiveABTest,
    lb.ThompsonSampling: naive.NaiveThompson,
    lb.DiscountedUCB: naive.NaiveDiscountedUCB,
    lb.SlidingWindowUCB: naive.NaiveSlidingWindowUCB,
    lb.EXP3: naive.NaiveEXP3,
    lb.UniformRandom: naive.NaiveUniform,
    lb.ChangePointThompson: naive_peers.NaiveChangePointThompson,
    lb.GLRUCB: naive_peers.NaiveGLRUCB,
    lb.CUSUMUCB: naive_peers.NaiveCUSUMUCB,
    lb.MonitoredUCB: naive_peers.NaiveMonitoredUCB,
    lb.StateLibrary: naive_library.NaiveLibrary,
}


class StreamDraws:
    """The draws of a stream, for a twin that must receive the same ones as its policy."""

    def __init__(self, seed: int) -> None:
        self.stream = stream(seed)

    def uniform(self) -> float:
        with np.errstate(all="ignore"):  # the generator's arithmetic wraps around by design
            return float(uniform(self.stream))

    def normal(self) -> float:
        with np.errstate(all="ignore"):
            return float(normal(self.stream))

    def below(self, n: int) -> int:
        with np.errstate(all="ignore"):
            return int(below(self.stream, n))


def realise(policy: Any, world: Settings, rounds: int, seed: int) -> Realisation:
    return lb.HiddenMarkov(arms=policy.arms, **world).realise(
        horizon=rounds, units=policy.units, seed=seed, draw=seed, repeat=0
    )


def stationary(transition: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.matrix_power(transition, 2**20)[0])


def twin_of(policy: Any, table: Realisation, seed: int) -> naive.Twin:
    if type(policy) in TWINS:
        return TWINS[type(policy)](StreamDraws(seed), **lb.describe(policy))
    if isinstance(policy, lb.StateOracle):
        return naive.NaiveScript(policy.units, [int(np.argmax(means)) for means in table.means])
    if isinstance(policy, lb.BestSingleArm):
        average = table.means.mean(axis=0)
        if table.truth is not None:
            average = stationary(table.truth.transition) @ table.truth.means
        return naive.NaiveScript(policy.units, itertools.repeat(int(np.argmax(average))))
    if isinstance(policy, lb.ProbeCommit):
        return naive.NaiveProbeCommit(**lb.describe(policy))
    assert isinstance(policy, lb.BayesLimit)
    assert table.truth is not None
    return naive.NaiveFilter(*naive.pairs_of(table.truth), units=policy.units)


def play(twin: naive.Twin, table: Realisation) -> Played:
    """Play a twin on a table, and return its arms and reasons as `record_one` returns those of a policy."""
    played, reasons = [], []
    for context, rewards in zip(table.context, table.rewards, strict=True):
        arms = twin.choose(context)
        twin.learn(arms, [float(rewards[unit, arm]) for unit, arm in enumerate(arms)])
        played.append(arms)
        why: frozenset[str] = getattr(twin, "why", frozenset())
        reasons.append(sum(code for code, name in REASONS.items() if name in why))
    return np.array(played), np.array(reasons)


def assert_same(one: Played, other: Played) -> None:
    differs = np.flatnonzero((one[0] != other[0]).any(axis=1) | (one[1] != other[1]))
    if len(differs):
        t = differs[0]
        plays = [f"arms {arms[t].tolist()} for the reasons {reasons[t]}" for arms, reasons in (one, other)]
        pytest.fail(f"first of {len(differs)} differences in round {t + 1}: {plays[0]}, but {plays[1]}")


def assert_like_twin(policy: Any, world: Settings, seed: int, rounds: int = ROUNDS) -> Played:
    table = realise(policy, world, rounds, seed)
    fast = record_one(policy, table, stream(seed))
    assert_same(fast, play(twin_of(policy, table, seed), table))
    return fast


def assert_compiles_alike(policy: Any, world: Settings, seed: int) -> None:
    table = realise(policy, world, INTERPRETED_ROUNDS, seed)
    assert_same(
        record_one(policy, table, stream(seed), interpreted=False),
        record_one(policy, table, stream(seed), interpreted=True),
    )


def is_linear(name: str) -> bool:
    return REGISTRY[name].make is lb.TraceLearner


NAMED = [
    pytest.param(name, world, id=f"{name}-{world}")
    for name in REGISTRY
    for world in (GAUSSIAN if is_linear(name) else WORLDS)
]


@pytest.mark.parametrize(("name", "world"), NAMED)
def test_named_policy_plays_like_its_twin(name: str, world: str) -> None:
    assert_like_twin(lb.policy(name), WORLDS[world], seed=1)


@pytest.mark.parametrize("arms", [3, 5])
@pytest.mark.parametrize("name", REGISTRY)
def test_named_policy_with_more_arms_plays_like_its_twin(name: str, arms: int) -> None:
    assert_like_twin(lb.policy(name, arms=arms), {}, seed=arms)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", REGISTRY)
def test_named_policy_interpreted(name: str, world: str) -> None:
    for arms in (2, 5):
        assert_compiles_alike(lb.policy(name, arms=arms), WORLDS[world], seed=2)


# Baselines and oracles: settings off the preset, and several units.
BASELINES: Sequence[tuple[str, Settings]] = [
    ("d-ucb", {"discount": 0.8, "exploration": 2.0}),
    ("d-ucb", {"discount": 0.5, "exploration": 0.1}),
    ("sw-ucb", {"window": 7}),
    ("sw-ucb", {"window": 3, "exploration": 2.0}),  # with three units, all that is remembered is one round
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
    ("probe-commit", {"interval": 7}),
    ("probe-commit", {"interval": 30, "surprise": 0.5}),
    ("probe-commit", {"interval": 8, "surprise": 0.1}),  # often both old and contradicted
    ("random", {}),
    ("best-single-arm", {}),
    ("state-oracle", {}),
    ("bayes-limit", {}),
]
SIZES = [(2, 1), (2, 2), (3, 3), (5, 2)]
BASELINE_CASES = [
    pytest.param(
        name,
        {**settings, "arms": arms, "units": units},
        id="-".join([name, *(f"{k}={v}" for k, v in settings.items()), f"{arms}-arms-{units}-units"]),
    )
    for name, settings in BASELINES
    for arms, units in SIZES
]


@pytest.mark.parametrize(("name", "settings"), BASELINE_CASES)
def test_baseline_plays_like_its_twin(name: str, settings: Settings) -> None:
    worlds: list[Settings] = [{"rewards": "bernoulli"}, {"noise": 0.2, "stickiness": 0.9}]
    for seed, world in enumerate(worlds):
        assert_like_twin(lb.policy(name, **settings), world, seed, rounds=ROUNDS // 2)


@pytest.mark.parametrize(("name", "settings"), BASELINE_CASES)
def test_baseline_interpreted(name: str, settings: Settings) -> None:
    assert_compiles_alike(lb.policy(name, **settings), {"rewards": "bernoulli"}, seed=3)


# Libraries: small ones in which states replace others, few particles, parts switched off. Settings, and the world.
QUICK: Settings = {"stickiness": 0.9, "noise": 0.1}
COIN: Settings = {"rewards": "bernoulli"}
LIBRARIES: Sequence[tuple[Settings, Settings]] = [
    ({"arms": 2, "states": 2}, QUICK),
    ({"arms": 3, "states": 3, "units": 2}, QUICK),
    ({"arms": 5, "states": 3, "units": 3, "particles": 4}, COIN),
    ({"arms": 2, "particles": 2}, {"noise": 0.3}),
    ({"arms": 3, "particles": 4, "units": 3, "floor": 0.1}, {"noise": 0.3}),
    ({"arms": 5, "units": 2, "noise": 0.05}, {"noise": 0.05}),
    ({"arms": 2, "noise": 0.2, "low": 0.0, "high": 1.0}, QUICK),
    ({"arms": 3, "low": -1.0, "high": 2.0, "units": 2}, {"stickiness": 0.95}),
    ({"arms": 3, "structure": 0.0, "levels": 0}, QUICK),
    ({"arms": 2, "structure": 5.0, "levels": 2}, {"transition": [[0.9, 0.1, 0], [0, 0.9, 0.1], [0.1, 0, 0.9]]}),
    ({"arms": 2, "testing": 0.0, "optimism": 0.5, "units": 2}, {"stickiness": 0.5}),
    ({"arms": 3, "testing": 2.0, "likeness": 0.0, "particles": 8}, QUICK),
    ({"arms": 2, "floor": 0.0, "patience": 3, "particles": 5, "novelty": 0.1}, COIN),
    ({"arms": 5, "floor": 0.0, "stay_prior": 2.0, "change_prior": 1.0, "units": 3}, {"stickiness": 0.7}),
]


@pytest.mark.parametrize("case", range(len(LIBRARIES)))
def test_library_plays_like_its_twin(case: int) -> None:
    settings, world = LIBRARIES[case]
    assert_like_twin(lb.StateLibrary(**settings), world, seed=case)


@pytest.mark.parametrize("case", range(len(LIBRARIES)))
def test_library_interpreted(case: int) -> None:
    settings, world = LIBRARIES[case]
    assert_compiles_alike(lb.StateLibrary(**settings), world, seed=case)


@pytest.mark.parametrize("scale", [1e-3, 1e6])
def test_library_on_other_scales_plays_like_its_twin(scale: float) -> None:
    """Rewards that wander off make the range grow, and all is told anew."""
    table = lb.HiddenMarkov(stickiness=0.95).realise(horizon=600, units=1, seed=3, draw=0, repeat=0)
    rewards = scale * (table.rewards * np.linspace(1, 9, 600)[:, None, None] - 5)
    recorded(lb.StateLibrary(arms=2), rewards)


def test_every_reason_occurs_somewhere_in_the_comparison() -> None:
    _, why = assert_like_twin(lb.StateLibrary(arms=2, patience=10), {"noise": 0.05}, seed=5, rounds=1000)
    for reason in (STALENESS, UNTRIED, RIVAL):
        assert (why & reason).any(), f"{REASONS[reason]} never occurred: the comparison says nothing about it"


def test_best_single_arm_without_a_chain_is_best_over_the_table() -> None:
    policy = lb.BestSingleArm(arms=4)
    for draw in range(5):
        table = lb.Drift(arms=4).realise(horizon=500, units=1, seed=0, draw=draw, repeat=0)
        assert_same(record_one(policy, table, stream(0)), play(twin_of(policy, table, 0), table))


def test_best_single_arm_of_a_chain_that_prefers_some_states() -> None:
    """The state that the chain visits in one round of eleven has the largest gap, but not the say."""
    rare = {"transition": [[0.9, 0.1], [0.01, 0.99]], "means": [[1.0, 0.0], [0.4, 0.6]]}
    arms, _ = assert_like_twin(lb.BestSingleArm(arms=2), rare, seed=0, rounds=10)
    assert (arms == 1).all()


# Trace learners. Each case: settings of the learner, settings of the world.
PROBING: Settings = {"fingerprint": True, "exploration": 0.5}
SCHEDULES: Mapping[str, Settings] = {"fixed": {"interval": 11}, "gated": {"gated": True, "staleness": 30}}
GRID: Mapping[str, tuple[Settings, Settings]] = {
    **{
        f"{schedule}-{lag}-{arms}-arms-{units}-units": (
            {**PROBING, **when, "lag": lag, "arms": arms, "units": units},
            {},
        )
        for schedule, when in SCHEDULES.items()
        for lag in ("none", "pair", "one-hot", "slopes", "curves")
        for arms, units in [(2, 1), (2, 2), (3, 2), (5, 3)]
    },
    **{
        f"never-{lag}-{arms}-arms-{units}-units": ({"lag": lag, "arms": arms, "units": units}, {})
        for lag in ("pair", "one-hot", "slopes", "curves")
        for arms, units in [(2, 1), (2, 3), (3, 2), (5, 1)]
    },
}
GATED: Settings = {**PROBING, "gated": True}
SEES_STATE: Settings = {"states": 4, "reveal": "state", "noise": 0.1}
SEES_MEANS: Settings = {"states": 4, "reveal": "means", "noise": 0.1}
CORNERS: Mapping[str, tuple[Settings, Settings]] = {
    "no-fingerprint-fixed": ({"arms": 2, "interval": 9}, {}),
    "no-fingerprint-gated": ({"arms": 2, "gated": True}, {}),
    "no-fingerprint-gated-two-units": ({"arms": 3, "units": 2, "gated": True}, {}),
    "no-lag-gated-two-units": ({**GATED, "arms": 2, "units": 2, "lag": "none"}, {}),
    "fingerprint-never-filled": ({**PROBING, "arms": 3}, {}),
    "thompson-gated": ({**GATED, "arms": 2, "thompson": True}, {}),
    "thompson-gated-three-units": ({**GATED, "arms": 5, "units": 3, "thompson": True, "margin": 0.01}, {}),
    "thompson-fixed": ({**PROBING, "arms": 3, "interval": 12, "thompson": True}, {}),
    "thompson-covariates": ({"arms": 3, "lag": "none", "covariates": 4, "thompson": True}, SEES_STATE),
    "more-units-than-arms-fixed": ({**PROBING, "arms": 2, "units": 5, "interval": 8}, {"noise": 0.1}),
    "more-units-than-arms-gated": ({**GATED, "arms": 3, "units": 5}, {"noise": 0.1}),
    "probe-set-fixed": ({**PROBING, "arms": 3, "probe_set": (2, 0), "interval": 7}, {}),
    "probe-set-gated": ({**GATED, "arms": 3, "probe_set": (2, 0)}, {}),
    "probe-set-in-one-round": ({**GATED, "arms": 3, "units": 2, "probe_set": (2, 0)}, {}),
    "probe-set-smaller-than-units": ({**GATED, "arms": 3, "units": 5, "probe_set": (2, 0)}, {"noise": 0.1}),
    "probe-set-wraps-fixed": ({**PROBING, "arms": 5, "units": 2, "probe_set": (4, 0, 2), "interval": 6}, {}),
    "probe-set-wraps-gated": ({**GATED, "arms": 5, "units": 2, "probe_set": (4, 0, 2)}, {}),
    "probe-set-of-one": ({**GATED, "arms": 3, "probe_set": (1,)}, {}),
    "state-alone": ({"arms": 3, "lag": "none", "covariates": 4}, SEES_STATE),
    "state-gated": ({**GATED, "arms": 3, "covariates": 4}, SEES_STATE),
    "state-two-units": ({**PROBING, "arms": 2, "units": 2, "lag": "pair", "covariates": 4, "interval": 10}, SEES_STATE),
    "means-alone": ({"arms": 3, "lag": "none", "covariates": 3}, SEES_MEANS),
    "means-gated": ({**GATED, "arms": 2, "units": 2, "covariates": 2, "lag": "one-hot"}, SEES_MEANS),
    "probes-all-the-time": ({**PROBING, "arms": 2, "interval": 2}, {}),
    "probes-all-the-time-in-one-round": ({**PROBING, "arms": 2, "units": 2, "interval": 1}, {}),
    "probes-all-the-time-wrapping": ({**PROBING, "arms": 5, "units": 2, "interval": 3}, {}),
    "one-round-between-probes": ({**PROBING, "arms": 2, "interval": 3}, {}),
    "stale-at-once": ({**GATED, "arms": 2, "staleness": 1, "min_gap": 1}, {}),
    "gap-of-one": ({**GATED, "arms": 3, "units": 3, "min_gap": 1}, {}),
    "gap-beyond-staleness": ({**GATED, "arms": 2, "staleness": 10, "min_gap": 30}, {}),
    "gap-within-a-probe": ({**GATED, "arms": 5, "min_gap": 2, "staleness": 7}, {}),
    "stated-gates-adarp": ({**GATED, "arms": 2, "units": 2, "staleness": 7, "min_gap": 2}, {"noise": 0.05}),
    "stated-gates-adasp": ({**GATED, "arms": 2, "staleness": 7, "min_gap": 2}, {"noise": 0.05}),
    "hazard-adarp": ({**GATED, "arms": 2, "units": 2, "hazard": (0.1, 0.5), "min_gap": 2}, {"noise": 0.05}),
    "hazard-at-once": ({**GATED, "arms": 2, "hazard": (0.2, 0.0)}, {}),
    "noise-learned": ({**GATED, "arms": 2, "learn_noise": True, "residual_floor": 0.0}, {"noise": 0.1}),
    "noise-learned-from-units": ({**GATED, "arms": 2, "units": 2, "learn_noise": True}, {"noise": 0.3}),
    "noise-learned-from-repeated-arms": (
        {**GATED, "arms": 2, "units": 5, "learn_noise": True, "min_gap": 1},
        {"noise": 0.2},
    ),
    "noise-below-the-floor": (
        {**GATED, "arms": 3, "units": 2, "learn_noise": True, "residual_floor": 0.2},
        {"noise": 0.1},
    ),
    "never-stale": ({**GATED, "arms": 2, "staleness": 10**6}, {}),
    "any-residual": ({**GATED, "arms": 2, "residual_threshold": 0.0}, {}),
    "residuals-alone": ({**GATED, "arms": 2, "units": 2, "residual_threshold": 0.7, "margin": 0.0}, {"noise": 0.1}),
    "residuals-of-repeated-arms": (
        {**GATED, "arms": 2, "units": 5, "residual_threshold": 0.7, "margin": 0.0, "min_gap": 1},
        {"noise": 0.1},
    ),
    "any-margin": ({**GATED, "arms": 3, "margin": 10.0}, {}),
    "greedy": ({**GATED, "arms": 3, "exploration": 0.0, "margin": 0.001}, {}),
    "heavy-ridge": ({**GATED, "arms": 3, "regularization": 20.0}, {}),
    "light-ridge": ({**GATED, "arms": 3, "regularization": 0.01}, {}),
    "noisy-adarp": ({**GATED, "arms": 2, "units": 2}, {"noise": 0.5}),
    "switching-adasp": ({**GATED, "arms": 3}, {"stickiness": 0.3}),
    "unequal-units": ({**GATED, "arms": 2, "units": 2}, {"unit_noise": (0.01, 0.4)}),
    "memory": ({**GATED, "arms": 2, "units": 2}, {"carryover": 0.5}),
}
TRACES = {**GRID, **CORNERS}


@pytest.mark.parametrize("case", TRACES)
def test_trace_learner_plays_like_its_twin(case: str) -> None:
    settings, world = TRACES[case]
    assert_like_twin(lb.TraceLearner(**settings), world, seed=len(case))


@pytest.mark.parametrize("case", TRACES)
def test_trace_learner_interpreted(case: str) -> None:
    settings, world = TRACES[case]
    for rewards in ("gaussian", "bernoulli"):
        assert_compiles_alike(lb.TraceLearner(**settings), {**world, "rewards": rewards}, seed=4)


@pytest.mark.parametrize("name", ["adarp-ucb", "adasp-ucb"])
def test_every_gate_opens_somewhere_in_the_comparison(name: str) -> None:
    _, why = assert_like_twin(lb.policy(name), {}, seed=5)
    for gate in (RESIDUAL, MARGIN, STALENESS):
        assert (why & gate).any(), f"{REASONS[gate]} never opened: the comparison says nothing about it"


# The exact filter against a sum over all paths of the hidden state.
CYCLE = [[0.1, 0.9, 0.0], [0.0, 0.2, 0.8], [0.7, 0.0, 0.3]]
TINY: Mapping[str, Settings] = {
    "gaussian": {"noise": 0.3},
    "bernoulli": {"rewards": "bernoulli"},
    "cycle": {"transition": CYCLE, "noise": 0.3},
    "memory": {"carryover": 0.4, "noise": 0.3},
    "memory-bernoulli": {"carryover": 0.4, "rewards": "bernoulli"},
}


@pytest.mark.parametrize("units", [1, 2])
@pytest.mark.parametrize("case", TINY)
def test_filter_agrees_with_a_sum_over_all_paths(case: str, units: int) -> None:
    world = TINY[case] if case == "cycle" else {"states": 3, "stickiness": 0.6, **TINY[case]}
    policy = lb.BayesLimit(arms=3, units=units)
    for seed in range(4):
        table = realise(policy, world, rounds=6, seed=seed)
        assert table.truth is not None
        arms, _ = record_one(policy, table, stream(seed))
        rewards = np.take_along_axis(table.rewards, arms[:, :, None], axis=2)[:, :, 0]
        twin = naive.NaiveFilter(*naive.pairs_of(table.truth), units=units)
        for t in range(6):
            expected = naive.expected_by_paths(*naive.pairs_of(table.truth), arms[:t].tolist(), rewards[:t].tolist())
            assert arms[t].tolist() == [int(np.argmax(expected))] * units
            assert twin.expected() == pytest.approx(expected, abs=1e-12)
            twin.learn(arms[t].tolist(), rewards[t].tolist())


def test_filter_told_of_unequal_noise_trusts_the_better_unit() -> None:
    assert_like_twin(lb.BayesLimit(arms=3, units=2), {"unit_noise": (0.05, 1.0), "stickiness": 0.9}, seed=6)


# Cases worked out by hand.
def recorded(policy: Any, rewards: Any, context: Any = None) -> Played:
    world = lb.Recorded(rewards, context=context)
    table = world.realise(horizon=len(rewards), units=policy.units, seed=0, draw=0, repeat=0)
    played = record_one(policy, table, stream(0))
    assert_same(played, play(twin_of(policy, table, 0), table))
    return played


def forced(played: Played) -> dict[int, tuple[list[int], int]]:
    """Return arms and reasons of the probe rounds, by round (from 1)."""
    arms, why = played
    return {int(t) + 1: (arms[t].tolist(), int(why[t])) for t in np.flatnonzero(why)}


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
    """Algorithm 2: both arms in every tau-th round, the same arm for both units in the others."""
    arms, why = assert_like_twin(lb.policy("rp-ucb", interval=4), {}, seed=8, rounds=12)
    assert forced((arms, why)) == {t: ([0, 1], SCHEDULED) for t in (4, 8, 12)}
    assert (arms[why == 0, 0] == arms[why == 0, 1]).all()


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
    policy = lb.TraceLearner(
        arms=2, exploration=0.0, residual_threshold=threshold, residual_floor=math.sqrt(1 / 12), min_gap=6, **CONSTANT
    )
    rewards = [[0.0, 0.0]] * 4 + [[1.0, 0.0]] + [[0.0, 0.0]]
    assert forced(recorded(policy, rewards, np.ones((6, 1)))) == probes


@pytest.mark.parametrize(("threshold", "probes"), [(0.24, {2: ([0, 1], RESIDUAL)}), (0.26, {})])
def test_residual_gate_of_two_units(threshold: float, probes: dict[int, tuple[list[int], int]]) -> None:
    """Rewards 0 and 1 in a round: theta = v = 1/3, the lag is 1/2, with sigma_0^2 = 1/9 z = (1/6) / (2/3) = 1/4."""
    policy = lb.TraceLearner(
        arms=2, units=2, exploration=0.0, residual_threshold=threshold, residual_floor=1 / 3, min_gap=2, **CONSTANT
    )
    rewards = [[[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]
    assert forced(recorded(policy, rewards, np.ones((2, 1)))) == probes


@pytest.mark.parametrize(
    ("arms", "margin", "probes"),
    [(2, 0.29, {}), (2, 0.30, {2: ([0], MARGIN)}), (3, 0.0, {2: ([0], MARGIN)})],
)
def test_margin_gate(arms: int, margin: float, probes: dict[int, tuple[list[int], int]]) -> None:
    """After a reward of 0 from arm 0 the indices are 1 / sqrt(2), 1 and, of three arms, 1 again: the top two count."""
    policy = lb.TraceLearner(arms=arms, exploration=1.0, margin=margin, min_gap=2, **CONSTANT)
    assert forced(recorded(policy, np.zeros((2, arms)), np.ones((2, 1)))) == probes


def test_no_residual_before_the_first_reward() -> None:
    policy = lb.TraceLearner(arms=2, exploration=0.0, residual_threshold=1e-9, margin=0.0, min_gap=1, **CONSTANT)
    assert forced(recorded(policy, np.zeros((1, 2)), np.ones((1, 1)))) == {1: ([0], MARGIN)}


def features_seen(policy: Any, rewards: Sequence[Sequence[float]]) -> list[tuple[list[int], list[float]]]:
    """Feed rewards to a policy whatever it plays, and return arms and features of every round."""
    state, choice, seen = policy.init(), Choice.blank(policy), []
    for told in rewards:
        policy.choose(state, np.zeros(0), stream(0), choice)
        seen.append((choice.arms.tolist(), choice.features.tolist()))
        policy.learn(state, choice, np.array(told))
    return seen


def test_fingerprint_and_lag_of_two_units_on_three_arms() -> None:
    policy = lb.TraceLearner(arms=3, units=2, interval=4, lag="pair", fingerprint=True)
    rewards = [(0.3, 0.3), (0.25, 0.75), (0.0, 0.0), (0.5, 0.7), (0.1, 0.9), (0.0, 0.0)]
    seen = features_seen(policy, rewards)
    # t = 1 is the second phase, and wraps around; of two equal rewards the first unit's becomes the lag
    assert seen[0] == ([2, 0], [0.0, 0.0, 0.0, 0.0, 0.0])
    assert seen[1][1] == [0.3, 0.0, 0.3, 2.0, 0.3]
    # after an exploiting round the lag is the mean of the units
    exploited = seen[1][0]
    assert exploited[0] == exploited[1]
    assert seen[2][1] == [0.3, 0.0, 0.3, exploited[0], 0.5]
    # in the middle of a probe the lag is new and the fingerprint is not
    assert seen[3][0] == [0, 1]
    assert seen[4] == ([2, 0], [0.3, 0.0, 0.3, 1.0, 0.7])
    assert seen[5][1] == [0.9, 0.7, 0.1, 0.0, 0.9]


def test_units_beyond_the_probe_set_are_averaged() -> None:
    policy = lb.TraceLearner(arms=3, units=5, interval=1, lag="one-hot", fingerprint=True, probe_set=(2, 0))
    seen = features_seen(policy, [(0.25, 0.4, 0.5, 0.6, 0.75), (0.0, 0.0, 0.0, 0.0, 0.0)])
    assert seen[0][0] == [2, 0, 2, 0, 2]
    # means 0.5 of arm 2 and 0.5 of arm 0 tie: the first unit's arm is the lag
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
    policy = lb.TraceLearner(arms=3, interval=1, lag=lag, probe_set=(1,))
    assert features_seen(policy, [(0.5,), (0.0,)])[1][1] == features


@pytest.mark.parametrize("first", [0.1, 0.3, 0.48, 0.9])
def test_an_exact_tie_goes_to_the_lower_arm(first: float) -> None:
    """What arm 0 learnt about the first feature says nothing about the second: the arms tie, and 0 comes first."""
    policy = lb.TraceLearner(arms=2, lag="none", covariates=2, regularization=0.1)
    arms, _ = recorded(policy, np.zeros((2, 2)), [[first, 0.0], [0.0, 1.0]])
    assert arms.tolist() == [[0], [0]]


def test_the_ab_test_is_one_probe_and_then_nothing_is_learnt() -> None:
    """Two turns for each of three arms, which pay -2, -1 and -3 in the test; what comes after it is ignored."""
    rewards = np.tile([-2.0, -1.0, -3.0], (6, 2, 1))
    rewards[3:] = [9.0, -9.0, 9.0]
    arms, why = recorded(lb.ABTest(arms=3, units=2, test=3), rewards)
    assert arms.tolist() == [[0, 1], [2, 0], [1, 2], [1, 1], [1, 1], [1, 1]]
    assert why.tolist() == [SCHEDULED, CONTINUED, CONTINUED, 0, 0, 0]


def test_the_ab_test_never_chooses_an_arm_that_had_no_turn() -> None:
    arms, _ = recorded(lb.ABTest(arms=3, test=2), np.full((4, 3), [-2.0, -1.0, 5.0]))
    assert arms[:, 0].tolist() == [0, 1, 1, 1]
    arms, _ = recorded(lb.ABTest(arms=2, test=2), np.ones((4, 2)))  # a tie
    assert arms[:, 0].tolist() == [0, 1, 0, 0]


def test_the_ab_test_counts_what_belongs_to_the_test_whenever_it_comes() -> None:
    agent = lb.Agent(lb.ABTest(arms=3, test=4))
    test = [agent.ask() for _ in range(4)]
    assert [decision.arm for decision in test] == [0, 1, 2, 0]
    after = agent.ask()
    assert (after.arm, after.why) == (0, ())  # nothing was told yet
    told = []
    for decision, reward in ((test[2], -1.0), (after, 9.0), (test[3], 0.0), (test[1], 0.5), (test[0], 1.5)):
        agent.tell(decision, reward)
        told.append(agent.ask().arm)
    assert told == [2, 2, 0, 1, 0]


def test_a_surprise_brings_the_next_probe_forward() -> None:
    """Arm 1 wins the probe of the first round with 0.6 and pays 0.6, then 0.4: a round later all arms are probed, whatever is due."""
    rewards = np.tile([0.5, 0.6], (8, 2, 1))
    rewards[2:] = [0.5, 0.4]
    arms, why = recorded(lb.ProbeCommit(arms=2, units=2, interval=6, surprise=0.15), rewards)
    assert arms.tolist() == [[0, 1], [1, 1], [1, 1], [0, 1], [0, 0], [0, 0], [0, 0], [0, 0]]
    assert why.tolist() == [SCHEDULED, 0, 0, RESIDUAL, 0, 0, 0, 0]
    assert (
        recorded(lb.ProbeCommit(arms=2, units=2, interval=6, surprise=0.25), rewards)[1].tolist().count(RESIDUAL) == 0
    )
    _, why = recorded(lb.ProbeCommit(arms=2, units=2, interval=3, surprise=0.15), rewards)
    assert why.tolist() == [SCHEDULED, 0, 0, SCHEDULED + RESIDUAL, 0, 0, SCHEDULED, 0]


def test_late_rewards_of_an_older_probe_surprise_nobody() -> None:
    agent = lb.Agent(lb.ProbeCommit(arms=2, units=2, interval=3, surprise=0.1))
    agent.tell(agent.ask(), [0.2, 0.9])
    late, in_time = agent.ask(), agent.ask()
    agent.tell(in_time, [0.9, 0.9])
    probe = agent.ask()
    assert probe.why == ("schedule",)
    agent.tell(probe, [0.2, 0.3])
    agent.tell(late, [0.9, 0.9])  # far from 0.3, but of the probe before
    assert agent.ask().why == ()

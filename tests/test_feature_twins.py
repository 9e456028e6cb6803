"""StateLibrary with observed features against its slow twin, and compiled against interpreted code."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.protocols import RIVAL, UNTRIED, Realisation
from latentbandits.random import stream
from latentbandits.simulation.batch import believe_one, record_one
from tests.twins import TABLES, Played, Settings, assert_same, play, twin_of

LENGTHS = pytest.mark.parametrize("rounds", [150, pytest.param(2000, marks=pytest.mark.slow)])
INTERPRETED_LENGTHS = pytest.mark.parametrize("rounds", [100, pytest.param(400, marks=pytest.mark.slow)])
QUICK: Settings = {"states": 3, "stickiness": 0.98, "noise": 0.1}
CLICKS: Settings = {"states": 3, "stickiness": 0.98, "rewards": "bernoulli", "span": (0.3, 0.7)}

# Settings, what features are multiplied by (0: the feature is 0.7 in every round), the world, and the table of available arms
CASES: Sequence[tuple[Settings, Sequence[float], Settings, str]] = [
    ({}, (1, 1), QUICK, ""),
    ({}, (1, 100, 0), {**QUICK, "noise": 0.3}, ""),
    ({"groups": 2}, (1, 0), QUICK, ""),
    ({"groups": 2, "particles": 4}, (100, 1, 1), {**QUICK, "noise": 0.5}, ""),
    ({}, (1, 1), CLICKS, ""),
    ({"groups": 2}, (1, 0, 100), CLICKS, ""),
    ({}, (1, 1), {**QUICK, "delay": "geometric 5", "lost": 0.1}, ""),
    ({"groups": 2}, (1, 1, 0), {**QUICK, "delay": (0, 20)}, ""),
    ({}, (1, 1), QUICK, "stretches"),
    ({}, (1, 1, 1), {**QUICK, "noise": 0.3}, "singles"),
    ({"groups": 2}, (100, 1), CLICKS, "arriving"),
    ({"states": 2, "levels": 0, "noise": 0.1}, (1, 1), {**QUICK, "stickiness": 0.9}, ""),
    ({"low": -1.0, "high": 2.0, "floor": 0.0}, (1, 0.001), QUICK, "leaving"),
]


def featured(groups: int, factors: Sequence[float], world: Settings, rounds: int, seed: int, table: str) -> Realisation:
    """Return a realisation whose means are shifted by normal features, of which the policy sees multiples."""
    generator = np.random.default_rng(seed)
    made = lb.HiddenMarkov(arms=3, **world).realise(rounds, groups, seed, draw=seed, repeat=0)
    x = np.where(np.array(factors) == 0, 0.7, generator.normal(size=(rounds, len(factors))))
    effects = x @ generator.uniform(-0.2, 0.2, (len(factors), 3))
    means, rewards = made.means + effects, made.rewards + effects[:, None]
    if "rewards" in world:
        rewards = (generator.random(rewards.shape) < means[:, None]).astype(float)
    context = np.where(np.array(factors) == 0, x, x * np.array(factors))
    available = TABLES[table](rounds, 3, generator) if table else None
    return made._replace(means=means, rewards=rewards, context=context, available=available)


def realised(case: int, rounds: int) -> tuple[Any, Realisation]:
    settings, factors, world, table = CASES[case]
    policy = lb.policies.StateLibrary(arms=3, covariates=len(factors), **settings)
    return policy, featured(policy.groups, factors, world, rounds, case, table)


def assert_like_twin(policy: Any, realisation: Realisation, seed: int) -> Played:
    fast = record_one(policy, realisation, stream(seed))
    assert_same(fast, play(twin_of(policy, realisation, seed), realisation))
    return fast


@pytest.mark.parametrize("case", range(len(CASES)))
@LENGTHS
def test_library_with_features_plays_like_its_twin(case: int, rounds: int) -> None:
    policy, realisation = realised(case, rounds)
    assert_like_twin(policy, realisation, seed=case)


@pytest.mark.parametrize("case", range(0, len(CASES), 2))
@INTERPRETED_LENGTHS
def test_library_with_features_interpreted(case: int, rounds: int) -> None:
    policy, realisation = realised(case, rounds)
    played = [record_one(policy, realisation, stream(case), interpreted=interpreted) for interpreted in (False, True)]
    assert_same(*played)


def test_rewards_of_which_one_in_twenty_is_like_the_last_play_like_the_twin() -> None:
    """Rounded rewards: whether they have a few values only, so that features are not taken out of differences, changes all the time."""
    realisation = featured(1, (1, 1), {"noise": 0.45}, rounds=400, seed=1, table="")
    realisation = realisation._replace(rewards=np.round(realisation.rewards, 1))
    assert_like_twin(lb.policies.StateLibrary(arms=3, covariates=2), realisation, seed=1)


@pytest.mark.parametrize("world", [{"noise": 0.2}, {"noise": 0.5, "delay": 3}])
@LENGTHS
def test_library_with_the_features_of_a_world_plays_like_its_twin(world: Settings, rounds: int) -> None:
    """Features are -1 or 1; whether they are used, and whether arms are tried or compared for a reason, is seen as well."""
    realisation = lb.HiddenMarkov(arms=3, features=2, **world).realise(rounds, 1, seed=3, draw=0, repeat=0)
    policy = lb.policies.StateLibrary(arms=3, covariates=2)
    arms, probe_reason = assert_like_twin(policy, realisation, seed=3)
    other = record_one(policy, realisation._replace(context=np.zeros((rounds, 2))), stream(3))
    assert (arms != other[0]).any()
    assert (probe_reason & (UNTRIED | RIVAL)).any()


@pytest.mark.parametrize("case", [1, 4])
def test_a_belief_has_the_slopes_and_the_lag_weight_of_the_twin(case: int) -> None:
    policy, realisation = realised(case, rounds=250)
    twin: Any = twin_of(policy, realisation, case)
    play(twin, realisation)
    (belief,) = believe_one(policy, realisation, stream(case), start=250)
    np.testing.assert_allclose(belief.slopes, twin.slopes.slopes, rtol=1e-9, atol=1e-12)
    assert belief.lag_weight == pytest.approx(1 - twin.lag.blend, abs=1e-9)


def test_a_belief_has_the_lag_weight_of_the_twin_where_states_change_fast() -> None:
    policy = lb.policies.StateLibrary(arms=3)
    realisation = lb.HiddenMarkov(arms=3, states=5, noise=0.1, stickiness=0.5).realise(250, 1, seed=3, draw=0, repeat=0)
    twin: Any = twin_of(policy, realisation, 3)
    play(twin, realisation)
    (belief,) = believe_one(policy, realisation, stream(3), start=250)
    assert belief.lag_weight == pytest.approx(1 - twin.lag.blend, abs=1e-9)
    assert belief.lag_weight > 0.2

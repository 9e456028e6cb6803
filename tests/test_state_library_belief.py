"""What StateLibrary believes: its states, what follows each, when they were seen, the standard error of every arm, and its slopes."""

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.agent import Agent
from latentbandits.policies.state_library import constants
from tests.test_state_library import scripted

TWO = [(0.3, 0.7), (0.8, 0.2)]


def tell(agent: Agent, rewards: np.ndarray) -> None:
    """Tell an agent the rewards (rounds, 1, arms) of what it plays."""
    for row in rewards:
        decision = agent.ask()
        agent.tell(decision, float(row[0, int(decision.arm)]))


def now(agent: Agent) -> Any:
    return agent.belief.present


def test_when_regimes_were_seen_and_how_long_they_last() -> None:
    """A for 60 rounds, B for 30, and so on; rounds are counted from 1."""
    agent = Agent("state-library", seed=2, compiled=True)
    blocks = [
        scripted([mean], length, noise=0.02) for _ in range(4) for mean, length in zip(TWO, (60, 30), strict=True)
    ]
    for block in blocks[:1]:
        tell(agent, block)
    assert (now(agent).seen, now(agent).visits) == (0, 1)
    for block in blocks[1:7]:
        tell(agent, block)
    # the present one, A, is in its fourth visit; its third ended in round 240, B's third in round 270
    belief = agent.belief
    here: Any = belief.present
    (there,) = (state for state in belief.states if state is not here)
    assert len(belief.states) == 2
    assert abs(here.seen - 240) <= 1
    assert abs(there.seen - 270) <= 1
    assert (here.visits, there.visits) == (4, 3)
    assert here.dwell == pytest.approx(60, abs=1)
    assert there.dwell == pytest.approx(30, abs=1)


def test_what_follows_is_a_distribution_and_names_the_successor() -> None:
    """Four regimes in a circle: after some turns the next one is known."""
    means = [(0.1, 0.4, 0.9), (0.9, 0.2, 0.5), (0.5, 0.9, 0.2), (0.3, 0.6, 0.1)]
    agent = Agent("state-library", arms=3, seed=3, compiled=True)
    generator = np.random.default_rng(3)
    rows = np.repeat(np.array(means * 12), 40, axis=0)[:, None, :]
    rewards = rows + generator.normal(0, 0.03, rows.shape)
    seen: list[int] = []
    for t in range(0, len(rewards), 40):
        tell(agent, rewards[t : t + 35])
        belief, number = agent.belief, now(agent).number
        assert sum(chance for _, chance in belief.next) == pytest.approx(1.0)
        assert [number for number, _ in belief.next].count(0) == 1
        assert {number for number, _ in belief.next} == {0, *(state.number for state in belief.states)} - {number}
        chances = [chance for _, chance in belief.next]
        assert chances == sorted(chances, reverse=True)
        if t > 1000:
            expected = Counter(b for a, b in itertools.pairwise(seen) if a == number).most_common(1)[0][0]
            assert belief.next[0][0] == expected
            assert belief.next[0][1] > 0.6
        seen.append(number)
        tell(agent, rewards[t + 35 : t + 40])
    assert len(set(seen[-8:])) == 4


def test_nothing_follows_before_the_first_round_but_something_new() -> None:
    assert Agent("state-library").belief.next == ()
    assert Agent(lb.policies.StateLibrary(arms=2, low=0.0, high=1.0)).belief.next == ((0, 1.0),)


# --- doubt ---


@pytest.mark.parametrize("covariates", [0, 2])
def test_explanations_show_the_doubt_of_every_arm(covariates: int) -> None:
    agent = Agent(lb.policies.StateLibrary(arms=3, covariates=covariates), seed=5, compiled=True)
    generator = np.random.default_rng(5)
    for _ in range(200):
        decision = agent.ask(generator.normal(size=covariates))
        agent.tell(decision, float(generator.normal((0.2, 0.5, 0.8)[int(decision.arm)], 0.1)))
    explanation = agent.explain(agent.ask(np.full(covariates, 0.1)))
    std_errors = {option.name: option.std_error or math.nan for option in explanation.options}
    assert all(std_error > 0 for std_error in std_errors.values())
    assert std_errors[2] < 0.03  # played 190 times
    assert std_errors[0] > 2 * std_errors[2]  # tried a few times
    assert "std_error" in str(explanation).splitlines()[1]
    assert f"{std_errors[2]:.3f}" in str(explanation)


def test_features_that_are_far_from_those_seen_raise_the_doubt() -> None:
    agent = Agent(lb.policies.StateLibrary(arms=2, covariates=1), seed=6, compiled=True)
    generator = np.random.default_rng(6)
    for _ in range(150):
        x = generator.normal()
        decision = agent.ask([x])
        agent.tell(decision, float(generator.normal((0.3, 0.6)[int(decision.arm)] + 0.1 * x, 0.1)))
    near, far = (agent.explain(agent.ask([x])).options[1].std_error or math.nan for x in (0.0, 50.0))
    assert far > 10 * near > 0


def test_before_the_scale_is_known_there_is_no_doubt() -> None:
    agent = Agent("state-library")
    assert all(option.std_error is None for option in agent.explain(agent.ask()).options)


def test_the_present_state_is_none_before_there_is_one() -> None:
    agent = Agent("state-library", seed=1)
    assert agent.belief.present is None
    tell(agent, scripted(TWO, 50, noise=0.05))
    assert agent.belief.present == now(agent)


def test_the_dwell_of_the_present_state_is_that_of_visits_that_ended() -> None:
    """Two visits of 100 rounds to each regime, and 10 rounds of a third to the first."""
    agent = Agent("state-library", seed=1, compiled=True)
    tell(agent, scripted([*TWO, *TWO, TWO[0]], 100, noise=0.05)[:410])
    present = agent.belief.present
    assert present is not None
    assert present.visits == 3
    assert present.dwell == pytest.approx(100, abs=4)


@pytest.mark.parametrize("order", ["reversed", "last first", "shuffled"])
def test_rewards_of_the_first_rounds_count_in_any_order(order: str) -> None:
    """Rounds before the first whose reward arrived belong to the first state, too."""
    agent = Agent("state-library", arms=3, seed=2)
    chance = np.random.default_rng(1)
    decisions = [agent.ask() for _ in range(60)]
    places = {
        "reversed": list(range(59, -1, -1)),
        "last first": [59, 58, *range(58)],
        "shuffled": chance.permutation(60).tolist(),
    }
    for i in places[order]:
        agent.tell(decisions[i], float((0.8, 0.3, 0.5)[int(decisions[i].arm)] + 0.1 * chance.standard_normal()))
    assert [sum(state.counts) for state in agent.belief.states] == [60]


# --- slopes and the lag model ---


def test_slopes_are_in_the_unit_of_the_feature() -> None:
    """Arm 1 pays 0.5 more per unit of the first feature, of which 1,000 times as much is passed, and arm 0 depends on none."""
    agent = Agent(lb.policies.StateLibrary(arms=2, covariates=2), seed=1, compiled=True)
    generator = np.random.default_rng(1)
    for _ in range(1000):
        x = generator.normal(size=2)
        decision = agent.ask([1000 * x[0], x[1]])
        agent.tell(decision, float(generator.normal((0.3, 0.3 + 0.5 * x[0])[int(decision.arm)], 0.05)))
    slopes: Any = agent.belief.slopes
    assert slopes == (
        pytest.approx((0.0, 0.0), abs=0.01),
        (pytest.approx(0.0005, rel=0.03), pytest.approx(0, abs=0.01)),
    )


def test_slopes_are_unknown_before_they_have_learned_and_none_without_features() -> None:
    agent = Agent(lb.policies.StateLibrary(arms=2, covariates=1), seed=1)
    assert str(agent.belief.slopes) == "((nan,), (nan,))"
    for t in range(30):
        decision = agent.ask([t % 3], available=[0] if t > 1 else None)
        agent.tell(decision, 0.1 * (t % 3))
    agent.add(2)
    assert 0.02 < agent.belief.slopes[0][0] < 0.1
    assert str(agent.belief.slopes[2]) == "(nan,)"
    plain = Agent("state-library", seed=1)
    assert plain.belief.slopes == ()
    tell(plain, scripted(TWO, 10))
    assert plain.belief.slopes == ()


def test_the_lag_model_weighs_much_where_the_state_alternates_and_nothing_where_it_lasts() -> None:
    alternating, lasting = (Agent("state-library", seed=1, compiled=True) for _ in range(2))
    assert alternating.belief.lag_weight == 0.0
    tell(alternating, scripted(TWO * 200, 1))
    tell(lasting, scripted(TWO * 2, 100))
    assert alternating.belief.lag_weight > 0.9
    assert lasting.belief.lag_weight == 0.0


@pytest.mark.parametrize("agents", [{"levels": 0}, {"low": 0.0, "high": 1.0}])
def test_the_lag_model_weighs_nothing_where_there_is_none_or_nothing_was_told(agents: dict[str, Any]) -> None:
    agent = Agent(lb.policies.StateLibrary(arms=2, **agents), seed=1, compiled=True)
    if "levels" in agents:
        tell(agent, scripted(TWO * 200, 1))
    assert agent.belief.lag_weight == 0.0


@pytest.mark.parametrize(("arms", "levels"), [(181, 32), (182, 31), (1_000, 1), (1_025, 0)])
def test_the_lag_model_of_many_arms_has_fewer_levels_and_a_bounded_memory(arms: int, levels: int) -> None:
    lag = lb.policies.StateLibrary(arms=arms).init().lag
    assert lag.levels.shape == (arms, levels)
    assert lag.following.nbytes <= 2**25


def test_an_arm_too_many_for_the_lag_model_begins_it_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutation: copy the levels of the smaller policy into the smaller table."""
    monkeypatch.setattr(constants, "LAG_CELLS", 100)
    agent = lb.Agent("state-library", arms=2, seed=1, compiled=False)
    kept = []
    for name in range(2, 12):
        for n in range(20):
            decision = agent.ask()
            agent.tell(decision, (decision.arm + n) % 7 / 7)
        memory = agent._player.memory
        kept.append(memory.lag.levels.shape[1])
        assert memory.lag.arms["levels"].max() <= kept[-1]
        agent.add(name)
    assert kept == [25, 11, 6, 4, 2, 2, 1, 1, 1, 0]

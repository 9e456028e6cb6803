import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import latentbandits as lb
from latentbandits.agent import file
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import Oracle
from latentbandits.testing.availability import numbers

ONLINE = [name for name in REGISTRY if not isinstance(lb.policy(name), Oracle)]


def snapshot(agent: lb.Agent) -> Any:
    contents = file.contents(agent._state)
    return [array.tobytes() for array in contents.arrays.values()], {**contents.record, "last_us": 0}


def reward(number: int, decision: lb.Decision) -> list[float]:
    return [0.1 + 0.37 * ((number * (arm + 3)) % 7) / 7 for arm in decision.arms if isinstance(arm, int)]


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(ONLINE), st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(0, 60))
def test_any_schedule_of_asks_and_tells_survives_a_save(name: str, moves: list[int], cut: int) -> None:
    """Late, out-of-order and lost rewards, saved and restored at any point: the two agents never part."""
    agent = other = lb.Agent(lb.policy(name, arms=3), seed=1)
    for i, move in enumerate(moves):
        if i == cut:
            path = Path(_scratch) / "agent"
            agent.save(path)
            other = lb.Agent.load(path)
        if move < 5 or not agent.open:
            decision = agent.ask()
            if other is not agent:
                assert other.ask()[1:] == decision[1:]
        else:
            place = move % len(agent.open)
            values = [0.1 * move] * agent.policy.groups
            for one in {id(agent): agent, id(other): other}.values():
                one.tell(one.open[place], values)
    assert snapshot(agent)[0] == snapshot(other)[0]


_scratch = ""


@pytest.fixture(autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    global _scratch
    _scratch = str(tmp_path_factory.mktemp("agents"))


def test_the_lag_is_the_last_completed_decision() -> None:
    agent = lb.Agent(lb.policies.TraceLearner(arms=2, lag="pair"), seed=0)
    first, second, third = agent.ask(), agent.ask(), agent.ask()
    agent.tell(second, 0.2)
    agent.tell(third, 0.3)
    agent.tell(first, 0.1)  # the last one completed, so this is what the next context looks back at
    last = agent.ask()
    assert agent._player.choice_of(last.id).features.tolist() == [first.arm, 0.1]


def test_late_rewards_update_at_the_features_they_were_chosen_with() -> None:
    """The regression after out-of-order rewards is the one of the same (features, reward) pairs in any order."""
    agent = lb.Agent(lb.policies.TraceLearner(arms=2, lag="pair", regularization=0.5), seed=0)
    pairs: list[tuple[int, np.ndarray, float]] = []
    waiting: list[lb.Decision] = []
    for t in range(200):
        waiting.append(agent.ask())
        while len(waiting) > 3 or (t == 199 and waiting):
            decision = waiting.pop(t % len(waiting))
            value = float(np.sin(t + 0.1 * len(waiting)))
            pairs.append((int(decision.arm), agent._player.choice_of(decision.id).features.copy(), value))
            agent.tell(decision, value)
    for arm in range(2):
        rows = np.array([x for a, x, _ in pairs if a == arm])
        values = np.array([v for a, _, v in pairs if a == arm])
        solved = np.linalg.solve(0.5 * np.eye(2) + rows.T @ rows, rows.T @ values)
        np.testing.assert_allclose(agent.memory.coefficients[arm], solved, rtol=1e-9)


def test_a_probe_counts_when_all_its_parts_have_arrived() -> None:
    agent = lb.Agent(lb.policy("sp-ucb", arms=3, interval=6), seed=0)
    asked = [agent.ask() for _ in range(9)]  # rounds 6, 7 and 8 are the probe
    assert [d.arm for d in asked[5:8]] == [0, 1, 2]
    agent.tell(asked[7], 0.7)
    agent.tell(asked[5], 0.5)
    assert agent.memory.fingerprint.tolist() == [0, 0, 0]
    agent.tell(asked[6], 0.6)
    assert agent.memory.fingerprint.tolist() == [0.5, 0.6, 0.7]


def test_parts_of_an_older_probe_are_not_mixed_into_a_newer_one() -> None:
    agent = lb.Agent(lb.policy("sp-ucb", arms=2, interval=4), seed=0)
    asked = [agent.ask() for _ in range(9)]  # probes at rounds 4-5 and 8-9
    agent.tell(asked[7], 0.8)
    agent.tell(asked[3], 0.1)  # too late: its probe is over
    agent.tell(asked[8], 0.9)
    assert agent.memory.fingerprint.tolist() == [0.8, 0.9]


@pytest.mark.parametrize("name", ["rp-ucb", "sp-ucb", "adasp-ucb", "adarp-ucb"])
@pytest.mark.parametrize("delay", [0, 10, 60])
def test_late_rewards_do_not_starve_the_fingerprint(name: str, delay: int) -> None:
    """The fingerprint is that of the newest probe whose parts have all arrived, however many have begun since."""
    agent = lb.Agent(lb.policy(name), seed=0)
    generator = np.random.default_rng(0)
    waiting: list[lb.Decision] = []
    seen = set()
    for _ in range(600):
        waiting.append(agent.ask())
        if len(waiting) > delay:
            decision = waiting.pop(0)
            agent.tell(decision, generator.random(len(decision.arms)))
            seen.add(tuple(agent.memory.fingerprint.tolist()))
    assert len(seen) > 10


def test_a_late_probe_does_not_replace_a_newer_one() -> None:
    agent = lb.Agent(lb.policy("rp-ucb", interval=2), seed=0)
    asked = [agent.ask() for _ in range(4)]  # rounds 2 and 4 are probes
    agent.tell(asked[3], [0.3, 0.4])
    agent.tell(asked[1], [0.1, 0.2])
    assert agent.memory.fingerprint.tolist() == [0.3, 0.4]


def test_lost_rewards_let_the_filter_forget() -> None:
    """Without rewards the belief goes back to the stationary distribution, round by round."""
    agent = lb.Agent(
        lb.policies.BayesFilter([[0.9, 0.1], [0.1, 0.9]], [[0.0, 1.0], [1.0, 0.0]], [0.5, 0.5], noise=0.1), seed=1
    )
    agent.tell(agent.ask(), 0.0)
    for _ in range(3):
        agent.ask()
    np.testing.assert_allclose(agent.memory.belief[0], 0.5 + 0.5 * 0.8**3, atol=1e-9)


def test_exp3_survives_rewards_outside_its_range() -> None:
    for name in ("exp3", "exp3-s"):
        agent = lb.Agent(name, seed=0)
        for t in range(200):
            agent.tell(agent.ask(), (-1.0) ** t * 1e6)
            assert np.isclose(agent.memory.weights.sum(), 1)


@pytest.mark.parametrize("size", [1e-6, 1e6, 1e50])
def test_rewards_of_any_size_keep_the_memory_finite(size: float) -> None:
    generator = np.random.default_rng(0)
    for name in ONLINE:
        agent = lb.Agent(lb.policy(name), seed=0, compiled=True)
        for _ in range(100):
            decision = agent.ask()
            agent.tell(decision, size * generator.standard_normal(len(decision.arms)).clip(-1, 1))
        assert np.isfinite(numbers(agent.memory)).all(), name


def test_copies_are_refused() -> None:
    import copy
    import pickle

    for act in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be pickled or copied; use save and load"):
            act(lb.Agent("ucb1"))


def test_decisions_give_their_reasons() -> None:
    agent = lb.Agent(lb.policy("adasp-ucb", min_gap=1, staleness=3, margin=0, residual_threshold=1e9), seed=0)
    probe_reasons = []
    for _ in range(8):
        decision = agent.ask()
        probe_reasons.append(decision.probe_reasons)
        agent.tell(decision, 0.5 + 0.2 * int(decision.arm))
    assert probe_reasons[0] == ("margin",)  # nothing is known: both indices are equal
    assert probe_reasons[1] == ("continued",)
    assert ("staleness",) in probe_reasons


@pytest.mark.parametrize("name", ["ucb1", "adarp-ucb"])
@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda a, d: a.tell(d, np.nan), "rewards is NaN but must be"),
        (lambda a, d: a.tell(d, [np.inf] * a.policy.groups), "rewards is [inf"),
        (lambda a, d: a.tell(d, None), "rewards is None but must be"),
        (lambda a, d: a.tell(d, "much"), "rewards is 'much' but must be"),
        (lambda a, d: a.tell(d, [0.5] * (a.policy.groups + 1)), "must be"),
        (lambda a, d: a.tell(d, []), "rewards is [] but must be"),
        (lambda a, d: a.tell(99, 0.5), "decision is 99 but must be an open one"),
        (lambda a, d: a.tell("0", 0.5), "decision is '0' but must be an open one"),
        (lambda a, d: a.tell(d.id[:-1] + "x", 0.5), "must be an open one"),
        (lambda a, d: a.tell(True, 0.5), "decision is True but must be an open one"),
        (lambda a, d: a.tell(1.0, 0.5), "decision is 1.0 but must be an open one"),
        (lambda a, d: a.tell([1], 0.5), "decision is [1] but must be an open one"),
        (lambda a, d: a.tell(d._replace(arms=(1, 0, 1)), 0.5), "must be one that this agent made"),
        (lambda a, d: a.tell(d, "5"), "rewards is '5' but must be"),
        (lambda a, d: a.tell(d, b"5"), "rewards is b'5' but must be"),
        (lambda a, d: a.tell(d, ["0.5"] * a.policy.groups), "must be"),
        (lambda a, d: a.tell(d, 1 + 2j), "must be"),
        (lambda a, d: a.tell(d, {0.5: 1}), "must be"),
        (lambda a, d: a.tell(d, 10**400), "must be"),
        (lambda a, d: a.tell(d, [1e60] * a.policy.groups), "size at most 1e+50"),
        (lambda a, d: a.tell(d, [[0.5] * a.policy.groups]), "must be"),
        (lambda a, d: a.forget(99), "decision is 99 but must be an open one"),
        (lambda a, d: a.ask([1.0]), "context is [1.0] but must be left out, since the policy observes no covariates"),
        (lambda a, d: a.ask("sunny"), "context is 'sunny' but must be left out"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(name: str, act: Callable[[Any, Any], None], sentence: str) -> None:
    agent = lb.Agent(lb.policy(name), seed=0)
    done = agent.ask()
    agent.tell(done, reward(0, done))
    waiting = agent.ask()
    before = snapshot(agent)
    with pytest.raises(ValueError, match=re.escape(sentence)) as refusal:
        act(agent, waiting)
    assert "\n" not in str(refusal.value)
    assert snapshot(agent) == before


@pytest.mark.parametrize("context", [None, [1.0], [1.0, np.nan], [[1.0, 2.0]]])
def test_bad_context_is_refused(context: Any) -> None:
    agent = lb.Agent(lb.policies.TraceLearner(arms=2, covariates=2), seed=0)
    with pytest.raises(ValueError, match=r"must be 2 finite numbers of size at most .*, the policy's covariates"):
        agent.ask(context)
    assert agent.open == ()


def test_a_single_covariate_is_one_number() -> None:
    agent = lb.Agent(lb.policies.TraceLearner(arms=2, covariates=1), seed=0)
    with pytest.raises(
        lb.InvalidValueError,
        match=r"must be a list of one finite number of size at most 1e\+50, the policy's covariate$",
    ):
        agent.ask([1.0, 2.0])


@pytest.mark.parametrize(
    ("policy", "seed", "sentence"),
    [
        (lb.policies.BestSingleArm(2), 0, "must be one that needs no knowledge of the world"),
        (lb.policies.UCB1, 0, "must be a policy or the name of one"),
        (7, 0, "must be a policy or the name of one"),
        ("ucb9", 0, "name is 'ucb9'"),
        ("ucb1", -1, "seed is -1 but must be an integer at least 0"),
        ("ucb1", 0.5, "seed is 0.5 but must be an integer at least 0"),
    ],
)
def test_bad_agents_are_refused(policy: Any, seed: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        lb.Agent(policy, seed=seed)


def test_the_oldest_decision_is_dropped_when_too_many_wait() -> None:
    agent = lb.Agent("ucb1", max_open=3)
    asked = [agent.ask() for _ in range(3)]
    with pytest.warns(lb.OpenDecisionsWarning, match="more than max_open=3 decisions wait for rewards") as caught:
        asked += [agent.ask(), agent.ask()]
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert list(agent.open) == [decision.id for decision in asked[2:]]
    assert agent.stats[:6] == (5, 0, 0, 0, 2, 3)
    with pytest.raises(ValueError, match="completed or forgotten"):
        agent.tell(asked[0], 1.0)


def test_a_warning_that_is_an_error_comes_before_anything_changes() -> None:
    agent = lb.Agent("ucb1", max_open=1)
    agent.ask()
    before = snapshot(agent)
    with pytest.raises(lb.OpenDecisionsWarning):  # warnings are errors in these tests
        agent.ask()
    assert snapshot(agent) == before
    agent.ask()
    assert agent.stats.dropped == 1


def test_seeds_matter_and_repeat() -> None:
    first, again, other = (lb.Agent("random", seed=s) for s in (1, 1, 2))
    played = [[agent.ask().arm for _ in range(50)] for agent in (first, again, other)]
    assert played[0] == played[1] != played[2]


def test_a_line_says_what_an_agent_is_also_within_a_call() -> None:
    lines: list[str] = []
    agent = lb.Agent("ucb1", arms=["a", "b", "c"], journal=lambda _: lines.append(repr(agent)))
    agent.retire("c")
    agent.tell(agent.ask(), 0.5)
    agent.ask()
    assert repr(agent) == "<Agent: UCB1, 2 arms, 2 asked, 1 told, 1 open>"
    assert lines[0] == "<Agent: UCB1, 3 arms, 0 asked, 0 told, 0 open>"
    assert lines[-1] == "<Agent: UCB1, 2 arms, 2 asked, 1 told, 1 open>"  # the journal hears what came of it

"""Policies around others: specs, files, growth, late rewards, the unit of rewards, and who is scaled by default."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.advice.space import space
from latentbandits.compiled import copy_into
from latentbandits.compiled.cache import Code
from latentbandits.memories import copied, parts
from latentbandits.parameters import all_settings, replaced
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import PROBE_REASON, Choice, Oracle, Policy
from latentbandits.random import stream
from latentbandits.simulation.batch import record_one
from latentbandits.specs import as_toml, fair, fairly, name_of, spec_of
from latentbandits_studies.experiments.case import Case
from latentbandits_studies.experiments.state_library import settings as experiment

SPECS = {
    "scaled": "scaled",
    "scaled(cp-ts)": "scaled",
    "SCALED(Sw-Ucb:window=7)": "scaled(sw-ucb:window=7)",
    "scaled(sw-ucb:window=7):opening=2": "scaled(sw-ucb:window=7):opening=2",
    "scaled:hazard=0.5": "scaled(cp-ts:hazard=0.5)",
    "dal(ts)": "dal",
    "dal:risk=0.2": "dal:risk=0.2",
    "dal(glr-ucb:risk=0.3):risk=0.2": "dal(glr-ucb:risk=0.3):risk=0.2",
    "scaled(dal(ucb1))": "scaled(dal(ucb1))",
}


@pytest.mark.parametrize("spec", SPECS)
def test_a_spec_stands_for_the_same_policy_however_it_is_written(spec: str, tmp_path: Path) -> None:
    made = lb.policy(spec, arms=3)
    assert spec_of(made) == SPECS[spec]
    assert lb.policy(spec_of(made), arms=3) == made
    (tmp_path / "made.toml").write_text(as_toml(name_of(made), made))
    assert lb.policy(str(tmp_path / "made.toml")) == made
    assert replaced(lb.policy(name_of(made), arms=3), all_settings(made)) == made


def test_settings_go_to_the_policy_that_has_them() -> None:
    made = lb.policy("dal(glr-ucb)", arms=3, groups=2, risk=0.2, exploration=1.5, **{"inner.risk": 0.3})
    assert (made.risk, made.inner.risk, made.inner.exploration, made.groups) == (0.2, 0.3, 1.5, 2)
    assert all_settings(made)["inner.risk"] == 0.3


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("scaled:", "policy: name is 'scaled:' but must be"),
        (
            "scaled(bayes-greedy)",
            "Scaled: inner is BayesGreedy(arms=2, groups=1) but must be a policy that needs no knowledge",
        ),
        ("scaled(ucb2)", "did you mean ucb1"),
        ("scaled(ucb1:window=3)", "UCB1: setting is 'window' but must be one of arms, groups, exploration"),
        ("scaled(dal(scaled(ts)))", "Scaled: inner is DetectionAugmented"),
        ("scaled(" * 50 + "ucb1" + ")" * 50, "but must be a policy without another Scaled within it"),
        ("dal:forced=2", "DetectionAugmented: forced is 2 but must be a finite number from 0 to 1"),
    ],
)
def test_a_wrong_spec_is_refused(spec: str, sentence: str) -> None:
    with pytest.raises(lb.InvalidValueError) as refusal:
        lb.policy(spec)
    assert sentence in str(refusal.value)


@pytest.fixture(autouse=True)
def _wrapping_arithmetic() -> Iterator[None]:
    """Random numbers overflow by design."""
    with np.errstate(all="ignore"):
        yield


def told(agent: lb.Agent, rounds: int, group: float = 100.0) -> list[Any]:
    """Play some rounds in which the second arm is best, and return the arms."""
    arms = []
    for t in range(rounds):
        decision = agent.ask()
        arms.append(decision.arm)
        agent.tell(decision, group * ({"b": 2.0, "c": 1.5}.get(str(decision.arm), 1.0) + 0.01 * (t % 7)))
    return arms


def test_an_agent_saves_what_is_within_and_takes_new_arms(tmp_path: Path) -> None:
    agent = lb.Agent("scaled(dal(lc-ts))", arms=["a", "b", "c"], seed=1, compiled=False)
    told(agent, 40)
    waiting = agent.ask()
    agent.add("d")
    agent.tell(waiting, 150.0)
    agent.save(tmp_path / "agent")
    again = lb.Agent.load(tmp_path / "agent", policy="scaled(dal(lc-ts))")
    assert again.policy == agent.policy
    assert again.policy.arms == 4
    assert told(again, 30) == told(agent, 30)
    assert "b" in told(agent, 30)
    for wrong in ("scaled(ucb1)", "dal", lb.policy("scaled(dal(lc-ts:regularization=3))")):
        with pytest.raises(lb.InvalidValueError, match="policy of the file"):
            lb.Agent.load(tmp_path / "agent", policy=wrong)


def test_values_are_in_the_unit_of_rewards() -> None:
    agent = lb.Agent("scaled(ucb1)", arms=["a", "b", "c"], compiled=False)
    assert [agent.explain(agent.ask()).reason for _ in range(2)] == ["a probe, since too little is known of an arm"] * 2
    told(agent, 60)
    values = [option.value for option in agent.explain(agent.ask()).options]
    assert values == pytest.approx([103, 203, 153], abs=5)


def test_an_index_that_goes_first_stays_there() -> None:
    policy = lb.policy("scaled(ucb1)", arms=2)
    memory, choice = policy.init(), Choice.blank(policy)
    for reward in (5.0, 9.0):
        policy.choose(memory, np.zeros(0), stream(0), choice)
        policy.learn(memory, choice, np.array([reward]))
    assert memory.scalars[0].restarts == 1
    policy.choose(memory, np.zeros(0), stream(0), choice)
    assert choice.arm_scores["index"].tolist() == [1e300, 1e300]
    assert choice.tags[PROBE_REASON] == 0


def test_what_is_believed_is_that_of_the_policy_within() -> None:
    agent = lb.Agent("scaled(state-library:states=4)", arms=["a", "b", "c"], compiled=False)
    told(agent, 30)
    assert len(agent.belief.states) >= 1
    assert not lb.policy("dal").has_belief


def started(policy: Any) -> tuple[Any, Choice]:
    """Return a memory whose range is about 0 to 1, and a blank choice."""
    memory, choice = policy.init(), Choice.blank(policy)
    for reward in (0.0, 1.0):
        policy.choose(memory, np.zeros(0), stream(0), choice)
        policy.learn(memory, choice, np.array([reward]))
    return memory, choice


def test_one_outlier_does_not_widen_the_range_and_counts_no_farther_than_the_reach() -> None:
    policy = lb.policy("scaled(ucb1)", arms=2)
    memory, choice = started(policy)
    before = memory.scalars[0].high
    for reward in (0.2, 1000.0, 0.3, 0.2):
        policy.choose(memory, np.zeros(0), stream(0), choice)
        choice.arms[:] = 0
        policy.learn(memory, choice, np.array([reward]))
    assert memory.scalars[0].high == before
    assert memory.inner.sums[0] <= 2.0 + 3 * 0.5
    assert memory.scalars[0].restarts == 1


def test_a_wider_range_restarts_the_policy_within_and_late_rewards_of_before_are_not_handed_on() -> None:
    policy = lb.policy("scaled(ucb1)", arms=2)
    memory, choice = started(policy)
    policy.choose(memory, np.zeros(0), stream(0), choice)
    late = copied(choice)
    for reward in (50.0, 51.0, 50.0, 51.0):
        policy.learn(memory, choice, np.array([reward]))
    assert memory.scalars[0].restarts == 2
    assert memory.scalars[0].high > 40.0
    assert memory.inner.counts.sum() == 0
    policy.learn(memory, late, np.array([0.5]))
    assert memory.inner.counts.sum() == 0


def test_sales_that_are_rare_have_a_range_too() -> None:
    policy = lb.policy("scaled(ucb1)", arms=2)
    memory, choice = policy.init(), Choice.blank(policy)
    arms = []
    for t in range(60):
        policy.choose(memory, np.zeros(0), stream(0), choice)
        arms.append(int(choice.arms[0]))
        policy.learn(memory, choice, np.array([80.0 if t % 40 == 25 else 0.0]))
    assert arms[:26] == [0, 1] * 13
    assert (memory.scalars[0].low, memory.scalars[0].high) == (-8.0, 88.0)


FREE = [
    name
    for name, row in REGISTRY.items()
    if lb.policy(name).scale_free and name not in {"scaled", "random"} and not issubclass(row.make, Oracle)
]


@pytest.mark.parametrize("name", [*FREE, "scaled(ucb1)"])
@pytest.mark.parametrize("scale", [0.0009765625, 1024.0])  # powers of two, so that no rounding differs
def test_the_unit_does_not_matter(name: str, scale: float) -> None:
    policy = lb.policy(name, arms=3)
    realisation = lb.HiddenMarkov(arms=3, noise=0.1).realise(horizon=400, groups=1, seed=1, draw=0, repeat=0)
    other = realisation._replace(means=scale * realisation.means, rewards=scale * realisation.rewards)
    one, two = (record_one(policy, each, stream(1))[0] for each in (realisation, other))
    np.testing.assert_array_equal(one, two)


def test_a_change_is_noticed_sooner_the_more_changes_there_were() -> None:
    policy = lb.policy("dal:forced=0.1", arms=2)
    memory, choice = policy.init(), Choice.blank(policy)
    shares = []
    for level in (0.0, 1.0, 0.0, 1.0):
        probes = 0
        for t in range(200):
            policy.choose(memory, np.zeros(0), stream(t), choice)
            probes += choice.tags[PROBE_REASON] != 0
            policy.learn(memory, choice, np.array([level + 0.01 * (t % 3)]))
        shares.append(probes)
    assert memory.scalars[0].restarts == 3
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]


def test_copies_reach_memories_within() -> None:
    policy = lb.policy("scaled(dal(adasp-ucb))", arms=2)
    memory, other = policy.init(), policy.init()
    for part in parts(other).values():
        part.view(np.uint8)[...] = 1
    copy_into(memory, other)
    assert all((one == part).all() for one, part in zip(parts(memory).values(), parts(other).values(), strict=True))


class Mine(Policy):
    arms: int = 2
    groups: int = 1

    def init(self) -> Any:
        return lb.policies.UCB1(arms=2).init()

    def choose(self, *_: Any) -> None: ...

    def learn(self, *_: Any) -> None: ...


def test_user_code_within_is_compiled_in_every_process() -> None:
    assert Code(max, (lb.policies.Scaled(Mine()),)).outside == ["max", "Mine"]
    assert Code(max, (lb.policy("scaled"),)).outside == ["max"]


def test_results_are_named_by_what_is_within() -> None:
    policies = {"one": lb.policy("scaled(ucb1)"), "two": lb.policy("scaled(ucb1:exploration=1)")}
    keys = Case("a", lb.HiddenMarkov(), policies, 100, 1).keys
    assert keys["one"] != keys["two"]


DOLLARS = lb.Problem(means="-500 to 3000", noise=350, horizon=300, runs=8)


def test_a_policy_for_another_unit_is_scaled_unless_its_unit_was_chosen() -> None:
    given = [
        "cp-ts",
        "dal",
        "scaled(ts)",
        "state-library",
        "ab-test",
        "bayes-greedy",
        "cp-ts:prior_sd=900",
        "ucb1:groups=1",
    ]
    wanted = [
        "scaled(cp-ts)",
        "scaled(dal)",
        "scaled(ts)",
        "state-library",
        "ab-test",
        "bayes-greedy",
        "cp-ts:prior_sd=900",
    ]
    assert [fair(spec, DOLLARS) for spec in given] == [*wanted, "scaled(ucb1:groups=1)"]
    assert [fair(spec, lb.Problem()) for spec in given] == given
    assert fair(lb.policy("ucb1"), DOLLARS) == lb.policy("ucb1")
    assert fairly({"a": "ts", "ts": "ts"}, DOLLARS) == {"a": "scaled(ts)", "scaled(ts)": "scaled(ts)"}


def test_compare_and_tune_scale_by_default() -> None:
    comparison = lb.compare(DOLLARS, ["ucb1", "state-library"])
    assert set(comparison.policies) == {"scaled(ucb1)", "state-library"}
    tuning = lb.tune(DOLLARS, "ucb1", trials=1)
    assert tuning.name == "scaled(ucb1)"
    assert [axis.setting for axis in tuning.axes] == ["exploration"]
    assert tuning.policy == lb.policy("scaled(ucb1)")


def test_settings_in_the_unit_are_searched_where_the_policy_takes_rewards_as_they_are() -> None:
    axes = {axis.setting: str(axis) for axis in space(lb.policy("cp-ts"), means=(-500.0, 3000.0))}
    assert axes == {"hazard": "0.00025 to 0.016", "prior_mean": "-500 to 3000", "prior_sd": "35 to 3500"}
    assert [axis.setting for axis in space(lb.policy("scaled(cp-ts)"))] == ["hazard"]


def test_the_experiment_scales_rivals_in_other_units_only() -> None:
    cases = {case.name: case.policies for case in experiment.cases("quick")}
    for name in experiment.RESCALED:
        assert isinstance(cases[name]["cp-ts"], lb.policies.Scaled)
        assert isinstance(cases[name]["state-library"], lb.policies.StateLibrary)
    assert isinstance(cases["seasons"]["cp-ts"], lb.policies.ChangePointThompson)


@pytest.mark.slow
def test_the_largest_policy_compiles_within_another() -> None:
    """Numba nests tens of frames for every kernel that calls another."""
    results = lb.simulate(lb.HiddenMarkov(), ["scaled(dal(state-library))"], horizon=300, draws=1, repeats=1)
    assert results.regret[0, 0] < 60.0

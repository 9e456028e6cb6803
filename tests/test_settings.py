import inspect
import pickle
import re
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.parameters import describe
from latentbandits.policies.registry import CLASSES, REGISTRY
from latentbandits.settings import Above, AtLeast, InUnit, InvalidValueError, Untuned, Vector, Within, checked

BAD: list[tuple[Any, dict[str, Any], str]] = [
    (lb.policies.TraceLearner, {"arms": 1}, "TraceLearner: arms is 1 but must be an integer at least 2"),
    (lb.policies.TraceLearner, {"arms": 2.5}, "TraceLearner: arms is 2.5 but must be an integer at least 2"),
    (lb.policies.TraceLearner, {"arms": True}, "TraceLearner: arms is True but must be an integer at least 2"),
    (lb.policies.TraceLearner, {"arms": 2, "groups": 0}, "groups is 0 but must be an integer at least 1"),
    (
        lb.policies.TraceLearner,
        {"arms": 2, "lag": "both"},
        "lag is 'both' but must be one of none, pair, one-hot, slopes, curves",
    ),
    (lb.policies.TraceLearner, {"arms": 2, "gated": 1}, "gated is 1 but must be True or False"),
    (
        lb.policies.TraceLearner,
        {"arms": 2, "exploration": -1},
        "exploration is -1 but must be a finite number at least 0",
    ),
    (
        lb.policies.TraceLearner,
        {"arms": 2, "exploration": np.nan},
        "exploration is NaN but must be a finite number at least 0",
    ),
    (
        lb.policies.TraceLearner,
        {"arms": 2, "regularization": 0},
        "regularization is 0 but must be a finite number at least 1e-12",
    ),
    (lb.policies.TraceLearner, {"arms": 2, "regularization": np.inf}, "regularization is inf"),
    (
        lb.policies.TraceLearner,
        {"arms": 2, "margin": "wide"},
        "margin is 'wide' but must be a finite number at least 0",
    ),
    (
        lb.policies.TraceLearner,
        {"arms": 2, "probe_set": [0, 2]},
        "probe_set is [0, 2] but must be different arms from 0 to 1",
    ),
    (
        lb.policies.TraceLearner,
        {"arms": 2, "probe_set": [0, 0]},
        "probe_set is [0, 0] but must be different arms from 0 to 1",
    ),
    (
        lb.policies.TraceLearner,
        {"arms": 2, "probe_set": [0.5]},
        "probe_set is [0.5] but must be a 1-axis array of integers",
    ),
    (lb.policies.TraceLearner, {"arms": 2, "lag": "none"}, "lag is 'none' but must be another"),
    (
        lb.policies.TraceLearner,
        {"arms": 5, "interval": 3},
        "interval is 3 but must be 0, or at least the 5 rounds of a probe",
    ),
    (
        lb.policies.TraceLearner,
        {"arms": 2, "interval": 9, "gated": True},
        "interval is 9 but must be 0 where gated is True",
    ),
    (lb.policies.TraceLearner, {"arms": 2, "staleness": 0}, "staleness is 0 but must be an integer at least 1"),
    (lb.policies.TraceLearner, {"arms": 2, "stale": 7}, "setting is 'stale' but must be one of arms, groups,"),
    (lb.policies.EXP3, {"arms": 2, "mixing": 1.5}, "mixing is 1.5 but must be a finite number from 1e-09 to 1"),
    (lb.policies.SlidingWindowUCB, {"arms": 2, "window": 1}, "window is 1 but must be an integer at least 2"),
    (
        lb.policies.EpsilonGreedy,
        {"arms": 2, "epsilon": -0.1},
        "epsilon is -0.1 but must be a finite number from 0 to 1",
    ),
    (lb.policies.Scripted, {"arms": 2, "script": [2]}, "script is [2] but must be at least one arm, each from 0 to 1"),
    (
        lb.policies.BayesFilter,
        {"transition": [[1, 0.1], [0, 1]], "means": [[0, 1], [1, 0]], "start": [1, 0]},
        "sum to one",
    ),
    (
        lb.policies.BayesFilter,
        {"transition": [[1]], "means": [[0, 1], [1, 0]], "start": [1, 0]},
        "transition is [[1.0]]",
    ),
    (lb.policies.BayesFilter, {"transition": np.eye(2), "means": [[0, 1], [1, 0]], "start": [1]}, "start is [1.0]"),
    (lb.policies.BayesFilter, {"transition": [[1]], "means": [[0, 1]], "start": [1], "noise": 0}, "noise is [0.0]"),
    (
        lb.policies.BayesFilter,
        {"transition": [[1]], "means": [[0, 2]], "start": [1], "rewards": "bernoulli"},
        "from 0 to 1",
    ),
]


@pytest.mark.parametrize(("kind", "settings", "sentence"), BAD)
def test_bad_settings_are_refused_in_one_sentence(kind: Any, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)) as refusal:
        kind(**settings)
    assert "\n" not in str(refusal.value)
    assert "must be" in str(refusal.value)


def test_a_changed_copy_is_checked_too() -> None:
    with pytest.raises(ValueError, match="window is 0"):
        lb.policies.SlidingWindowUCB(arms=2)._replace(window=0)
    assert lb.policies.SlidingWindowUCB(arms=2)._replace(window=7).window == 7


def test_one_policy_has_one_type_of_each_field() -> None:
    """An integer given for a float would be another compiled form."""
    for name in REGISTRY:
        made, again = lb.policy(name), lb.policy(name, arms=np.int64(2))  # type: ignore[arg-type]
        assert [type(x) for x in made] == [type(x) for x in again]
    assert type(lb.policies.UCB1(2, exploration=1).exploration) is float
    assert lb.policies.TraceLearner(2, lag=3).lag == lb.policies.TraceLearner(2, lag="slopes").lag


def test_policies_with_equal_settings_are_equal() -> None:
    for name in REGISTRY:
        one, other = lb.policy(name, arms=3), lb.policy(name, arms=3)
        assert one == other
        assert not one != other  # noqa: SIM202
        assert hash(one) == hash(other)
        assert one != lb.policy(name, arms=4)
        assert one != tuple(one)
    probing = lb.policy("adasp-ucb", arms=3, probe_set=[0, 2])
    assert probing == lb.policy("adasp-ucb:probe_set=0,2", arms=3) != lb.policy("adasp-ucb", arms=3)


def test_a_frozen_dataclass_is_checked_too() -> None:
    @checked
    @dataclass(frozen=True)
    class Box:
        size: Annotated[float, AtLeast(1)] = 1.0
        corner: Annotated[Any, Vector(1)] = None

        def check(self) -> None:
            if self.corner is not None and len(self.corner) != 2:
                raise InvalidValueError("Box", "corner", self.corner, "two numbers")

    assert Box(2).size == 2.0
    assert Box(corner=[1, 2]) == Box(corner=(1.0, 2.0)) != Box()
    for settings, sentence in (
        ({"size": 0}, "Box: size is 0 but must be a finite number at least 1"),
        ({"corner": [1, 2, 3]}, "Box: corner is [1.0, 2.0, 3.0] but must be two numbers"),
        ({"sise": 1}, "Box: setting is 'sise' but must be one of size, corner (did you mean size?)"),
    ):
        with pytest.raises(InvalidValueError, match=re.escape(sentence)):
            Box(**settings)
        with pytest.raises(InvalidValueError, match=re.escape(sentence)):
            replace(Box(), **settings) if "sise" not in settings else Box(**settings)


def test_rules_of_two_kinds_are_never_equal() -> None:
    """Or the first of them would be the rule of both fields, by the cache of `Annotated` in Python 3.11.2."""
    rules = {AtLeast(0), Above(0), AtLeast(1), Within(0, 1), Vector(0), Untuned(), InUnit()}
    assert len(rules) == 7


def test_a_refusal_is_put_into_words_once() -> None:
    refusal = InvalidValueError("HiddenMarkov", "means", np.array([[0.5, np.nan]]), AtLeast(0), "[0]")
    assert str(refusal) == "HiddenMarkov: means[0] is [[0.5, NaN]] but must be at least 0"
    moved = refusal.at(owner="world.toml, line 3", field="span", value=np.float64(2), part="")
    assert str(moved) == "world.toml, line 3: span is 2.0 but must be at least 0"
    assert refusal.owner == "HiddenMarkov"
    assert len(str(InvalidValueError("a", "b", "x" * 5000, "c"))) < 430
    assert len(str(InvalidValueError("a", "b", ["x" * 500], "c"))) < 110
    assert str(pickle.loads(pickle.dumps(refusal))) == str(refusal)


def test_names_and_settings_round_trip() -> None:
    for name in REGISTRY:
        made = lb.policy(name, arms=3)
        again = type(made)(**describe(made))
        assert again == made
        assert repr(again) == repr(made)


def test_every_class_documents_every_setting() -> None:
    for kind in CLASSES.values():
        for field in kind._fields:  # type: ignore[attr-defined]
            assert re.search(rf"^{field} : ", inspect.getdoc(kind) or "", re.MULTILINE), f"{kind.__name__}.{field}"


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"name is 'adasp' but must be one of state-library, .*did you mean adasp-ucb"):
        lb.policy("adasp")

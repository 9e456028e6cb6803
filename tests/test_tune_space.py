from typing import Annotated, Any

import optuna
import pytest

import latentbandits as lb
from latentbandits.advice.space import Axis, space
from latentbandits.parameters import all_settings, describe, replaced
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import Policy
from latentbandits.settings import AtLeast, Step, Untuned, Vector, When
from tests.tuning import FLIP

# They have settings, but learn what another policy would be tuned for
NEED_NO_SEARCH = ("state-library", "state-library-forgetful")


@pytest.mark.parametrize("name", REGISTRY)
def test_the_usual_space_is_around_the_defaults_and_accepted(name: str) -> None:
    policy = lb.policy(name, arms=3)
    if name in NEED_NO_SEARCH or not set(describe(policy)) - {"arms", "groups"}:
        with pytest.raises(ValueError, match=r"^tune: policy is .* must be one with settings that are worth a search"):
            space(policy)
        return
    axes = space(policy)
    sampler = optuna.samplers.RandomSampler(seed=1)
    study = optuna.create_study(sampler=sampler)
    accepted = 0
    for axis in axes:
        default: Any = axis.default
        assert axis.value(axis.coordinate(default) or 0) == default == all_settings(policy)[axis.setting]
        assert axis.low < default < axis.high
    for _ in range(20):
        trial = study.ask({axis.setting: axis.distribution for axis in axes})
        found: dict[str, Any] = {axis.setting: axis.value(trial.params[axis.setting]) for axis in axes}
        assert all(axis.low <= found[axis.setting] <= axis.high for axis in axes)
        assert all_settings(replaced(policy, found)) == {**all_settings(policy), **found}
        accepted += 1
    assert accepted == 20


def test_the_usual_space_has_what_changes_behaviour_and_nothing_else() -> None:
    def names(policy: Any, fixed: Any = None) -> list[str]:
        return [axis.setting for axis in space(policy, fixed)]

    gates = ["residual_threshold", "residual_floor", "margin", "staleness", "min_gap"]
    assert names(lb.policy("adasp-ucb")) == ["exploration", "regularization", *gates]
    assert names(lb.policy("adasp-ucb"), {"margin": 0.1}) == [
        "exploration",
        "regularization",
        *(g for g in gates if g != "margin"),
    ]
    assert names(lb.policy("lc-ucb")) == ["exploration", "regularization"]
    assert names(lb.policy("sp-ucb")) == ["interval", "exploration", "regularization"]
    assert names(lb.policy("exp3")) == ["mixing"]
    assert names(lb.policy("cp-ts")) == ["hazard"]
    assert names(lb.policy("ts")) == ["noise", "prior_weight"]
    with pytest.raises(ValueError, match="or name some of noise, low, high, particles, states, floor, levels"):
        names(lb.policy("state-library", noise=0.1, high=1.0))
    (axis,) = space(lb.policy("state-library"), search={"particles": "8 to 64"})  # on request, it is
    assert axis.setting == "particles"
    with pytest.raises(ValueError, match="or name some of discount, exploration to search"):
        space(lb.policy("d-ucb"), {"discount": 0.9, "exploration": 1})


def test_a_setting_that_another_one_replaces_is_not_searched() -> None:
    replaced = [axis.setting for axis in space(lb.policy("adasp-ucb", hazard=[0.1, 0.5]))]
    assert replaced == ["exploration", "regularization", "residual_threshold", "residual_floor", "margin", "min_gap"]
    (axis,) = space(lb.policy("adasp-ucb", hazard=[0.1, 0.5]), search={"staleness": "5 to 200"})  # on request, it is
    assert axis.setting == "staleness"


def test_a_policy_of_a_user_declares_what_can_be_tuned() -> None:
    class Marked(Policy):
        arms: Annotated[int, AtLeast(2)]
        groups: Annotated[int, AtLeast(1)] = 1
        size: Annotated[int, AtLeast(2), Untuned()] = 32
        prior: Annotated[float, Untuned()] = 0.5
        alert: bool = False
        limit: Annotated[float, AtLeast(0), When("alert")] = 2.0
        ladder: Annotated[tuple[float, ...], Vector(1)] = ()
        rung: Annotated[int, AtLeast(1), When("alert", off="ladder"), Step(5)] = 10

    assert [axis.setting for axis in space(Marked(2, alert=True))] == ["limit", "rung"]
    assert [axis.setting for axis in space(Marked(2, alert=True, ladder=(1.0,)))] == ["limit"]
    assert space(Marked(2, alert=True))[1] == Axis("rung", 10, 5, 80, step=5)
    with pytest.raises(ValueError, match="or name some of size, prior, alert, limit, ladder, rung to search"):
        space(Marked(2))
    with pytest.raises(ValueError, match="Marked: size is 1 but must be an integer at least 2"):  # rules still hold
        Marked(2, size=1)
    with pytest.raises(ValueError, match="Marked: prior is 'much' but must be a finite number"):
        Marked(2, prior="much")  # type: ignore[arg-type]


def test_a_discount_is_searched_by_its_distance_from_one() -> None:
    (axis,) = space(lb.policy("d-ucb"), search={"discount": "0.9 to 0.999"})
    values = [axis.value(place) for place in (0.1, 0.01, 0.00123456)]
    assert values == [0.9, 0.99, 0.99877]
    assert axis.coordinate(0.99) == pytest.approx(0.01)
    assert [axis.coordinate(outside) for outside in (0.8, 0.9999)] == [None, None]


def test_a_window_of_halves_is_even() -> None:
    window = space(lb.policy("m-ucb"))[0]
    assert [window.value(place) for place in (1, 3, 32)] == [2, 6, 64]


def test_search_takes_ranges_and_choices() -> None:
    axes = space(
        lb.policy("adasp-ucb"),
        search={
            "staleness": "5 to 200",
            "min_gap": [2, 4, 8],
            "margin": (0, 0.5),
            "lag": ["pair", "slopes"],
            "gated": [True, False],
        },
    )
    assert [str(axis) for axis in axes] == ["5 to 200", "2, 4, 8", "0 to 0.5", "pair, slopes", "True, False"]
    assert [axis.scale for axis in axes[:3:2]] == ["log", "plain"]
    assert axes[0] == Axis("staleness", 50, 5, 200, step=1)
    tuning = lb.tune(
        FLIP, lb.policy("adasp-ucb"), search={"lag": ["pair", "slopes"], "min_gap": [2, 4]}, trials=4, horizon=200
    )
    assert set(tuning.table["lag"]) <= {"pair", "slopes"}


@pytest.mark.parametrize(
    ("search", "said"),
    [
        ({"stalenes": "5 to 200"}, r"search is 'stalenes' but must be one of .* \(did you mean staleness\?\)"),
        ({"arms": [2, 3]}, "search is 'arms' but must be one of"),
        ({"staleness": "0 to 5"}, "search of staleness is 0 but must be an integer at least 1"),
        ({"staleness": "1.5 to 5"}, "search of staleness is 1.5 but must be an integer"),
        ({"staleness": "9 to 5"}, "search of staleness is '9 to 5' but must be a range with the lower end first"),
        ({"staleness": 7}, "search of staleness is 7 but must be a range with the lower end first"),
        ({"staleness": "many"}, "search of staleness is 'many' but must be a range such as"),
        ({"staleness": [7]}, r"search of staleness is \[7\] but must be .*several values"),
        ({"staleness": [7, 7]}, r"search of staleness is \[7, 7\] but must be"),
        ({"lag": "pair"}, "search of lag is 'pair' but must be several values"),
        ({"lag": ["pair", "pears"]}, "search of lag is 'pears' but must be one of none, pair"),
        ({"gated": ["yes", "no"]}, "search of gated is 'yes' but must be True or False"),
        ({"probe_set": [[0], [1]]}, "search of probe_set is"),
        ({}, "search is {} but must be"),
        ({"interval": "5 to 20"}, "search is {'interval': '5 to 20'} but must be settings that adasp-ucb accepts"),
    ],
)
def test_bad_searches_are_refused(search: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=f"^tune: {said}"):
        lb.tune(FLIP, "adasp-ucb", search=search, trials=2)


def test_settings_that_the_policy_refuses_are_trials_that_failed() -> None:
    tuning = lb.tune(FLIP, "adasp-ucb", search={"gated": [True, False], "interval": [0, 20]}, trials=12, horizon=200)
    refused = tuning.table[tuning.table["outcome"] == "refused"]
    assert len(refused) > 0
    assert (refused["gated"] & (refused["interval"] == 20)).all()
    assert refused["per_round"].isna().all()
    assert len(tuning.table) == 12

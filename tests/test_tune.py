import fcntl
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import optuna
import pandas as pd
import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.advice import tune as module
from latentbandits.advice.space import Axis, space
from latentbandits.policies.registry import REGISTRY
from latentbandits.protocols import Choice, Realisation
from latentbandits.random import Purpose, Stream, below, stream, uniform
from latentbandits.settings import AtLeast, Within, checked, describe
from latentbandits.simulation.results import interval

ROOT = Path(__file__).parent.parent
FLIP = lb.Problem(means=[[0.9, 0.1], [0.1, 0.9]], dwell=100, noise=0.1, horizon=900, runs=40)
SLOW: dict[str, Any] = {"policy": "d-ucb:discount=0.9", "search": {"discount": "0.8 to 0.999"}}


class State(NamedTuple):
    round: np.ndarray


@checked
class Careless(NamedTuple):
    """Plays at random: arm 1 with probability `lean`. `idle` does nothing, `salt` changes the luck and nothing else."""

    arms: Annotated[int, AtLeast(2)]
    units: Annotated[int, AtLeast(1)] = 1
    lean: Annotated[float, Within(0, 1)] = 0.5
    idle: float = 1.0
    salt: Annotated[int, AtLeast(0)] = 8

    def init(self) -> State:
        return State(np.zeros(1, np.int64))

    def choose(self, state: State, context: np.ndarray, random: Stream, choice: Choice) -> None:
        for _ in range(self.salt):
            below(random, 2)
        arm = 1 if uniform(random) < self.lean else 0
        for unit in range(self.units):
            choice.arms[unit] = arm

    def learn(self, state: State, choice: Choice, rewards: np.ndarray) -> None:
        state.round[0] += 1


class Treacherous:
    """Where settings are tuned arm 1 is best; where they are judged it is arm 0."""

    arms = 2

    def realise(self, horizon: int, units: int, seed: int, draw: int, repeat: int) -> Realisation:
        noise = np.random.default_rng(stream(seed, Purpose.NOISE, draw, repeat)).normal(0, 0.1, (horizon, units, 2))
        means = np.tile([0.0, 1.0] if draw >= module.TUNED_ON else [1.0, 0.0], (horizon, 1))
        return Realisation(means, means[:, None, :] + noise, np.zeros((horizon, 0)), np.zeros(horizon, np.int64), None)

    def __repr__(self) -> str:
        return "Treacherous()"


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every simulation that `tune` makes."""
    found: list[dict[str, Any]] = []

    def recorded(world: Any, policies: Any, **options: Any) -> Any:
        results = lb.simulate(world, policies, **options)
        found.append({"policies": list(policies), "first": 0, **options, "results": results})
        return results

    monkeypatch.setattr(module, "simulate", recorded)
    return found


def slow(**changes: Any) -> module.Tuning:
    options = SLOW | {"trials": 8} | changes
    return lb.tune(options.pop("policy"), options.pop("world", FLIP), **options)


def same(one: module.Tuning, other: module.Tuning) -> None:
    pd.testing.assert_frame_equal(pd.DataFrame(one), pd.DataFrame(other), check_exact=True)
    for field in ("policy", "settings", "found", "gain", "gain_low", "gain_high", "recommended"):
        assert getattr(one, field) == getattr(other, field)


# What is reported


def test_the_gain_is_measured_on_worlds_that_no_trial_has_seen(played: list[dict[str, Any]]) -> None:
    tuning = slow()
    *searching, judging = played
    assert judging["policies"] == ["d-ucb (defaults)", "d-ucb (tuned)", "bayes-limit"]
    held_out = set(range(judging["first"], judging["first"] + judging["draws"]))
    for one in searching:
        assert not held_out & set(range(one["first"], one["first"] + one["draws"]))
        assert one["draws"] in (1, 16)
    default, tuned = judging["results"].regret[:2]
    assert (tuning.gain, tuning.gain_low, tuning.gain_high) == interval(default - tuned)
    assert tuning.gain_percent == pytest.approx(100 * (default - tuned).mean() / default.mean())
    assert str(round(tuning.gain, 2)) in tuning.verdict
    trained = tuning["training_regret"]
    assert f"{trained[0] - trained.min():.2f}" not in tuning.verdict


def test_what_is_good_only_where_it_was_tuned_is_not_recommended() -> None:
    tuning = lb.tune(Careless(2), Treacherous(), search={"lean": (0.01, 0.99)}, trials=12, horizon=300, runs=20)
    assert tuning.found["lean"] > 0.8
    assert tuning["training_regret"].min() < 0.5 * tuning["training_regret"][0]
    assert tuning.gain_high < 0
    assert not tuning.recommended
    assert tuning.settings == {}
    assert tuning.policy == tuning.default == Careless(2)
    assert "keep the defaults" in tuning.verdict


def test_luck_and_settings_that_do_nothing_bring_no_gain() -> None:
    lucky = 0
    for seed in range(8):
        tuning = lb.tune(Careless(2), FLIP, search={"salt": "1 to 64"}, trials=10, horizon=200, seed=seed)
        lucky += tuning["training_regret"].min() < tuning["training_regret"][0]
        assert not tuning.recommended
        assert tuning.gain_low <= 0
    assert lucky > 4  # a gain on the worlds tuned on would have been reported
    tuning = lb.tune(Careless(2), FLIP, search={"idle": "0.1 to 10"}, trials=6, horizon=200)
    assert (tuning.gain, tuning.found, tuning.recommended) == (0.0, {}, False)
    assert "gain 0" in tuning.verdict


@pytest.mark.slow
def test_luck_is_taken_for_a_gain_no_more_often_than_its_interval_allows() -> None:
    wrong = sum(
        lb.tune(Careless(2), FLIP, search={"salt": "1 to 64"}, trials=8, horizon=200, seed=seed).recommended
        for seed in range(200)
    )
    assert wrong <= 13  # 5 are expected, at 2.5 %; more than 13 in one of a thousand such tests


def test_a_better_setting_is_found_and_compare_agrees(tmp_path: Path) -> None:
    tuning = slow()
    assert tuning.recommended
    assert tuning.settings["discount"] > 0.98
    assert tuning.gain_percent > 30
    assert tuning.policy == lb.policy("d-ucb", discount=tuning.settings["discount"])
    ranking = lb.compare(FLIP, {"before": tuning.default, "after": tuning.policy})
    assert ranking.difference("before", "after") == (tuning.gain, tuning.gain_low, tuning.gain_high)
    assert tuning.ranking.ranked == ["d-ucb (tuned)", "d-ucb (defaults)"]
    assert tuning.ranking["x_limit"]["d-ucb (tuned)"] > 1
    path = str(tmp_path / "tuned.toml")
    tuning.save(path)
    assert lb.policy(path) == tuning.policy
    assert describe(lb.Agent(path).policy) == describe(tuning.policy)
    assert lb.compare(FLIP, [path, "d-ucb:discount=0.9"]).ranked == [path, "d-ucb:discount=0.9"]
    remarks = Path(path).read_text()
    assert tuning.verdict in remarks
    assert str(FLIP) in remarks
    trained = tuning["training_regret"].dropna()
    assert not any(f"{value:.{digits}f}" in remarks for value in trained for digits in (1, 2, 3))


def test_where_nothing_is_better_the_defaults_are_written(tmp_path: Path) -> None:
    tuning = lb.tune("d-ucb:discount=0.9", FLIP, search={"exploration": [0.5, 1e6]}, trials=4)
    assert tuning.settings == tuning.found == {}
    tuning.save(tmp_path / "same.toml")
    assert lb.policy(str(tmp_path / "same.toml")) == lb.policy("d-ucb", discount=0.9)
    assert list(tuning.ranking.index) == ["bayes-limit", "d-ucb (defaults)"]
    tuning.plot()


def test_pruning_saves_rounds(played: list[dict[str, Any]]) -> None:
    long = FLIP.replace(horizon=2700)
    tuning = slow(trials=20, world=long)
    states = tuning["state"].value_counts()
    assert states["pruned"] > states["complete"] > 1
    spent = sum(one["draws"] * one["horizon"] for one in played[:-1])
    assert spent < 0.8 * len(tuning) * 16 * long.horizon
    assert set(tuning["rounds"]) == {300, 900, 2700}
    assert tuning["training_regret"].notna().tolist() == (tuning["rounds"] == 2700).tolist()
    assert tuning["state"][0] == "complete"
    assert tuning["discount"][0] == 0.9


def test_the_result_does_not_depend_on_workers_or_on_a_file(tmp_path: Path) -> None:
    same(slow(workers=1), slow(workers=2, study=tmp_path / "a.study"))


def test_policies_come_as_texts_objects_and_files(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"trials": 2, "horizon": 200, "runs": 2}
    by_name = lb.tune("LC-UCB", lb.HiddenMarkov(states=2), **sizes)
    assert by_name.columns[1:3].tolist() == ["exploration", "regularization"]
    by_value = lb.tune(lb.policy("lc-ucb"), lb.HiddenMarkov(states=2), **sizes)
    pd.testing.assert_frame_equal(pd.DataFrame(by_name), pd.DataFrame(by_value))
    assert by_name.name == by_value.name == "lc-ucb"
    by_name.save(tmp_path / "lc.toml")
    by_file = lb.tune(str(tmp_path / "lc.toml"), lb.HiddenMarkov(states=2), **sizes)
    assert by_file.name == "lc-ucb"
    assert describe(by_file.default) == describe(by_name.policy)
    stranger = lb.tune("tests.test_tune:Careless:salt=0", lb.HiddenMarkov(states=2), **sizes)
    assert stranger.searched == space(Careless(2, salt=0))
    stranger.save(tmp_path / "careless.toml")
    assert type(lb.policy(str(tmp_path / "careless.toml"))).__name__ == "Careless"


def test_python_repeats_the_tuning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tuning = slow(trials=3, seed=4)
    names: dict[str, Any] = {"print": lambda *_: None}
    exec(tuning.python(), names)
    same(names["tuning"], tuning)
    assert describe(names["agent"].policy) == describe(tuning.policy)
    exec(tuning.ranking.python(), names)
    assert len(names["ranking"].ranked) == len(tuning.ranking.ranked)


def test_the_figure_shows_search_and_verdict() -> None:
    tuning = slow(trials=12)
    left, right = tuning.plot().axes
    best, complete, pruned = (np.asarray(line.get_ydata()) for line in left.lines)
    for state, shown in (("complete", complete), ("pruned", pruned)):
        assert shown.tolist() == tuning["per_round"][tuning["state"] == state].tolist()
    assert best[-1] == complete.min()
    assert [label.get_text() for label in right.get_xticklabels()] == ["defaults", "tuned"]
    assert "gain" in right.get_title()


# Interruptions


class Cut(BaseException):
    """As a kill: nothing catches it."""


def cut_after(records: int, path: Path, patch: pytest.MonkeyPatch) -> None:
    """Run a search that is cut after so many records of its study, or, if their number is odd, in the middle of the next one."""
    backend = optuna.storages.journal.JournalFileBackend
    append, written = backend.append_logs, 0

    def cut(self: Any, logs: list[dict[str, Any]]) -> None:
        nonlocal written
        written += 1
        if written <= records:
            return append(self, logs)
        if records % 2:
            with open(path, "ab") as file:
                file.write(json.dumps(logs[0]).encode()[:20])
        raise Cut

    patch.setattr(backend, "append_logs", cut)
    slow(trials=6, study=path)


def test_an_interrupted_search_goes_on_as_if_nothing_had_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, records = slow(trials=6), 0
    while True:
        path = tmp_path / f"{records}.study"
        try:
            with monkeypatch.context() as patch:
                cut_after(records, path, patch)
            break
        except Cut:
            same(slow(trials=6, study=path), whole)
        records += 3
    assert records > 20
    assert len(os.listdir(tmp_path)) == records // 3 + 1  # no locks are left


def test_a_kill_in_the_middle_of_a_trial_loses_only_that_trial(tmp_path: Path) -> None:
    path = tmp_path / "killed.study"
    script = f"""
import os, signal
import latentbandits as lb
from latentbandits.advice import tune as module
training, calls = module.Task.training, []
def fatal(self, *given):
    calls.append(given)
    if len(calls) == AT:
        os.kill(os.getpid(), signal.SIGKILL)
    return training(self, *given)
module.Task.training = fatal
lb.tune({SLOW["policy"]!r}, lb.{FLIP}, search={SLOW["search"]!r}, trials=8, study={str(path)!r})
"""
    for at in (3, 8):  # in the first trial, the defaults; then, after what was there, in a later one
        killed = subprocess.run(
            [sys.executable, "-c", script.replace("AT", str(at))], cwd=ROOT, capture_output=True, text=True
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        states = [trial.state.name for trial in kept(path).trials]
        assert states[-1] == "RUNNING"
    assert states.count("FAIL") == 1
    same(slow(study=path), slow())
    assert sorted(trial.state.name for trial in kept(path).trials if trial.state.name in ("FAIL", "RUNNING")) == [
        "FAIL",
        "FAIL",
    ]


def kept(path: Path) -> optuna.Study:
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))
    return optuna.load_study(study_name=module.STUDY, storage=storage)


def test_more_trials_go_on_and_fewer_do_not_change_the_result(tmp_path: Path, played: list[dict[str, Any]]) -> None:
    path = tmp_path / "a.study"
    few = slow(trials=4, study=path)
    played.clear()
    same(slow(trials=9, study=path), slow(trials=9))
    played.clear()
    same(slow(trials=4, study=path), few)
    assert len(played) == 2  # the rehearsal and the held-out worlds


def test_a_lock_file_of_somebody_else_does_not_stop_it(tmp_path: Path) -> None:
    path = tmp_path / "a.study"
    os.symlink(path, f"{path}.lock")
    slow(trials=2, study=path)


def test_a_study_in_use_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.study"
    slow(trials=2, study=path)
    before = path.read_bytes()
    with open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ValueError, match="must be a file that no other process is tuning with"):
            slow(trials=3, study=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"seed": 1}, "problem"),
        ({"world": FLIP.replace(noise=0.2)}, "problem"),
        ({"world": lb.HiddenMarkov(states=2), "horizon": 900, "runs": 40}, "problem"),
        ({"policy": "sw-ucb", "search": {"exploration": "0.1 to 1"}}, "policy"),
        ({"policy": "d-ucb:discount=0.95"}, "settings"),
        ({"search": {"discount": "0.7 to 0.999"}}, "search"),
        ({"search": None, "policy": "d-ucb"}, "settings"),
    ],
)
def test_a_study_of_something_else_is_refused(changes: dict[str, Any], word: str, tmp_path: Path) -> None:
    path = tmp_path / "a.study"
    slow(trials=1, study=path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"^tune: study is .*must be a new file, or one about the same {word} "):
        slow(study=path, **changes)
    assert path.read_bytes() == before


def test_a_file_that_is_no_study_is_refused_and_kept(tmp_path: Path) -> None:
    journal = tmp_path / "another.study"
    optuna.create_study(
        storage=optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(journal)))
    )
    contents = {"notes": b"remember the milk", "lines": b"a\nb\n", "json": b'{"a": 1}\n', "bytes": bytes(range(256))}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    contents["another.study"] = journal.read_bytes()
    for name, content in contents.items():
        with pytest.raises(ValueError, match="must be a new file, or one that `tune` wrote"):
            slow(study=tmp_path / name)
        assert (tmp_path / name).read_bytes() == content
    for name in ("", "no/folder.study"):
        with pytest.raises(ValueError, match=r"^tune: study is .*must be a file that can be written \("):
            slow(study=tmp_path / name)
    (tmp_path / "empty.study").touch()
    slow(trials=1, study=tmp_path / "empty.study")


# Where it looks


@pytest.mark.parametrize("name", REGISTRY)
def test_the_usual_space_is_around_the_defaults_and_accepted(name: str) -> None:
    policy = lb.policy(name, arms=3)
    if not set(describe(policy)) - {"arms", "units"}:
        with pytest.raises(ValueError, match=r"^tune: policy is .* must be one with settings to search"):
            space(policy)
        return
    axes = space(policy)
    sampler = optuna.samplers.RandomSampler(seed=1)
    study = optuna.create_study(sampler=sampler)
    accepted = 0
    for axis in axes:
        assert axis.value(axis.coordinate(axis.default)) == axis.default == describe(policy)[axis.setting]
        assert axis.low < axis.default < axis.high
    for _ in range(20):
        trial = study.ask({axis.name: axis.distribution for axis in axes})
        found = {axis.setting: axis.value(trial.params[axis.name]) for axis in axes}
        assert all(axis.low <= found[axis.setting] <= axis.high for axis in axes)
        assert describe(policy._replace(**found)) == {**describe(policy), **found}
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
    assert not {"particles", "states", "levels", "noise", "low", "high"} & set(
        names(lb.policy("state-library", noise=0.1, high=1.0))
    )
    with pytest.raises(ValueError, match="or name some of discount, exploration to search"):
        space(lb.policy("d-ucb"), {"discount": 0.9, "exploration": 1})


def test_a_discount_is_searched_by_its_distance_from_one() -> None:
    (axis,) = space(lb.policy("d-ucb"), search={"discount": "0.9 to 0.999"})
    values = [axis.value(place) for place in (0.1, 0.01, 0.00123456)]
    assert (axis.name, values) == ("1 - discount", [0.9, 0.99, 0.99877])
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
        lb.policy("adasp-ucb"), FLIP, search={"lag": ["pair", "slopes"], "min_gap": [2, 4]}, trials=4, horizon=200
    )
    assert set(tuning["lag"]) <= {"pair", "slopes"}


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
        ({"gated": ["yes", "no"]}, "search of gated is 'yes' but must be true or false"),
        ({"probe_set": [[0], [1]]}, "search of probe_set is"),
        ({}, "search is {} but must be"),
        ({"interval": "5 to 20"}, "search is {'interval': '5 to 20'} but must be settings that adasp-ucb accepts"),
    ],
)
def test_bad_searches_are_refused(search: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"^tune: {said}"):
        lb.tune("adasp-ucb", FLIP, search=search, trials=2, study=tmp_path / "a.study")
    assert not os.listdir(tmp_path)


def test_settings_that_the_policy_refuses_are_trials_that_failed() -> None:
    tuning = lb.tune("adasp-ucb", FLIP, search={"gated": [True, False], "interval": [0, 20]}, trials=12, horizon=200)
    refused = tuning[tuning["state"] == "refused"]
    assert len(refused) > 0
    assert (refused["gated"] & (refused["interval"] == 20)).all()
    assert refused["per_round"].isna().all()
    assert len(tuning) == 12


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"trials": 0}, "tune: trials is 0 but must be an integer at least 1"),
        ({"trials": 2.5}, "tune: trials is 2.5"),
        ({"runs": 1}, "tune: runs is 1 but must be an integer at least 2"),
        ({"workers": 0}, "tune: workers is 0"),
        ({"policy": "d-ubc"}, r"policy: name is 'd-ubc', .*did you mean d-ucb"),
        ({"policy": "random", "search": None}, "tune: policy is 'UniformRandom' but must be one with settings"),
        ({"policy": "state-oracle", "search": None}, "tune: policy is 'StateOracle' but must be one with settings"),
        ({"policy": 7}, "tune: policies"),
        ({"policy": "adarp-ucb", "search": None}, "tune: units of adarp-ucb is 2 but must be at most the problem's 1"),
        ({"policy": lb.policy("d-ucb", arms=3)}, "tune: policies.*arms is 3 but must be the world's 2"),
        ({"world": lb.Recorded(np.eye(2))}, r"tune: world is Recorded\(.*must be one whose draws differ"),
        ({"world": "nowhere.toml"}, "problem: file is 'nowhere.toml' but must be a TOML file"),
        ({"world": 3}, "tune: world is 3"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_written(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"^{said}") as refused:
        slow(study=tmp_path / "a.study", **options)
    assert "\n" not in str(refused.value)
    assert not os.listdir(tmp_path)


def test_without_optuna_it_says_what_brings_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(
        ValueError, match=r"^tune: optuna is not installed, `pip install 'latentbandits\[tune\]'` brings it$"
    ):
        slow(study=tmp_path / "a.study")
    assert not os.listdir(tmp_path)


def test_optuna_is_imported_only_when_it_is_needed_and_left_as_it_was() -> None:
    script = "import sys, latentbandits as lb; lb.tune; import latentbandits.cli.tune; print('optuna' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"
    before = optuna.logging.get_verbosity()
    slow(trials=1)
    assert optuna.logging.get_verbosity() == before


# The command

SIZES = ["--means", "0.9 0.1; 0.1 0.9", "--noise", "0.1", "--horizon", "900", "--runs", "40", "--trials", "8"]


def command(*arguments: str) -> list[str]:
    return ["tune", "d-ucb:discount=0.9", *SIZES, "--search", "discount=0.8 to 0.999", *arguments]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_writes_settings_figure_and_study(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(command()) == 0
    said = capsys.readouterr()
    study, *others = sorted(os.listdir(here))
    assert re.fullmatch(r"tune-d-ucb-[0-9a-f]{6}\.study", study)
    assert others == ["tuned-d-ucb.svg", "tuned-d-ucb.toml"]
    tuning = slow()
    assert lb.policy("tuned-d-ucb.toml") == tuning.policy
    assert tuning.verdict in said.out
    assert f"discount      0.9  {tuning.settings['discount']}  0.8 to 0.999" in said.out
    assert said.err == ""
    following = said.out[said.out.index("Next: `") + 7 :].partition("`")[0]
    assert following.endswith("--policies d-ucb:discount=0.9 tuned-d-ucb.toml")
    assert cli.main(shlex.split(following)[1:]) == 0
    assert f"{tuning.gain:.2f} more regret" in capsys.readouterr().out  # the same worlds, the same numbers
    first = {name: (here / name).read_bytes() for name in ("tuned-d-ucb.toml", "tuned-d-ucb.svg")}
    assert cli.main(command()) == 0  # all trials are known
    assert {name: (here / name).read_bytes() for name in first} == first


def test_the_command_says_when_to_keep_the_defaults(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--means", "0.9 0.1; 0.1 0.9", "--horizon", "300", "--runs", "8", "--trials", "3"]
    assert cli.main(["tune", "d-ucb:discount=0.9", *sizes, "--search", "exploration=0.5,1e6"]) == 0
    said = capsys.readouterr().out
    assert "keep the defaults (gain 0 on 8 held-out worlds of 300 rounds)" in said
    assert "tuned-d-ucb.toml: the defaults." in said
    assert (
        "`latentbandits advise --arms 2 --states 2 --dwell 100 --means '0.9 0.1; 0.1 0.9' --noise 0.01 --horizon 300 --runs 8`"
        in said
    )
    assert lb.policy("tuned-d-ucb.toml") == lb.policy("d-ucb", discount=0.9)


def test_the_command_speaks_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(command("--json", "--out", "a.toml", "--figure", "b.png", "--study", "c")) == 0
    assert sorted(os.listdir(here)) == ["a.toml", "b.png", "c"]
    found = json.loads(capsys.readouterr().out)
    tuning = slow()
    assert found["gain"] == tuning.gain
    assert found["settings"] == tuning.settings
    assert [trial["discount"] for trial in found["trials"]] == tuning["discount"].tolist()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tune", "d-ubc"], "did you mean d-ucb"),
        (["tune", "d-ucb:discont=0.9"], "did you mean discount"),
        (["tune", "random"], "must be one with settings to search"),
        (["tune", "adarp-ucb"], "units of adarp-ucb is 2"),
        (["tune", "d-ucb", "--trials", "0"], "trials is 0"),
        (["tune", "d-ucb", "--workers", "0"], "workers is 0"),
        (["tune", "d-ucb", "--runs", "1"], "runs is 1"),
        (["tune", "d-ucb", "--noise", "-1"], "noise is -1"),
        (["tune", "d-ucb", "none.toml"], "file is 'none.toml' but must be a TOML file"),
        (["tune", "d-ucb", "--search", "discont=0.9 to 0.99"], "did you mean discount"),
        (["tune", "d-ucb", "--search", "discount"], "--search: setting is 'discount' but must be KEY=VALUE"),
        (["tune", "d-ucb", "--search", "discount=0.9,0.99", "discount=0.5,0.6"], "each setting once"),
        (["tune", "d-ucb", "--out", "a.yaml"], "--out is 'a.yaml' but must be a file name that ends in .toml"),
        (["tune", "d-ucb", "--out", "no/a.toml"], "--out is 'no/a.toml' but must be a file in a folder that exists"),
        (["tune", "d-ucb", "--figure", "a.gif"], "--figure is 'a.gif' but must be a file name that ends in .svg"),
        (["tune", "d-ucb", "--study", "no/a.study"], "study is 'no/a.study' but must be a file that can be written"),
        (["tune", "d-ucb", "--out", "a.toml", "--study", "a.toml"], "must be a file that has no other part"),
    ],
)
def test_bad_commands_are_one_sentence_and_write_nothing(
    arguments: list[str], said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert not os.listdir(here)


def test_a_study_of_another_problem_is_refused_by_the_command(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(command("--trials", "1", "--study", "one.study")) == 0
    before = {name: (here / name).read_bytes() for name in os.listdir(here)}
    capsys.readouterr()
    assert cli.main(command("--noise", "0.2", "--study", "one.study")) == 2
    assert "must be a new file, or one about the same problem" in capsys.readouterr().err
    assert {name: (here / name).read_bytes() for name in os.listdir(here)} == before
    # without a name every problem has its own
    assert cli.main(command("--trials", "1")) == 0
    assert cli.main(command("--trials", "1", "--noise", "0.2")) == 0
    assert len(list(here.glob("tune-*.study"))) == 2


def test_the_command_can_be_interrupted(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    training, calls = module.Task.training, 0

    def interrupted(self: module.Task, *given: Any) -> float:
        nonlocal calls
        calls += 1
        if calls == 8:
            raise KeyboardInterrupt
        return training(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(module.Task, "training", interrupted)
        assert cli.main(command()) == 130
    assert "the same command goes on from there" in capsys.readouterr().err
    assert [name[:11] for name in os.listdir(here)] == ["tune-d-ucb-"]
    assert cli.main(command()) == 0
    assert lb.policy("tuned-d-ucb.toml") == slow().policy


def test_progress_counts_trials_on_a_terminal(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert cli.main(command()) == 0
    said = capsys.readouterr().err
    assert "trial 1 of 8" in said
    assert "trial 8 of 8" in said
    assert "held-out worlds" in said
    assert said.endswith("\r\x1b[K")

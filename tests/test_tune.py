import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest

import latentbandits as lb
from latentbandits.advice.space import space
from latentbandits.parameters import describe
from latentbandits.simulation.results import interval
from tests.tuning import FLIP, Careless, Misleading, record_simulations, same, tune_flip

ROOT = Path(__file__).parent.parent


def test_the_gain_is_measured_on_worlds_that_no_trial_has_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    played = record_simulations(monkeypatch)
    tuning = tune_flip()
    *searching, judging = played
    assert judging["policies"] == ["d-ucb (defaults)", "d-ucb (tuned)", "bayes-planner"]
    held_out = set(range(judging["first"], judging["first"] + judging["draws"]))
    for one in searching:
        assert not held_out & set(range(one["first"], one["first"] + one["draws"]))
        assert one["draws"] == 16
    default, tuned = judging["results"].regret[:2]
    assert (tuning.gain, tuning.gain_low, tuning.gain_high) == interval(default - tuned)
    assert tuning.gain_percent == pytest.approx(100 * (default - tuned).mean() / default.mean())
    assert str(round(tuning.gain, 2)) in tuning.headline
    trained = tuning.table["training_regret"]
    assert f"{trained[0] - trained.min():.2f}" not in tuning.headline


def test_what_is_good_only_where_it_was_tuned_is_not_recommended() -> None:
    tuning = lb.tune(Misleading(), Careless(2), search={"lean": (0.01, 0.99)}, trials=12, horizon=300, runs=20)
    assert tuning.found["lean"] > 0.8
    assert tuning.table["training_regret"].min() < 0.5 * tuning.table["training_regret"][0]
    assert tuning.gain_high < 0
    assert not tuning.recommended
    assert tuning.settings == {}
    assert tuning.policy == tuning.default == Careless(2)
    assert "keep the defaults" in tuning.headline


def test_luck_and_settings_that_do_nothing_bring_no_gain() -> None:
    lucky = 0
    for seed in range(8):
        tuning = lb.tune(FLIP, Careless(2), search={"salt": "1 to 64"}, trials=10, horizon=200, seed=seed)
        lucky += tuning.table["training_regret"].min() < tuning.table["training_regret"][0]
        assert not tuning.recommended
        assert tuning.gain_low <= 0
    assert lucky > 4  # a gain on the worlds tuned on would have been reported
    tuning = lb.tune(FLIP, Careless(2), search={"idle": "0.1 to 10"}, trials=6, horizon=200)
    assert (tuning.gain, tuning.found, tuning.recommended) == (0.0, {}, False)
    assert "gain 0" in tuning.headline


@pytest.mark.slow
def test_luck_is_taken_for_a_gain_no_more_often_than_its_interval_allows() -> None:
    wrong = sum(
        lb.tune(FLIP, Careless(2), search={"salt": "1 to 64"}, trials=8, horizon=200, seed=seed).recommended
        for seed in range(200)
    )
    assert wrong <= 13  # 5 are expected, at 2.5 %; more than 13 in one of a thousand such tests


def test_a_better_setting_is_found_and_compare_agrees(tmp_path: Path) -> None:
    tuning = tune_flip()
    assert tuning.recommended
    assert tuning.settings["discount"] > 0.98
    assert tuning.gain_percent > 30
    assert tuning.policy == lb.policy("d-ucb", discount=tuning.settings["discount"])
    ranking = lb.compare(FLIP, {"before": tuning.default, "after": tuning.policy})
    assert ranking.difference("before", "after") == (tuning.gain, tuning.gain_low, tuning.gain_high)
    assert tuning.comparison.ranked == ["d-ucb (tuned)", "d-ucb (defaults)"]
    assert tuning.comparison.table["x_limit"]["d-ucb (tuned)"] > 1
    path = str(tmp_path / "tuned.toml")
    tuning.save(path)
    assert lb.policy(path) == tuning.policy
    assert describe(lb.Agent(path).policy) == describe(tuning.policy)
    assert lb.compare(FLIP, [path, "d-ucb:discount=0.9"]).ranked == [path, "d-ucb:discount=0.9"]
    remarks = Path(path).read_text()
    assert tuning.headline in remarks
    assert str(FLIP) in remarks
    trained = tuning.table["training_regret"].dropna()
    assert not any(f"{value:.{digits}f}" in remarks for value in trained for digits in (1, 2, 3))


def test_where_nothing_is_better_the_defaults_are_written(tmp_path: Path) -> None:
    tuning = lb.tune(FLIP, "d-ucb:discount=0.9", search={"exploration": [0.5, 1e6]}, trials=4)
    assert tuning.settings == tuning.found == {}
    tuning.save(tmp_path / "same.toml")
    assert lb.policy(str(tmp_path / "same.toml")) == lb.policy("d-ucb", discount=0.9)
    assert list(tuning.comparison.table.index) == ["bayes-planner", "d-ucb (defaults)"]
    tuning.figure()


def test_a_file_has_the_whole_policy(tmp_path: Path) -> None:
    # A file from before a setting existed plays as it did then, whatever the preset of the name is now
    path = tmp_path / "tuned.toml"
    tuning = lb.tune(FLIP, "adasp-ucb:learn_noise=false", search={"margin": [0.05, 0.1]}, trials=2, horizon=200)
    tuning.save(path)
    assert set(tomllib.loads(path.read_text())["settings"]) == set(describe(tuning.policy)) - {"arms"}
    path.write_text(path.read_text().replace("learn_noise = false\n", ""))
    assert lb.policy("adasp-ucb").learn_noise
    assert lb.policy(str(path)) == tuning.policy
    assert not lb.policy(str(path)).learn_noise
    assert lb.policy(str(path), learn_noise=True).learn_noise


def test_it_saves_what_the_suffix_says(tmp_path: Path) -> None:
    tuning = tune_flip(trials=2)
    for suffix, begin in (
        (".toml", b"# d-ucb:discount=0.9, tuned by"),
        (".csv", b"trial,outcome,discount,"),
        (".svg", b"<?xml"),
    ):
        tuning.save(tmp_path / f"tuned{suffix}")
        assert (tmp_path / f"tuned{suffix}").read_bytes().startswith(begin)
    tuning.save(tmp_path / "tuned.json")
    assert json.loads((tmp_path / "tuned.json").read_text()) == json.loads(json.dumps(tuning.values()))
    assert tuning.headline.replace("'", "&#x27;") in tuning._repr_html_()
    with pytest.raises(ValueError, match=r"^tune: path is .* must be a file name that ends in \.toml or"):
        tuning.save(tmp_path / "tuned.yaml")


def test_progress_counts_trials_and_the_held_out_worlds() -> None:
    steps: list[tuple[int, int]] = []
    tune_flip(trials=3, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_pruning_saves_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    played = record_simulations(monkeypatch)
    long = FLIP.replace(horizon=2700)
    tuning = tune_flip(trials=20, problem=long)
    states = tuning.table["outcome"].value_counts()
    assert states["pruned"] > states["complete"] > 1
    spent = sum(one["draws"] * one["horizon"] for one in played[:-1])
    assert spent < 0.8 * len(tuning.table) * 16 * long.horizon
    assert set(tuning.table["rounds"]) == {300, 900, 2700}
    assert tuning.table["training_regret"].notna().tolist() == (tuning.table["rounds"] == 2700).tolist()
    assert tuning.table["outcome"][0] == "complete"
    assert tuning.table["discount"][0] == 0.9


def test_the_result_does_not_depend_on_workers() -> None:
    same(tune_flip(workers=1), tune_flip(workers=2))


def test_policies_come_as_texts_objects_and_files(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"trials": 2, "horizon": 200, "runs": 2}
    by_name = lb.tune(lb.HiddenMarkov(states=2), "LC-UCB", **sizes)
    assert by_name.table.columns[1:3].tolist() == ["exploration", "regularization"]
    by_value = lb.tune(lb.HiddenMarkov(states=2), lb.policy("lc-ucb"), **sizes)
    pd.testing.assert_frame_equal(by_name.table, by_value.table)
    assert by_name.name == by_value.name == "lc-ucb"
    by_name.save(tmp_path / "lc.toml")
    by_file = lb.tune(lb.HiddenMarkov(states=2), str(tmp_path / "lc.toml"), **sizes)
    assert by_file.name == "lc-ucb"
    assert describe(by_file.default) == describe(by_name.policy)
    by_class = lb.tune(lb.HiddenMarkov(states=2), "tests.tuning:Careless:salt=0", **sizes)
    assert by_class.axes == space(Careless(2, salt=0))
    by_class.save(tmp_path / "careless.toml")
    assert type(lb.policy(str(tmp_path / "careless.toml"))).__name__ == "Careless"


def test_python_repeats_the_tuning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tuning = tune_flip(trials=3, seed=4)
    names: dict[str, Any] = {"print": lambda *_: None}
    exec(tuning.python(), names)
    same(names["tuning"], tuning)
    assert describe(names["agent"].policy) == describe(tuning.policy)
    exec(tuning.comparison.python(), names)
    assert len(names["comparison"].ranked) == len(tuning.comparison.ranked)


def test_the_figure_shows_search_and_verdict() -> None:
    tuning = tune_flip(trials=12)
    left, right = tuning.figure().axes
    best, complete, pruned = (np.asarray(line.get_ydata()) for line in left.lines)
    for state, shown in (("complete", complete), ("pruned", pruned)):
        assert shown.tolist() == tuning.table["per_round"][tuning.table["outcome"] == state].tolist()
    assert best[-1] == complete.min()
    assert [label.get_text() for label in right.get_xticklabels()] == ["defaults", "tuned"]
    assert "gain" in right.get_title()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"trials": 0}, "tune: trials is 0 but must be an integer at least 1"),
        ({"trials": 2.5}, "tune: trials is 2.5"),
        ({"runs": 1}, "tune: runs is 1 but must be an integer at least 2"),
        ({"workers": 0}, "tune: workers is 0"),
        ({"policy": "d-ubc"}, r"policy: name is 'd-ubc' but must be .*did you mean d-ucb"),
        ({"policy": "random", "search": None}, "tune: policy is 'UniformRandom' but must be one with settings"),
        (
            {"policy": "state-oracle", "search": None},
            "tune: policy is .state-oracle. but must be a policy that needs no knowledge of the world",
        ),
        ({"policy": 7}, "tune: policies"),
        ({"policy": "adarp-ucb", "search": None}, "tune: groups of adarp-ucb is 2 but must be at most the problem's 1"),
        ({"policy": lb.policy("d-ucb", arms=3)}, "tune: policies.*arms is 3 but must be the world's 2"),
        (
            {"problem": lb.Replay(np.eye(2))},
            r"tune: problem is <Replay: 2 rounds, 2 arms> but must be one whose draws differ",
        ),
        ({"problem": "nowhere.toml"}, "problem: file is 'nowhere.toml' but must be a TOML file"),
        ({"problem": 3}, "problem: description is 3"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}") as refused:
        tune_flip(**options)
    assert "\n" not in str(refused.value)


def test_without_optuna_it_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(
        ValueError, match=r"^tune: optuna is not installed, `pip install 'latentbandits\[tune\]'` brings it$"
    ):
        tune_flip()


def test_optuna_is_imported_only_when_it_is_needed_and_left_as_it_was() -> None:
    script = "import sys, latentbandits as lb; lb.tune; import latentbandits.cli.tune; print('optuna' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"
    before = optuna.logging.get_verbosity()
    tune_flip(trials=1)
    assert optuna.logging.get_verbosity() == before

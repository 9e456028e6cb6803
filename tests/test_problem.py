"""A problem: exact or vague, from Python, a file or options; and what is refused."""

import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

import latentbandits as lb
from latentbandits import cli
from latentbandits.advice.file import example
from latentbandits.advice.parameter import Range
from latentbandits.advice.problem import Problem, as_problem
from latentbandits.advice.vocabulary import PARAMETERS, QUANTITIES
from latentbandits.settings import InvalidValueError
from latentbandits.worlds.registry import REGISTRY

MATRIX = [[0.9, 0.1], [0.2, 0.6]]
CHAIN = [[0.98, 0.02], [0.05, 0.95]]


@pytest.mark.parametrize(
    ("words", "world"),
    [
        ({}, lb.HiddenMarkov()),
        ({"states": 3, "dwell": 50, "noise": 0.2}, lb.HiddenMarkov(states=3, stickiness=0.98, noise=0.2)),
        ({"arms": 4, "stickiness": 0.9, "carryover": 0.3}, lb.HiddenMarkov(arms=4, stickiness=0.9, carryover=0.3)),
        ({"means": MATRIX, "transition": CHAIN}, lb.HiddenMarkov(means=MATRIX, transition=CHAIN)),
        ({"rewards": "bernoulli", "means": "0.1 to 0.3"}, lb.HiddenMarkov(rewards="bernoulli", span=(0.1, 0.3))),
        ({"separation": 0.2, "states": 3}, lb.HiddenMarkov(separation=0.2, states=3)),
        ({"kind": "drift", "timescale": 90}, lb.Drift(timescale=90)),
        ({"kind": "drift", "means": (2, 5)}, lb.Drift(span=(2, 5))),
        ({"kind": "seasons", "states": 3, "dwell": 40}, lb.Seasons(states=3, dwell=40)),
    ],
)
def test_an_exact_problem_is_its_world(words: dict[str, Any], world: Any) -> None:
    ours = Problem(**words).realise(200, 1, 5, 3, 0)
    theirs = world.realise(200, 1, 5, 3, 0)
    assert np.array_equal(ours.means, theirs.means)
    assert np.array_equal(ours.rewards, theirs.rewards)


def test_a_recorded_problem_reads_its_file(tmp_path: Path) -> None:
    path = tmp_path / "rewards.csv"
    path.write_text("0.1,0.9\n0.8,0.2\n0.5,0.6\n")
    problem = Problem(kind="recorded", file=str(path))
    assert (problem.arms, problem.horizon) == (2, 3)
    assert problem.realise(3, 1, 0, 0, 0).means.tolist() == [[0.1, 0.9], [0.8, 0.2], [0.5, 0.6]]
    comparison = lb.compare(problem, ["ucb1", "random"])
    assert comparison.table["x_limit"].isna().all()


def test_ranges_are_drawn_evenly_on_their_scale() -> None:
    problem = Problem(states="3 to 6", dwell=(10, 1000), noise=[0.1, 0.4], carryover="0.2 to 0.4")
    drawn = [problem.sample_quantities(7, draw) for draw in range(4000)]
    states = np.bincount([int(one["states"]) for one in drawn], minlength=7)
    shares = np.diff(np.log([3, 4, 5, 6, 7])) / np.log(7 / 3)
    assert states[:3].sum() == 0
    assert np.abs(states[3:7] / 4000 - shares).max() < 0.03
    for field, low, high in (("dwell", 10, 1000), ("noise", 0.1, 0.4)):
        level = np.log(np.array([one[field] for one in drawn]) / low) / np.log(high / low)
        assert kstest(level, "uniform").pvalue > 0.001
    level = (np.array([one["carryover"] for one in drawn]) - 0.2) / 0.2
    assert kstest(level, "uniform").pvalue > 0.001


def test_a_range_of_stickiness_is_one_of_dwell_times() -> None:
    sticky, dwelling = Problem(stickiness=(0.9, 0.999)), Problem(dwell=(10, 1000))
    ours = np.sort([1 / (1 - sticky.sample_quantities(1, draw)["stickiness"]) for draw in range(500)])
    theirs = np.sort([dwelling.sample_quantities(2, draw)["dwell"] for draw in range(500)])
    assert ours[0] >= 10 - 1e-9
    assert ours[-1] <= 1000 + 1e-6
    assert abs(np.log(np.median(ours)) - np.log(np.median(theirs))) < 0.25


def test_worlds_depend_on_seed_and_draw_alone() -> None:
    problem = Problem(states="2 to 9", noise="0.1 to 0.5")
    realised = [problem.realise(50, 1, seed, draw, 0) for seed, draw in ((0, 1), (0, 2), (1, 1))]
    again = Problem(noise=(0.1, 0.5), states=(2, 9)).realise(50, 1, 0, 1, 0)
    assert np.array_equal(realised[0].rewards, again.rewards)
    assert not any(np.array_equal(realised[0].rewards, other.rewards) for other in realised[1:])
    # two realisations that differ only in groups share everything but the noise
    assert np.array_equal(problem.realise(50, 3, 0, 1, 0).means, realised[0].means)


def test_what_is_left_out_is_unknown_to_advice() -> None:
    wide = Problem(arms=4).widen()
    assert {field: getattr(wide, field) for field in wide.vague} == {
        field: QUANTITIES[field].wide for field in ("states", "dwell", "noise")
    }
    assert Problem(states=3, stickiness=0.9, noise=0.1).widen().vague == ()
    assert Problem(means=MATRIX, transition=CHAIN).widen().vague == ("noise",)
    assert Problem(rewards="bernoulli").widen().vague == ("states", "dwell")
    assert Problem(means="0 to 100").widen().noise == Range(1, 50)  # noise is seen against the means
    assert Problem(kind="drift").widen().vague == ("timescale", "noise")


def test_but_changes_words_and_keeps_the_others() -> None:
    problem = Problem(states=3, stickiness=0.9, seed=4)
    moved = problem.replace(dwell=20)
    assert (moved.dwell, moved.stickiness, moved.states, moved.seed) == (20, None, 3, 4)
    assert eval(repr(moved), {"Problem": Problem}) == moved


BAD = {
    "states=0": "states is 0 but must be an integer from 1 to 1000",
    "states='20 to 3'": "states is '20 to 3' but must be a range with the lower end first",
    "states=(20, 3)": "lower end first",
    "states=2.5": "must be an integer",
    "states='few'": "must be an integer",
    "states=True": "must be an integer",
    "states=[2, 3, 4]": "must be an integer",
    "stickiness=1.5": "stickiness is 1.5 but must be a finite number from 0 to 1",
    "carryover=-0.1": "carryover is -0.1 but must be a finite number from 0 to 1",
    "dwell='0 to 10'": "dwell is '0 to 10' but must be a finite number at least 1",
    "dwell=10, stickiness=0.9": "stickiness is 0.9 but must be left out when dwell is given",
    "noise=-1": "noise is -1 but must be a finite number at least 0",
    "noise=float('nan')": "must be a finite number",
    "noise=0.1, rewards='bernoulli'": "noise is 0.1 but must be left out when rewards are bernoulli",
    "means='0 to 2', rewards='bernoulli'": "means is (0.0, 2.0) but must be finite numbers from 0 to 1 for bernoulli rewards",
    "means=[[0.1, 1.2], [0.3, 0.4]], rewards='bernoulli'": "finite numbers from 0 to 1 for bernoulli rewards",
    "means='1 to 0'": "lower end first",
    "means=[[0.1], [0.2]]": "rows of at least two numbers, one per arm",
    "means=[[0.1, 0.2], [0.3]]": "a matrix with a row per state",
    "means=[[0.1, 0.2], [0.3, 0.4]], arms=3": "arms is 3 but must be 2",
    "means=[[0.1, 0.2], [0.3, 0.4]], states=3": "states is 3 but must be 2",
    "transition=[[0.5, 0.6], [0.1, 0.9]]": "probabilities that sum to one",
    "transition=[[1.5, -0.5], [0.1, 0.9]]": "probabilities that sum to one",
    "transition=[[1]]": "rows of at least two numbers, one per state",
    "transition=[[0.5, 0.5], [0.1, 0.9]], states=3": "states is 3 but must be 2",
    "separation=9": "separation is 9",
    "kind='seasns'": "did you mean seasons?",
    "kind='drift', states=3": "states is 3 but must be left out for kind drift (only hidden-markov and independent and seasons have it)",
    "kind='recorded'": "file is None",
    "kind='seasons', dwell=2.5": "dwell is 2.5 but must be an integer at least 1",
    "kind='recorded', file='missing.csv'": "file is 'missing.csv'",
    "rewards='poisson'": "one of gaussian, bernoulli",
    "arms=1": "arms is 1 but must be an integer from 2 to 1000",
    "groups=0": "groups is 0 but must be an integer at least 1",
    "horizon=0": "horizon is 0",
    "horizon=10**9": "horizon is 1000000000 but must be at most",
    "runs=0": "runs is 0",
    "runs=10**9": "runs is 1000000000 but must be an integer from 1 to 100000",
    "arms=10**9": "arms is 1000000000 but must be an integer from 2 to 1000",
    "noise=1e160": "noise is 1e+160 but must be at most 1e+50",
    "means=(0, 1e200)": "must be finite numbers of size at most 1e+50",
    "seed=-1": "seed is -1",
    "sates=3": "word is 'sates' but must be one of kind, arms, states",
    "means=[[0.1, float('nan')], [0.3, 0.4]]": "finite numbers of size at most",
    "kind='seasons', rewards='bernoulli', means=[[0.1, 1.5], [0.3, 0.4]]": "finite numbers from 0 to 1 for bernoulli",
    "kind='drift', means=[[0.1, 0.5], [0.3, 0.4]]": "a range for kind drift",
    "policies=[]": "policies is [] but must be a list of strings",
}


@pytest.mark.parametrize(("words", "said"), BAD.items())
def test_bad_words_are_refused(words: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as refused:
        eval(f"Problem({words})", {"Problem": Problem})
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("problem: ")


def test_the_example_is_the_default_problem(tmp_path: Path) -> None:
    path = tmp_path / "world.toml"
    path.write_text(example())
    assert as_problem(path) == Problem()
    assert len(as_problem(path).policies or []) > 1
    # every word that is commented out can be used
    for name, word in PARAMETERS.items():
        found = re.findall(rf"^(?:# )?{name} = (.*?)(?: +# .*)?$", example(), re.MULTILINE)
        assert found, name
        for value in found:
            assert word.accept(tomllib.loads(f"value = {value}")["value"]) is not None


def test_every_word_belongs_to_worlds_that_take_it() -> None:
    assert {name for name, word in PARAMETERS.items() if not word.kinds} == set()
    assert PARAMETERS["carryover"].kinds == ("hidden-markov", "independent")
    assert {"hidden-markov", "seasons", "drift"} <= {*PARAMETERS["noise"].kinds}
    assert PARAMETERS["file"].kinds == ("recorded",)
    assert PARAMETERS["seed"].kinds == tuple(REGISTRY)


def test_the_order_of_quantities_names_their_random_numbers() -> None:
    """A new one goes behind the others, else every sampled world changes."""
    assert list(QUANTITIES)[:7] == ["states", "dwell", "stickiness", "timescale", "noise", "carryover", "separation"]


def test_a_refusal_carries_its_parts(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError) as refused:
        Problem(states=0)
    found = refused.value
    assert (found.owner, found.field, found.value) == ("problem", "states", 0)
    assert "from 1 to 1000" in str(found.rule)
    path = tmp_path / "world.toml"
    path.write_text("\ntransition = [[0.5, 0.6], [0.1, 0.9]]\n")
    with pytest.raises(InvalidValueError) as refused:
        as_problem(path)
    found = refused.value
    assert (found.owner, found.field, found.part) == (str(path), "transition", "[0]")


def test_anything_becomes_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "world.toml"
    path.write_text('states = 3\npolicies = ["ucb1", "ts"]\n')
    assert as_problem(path, runs=7) == Problem(states=3, runs=7)
    assert as_problem(str(path)).policies == ["ucb1", "ts"]
    problem = Problem(states=3)
    assert as_problem(problem, runs=None) is problem
    given = as_problem(lb.Drift(arms=3), horizon=50)
    assert (given.arms, given.horizon, given.runs, given.groups, given.seed) == (3, 50, 200, None, 0)
    assert as_problem(lb.Replay(np.zeros((9, 2)))).horizon == 9
    assert np.array_equal(given.realise(50, 1, 0, 0, 0).means, lb.Drift(arms=3).realise(50, 1, 0, 0, 0).means)
    for bad in (7, lb.Drift):
        with pytest.raises(
            InvalidValueError, match="must be a Problem, the path of a TOML file, a mapping of words or a world"
        ):
            as_problem(bad)
    for word, said in (
        ("runs", "runs is 0 but must be an integer from 1"),
        ("states", "states is 0 but must be left out"),
    ):
        with pytest.raises(InvalidValueError, match=said):
            as_problem(lb.Drift(), **{word: 0})


def test_a_problem_does_not_change() -> None:
    problem = Problem(states=3)
    with pytest.raises(AttributeError, match=r"use replace\(states=...\)"):
        problem.states = 4
    assert {problem, Problem(states=3)} == {problem}
    assert Problem(noise="0.1 to 0.2") == Problem(noise=(0.1, 0.2)) != Problem(noise=0.1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('arms = 4\nstate = "3 to 20"\n', "word is 'state' but must be one of .* \\(did you mean states\\?\\)"),
        ("# dwel = 3\n\ndwel = 3\n", "word is .dwel. .* \\(did you mean dwell\\?\\)"),
        ("arms = 2\n[world]\nstates = 3\n", "word is 'world'"),
        ("arms = 2\n  'polices' = ['ucb1']\n", "word is .polices. .* \\(did you mean policies\\?\\)"),
        ("states = 0\n", "states is 0 but must be an integer from 1 to 1000"),
        ('arms = 2\nstates = "20 to 3"\n', "states is '20 to 3' but must be a range with the lower end first"),
        ("\n\ncarryover = 1.5\n", "carryover is 1.5 but must be a finite number from 0 to 1"),
        ("transition = [[0.5, 0.6], [0.1, 0.9]]\n", "transition\\[0\\] is .* probabilities that sum to one"),
        ("arms = \n", "at line 1"),
        ("arms = 2\narms = 3\n", "at line 2"),
        ('arms = 2\npolicies = ["ucb1:explration=2"]\n', ".*did you mean exploration"),
        ("policies = 3\n", "policies is 3 but must be a list of strings"),
        ("policies = []\n", "policies is \\[\\] but must be a list of strings"),
    ],
)
def test_a_bad_file_is_refused_by_its_name(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "world.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=said) as refused:
        as_problem(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_record_is_found_beside_its_description(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("left,right\n0.1,0.9\n0.8,0.2\n")
    (tmp_path / "w.toml").write_bytes(
        b"\xef\xbb\xbfkind = 'recorded'\nfile = 'r.csv'\n"
    )  # as some editors begin a file
    assert as_problem(tmp_path / "w.toml").realise(2, 1, 0, 0, 0).means.tolist() == [[0.1, 0.9], [0.8, 0.2]]
    for content in ("", "1\n2\n", "1,2\n3\n", "1,2\nx,y\n", "1,1e200\n"):
        (tmp_path / "bad.csv").write_text(content)
        with pytest.raises(ValueError, match="problem: file is"):
            Problem(kind="recorded", file=str(tmp_path / "bad.csv"))


def test_options_go_before_the_file(tmp_path: Path) -> None:
    path = tmp_path / "world.toml"
    path.write_text("stickiness = 0.9\nnoise = 0.3\n")
    problem = as_problem(path, dwell=50, noise="0.1 to 0.2")
    assert (problem.dwell, problem.stickiness, problem.noise) == (50, None, Range(0.1, 0.2))
    path.write_text("states = 5\narms = 4\n")
    assert as_problem(path, means=MATRIX).states == 2


@pytest.mark.parametrize("command", ["compare", "advise", "tune ucb1"])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--states 0", "states is 0"),
        ("--states '20 to 3'", "lower end first"),
        ("--stickiness 1.01", "from 0 to 1"),
        ("--carryover -1", "from 0 to 1"),
        ("--arms two", "arms is 'two'"),
        ("--means '0.1; 0.2'", "rows of at least two numbers"),
        ("--transition '0.5 0.6; 0.2 0.8'", "sum to one"),
        ("missing.toml", "file is 'missing.toml' but must be a TOML file"),
        ("bad.toml", "word is .sates. .*did you mean states"),
        ("--out nowhere/x.html", "--out"),
        ("--out x.txt", "--out"),
    ],
)
def test_bad_input_writes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    options: str,
    said: str,
) -> None:
    import shlex

    (tmp_path / "bad.toml").write_text("sates = 3\n")
    monkeypatch.chdir(tmp_path)
    assert cli.main([*command.split(), *shlex.split(options)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(said, err)
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["bad.toml"]

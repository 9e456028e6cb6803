"""A problem: exact or vague, from Python, a file or options; and what is refused."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

import latentbandits as lb
from latentbandits import cli
from latentbandits.advice.file import EXAMPLE, KEYS, read
from latentbandits.advice.problem import QUANTITIES, Problem, Range
from latentbandits.cli.problem import WORDS
from latentbandits.specs import split

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
        ({"kind": "seasons", "states": 3, "dwell": 40}, lb.Seasons(seasons=3, dwell=40)),
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
    ranking = lb.compare(problem, ["ucb1", "random"])
    assert ranking["x_limit"].isna().all()


def test_ranges_are_drawn_evenly_on_their_scale() -> None:
    problem = Problem(states="3 to 6", dwell=(10, 1000), noise=[0.1, 0.4], carryover="0.2 to 0.4")
    drawn = [problem.sampled(7, draw) for draw in range(4000)]
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
    ours = np.sort([1 / (1 - sticky.sampled(1, draw)["stickiness"]) for draw in range(500)])
    theirs = np.sort([dwelling.sampled(2, draw)["dwell"] for draw in range(500)])
    assert ours[0] >= 10 - 1e-9
    assert ours[-1] <= 1000 + 1e-6
    assert abs(np.log(np.median(ours)) - np.log(np.median(theirs))) < 0.25


def test_worlds_depend_on_seed_and_draw_alone() -> None:
    problem = Problem(states="2 to 9", noise="0.1 to 0.5")
    tables = [problem.realise(50, 1, seed, draw, 0) for seed, draw in ((0, 1), (0, 2), (1, 1))]
    again = Problem(noise=(0.1, 0.5), states=(2, 9)).realise(50, 1, 0, 1, 0)
    assert np.array_equal(tables[0].rewards, again.rewards)
    assert not any(np.array_equal(tables[0].rewards, other.rewards) for other in tables[1:])
    # two tables that differ only in units share everything but the noise
    assert np.array_equal(problem.realise(50, 3, 0, 1, 0).means, tables[0].means)


def test_what_is_left_out_is_unknown_to_advice() -> None:
    wide = Problem(arms=4).widened()
    assert {field: getattr(wide, field) for field in wide.vague} == {
        field: QUANTITIES[field].wide for field in ("states", "dwell", "noise")
    }
    assert Problem(states=3, stickiness=0.9, noise=0.1).widened().vague == ()
    assert Problem(means=MATRIX, transition=CHAIN).widened().vague == ("noise",)
    assert Problem(rewards="bernoulli").widened().vague == ("states", "dwell")
    assert Problem(means="0 to 100").widened().noise == Range(1, 50)  # noise is seen against the means
    assert Problem(kind="drift").widened().vague == ("timescale", "noise")


def test_but_changes_words_and_keeps_the_others() -> None:
    problem = Problem(states=3, stickiness=0.9, seed=4)
    moved = problem.replace(dwell=20)
    assert (moved.dwell, moved.stickiness, moved.states, moved.seed) == (20, None, 3, 4)
    assert eval(repr(moved), {"Problem": Problem}) == moved


BAD = {
    "states=1": "states is 1 but must be an integer from 2 to 1000",
    "states='20 to 3'": "states is '20 to 3' but must be a range with the lower end first",
    "states=(20, 3)": "lower end first",
    "states=2.5": "must be an integer",
    "states='few'": "must be an integer",
    "states=True": "must be an integer",
    "states=[2, 3, 4]": "must be an integer",
    "stickiness=1.5": "stickiness is 1.5 but must be a finite number from 0 to 1",
    "carryover=-0.1": "carryover is -0.1 but must be a finite number from 0 to 1",
    "dwell='0 to 10'": "dwell is '0 to 10' but must be a finite number at least 1",
    "dwell=10, stickiness=0.9": "stickiness is 0.9 but must be none when dwell is given",
    "noise=-1": "noise is -1 but must be a finite number at least 0",
    "noise=float('nan')": "must be a finite number",
    "noise=0.1, rewards='bernoulli'": "none when rewards are bernoulli",
    "means='0 to 2', rewards='bernoulli'": "probabilities from 0 to 1",
    "means=[[0.1, 1.2], [0.3, 0.4]], rewards='bernoulli'": "probabilities from 0 to 1",
    "means='1 to 0'": "lower end first",
    "means=[[0.1, 0.2]]": "at least two states",
    "means=[[0.1, 0.2], [0.3]]": "a matrix with a row per state",
    "means=[[0.1, 0.2], [0.3, 0.4]], arms=3": "arms is 3 but must be 2",
    "means=[[0.1, 0.2], [0.3, 0.4]], states=3": "states is 3 but must be 2",
    "transition=[[0.5, 0.6], [0.1, 0.9]]": "probabilities that sum to one",
    "transition=[[1.5, -0.5], [0.1, 0.9]]": "probabilities that sum to one",
    "transition=[[1]]": "at least two states",
    "transition=[[0.5, 0.5], [0.1, 0.9]], states=3": "states is 3 but must be 2",
    "separation=9": "separation is 9",
    "kind='seasns'": "did you mean seasons?",
    "kind='drift', states=3": "states is 3 but must be none for kind drift",
    "kind='recorded'": "file is None",
    "kind='seasons', dwell=2.5": "dwell is 2.5 but must be a whole number of rounds for seasons",
    "kind='recorded', file='missing.csv'": "file is 'missing.csv'",
    "rewards='poisson'": "one of gaussian, bernoulli",
    "arms=1": "arms is 1 but must be an integer at least 2",
    "units=0": "units is 0 but must be an integer at least 1",
    "horizon=0": "horizon is 0",
    "horizon=10**9": "horizon is 1000000000 but must be at most",
    "runs=0": "runs is 0",
    "runs=10**9": "runs is 1000000000 but must be at most 100000",
    "arms=10**9": "arms is 1000000000 but must be at most 1000",
    "noise=1e160": "noise is 1e+160",
    "means=(0, 1e200)": "must be numbers of size at most 1e+50",
    "seed=-1": "seed is -1",
}


@pytest.mark.parametrize(("words", "said"), BAD.items())
def test_bad_words_are_refused(words: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as refused:
        eval(f"Problem({words})", {"Problem": Problem})
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("problem: ")


def test_the_example_is_the_default_problem(tmp_path: Path) -> None:
    path = tmp_path / "world.toml"
    path.write_text(EXAMPLE)
    problem = read(path)
    policies = problem.policies
    assert policies is not None
    for spec in policies:
        assert lb.policy(spec, arms=problem.arms).arms == 2
    default = Problem()
    assert all(getattr(problem, word) == getattr(default, word) for word in KEYS[:-1])
    # every word is explained, and every word that is commented out can be used
    for word in KEYS:
        assert re.search(rf"^(# )?{word} = ", EXAMPLE, re.MULTILINE), word
    assert set(WORDS) == set(KEYS) - {"policies"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('arms = 4\nstate = "3 to 20"\n', "line 2: word is 'state' but must be one of .* \\(did you mean states\\?\\)"),
        ("# dwel = 3\n\ndwel = 3\n", "line 3: word is .dwel. .* \\(did you mean dwell\\?\\)"),
        ("arms = 2\n[world]\nstates = 3\n", "line 2: word is 'world'"),
        ("arms = 2\n  'polices' = ['ucb1']\n", "line 2: word is .polices. .* \\(did you mean policies\\?\\)"),
        ("states = 1\n", "line 1: states is 1 but must be an integer from 2 to 1000"),
        ('arms = 2\nstates = "20 to 3"\n', "line 2: states is '20 to 3' but must be a range with the lower end first"),
        ("\n\ncarryover = 1.5\n", "line 3: carryover is 1.5 but must be a finite number from 0 to 1"),
        ("transition = [[0.5, 0.6], [0.1, 0.9]]\n", "line 1: transition\\[0\\] is .* probabilities that sum to one"),
        ("arms = \n", "at line 1"),
        ("arms = 2\narms = 3\n", "at line 2"),
        ('arms = 2\npolicies = ["ucb1:explration=2"]\n', "line 2: .*did you mean exploration"),
        ("policies = 3\n", "line 1: policies is 3 but must be a list of names in quotes"),
        ("policies = []\n", "line 1: policies is \\[\\] but must be a list of names in quotes"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "world.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=said) as refused:
        read(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_record_is_found_beside_its_description(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("left,right\n0.1,0.9\n0.8,0.2\n")
    (tmp_path / "w.toml").write_bytes(
        b"\xef\xbb\xbfkind = 'recorded'\nfile = 'r.csv'\n"
    )  # as some editors begin a file
    assert read(tmp_path / "w.toml").realise(2, 1, 0, 0, 0).means.tolist() == [[0.1, 0.9], [0.8, 0.2]]
    for content in ("", "1\n2\n", "1,2\n3\n", "1,2\nx,y\n", "1,1e200\n"):
        (tmp_path / "bad.csv").write_text(content)
        with pytest.raises(ValueError, match="problem: file is"):
            Problem(kind="recorded", file=str(tmp_path / "bad.csv"))


def test_options_go_before_the_file(tmp_path: Path) -> None:
    path = tmp_path / "world.toml"
    path.write_text("stickiness = 0.9\nnoise = 0.3\n")
    problem = read(path, dwell=50, noise="0.1 to 0.2")
    assert (problem.dwell, problem.stickiness, problem.noise) == (50, None, Range(0.1, 0.2))
    path.write_text("states = 5\narms = 4\n")
    assert read(path, means=MATRIX).states == 2


@pytest.mark.parametrize("command", ["compare", "advise", "tune ucb1"])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--states 1", "states is 1"),
        ("--states '20 to 3'", "lower end first"),
        ("--stickiness 1.01", "from 0 to 1"),
        ("--carryover -1", "from 0 to 1"),
        ("--arms two", "arms is 'two'"),
        ("--means '0.1 0.2'", "at least two states"),
        ("--transition '0.5 0.6; 0.2 0.8'", "sum to one"),
        ("missing.toml", "missing.toml cannot be read"),
        ("bad.toml", "line 1: word is .sates. .*did you mean states"),
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


POLICIES_REFUSED = {
    "adarp-ucb": "units of adarp-ucb is 2 but must be at most the problem's 1",
    "state-library:units=2": "units of state-library:units=2 is 2",
    "adasp-ucb:probe_set=0,1,2": "probe_set is [0, 1, 2] but must be different arms from 0 to 1",
    "adasp-ucb:stalenes=3": "did you mean staleness?",
    "adasp-ucb:staleness": "setting of adasp-ucb is 'staleness' but must be KEY=VALUE",
    "adasp-ucb:": "name is 'adasp-ucb:'",
    "ucb1:arms=5": "setting is 'arms=5' but must be a setting other than arms",
    "adasp-ucb:staleness=0": "staleness is 0 but must be an integer at least 1",
    "adasp-ucb:staleness=1,staleness=2": "each setting once",
    "adasq-ucb": "did you mean adasp-ucb?",
    "no_such_module:Policy": "no_such_module:Policy cannot be imported (ModuleNotFoundError",
    "latentbandits.policies.ucb1:UCB7": "cannot be imported (AttributeError",
    "latentbandits.policies.ucb1:UCB1:explore=1": "did you mean exploration?",
    "latentbandits.agent:Agent": "Agent cannot be made",
    "collections:OrderedDict": "must be a NamedTuple class with arms, units and its settings",
    "math:pi": "must be a class with init, choose and learn",
    "missing.toml": "missing.toml cannot be read",
}


@pytest.mark.parametrize(("spec", "said"), POLICIES_REFUSED.items())
def test_bad_policies_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], spec: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["compare", "--policies", "ucb1", spec]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


STRANGER = '''
from typing import NamedTuple
import numpy as np

class Memory(NamedTuple):
    last: np.ndarray

class WinStay(NamedTuple):
    """Stays after a reward above a level, else moves on."""
    arms: int = 2
    units: int = 1
    level: float = 0.5

    def init(self):
        return Memory(np.zeros(1, np.int64))

    def choose(self, state, context, random, choice):
        choice.arms[0] = state.last[0]

    def learn(self, state, choice, rewards):
        state.last[0] = choice.arms[0] if rewards[0] > self.level else (choice.arms[0] + 1) % self.arms
'''


def test_a_strangers_policy_is_named_by_its_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "winners.py").write_text(STRANGER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    specs = ["winners:WinStay", "winners:WinStay:level=0.7", "random"]
    assert cli.main(["compare", "--runs", "10", "--horizon", "500", "--policies", *specs]) == 0
    said = capsys.readouterr().out
    assert all(re.search(rf"^{spec} +[123] ", said, re.MULTILINE) for spec in specs)
    assert lb.policy("winners:WinStay:level=0.7", arms=3).level == 0.7


def test_specs_are_read() -> None:
    spoken, built = lb.policy("adasp-ucb:staleness=12,min_gap=4"), lb.policy("adasp-ucb", staleness=12, min_gap=4)
    assert lb.describe(spoken) == lb.describe(built)
    made = lb.policy("adasp-ucb:probe_set=0,2,min_gap=4,lag=pair", arms=3)
    assert (made.probe_set.tolist(), made.min_gap) == ([0, 2], 4)
    assert split("a.b:C:x=1") == ("a.b:C", {"x": 1})
    assert lb.Agent("sw-ucb:window=77").policy.window == 77  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("class Broken(NamedTuple)\n", "cannot be imported \\(SyntaxError"),
        ("1 / 0\n", "cannot be imported \\(ZeroDivisionError"),
        (
            STRANGER.replace("WinStay", "Broken").replace("self.level else", "self.levl else"),
            "Broken: the code does not compile",
        ),
    ],
)
def test_a_strangers_mistake_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: str, said: str
) -> None:
    name = f"broken{len(code)}"
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert cli.main(["compare", "--runs", "2", "--horizon", "20", "--policies", f"{name}:Broken"]) == 2
    err = capsys.readouterr().err
    assert re.search(said, err)
    assert err.count("\n") == 1
    assert not list(tmp_path.glob("*.svg"))

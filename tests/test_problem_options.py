"""The options of worlds as words of a problem: in Python, in a file, on the command line and in advice."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.advice.parameter import Range
from latentbandits.advice.problem import Problem, as_problem
from latentbandits.advice.vocabulary import OPTIONS
from latentbandits.cli.problem import as_options
from latentbandits.worlds.registry import RECORDED, REGISTRY

SAYINGS: list[tuple[dict[str, Any], Any]] = [
    ({"noise_shape": "t3"}, lb.HiddenMarkov(noise_shape="t3")),
    ({"noise": 0.1, "noise_shape": "t3"}, lb.HiddenMarkov(noise=0.1, noise_shape="t3")),
    ({"noise": 0.1, "noise_shape": "laplace", "kind": "drift"}, lb.Drift(noise=0.1, noise_shape="laplace")),
    ({"dwell_shape": "lognormal"}, lb.HiddenMarkov(dwell=100, dwell_shape="lognormal")),
    ({"dwell": 200, "dwell_shape": "pareto"}, lb.HiddenMarkov(dwell=200, dwell_shape="pareto")),
    ({"rewards": "revenue", "means": "0.1 to 9"}, lb.HiddenMarkov(rewards="revenue", span=(0.1, 9))),
    ({"rewards": "counts", "kind": "seasons", "states": 3}, lb.Seasons(rewards="counts", states=3)),
    ({"rewards": "ratings"}, lb.HiddenMarkov(rewards="ratings", span=(1, 5))),
    ({"delay": 20}, lb.HiddenMarkov(delay=20)),
    ({"delay": "20 to 200", "lost": 0.1}, lb.HiddenMarkov(delay="20 to 200", lost=0.1)),
    ({"delay": "geometric 20"}, lb.HiddenMarkov(delay="geometric 20")),
    ({"states": 1}, lb.HiddenMarkov(states=1)),
    ({"means": [[0.2, 0.4]]}, lb.HiddenMarkov(means=[[0.2, 0.4]])),
    ({"features": 2, "feature_effect": 0.3, "trend": -1}, lb.HiddenMarkov(features=2, feature_effect=0.3, trend=-1)),
    ({"kind": "seasons", "states": 2, "dwell": 1}, lb.Seasons(states=2, dwell=1)),
    ({"rare": 0.02, "states": 2}, lb.HiddenMarkov(rare=0.02, states=2)),
]


@pytest.mark.parametrize(("words", "world"), SAYINGS)
def test_a_saying_is_its_world_in_python_in_a_file_and_as_options(
    words: dict[str, Any], world: Any, tmp_path: Path
) -> None:
    assert Problem(**words).sample(0, 0) == world
    text = "\n".join(f"{word} = {value!r}" for word, value in words.items())
    (tmp_path / "world.toml").write_text(text)
    assert as_problem(tmp_path / "world.toml") == Problem(**words)


@pytest.mark.parametrize(
    ("words", "quantity"), [({"noise": 3e5, "means": "0 to 1e6"}, "noise"), ({"states": "200 to 300"}, "states")]
)
def test_a_sweep_includes_the_range_of_the_problem(words: dict[str, Any], quantity: str) -> None:
    problem = lb.Problem(**words)
    low, high = problem.range(quantity)
    values = problem.grid(quantity)
    assert values[0] < low
    assert values[-1] >= high


def test_the_command_line_takes_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = (
        "--noise|0.1|--noise-shape|t3|--dwell|200|--dwell-shape|lognormal|--delay|20 to 200|--lost|0.1|--states|1 to 5|--uneven-arms|3|"
        "--runs|1|--horizon|20|--policies|random|--json|--out"
    )
    assert cli.main(["compare", *options.split("|"), str(tmp_path / "c.svg")]) == 0
    problem = Problem(
        noise=0.1,
        noise_shape="t3",
        dwell=200,
        dwell_shape="lognormal",
        delay=(20, 200),
        lost=0.1,
        states=(1, 5),
        uneven_arms=3,
        runs=1,
        horizon=20,
    )
    printed = capsys.readouterr().out
    assert '"noise_shape": "t3"' in printed
    assert '"delay": "20 to 200"' in printed
    assert as_options(problem) == (
        "--arms 2 --states '1 to 5' --dwell 200.0 --noise 0.1 --horizon 20 --runs 1 --noise-shape t3 --uneven-arms 3.0 "
        "--dwell-shape lognormal --delay '20 to 200' --lost 0.1"
    )


def test_a_range_with_a_shape_samples_the_number_and_keeps_the_shape() -> None:
    problem = Problem(noise="0.1 to 0.5", noise_shape="laplace", autocorrelation="0.2 to 0.4")
    assert problem.vague == ("noise", "autocorrelation")
    worlds: list[Any] = [problem.sample(0, draw) for draw in range(5)]
    assert {world.noise_shape for world in worlds} == {"laplace"}
    assert len({world.noise for world in worlds}) == 5
    assert all(0.2 <= world.autocorrelation <= 0.4 for world in worlds)
    # what was there before samples what it did then
    assert [world.noise for world in worlds] == [
        Problem(noise=(0.1, 0.5)).sample_quantities(0, i)["noise"] for i in range(5)
    ]
    assert problem.replace(noise=0.2) == Problem(noise=0.2, noise_shape="laplace", autocorrelation=(0.2, 0.4))
    assert problem.replace(noise_shape="t3").noise == Range(0.1, 0.5)
    assert Problem(noise_shape="t3").widen().noise == Range(0.01, 0.5)


def test_perhaps_there_is_no_regime() -> None:
    problem = Problem(states="1 to 5", horizon=200, runs=4)
    counts = np.bincount([int(problem.sample_quantities(0, draw)["states"]) for draw in range(2000)], minlength=6)
    shares = np.diff(np.log([1, 2, 3, 4, 5, 6])) / np.log(6)
    assert np.abs(counts[1:6] / 2000 - shares).max() < 0.04
    assert problem.grid("states")[:2] == [1, 2]
    assert Problem(states=3).grid("states")[0] == 2
    results = lb.simulate(
        problem, ["best-single-arm", "bayes-greedy"], horizon=50, draws=6, repeats=1, interpreted=True
    )
    single = [problem.sample_quantities(0, draw)["states"] == 1 for draw in range(6)]
    assert any(single)
    assert results.regret[:, single].max() == 0


def test_advice_on_one_state() -> None:
    advice = lb.advise(Problem(states=1, noise=0.3, horizon=100, runs=8), ["ucb1", "random"], sweep=False)
    assert advice.winner == "ucb1"


def test_sweeps_leave_names_alone_and_move_shares_that_are_ranges() -> None:
    usual = Problem().movable()
    assert usual == ["dwell", "states", "noise", "horizon"]
    assert Problem(noise=0.1, noise_shape="t3", delay="1 to 9", trend="0 to 1", lost=0.1).movable() == usual
    vague = Problem(lost="0.1 to 0.3", rare="0.01 to 0.1")
    assert vague.movable() == ["dwell", "states", "noise", "rare", "lost", "horizon"]
    for quantity in ("rare", "lost"):
        for value in vague.grid(quantity):
            vague.replace(**{quantity: value})


def test_another_kind_of_world_has_the_same_options() -> None:
    problem = Problem(noise=0.2, noise_shape="t3", delay=5, trend=1, alike=0.5, means="2 to 9", runs=3)
    drifts, still = problem.alternatives().values()
    assert drifts == Problem(
        kind="drift", noise=0.2, noise_shape="t3", delay=5, trend=1, means="2 to 9", timescale=100, arms=2, runs=3
    )
    assert still == problem.replace(stickiness=1.0)
    matrix = Problem(rewards="bernoulli", means=[[0.3, 0.4], [0.5, 0.6]], calendar=0.3)
    drifting = next(iter(matrix.alternatives().values()))
    assert isinstance(drifting, Problem)
    assert drifting.means == Range(0.3, 0.6)


@pytest.mark.parametrize("kind", [kind for kind in REGISTRY if kind != RECORDED])
def test_every_option_at_once(kind: str) -> None:
    """Those that a kind has, at two values each."""
    values: dict[str, Any] = {"noise_shape": "t5", "dwell_shape": "fixed", "dominated": 1, "features": 2, "delay": 3}
    values |= {"window": 20, "learn": "at_once", "wrong_reward": "-1 to 2"}
    words = {word.name: values.get(word.name, "0.2 to 0.4") for word in OPTIONS if kind in word.kinds}
    larger = ("uneven_arms", "uneven_states", "changing_noise", "period", "stretch", "uneven_dwell")
    words |= {name: "2 to 4" for name in larger if name in words}
    found = Problem(kind=kind, arms=4, **words).realise(50, 2, 0, 0, 0)
    assert np.isfinite(found.rewards).all()
    assert found.truth is None


CLICKS = "rewards='bernoulli'"
BAD = {
    "noise_shape='t33'": "must be one of normal, t3, t5, laplace, bimodal, outliers (did you mean t3?)",
    "noise_shape='t3', rewards='counts'": "noise_shape is 't3' but must be left out for counts rewards",
    "kind='seasons', dwell_shape='fixed'": "dwell_shape is 'fixed' but must be left out for kind seasons",
    "kind='drift', rare=0.1": "rare is 0.1 but must be left out for kind drift",
    "delay='20 or so'": "delay is '20 or so' but must be rounds from 0 to 100000",
    "delay=-1": "delay is -1 but must be rounds",
    "lost=1": "lost is 1 but must be a finite number from 0 to 0.99",
    "rewards='ratings', means='0 to 1'": "means is (0.0, 1.0) but must be finite numbers from 1 to 5 for ratings",
    "rare='0.1 to 0.2', states='1 to 3'": "rare is 0.1 but must be left out when",
    **{
        f"kind='{kind}', {CLICKS}, {words}": said
        for kind in ("hidden-markov", "independent", "seasons", "drift")
        for words, said in {
            "means='0 to 1.1'": "means is (0.0, 1.1) but must be finite numbers from 0 to 1 for bernoulli",
            "calendar='0 to 0.1'": "calendar is 0.1 but must be such that means from 0 to 1 stay from 0 to 1",
            "features=1, means='0.3 to 0.9'": "feature_effect is 0.2 but must be such that means from 0.3 to 0.9 stay",
            "trend=0.1": "trend is 0.1 but must be such that",
        }.items()
    },
}


@pytest.mark.parametrize(("words", "said"), BAD.items())
def test_bad_options_are_refused(words: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as refused:
        eval(f"Problem({words})", {"Problem": Problem})
    assert str(refused.value).startswith("problem: ")


def test_impossible_means_are_refused_in_files_and_as_options(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "world.toml"
    path.write_text('rewards = "bernoulli"\nmeans = [[0.1, 1.2], [0.3, 0.4]]\n')
    assert cli.main(["compare", str(path)]) == 2
    assert f"{path}: means is" in capsys.readouterr().err
    assert cli.main(["compare", "--rewards", "bernoulli", "--means", "0 to 2"]) == 2
    assert "must be finite numbers from 0 to 1 for bernoulli rewards" in capsys.readouterr().err

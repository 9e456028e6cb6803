"""Advice: the right winner, honest intervals, true thresholds, and a page that says it all."""

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.advice.candidates import candidates
from latentbandits.advice.flips import CHECK, FIRST, Point, Sweep
from latentbandits.advice.measure import HELD_OUT, looks
from latentbandits.advice.parameter import LINEAR, Range
from latentbandits.advice.race import RISK, Race, race
from latentbandits.advice.text import unconfirmed
from latentbandits.advice.vocabulary import QUANTITIES
from latentbandits.logs.advice import LogAdvice
from latentbandits.policies.groups import ADAPTIVE, BASELINES, ORACLES, PEERS, RECORDS, SCALED, SINGLE_GROUP, TWO_GROUP
from latentbandits.policies.registry import REGISTRY
from latentbandits.worlds.registry import REGISTRY as REGISTRY_OF_WORLDS
from latentbandits_studies.experiments.paper.worlds import published
from tests.conftest import make_hasty

pytestmark = pytest.mark.usefixtures("hasty_limit")
PAPER = {"arms": 2, "states": 10, "stickiness": 0.99, "noise": 0.01, "horizon": 20_000, "runs": 128}
# regime -> what differs from the default, row of the paper's main table, and who may play
REGIMES: dict[str, tuple[dict[str, Any], str, tuple[str, ...]]] = {
    "two states": ({"states": 2}, "S2", SINGLE_GROUP),
    "default": ({}, "default", SINGLE_GROUP),
    "fast": ({"stickiness": 0.5}, "p.5", SINGLE_GROUP),
    "noisy": ({"noise": 0.5}, "sd.5", SINGLE_GROUP),
    "two groups": ({"groups": 2}, "default", (*TWO_GROUP, *SINGLE_GROUP)),
}
SLOW = pytest.mark.slow
SMALL = lb.Problem(states=3, dwell="30 to 60", noise=0.1, horizon=300, runs=24)


@pytest.mark.parametrize(
    "regime", [name if name == "two groups" else pytest.param(name, marks=SLOW) for name in REGIMES]
)
@pytest.mark.parametrize("seed", [11, pytest.param(12, marks=SLOW)])
def test_the_papers_winner_is_found(regime: str, seed: int) -> None:
    words, row, group = REGIMES[regime]
    advice = lb.advise(lb.Problem(**{**PAPER, **words}, seed=seed), "paper", sweep=False)
    table = published()[row]
    assert advice.winner == min(group, key=lambda name: table[name])
    assert advice.sure > 0.8


@pytest.mark.slow
def test_state_library_leads_where_nothing_is_forbidden() -> None:
    advice = lb.advise(lb.Problem(states="5 to 20", dwell=100, noise=0.1, horizon=4000, runs=24), sweep=False)
    assert advice.winner == "state-library"
    assert advice.policy == lb.policy("state-library")
    assert set(advice.table.index) >= set(REGISTRY) - {*RECORDS, *TWO_GROUP, *ORACLES, "random", "ab-test", SCALED}


def test_groups_are_the_columns_of_the_papers_table() -> None:
    columns = [name for name in published()["default"] if name not in ORACLES]
    assert list(SINGLE_GROUP) == [name for name in columns if lb.policy(name).groups == 1]
    assert list(TWO_GROUP) == [name for name in columns if lb.policy(name).groups == 2]
    assert all(lb.policy(name).gated for name in ADAPTIVE)
    assert {*ADAPTIVE, *BASELINES, *PEERS, *RECORDS, *ORACLES} <= set(REGISTRY)
    assert not set(BASELINES) & {*ADAPTIVE, *PEERS}


def test_candidates_are_what_the_deployment_permits() -> None:
    one = candidates(lb.Problem(arms=4))
    assert all(lb.policy(spec, arms=4).groups == 1 for spec in one)
    assert "ab-test:test=1000" in one
    assert "state-library:low=0.02,high=0.2" in candidates(lb.Problem(rewards="bernoulli", means="0.02 to 0.2"))
    two = candidates(lb.Problem(arms=4, groups=2))
    assert {"state-library:groups=2", "adarp-ucb:groups=2", "state-library"} <= set(two)
    assert max(lb.policy(spec, arms=4).groups for spec in two) == 2
    assert "adarp-ucb" in candidates(lb.Problem(arms=2, groups=3))  # no more groups than arms for a probe
    assert list(candidates(lb.Problem(), "paper")) == list(SINGLE_GROUP)
    assert list(candidates(lb.Problem(), ["paper", "state-library"])) == [*SINGLE_GROUP, "state-library"]
    with pytest.raises(ValueError, match="groups of adarp-ucb is 2"):
        lb.advise(SMALL, ["adarp-ucb", "ucb1"])
    with pytest.raises(ValueError, match="policies that are not given the truth"):
        lb.advise(SMALL, ["bayes-planner", "ucb1"])


@pytest.mark.parametrize(
    ("policies", "options", "sentence"),
    [
        (["adarp-ucb"], {}, "groups of adarp-ucb is 2"),
        (["ucb1", "ucb1"], {}, "policies is 'ucb1' but must be given once"),
        (7, {}, "policies is 7"),
        ([], {}, r"policies is \[\]"),
        ([lb.policy("ucb1", arms=5)], {}, r"policies\['UCB1'\].arms is 5"),
        (["ucb1", "ts"], {"workers": 0}, "workers is 0"),
    ],
)
@pytest.mark.parametrize("function", [lb.advise, lb.compare])
def test_a_refusal_names_the_function_that_was_called(
    function: Callable[..., object], policies: Any, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(lb.InvalidValueError, match=f"^{function.__name__}: {sentence}"):
        function(SMALL, policies, **options)


def test_a_race_spends_nothing_on_the_hopeless_and_keeps_the_best() -> None:
    names = ("sw-ucb", "ucb1", "random", "epsilon-greedy")
    policies = {name: lb.policy(name) for name in names}
    world = lb.Problem(states="3 to 6", dwell=100, noise=0.1, horizon=1000)
    found = race(world, policies, (8, 16, 32, 64))
    assert found.winner == "sw-ucb"
    assert found.worlds("random") < found.worlds("sw-ucb") or found.left == ["sw-ucb"]
    # a race and a simulation of all worlds see the same runs
    runs = lb.simulate(world, list(names), horizon=1000, draws=64, repeats=1, seed=0)
    for name, regret in zip(runs.labels, runs.regret, strict=True):
        assert np.allclose(found.regret[name], regret[: found.worlds(name)], rtol=1e-12)
    assert found.order[0] == "sw-ucb"


def test_the_best_is_rarely_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly equal candidates, many looks: a race without a shared risk would lose the best in a fifth of the cases."""
    generator = np.random.default_rng(0)
    candidates: dict[str, Any] = {str(i): None for i in range(9)}
    lost = 0
    for _ in range(300):
        written = 10 + generator.standard_normal((9, 128)) * 3
        written[0] -= 0.02  # the best, by a hair

        def played(
            _: Any, names: dict[str, Any], draws: int, first: int, regret: np.ndarray = written, **__: Any
        ) -> Any:
            rows = np.array([regret[int(name), first : first + draws] for name in names])
            return SimpleNamespace(labels=list(names), regret=rows)

        monkeypatch.setattr("latentbandits.advice.simulator.simulate", played)
        left = race(lb.Problem(horizon=1), candidates, looks(128)).left
        lost += "0" not in left
    assert lost <= 300 * RISK + 3 * np.sqrt(300 * RISK)


@pytest.mark.slow
def test_intervals_of_the_chosen_cover() -> None:
    """Six windows that are nearly as good: the winner was also lucky. Measured on other worlds, its interval covers all the same."""
    seeds, covering = 200, 0.915
    problem = lb.Problem(states=3, dwell=40, noise=0.3, horizon=200, runs=24)
    specs = [f"sw-ucb:window={window}" for window in (30, 36, 42, 48, 54, 60)]
    true = lb.compare(problem, [*specs, "ucb1", "ab-test:test=20"], runs=60 * seeds, seed=999)
    covered, differences, flattered = [], [], []
    for seed in range(seeds):
        advice = lb.advise(problem, specs, seed=seed, sweep=False)
        row = advice.comparison.table.loc[advice.winner]
        covered.append(row["low"] <= true.table.loc[advice.winner, "regret"] <= row["high"])
        cost = advice.costs.loc["ucb1"]
        differences.append(cost["low"] <= true.difference("ucb1", advice.winner)[0] <= cost["high"])
        flattered.append(true.table.loc[advice.winner, "regret"] - advice.race.regret[advice.winner].mean())
    assert covering <= np.mean(covered) <= 2 * 0.95 - covering
    assert covering <= np.mean(differences) <= 2 * 0.95 - covering
    # on the worlds that chose it, the winner looks better than it is
    assert np.mean(flattered) > 2 * np.std(flattered) / np.sqrt(seeds)


def test_worlds_that_choose_measure_and_check_are_different() -> None:
    assert 0 < 10_000 < HELD_OUT < HELD_OUT + 10_000 < FIRST < FIRST + 10_000 < CHECK
    advice = lb.advise(SMALL, ["ucb1", "sw-ucb", "lc-ucb"], sweep=False)
    runs = lb.simulate(advice.problem, ["ucb1"], horizon=300, draws=24, repeats=1, first=HELD_OUT)
    assert advice.comparison.table.loc["ucb1", "regret"] == pytest.approx(runs.regret[0].mean())


SAME = {"one": lb.policy("sw-ucb"), "two": lb.policy("sw-ucb", window=51)}  # but for their names, nearly


@pytest.fixture(scope="module")
def doubtful() -> Iterator[list[lb.Advice]]:
    """Advice between two policies that cannot be separated, by seed."""
    with pytest.MonkeyPatch.context() as patch:
        make_hasty(patch)
        yield [lb.advise(SMALL, SAME, seed=seed, sweep=False) for seed in range(8)]


@pytest.mark.parametrize("seeds", [8, pytest.param(20, marks=SLOW)])
def test_how_sure_is_honest(seeds: int, doubtful: list[lb.Advice]) -> None:
    """Two policies that are the same but for their name cannot be separated; two that differ much can."""
    found = [*doubtful, *(lb.advise(SMALL, SAME, seed=seed, sweep=False) for seed in range(8, seeds))]
    assert np.mean([advice.sure > 0.95 for advice in found]) <= 0.25
    certain = lb.advise(SMALL.replace(horizon=2000), ["sw-ucb", "random"], sweep=False)
    assert certain.sure == pytest.approx(24 / 25)  # as much as 24 worlds bear
    assert "96 % sure" in certain.text()


def test_who_is_not_sure_names_what_is_as_good_instead_of_a_percentage(doubtful: list[lb.Advice]) -> None:
    unsure = [advice for advice in doubtful if advice.sure < 0.5]
    assert unsure
    for advice in unsure:
        assert advice.as_good == [advice.runner_up]
        assert advice.headline.endswith(f"use {advice.winner} or {advice.runner_up}, which are too close to call")
    few = dataclasses.replace(unsure[0], sure=0.2)
    few.__dict__["costs"] = unsure[0].costs.assign(low=0.1)
    assert few.headline.endswith(f"use {few.winner}, which did best, on too few worlds to be sure")
    alone = lb.advise(SMALL, ["sw-ucb"], sweep=False)
    assert alone.headline.endswith("use sw-ucb, the only candidate")


def test_under_an_undecided_log_it_says_what_is_safe(doubtful: list[lb.Advice]) -> None:
    """By one hypothesis two policies are as good as each other, by another one of them is the best."""
    first = next(advice for advice in doubtful if advice.sure < 0.5)
    assert first.runner_up is not None
    rivals = {first.runner_up: SAME[first.runner_up], "random": "random"}
    other = lb.advise(SMALL.replace(horizon=2000), rivals, sweep=False)
    parts = {field.name: getattr(first, field.name) for field in dataclasses.fields(first)}
    undecided = LogAdvice(**parts, hypothesis="regimes", others={"drift": other})
    assert not undecided.agreed
    assert undecided.common == [first.runner_up]
    said = "\n".join(undecided.remarks())
    assert "0 % sure" not in said
    assert f"They differ, but {first.runner_up} is not shown to be worse by any of them: more rows settle it" in said
    apart = LogAdvice(
        **parts, hypothesis="regimes", others={"drift": lb.advise(SMALL, ["ucb1", "random"], sweep=False)}
    )
    assert "They differ: more rows settle it" in "\n".join(apart.remarks())


@pytest.mark.parametrize(
    ("runs", "seeds"), [(8, 10), pytest.param(8, 20, marks=SLOW), pytest.param(32, 20, marks=SLOW)]
)
def test_rare_bad_worlds_do_not_make_it_sure(runs: int, seeds: int) -> None:
    """Thompson sampling is better in most of these worlds and much worse in some: who is seldom bad must not win for sure."""
    problem = lb.Problem(kind="drift", noise="0.01 to 0.5", timescale="50 to 1000", horizon=400)
    found = [lb.advise(problem, ["sw-ucb", "ts"], seed=seed, runs=runs, sweep=False) for seed in range(seeds)]
    wrong = [advice for advice in found if advice.winner == "ts" and advice.sure >= 0.9]
    assert len(wrong) <= 1
    for advice in found:  # never sure against what the fresh worlds say
        assert advice.costs["more"].min() > 0 or advice.sure < 0.5


def test_any_scale_of_rewards() -> None:
    words: dict[str, Any] = {"states": 3, "dwell": 50, "horizon": 300, "runs": 8}
    advice = lb.advise(lb.Problem(means="0 to 100", noise=30, **words), ["ucb1", "random"], sweep=False)
    assert "which learns the range of rewards" in advice.text()
    assert "which learns the range of rewards" in advice.page()


def test_flips_are_where_the_paper_has_them() -> None:
    """In the paper's default world AdaSP-UCB wins; with more noise (its row 0.1) or two states another does."""
    problem = lb.Problem(arms=2, states=10, dwell=100, noise=0.01, horizon=10_000, runs=32)
    table = "adasp-ucb:learn_noise=false"  # the paper's residual floor does not follow the noise
    advice = lb.advise(problem, [table, "lc-ucb", "d-ucb"])
    assert advice.winner == table
    flips = advice.flips.set_index(["quantity", "side"])
    noise = flips.loc[("noise", "above")]
    assert 0.05 < noise["low"] < noise["high"] < 0.2
    assert noise["better"] in ("lc-ucb", "d-ucb")
    assert not noise["inside"]
    assert flips.loc[("states", "below")]["better"] == "lc-ucb"
    assert ("dwell", "above") not in flips.index
    # and it is so: on either side of the threshold, on worlds of another seed
    for factor, better in ((0.5, table), (2.0, noise["better"])):
        there = problem.replace(noise=noise["threshold"] * factor, runs=48, seed=77)
        assert lb.compare(there, [table, noise["better"]]).ranked[0] == better
    text = advice.text()
    assert "What matters most is" in text
    assert f"use {noise['better']}" in text


def test_a_flip_inside_the_range_is_named_as_such() -> None:
    problem = lb.Problem(states=10, dwell=100, noise="0.01 to 0.3", horizon=5000, runs=32)
    advice = lb.advise(problem, ["adasp-ucb:learn_noise=false", "lc-ucb"])
    inside = advice.flips[(advice.flips["quantity"] == "noise") & advice.flips["inside"]]
    assert len(inside) == 1
    assert "inside the given range" in advice.text()


def test_too_few_worlds_and_places_that_cannot_be_written_are_refused(plain: lb.Advice, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="advise: runs is 3 but must be an integer at least 8"):
        lb.advise(SMALL, runs=3)
    with pytest.raises(ValueError, match="must be a file that can be written"):
        plain.save(tmp_path / "no" / "where.html")


def test_the_command_and_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--states", "3 to 5", "--dwell", "40", "--noise", "0.1", "--horizon", "300", "--runs", "8"]
    options += ["--policies", "sw-ucb", "ucb1", "lc-ucb", "--seconds", "0"]
    assert cli.main(["advise", *options]) == 0
    said = capsys.readouterr().out
    assert "use " in said.partition("Expect a regret")[0].lower()
    shared = ["Side by side", "best-single-arm", "attainable reward"]
    for part in [*shared, "What it costs to be wrong", "When the advice would flip", "lb.advise("]:
        assert part in said
    page = (tmp_path / "advice.html").read_text()
    assert page.count("<figure") == 3
    assert "http" not in page.replace("http://www.w3.org", "")
    for part in [*shared, "ucb1", "ab-test"]:
        assert part in page
    # the same command, the same page
    assert cli.main(["advise", *options]) == 0
    assert (tmp_path / "advice.html").read_text() == page
    capsys.readouterr()
    assert cli.main(["advise", *options, "--json", "--no-sweep"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert f"use {found['policy']}" in said.lower()
    assert found["worth"]["policy"] == found["policy"]
    assert {row["policy"] for row in found["candidates"]} == {"sw-ucb", "ucb1", "lc-ucb"}


@pytest.fixture(scope="module")
def plain() -> Iterator[lb.Advice]:
    """Advice between two policies, without flips."""
    with pytest.MonkeyPatch.context() as patch:
        make_hasty(patch)
        yield lb.advise(SMALL, ["sw-ucb", "ucb1"], sweep=False)


def test_advice_has_a_table_a_figure_and_python(plain: lb.Advice) -> None:
    advice = plain
    assert type(advice.table) is pd.DataFrame
    assert f"use {advice.winner}, " in repr(advice)
    assert len(advice.figure().axes) == 2
    place: dict[str, Any] = {}
    code = advice.python().replace("print(advice.text())", "").replace("advice.save('advice.html')", "")
    code = code.replace("'ucb1'])", "'ucb1'], sweep=False)")
    exec(code, place)
    assert place["advice"].winner == advice.winner
    assert place["agent"].policy == advice.policy
    assert advice.flips.empty
    alone = lb.advise(SMALL, ["ucb1"])
    assert "It was the only candidate." in alone.text()
    with pytest.raises(ValueError, match="advise: problem is HiddenMarkov"):
        lb.advise(lb.HiddenMarkov())  # type: ignore[arg-type]


def test_advice_is_shown_and_saved(plain: lb.Advice, tmp_path: Path) -> None:
    advice = plain
    shown = advice._repr_html_()
    assert advice.headline in shown
    assert all(f">{name}<" in shown for name in advice.table.index)
    assert "data:image/svg+xml" in shown
    advice.save(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text() == advice.page()
    advice.save(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().startswith("policy,over_winner,worlds,dropped\n")
    advice.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text()) == advice.values()
    advice.save(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match=r"advise: path is .* or \.html"):
        advice.save(tmp_path / "a.txt")


@pytest.mark.parametrize(
    "problem",
    [
        lb.Problem(kind="drift", timescale="50 to 100", horizon=200, runs=8),
        lb.Problem(kind="seasons", states=3, dwell=30, horizon=300, runs=8),
        lb.Problem(rewards="bernoulli", means="0.1 to 0.6", horizon=300, runs=8),
        lb.Problem(means=[[0.9, 0.1], [0.2, 0.6]], transition=[[0.98, 0.02], [0.05, 0.95]], horizon=300, runs=8),
        lb.Problem(stickiness=(0.9, 0.99), carryover="0 to 0.5", arms=3, groups=2, horizon=300, runs=8),
        lb.Problem(stickiness=1.0, noise=0.0, states=2, horizon=300, runs=8),
    ],
)
def test_any_kind_of_problem_gets_advice(problem: lb.Problem) -> None:
    advice = lb.advise(problem, ["sw-ucb", "ucb1"])
    assert advice.winner in advice.table.index
    assert advice.text().startswith(("Use ", "Not worth it: ", "Not shown to be worth it: "))
    assert "</html>" in advice.page()


def test_of_many_variants_of_the_winner_only_the_best_are_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("latentbandits.advice.advise.LEAST_SURE", 0.0)
    problem = lb.Problem(states=3, dwell=30, noise=0.2, horizon=300, runs=8)
    specs = ["sw-ucb", "sw-ucb:window=30", "sw-ucb:window=40", "sw-ucb:window=70", "random"]
    advice = lb.advise(problem, specs)
    assert advice.sweeps
    raced = set(advice.sweeps[0].points[0].race.regret)
    assert {advice.winner, "sw-ucb", "random"} <= raced
    assert len(raced) < len(specs)
    assert "</html>" in advice.page()


def test_who_nearly_flipped_it_is_never_the_winner() -> None:
    """A rival that met fewer worlds may have done better on those, though the winner leads the race."""
    made = Race({"winner": np.array([9.0, 9.0, 1.0, 1.0]), "rival": np.array([5.0, 5.0])}, ["winner"])
    sweep = Sweep("dwell", Range(20, 50), [Point(30.0, lb.Problem(), made)], [])
    assert unconfirmed(sweep, "winner") == ["dwell near 30: rival did better on a few worlds, too few to be sure."]


def test_every_quantity_is_swept_in_some_problem_and_every_kind_can_be_widened() -> None:
    swept = set()
    for kind in REGISTRY_OF_WORLDS:
        if kind != "recorded":
            problem = lb.Problem(kind=kind).widen()
            ranges = {name: "0.1 to 0.4" for name in QUANTITIES if QUANTITIES[name].scale == LINEAR}
            ranges = {name: text for name, text in ranges.items() if kind in QUANTITIES[name].kinds}
            swept |= {*problem.replace(**ranges).movable()}
    assert swept == {name for name, word in QUANTITIES.items() if word.swept} | {"horizon"}

"""Advice within a number of seconds: where they go, what is left undone, and that enough of them change nothing; the clock is ours."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.advice import simulator as module
from latentbandits.advice.measure import looks
from latentbandits.advice.race import race
from latentbandits.advice.simulator import RACE, START, Simulator, Spent

pytestmark = pytest.mark.usefixtures("hasty_limit")
PROBLEM = lb.Problem(states=3, dwell="30 to 60", noise=0.1, horizon=300, runs=24)
NAMES = ["sw-ucb", "ts", "epsilon-greedy", "random"]
ROUND = 1e-3  # seconds that a round takes, by our clock


class Clock:
    """Goes on when something is simulated, by as much for every round, and when something is compiled."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, pace: float) -> None:
        self.now = self.compiled = 0.0
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: self.now))
        monkeypatch.setattr(module, "waited", lambda: self.compiled)
        monkeypatch.setattr(module, "simulate", self.simulate(pace))

    def simulate(self, pace: float) -> Callable[..., lb.Results]:
        def simulated(*given: Any, **options: Any) -> lb.Results:
            results = lb.simulate(*given, **options)
            self.now += pace * results.regret.size * results.horizon
            return results

        return simulated


def advised(seconds: float | None, names: list[str] = NAMES, **options: Any) -> lb.Advice:
    return lb.advise(PROBLEM, names, seconds=seconds, workers=1, **options)


def test_enough_seconds_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = advised(None)
    Clock(monkeypatch, pace=1e-9)
    found = advised(60)
    assert found.spent is not None
    assert found.spent.undone == ()
    assert endless.spent is None
    assert found.table.equals(endless.table)
    assert found.comparison.table.equals(endless.comparison.table)
    assert found.flips.equals(endless.flips)
    assert (found.winner, found.sure) == (endless.winner, endless.sure)
    said = found.text().splitlines()
    assert [line for line in said if line not in endless.text().splitlines()] == [
        "Nothing was left undone: 0 s of 60 s were spent."
    ]


@pytest.mark.parametrize("seconds", [1.0, 40.0])
def test_seconds_are_kept_and_what_is_left_undone_is_said(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, ROUND)
    found = advised(seconds)
    spent = found.spent
    assert spent is not None
    assert spent.seconds == clock.now
    # choice and measurement play a few worlds in any case: four candidates, and winner, runner-up, plain policies and references
    assert clock.now <= seconds + START * (len(NAMES) + 8) * PROBLEM.horizon * ROUND
    assert spent.undone
    assert f"Left undone: {spent.undone[0]}" in found.text()
    assert spent.undone[0] in found.page()
    assert found.values()["spent"]["budget"] == seconds
    assert f"seconds={seconds:g}" in found.python()
    assert found.sure <= found.comparison.results.draws / (found.comparison.results.draws + 1)


def test_more_seconds_measure_more_and_then_look_for_flips(monkeypatch: pytest.MonkeyPatch) -> None:
    worlds, swept = [], []
    for seconds in (1.0, 20.0, 60.0, 300.0):
        Clock(monkeypatch, ROUND)
        found = advised(seconds, ["sw-ucb", "random"])
        worlds.append(found.comparison.results.draws)
        swept.append(len(found.sweeps))
    assert worlds == sorted(worlds)
    assert (worlds[0], worlds[-1]) == (START, PROBLEM.runs)
    assert swept == sorted(swept)
    assert swept[0] == 0 < swept[-1]


def test_a_short_race_goes_on_with_those_in_front(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, ROUND)
    policies = {name: lb.policy(name) for name in ("sw-ucb", "d-ucb", "ts", "epsilon-greedy", "ucb1")}
    whole = len(policies) * 40 * PROBLEM.horizon * ROUND
    simulator = Simulator(whole)
    simulator.stage(RACE)
    found = race(PROBLEM, policies, looks(64), simulator=simulator)
    worlds = [found.worlds(label) for label in found.left]
    assert found.hurried
    assert clock.now <= RACE * whole
    assert found.worlds(found.winner) == max(worlds) > min(worlds)
    assert set(found.left) <= set(policies)


def test_compiling_is_not_counted_but_said(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 1e-9)
    play = clock.simulate(1e-9)

    def compiling(*given: Any, **options: Any) -> lb.Results:
        clock.now, clock.compiled = clock.now + 50.0, clock.compiled + 50.0
        return play(*given, **options)

    monkeypatch.setattr(module, "simulate", compiling)
    found = advised(10, sweep=False)
    assert found.spent is not None
    assert found.spent.undone == ()
    assert found.spent.seconds < 1
    assert found.spent.compiling >= 50
    assert f"besides {found.spent.compiling:.0f} s of compiling" in found.text()


def test_a_hasty_choice_between_equals_is_not_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten windows that are nearly the same, and time for some worlds only: to be sure of one of them is an error."""
    Clock(monkeypatch, ROUND)
    names = [f"sw-ucb:window={window}" for window in range(46, 56)]
    sure = [advised(seconds, names, seed=seed, sweep=False).sure for seconds in (10, 60) for seed in range(4)]
    assert np.mean(np.array(sure) > 0.9) <= 0.1


def test_progress_ends_at_its_total(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, ROUND)
    seen: list[tuple[int, int | None]] = []
    advised(30, progress=lambda done, total: seen.append((done, total)))
    assert all(total is None or done <= total for done, total in seen)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == seen[-1][1] == round(clock.now / ROUND)


def test_a_limit_that_takes_long_is_left_out_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 1e-9)
    play = clock.simulate(1e-9)

    def slow(world: Any, made: dict[str, Any], **options: Any) -> lb.Results:
        clock.now += options["draws"] * ("bayes-planner" in made)
        return play(world, made, **options)

    monkeypatch.setattr(module, "simulate", slow)
    found = advised(20, sweep=False)
    assert found.spent is not None
    assert found.spent.undone == ("the limit, which takes long",)
    assert "bayes-planner" not in found.comparison.table.index
    assert found.comparison.results.draws == PROBLEM.runs
    for shown in (found.text(), found.page()):
        assert "the limit was left out for lack of time" in shown


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_seconds_that_cannot_be_spent_are_refused(seconds: float) -> None:
    with pytest.raises(lb.InvalidValueError, match=r"advise: seconds is .* but must be a finite number above 0"):
        advised(seconds)


def test_the_command_spends_a_minute_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    given: list[Any] = []

    def advise(*_: Any, **options: Any) -> Any:
        given.append(options["seconds"])
        raise lb.InvalidValueError("advise", "seconds", options["seconds"], "seen")

    monkeypatch.setattr("latentbandits.advice.advise.advise", advise)
    for options in ([], ["--seconds", "0"], ["--seconds", "7.5"]):
        assert cli.main(["advise", "--out", str(tmp_path / "advice.html"), *options]) == 2
    assert given == [60.0, None, 7.5]


def test_sentences_say_how_much_was_spent() -> None:
    assert Spent(60.0, 59.6, 31.2, ("a", "b")).sentences() == [
        "60 s of 60 s were spent, besides 31 s of compiling. Left undone: a; b. More seconds leave less undone."
    ]


@pytest.mark.parametrize("sweep", [False, True])
def test_progress_counts_rounds_and_ends_at_its_total(sweep: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("latentbandits.advice.advise.LEAST_SURE", 0.0)
    played, seen = [], []

    def counted(*given: Any, **options: Any) -> lb.Results:
        results = lb.simulate(*given, **options)
        played.append(results.regret.size * results.horizon)
        return results

    monkeypatch.setattr("latentbandits.advice.simulator.simulate", counted)
    lb.advise(
        PROBLEM, ["sw-ucb", "lc-ucb", "random"], sweep=sweep, progress=lambda done, most: seen.append((done, most))
    )
    done, most = zip(*seen, strict=True)
    assert done[-1] == most[-1] == sum(played)
    assert list(done) == sorted(done)
    assert set(most[:-1]) == {None}  # how many there will be is known by the clock alone
    assert len(played) > (10 if sweep else 1)

"""Candidates that are given the noise: advised only where that helps with certainty and does no harm at another noise."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits.advice.candidates import candidates
from latentbandits.advice.flips import CHECKED
from latentbandits.advice.given import Given, challenge, informed, other_noise, rounds, sentences
from latentbandits.advice.race import Race

PROBLEM = lb.Problem(states=3, dwell=40, noise=0.2, horizon=100, runs=32)
PLAIN, RANGE, NOISE = "state-library", "state-library:low=0,high=1", "state-library:noise=0.2,low=0,high=1"
SPREAD = np.tile([[-1, 1, -1, 1], [-1, -1, 1, 1], [-1, 1, 1, -1]], CHECKED)  # of the worlds, for three policies


def settled(monkeypatch: pytest.MonkeyPatch, at: dict[float, dict[str, float]]) -> tuple[Race, Given | None, int]:
    """Return what `challenge` makes of mean regrets by noise, and the rounds it played."""
    played = []

    def simulate(there: lb.Problem, named: dict[str, Any], draws: int, horizon: int, progress: Any, **_: Any) -> Any:
        played.append(len(named) * draws * horizon)
        progress(played[-1], played[-1])
        means = at[round(there.noise, 6)]
        return SimpleNamespace(regret=np.array([means[label] + SPREAD[i, :draws] for i, label in enumerate(named)]))

    monkeypatch.setattr("latentbandits.advice.given.simulate", simulate)
    chosen = Race({PLAIN: np.full(8, 10.0), "ts": np.full(8, 20.0)}, [PLAIN])
    named = {label: label for label in (PLAIN, RANGE, NOISE)}
    challengers = {RANGE: "the range of means", NOISE: "the noise and the range of means"}
    seen = []
    race, found = challenge(PROBLEM, named, chosen, challengers, None, lambda done, most: seen.append((done, most)))
    assert seen[-1] == (sum(played), sum(played))
    assert max(most for _, most in seen) <= rounds(PROBLEM, 2)
    return race, found, sum(played)


EVEN = {PLAIN: 10.0, RANGE: 10.0, NOISE: 10.0}


def test_who_is_not_better_with_certainty_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    race, found, played = settled(monkeypatch, {0.2: EVEN | {NOISE: 9.99}})
    assert (race.winner, found) == (PLAIN, None)
    assert played == 3 * 32 * 100  # no other noise is tried
    assert set(race.regret) == {PLAIN, RANGE, NOISE, "ts"}
    assert race.left == [PLAIN]


def test_who_is_better_and_survives_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    here = EVEN | {NOISE: 8.0}
    race, found, _ = settled(monkeypatch, {0.2: here, 0.08: EVEN, 0.5: EVEN | {NOISE: 9.0}})
    assert race.winner == NOISE
    assert found is not None
    assert found.recommended
    assert found.saves == pytest.approx(0.2, abs=0.05)
    assert "It is given the noise and the range of means, which saves" in sentences(found)[0]


@pytest.mark.parametrize("bad", [0.08, 0.5])
def test_who_loses_at_another_noise_is_not_chosen(monkeypatch: pytest.MonkeyPatch, bad: float) -> None:
    at = {0.2: EVEN | {NOISE: 8.0}, 0.08: EVEN, 0.5: EVEN}
    at[bad] = EVEN | {NOISE: 17.2}
    race, found, _ = settled(monkeypatch, at)
    assert race.winner == PLAIN
    assert found is not None
    assert not found.recommended
    assert (found.label, found.learns) == (NOISE, PLAIN)
    assert found.noise == pytest.approx(bad)
    assert found.loses == pytest.approx(0.72, abs=0.02)
    assert f"if the noise is in fact {bad:g}, it has 72 % more regret than state-library" in sentences(found)[0]


def test_the_range_alone_may_pass_where_the_noise_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    at = {0.2: EVEN | {NOISE: 7.0, RANGE: 8.0}, 0.08: EVEN, 0.5: EVEN | {NOISE: 17.2}}
    race, found, _ = settled(monkeypatch, at)
    assert race.winner == RANGE
    assert found is not None
    assert (found.label, found.recommended) == (RANGE, True)


def test_other_noise_is_the_range_or_what_an_exact_value_may_be_in_truth() -> None:
    assert other_noise(PROBLEM) == pytest.approx((0.08, 0.5))
    assert other_noise(PROBLEM.replace(noise="0.1 to 0.3")) == pytest.approx((0.1, 0.3))
    assert sentences(None) == []
    assert not Given("a", "the noise", "b", 0.1, 0.5, math.inf).recommended


def test_who_is_given_something() -> None:
    problem = lb.Problem(noise=0.2, means="0 to 1", units=2, arms=3)
    named = candidates(problem)
    assert informed(named, {label: lb.policy(spec, arms=3) for label, spec in named.items()}, problem) == {
        RANGE: "the range of means",
        NOISE: "the noise and the range of means",
        "state-library:units=2,low=0,high=1": "the range of means",
        "state-library:units=2,noise=0.282843,low=0,high=1": "the noise and the range of means",
    }
    alone = {NOISE: NOISE, "ts": "ts", "ts:noise=0.3": "ts:noise=0.3"}  # nobody else learns the noise
    assert informed(alone, {label: lb.policy(spec) for label, spec in alone.items()}, problem) == {}
    assert informed({PLAIN: PLAIN, NOISE: NOISE}, {}, lb.Problem(rewards="bernoulli")) == {}


def test_advice_says_what_it_set_aside() -> None:
    """Given a noise, StateLibrary is worse at other noises, whatever it saves here."""
    specs = [PLAIN, "state-library:noise=0.2", "ucb1"]
    advice = lb.advise(PROBLEM.replace(horizon=400, runs=16), specs, sweep=False)
    assert advice.winner == PLAIN
    assert advice.set_aside == ("state-library:noise=0.2",)
    assert advice.rivals == ["ucb1"]
    assert advice.runner_up == "ucb1"
    assert "state-library:noise=0.2" in advice.costs.index
    assert advice.table.loc["state-library:noise=0.2", "worlds"] == 16

"""Learners that differ in their summary alone, the ladder's verdicts, and the figures of App and Reg."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

import latentbandits as lb
from latentbandits.presentation.palette import plotting
from latentbandits.protocols import Choice
from latentbandits.random import stream
from latentbandits.simulation.batch import record_one
from latentbandits.testing import PolicyChecks
from latentbandits_studies.experiments import decomposition, ladder
from latentbandits_studies.experiments.claims import FAILS, HOLDS, OPEN, TARGET, TIED
from latentbandits_studies.experiments.ladder import (
    APP,
    BELIEF,
    JOINT,
    MARK,
    NO_PROBES,
    PAIR,
    PAIRS,
    PRICE,
    PRODUCTS,
    plot_rungs,
)
from latentbandits_studies.policies.summaries import BeliefLearner, SummaryLearner, summarise
from tests.test_representation import constructed as constructed_decomposition


class Checks(PolicyChecks):
    rounds, redraws = 100, 2_500


class TestAllParts(Checks):
    def policy(self) -> Any:
        return SummaryLearner(arms=3, lags=2, fingerprint=True, products=True, interval=7)


class TestSeveralUnits(Checks):
    def policy(self) -> Any:
        return SummaryLearner(arms=2, groups=3, lags=3)


class TestCovariatesOnly(Checks):
    def policy(self) -> Any:
        return SummaryLearner(arms=2, lags=0, covariates=4, interval=10)


@pytest.mark.parametrize(
    ("summary", "trace"),
    [
        ({"lags": 1, "fingerprint": True, "interval": 9}, {"fingerprint": True, "interval": 9}),
        ({"lags": 1, "exploration": 0.3, "regularization": 2.0}, {"exploration": 0.3, "regularization": 2.0}),
    ],
)
def test_is_the_papers_learner_where_the_summary_is(summary: dict[str, Any], trace: dict[str, Any]) -> None:
    realised = lb.HiddenMarkov(arms=3, noise=0.1).realise(3000, 1, seed=1, draw=0, repeat=0)
    mine = record_one(SummaryLearner(arms=3, **summary), realised, stream(0))
    its = record_one(lb.policies.TraceLearner(arms=3, lag="slopes", **trace), realised, stream(0))
    np.testing.assert_array_equal(mine[0], its[0])
    np.testing.assert_array_equal(mine[1], its[1])


def test_features_are_what_was_seen() -> None:
    policy = SummaryLearner(arms=2, lags=2, fingerprint=True, products=True, covariates=1, interval=5)
    state, choice, random = policy.init(), Choice.blank(policy), stream(0)
    rewards = np.arange(1, 14) / 10
    played = []
    for reward in rewards:
        policy.choose(state, np.zeros(1), random, choice)
        played.append(int(choice.arms[0]))
        policy.learn(state, choice, np.array([reward]))
    assert played[4:6] == [0, 1]  # rounds 5 and 6, and 10 and 11, are probes
    assert played[9:11] == [0, 1]
    policy.choose(state, np.array([9.0]), random, choice)
    mark = [1.0, 1.1]
    pairs = [
        [float(arm == 0), float(arm == 1), reward * (arm == 0), reward * (arm == 1)]
        for arm, reward in zip(played, rewards, strict=True)
    ]
    products = [seen * value for seen in mark for value in pairs[-1]]
    wanted = [*mark, *pairs[-1], *pairs[-2], *products, 9.0]
    np.testing.assert_allclose(choice.features, wanted)
    assert policy.width == len(wanted)


def test_a_summary_without_lags_has_a_constant() -> None:
    policy = SummaryLearner(arms=2, lags=0, fingerprint=True, interval=5)
    features = np.zeros(policy.width)
    summarise(policy, policy.init(), np.zeros(0), features)
    assert features.tolist() == [0.0, 0.0, 1.0]


def test_parts_of_an_older_probe_come_too_late() -> None:
    policy = SummaryLearner(arms=2, fingerprint=True, interval=5)
    state, random, open_choices = policy.init(), stream(0), []
    for _ in range(11):
        choice = Choice.blank(policy)
        policy.choose(state, np.zeros(0), random, choice)
        open_choices.append(choice)
    for late in (4, 5):
        policy.learn(state, open_choices[late], np.array([0.3]))
    assert not state.fingerprint.any()
    for current in (10, 9):
        policy.learn(state, open_choices[current], np.array([0.4 + current / 100]))
    np.testing.assert_allclose(state.fingerprint, [0.49, 0.5])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"interval": 1}, "at least the 2 rounds of a probe"),
        ({"fingerprint": True}, "False without an interval"),
        ({"products": True, "lags": 0, "fingerprint": True, "interval": 9}, "without a lag"),
    ],
)
def test_refusals(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        SummaryLearner(arms=2, **settings)


def test_belief_learner_sees_the_filters_belief() -> None:
    realised = lb.HiddenMarkov(states=3, noise=0.1).realise(200, 1, seed=2, draw=0, repeat=0)
    believer = BeliefLearner(arms=2, interval=20).informed(realised)
    known = lb.policies.BayesGreedy(arms=2).informed(realised)
    state, choice = believer.init(), Choice.blank(believer)
    its, other = known.init(), Choice.blank(known)
    with np.errstate(all="ignore"):
        for t in range(200):
            believer.choose(state, np.zeros(0), stream(0), choice)
            known.choose(its, np.zeros(0), stream(0), other)
            np.testing.assert_array_equal(choice.features[1:], its.belief)
            other.arms[:] = choice.arms
            for policy, memory, made in ((believer, state, choice), (known, its, other)):
                policy.learn(memory, made, realised.rewards[t, [0], choice.arms])


def test_belief_learner_is_the_same_compiled_and_interpreted() -> None:
    realised = lb.HiddenMarkov(states=4, noise=0.1).realise(400, 2, seed=2, draw=0, repeat=0)
    base = BeliefLearner(arms=2, groups=2, interval=20)
    compiled, interpreted = (record_one(base, realised, stream(0), interpreted=plain) for plain in (False, True))
    np.testing.assert_array_equal(compiled[0], interpreted[0])
    np.testing.assert_array_equal(compiled[1], interpreted[1])


def test_all_rungs_probe_alike() -> None:
    case = ladder.cases("quick")[0]
    found = lb.simulate(
        case.world, {name: rung.learner for name, rung in ladder.RUNGS.items()}, horizon=400, draws=1, repeats=1
    )
    rounds = dict(zip(found.labels, found.counts["probe_rounds"][:, 0].tolist(), strict=True))
    assert rounds.pop(NO_PROBES) == 0
    assert set(rounds.values()) == {20}  # two of forty, the first and last half of one among them


# The verdicts

DRAWS = 4
WIGGLE = np.arange(DRAWS) / 100
APPS = {NO_PROBES: 90, PAIR: 80, PAIRS: 50, MARK: 120, JOINT: 60, PRODUCTS: 60, BELIEF: 10}
REGS = {NO_PROBES: 80, PAIR: 100, PAIRS: 105, MARK: 90, JOINT: 120, PRODUCTS: 105, BELIEF: 40}


def constructed(
    apps: Mapping[str, Any] | None = None, regs: Mapping[str, Any] | None = None, price: Any = 40.0
) -> pd.DataFrame:
    """Return a table of runs in which all claims hold, but for what is changed in the last world."""
    lines = []
    for case in ladder.WORLDS:
        last = case == list(ladder.WORLDS)[-1]
        app, reg = ({**usual, **(changed or {} if last else {})} for usual, changed in ((APPS, apps), (REGS, regs)))
        regrets = {PRICE: (price if last else 40.0) + WIGGLE}
        for rung in ladder.RUNGS:
            regrets[rung + APP] = app[rung] + WIGGLE
            regrets[rung] = app[rung] + reg[rung] + WIGGLE + WIGGLE**2
        for label, regret in regrets.items():
            lines += [
                {"case": case, "policy": label, "draw": d, "repeat": 0, "regret": regret[d]} for d in range(DRAWS)
            ]
    return pd.DataFrame(lines)


NOISY = np.array([-50.0, 60.0, -40.0, 50.0])
VERDICTS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("app-three-pairs", {"apps": {PAIRS: 85}}, {"apps": {PAIRS: 80 + NOISY}}),
    ("app-fingerprint", {"apps": {JOINT: 85}}, {"apps": {JOINT: 80 + NOISY}}),
    ("app-pair", {"apps": {JOINT: 130}}, {"apps": {JOINT: 120 + NOISY}}),
    ("app-belief", {"apps": {BELIEF: 52}}, {"apps": {BELIEF: 45 + NOISY}}),
    ("reg-three-pairs", {"regs": {PAIRS: 95}}, {"regs": {PAIRS: 100 + NOISY}}),
    ("reg-products", {"regs": {PRODUCTS: 130}}, {"regs": {PRODUCTS: 120 + NOISY}}),
    ("reg-belief", {"regs": {BELIEF: 95}}, {"regs": {BELIEF: 90 + NOISY}}),
    ("regret-probes", {"regs": {PAIR: 80}}, {"regs": {PAIR: 90 + NOISY}}),
    ("regret-three-pairs", {"regs": {PAIRS: 120}}, {"regs": {PAIRS: 115 + NOISY}}),
]


def verdict(results: pd.DataFrame, name: str) -> str:
    claim = {one.id: one for one in ladder.score(results)}[f"ladder/{name}"]
    assert claim.kind == TARGET
    return claim.verdict


@pytest.mark.parametrize(("name", "contrary", "unsure"), VERDICTS)
def test_every_verdict_can_come_out(name: str, contrary: dict[str, Any], unsure: dict[str, Any]) -> None:
    assert verdict(constructed(), name) == HOLDS
    assert verdict(constructed(**contrary), name) == FAILS
    assert verdict(constructed(**unsure), name) == TIED


def test_price_is_judged() -> None:
    assert verdict(constructed(), "reg-price") == HOLDS
    assert verdict(constructed(price=20.0), "reg-price") == FAILS
    assert verdict(constructed(price=32.0 + NOISY / 10), "reg-price") == OPEN


def test_all_claims_are_tested() -> None:
    names = {f"ladder/{name}" for name, *_ in VERDICTS} | {"ladder/reg-price"}
    assert {claim.id for claim in ladder.score(constructed())} == names


# The figures


def test_ladder_figure_has_a_bar_for_each_term_and_rung() -> None:
    with plotting():
        figure = plot_rungs(constructed())
    assert [axes.get_title() for axes in figure.axes] == list(ladder.WORLDS)
    bars = figure.axes[0].patches
    assert len(bars) == 2 * len(ladder.RUNGS)
    ends = sorted(bar.get_x() + bar.get_width() for bar in bars)  # type: ignore[attr-defined]
    assert ends[-1] == pytest.approx(APPS[MARK] + REGS[MARK], abs=0.1)
    assert "20,000 rounds" in figure.axes[-1].get_xlabel()


def test_a_learner_that_beats_its_summary_is_hatched() -> None:
    with plotting():
        plain = decomposition.plot_decomposition(constructed_decomposition())
        better = decomposition.plot_decomposition(constructed_decomposition({("p.8", "sp-ucb"): np.full(4, 30.0)}))
    hatched = [[bar for bar in axes.patches if bar.get_hatch()] for axes in better.axes]
    assert [len(bars) for bars in hatched] == [0, 2, 0]  # lag 40 and fingerprint 60, in the middle world
    assert not any(bar.get_hatch() for axes in plain.axes for bar in axes.patches)
    assert len(better.legends[0].get_texts()) == len(plain.legends[0].get_texts()) + 1

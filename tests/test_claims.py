"""Every score, on tables made by hand: each claim comes out as each of the verdicts that it can have."""

import functools
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest

import latentbandits as lb
from latentbandits_studies.experiments import ablation, example, gates, sensitivity
from latentbandits_studies.experiments.claims import (
    FAILS,
    HOLDS,
    KINDS,
    OPEN,
    PAPER,
    PROVED,
    PUBLISHED_MATRICES,
    READING,
    TARGET,
    TIED,
    VERDICTS,
    Claim,
    Order,
    agreed,
    came_out,
    compared,
    order,
    quotient,
    temper,
)
from latentbandits_studies.experiments.paper import choices
from latentbandits_studies.experiments.paper.choices import READINGS, judge
from latentbandits_studies.experiments.paper.sentences import SENTENCES
from latentbandits_studies.experiments.paper.worlds import TITLES, rows
from latentbandits_studies.experiments.registry import experiment, experiments, ids
from latentbandits_studies.experiments.table2 import claims as table2_claims
from latentbandits_studies.experiments.table2 import closed
from tests.constructed import DRAWS, Change, Key, runs, verdicts
from tests.constructed_probing import (
    ABLATED,
    ABLATION,
    CHANGES,
    CLOCK,
    COMBINATION,
    COMBINED,
    EVEN,
    RESIDUALS,
    SENSITIVITY,
    TIMING,
    gated,
    opening,
    schedule,
)
from tests.constructed_table2 import EXPLAINED, LIMITED, LIMITS, PRINTED, SCALE, TABLE2
from tests.constructed_worlds import (
    EXAMPLE,
    EXAMPLE_BASE,
    FIGURES,
    FREQUENT,
    MANY,
    MANY_ARMS,
    MISSPECIFICATION,
    OPTIMAL,
    WINNING,
    WON,
)

# Experiment -> a table, and changes of it with the verdict that a claim then has
SCORES: dict[str, tuple[Mapping[Key, float], list[tuple[str, str, Change]]]] = {
    "table2": (PRINTED, TABLE2),
    "scale": (EXPLAINED, SCALE),
    "limit": (LIMITED, LIMITS),
    "winning-rates": (WON, WINNING),
    "optimal-arm-frequency": (FREQUENT, OPTIMAL),
    "sensitivity": (EVEN, SENSITIVITY),
    "gates": (COMBINED, COMBINATION),
    "ablation": (ABLATED, ABLATION),
    "misspecification": (FIGURES, MISSPECIFICATION),
    "many-arms": (MANY, MANY_ARMS),
    "example": (EXAMPLE_BASE, EXAMPLE),
    "residuals": (dict.fromkeys(opening(0.05).columns["residual_gate"], 1.0), RESIDUALS),
    "timing": (schedule(10, 40, 10).regret, TIMING),
}
# Claims in closed form: nothing of a table can change them
CLOSED = {
    "table2/gap",
    "table2/harder",
    "table2/switching",
    "sensitivity/hazard",
    "ablation/half-of-windows",
    "example/ambiguous",
    "example/unique",
}
# Targets that are counts: a point is met or missed
COUNTS = {"table2/cells", "table2/ranks"}


@functools.cache
def judged(name: str, place: int) -> dict[str, str]:
    """Return the verdicts on the table of an experiment with one of its changes."""
    base, changes = SCORES[name]
    return verdicts(experiment(name).score, base, changes[place][2])


@pytest.mark.parametrize(
    ("name", "claim", "verdict", "place"),
    [
        pytest.param(name, claim, verdict, place, id=f"{name}/{claim}-{verdict}-{place}")
        for name, (_, changes) in SCORES.items()
        for place, (claim, verdict, _) in enumerate(changes)
    ],
)
def test_a_claim_comes_out_as(name: str, claim: str, verdict: str, place: int) -> None:
    changes = [change for _, _, change in SCORES[name][1]]
    assert judged(name, changes.index(changes[place]))[f"{name}/{claim}"] == verdict


@pytest.mark.parametrize("name", SCORES)
def test_every_claim_was_made_to_hold_to_fail_and_to_be_in_doubt(name: str) -> None:
    base, changes = SCORES[name]
    for claim in verdicts(experiment(name).score, base, changes[0][2]):
        wanted = {verdict for known, verdict, _ in changes if f"{name}/{known}" == claim}
        if claim not in CLOSED:
            assert {HOLDS, FAILS} <= wanted, claim
            assert claim in COUNTS or wanted & {TIED, OPEN}, claim


def test_the_expected_gap_is_judged() -> None:
    for gaps, verdict in (((0.1, 0.1), HOLDS), ((1 / 3, 0.3), FAILS), (closed.gaps(10), OPEN)):
        assert closed.gap_claim(*gaps).verdict == verdict


def test_closed_forms_are_judged() -> None:
    for cap, verdict in ((7, HOLDS), (12, FAILS)):
        assert sensitivity.hazard_claim(cap).verdict == verdict
    for share, verdict in ((0.5, HOLDS), (0.1, FAILS)):
        assert ablation.window_claim(share).verdict == verdict
    assert [claim.verdict for claim in example.told_apart(0.5, 0.0)] == [HOLDS, HOLDS]
    assert [claim.verdict for claim in example.told_apart(0.1, 0.2)] == [FAILS, FAILS]
    rising = {count: np.full(8, count / 100) for count in (2, 10, 20)}
    assert closed.harder_claim(rising).verdict == HOLDS
    assert closed.harder_claim(rising | {20: np.full(8, 0.01)}).verdict == FAILS
    assert closed.harder_claim(rising | {20: 0.1 + 0.05 * np.linspace(-1, 1, 8)}).verdict == TIED


@pytest.mark.parametrize(
    ("together", "in_turn", "verdict"),
    [
        (0.1, 0.4, HOLDS),  # from errors of 0.1
        (0.1, 0.05, FAILS),
        (0.3, 0.4, FAILS),
        (0.1, 0.1, TIED),
        (0.1 * np.linspace(0.2, 2.0, 24), 0.4, OPEN),
    ],
)
def test_what_switching_does_to_fingerprints_is_judged(together: Any, in_turn: float, verdict: str) -> None:
    calm, fast = (np.full(24, 0.1),) * 2, (np.broadcast_to(together, 24), np.full(24, in_turn))
    same, more = ({"a": Order(ratio, ratio, ratio)} for ratio in (1.0, 3.0))
    agreeing = {HOLDS: (same, more), FAILS: (same, same | {"b": Order(0.5, 0.5, 0.5)}), TIED: (same, same)}
    assert closed.switching_claim(calm, fast, *agreeing.get(verdict, (same, more)), "").verdict == verdict
    if verdict == HOLDS:  # by regret randomized variants degrade as well
        assert closed.switching_claim(calm, fast, more, more, "").verdict == OPEN


def test_closed_forms_are_what_they_are() -> None:
    for score, base, names in (
        (example.score, EXAMPLE_BASE, ("example/ambiguous", "example/unique")),
        (sensitivity.score, EVEN, ("sensitivity/hazard",)),
        (ablation.score, ABLATED, ("ablation/half-of-windows",)),
        (table2_claims.score, PRINTED, ("table2/harder",)),
    ):
        found = verdicts(score, base, Change())
        assert all(found[name] == HOLDS for name in names)


def test_effects_of_gates_are_contrasts_of_means() -> None:
    """The residual gate halves regret, and the staleness gate too unless the residual gate is on."""
    regret = {
        key: 100.0 if {"residual_threshold", "staleness"} <= {*re.split("[:,=]", key[1])} else 50.0 for key in COMBINED
    }
    found = gates.effects(runs(regret))
    here = (found["case"] == "default") & (found["policy"] == "adarp-ucb") & (found["profile"] == gates.STATED)
    alone = found[here].set_index("effect")["ratio"]
    assert alone["residual"] == alone["staleness"] == pytest.approx(50 / 75)
    assert alone["margin"] == alone["residual x margin"] == alone["residual x margin x staleness"] == pytest.approx(1)
    assert alone["residual x staleness"] == pytest.approx(75 / 50)  # one makes the other needless


def test_what_probes_find_is_counted() -> None:
    columns = {**gated(gates.NONE, found=0).columns, "delay": dict.fromkeys(COMBINED, 300.0)}
    lines = gates.table(runs(COMBINED, (), columns)).set_index(["case", "policy", "profile", *gates.GATES])
    line = lines.loc[("p.5", "adasp-ucb", gates.TABLE, True, False, False)]
    found = 2 * CLOCK["p.5"]
    clock = [1000 * gates.changed("p.5", draw, 20) / (20_000 * gates.changed("p.5", draw, 1)) for draw in range(DRAWS)]
    assert (line["probes"], line["precision"], line["recall"]) == pytest.approx(
        (50, found / 1000, found / CHANGES["p.5"])
    )
    assert (line["clock"], line["delay"]) == pytest.approx((found / np.mean(clock) / CHANGES["p.5"], 300 / found))
    assert np.isnan(lines.loc[("p.5", "adasp-ucb", gates.TABLE, False, False, False), "delay"])  # nothing was found


@pytest.mark.parametrize(("row", "gap"), [("p.5", 3), ("default", 20)])
def test_what_a_clock_finds_is_exact(row: str, gap: int) -> None:
    """Probes at fixed times find as many changes as the chain says."""
    world, clock = rows()[row][0], lb.policies.ProbeCommit(2, 2, interval=gap)
    found = lb.simulate(world, {"clock": clock}, horizon=12_000, draws=12, repeats=4)
    probes, right = (found.counts[name][0].reshape(12, 4).sum(axis=1) for name in ("probes", "found"))
    expected = np.array([gates.changed(row, draw, gap) for draw in range(12)]) * probes
    assert abs(right.sum() - expected.sum()) < 4 * math.sqrt(expected.sum())


def test_readings_that_differ_cannot_be_judged() -> None:
    for words, verdict in (((HOLDS,), HOLDS), ((TIED, FAILS), OPEN), ((HOLDS, TIED), OPEN), ((FAILS, FAILS), FAILS)):
        assert agreed(words) == verdict
    found = judge(("residual", "lag"), lambda residual, lag: FAILS if (residual, lag) == ("before", "pair") else HOLDS)
    assert (found.verdict, found.depends) == (OPEN, ("residual", "lag"))
    assert "lag: pair (holds 1, does not hold 1), one-hot or slopes (holds)" in found.words
    assert "all 6 readings (residual, lag)" in judge(("residual", "lag"), lambda *_: HOLDS).words


def test_a_value_that_is_added_to_the_ledger_is_run_and_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    wider = READINGS["lag"]._replace(values={**READINGS["lag"].values, "curved": "curves"})
    monkeypatch.setitem(choices.READINGS, "lag", wider)
    assert "adasp-ucb-stated:lag=curves" in experiment("ablation").cases("quick")[0].policies
    with pytest.raises(KeyError, match="curves"):
        ablation.score(runs(ABLATED))


@pytest.mark.parametrize("name", SCORES)
def test_claims_name_readings_of_the_ledger(name: str) -> None:
    base, changes = SCORES[name]
    frame = runs({**base, **changes[0][2].regret}, changes[0][2].shaky, changes[0][2].columns)
    for claim in experiment(name).score(frame):
        assert all(len(READINGS[one].values) > 1 for one in claim.depends), claim.id


def test_a_published_figure_has_its_own_sampling_error() -> None:
    """Of as many matrices as ours, so that the error of the ratio is sqrt(2) times ours."""
    generator = np.random.default_rng(0)
    values = generator.normal(100.0, 30.0, PUBLISHED_MATRICES)
    ours, both = compared(values, np.full(len(values), 100.0)), came_out(100.0, values)
    assert np.log(both.high / both.low) == pytest.approx(np.sqrt(2) * np.log(ours.high / ours.low))
    covered = sum(
        came.low <= 1 <= came.high
        for sample in generator.normal(100.0, 30.0, (300, PUBLISHED_MATRICES))
        for came in [came_out(100.0 + generator.normal(0.0, 30.0 / np.sqrt(PUBLISHED_MATRICES)), sample)]
    )
    assert 276 <= covered <= 294  # nominally 285 of 300


def test_a_ratio_of_ratios_carries_the_error_of_its_denominators() -> None:
    generator = np.random.default_rng(0)
    exact, shaky = np.full(50, 2.0), generator.normal(2.0, 0.5, 50)
    assert quotient([exact, shaky], [exact, exact]).high > 1.01
    assert quotient([exact, exact], [shaky, exact]).high == pytest.approx(quotient([exact], [shaky]).high)
    assert quotient([exact, shaky], [exact, shaky]).high == pytest.approx(1.0)  # of the same draws


def test_samples_that_are_not_paired_are_refused() -> None:
    for mine in (np.array([1.0]), np.array([1.0, np.nan])):
        with pytest.raises(ValueError, match=r"samples is .* but must be paired"):
            compared(mine, np.array([1.0, 2.0]))


def test_a_quick_run_neither_confirms_nor_refutes() -> None:
    claims = [Claim(f"a/{word}", "", "", "", word, "because") for word in VERDICTS]
    quick = temper(claims, quick=True)
    assert {claim.verdict for claim in quick} == {OPEN}
    assert [claim.points_to for claim in quick] == list(VERDICTS)
    assert {claim.why for claim in quick} == {"because"}
    assert temper(claims, quick=False) == claims


def test_comparisons_of_one_claim_share_the_five_per_cent() -> None:
    generator = np.random.default_rng(0)
    mine, theirs = generator.normal(1.0, 0.1, 200), generator.normal(1.02, 0.1, 200)
    assert compared(mine, theirs).high < compared(mine, theirs, 14).high
    wrong = sum(
        any(compared(1 + 0.1 * generator.standard_normal(40), np.ones(40), 14).word != TIED for _ in range(14))
        for _ in range(200)
    )
    assert wrong < 25  # nominally 10 of 200 claims of 14 comparisons, where there is no difference at all


def test_orders_are_paired() -> None:
    pattern = np.linspace(1, 9, DRAWS)
    frame = pd.DataFrame(
        [
            {"case": "x", "policy": name, "draw": draw, "repeat": 0, "regret": factor * value}
            for name, factor in (("a", 1.0), ("b", 1.02))
            for draw, value in enumerate(pattern)
        ]
    )
    assert order(frame, "x", "a", "b").word == "below"


def test_every_sentence_is_judged_by_claims_that_exist_and_every_claim_has_its_sentence() -> None:
    judged = {name for sentence in SENTENCES for name in sentence.claims}
    ids = {name.split("/")[0] for name in judged}
    assert ids == {one.id for one in experiments() if not one.ours}
    for name, (base, changes) in SCORES.items():
        frame = runs({**base, **changes[0][2].regret}, changes[0][2].shaky, changes[0][2].columns)
        claims = experiment(name).score(frame)
        assert {claim.kind for claim in claims} <= set(KINDS)
        said = {claim.id for claim in claims if claim.kind in (PAPER, PROVED, READING)}
        assert said == {one for one in judged if one.split("/")[0] == name}, name
        assert not judged & {claim.id for claim in claims if claim.kind == TARGET}


def test_experiments_of_the_paper_are_all_here() -> None:
    """Scores of the other experiments are tested beside them."""
    elsewhere = {"decomposition", "theory", "ladder", "state-library", "stress", "real"}
    assert set(SCORES) | elsewhere == set(ids())
    assert [one.id for one in experiments()] == ids()
    assert len({one.place for one in experiments()}) == len(ids())
    assert set(TITLES) == set(rows())

"""The experiment on real data: its statistics against brute force and known processes, and its verdicts."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import latentbandits as lb
from latentbandits.policies.groups import LIBRARY
from latentbandits.presentation.palette import plotting, saved
from latentbandits.random import Purpose, stream
from latentbandits.simulation.batch import believe_one
from latentbandits.simulation.runs import Runner
from latentbandits_studies import data as datasets
from latentbandits_studies.experiments.case import Case
from latentbandits_studies.experiments.claims import FAILS, HOLDS, TARGET, TIED
from latentbandits_studies.experiments.real import SHARES, claims, settings, tables
from latentbandits_studies.experiments.real.settings import LEVELS, Believed, Ruler
from latentbandits_studies.experiments.real.statistics import (
    blocks,
    holm,
    over_time,
    shift_test,
    switching,
    without_hours,
)
from latentbandits_studies.experiments.registry import experiment


@pytest.mark.parametrize("seed", range(5))
def test_switching_is_the_best_of_all_sequences(seed: int) -> None:
    rewards = np.random.default_rng(seed).normal(size=(7, 3)).round(2)
    best = np.full(7, -np.inf)
    for arms in itertools.product(range(3), repeat=7):
        total = rewards[range(7), list(arms)].sum()
        used = sum(one != other for one, other in itertools.pairwise(arms))
        best[used:] = np.maximum(best[used:], total)
    assert switching(rewards, 6) == pytest.approx(best)
    assert switching(rewards, 0)[0] == pytest.approx(rewards.sum(axis=0).max())
    assert switching(rewards, 20)[-1] == pytest.approx(rewards.max(axis=1).sum())


def autoregressive(random: np.random.Generator, shape: tuple[int, ...], weight: float) -> np.ndarray:
    found = random.normal(size=shape)
    found[..., 0] /= np.sqrt(1 - weight**2)
    for step in range(1, shape[-1]):
        found[..., step] += weight * found[..., step - 1]
    return found


def test_blocks_cover_an_autocorrelated_mean() -> None:
    """Intervals of independent steps would cover about half of the time; a few per cent too few are usual for blocks."""
    series = autoregressive(np.random.default_rng(5), (200, 400), 0.7)
    spans = [over_time(row[None], resamples=200) for row in series]
    covered = np.mean([span.low <= 0 <= span.high for span in spans])
    assert 0.85 <= covered <= 0.99
    plain = series.std(axis=1) / 20 * 1.96
    assert np.mean(np.abs(series.mean(axis=1)) < plain) < 0.75


def test_blocks_take_neighbours_together() -> None:
    found = blocks(30, 10, 50)
    assert found.shape == (50, 30)
    assert (found.sum(axis=1) == 30).all()
    assert (np.abs(np.diff(found, axis=1)).sum(axis=1) <= 6).all()  # three blocks have six ends


def test_intervals_also_hold_the_spread_of_runs() -> None:
    runs = np.repeat(np.arange(8.0)[:, None], 50, axis=1)
    span = over_time(runs)
    assert span.mean == 3.5
    assert 3.5 - span.low == pytest.approx(1.96 * runs[:, 0].std() / np.sqrt(8), rel=0.15)


def test_shifts_keep_their_level_with_autocorrelation() -> None:
    random = np.random.default_rng(2)
    pairs = autoregressive(random, (300, 2, 300), 0.9)
    p = np.array([shift_test(one, other, 5).p for one, other in pairs])
    assert 0.02 <= (p < 0.05).mean() <= 0.09
    assert 0.4 <= p.mean() <= 0.6


def test_shifts_find_what_is_there_and_read_gaps() -> None:
    random = np.random.default_rng(4)
    common = autoregressive(random, (600,), 0.9)
    one, other = (common + random.normal(size=600) for _ in range(2))
    one[random.random(600) < 0.3] = np.nan
    other[random.random(600) < 0.1] = np.nan
    found = shift_test(np.stack([one, one]), other, 20)
    both = ~np.isnan(one) & ~np.isnan(other)
    assert found.p < 0.01
    assert found.correlation == pytest.approx(
        pd.Series(one[both]).corr(pd.Series(other[both]), method="spearman"), abs=0.02
    )
    assert shift_test(-one, other, 20).correlation == pytest.approx(-found.correlation)
    assert shift_test(np.ones(600), other, 20).p == 1.0


def test_a_daily_course_is_no_connection() -> None:
    random = np.random.default_rng(6)
    hours = np.arange(24 * 60) % 24
    one, other = (np.sin(hours / 24 * 2 * np.pi) + 0.1 * random.normal(size=len(hours)) for _ in range(2))
    assert abs(shift_test(without_hours(one, hours), without_hours(other, hours), 24).correlation) < 0.1


def test_holm_corrects_step_by_step() -> None:
    assert holm([0.01, 0.02, 0.5]) == pytest.approx([0.03, 0.04, 0.5])
    assert holm([0.5, 0.4]) == pytest.approx([0.8, 0.8])


def test_a_record_is_named_by_its_content() -> None:
    rewards = np.random.default_rng(0).random((2_000, 3))
    worlds = [lb.Replay(values) for values in (rewards, rewards.copy(), rewards + 1e-9)]
    one, same, other = (Case("x", world, {"ucb1": lb.policy("ucb1", arms=3)}, 50, 1) for world in worlds)
    assert one.keys == same.keys
    assert one.keys != other.keys
    assert len(json.dumps(one.description())) < 1000


def test_a_ruler_writes_down_what_was_believed() -> None:
    random = np.random.default_rng(1)
    state = (np.arange(300) // 100) % 2
    rewards = np.array([[0.2, 0.1], [0.9, 0.8]])[state] + 0.02 * random.normal(size=(300, 2))
    replay = lb.Replay(rewards)
    base: Any = lb.policy(LIBRARY)
    found = lb.simulate(Ruler(replay), {"run": Believed(base, 3)}, horizon=300, draws=1, repeats=1, bins=300)
    levels = found.regret_bins[0, 0]
    beliefs = believe_one(base, replay.realise(300, 1, 0, 0, 0), stream(0, Purpose.POLICY, 3, 0))
    present = beliefs[-1].present
    assert present is not None
    last = np.nanmean(present.means)
    assert levels[-1] == round((last - rewards.min()) / (rewards.max() - rewards.min()) * (LEVELS - 1))
    assert levels[150:200].mean() > levels[250:].mean() + 20


@pytest.fixture(scope="module")
def few_resamples() -> Iterator[None]:
    """Intervals of curves that are flat, which a few resamples give as exactly as thousands; how intervals cover is tested above."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "FINE", 400)
        patch.setattr(
            claims, "over_time", lambda values, level=0.95, resamples=200: over_time(values, level, resamples)
        )
        yield


@pytest.fixture(scope="module")
def table(few_resamples: None) -> pd.DataFrame:
    """Results made by hand: all policies earn what the best arm earns, but for what a test changes."""
    lines = []
    for case in settings.cases("quick"):
        for label in case.policies:
            for draw in range(case.draws):
                curve = np.full(case.bins, 1.0) if not case.name.endswith(settings.ALONE) else weather_like(case.name)
                row = {"case": case.name, "policy": label, "draw": draw, "repeat": 0, "quick": True}
                lines.append(row | {"regret": curve.sum(), "regret_curve": curve})
    return pd.DataFrame(lines)


def weather_like(case: str) -> np.ndarray:
    found = datasets.load(case.removesuffix(settings.ALONE)).unseen["wind"][: settings.QUICK_ROUNDS]
    return np.where(np.isnan(found), 0.0, found)


def with_curve(table: pd.DataFrame, policy: str, regret: float) -> pd.DataFrame:
    """Return the table with another regret per step of a policy on the first dataset."""
    changed = table.copy()
    rows = (changed["policy"] == policy) & (changed["case"] == datasets.names()[0])
    changed.loc[rows, "regret_curve"] = changed.loc[rows, "regret_curve"].map(lambda curve: np.full(len(curve), regret))
    return changed


def verdicts(table: pd.DataFrame) -> dict[str, str]:
    judged = claims.score(table)
    assert all(claim.kind == TARGET for claim in judged)
    return {claim.id: claim.verdict for claim in judged}


@pytest.fixture(scope="module")
def found(table: pd.DataFrame) -> dict[str, str]:
    """The verdicts on the table as it is."""
    return verdicts(table)


def test_the_first_may_be_tied_but_not_behind(table: pd.DataFrame, found: dict[str, str]) -> None:
    assert found["real/first"] == HOLDS
    assert verdicts(with_curve(table, LIBRARY, 0.5))["real/first"] == HOLDS
    behind = with_curve(table, LIBRARY, 1.5)
    assert verdicts(behind)["real/first"] == FAILS
    line = claims.standings(behind).iloc[0]
    assert line["rank"] == line["policies"]
    name = datasets.names()[0]
    step = settings.rounds(name, quick=True) / (len(settings.edges(name, quick=True)) - 1)
    assert line["difference"] == pytest.approx(-0.5 / step)


def test_the_best_single_arm_is_a_bar(table: pd.DataFrame, found: dict[str, str]) -> None:
    assert found["real/above-single-arm"] in (FAILS, TIED)
    worse = with_curve(table, LIBRARY, 24.0)
    assert verdicts(worse)["real/above-single-arm"] == FAILS
    line = claims.summary(worse).set_index(["dataset", "policy"]).loc[(datasets.names()[0], LIBRARY)]
    assert line["share_100"] < 0
    assert (
        line["best_arm"] <= line["switches_1"] <= line["switches_10"] <= line["switches_100"] <= line["best_per_round"]
    )


def test_the_figure_and_the_tables_have_every_dataset(table: pd.DataFrame) -> None:
    plot = SHARES.plot
    with plotting():
        figure = plot(table)
    shown = [text.get_text().split()[0] for text in figure.axes[0].get_yticklabels()]
    assert sorted(shown) == sorted(datasets.names())
    assert saved(figure, "svg").startswith(b"<?xml")
    assert all(name in tables(table) for name in datasets.names())


def test_regimes_that_are_the_wind_go_with_it(table: pd.DataFrame, found: dict[str, str]) -> None:
    measured = claims.weather(table)
    by_name = measured.set_index("measurement")
    assert by_name.loc["wind", "correlation"] > 0.95
    assert by_name.loc["wind", "corrected"] < 0.05
    assert (measured["corrected"] >= measured["p"]).all()
    assert found["real/weather"] == FAILS  # wind alone is not all
    sure = measured.assign(corrected=0.01)
    assert claims._weather(sure).verdict == HOLDS


def test_the_experiment_has_ten_datasets_and_every_policy_for_one_unit() -> None:
    cases = experiment("real").cases("full")
    played = [case for case in cases if not case.name.endswith(settings.ALONE)]
    assert len(played) >= 10
    assert all(LIBRARY in case.policies and len(case.policies) >= 15 for case in played)
    assert all(Runner(one).groups == 1 for case in played for one in case.policies.values())
    assert all(case.draws == settings.SEEDS for case in played)

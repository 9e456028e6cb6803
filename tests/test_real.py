"""The experiment on real data: its statistics against brute force and known processes, and its verdicts."""

import itertools
import json
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

import latentbandits as lb
from latentbandits.policies.groups import LIBRARY
from latentbandits.presentation.palette import plotting, saved
from latentbandits.simulation.runs import Runner
from latentbandits_studies import data as datasets
from latentbandits_studies.experiments.case import Case
from latentbandits_studies.experiments.claims import FAILS, HOLDS, TARGET, TIED
from latentbandits_studies.experiments.real import SHARES, claims, settings, standings, tables
from latentbandits_studies.experiments.real.statistics import blocks, over_time, switching
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


def test_a_record_is_named_by_its_content() -> None:
    rewards = np.random.default_rng(0).random((2_000, 3))
    worlds = [lb.Replay(values) for values in (rewards, rewards.copy(), rewards + 1e-9)]
    one, same, other = (Case("x", world, {"ucb1": lb.policy("ucb1", arms=3)}, 50, 1) for world in worlds)
    assert one.keys == same.keys
    assert one.keys != other.keys
    assert len(json.dumps(one.description())) < 1000


@pytest.fixture(scope="module")
def few_resamples() -> Iterator[None]:
    """Intervals of curves that are flat, which a few resamples give as exactly as thousands; how intervals cover is tested above."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "FINE", 400)
        patch.setattr(
            standings, "over_time", lambda values, level=0.95, resamples=200: over_time(values, level, resamples)
        )
        yield


@pytest.fixture(scope="module")
def table(few_resamples: None) -> pd.DataFrame:
    """Results made by hand: all policies earn what the best arm earns, but for what a test changes."""
    lines = []
    for case in settings.cases("quick"):
        for label in case.policies:
            for draw in range(case.draws):
                curve = np.full(case.bins, 1.0)
                row = {"case": case.name, "policy": label, "draw": draw, "repeat": 0, "quick": True}
                lines.append(row | {"regret": curve.sum(), "regret_curve": curve})
    return pd.DataFrame(lines)


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


def test_the_experiment_has_ten_datasets_and_every_policy_for_one_unit() -> None:
    cases = experiment("real").cases("full")
    assert len(cases) >= 10
    assert all(LIBRARY in case.policies and len(case.policies) >= 15 for case in cases)
    assert all(Runner(one).groups == 1 for case in cases for one in case.policies.values())
    assert all(case.draws == settings.SEEDS for case in cases)

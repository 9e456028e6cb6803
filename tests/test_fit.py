"""The search for the settings behind the published table: on made-up losses, and on a tiny real one."""

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from latentbandits.parameters import describe
from latentbandits_studies.experiments import fit
from latentbandits_studies.experiments.fit import FITTING, REPORTING, Fit, Found, Size, Value
from latentbandits_studies.experiments.fit.grids import COLUMNS, NOISE, Column, Settings, meant
from latentbandits_studies.experiments.paper.worlds import SWEEPS, fitted, rows

TWO = Column("d-ucb", {"a": (1, 2, 3, 4, 5), "b": (1, 2, 3, 4, 5)}, {"a": 1, "b": 5})
TINY = Column("ucb1", {"exploration": (1.4, 2.0)}, {"exploration": 1.4})


def of(function: Callable[..., float]) -> Callable[[Sequence[Settings]], np.ndarray]:
    return lambda settings: np.array([function(**one) for one in settings])


class TestDescend:
    def test_finds_the_least_of_a_bowl(self) -> None:
        assert fit.descend(TWO, of(lambda a, b: (a - 4) ** 2 + (b - 2) ** 2 + (a - 4) * (b - 2) / 2)) == {
            "a": 4,
            "b": 2,
        }

    def test_ties_stay_where_they_are(self) -> None:
        assert fit.descend(TWO, of(lambda a, b: (a - 4) ** 2)) == {"a": 4, "b": 5}

    def test_a_pair_gets_out_of_where_no_single_move_helps(self) -> None:
        def groove(a: int, b: int) -> float:
            return abs(a + b - 6) * 10 + abs(a - 4)

        assert fit.descend(TWO, of(groove)) == {"a": 1, "b": 5}
        assert fit.descend(TWO._replace(joint=(("a", "b"),)), of(groove)) == {"a": 4, "b": 2}

    def test_the_start_may_lie_off_the_grid(self) -> None:
        off = TWO._replace(start={"a": 9, "b": 9})
        assert fit.descend(off, of(lambda a, b: abs(a - 3) + abs(b - 3))) == {"a": 3, "b": 3}


class TestToldApart:
    def test_loss_is_a_mean_over_rows_of_squared_logs(self) -> None:
        cells = np.array([[2.0, 2.0], [1.0, 1.0]])
        assert fit.loss(cells, np.array([1.0, 1.0])) == pytest.approx(math.log(2) ** 2 / 2)

    def test_error_counts_our_draws_and_the_tables(self) -> None:
        random = np.random.default_rng(3)
        worlds = random.lognormal(0, 0.5, (200, 40))
        alike = worlds * 1.3
        more, error = fit.excess(alike[:1], worlds[:1], np.array([1.0]))
        # the same thing without pairing would have about the error of two independent means
        assert error < 2 * math.log(1.3) * 2 * 0.55 / math.sqrt(40)
        # a jackknife by hand, and the table's own 128 matrices
        left = np.array([np.delete(worlds[0], i).mean() for i in range(40)])
        parts = np.log(1.3 * left) ** 2 - np.log(left) ** 2
        ours = 39 / 40 * ((parts - parts.mean()) ** 2).sum()
        printed = 4 * math.log(1.3) ** 2 * worlds[0].var(ddof=1) / worlds[0].mean() ** 2 / 128
        assert error == pytest.approx(math.sqrt(ours + printed))
        assert more == pytest.approx(math.log(1.3 * worlds[0].mean()) ** 2 - math.log(worlds[0].mean()) ** 2)

    def test_worse_only_beyond_the_error_and_less_often_among_many(self) -> None:
        good = np.array([[0.9, 1.0, 1.1, 1.0, 0.95, 1.05]])
        target = np.array([1.0])
        assert fit.worse(good * 2, good, target)
        assert not fit.worse(good, good * 2, target)
        assert not fit.worse(good * 1.03, good, target)
        middling = good * np.array([[1.1, 1.3, 1.1, 1.15, 1.25, 1.2]])
        assert fit.worse(middling, good, np.array([0.8]))
        assert not fit.worse(middling, good, np.array([0.8]), among=1000)


def values(*fits: bool, grid: Sequence[float | str] = (1, 2, 3, 4)) -> list[Value]:
    return [Value("p", "s", value, 0.0, 0.0, 0.0, fit, [1.0] * 7) for value, fit in zip(grid, fits, strict=True)]


class TestProfile:
    @pytest.mark.parametrize(
        ("found", "chosen", "said"),
        [
            (values(False, True, False, False), 2, "pinned down"),
            (values(True, False, False, False), 1, "pinned down, at the edge of the grid"),
            (values(False, True, True, False), 2, "not pinned down"),
            (values(True, True, False, False), 2, "not pinned down, no lower bound"),
            (values(False, False, True, True), 3, "not pinned down, no upper bound"),
            (values(True, True, True, True), 3, "not pinned down, no bound"),
            (values(False, True, False, False), 3, "prefers another"),
            (values(True, True, False, False, grid=("pair", "one-hot", "slopes", "curves")), "pair", "not pinned down"),
            (values(True, False, False, True, grid=(NOISE, 1, 2, 3)), NOISE, "not pinned down, no upper bound"),
        ],
    )
    def test_words(self, found: list[Value], chosen: float | str, said: str) -> None:
        assert fit.verdict(found, chosen) == said

    def test_values_are_compared_with_the_best_of_their_setting(self) -> None:
        noise = np.random.default_rng(1).normal(0, 0.01, (7, 30))

        def measure(settings: Sequence[Settings]) -> np.ndarray:
            return np.array([np.exp(0.5 * (float(one["a"]) - 3)) * (1 + noise) for one in settings])

        found = fit.profile(TWO, {"a": 2, "b": 2}, measure, np.ones(7))
        assert [value.fits for value in found if value.setting == "a"] == [False, False, True, False, False]
        assert all(value.fits for value in found if value.setting == "b")
        assert [value.more for value in found if value.setting == "a"][2] == 0.0


class TestColumns:
    def test_the_halves_partition_the_rows_and_both_span_all_sweeps(self) -> None:
        assert sorted(FITTING + REPORTING) == sorted(rows())
        for half in (FITTING, REPORTING):
            assert all(set(half) & (set(sweep) - {"default"}) for sweep in SWEEPS.values())

    @pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
    def test_start_and_preset_are_on_the_grid(self, column: Column) -> None:
        for name, grid in column.grid.items():
            assert column.start[name] in grid
            assert column.preset[name] in grid
        assert all(set(pair) <= set(column.grid) for pair in column.joint)

    def test_the_preset_is_what_fits_the_table(self) -> None:
        for column in COLUMNS:
            preset: dict[str, Any] = column.preset
            assert describe(fitted(column.name, **preset)) == describe(fitted(column.name))


def made(kept: bool = True) -> Fit:
    column = Column("ucb1", {"exploration": (1.4, 2.0, 2.8)}, {"exploration": 1.4})
    logs = {
        "start": np.repeat([0.3, 0.4], 7),
        "found": np.repeat([0.1, 0.2], 7),
        "preset": np.repeat([0.1, 0.2], 7),
    }
    profile = [
        Value("ucb1", "exploration", value, 0.1, 0.0, 0.0, value != 1.4, [value] * 7) for value in (1.4, 2.0, 2.8)
    ]
    end = {"exploration": 2.0 if kept else 2.8}
    return Fit(
        [Found(column, 3, {"exploration": 2.8}, end, (0.01, 0.02), (-0.03, 0.04), profile, logs)], Size(4, 8), True
    )


class TestText:
    def test_kept(self) -> None:
        text = made().text()
        assert "ucb1 exploration    1.4     2.8    2       2, 2.8  not pinned down, no upper bound" in text
        assert (
            "ucb1                             0.300       0.100        0.100         0.400         0.200          0.200"
            in text
        )
        assert "In 1 more (1 settings)" in text
        assert (
            "ucb1: exploration 2.8 for 2. Loss of the preset beyond it: fitted rows +0.0100 (standard error 0.0200); others -0.0300"
            in text
        )
        assert "quick: too few to tell much" in text
        assert "only start and found are out of sample" in text
        assert "these are the presets" in text
        assert "Changed alone" not in text

    def test_away(self) -> None:
        text = made(kept=False).text()
        assert "The preset fits worse than what the search found:\n  ucb1: exploration 2.8 for 2" in text
        assert "all others are the presets" in text

    def test_a_setting_that_prefers_another_value_is_named(self) -> None:
        whole = made()
        (one,) = whole.columns
        values = [value._replace(fits=value.value == 2.8) for value in one.values]
        text = whole._replace(columns=[one._replace(values=values)]).text()
        assert "prefers another" in text
        assert "Changed alone, another value fits better at 95 % for ucb1 exploration; of 1 settings about 0" in text

    def test_frames(self) -> None:
        frame = made().frame()
        assert frame["end"].tolist() == [False, True, False]
        assert frame["found"].tolist() == [False, False, True]
        assert frame["sd.5"].tolist() == [1.4, 2.0, 2.8]
        cells = made().cells()
        assert cells["half"].tolist() == ["fitting"] * 7 + ["reporting"] * 7
        assert cells["preset"].tolist() == pytest.approx([math.exp(0.1)] * 7 + [math.exp(0.2)] * 7)


def test_a_tiny_search_ends_and_a_second_one_simulates_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "QUICK", Size(2, 3))
    simulated = [0]
    names: list[str] = []

    def progress(done: int, total: int | None) -> None:
        assert total is None
        simulated.append(done)

    first = fit.search(tmp_path, True, 1, progress, lambda one: names.append(one.column.name), [TINY])
    assert (
        simulated[-1]
        == sum(horizon for row in FITTING for _, horizon in [rows()[row]]) * 2 * (2 + 3)
        + sum(horizon for row in REPORTING for _, horizon in [rows()[row]]) * 3 * 2
    )
    assert names == ["ucb1"]
    assert first.columns[0].tried == 2
    assert pd.read_csv(tmp_path / "fit.csv")["value"].tolist() == [1.4, 2.0]
    assert len(pd.read_csv(tmp_path / "fit_cells.csv")) == 14

    simulated = [0]
    second = fit.search(tmp_path, True, 1, progress, columns=[TINY])
    assert simulated[-1] == 0
    assert second.text() == first.text()

    for lost in sorted((tmp_path / "runs").iterdir())[:3]:
        lost.unlink()
    third = fit.search(tmp_path, True, 1, progress, columns=[TINY])
    assert simulated[-1] > 0
    assert third.text() == first.text()


def test_a_floor_that_follows_the_noise_is_the_worlds_and_is_not_learned() -> None:
    for row, noise in (("default", 0.01), ("sd.5", 0.5)):
        policy = meant("adasp-ucb", {"residual_floor": NOISE, "staleness": 7}, rows()[row][0])
        assert (policy.residual_floor, policy.learn_noise, policy.staleness) == (noise, False, 7)
    assert meant("adasp-ucb", {"residual_floor": 0.2}, rows()["sd.5"][0]).residual_floor == 0.2

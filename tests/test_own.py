"""Policies of one's own in the paper's main table: beside published cells and our rows, on matrices of one's choice, in no score."""

import re
import shlex
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from latentbandits import cli
from latentbandits.settings import InvalidValueError
from latentbandits.specs import policy
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits_studies.experiments import timing
from latentbandits_studies.experiments.case import OWN, SIZES, Case, resize
from latentbandits_studies.experiments.paper.worlds import TITLES, published, rows
from latentbandits_studies.experiments.registry import experiment
from latentbandits_studies.experiments.reproduce import reproduce
from latentbandits_studies.experiments.table2.own import with_own

SKELETON, WINDOW = "examples.skeleton:WinStayLoseShift", "sw-ucb:window=300"


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every environment have a hundred rounds."""
    made = {row: (world, 100) for row, (world, _) in rows().items()}
    for module in ("settings", "own"):
        monkeypatch.setattr(f"latentbandits_studies.experiments.table2.{module}.rows", lambda: made)


@pytest.mark.usefixtures("short", "hasty_limit")
def test_it_stands_beside_the_published_cells_and_our_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(
        f"reproduce table2 --policies {SKELETON} {WINDOW} --quick --draws 4 --first 1000 --out {tmp_path}"
    )
    assert cli.main(words) == 0
    said = capsys.readouterr().out
    for name in (SKELETON, WINDOW):
        table = said.split(f"{name} in the main table:\n")[1].splitlines()
        assert [line.split("  ")[0] for line in table[1:15]] == list(TITLES.values())
    line = next(line for line in table if line.startswith("default"))
    assert "AdaSP-UCB" in line  # the best of the published cells with one group
    assert f"{published()['default']['adasp-ucb-table'] / 2:,.1f}" in line
    assert "quick runs point to: " in said

    found = pd.read_parquet(tmp_path / "results/table2.parquet")
    assert set(found["draw"]) == {1000, 1001, 1002, 1003}
    own = found["case"].str.endswith(OWN)
    assert set(found.loc[own, "policy"]) == {SKELETON, WINDOW}
    assert experiment("table2").score(found) == experiment("table2").score(found[~own])
    cells = pd.read_csv(tmp_path / "results/table2.csv").set_index(["row", "policy"])
    assert (cells.loc[("S50", WINDOW), "group"], cells["published"].notna().sum()) == (
        "your own",
        14 * 23 + 3 * 30 + 12,
    )
    page = (tmp_path / "report/index.html").read_text()
    assert f">{SKELETON}<" in page
    assert "Your own" in page
    assert "another version of the code" not in page

    assert cli.main(words) == 0
    assert re.search(r"(\d+) of \1 cells found", capsys.readouterr().out)  # what is there is not computed again


def test_draws_and_runs_are_those_of_the_experiment_unless_told_otherwise() -> None:
    plain = experiment("table2")
    wider = with_own(plain, [WINDOW])
    sizes = [(case.draws, case.repeats) for case in (wider.cases(size)[-1] for size in SIZES)]
    assert sizes == [(12, 1), (16, 1), (128, 2)]
    assert {(case.draws, case.first) for case in resize(wider.cases("quick"), (None, 128))} == {(12, 128)}
    assert {(case.draws, case.repeats) for case in resize(plain.cases("full"), (4, 0))} == {(4, 5), (4, 2), (4, 1)}
    assert plain.cases("quick")[0].keys == wider.cases("quick")[0].keys


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("ablation --policies ucb1", "experiments is 'ablation' but must be table2 alone"),
        ("table2 --policies ucb1", "policies is 'ucb1' but must be policies that the main table does not have yet"),
        ("table2 --policies nowhere:Nothing", "nowhere"),
        ("table2 --draws 3", "draws is 3 but must be an integer at least 4"),
        ("table2 --first -1", "first is -1 but must be an integer at least 0"),
    ],
)
def test_what_has_no_meaning_is_refused(line: str, sentence: str, capsys: Any, tmp_path: Path) -> None:
    assert cli.main(["reproduce", *shlex.split(line), "--out", str(tmp_path / "out")]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_run_that_is_split_by_hand_is_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of the parts, one after the other, are the rows of the whole."""
    policies = {"ucb1": policy("ucb1")}
    small = timing.EXPERIMENT._replace(
        cases=lambda size: [Case("tiny", HiddenMarkov(), policies, 50, 10, 2, bins=3)], score=lambda rows: []
    )
    reproduce([small], tmp_path / "whole", "full")
    parts = []
    for first in (0, 5):
        reproduce([small], tmp_path / str(first), "full", sizes=(5, first))
        reproduce(
            [small], tmp_path / str(first), "full", sizes=(5, first)
        )  # again: a part may go on where it was stopped
        parts.append(pd.read_parquet(tmp_path / str(first) / "timing.parquet"))
    pd.testing.assert_frame_equal(
        pd.concat(parts, ignore_index=True), pd.read_parquet(tmp_path / "whole" / "timing.parquet")
    )
    with pytest.raises(
        InvalidValueError, match=r"draws and first is \[5, 0\] but must be left out, or in another folder: .* full"
    ):
        reproduce([small], tmp_path / "whole", "full", sizes=(5, 0))

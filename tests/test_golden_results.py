"""Results that an earlier version has written still open. `tests/golden_results.py` wrote them."""

import dataclasses
import shutil
from pathlib import Path

import pandas as pd
import pytest

from latentbandits import cli
from latentbandits_studies.experiments.store import Store
from tests.golden_results import CELL, FOLDER, NAME, first


def test_the_report_opens_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(FOLDER, tmp_path / "results")
    assert cli.main(["report", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report" / "index.html").read_text()
    assert f'id="{NAME}/' in page  # its claims are judged
    assert "manifest of these results is missing" not in page
    assert "index.html" in capsys.readouterr().out


def test_a_cell_is_read_and_not_computed_again(tmp_path: Path) -> None:
    case, label = first()
    store = Store(tmp_path)
    assert label in store.missing(case)
    shutil.copy(CELL, tmp_path / "cells" / f"{case.keys[label]}.npz")
    store = Store(tmp_path)
    assert label not in store.missing(case)
    table = Store(FOLDER, read_only=True).load(NAME)
    kept = table[(table["case"] == case.name) & (table["policy"] == label)].reset_index(drop=True)
    one = dataclasses.replace(case, policies={label: case.policies[label]})
    pd.testing.assert_frame_equal(store.rows([one], quick=True), kept, check_dtype=False)

"""docs/main-table.md: the published numbers, marks that are right, and a sentence that agrees; in `make test-slow` all of it again."""

import re
from pathlib import Path

import pytest

from latentbandits_studies.experiments.paper.worlds import COLUMNS, SINGLE_GROUP, TITLES, TWO_GROUP, published, rows
from latentbandits_studies.experiments.store import Store
from latentbandits_studies.experiments.table2 import markdown
from latentbandits_studies.experiments.table2.agreement import agreement
from latentbandits_studies.experiments.table2.settings import columns

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "main-table.md").read_text()
Cell = tuple[float, bool]  # a number, and whether it is bold


def cells() -> dict[str, dict[str, tuple[Cell, Cell]]]:
    """Return the page's table: row -> column -> published and ours."""
    table = {}
    for row, title in TITLES.items():
        (line,) = re.findall(rf"^\| {re.escape(title)} \| (.*) \|$", PAGE, re.MULTILINE)
        pairs = [cell.split(" / ") for cell in line.split(" | ")]
        both = [[(float(text.strip("*").replace(",", "")), "**" in text) for text in pair] for pair in pairs]
        table[row] = {name: (theirs, ours) for name, (theirs, ours) in zip(COLUMNS, both, strict=True)}
    return table


def test_the_docs_have_the_published_cells_and_mark_the_lowest() -> None:
    table = cells()
    assert list(table) == list(rows())
    for row, line in table.items():
        assert {name: theirs[0] for name, (theirs, _) in line.items()} == {
            name: round(published()[row][name]) for name in COLUMNS
        }
        for group in (TWO_GROUP, SINGLE_GROUP):
            for whose in (0, 1):
                (marked,) = [line[name][whose][0] for name in group if line[name][whose][1]]
                assert marked == min(line[name][whose][0] for name in group)


def test_the_sentence_agrees_with_the_cells() -> None:
    near, number, nearby = map(
        int, re.findall(r"(\d+) of (\d+) cells are within 15 % of print and (\d+) within 25 %", PAGE)[0]
    )
    off = [abs(ours[0] / theirs[0] - 1) for line in cells().values() for theirs, ours in line.values()]
    assert len(off) == number
    for share, counted in ((0.15, near), (0.25, nearby)):  # a rounded cell may lie on either side
        assert sum(x < share - 0.02 for x in off) <= counted <= sum(x < share + 0.02 for x in off)


@pytest.mark.slow
def test_the_docs_are_what_the_command_writes(tmp_path: Path) -> None:
    store, planned = Store(tmp_path), columns("full")
    for case in planned:
        store.compute(case)
    results = store.rows(planned)
    assert markdown(results) in PAGE
    assert agreement(results).text in PAGE

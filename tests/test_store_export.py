"""Exports of long logs: each piece once, by the right index; and what has changed since the last one."""

import csv
import io
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from latentbandits.store import Reader, Row, export
from latentbandits.store.export import Table, pieces, rows, table
from tests.services import Web
from tests.stores import Case, played

MODULE = sys.modules["latentbandits.store.export"]  # the package has a function of this name
Make = Callable[..., Case]
E = "/v1/experiments/e"


@pytest.fixture
def case(make: Make) -> Case:
    return make("exp3", window=600.0, max_open=8)


def row_of(case: Case) -> Row:
    row = case.ledger.storage.experiment("e")
    assert row is not None
    return row


def table_of(case: Case, after: int = 0) -> Table:
    return table(case.ledger.storage, row_of(case), after)


def test_parts_make_up_the_whole(case: Case) -> None:
    """Also of decisions that ended, or got a late reward, after the part in which they were made. Mutation: parts by decision alone."""
    known: dict[str, dict[str, Any]] = {}
    until, waiting = 0, []
    for number in range(12):
        waiting += played(case, 5)
        if number % 3 == 1:
            case.clock.move(601)
            case.decide()  # ends those whose window is over
        if number % 2:
            case.tell(waiting[-6], 0.25)  # in time, or late
        part = table_of(case, until)
        found = list(rows(case.ledger.storage, part))
        assert len({one["id"] for one in found}) == len(found)
        known |= {one["id"]: one for one in found}
        changed = {event.decision for event in case.ledger.storage.events(1, until) if event.decision}
        assert {one["id"] for one in found} == changed
        until = part.until
    whole = {one["id"]: one for one in rows(case.ledger.storage, table_of(case))}
    assert whole == known
    assert {one["outcome"] for one in whole.values()} >= {"rewarded", "late", "open", "censored"}


def test_no_part_of_a_log_is_read_twice_or_by_the_wrong_index(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutation: leave out `INDEXED BY` in `SQLite.indexed`, and SQLite goes through all events for every part."""
    played(case, 40)
    asked: list[str] = []
    given = Reader._rows

    def noted(self: Reader, sql: str, values: Any = ()) -> list[Any]:
        with sqlite3.connect(self.path) as connection:
            plan = connection.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()
        connection.close()
        asked.append(" / ".join(step[3] for step in plan))
        return given(self, sql, values)

    monkeypatch.setattr(Reader, "_rows", noted)
    monkeypatch.setattr(MODULE, "CHUNK", 10)
    reader = Reader(case.path)
    asked.clear()
    assert len(list(rows(reader, table(reader, row_of(case), 20)))) > 0
    assert len(list(rows(reader, table_of(case)))) == 40
    assert any("event_about (experiment=? AND decision=?)" in plan for plan in asked)
    assert any("PRIMARY KEY (experiment=? AND seq=?)" in plan for plan in asked)
    assert not any("SCAN event" in plan for plan in asked)


@pytest.mark.parametrize("kind", [".csv", ".parquet"])
def test_the_first_piece_is_there_before_the_last_is_read(
    case: Case, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Mutation: write all of it and send it then."""
    played(case, 40)
    monkeypatch.setattr(MODULE, "CHUNK", 10)
    monkeypatch.setattr(MODULE, "TOGETHER", 10)
    reader = case.ledger.storage.reader()
    reads: list[int] = []
    given = Reader.events

    def noted(self: Reader, experiment: int, after: int = 0, most: int = 10_000) -> Any:
        reads.append(after)
        return given(self, experiment, after, most)

    monkeypatch.setattr(Reader, "events", noted)
    made = pieces(reader, table_of(case), kind)
    content, number = next(made)
    assert number == 10
    assert len(reads) < row_of(case).head // 10
    found = [(content, number), *made]
    assert sum(number for _, number in found) == 40
    assert len([content for content, _ in found if content]) >= 4
    whole = tmp_path / f"whole{kind}"
    whole.write_bytes(b"".join(content for content, _ in found))
    count = pq.read_table(whole).num_rows if kind == ".parquet" else len(whole.read_text().splitlines()) - 1
    assert count == 40
    assert export(reader, "e", tmp_path / f"again{kind}") == 40
    assert (tmp_path / f"again{kind}").read_bytes() == whole.read_bytes()


def test_no_spreadsheet_takes_a_cell_for_a_formula(make: Make, tmp_path: Path) -> None:
    """Mutation: write what callers have chosen as it is."""
    case = make("ucb1", arms=["=1+1", "b"])
    case.tell(case.decide(subject="=HYPERLINK(1)"), -1.0)
    case.decide(subject="-2 for 1")
    export(case.ledger.storage, "e", tmp_path / "e.csv")
    found = list(csv.DictReader(io.StringIO((tmp_path / "e.csv").read_text())))
    assert [(one["subject"], one["arm"], one["reward"]) for one in found] == [
        ("'=HYPERLINK(1)", "'=1+1", "-1.0"),
        ("'-2 for 1", "b", ""),
    ]
    export(case.ledger.storage, "e", tmp_path / "e.parquet")
    assert pq.read_table(tmp_path / "e.parquet").column("subject").to_pylist() == ["=HYPERLINK(1)", "-2 for 1"]


def test_a_service_sends_what_has_changed(tmp_path: Path) -> None:
    web = Web(tmp_path / "web.db")
    first = web.decide()
    found = web.response("GET", f"{E}/log.csv")
    until = found.headers["latentbandits-until"]
    assert found.headers["content-disposition"] == 'attachment; filename="e.csv"'
    assert web.response("GET", f"{E}/log.csv?after={until}").text.count("\n") == 1
    web.reward(first, 0.5)
    second = web.decide()
    (one, two) = csv.DictReader(io.StringIO(web.response("GET", f"{E}/log.csv?after={until}").text))
    assert (one["id"], one["reward"], two["id"]) == (first["id"], "0.5", second["id"])
    assert web.send("GET", f"{E}/log.csv?after=-1")[0] == 422
    assert web.send("GET", "/v1/experiments/nothing/log.csv")[0] == 404
    assert web.send("GET", f"{E}/log.txt")[0] == 404
    web.close()


@pytest.mark.slow
def test_a_long_log_takes_little_memory(make: Make) -> None:
    """Mutation: keep rows, or ends, of all decisions."""
    import tracemalloc

    case = make("exp3")
    peaks = []
    for number in (20_000, 60_000):
        for _ in range(number // 1000):
            played(case, 1000)
        tracemalloc.start()
        for _ in pieces(case.ledger.storage, table_of(case), ".csv"):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]

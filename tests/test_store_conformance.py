"""The stores pass one suite, and stores with a fault do not."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from latentbandits.store import Event, Group, Row, Snapshot, SQLite, queries
from tests.store_checks import StoreChecks


class TestSQLite(StoreChecks):
    def opened(self, folder: Path) -> SQLite:
        return SQLite(folder / "store.db")


class Halves(SQLite):
    """Appends groups one by one."""

    def append(self, groups: Sequence[Group]) -> None:
        for group in groups:
            super().append([group])


class Unfenced(SQLite):
    """Takes whatever epoch somebody has."""

    def append(self, groups: Sequence[Group]) -> None:
        rows = {row.id: row for row in self.experiments()}
        super().append([group._replace(epoch=rows[group.experiment].epoch) for group in groups])


class Twice(SQLite):
    """Lets a decision end twice."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._rows("DROP INDEX event_about")


class Rounded(SQLite):
    """Keeps fewer digits."""

    def events(self, experiment: int, after: int = 0, most: int = 10_000) -> list[Event]:
        found = super().events(experiment, after, most)
        return [one if one.value is None else one._replace(value=float(f"{one.value:.6g}") + 1e-17) for one in found]


class Forgets(SQLite):
    """Does not write all that it takes."""

    def append(self, groups: Sequence[Group]) -> None:
        super().append([group._replace(answered=()) for group in groups])


class Deep(SQLite):
    """Keeps all snapshots."""

    def keep(self, experiment: int, snapshot: Snapshot, deep: int = 3) -> None:
        super().keep(experiment, snapshot, 1000)


class Still(SQLite):
    """Claims nothing."""

    def claim(self, experiment: int, build: str = "") -> Row:
        return next(row for row in self.experiments() if row.id == experiment)


class Replaces(SQLite):
    """Replaces the counts of a minute."""

    def append(self, groups: Sequence[Group]) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                queries, "ADD_MINUTE", queries.ADD_MINUTE.replace("INSERT", "INSERT OR REPLACE").split(" ON")[0]
            )
            super().append(groups)


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        (Halves, "groups_are_appended_all_or_none"),
        (Unfenced, "whoever_claims_last_appends"),
        (Unfenced, "groups_are_appended_all_or_none"),
        (Twice, "a_decision_has_one_end"),
        (Rounded, "events_come_back_as_they_were"),
        (Forgets, "a_store_opened_again_has_everything"),
        (Deep, "snapshots"),
        (Still, "builds"),
        (Still, "whoever_claims_last_appends"),
        (Replaces, "counts_of_minutes_are_added"),
    ],
)
def test_a_fault_is_found(fault: Any, check: str) -> None:
    class Checks(StoreChecks):
        def opened(self, folder: Path) -> SQLite:
            made: SQLite = fault(folder / "store.db")
            return made

    suite = Checks()
    suite.setup_method()
    try:
        with pytest.raises(AssertionError):
            getattr(suite, f"test_{check}")()
    finally:
        suite.teardown_method()

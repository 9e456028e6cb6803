"""Files of a store: those of earlier versions open, a migration that is killed is finished later, the write-ahead log stays bounded."""

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import latentbandits as lb
from latentbandits.agent.steps import compiled_jobs
from latentbandits.compiled import machine_code
from latentbandits.settings import Refusal
from latentbandits.store import Decide, Ledger, NameRegime, Reader, Round, SQLite, replay, verify
from latentbandits.store.schema import FOLDER
from tests import store_fixture
from tests.store_fixture import MORE, STORES, facts, play
from tests.stores import Case, Clock, played, repeated

VERSIONS = sorted(path.name for path in STORES.iterdir())


@pytest.mark.parametrize("version", VERSIONS)
def test_a_store_of_an_earlier_version_opens_and_goes_on(tmp_path: Path, version: str) -> None:
    """To the bit where the build is the same, equivalent elsewhere; the choices that follow are those of then."""
    wanted = json.loads((STORES / version / "facts.json").read_text())
    path = tmp_path / "store.db"
    shutil.copy(STORES / version / "store.db", path)
    clock = Clock()
    clock.now = wanted["now"]
    ledger = Ledger(SQLite(path), clock, compiled=False)
    for name, said in wanted["experiments"].items():
        verdict = verify(ledger.storage, name)
        assert verdict.problems == ()
        assert verdict.label in ("identical", "equivalent")
        assert verdict.snapshots > 0
        assert facts(ledger.storage, name) == {key: value for key, value in said.items() if key != "next"}
        assert play(ledger, clock, name, range(60, 60 + MORE)) == said["next"]
    ledger.close()


def test_a_name_of_an_earlier_version_is_repeated_for_the_regime_of_its_state(tmp_path: Path) -> None:
    """The event has the id of a state; those of today have the number of a regime."""
    case = Case(tmp_path / "store.db", "state-library", durable=False, arms=2)
    for n in range(80):
        decision = case.decide()
        case.tell(decision, (0.2, 0.8)[decision.arm == n // 40] + n % 3 / 50)
    before, after = case.ledger.view("e").belief.states
    case.ledger.call(NameRegime("e", after.number, "rain"))
    live = case.ledger.digest("e")
    case.ledger.snapshot("e")
    case.ledger.storage.close()
    connection = sqlite3.connect(case.path)
    (body,) = connection.execute("SELECT body FROM event WHERE kind = 'name'").fetchone()
    assert json.loads(body) == {"number": after.number, "name": "rain"}
    old = json.dumps({"regime": after.id, "name": "rain"})
    assert after.id not in (before.number, after.number)
    connection.execute("UPDATE event SET body = ? WHERE kind = 'name'", [old])
    connection.commit()
    connection.close()
    assert repeated(Reader(case.path)) == live
    assert verify(Reader(case.path), "e").label == "identical"


def test_a_name_whose_state_is_not_found_is_left_out(tmp_path: Path) -> None:
    """StateLibrary learns otherwise than the version that wrote this store: from the beginning of the log it counts other states."""
    path = tmp_path / "store.db"
    shutil.copy(STORES / "001" / "store.db", path)
    reads = Reader(path)
    row = reads.experiment("offers")
    assert row is not None
    names = []
    for begin in (replay.begun, replay.first):  # from a snapshot of then, and from the first event
        state = begin(reads, row, None)
        replay.replay(reads, row.id, state)
        assert state.head == row.head
        names.append((state.player.regimes, [one.name for one in state.player.belief().states]))
    assert names == [({127: "rain"}, ["rain"]), ({}, [""])]


def test_this_version_has_its_store() -> None:
    """`python -m tests.store_fixture` writes it."""
    assert store_fixture.NAME in VERSIONS


def schema(folder: Path, *more: str) -> Path:
    """Return a folder with the tables of today, and further steps."""
    made = folder / "schema"
    shutil.copytree(FOLDER / "sqlite", made / "sqlite", dirs_exist_ok=True)
    for number, sql in enumerate(more, start=2):
        (made / "sqlite" / f"{number:03}.sql").write_text(sql)
    return made


STEP = "ALTER TABLE api_key ADD COLUMN note TEXT; CREATE TABLE note (id INTEGER PRIMARY KEY) STRICT; UPDATE api_key SET note = 'x';"


def columns(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    found = [row[1] for row in connection.execute("PRAGMA table_info(api_key)")]
    connection.close()
    return found


def test_a_migration_that_is_killed_half_way_is_finished_later(case: Case, tmp_path: Path) -> None:
    """A real process, a real kill, in the middle of the second step (mutation: commit every statement on its own)."""
    played(case, 5)
    live = case.ledger.digest("e")
    case.ledger.close()
    folder = schema(tmp_path, STEP, "CREATE TABLE last (id INTEGER PRIMARY KEY) STRICT;")
    code = f"""
import os, signal, sqlite3
from pathlib import Path
from latentbandits.store import SQLite
class Killed(SQLite):
    def _connected(self):
        made = super()._connected()
        made.set_trace_callback(lambda sql: "UPDATE api_key" in sql and os.kill(os.getpid(), signal.SIGKILL))
        return made
Killed(Path({str(case.path)!r}), Path({str(folder)!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    assert "note" not in columns(case.path)
    case.ledger = case._opened()  # this version knows nothing of it
    assert case.ledger.digest("e") == live
    case.ledger.close()
    storage = SQLite(case.path, folder)
    assert storage.versions == (1, 3)
    assert "note" in columns(case.path)
    case.ledger = Ledger(storage, case.clock, compiled=False)
    assert case.ledger.digest("e") == live
    case.ledger.close()
    with pytest.raises(Refusal, match=r"schema version of .* is 3 but must be at most 1; update latentbandits"):
        SQLite(case.path)


def test_a_step_that_fails_leaves_the_one_before(case: Case, tmp_path: Path) -> None:
    case.ledger.close()
    folder = schema(
        tmp_path,
        "CREATE TABLE good (id INTEGER) STRICT;",
        "CREATE TABLE bad (id INTEGER) STRICT; SELECT 1 FROM nowhere;",
    )
    with pytest.raises(RuntimeError, match="nowhere"):
        SQLite(case.path, folder)
    connection = sqlite3.connect(case.path)
    assert connection.execute("SELECT MAX(version) FROM schema_version").fetchone() == (2,)
    assert {"good"} == {
        row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE name IN ('good', 'bad')")
    }
    connection.close()


def written(case: Case, look: Callable[[], object]) -> int:
    """Decide much, with a look at the store after every group, and return the most bytes that the write-ahead log had."""
    case.ledger.storage._rows("PRAGMA wal_autocheckpoint = 1000")  # type: ignore[attr-defined]  # of 8,000: it takes less time
    wal, sizes = case.path.with_name(f"{case.path.name}-wal"), []
    for _ in range(40):
        case.ledger.call(Decide("e", tuple(Round(unit="u" * 200) for _ in range(500))))
        look()
        sizes.append(wal.stat().st_size)
    return max(sizes)


def test_the_write_ahead_log_stays_bounded_while_a_page_is_open(case: Case) -> None:
    """A page reads all the time, on short connections (mutation: `Reader` that keeps its connection within a transaction)."""
    reader = Reader(case.path)
    most = written(case, lambda: (reader.latest(1), reader.events(1, 0, 100), reader.minutes(1), reader.beliefs(1)))
    assert case.path.stat().st_size > 8_000_000
    assert most < 6_000_000  # 1,000 pages, and the last group


def test_a_reader_that_never_ends_lets_it_grow(case: Case) -> None:
    """What the test above would see if `Reader` was such a one."""
    connection = sqlite3.connect(case.path, isolation_level=None)
    connection.execute("BEGIN")
    connection.execute("SELECT COUNT(*) FROM event").fetchone()
    most = written(case, lambda: None)
    connection.close()
    assert most > 8_000_000


COPY = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('VACUUM INTO ?', [sys.argv[2]])"


def test_a_copy_that_is_made_while_the_store_is_in_use(case: Case, tmp_path: Path) -> None:
    """It opens, verifies, and has all that was acknowledged before it began."""
    told = [case.decide() for _ in range(50)]
    for decision in told:
        case.tell(decision, 0.5)
    copy = tmp_path / "copy.db"
    with subprocess.Popen([sys.executable, "-c", COPY, str(case.path), str(copy)]) as copying:
        while copying.poll() is None:
            case.decide()
    assert copying.returncode == 0
    with lb.open(copy, "e", compiled=False) as agent:
        assert agent.tell(told[-1].id, 0.5) == "duplicate"
    assert verify(Reader(copy), "e").label == "identical"
    assert case.tell(told[0], 0.5) == "duplicate"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_a_new_store_is_for_its_user_alone(tmp_path: Path) -> None:
    """It has digests of keys, and units."""
    case = Case(tmp_path / "store.db")
    names = ("store.db", "store.db-wal", "store.db-shm", "store.db.lock")
    assert {name: (tmp_path / name).stat().st_mode & 0o777 for name in names} == dict.fromkeys(names, 0o600)
    case.ledger.close()
    (tmp_path / "store.db").chmod(0o640)  # whoever wants to share it may
    case.again()
    assert (tmp_path / "store.db").stat().st_mode & 0o777 == 0o640
    case.ledger.close()


def test_what_is_no_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    junk = tmp_path / "junk.db"
    junk.write_text("hello")
    for place, rule in ((junk, "a store, or new"), (tmp_path, "a file")):
        with pytest.raises(Refusal, match=f"must be {rule} [(]this is "):
            lb.open(place, "offers", policy="ucb1", arms=2)
    assert junk.read_text() == "hello"


def test_a_store_where_nothing_can_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.db.lock").mkdir()
    with pytest.raises(Refusal, match=r"file is '.*s\.db' but must be in a folder that can be written"):
        SQLite(tmp_path / "s.db")


@pytest.mark.compiled
def test_a_long_log_is_repeated_by_machine_code_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(tmp_path / "s.db", durable=False)
    played(case, 40)
    live = case.ledger.digest("e")
    case.ledger.storage.close()
    for step, args in compiled_jobs(lb.policy("ucb1", arms=3)):
        machine_code(step, *args)
    monkeypatch.setattr("latentbandits.compiled.compiler._loaded", {})  # as in another process
    monkeypatch.setattr("latentbandits.store.ledger.LONG", 10)
    ledger = Ledger(SQLite(case.path), case.clock)
    ledger.open("e")
    assert ledger.view("e").compiled  # mutation: a bind that never waits
    assert ledger.digest("e") == live
    ledger.close()

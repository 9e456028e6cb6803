"""Files of a store: one that was written once opens for good, the write-ahead log stays bounded."""

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
from latentbandits.settings import InvalidValueError
from latentbandits.store import Decide, Ledger, Reader, SQLite, verify
from tests.store_fixture import MORE, STORE, facts, play
from tests.stores import Case, Clock, played


def test_a_store_that_was_written_once_opens_and_goes_on(tmp_path: Path) -> None:
    """To the bit where the build is the same, equivalent elsewhere; the choices that follow are those of then."""
    wanted = json.loads((STORE / "facts.json").read_text())
    path = tmp_path / "store.db"
    shutil.copy(STORE / "store.db", path)
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


def test_tables_that_are_made_by_a_process_that_is_killed_are_made_later(tmp_path: Path) -> None:
    """A real process, a real kill, after most of the tables (mutation: commit every statement on its own)."""
    path = tmp_path / "store.db"
    code = f"""
import os, signal
from latentbandits.store import SQLite
class Killed(SQLite):
    def _connected(self):
        made = super()._connected()
        made.set_trace_callback(lambda sql: "CREATE TABLE api_key" in sql and os.kill(os.getpid(), signal.SIGKILL))
        return made
Killed({str(path)!r})
"""
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    storage = SQLite(path)
    assert storage.experiments() == []
    storage.close()


def written(case: Case, look: Callable[[], object]) -> int:
    """Decide much, with a look at the store after every group, and return the most bytes that the write-ahead log had."""
    case.ledger.storage._rows("PRAGMA wal_autocheckpoint = 1000")  # of 8,000: it takes less time
    wal, sizes = case.path.with_name(f"{case.path.name}-wal"), []
    for _ in range(40):
        case.ledger.run([Decide("e", subject="u" * 200)] * 500)
        look()
        sizes.append(wal.stat().st_size)
    return max(sizes)


def test_the_write_ahead_log_stays_bounded_while_a_page_is_open(case: Case) -> None:
    """A page reads all the time, on short connections (mutation: `Reader` that keeps its connection within a transaction)."""
    reader = Reader(case.path)
    most = written(case, lambda: (reader.latest(1), reader.events(1, 0, 100), reader.minutes(1), reader.beliefs(1)))
    assert case.path.stat().st_size > most
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
    with lb.open_agent(copy, "e", compiled=False) as agent:
        assert agent.tell(told[-1].id, 0.5) == "duplicate"
    assert verify(Reader(copy), "e").label == "identical"
    assert case.tell(told[0], 0.5) == "duplicate"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_a_new_store_is_for_its_user_alone(tmp_path: Path) -> None:
    """It has digests of keys, and groups."""
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
        with pytest.raises(InvalidValueError, match=f"must be {rule} [(]this is "):
            lb.open_agent(place, "offers", policy="ucb1", arms=2)
    assert junk.read_text() == "hello"


def test_a_store_where_nothing_can_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.db.lock").mkdir()
    with pytest.raises(InvalidValueError, match=r"file is '.*s\.db' but must be in a folder that can be written"):
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
    monkeypatch.setattr("latentbandits.store.held.LONG", 10)
    ledger = Ledger(SQLite(case.path), case.clock)
    ledger.open("e")
    assert ledger.view("e").compiled  # mutation: a bind that never waits
    assert ledger.digest("e") == live
    ledger.close()

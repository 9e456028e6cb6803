"""The store in PostgreSQL: the suite, the machine, and what only several processes can do."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis.stateful import rule

import latentbandits as lb
from latentbandits import cli
from latentbandits.settings import InvalidValueError
from latentbandits.store import (
    Create,
    Decide,
    FencedError,
    Ledger,
    Reward,
    Spec,
    SQLite,
    StoreUnavailableError,
    durable,
    reader_of,
    storage_of,
    verify,
)
from tests import postgres
from tests.postgres import address
from tests.store_checks import StoreChecks
from tests.stores import Case, played
from tests.test_store_machine import Machine, suite

pytestmark = pytest.mark.usefixtures("postgres")
ROOT = Path(__file__).parent.parent
LONG = 3600.0  # seconds of a lease that never ends here
MOST = 10_000  # requests that may fail while a database restarts


def opened(place: Path, **given: Any) -> Any:
    from latentbandits.store.postgresql import PostgreSQL

    return PostgreSQL(address(place), **given)


def lapse(*storages: Any) -> None:
    """Let leases end, as time does: in the database, and by the clocks of those who hold them."""
    storages[0]._rows("UPDATE experiment SET lease_until = clock_timestamp()")
    for storage in storages:
        storage._held.clear()


class TestPostgreSQL(StoreChecks):
    def opened(self, folder: Path) -> Any:
        return opened(folder, lease=LONG)

    def lapse(self, storage: Any) -> None:
        lapse(storage)


class Replicas(Machine):
    """The machine, with a second process that takes the experiment over, again and again."""

    @staticmethod
    def storage(path: Path) -> Any:
        return opened(path, lease=LONG)

    other: Ledger | None = None

    @rule()
    def take_over(self) -> None:
        """The other replica goes on, from a state that it may have had for long, and must see what has happened meanwhile."""
        live, before = self.case.ledger, self.case.ledger.digest("e")
        self.other = self.other or Ledger(self.storage(self.case.path), self.case.clock, compiled=False)
        lapse(live.storage, self.other.storage)
        self.case.ledger, self.other = self.other, live
        assert self.case.ledger.digest("e") == before

    def teardown(self) -> None:
        if self.other is not None:
            self.other.close()
        super().teardown()


class ReplicasForLong(Replicas):
    """The same, for the slow suite."""


needs_server = pytest.mark.usefixtures("postgres")
TestReplicas = needs_server(suite(Replicas, 6, steps=30))
TestReplicasForLong = pytest.mark.slow(needs_server(suite(ReplicasForLong, 200, steps=30)))


def test_a_stale_owner_that_wakes_up_writes_nothing(tmp_path: Path) -> None:
    """SIGSTOP past the lease, SIGCONT (mutation: leave out the epoch in `MOVE_HEAD`, or let `claim` pass before the lease has ended)."""
    mine = Ledger(opened(tmp_path, reached_at="http://mine", lease=LONG), compiled=False)
    mine.call(Create("e", Spec.of("exp3", arms=["a", "b"]), "live"))
    command = [sys.executable, "-m", "tests.store_replica", address(tmp_path), "0.5"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as stale:
        assert stale.stdout is not None
        said = [stale.stdout.readline() for _ in range(30)]
        held = mine.storage.owner(1)
        assert held is not None
        assert (held.address, held.here) == ("http://stale", False)
        answer = mine.run([Decide("e", actor="mine")])[0]
        assert isinstance(answer, FencedError)
        assert "at http://stale appends to experiment 1" in str(answer)
        os.kill(stale.pid, signal.SIGSTOP)
        while isinstance(answer, FencedError):  # until the lease has ended
            answer = mine.run([Decide("e", actor="mine")])[0]
        assert isinstance(answer, tuple)
        os.kill(stale.pid, signal.SIGCONT)
        while said[-1] and not said[-1].startswith("fenced"):
            said.append(stale.stdout.readline())
        mine.call(Decide("e", actor="mine"))
        said += [stale.stdout.readline() for _ in range(5)]
        os.kill(stale.pid, signal.SIGKILL)
        said += stale.stdout.readlines()
    events = mine.storage.events(1, 2)
    first = next(place for place, event in enumerate(events) if event.actor == "mine")
    assert {event.actor for event in events[:first]} == {"stale"}
    assert {event.actor for event in events[first:]} == {"mine"}
    told = [line.split()[1] for line in said if line.startswith("made")]
    assert set(told) <= {event.decision for event in events[:first]}
    assert len(told) >= 30
    assert not [line for line in said if line.startswith("failed")]
    assert verify(mine.storage, "e").label == "identical"
    mine.close()


def test_a_database_that_is_restarted_under_load(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """It crashes and comes back, twice; all that was acknowledged is there, once (mutation: `synchronous_commit = off`)."""
    from latentbandits.store.postgresql import PostgreSQL

    server = postgres.start(postgres.folder(f"own-{os.getpid()}"))
    request.addfinalizer(server.cleanup)
    ledger = Ledger(PostgreSQL(address(tmp_path, server)), compiled=False)
    ledger.call(Create("e", Spec.of("exp3", arms=["a", "b"]), "live"))
    made: dict[str, str] = {}
    failures: list[str] = []
    stop = threading.Event()

    def work(name: str) -> None:
        number = 0
        while not stop.is_set():
            try:
                answer = ledger.call(Decide("e", idempotency_key=f"{name}{number}"))
                made[f"{name}{number}"] = answer.id
                assert ledger.call(Reward("e", answer.id, 0.5)) in ("accepted", "duplicate")
                number += 1
            except StoreUnavailableError as problem:  # the same request is sent again
                failures.append(str(problem))
                stop.wait(0.01)

    threads = [threading.Thread(target=work, args=(name,)) for name in "xyz"]
    for thread in threads:
        thread.start()
    try:
        for crash in (True, True, False):
            wanted = len(made) + 50
            while len(made) < wanted and len(failures) < MOST and all(thread.is_alive() for thread in threads):
                stop.wait(0.01)
            if crash:
                postgres.crash(server)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert len(failures) < MOST
    assert failures
    assert not any("\n" in one for one in failures)
    events = ledger.storage.events(1, 0, 1_000_000)
    decided = [str(event.decision) for event in events if event.kind == "decide"]
    assert sorted(decided) == sorted(
        made.values()
    )  # mutation: lose the key, so that what was in doubt is decided again
    assert sum(event.kind == "reward" for event in events) == len(decided)
    assert ledger.digest("e") == verify(ledger.storage, "e").digest
    assert verify(ledger.storage, "e").label == "identical"
    ledger.close()


def test_the_same_line_opens_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = address(tmp_path)
    with lb.open_agent(store, "offers", policy="ucb1", arms=["a", "b"], compiled=False) as agent:
        decision = agent.ask(key="k")
        assert agent.tell(decision, 1.0) == "accepted"
        other = Ledger(opened(tmp_path), compiled=False)
        with pytest.raises(FencedError):  # another process
            other.open("offers")
    other.open("offers")  # a store that is closed gives its experiments back
    assert other.call(Decide("offers", idempotency_key="k")).id == decision.id
    monkeypatch.setattr(durable, "_PATIENCE", 0.1)
    with pytest.raises(FencedError, match="appends to experiment 1 of postgresql://postgres@/postgres"):
        lb.open_agent(store, "offers")
    monkeypatch.undo()
    lapse(other.storage)  # as if it had died
    with lb.open_agent(store, "offers", compiled=False) as agent:
        assert agent.tell(decision.id, 1.0) == "duplicate"
        assert agent.ask().arm == "b"
    other.close()


def test_processes_that_make_an_experiment_at_once_share_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same line opens it for whoever was slower."""
    from latentbandits.store.postgresql import PostgreSQL

    other = Ledger(opened(tmp_path), compiled=False)
    seen: list[str] = []

    def experiment(self: Any, name: str) -> Any:
        found = super(PostgreSQL, self).experiment(name)
        if not seen:  # between the look and the making
            seen.append(name)
            other.call(Create("e", Spec.of("ucb1", arms=["a", "b"], floor=0.25), "live"))
        return found

    monkeypatch.setattr(PostgreSQL, "experiment", experiment)
    with lb.open_agent(address(tmp_path), "e", policy="ucb1", arms=["a", "b"], compiled=False) as agent:
        assert agent.ask().arm == "a"
    assert seen == ["e"]
    other.close()


def test_who_was_away_for_long_sees_what_has_happened(tmp_path: Path) -> None:
    """Its state is of then; before it answers it asks the database (mutation: leave out `hold`)."""
    one, other = (Ledger(opened(tmp_path, lease=LONG), compiled=False) for _ in range(2))
    one.call(Create("e", Spec.of("ucb1", arms=["a", "b"]), "live"))
    decision = one.call(Decide("e"))
    lapse(one.storage, other.storage)
    assert other.call(Reward("e", decision.id, 1.0)) == "accepted"
    with pytest.raises(FencedError):  # it must not answer from what it remembers
        one.view("e")
    live = other.digest("e")
    other.close()
    assert one.view("e").counts["rewarded"] == 1
    assert one.digest("e") == live
    one.close()


def test_a_group_is_asked_once_whether_it_may(tmp_path: Path) -> None:
    """What the first request of a group has done must not be dropped by the second (mutation: ask for every request)."""

    class Lapsing(SQLite):
        asked = 0

        def hold(self, row: Any) -> bool:
            self.asked += 1
            return False

    storage = Lapsing(tmp_path / "d.db")
    ledger = Ledger(storage, compiled=False)
    ledger.call(Create("e", Spec.of("ucb1", arms=["a", "b"]), "live"))
    ledger.call(Decide("e"))
    before = storage.asked
    answers = ledger.run([Decide("e"), Decide("e"), Decide("e")])
    assert storage.asked == before + 1
    stored = {event.decision for event in storage.events(1) if event.kind == "decide"}
    assert {one.id for one in answers} <= stored
    ledger.close()


def test_groups_of_several_experiments(tmp_path: Path) -> None:
    """One of them taken by another process: all of the group fail, and the others go on."""
    one, other = (Ledger(opened(tmp_path, lease=LONG), compiled=False) for _ in range(2))
    for name in "efg":
        one.call(Create(name, Spec.of("ucb1", arms=["a", "b"]), "live"))
    assert all(isinstance(answer, tuple) for answer in one.run([Decide(name) for name in "gfe"]))
    one.storage._rows("UPDATE experiment SET lease_until = clock_timestamp() WHERE name = 'f'")
    other.call(Decide("f"))
    heads = [row.head for row in one.storage.experiments()]
    answers = one.run([Decide(name) for name in "efg"])
    assert [type(answer) for answer in answers] == [FencedError] * 3
    assert [row.head for row in one.storage.experiments()] == heads
    answers = one.run([Decide(name) for name in "efg"])
    assert [type(answer) for answer in answers] == [lb.Decision, FencedError, lb.Decision]
    for name in "efg":
        assert verify(one.storage, name).label == "identical"
    one.close()
    other.close()


def test_processes_that_start_at_once_make_the_tables_once(tmp_path: Path) -> None:
    found: list[Any] = []
    store = address(tmp_path)
    threads = [threading.Thread(target=lambda: found.append(storage_of(store))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.experiments() for one in found] == [[]] * 4
    for one in found:
        one.close()


def test_a_store_looked_after(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Export and verify while it is in use."""
    case = Case(tmp_path, "exp3", storage=opened)
    told = played(case, 40)
    store = address(tmp_path)
    with pytest.raises(
        InvalidValueError, match=r"database is 'postgresql://postgres@/postgres.*must be one that is a store"
    ):
        reader_of(address(tmp_path / "empty"))
    assert cli.main(["store", "verify", store]) == 0
    assert "identical" in capsys.readouterr().out
    assert cli.main(["store", "export", store, "--out", str(tmp_path / "e.csv")]) == 0
    log = lb.Log.read(tmp_path / "e.csv")
    assert len(log) == 30
    assert log.propensities is not None
    assert log.propensities.tolist() == [one.probability for n, one in enumerate(told) if n % 4]
    case.decide()
    case.ledger.close()


def test_secrets_are_not_shown() -> None:
    for given in ("postgresql://ann:secret@127.0.0.1:1/x", "postgresql://ann@127.0.0.1:1/x?password=secret"):
        with pytest.raises(
            StoreUnavailableError, match=r"postgresql://ann@127\.0\.0\.1:1/x cannot be used now"
        ) as caught:
            storage_of(given)
        assert "secret" not in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(InvalidValueError) as refused:
        storage_of("postgresql://ann:secret@host:port/x?nothing=1")
    assert "secret" not in str(refused.value)

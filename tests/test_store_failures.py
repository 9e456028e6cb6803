"""Stores that fail: commits, disks, policies, processes, snapshots. Afterwards the agent is what its log says."""

import itertools
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import latentbandits as lb
from latentbandits.settings import InvalidValueError
from latentbandits.store import (
    Create,
    Decide,
    Expire,
    FencedError,
    Group,
    Ledger,
    NotFoundError,
    Reader,
    Reward,
    Spec,
    SQLite,
    StoreUnavailableError,
    replay,
)
from latentbandits.store.minutes import Minutes
from tests.stores import Case, played

Make = Callable[..., Case]


class Failing(SQLite):
    """A store whose next commit fails, before or after it is on disk."""

    fails = ""

    def _commit(self, connection: sqlite3.Connection) -> None:
        if self.fails == "after":
            super()._commit(connection)
        if self.fails:
            self.fails = ""
            raise sqlite3.OperationalError("disk I/O error")
        super()._commit(connection)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_commit_that_fails(tmp_path: Path, make: Make, when: str) -> None:
    """No arm in the answer, and the agent is what the log says (mutation: keep the state after a failed append)."""
    case = make("state-library", floor=0.3)
    played(case, 8)
    case.ledger.storage.close()
    storage = Failing(tmp_path / "store.db")
    case.ledger = Ledger(storage, case.clock, compiled=False)
    open_id = case.ledger.state("e", lambda state: next(iter(state.open)))
    before = case.ledger.digest("e")
    storage.fails = when
    answers = case.ledger.run([Decide("e", idempotency_key="k"), Reward("e", open_id, 1.0), Decide("nobody")])
    assert [type(answer) for answer in answers] == [StoreUnavailableError, StoreUnavailableError, NotFoundError]
    assert "disk I/O error" in str(answers[0])
    if when == "before":
        assert case.ledger.digest("e") == before
    else:  # in doubt: it is stored, though nobody was told; the key finds it
        assert case.ledger.view("e").head > 0
        assert case.ledger.call(Decide("e", idempotency_key="k")) == case.ledger.call(Decide("e", idempotency_key="k"))
        assert case.ledger.call(Reward("e", open_id, 1.0)) == "duplicate"
    assert case.ledger.digest("e") == case.repeated()
    made = case.kinds().count("decide")
    case.ledger.call(Decide("e", idempotency_key="k"))
    assert (case.kinds().count("decide") == made) is (when == "after")


def test_a_full_disk(make: Make) -> None:
    case = make("ucb1")
    storage: Any = case.ledger.storage
    connection = storage._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    answers = [case.ledger.run([Decide("e", subject="u" * 150)])[0] for _ in range(100)]
    stored = sum(isinstance(answer, tuple) for answer in answers)
    assert 0 < stored < 100
    assert "full" in str(answers[-1])
    before = case.ledger.digest("e")
    assert case.kinds().count("decide") == stored
    many = case.ledger.run([Decide("e", subject="u" * 150)] * 200)
    assert {type(answer) for answer in many} == {StoreUnavailableError}
    assert case.ledger.digest("e") == before == case.repeated()
    connection.execute("PRAGMA max_page_count = 1000000")
    assert case.decide().arm in ("a", "b", "c")
    assert case.ledger.digest("e") == case.repeated()


def test_a_policy_that_raises_changes_nothing(case: Case) -> None:
    case.decide()
    before = case.ledger.digest("e")

    def choose(policy: Any, memory: Any, *_: Any) -> None:
        memory.sums[:] += 1.0
        raise ZeroDivisionError("division by zero")

    def broken(state: Any) -> None:
        state.player.choose = choose

    case.ledger.state("e", broken)
    with pytest.raises(
        StoreUnavailableError, match=r"e failed .ZeroDivisionError: division by zero.; nothing was decided or learned"
    ):
        case.ledger.call(Decide("e"))
    assert case.ledger.digest("e") == before == case.repeated()


def test_a_second_process_is_refused(case: Case) -> None:
    code = f"import latentbandits as lb; lb.open_agent({str(case.path)!r}, 'e')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "must be used by one process at a time" in run.stderr.splitlines()[-1]
    case.ledger.close()
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("store", [":memory:", "sqlite:///:memory:"])
def test_a_store_that_is_no_file_is_refused(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidValueError, match=r"must be one of a file \(`Agent` is what keeps nothing on disk\)$"):
        lb.open_agent(store, "e", policy="ucb1", arms=2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_is_refused_and_holds_nothing(tmp_path: Path) -> None:
    agent = lb.open_agent(tmp_path / "d.db", "e", policy="ucb1", arms=2, compiled=False)
    agent.ask()
    begin, end = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        answers = []
        for act in (agent.ask, lambda: lb.open_agent(tmp_path / "d.db", "e")):
            try:
                act()
                answers.append("allowed")
            except InvalidValueError as refusal:
                answers.append(str(refusal.rule))
        os.write(end, "|".join(answers).encode())
        os._exit(0)
    os.close(end)
    own, other = os.read(begin, 1000).decode().split("|")
    assert own == (
        "the one that made the agent (a forked process must open the store itself, once this one has closed it, "
        "or ask a service by a `Client`)"
    )
    assert other.startswith("used by one process at a")
    os.waitpid(child, 0)
    os.close(begin)
    agent.ask()
    agent.close()


def test_a_stale_writer_is_fenced(case: Case) -> None:
    """Whoever claims later writes; the other one writes nothing (mutation: leave out the epoch in `MOVE_HEAD`)."""
    played(case, 3)
    storage = case.ledger.storage
    other = storage.claim(1)
    before = case.kinds()
    assert isinstance(case.ledger.run([Decide("e")])[0], FencedError)
    assert case.kinds() == before
    assert case.decide().arm  # by then it has claimed again
    with pytest.raises(FencedError):
        storage.append([Group(1, other.epoch, len(before), [])])


def test_a_log_without_its_tail_is_named_as_such(case: Case) -> None:
    """Mutation: go on, and be told that somebody else appends."""
    played(case, 5)
    case.ledger.storage._rows("DELETE FROM event WHERE seq > 6")
    head = case.ledger.view("e").head
    case.again()
    with pytest.raises(
        StoreUnavailableError, match=f"the log of e ends at event 6, though {head} were stored"
    ) as caught:
        case.decide()
    assert not isinstance(caught.value, FencedError)


def test_damaged_snapshots_are_passed_over(case: Case) -> None:
    for _ in range(3):
        played(case, 5)
        case.ledger.snapshot("e")
    played(case, 2)
    live, storage = case.ledger.digest("e"), case.ledger.storage
    newest, *older = storage.snapshots(1)
    storage.keep(1, newest._replace(state=newest.state[:-1] + b"x"))
    case.again()
    assert case.ledger.digest("e") == live
    assert case.ledger.view("e").snapshot == older[0].seq
    for snapshot in storage.reader().snapshots(1):
        case.ledger.storage.keep(1, snapshot._replace(state=b""))
    case.again()
    assert case.ledger.digest("e") == live
    assert case.ledger.view("e").snapshot == 1


def test_snapshots_are_rare_and_three_deep(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("latentbandits.store.held.SNAPSHOT_EVENTS", 20)
    for _ in range(10):
        played(case, 8)
    kept = [snapshot.seq for snapshot in case.ledger.storage.snapshots(1)]
    assert len(kept) == 3
    assert all(one - two >= 20 for one, two in itertools.pairwise(kept))


def test_a_snapshot_of_many_open_decisions_waits_for_as_many_events(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a window of a million decisions would be written again and again (mutation: no look at how many are open)."""
    monkeypatch.setattr("latentbandits.store.held.SNAPSHOT_EVENTS", 20)
    case.ledger.run([Decide("e")] * 60)
    assert case.ledger.storage.snapshots(1) == []
    for decision in case.ledger.state("e", lambda state: list(state.open)):
        case.ledger.call(Reward("e", decision, 0.5))
    assert 62 < case.ledger.storage.snapshots(1)[-1].seq <= 62 + 40


def test_minutes_and_beliefs_follow_from_the_events(make: Make) -> None:
    case = make("state-library", window=90, default=0.0, holdback=0.3, control="b")
    for _ in range(6):
        first = played(case, 6)[0]
        case.clock.move(45)
        case.tell(first, 0.5)
    case.clock.move(600)
    case.ledger.call(Expire("e"))
    storage = case.ledger.storage
    row = storage.experiment("e")
    assert row is not None
    state = replay.first(storage, row, None)
    counted = Minutes(state)
    replay.replay(storage, 1, state, each=lambda event: counted.add(event, None))
    minutes = storage.minutes(1)
    assert sum(one.decided for one in minutes) == 36
    assert sum(one.rewarded for one in minutes) + sum(one.expired for one in minutes) == 36
    assert {one.decided_by for one in minutes} == {"policy", "control"}
    assert sum(one.total for one in minutes) == pytest.approx(
        sum(e.value or 0.0 for e in storage.events(1) if e.kind in ("reward", "expire"))
    )
    assert storage.beliefs(1) == counted.beliefs
    assert len(counted.beliefs) >= 4


def test_threads_share_groups(case: Case) -> None:
    """Every thread gets its own answer, and all that is answered is stored."""
    answers: list[str] = []

    def work(number: int) -> None:
        for n in range(20):
            made = case.ledger.call(Decide("e", idempotency_key=f"{number}-{n}"))
            case.ledger.call(Reward("e", made.id, n / 20))
            answers.append(made.id)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(answers)) == 160
    assert case.kinds().count("reward") == 160
    assert case.ledger.digest("e") == case.repeated()


def test_readers_see_what_is_stored_and_need_no_lock(case: Case) -> None:
    decision = case.decide()
    reader = Reader(case.path)
    assert reader.story(1, decision.id)[0].arm == 0
    assert [event.kind for event in reader.latest(1, 2)] == ["decide", "status"]
    case.ledger.close()
    assert reader.experiment("e") is not None
    for content in (b"", b"something else"):
        other = case.path.with_name("other.db")
        other.write_bytes(content)
        with pytest.raises(InvalidValueError, match="must be a store"):
            Reader(other)


def test_what_a_start_repeats_is_bounded_over_all_experiments(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is short, and they are many. Mutation: look at each alone."""
    case = make("ucb1")
    for name in "fgh":
        case.ledger.call(Create(name, Spec.of("ucb1", arms=["a", "b"]), "live"))
        case.ledger.run([Decide(name)] * 20)
    monkeypatch.setattr("latentbandits.store.ledger.SNAPSHOT_EVENTS", 25)
    for _ in range(4):
        case.ledger.renew()
    kept = [len(case.ledger.storage.snapshots(row.id)) for row in case.ledger.storage.experiments()]
    assert sorted(kept) == [0, 0, 1, 1]

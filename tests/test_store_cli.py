"""`latentbandits store`: verify and export."""

import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.store import Change, Expire, Reader, Reward, SQLite, replay, verify
from tests.stores import Case, played

Make = Callable[..., Case]


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """Return what `latentbandits store` prints, having checked its exit code."""
    found = cli.main(["store", *arguments])
    captured = capsys.readouterr()
    assert found == code, captured
    return captured.err if code == 2 else captured.out


def busy(make: Make, **settings: Any) -> Case:
    """Return a ledger to which everything has happened that minutes count."""
    small = "state-library:states=4,particles=4"
    given = {
        "policy": small,
        "durable": False,
        "window": 90,
        "default": 0.0,
        "holdback": 0.3,
        "control": "b",
        "floor": 0.1,
        "corrections": 4,
    }
    case = make(**{**given, **settings})
    for _ in range(4):
        first = played(case, 6)[0]
        case.clock.move(100)
        case.tell(first, 0.5)  # late
    ended = [str(event.decision) for event in case.ledger.storage.events(1) if event.kind in ("reward", "expire")]
    assert case.ledger.call(Reward("e", ended[-1], 0.875, correct=True)) == "corrected"
    case.ledger.snapshot("e")
    case.ledger.call(Expire("e"))
    return case


def changed(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute(sql).rowcount > 0
    connection.commit()
    connection.close()


def test_verify_says_identical(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    case = busy(make)
    lines = said(capsys, "verify", str(case.path)).splitlines()  # in use
    assert lines[0].split() == ["experiment", "events", "decisions", "snapshots", "repeated", "digest"]
    head = case.ledger.view("e").head
    assert lines[1].split() == ["e", str(head), "24", "1", "identical", case.ledger.digest("e")[:16]]
    assert len(lines[0]) == len(lines[1])
    assert lines[-1] == f"Next: `latentbandits store export {case.path} e` writes its decisions."


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("UPDATE event SET value = 0.75 WHERE kind = 'reward' AND seq < 40", "is not what the log leads to"),
        ("DELETE FROM event WHERE seq = 12", r"event is 13 but must be 12, at \d+ or later (it was applied before, or the log is damaged)"),
        ("DELETE FROM event WHERE seq > 40", "events from 41 to"),
        ("UPDATE experiment SET head = head - 1", "there are events up to"),
        ("UPDATE event SET arm = (arm + 1) % 3 WHERE kind = 'decide' AND seq = 3", "decisions came out otherwise, though"),
        ("UPDATE event SET probability = 0.001 WHERE kind = 'decide'", "24 decisions came out otherwise, though"),
        ("UPDATE event SET decision = 0 WHERE kind = 'told' AND seq < 6", "decision is None but must be an open one"),
    ],
)  # fmt: skip
def test_verify_finds_damage(make: Make, capsys: pytest.CaptureFixture[str], sql: str, problem: str) -> None:
    case = busy(make)
    case.ledger.close()
    changed(case.path, sql)
    found = said(capsys, "verify", str(case.path), code=1)
    assert problem.replace(r"\d+", str(Reader(case.path).events(1, 10, 1)[0].at_us)) in found
    assert "different" in found
    assert found.splitlines()[-1].startswith("Next: go back to a copy from before the damage")


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("DELETE FROM minute WHERE late > 0", "counts of minutes"),
        ("UPDATE minute SET total = total + 0.001 WHERE rewarded > 0", "counts of minutes"),
        ("UPDATE belief SET body = '{}'", "beliefs of minutes"),
        ("UPDATE experiment SET status = 'killed'", "settings or status"),
        ("UPDATE snapshot SET state = x'00'", "the snapshot of event 71 is damaged"),
    ],
)
def test_what_does_not_follow_from_the_log_is_found(
    make: Make, capsys: pytest.CaptureFixture[str], sql: str, problem: str
) -> None:
    """Mutation: leave out the late rewards, or one of the comparisons."""
    case = busy(make)
    case.ledger.close()
    changed(case.path, sql)
    found = said(capsys, "verify", str(case.path), code=1)
    assert problem in found
    assert found.splitlines()[-1].startswith("Next: go back to a copy from before the damage")


def test_another_build_is_equivalent(
    make: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Mutation: compare digests alone, or take every build for the same."""
    other = "latentbandits 0.0.1, numpy 1.26, numba none, abacus"
    with monkeypatch.context() as patch:
        patch.setattr(replay, "build", lambda: other)
        case = busy(make)
        state = case.ledger.storage.snapshots(1)[0]
    case.ledger.close()
    storage = SQLite(case.path)
    assert [(one.seq, one.name) for one in storage.builds(1)] == [(3, other)]
    assert verify(storage, "e").label == "identical"  # it came out the same all the same
    storage.keep(1, state._replace(digest="0" * 64))
    found = said(capsys, "verify", str(case.path))
    assert "equivalent" in found
    assert f"e: equal up to rounding, since another build took part ({other})." in found
    storage._rows("UPDATE event SET arm = (arm + 1) % 3 WHERE kind = 'decide' AND seq = 3")
    verdict = verify(storage, "e")
    assert verdict.diverged > 0
    assert not any("came out otherwise" in problem for problem in verdict.problems)
    storage.claim(1, replay.build())
    assert [one.name for one in storage.builds(1)] == [other, replay.build()]
    storage._rows("DELETE FROM build")
    storage.claim(1, replay.build())
    assert verify(storage, "e").label == "different"  # nobody else has computed, so it must be the same
    storage.close()


def test_a_build_is_versions_sources_and_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy that was edited is another build, though no version has changed (mutation: go by versions alone)."""
    here = replay.build()
    for name, other in (("source_digest", lambda: "edited"), ("processor", lambda: ["abacus"])):
        with monkeypatch.context() as patch:
            patch.setattr(replay, name, other)
            assert replay.build.__wrapped__() != here
    assert replay.build.__wrapped__() == here


def test_verify_of_a_store_that_moves_on(make: Make) -> None:
    """What is appended meanwhile is left out (mutation: compare the minute that is not over)."""
    case = busy(make)
    storage: Any = case.ledger.storage
    reader = storage.reader()

    class Moving:
        def __getattr__(self, name: str) -> Any:
            if name == "minutes":
                case.decide()
            return getattr(reader, name)

    moving: Any = Moving()
    verdict = verify(moving, "e")
    assert verdict.problems == ()
    assert verdict.events == case.ledger.view("e").head - 1


def exported(case: Case, folder: Path, ending: str, capsys: pytest.CaptureFixture[str]) -> Path:
    out = folder / f"offers{ending}"
    found = said(capsys, "export", str(case.path), "e", "--out", str(out))
    assert found.startswith(f"{out}: ")
    assert f"Next: `latentbandits diagnose {out}` says what they show." in found
    return out


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_an_export_is_a_log(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str], ending: str) -> None:
    case = make("exp3", window=60, default=0.25, floor=0.2)
    made = [case.decide(subject=f"u{n % 5}") for n in range(12)]
    for n, decision in enumerate(made[:8]):
        case.clock.move(1)
        case.tell(decision, n / 8)
    case.clock.move(60)
    case.tell(made[8], 0.9)  # late: it has expired
    case.ledger.call(Change("e", "status", {"status": "killed"}))
    open_one = case.decide(subject="u0")
    log = lb.Log.read(exported(case, tmp_path, ending, capsys))
    assert dict(log.columns) == {
        "arm": "arm",
        "reward": "reward",
        "time": "at",
        "subject": "subject",
        "propensity": "propensity",
    }
    assert [(bad.reason, bad.rows) for bad in log.bad] == [("no reward yet (late or lost)", 1)]
    # mutation: take the default value where a late reward is known, or the end of a decision for its time
    assert log.rewards.tolist() == [n / 8 for n in range(8)] + [0.9] + [0.25] * 3
    assert [log.arms[arm] for arm in log.played] == [one.arm for one in made]
    assert log.propensities is not None
    assert log.propensities.tolist() == [one.probability for one in made]
    assert log.times is not None
    assert log.times.astype(np.int64).tolist() == [int(one.id[:13], 16) for one in made]
    assert log.subjects is not None
    assert log.subjects.tolist() == [n % 5 for n in range(12)]
    assert open_one.by == "control"


def test_an_export_has_context_and_units(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = make("lc-ucb:groups=2,covariates=2", arms=["a", "b"])
    made = [case.decide(context=[n, -n / 3], subject=None if n else "ann") for n in range(6)]
    for n, decision in enumerate(made):
        case.tell(decision, [n / 7, n / 9])
    for ending in (".csv", ".parquet"):
        path = exported(case, tmp_path, ending, capsys)
        log = lb.Log.read(path, context=["context_0", "context_1"])
        assert log.context["context_1"].tolist() == [-n / 3 for n in range(6) for _ in range(2)]
        assert log.rewards.tolist() == [value for n in range(6) for value in (n / 7, n / 9)]
        assert log.gaps.tolist() == [1.0, 0.0] * 6  # rows of one decision are one round
        assert [log.arms[arm] for arm in log.played] == [arm for one in made for arm in one.arms]


def test_an_export_says_what_was_learned(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = make("ts", window=60, default=0.5, learn="at_once")  # its probabilities are not known
    learned, _, late = [case.decide() for _ in range(3)]
    case.tell(learned, 1.0)
    case.clock.move(61)
    case.tell(late, 0.75)
    case.ledger.call(Change("e", "status", {"status": "killed"}))
    killed = case.decide()
    case.ledger.call(Change("e", "status", {"status": "shadow"}))
    case.tell(killed, 1.0)
    shadow = case.decide()
    case.ledger.call(Change("e", "status", {"status": "frozen"}))
    case.tell(shadow, 1.0)
    path = exported(case, tmp_path, ".parquet", capsys)
    rows = pq.read_table(path).to_pylist()
    assert not {"propensity", "subject"} & set(rows[0])
    assert [(row["outcome"], row["reward"], row["learned"], row["status"]) for row in rows] == [
        ("rewarded", 1.0, 1.0, None),
        ("expired", 0.5, 0.5, None),
        ("late", 0.75, 0.5, None),
        ("rewarded", 1.0, None, "killed"),
        ("rewarded", 1.0, None, "shadow"),
    ]
    assert rows[4]["wanted"] in ("a", "b", "c")
    assert sum(row["learned"] is not None for row in rows) == case.ledger.state("e", lambda state: state.learned)


def test_an_export_says_what_is_known_while_a_window_is_open_and_what_was_corrected(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Learned is what was learned when the window closed, under the status of then (mutation: under that of the reward)."""
    case = make("exp3", window=60, default=0.0, corrections=9)
    first, second, third = (case.decide() for _ in range(3))
    case.tell(first, 1.0)
    case.tell(second, 0.25)
    case.clock.move(61)
    for decision, reward in ((second, 0.5), (third, 0.75)):
        assert case.ledger.call(Reward("e", decision.id, reward, correct=True)) == "corrected"
    frozen = case.decide()
    case.tell(frozen, 1.0)
    case.ledger.call(Change("e", "status", {"status": "frozen"}))
    case.clock.move(61)
    waiting = case.decide()
    case.tell(waiting, 0.125)
    rows = pq.read_table(exported(case, tmp_path, ".parquet", capsys)).to_pylist()
    assert [(row["outcome"], row["reward"], row["learned"], row["ended_at"] is None) for row in rows] == [
        ("rewarded", 1.0, 1.0, False),
        ("rewarded", 0.5, 0.5, False),
        ("expired", 0.75, 0.75, False),
        ("rewarded", 1.0, None, False),
        ("open", 0.125, None, True),
    ]
    assert sum(row["learned"] is not None for row in rows) == case.ledger.state("e", lambda state: state.learned)


def test_names_of_arms_follow_the_log(make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = make("ucb1", arms=[3, 7])
    case.ledger.close()
    with lb.open_agent(case.path, "e", compiled=False) as agent:
        agent.add("new")
        agent.retire(7)
        agent.add(7)
        made = [agent.ask(available=[name]) for name in (3, 7, "new")]
        for n, decision in enumerate(made):
            agent.tell(decision, float(n))
    for ending in (".csv", ".parquet"):
        log = lb.Log.read(exported(case, tmp_path, ending, capsys))
        assert [str(log.arms[arm]) for arm in log.played] == ["3", "7", "new"]


def test_tables_of_another_version_are_refused(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    case.ledger.close()
    changed(case.path, "UPDATE schema_version SET version = 9")
    assert "is 9 but must be 1, as this latentbandits has it" in said(capsys, "verify", str(case.path), code=2)


def test_an_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("postgresql", "connection"):
        monkeypatch.delitem(sys.modules, f"latentbandits.store.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(
        ModuleNotFoundError, match=r"psycopg is not installed, `pip install 'latentbandits\[postgres\]'`"
    ):
        lb.open_agent("postgresql://nowhere/x", "e", policy="ucb1", arms=2)
    found = said(capsys, "verify", "postgresql://nowhere/x", code=2)
    assert found == "store: psycopg is not installed, `pip install 'latentbandits[postgres]'` brings it\n"


def test_errors_are_one_sentence(case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, sentence in (
        (("verify", "nowhere.db"), "file is 'nowhere.db' but must be one that exists"),
        (("verify", str(case.path), "x"), "experiment is 'x' but must be one that it has (e)"),
        (("export", str(case.path), "x"), "experiment is 'x' but must be one that it has (e)"),
        (("export", str(case.path), "--out", "x.xlsx"), "must be a file name that ends in .csv or .parquet"),
        (("verify", "mysql://x"), "address is 'mysql://x' but must be"),
    ):
        found = said(capsys, *arguments, code=2)
        assert sentence in found
        assert found.count("\n") == 1
    assert not Path("nowhere.db").exists()
    empty = SQLite(tmp_path / "empty.db")
    assert "has no experiments" in said(capsys, "verify", empty.place)
    assert "none: it is empty" in said(capsys, "export", empty.place, code=2)
    empty.close()

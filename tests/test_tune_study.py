import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest

import latentbandits as lb
from latentbandits.advice import study
from tests.tuning import FLIP, OPTIONS, record_simulations, same, tune_flip

ROOT = Path(__file__).parent.parent


class Cut(BaseException):
    """As a kill: nothing catches it."""


def cut_after(records: int, path: Path, patch: pytest.MonkeyPatch) -> None:
    """Run a search that is cut after so many records of its study, or, if their number is odd, in the middle of the next one."""
    backend = optuna.storages.journal.JournalFileBackend
    append, written = backend.append_logs, 0

    def cut(self: Any, logs: list[dict[str, Any]]) -> None:
        nonlocal written
        written += 1
        if written <= records:
            return append(self, logs)
        if records % 2:
            with open(path, "ab") as file:
                file.write(json.dumps(logs[0]).encode()[:20])
        raise Cut

    patch.setattr(backend, "append_logs", cut)
    tune_flip(trials=6, study=path)


def test_an_interrupted_search_goes_on_as_if_nothing_had_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, records = tune_flip(trials=6), 0
    while True:
        path = tmp_path / f"{records}.study"
        try:
            with monkeypatch.context() as patch:
                cut_after(records, path, patch)
            break
        except Cut:
            same(tune_flip(trials=6, study=path), whole)
        records += 5
    assert records > 20
    assert len(os.listdir(tmp_path)) == records // 5 + 1  # no locks are left


def test_a_kill_in_the_middle_of_a_trial_loses_only_that_trial(tmp_path: Path) -> None:
    path = tmp_path / "killed.study"
    script = f"""
import os, signal
import latentbandits as lb
from latentbandits.advice import study
training, calls = study.Task.train, []
def fatal(self, *given):
    calls.append(given)
    if len(calls) == AT:
        os.kill(os.getpid(), signal.SIGKILL)
    return training(self, *given)
study.Task.train = fatal
lb.tune(lb.{FLIP}, {OPTIONS["policy"]!r}, search={OPTIONS["search"]!r}, trials=8, study={str(path)!r})
"""
    for at in (3, 8):  # in the first trial, the defaults; then, after what was there, in a later one
        killed = subprocess.run(
            [sys.executable, "-c", script.replace("AT", str(at))], cwd=ROOT, capture_output=True, text=True
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        states = [trial.state.name for trial in kept(path).trials]
        assert states[-1] == "RUNNING"
    assert states.count("FAIL") == 1
    same(tune_flip(study=path), tune_flip())
    assert sorted(trial.state.name for trial in kept(path).trials if trial.state.name in ("FAIL", "RUNNING")) == [
        "FAIL",
        "FAIL",
    ]


def kept(path: Path) -> optuna.Study:
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))
    return optuna.load_study(study_name=study.STUDY, storage=storage)


def test_more_trials_go_on_and_fewer_do_not_change_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = record_simulations(monkeypatch)
    path = tmp_path / "a.study"
    few = tune_flip(trials=4, study=path)
    played.clear()
    same(tune_flip(trials=9, study=path), tune_flip(trials=9))
    played.clear()
    same(tune_flip(trials=4, study=path), few)
    assert len(played) == 2  # the rehearsal and the held-out worlds


def test_a_lock_file_of_somebody_else_does_not_stop_it(tmp_path: Path) -> None:
    path = tmp_path / "a.study"
    os.symlink(path, f"{path}.lock")
    tune_flip(trials=2, study=path)


def test_a_study_in_use_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.study"
    tune_flip(trials=2, study=path)
    before = path.read_bytes()
    with open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(ValueError, match="must be a file that no other process is tuning with"):
            tune_flip(trials=3, study=path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"seed": 1}, "problem"),
        ({"problem": FLIP.replace(noise=0.2)}, "problem"),
        ({"problem": lb.HiddenMarkov(states=2), "horizon": 900, "runs": 40}, "problem"),
        ({"policy": "sw-ucb", "search": {"exploration": "0.1 to 1"}}, "policy"),
        ({"policy": "d-ucb:discount=0.95"}, "settings"),
        ({"search": {"discount": "0.7 to 0.999"}}, "search"),
        ({"search": None, "policy": "d-ucb"}, "settings"),
    ],
)
def test_a_study_of_something_else_is_refused(changes: dict[str, Any], word: str, tmp_path: Path) -> None:
    path = tmp_path / "a.study"
    tune_flip(trials=1, study=path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"^tune: study is .*must be a new file, or one about the same {word} "):
        tune_flip(study=path, **changes)
    assert path.read_bytes() == before


def test_a_file_that_is_no_study_is_refused_and_kept(tmp_path: Path) -> None:
    journal = tmp_path / "another.study"
    optuna.create_study(
        storage=optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(journal)))
    )
    contents = {"notes": b"remember the milk", "lines": b"a\nb\n", "json": b'{"a": 1}\n', "bytes": bytes(range(256))}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    contents["another.study"] = journal.read_bytes()
    for name, content in contents.items():
        with pytest.raises(ValueError, match="must be a new file, or one that `tune` wrote"):
            tune_flip(study=tmp_path / name)
        assert (tmp_path / name).read_bytes() == content
    for name in ("", "no/folder.study"):
        with pytest.raises(ValueError, match=r"^tune: study is .*must be a file that can be written \("):
            tune_flip(study=tmp_path / name)
    (tmp_path / "empty.study").touch()
    tune_flip(trials=1, study=tmp_path / "empty.study")

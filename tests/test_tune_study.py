"""The trials that a file stores: a search goes on after a kill as if nothing had happened."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest

import latentbandits as lb
from tests.tuning import FLIP, OPTIONS, record_simulations, same, tune_flip

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(("step", "times"), [("enqueue_trial", 1), ("ask", 1), ("ask", 4), ("tell", 3)])
def test_an_interrupted_search_goes_on_as_if_nothing_had_happened(
    step: str, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut after a step of Optuna that changes what is stored."""
    whole, left = getattr(optuna.Study, step), times

    def cut(self: optuna.Study, *given: Any, **options: Any) -> Any:
        nonlocal left
        result, left = whole(self, *given, **options), left - 1
        if left == 0:
            raise KeyboardInterrupt
        return result

    path = tmp_path / "a.db"
    with monkeypatch.context() as patch:
        patch.setattr(optuna.Study, step, cut)
        with pytest.raises(KeyboardInterrupt):
            tune_flip(trials=6, study=path)
    same(tune_flip(trials=6, study=path), tune_flip(trials=6))


def test_a_kill_in_the_middle_of_a_trial_loses_only_that_trial(tmp_path: Path) -> None:
    path = tmp_path / "killed.db"
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
    for at in (2, 7):  # in the first trial, the defaults; then, after what was there, in a later one
        killed = subprocess.run(
            [sys.executable, "-c", script.replace("AT", str(at))], cwd=ROOT, capture_output=True, text=True
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        states = [trial.state.name for trial in kept(path).trials]
        assert states[-1] == "RUNNING"
    same(tune_flip(study=path), tune_flip())
    assert [trial.state.name for trial in kept(path).trials].count("RUNNING") == 2


def kept(path: Path) -> optuna.Study:
    storage = f"sqlite:///{path}"
    (name,) = optuna.get_all_study_names(storage)
    return optuna.load_study(study_name=name, storage=storage)


def test_more_trials_go_on_and_fewer_do_not_change_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = record_simulations(monkeypatch)
    path = tmp_path / "a.db"
    few = tune_flip(trials=4, study=path)
    same(tune_flip(trials=9, study=path), tune_flip(trials=9))
    played.clear()
    same(tune_flip(trials=4, study=path), few)
    assert len(played) == 1  # the held-out worlds


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"problem": FLIP.replace(noise=0.2)},
        {"policy": "sw-ucb", "search": {"exploration": "0.1 to 1"}},
        {"policy": "d-ucb:discount=0.95"},
        {"search": {"discount": "0.7 to 0.999"}},
    ],
)
def test_a_file_keeps_the_studies_of_several_searches_apart(changes: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    first = tune_flip(trials=1, study=path)
    same(tune_flip(trials=1, study=path, **changes), tune_flip(trials=1, **changes))
    same(tune_flip(trials=1, study=path), first)
    assert len(optuna.get_all_study_names(f"sqlite:///{path}")) == 2


def test_a_file_that_is_no_study_is_refused_and_kept(tmp_path: Path) -> None:
    for name, content in {"notes": b"remember the milk", "bytes": bytes(range(256))}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(
            lb.InvalidValueError, match="must be a file that can be written, a new one or one that `tune`"
        ):
            tune_flip(study=tmp_path / name)
        assert (tmp_path / name).read_bytes() == content
    for name in ("", "no/folder.db"):
        with pytest.raises(lb.InvalidValueError, match=r"^tune: study is .*must be a file that can be written"):
            tune_flip(study=tmp_path / name)

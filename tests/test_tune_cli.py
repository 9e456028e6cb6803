import argparse
import inspect
import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.advice import study
from latentbandits.cli.advise import settings_step
from latentbandits.cli.tune import configure
from tests.tuning import tune_flip

SIZES = ["--means", "0.9 0.1; 0.1 0.9", "--noise", "0.1", "--horizon", "900", "--runs", "40", "--trials", "8"]


def command(*arguments: str) -> list[str]:
    return ["tune", "d-ucb:discount=0.9", *SIZES, "--search", "discount=0.8 to 0.999", *arguments]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_writes_settings_and_figure(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(command()) == 0
    said = capsys.readouterr()
    assert sorted(os.listdir(here)) == ["tuned-d-ucb.svg", "tuned-d-ucb.toml"]
    tuning = tune_flip()
    assert lb.policy("tuned-d-ucb.toml") == tuning.policy
    assert tuning.headline in said.out
    assert f"discount      0.9  {tuning.settings['discount']}  0.8 to 0.999" in said.out
    assert [line for line in said.err.splitlines() if not line.startswith("compiling ")] == []
    following = said.out[said.out.index("Next: `") + 7 :].partition("`")[0]
    assert following.endswith("--policies d-ucb:discount=0.9 tuned-d-ucb.toml")
    assert cli.main(shlex.split(following)[1:]) == 0
    assert f"{tuning.gain:.2f} more regret" in capsys.readouterr().out  # the same worlds, the same numbers
    first = {name: (here / name).read_bytes() for name in ("tuned-d-ucb.toml", "tuned-d-ucb.svg")}
    assert cli.main(command()) == 0
    assert {name: (here / name).read_bytes() for name in first} == first


def test_the_command_says_when_to_keep_the_defaults(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--means", "0.9 0.1; 0.1 0.9", "--horizon", "300", "--runs", "8", "--trials", "3"]
    assert cli.main(["tune", "d-ucb:discount=0.9", *sizes, "--search", "exploration=0.5,1e6"]) == 0
    said = capsys.readouterr().out
    assert "keep the defaults (gain 0 on 8 held-out worlds of 300 rounds)" in said
    assert "tuned-d-ucb.toml: the defaults." in said
    assert (
        "`latentbandits advise --arms 2 --states 2 --dwell 100 --means '0.9 0.1; 0.1 0.9' --noise 0.01 --horizon 300 --runs 8`"
        in said
    )
    assert lb.policy("tuned-d-ucb.toml") == lb.policy("d-ucb", discount=0.9)


def test_the_command_speaks_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(command("--json", "--out", "a.toml", "--figure", "b.png")) == 0
    assert sorted(os.listdir(here)) == ["a.toml", "b.png"]
    found = json.loads(capsys.readouterr().out)
    tuning = tune_flip()
    assert found["gain"] == tuning.gain
    assert found["settings"] == tuning.settings
    assert [trial["discount"] for trial in found["trials"]] == tuning.table["discount"].tolist()


def test_the_command_has_the_defaults_of_the_function() -> None:
    parser = argparse.ArgumentParser()
    configure(parser)
    assert parser.get_default("trials") == inspect.signature(lb.tune).parameters["trials"].default


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tune", "d-ubc"], "did you mean d-ucb"),
        (["tune", "d-ucb:discont=0.9"], "did you mean discount"),
        (["tune", "random"], "must be one with settings that are worth a search"),
        (["tune", "adarp-ucb"], "groups of adarp-ucb is 2"),
        (["tune", "d-ucb", "--trials", "0"], "trials is 0"),
        (["tune", "d-ucb", "--workers", "0"], "workers is 0"),
        (["tune", "d-ucb", "--runs", "1"], "runs is 1"),
        (["tune", "d-ucb", "--noise", "-1"], "noise is -1"),
        (["tune", "d-ucb", "none.toml"], "file is 'none.toml' but must be a TOML file"),
        (["tune", "d-ucb", "--search", "discont=0.9 to 0.99"], "did you mean discount"),
        (["tune", "d-ucb", "--search", "discount"], "--search: setting is 'discount' but must be KEY=VALUE"),
        (["tune", "d-ucb", "--search", "discount=0.9,0.99", "discount=0.5,0.6"], "given only once"),
        (["tune", "d-ucb", "--out", "a.yaml"], "--out is 'a.yaml' but must be a file name that ends in .toml"),
        (["tune", "d-ucb", "--out", "no/a.toml"], "--out is 'no/a.toml' but must be a file in a folder that exists"),
        (["tune", "d-ucb", "--figure", "a.gif"], "--figure is 'a.gif' but must be a file name that ends in .svg"),
        (["tune", "a.toml", "--out", "a.toml"], "must be a file that has no other part"),
    ],
)
def test_bad_commands_are_one_sentence_and_write_nothing(
    arguments: list[str], said: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert not os.listdir(here)


def test_the_command_can_be_interrupted(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    training, calls = study.Task.train, 0

    def interrupted(self: study.Task, *given: Any) -> float:
        nonlocal calls
        calls += 1
        if calls == 8:
            raise KeyboardInterrupt
        return training(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(study.Task, "train", interrupted)
        assert cli.main(command()) == 130
    assert capsys.readouterr().err.endswith("interrupted; nothing was written\n")
    assert not os.listdir(here)


def test_progress_counts_trials_on_a_terminal(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("latentbandits.presentation.progress.OFTEN", 0.0)  # however quick this machine is
    assert cli.main(command()) == 0
    said = capsys.readouterr().err
    assert re.search(r"tuning  \[#+\.+\]  \d\d%", said)
    assert said.endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("winner", "named"), [("ucb1", True), ("ucb1:exploration=0.3", False), ("state-library", False)]
)
def test_advise_names_only_a_search_that_tune_accepts(winner: str, named: bool) -> None:
    advice = lb.advise(lb.Problem(states=2, horizon=100, runs=8), [winner], sweep=False)
    assert ("`latentbandits tune" in settings_step(advice)) is named

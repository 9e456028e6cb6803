"""What a person sees first: the command without arguments, examples, completion, the questions of the quick start, output that fails."""

import io
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.cli import quickstart


def test_without_arguments_it_says_what_it_can_do_and_what_to_type_next(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    said = capsys.readouterr().out
    assert all(f"\n  {name} " in said for name in cli.commands())
    assert said.splitlines()[-1].startswith("Next: `latentbandits quickstart`")
    for line in cli.FIRST:
        cli.parser().parse_args(shlex.split(line)[1:])


@pytest.mark.parametrize("name", cli.commands())
def test_help_has_two_examples_that_the_command_accepts(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])
    shown = capsys.readouterr().out.split("examples:\n")[1].splitlines()
    assert len(shown) >= 2
    for line in shown:
        first = shlex.split(line.replace(" | ", " > ").partition(" > ")[0])
        assert first[:2] == ["latentbandits", name]
        assert cli.parser([name]).parse_args(first[1:]).command == name


def test_help_of_advise_names_what_diagnose_writes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["advise", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "or the diagnosis.npz that `latentbandits diagnose` writes" in said
    assert "latentbandits advise diagnosis.npz" in said


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_is_a_script_that_the_shell_accepts(
    shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(name in script for name in cli.commands())
    assert "--write-example" in script
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)


def test_output_that_cannot_be_written_is_one_sentence() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with open("/dev/full", "w") as full:
        ended = subprocess.run([sys.executable, "-m", "latentbandits"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 1
    assert ended.stderr.strip() == "latentbandits: the output cannot be written, the device is full"


def test_a_folder_that_cannot_be_written_to_is_refused_before_anything_is_computed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/proc/self").exists():
        pytest.skip("there is no folder here that even an administrator cannot write to")
    monkeypatch.setattr("latentbandits.advice.advise.advise", lambda *_, **__: pytest.fail("computed"))
    assert cli.main(["advise", "--out", "/proc/advice.html"]) == 2
    assert capsys.readouterr().err.strip().endswith("must be a file in a folder that can be written to")


@pytest.mark.usefixtures("hasty_limit")
def test_quickstart_asks_and_leaves_a_problem_a_page_and_a_program_that_decides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [
        "red",
        "red, green",
        "number",
        "",
        "300",
        "none",
        "50 to 100",
        "0.2",
        "5",
        "20",
        "3600",
        "0.05",
        "-1 to 1",
    ]  # two that do not fit are asked again
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(answers)))
    options = ["--runs", "8", "--policies", "ucb1", "ts", "--out", str(tmp_path / "made")]
    assert cli.main(["quickstart", *options]) == 0
    said = capsys.readouterr()
    assert said.err.count("does not fit, it must be") == 2
    assert "decide.py" in said.out
    problem = tomllib.loads((tmp_path / "made/problem.toml").read_text())
    expected = {"rewards": "gaussian", "means": "0 to 1", "horizon": 300, "dwell": "50 to 100", "noise": 0.2}
    assert problem == {"arms": 2, **expected, "delay": 5, "window": 20, "wrong": 0.05}
    assert (tmp_path / "made/advice.html").read_text().startswith("<!doctype html>")

    monkeypatch.chdir(tmp_path / "made")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))  # it asks nobody
    program = runpy.run_path("decide.py")
    used = program["SETTINGS"]
    assert (used["window"], used["default"], used["reward_range"], used["outside"]) == (20.0, 0.0, (-1.0, 1.0), "clip")
    known, arm = program["main"]([]).split()
    assert arm in ("red", "green")
    assert program["main"]([known, "-1000"]) == "accepted"
    with lb.open_agent("decisions.db", "first") as agent:
        assert (agent.stats.waiting, agent.stats.clipped) == (1, 1)

    assert cli.main(["quickstart", *options]) == 2  # what is there is not written over
    assert "a folder that does not exist yet" in capsys.readouterr().err


def test_quickstart_refuses_to_guess_when_there_is_nobody_to_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert cli.main(["quickstart", "--out", str(tmp_path / "made")]) == 2
    assert "--defaults asks nothing" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


def test_the_defaults_of_the_quickstart_are_answers() -> None:
    found = {word: quickstart.value(word, default) for word, _, default in quickstart.QUESTIONS}
    assert "default" not in quickstart.settings("ts", ["a", "b"], found)
    assert found["arms"] == ["a", "b", "c"]
    assert found["dwell"] is None
    assert quickstart.value("delay", "2") == 2

import re
from pathlib import Path

import pytest

from latentbandits import cli
from latentbandits.policies.registry import REGISTRY
from latentbandits.presentation.progress import Progress

ROOT = Path(__file__).parent.parent


@pytest.mark.usefixtures("hasty_limit")
def test_compare_takes_all_policies(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("latentbandits.advice.candidates.REGISTRY", dict.fromkeys(("ucb1", "ts", "random")))
    assert cli.main(["compare", "--policies", "all", "--runs", "2", "--horizon", "300"]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("policy"))
    rows = {line.split()[0] for line in lines[head + 1 : head + 7]}
    assert rows == {"bayes-planner", "best-single-arm", "random", "ucb1", "ts", "ab-test:test=30"}
    assert lines[-1].startswith("Next:")
    assert len({len(line) for line in lines[head : head + 7]}) == 1  # aligned to the last column


def test_policies_lists_all_and_shows_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["policies"]) == 0
    listed = capsys.readouterr().out
    assert all(re.search(rf"^{name} +\S", listed, re.MULTILINE) for name in REGISTRY)
    for name in REGISTRY:
        assert cli.main(["policies", name]) == 0
        assert re.search(r"^arms +2 ", capsys.readouterr().out, re.MULTILINE)


def test_policies_takes_a_spec(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["policies", "sw-ucb:window=300"]) == 0
    found = capsys.readouterr().out
    assert found.startswith("SW-UCB: ")
    assert re.search(r"^window +300 +at least 2$", found, re.MULTILINE)
    assert cli.main(["policies", "latentbandits.policies.ucb1:UCB1:exploration=0.5"]) == 0
    found = capsys.readouterr().out
    assert found.startswith("UCB1: ")
    assert re.search(r"^exploration +0.5 ", found, re.MULTILINE)


def test_bad_input_is_one_sentence_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["policies", "ucb2"],
        ["policies", "ucb1:explore=1"],
        ["compare", "--runs", "0"],
        ["compare", "--seed", "-1"],
    ):
        assert cli.main(arguments) == 2
        said = capsys.readouterr().err.strip()
        assert "must be" in said
        assert "\n" not in said


def test_every_command_is_documented() -> None:
    pages = "\n".join(page.read_text() for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    for name in cli.commands():
        assert f"latentbandits {name}" in pages


def test_progress_shows_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    progress = Progress("working;")
    progress(50, 100)
    progress(100, 100)
    said = capsys.readouterr().err
    assert "working;  [############............]  50%" in said
    assert said.endswith("\r\x1b[K")

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import latentbandits as lb
from latentbandits import cli

SHORT = ["--start", "50", "--rounds", "40"]


def test_the_command_writes_one_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["trace", "SW-UCB:window=30", *SHORT]) == 0
    said = capsys.readouterr()
    assert [line for line in said.err.splitlines() if not line.startswith("compiling ")] == []
    text = lb.trace(lb.Problem(), "sw-ucb:window=30", start=50, rounds=40).text()
    assert said.out.startswith(f"trace-sw-ucb.svg: {text} Next: open it")
    assert [path.name for path in tmp_path.iterdir()] == ["trace-sw-ucb.svg"]
    assert (tmp_path / "trace-sw-ucb.svg").read_text().rstrip().endswith("</svg>")


def test_the_same_run_is_the_same_file(tmp_path: Path) -> None:
    for policy, kind in (("state-library", "svg"), ("adasp-ucb", "png")):
        for name in ("a", "b"):
            assert cli.main(["trace", policy, *SHORT, "--out", str(tmp_path / f"{name}.{kind}")]) == 0
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


WORDS = ["--arms", "4", "--states", "3", "--stickiness", "0.5", "--rewards", "bernoulli", "--carryover", "0.3"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            [*WORDS, "--seed", "3"],
            lb.Problem(arms=4, states=3, stickiness=0.5, rewards="bernoulli", carryover=0.3, seed=3),
        ),
        (["--kind", "drift", "--timescale", "80"], lb.Problem(kind="drift", timescale=80)),
        (
            ["--kind", "seasons", "--dwell", "20", "--states", "2 to 3"],
            lb.Problem(kind="seasons", dwell=20, states="2 to 3"),
        ),
        (["mine.toml", "--noise", "0.2"], lb.Problem(states=4, noise=0.2)),
        (["--kind", "recorded", "--file", "rewards.csv"], {"kind": "recorded", "file": "rewards.csv"}),
    ],
)
def test_the_command_takes_the_words_of_a_problem(
    words: list[str], problem: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text("states = 4\nnoise = 0.1\n")
    np.savetxt("rewards.csv", np.random.default_rng(0).random((120, 4)), delimiter=",")
    assert cli.main(["trace", "adasp-ucb", *words, *SHORT, "--out", "run.CSV"]) == 0
    trace = lb.trace(problem, "adasp-ucb", start=50, rounds=40)
    assert Path("run.CSV").read_text() == trace.table.to_csv()


def test_a_short_run_is_shown_to_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["trace", "ucb1", "--horizon", "500", "--out", str(tmp_path / "a.csv")]) == 0
    assert "in rounds 201 to 500, " in capsys.readouterr().out


BAD = [
    ["ucb2"],
    ["ucb1", "--arms", "1"],
    ["ucb1", "--arms", "51"],
    ["ucb1", "--states", "0"],
    ["ucb1", "--stickiness", "1.5"],
    ["ucb1", "--noise", "-1"],
    ["ucb1", "--rewards", "poisson"],
    ["ucb1", "--kind", "mars"],
    ["ucb1", "--kind", "drift", "--states", "3"],
    ["ucb1", "--kind", "recorded"],
    ["ucb1", "none.toml"],
    ["ucb1", "--rounds", "0"],
    ["ucb1", "--rounds", "1000000000"],
    ["ucb1", "--start", "0"],
    ["ucb1", "--start", "1000000000"],
    ["ucb1", "--seed", "-1"],
    ["ucb1:exploration"],
    ["ucb1:exploration=much"],
    ["ucb1:window=5"],
    ["ucb1:arms=3"],
    ["ucb1:groups=2"],
    ["adasp-ucb:gated=1"],
    ["adasp-ucb:covariates=2"],
    ["nowhere:Class"],
    ["none.toml"],
    ["ucb1", "--out", "picture.gif"],
    ["ucb1", "--out", "picture"],
    ["ucb1", "--out", "missing/picture.svg"],
    ["ucb1", "--out", "folder.svg"],
]


@pytest.mark.parametrize("arguments", BAD, ids=" ".join)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.svg").mkdir()
    assert cli.main(["trace", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "must be" in said.err
    assert said.err.count("\n") == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["folder.svg"]


def test_without_matplotlib_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("presentation.palette", "advice.trace", "advice.trace_figure"):
        monkeypatch.delitem(sys.modules, f"latentbandits.{module}", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert cli.main(["trace", "ucb1", "--out", str(tmp_path / "a.svg")]) == 2
    assert "latentbandits[sim]" in capsys.readouterr().err


def test_matplotlib_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, argparse, latentbandits.cli.trace as t; t.configure(argparse.ArgumentParser()); print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

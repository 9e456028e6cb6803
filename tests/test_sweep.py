"""Many problems in one folder: resumed, shared out, and one table at the end."""

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.advice import sweep as module
from latentbandits.advice.sweep import sweep
from latentbandits.experiments import cells
from latentbandits.experiments.store import Shard
from latentbandits.simulation.build import this_build

pytestmark = pytest.mark.usefixtures("hasty_limit")
OPTIONS: dict[str, Any] = {"policies": ["ucb1", "random"], "flips": False}


@pytest.fixture
def problems(tmp_path: Path) -> list[Path]:
    for states in (2, 3, 4):
        (tmp_path / f"{states}.toml").write_text(f"states = {states}\nhorizon = 100\nruns = 8\n")
    return sorted(tmp_path.glob("*.toml"))


def test_shards_merge_and_what_is_there_is_not_computed_again(
    problems: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, asked = tmp_path / "out", list[Any]()

    def counted(problem: Any, *given: Any, **more: Any) -> Any:
        asked.append(problem)
        return lb.advise(problem, *given, **more)

    monkeypatch.setattr(module, "advise", counted)
    first = sweep(problems, out, shard=Shard(2, 2), **OPTIONS)
    assert first.left == [str(problems[0]), str(problems[2])]
    (kept,) = (out / "sweep").iterdir()
    rest = sweep(problems, out, shard=Shard(1, 2), **OPTIONS)
    assert (rest.left, len(asked)) == ([], 3)
    kept.write_bytes(kept.read_bytes()[:40])  # torn
    again = sweep(problems, out, **OPTIONS)
    assert len(asked) == 4
    pd.testing.assert_frame_equal(again.table, rest.table)
    assert list(pd.read_csv(out / "sweep.csv")["problem"]) == [str(path) for path in problems]
    alone = lb.advise(problems[0], ["ucb1", "random"], sweep=False)
    assert again.table["policy"][0] == alone.winner
    assert again.table["regret"][0] == alone.comparison.table.loc[alone.winner, "regret"]


def test_a_result_that_was_edited_or_is_of_another_problem_is_computed_again(
    problems: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    expected = sweep(problems, out, **OPTIONS).table
    kept = sorted((out / "sweep").iterdir())
    before = [file.read_bytes() for file in kept]
    content = json.loads(before[0])
    content["row"]["regret"] += 1.0
    kept[0].write_text(json.dumps(content))
    kept[1].write_bytes(before[2])
    pd.testing.assert_frame_equal(sweep(problems, out, **OPTIONS).table, expected)
    assert [file.read_bytes() for file in kept] == before


def test_builds_are_recorded_and_merged_unless_this_is_strict(
    problems: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, mine = tmp_path / "out", this_build()
    command = ["sweep", *map(str, problems[:2]), "--out", str(out), "--policies", "ucb1", "random", "--no-flips"]
    assert cli.main([*command, "--shard", "1/2", "--strict"]) == 0
    assert "are in one table" not in capsys.readouterr().out
    for where in (module, cells):
        monkeypatch.setattr(where, "this_build", lambda: mine._replace(numpy="9.9"))
    other = mine._replace(numpy="9.9").id
    assert cli.main([*command, "--strict"]) == 2
    said = capsys.readouterr().err
    assert "sweep: builds of results is" in said
    assert re.search(
        r"one, since this is strict \(numpy \S+ and \S+\)$", said.strip()
    )  # what differs, and nothing else
    assert cli.main(command) == 0
    names = ", ".join(sorted([mine.id, other]))
    assert f"Results of builds {names} are in one table: the probes of their engines agree." in capsys.readouterr().out
    assert {file.stem for file in (out / "builds").iterdir()} == {mine.id, other}


def test_tuning_many_problems(problems: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out")
    files = [str(path) for path in problems[:2]]
    assert cli.main(["sweep", *files, "--out", out, "--tune", "ucb1", "--trials", "2", "--shard", "1/2"]) == 0
    assert "1 of 2 problems are left" in capsys.readouterr().out
    assert cli.main(["sweep", *files, "--out", out, "--tune", "ucb1", "--trials", "2"]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[0].startswith(files[1])
    assert "recommended" in said
    assert said.splitlines()[-1].startswith(f"Next: {out}/sweep.csv")


def test_a_bad_problem_is_refused_before_anything_is_computed(problems: list[Path], tmp_path: Path) -> None:
    problems[-1].write_text("states = 0\n")
    with pytest.raises(lb.Refusal, match=r"4.toml, line 1: states is 0"):
        sweep(problems, tmp_path / "out", **OPTIONS)
    assert not (tmp_path / "out").exists()
    with pytest.raises(lb.Refusal, match=r"sweep: problems is \[\] but must be at least one"):
        sweep([], tmp_path / "out")


@pytest.mark.parametrize(
    ("options", "sentence"), [(OPTIONS, "advise: runs is 1 but"), ({"tuned": "ucb1"}, "tune: runs is 1 but")]
)
def test_a_problem_that_cannot_be_advised_on_is_named_before_anything_is_computed(
    problems: list[Path], tmp_path: Path, options: dict[str, Any], sentence: str
) -> None:
    problems[-1].write_text("states = 2\nruns = 1\n")
    with pytest.raises(lb.Refusal, match=rf"4.toml: {sentence} must be"):
        sweep(problems, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("option", "value"), [("--out", "/dev/null/x"), ("--out", "foo://x"), ("--shard", "3/2")])
def test_what_a_sweep_refuses_names_the_sweep(
    problems: list[Path], tmp_path: Path, option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("fsspec")
    assert cli.main(["sweep", str(problems[0]), "--out", str(tmp_path / "out"), option, value]) == 2
    assert capsys.readouterr().err.startswith(f"sweep: {option[2:]} is '{value}' but must be")

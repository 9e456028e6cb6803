"""Results in parts: any number of processes write them, in any order, and whoever reads them finds the same bytes."""

import dataclasses
import json
import random
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.simulation.build import this_build
from latentbandits_studies.experiments import cells as cells_module
from latentbandits_studies.experiments import store, timing
from latentbandits_studies.experiments.case import Case
from latentbandits_studies.experiments.cells import Part
from latentbandits_studies.experiments.reproduce import reproduce, reproduce_shard, status
from latentbandits_studies.experiments.store import Shard, Store
from tests.test_blocks import Failing, Stub

NAME = "timing"


def tiny(**changes: Any) -> Case:
    policies = {name: lb.policy(name) for name in ("ucb1", "random")}
    return dataclasses.replace(Case("tiny", lb.HiddenMarkov(), policies, 50, 10, 2, bins=3), **changes)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """An experiment of two tiny cases instead of a real one."""
    cases = [tiny(), tiny(name="other", seed=1)]
    made = timing.EXPERIMENT._replace(cases=lambda quick: cases, score=lambda rows: [])
    monkeypatch.setattr(timing, "EXPERIMENT", made)


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in (folder / "cells").iterdir()}


def whole(tmp_path: Path) -> Path:
    reproduce([NAME], tmp_path / "whole")
    return tmp_path / "whole"


@pytest.mark.usefixtures("small")
def test_shards_in_any_order_with_duplicates_and_a_torn_file_are_the_same_bytes(tmp_path: Path) -> None:
    numbers = [*range(1, 7), 3, 5]
    random.Random(1).shuffle(numbers)
    folder = tmp_path / "shards"
    for number in numbers:
        reproduce_shard([NAME], folder, Shard(number, 7))
    torn, empty = sorted((folder / "cells").iterdir())[:2]
    torn.write_bytes(torn.read_bytes()[:100])
    empty.write_bytes(b"")
    reproduce_shard([NAME], folder, Shard(7, 7))
    (found,) = status([NAME], folder)
    assert not found.complete  # the runs of the torn file
    (outcome,) = reproduce([NAME], folder)
    assert outcome.computed in (1, 2)  # they may be parts of one cell
    expected = whole(tmp_path)
    assert content(folder) == content(expected)
    assert (folder / f"{NAME}.parquet").read_bytes() == (expected / f"{NAME}.parquet").read_bytes()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("shares", [1, 2])
def test_a_damaged_file_is_written_again(tmp_path: Path, shares: int) -> None:
    """Whole cells and parts of them."""
    reproduce_shard([NAME], tmp_path, Shard(1, shares))
    before = content(tmp_path)
    file = sorted((tmp_path / "cells").iterdir())[0]
    file.write_bytes(file.read_bytes()[:60])
    assert reproduce_shard([NAME], tmp_path, Shard(1, shares)) > 0
    assert content(tmp_path) == before


@pytest.mark.usefixtures("small")
def test_a_cell_under_the_name_of_another_is_computed_again(tmp_path: Path) -> None:
    reproduce([NAME], tmp_path)
    before = content(tmp_path)
    one, other = sorted((tmp_path / "cells").iterdir())[:2]
    shutil.copy(other, one)
    assert status([NAME], tmp_path)[0].done == 3
    reproduce([NAME], tmp_path)
    assert content(tmp_path) == before


@pytest.mark.usefixtures("small")
def test_status_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["reproduce", NAME, "--out", str(tmp_path)]
    assert cli.main([*arguments, "--status"]) == 1
    again = f"latentbandits reproduce {NAME} --out {tmp_path}"
    assert (
        capsys.readouterr().out.splitlines()[-1] == f"Next: the missing shards, or `{again}`, which computes the rest."
    )
    assert not (tmp_path / "results").exists()
    assert cli.main([*arguments, "--shard", "1/2"]) == 0
    assert "Next: the other shards" in capsys.readouterr().out
    assert cli.main([*arguments, "--status"]) == 1
    said = capsys.readouterr().out
    assert f"{NAME}  " in said
    assert re.search(rf"{NAME} +2 of 4 +0\.0+\d of 0\.0+\d", said)
    assert cli.main([*arguments, "--shard", "2/2"]) == 0
    assert cli.main([*arguments, "--status"]) == 0
    assert "Nothing is missing." in capsys.readouterr().out


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0", "-1/3", "1/2/3"])
def test_a_shard_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(lb.Refusal, match=r"reproduce: shard is '.*' but must be such as 3/64"):
        Shard.of(text)


@pytest.mark.parametrize("shares", [1, 3, 7, 100])
def test_shards_are_all_of_the_work(shares: int) -> None:
    cases = [tiny(), dataclasses.replace(tiny(), seed=1), tiny()]  # the last one shares all cells with the first
    found = [Shard(number, shares).ranges(cases) for number in range(1, shares + 1)]
    for at, wanted in enumerate((20, 20, 0)):
        assert [run for ranges in found for run in range(*ranges[at])] == list(range(wanted))
    sizes = [sum(end - begin for begin, end in ranges) for ranges in found]
    assert max(sizes) - min(sizes) <= 1


def test_a_kill_loses_what_the_last_seconds_brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept on the way is found again, whatever the executor does."""
    monkeypatch.setattr(store, "KEEP_EVERY", 0.0)
    monkeypatch.setattr("latentbandits.simulation.blocks._TASK_ROUNDS", 1)

    def interrupt(done: int, total: int) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    first = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        first.compute(tiny(), workers=1, progress=interrupt)
    (left,) = Store(tmp_path).left([tiny()])
    assert 5 < sum(end - begin for ranges in left.values() for begin, end in ranges) < 30
    again = Store(tmp_path)
    assert again.compute(tiny()) == ["ucb1", "random"]
    assert len(content(tmp_path)) == 2  # one file replaces the parts
    other = Store(tmp_path / "other")
    other.compute(tiny())
    assert content(tmp_path) == content(tmp_path / "other")


def test_an_executor_that_fails_leaves_nothing_half_written(tmp_path: Path) -> None:
    with pytest.raises(lb.Refusal, match=r"answer of the executor is .OSError"):
        Store(tmp_path).compute(tiny(), executor=Failing())
    assert content(tmp_path) == {}
    with pytest.raises(lb.Refusal, match="what `play_block` returns"):
        Store(tmp_path).compute(tiny(), executor=Stub(lambda piece: None))
    assert content(tmp_path) == {}


@pytest.mark.usefixtures("small")
def test_an_executor_plays_several_cases_at_a_time_and_leaves_the_same_bytes(tmp_path: Path) -> None:
    stub = Stub()
    reproduce([NAME], tmp_path / "stub", executor=stub)
    assert content(tmp_path / "stub") == content(whole(tmp_path))


def halves(tmp_path: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Store:
    """Return a store that has computed half of a case, where a build that is described otherwise had left the other half."""
    made = Store(tmp_path)
    made.compute(tiny(), shard=Shard(1, 2))
    mine = this_build().id
    for file in list((tmp_path / "cells").iterdir()):
        part = Part.of(file.name)
        assert part is not None
        file.rename(file.with_name(part._replace(build="abcdef01").name))
    described = json.loads((tmp_path / "builds" / f"{mine}.json").read_text())
    (tmp_path / "builds" / "abcdef01.json").write_text(json.dumps(change(described)))
    made = Store(tmp_path)
    made.compute(tiny(), shard=Shard(2, 2))
    return made


def test_builds_whose_probes_agree_are_merged_and_it_is_said(tmp_path: Path) -> None:
    made = halves(tmp_path, lambda described: described | {"numpy": "9.9"})
    names = ", ".join(sorted([this_build().id, "abcdef01"]))
    assert made.cells.remarks() == [f"Parts of builds {names} are merged: the probes of their engines agree."]
    (mixed,) = {Part.of(name).build for name in content(tmp_path)}  # type: ignore[union-attr]
    builds = json.loads((tmp_path / "builds" / f"{mixed}.json").read_text())["builds"]
    assert ", ".join(sorted(builds)) == names
    assert Store(tmp_path).compute(tiny()) == []


def test_strict_refuses_parts_of_two_builds(tmp_path: Path) -> None:
    made = Store(tmp_path)
    made.compute(tiny(), shard=Shard(1, 2))
    for file in list((tmp_path / "cells").iterdir()):
        file.rename(file.with_name(Part.of(file.name)._replace(build="abcdef01").name))  # type: ignore[union-attr]
    before = content(tmp_path)
    with pytest.raises(lb.Refusal, match=r"but must be one, since this is strict .one of them is not described"):
        Store(tmp_path, strict=True).compute(tiny(), shard=Shard(2, 2))
    assert content(tmp_path) == before


def test_a_build_with_another_probe_is_left_aside_and_computed_again(tmp_path: Path) -> None:
    found = halves(tmp_path, lambda described: described | {"probe": "0" * 16})
    assert found.missing(tiny()) == ["ucb1", "random"]
    assert found.cells.remarks() == [
        "Parts of builds abcdef01 are left aside: their engine computes otherwise, or is not known."
    ]
    assert found.compute(tiny()) == ["ucb1", "random"]
    other = Store(tmp_path / "other")
    other.compute(tiny())
    pd.testing.assert_frame_equal(found.rows([tiny()]), other.rows([tiny()]))


def test_parts_that_differ_where_both_have_a_run_are_refused(tmp_path: Path) -> None:
    Store(tmp_path).compute(tiny(), shard=Shard(1, 2))
    (file, _) = (tmp_path / "cells").iterdir()
    part = Part.of(file.name)
    assert part is not None
    wrong = Store(tmp_path)
    cell = wrong.cells.cell(part.key, store.shape_of(tiny()))
    at = slice(part.begin, part.end)
    arrays = {name: array[at] + 1 for name, array in cell.arrays.items()}
    file.with_name(part._replace(build="abcdef01").name).write_bytes(cells_module.packed(part, arrays))
    shutil.copy(tmp_path / "builds" / f"{this_build().id}.json", tmp_path / "builds" / "abcdef01.json")
    with pytest.raises(lb.Refusal, match=r"reproduce: part is .* but must be equal to .* where both have a run"):
        Store(tmp_path).missing(tiny())


def test_parts_that_another_process_replaces_meanwhile_are_found(tmp_path: Path) -> None:
    for number in (1, 2):
        Store(tmp_path).compute(tiny(), shard=Shard(number, 3))
    reader = Store(tmp_path)  # knows the parts by their names
    Store(tmp_path).compute(tiny())
    assert reader.missing(tiny()) == []


def test_a_call_that_finds_all_parts_makes_one_file_of_them(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "other")]
    for number, folder in enumerate(
        folders, start=1
    ):  # two shards that end at the same time: neither sees the other's parts
        Store(folder).compute(tiny(), shard=Shard(number, 2))
    for file in (folders[1] / "cells").iterdir():
        shutil.copy(file, folders[0] / "cells")
    part = Part.of(next((folders[0] / "cells").iterdir()).name)
    assert part is not None
    (folders[0] / "cells" / part._replace(begin=part.begin + 1).name).write_bytes(b"torn")
    assert Store(folders[0]).compute(tiny()) == []
    Store(tmp_path / "whole").compute(tiny())
    assert content(folders[0]) == content(tmp_path / "whole")


def test_seconds_are_not_in_a_cell(tmp_path: Path) -> None:
    """Equal results are equal bytes, whenever and however fast they were computed."""
    for name in ("one", "other"):
        Store(tmp_path / name).compute(tiny(), workers=1 + (name == "other"))
    assert content(tmp_path / "one") == content(tmp_path / "other")

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.policies.registry import REGISTRY
from latentbandits_studies.experiments import winning_rates
from latentbandits_studies.experiments.case import SIZES, Case, Size
from latentbandits_studies.experiments.claims import VERDICTS
from latentbandits_studies.experiments.paper.worlds import COLUMNS, SWEEPS, TITLES, published, rows
from latentbandits_studies.experiments.registry import experiment, experiments, ids
from latentbandits_studies.experiments.reproduce import CELL, reproduce
from latentbandits_studies.experiments.store import COLUMNS as ROWS
from latentbandits_studies.experiments.store import Store
from latentbandits_studies.experiments.table2 import settings as table2
from tests.conftest import made_once
from tests.fixtures import REGRET, WORLDS, regret
from tests.test_golden_results import NAME, check_golden


def small(seed: int = 0, **changes: Any) -> Case:
    policies = {name: lb.policy(name) for name in ("adasp-ucb", "lc-ts", "ucb1")}
    return Case(
        **{
            "name": "small",
            "world": lb.HiddenMarkov(),
            "policies": policies,
            "horizon": 300,
            "draws": 3,
            "seed": seed,
            **changes,
        }
    )


def test_every_experiment_has_settings_a_score_and_a_line() -> None:
    for one in experiments():
        assert one.summary
        planned = {size: one.cases(size) for size in SIZES}
        described = {}
        for size, cases in planned.items():
            cells = [(case.name, label) for case in cases for label in case.policies]
            assert len(set(cells)) == len(cells)
            described[size] = [json.dumps(case.description()) for case in cases]
        rounds = [sum(case.rounds for case in cases) for cases in planned.values()]
        assert rounds[0] <= rounds[1] <= rounds[2]
        assert rounds[0] < rounds[2]
        assert (described["quick"] == described["paper"]) == (
            one.judged == "full" and one.id != "state-library"  # which reads the main table
        )


# What has labels of its own: oracles on the runs of a policy, idealised schedules, and runs of one policy
UNNAMED = {"decomposition", "theory", "ladder", "state-library", "stress", "real"}


@pytest.mark.parametrize("name", [name for name in ids() if name not in UNNAMED])
def test_every_label_is_a_policy_that_is_listed_or_a_spec_of_one(name: str) -> None:
    for case in experiment(name).cases("full"):
        for label, policy in case.policies.items():
            assert label.split(":")[0] in REGISTRY
            assert lb.policy(label, arms=case.world.arms) == policy


def test_winning_rates_and_frequencies_are_of_the_runs_of_the_main_table() -> None:
    for size in SIZES:
        main = {key for case in table2.cases(size) for key in case.keys.values()}
        for name in ("winning-rates", "optimal-arm-frequency"):
            assert {key for case in experiment(name).cases(size) for key in case.keys.values()} <= main


def test_what_stands_beside_the_papers_columns_is_on_the_first_of_their_matrices() -> None:
    full = {case.name: case for case in table2.columns("paper")}
    assert full.keys() == rows().keys()
    assert [case.keys for case in full.values()] == [case.keys for case in table2.columns("full")]
    for case in (*table2.beside("paper"), *table2.added("paper")):
        twin = full[case.name.removesuffix(table2.APART)]
        assert (case.world, case.horizon, case.seed, case.first) == (twin.world, twin.horizon, twin.seed, twin.first)
        assert (case.draws < twin.draws, case.repeats) == (True, 1)


def test_table2_is_the_papers() -> None:
    assert len(rows()) == len(published()) == len(TITLES) == 14
    assert all(set(cells) == set(COLUMNS) for cells in published().values())
    assert sum(len(names) for names in SWEEPS.values()) == 14 + 3  # the default stands in all four sweeps
    full = table2.columns("full")
    assert {case.draws * case.repeats for case in full} == {640}
    assert published()["default"]["adarp-ucb-table"] == 452.22
    assert published()["T5000"]["best-single-arm"] == 1135.05


def test_golden_numbers() -> None:
    """Same seed, same numbers: to 1e-9 on any machine, in four kinds of world. `tests/fixtures.py` adds new policies."""
    known = json.loads(REGRET.read_text())
    assert WORLDS.keys() == known.keys()
    for name, world in WORLDS.items():
        assert known[name].keys() <= REGISTRY.keys()
        for label, found in regret(world, list(known[name])).items():
            np.testing.assert_allclose(found, known[name][label], rtol=1e-9, atol=1e-12, err_msg=f"{label}, {name}")


def test_results_are_found_again_by_content(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.compute(small()) == ["adasp-ucb", "lc-ts", "ucb1"]
    first = store.rows([small()])
    assert store.compute(small()) == []
    assert store.compute(dataclasses.replace(small(), name="other name, same content")) == []
    assert len(store.compute(small(seed=1))) == 3
    assert len(store.compute(small(horizon=301))) == 3
    changed = dict(small().policies) | {"ucb1": lb.policy("ucb1", exploration=1.0)}
    assert store.compute(small(policies=changed)) == ["ucb1"]
    pd.testing.assert_frame_equal(store.rows([small()]), first)


@pytest.mark.parametrize(
    "damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b[:100] + bytes([b[100] ^ 255]) + b[101:]]
)
def test_a_damaged_file_is_noticed_and_computed_again(tmp_path: Path, damage: Any) -> None:
    store = Store(tmp_path)
    store.compute(small())
    first = store.rows([small()])
    path = store.path(small(), "lc-ts")
    path.write_bytes(damage(path.read_bytes()))
    store = Store(tmp_path)
    assert store.missing(small()) == ["lc-ts"]
    assert store.compute(small()) == ["lc-ts"]
    pd.testing.assert_frame_equal(store.rows([small()]), first)


def test_rows_are_what_was_simulated(tmp_path: Path) -> None:
    case = small(repeats=2, bins=5)
    store = Store(tmp_path)
    store.compute(case)
    frame = store.rows([case])
    results = lb.simulate(case.world, case.policies, horizon=300, draws=3, repeats=2, bins=5)
    for i, label in enumerate(results.labels):
        part = frame[frame["policy"] == label]
        np.testing.assert_allclose(part["regret"], results.regret[i])
        np.testing.assert_allclose(part["optimal"], results.optimal[i])
        np.testing.assert_array_equal(part["probes"], results.counts["probes"][i])
        np.testing.assert_allclose(np.stack(part["optimal_curve"].to_list()), results.optimal_bins[i], rtol=1e-6)
        assert part["draw"].tolist() == [0, 0, 1, 1, 2, 2]


def test_columns_are_as_declared(tmp_path: Path) -> None:
    store = Store(tmp_path)
    plain, curves = small(), small(name="curves", bins=5)
    for case in (plain, curves):
        store.compute(case)
    frame = store.rows([plain, curves])
    assert list(frame.columns) == [column.name for column in ROWS]
    numbers = {column.name: column.dtype for column in ROWS if column.dtype != "object"}  # pandas has types for text
    assert {name: str(frame[name].dtype) for name in numbers} == numbers
    assert not store.rows([plain]).columns.str.endswith("_curve").any()
    page = (Path(__file__).parents[1] / "docs" / "results.md").read_text()
    for column in ROWS:
        meaning = column.meaning.replace("|", "\\|")
        assert f"| `{column.name}` | {meaning} |" in page


def command(out: Path, *arguments: str) -> list[str]:
    run = "import sys; from latentbandits.cli import main; sys.exit(main())"
    return [sys.executable, "-c", run, "reproduce", *arguments, "--quick", "--out", str(out)]


@pytest.mark.usefixtures("words_alone")
def test_a_killed_run_is_taken_up_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """kill -9 in the middle: the next call computes only what is missing and ends with the same results."""
    runs, cases = tmp_path / "results" / "runs", experiment(NAME).cases("quick")
    with subprocess.Popen(command(tmp_path, NAME), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        deadline = time.time() + 120
        while time.time() < deadline and len(list(runs.glob("*.parquet"))) < 3:
            time.sleep(0.002)
        os.kill(running.pid, signal.SIGKILL)
    kept = Store(tmp_path / "results", read_only=True)
    found = [label not in kept.missing(case) for case in cases for label in case.policies]
    assert any(found)
    assert not all(found)
    assert cli.main(["reproduce", NAME, "--quick", "--out", str(tmp_path)]) == 0
    assert re.search(rf"^{NAME} .* \({sum(found)} of {len(found)} cells found\)", capsys.readouterr().out)
    check_golden(pd.read_parquet(tmp_path / "results" / f"{NAME}.parquet"))


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of a quick run, to be copied."""

    def make(folder: Path) -> None:
        reproduce([NAME], folder, "quick")

    return made_once(tmp_path_factory, NAME, make)


def test_reproduce_leaves_rows_and_a_description(quick_run: Path, tmp_path: Path) -> None:
    shutil.copytree(quick_run, tmp_path, dirs_exist_ok=True)
    outcomes = reproduce([NAME], tmp_path, "quick")
    assert [outcome.experiment.id for outcome in outcomes] == [NAME]
    assert {claim.verdict for claim in outcomes[0].claims} == {"cannot be judged"}  # a quick run
    assert {claim.points_to for claim in outcomes[0].claims} <= set(VERDICTS)
    frame = pd.read_parquet(tmp_path / f"{NAME}.parquet")
    assert set(frame["case"]) == {*(f"{arms} arms" for arms in (2, 3, 5, 10, 20)), "20 arms, 2 sigma^2"}
    described = json.loads((tmp_path / f"{NAME}.json").read_text())
    assert described == Store(tmp_path).descriptions()[NAME]
    assert described["size"] == "quick"
    assert described["cases"][0]["world"]["stickiness"] == 0.99
    assert described["cases"][0]["policies"]["rp-ucb:lag=one-hot"]["lag"] == "one-hot"
    assert (outcomes[0].computed, outcomes[0].reused) == (0, 49)


def test_seconds_are_those_of_all_cells(quick_run: Path, tmp_path: Path) -> None:
    """A cell that is computed again does not make the rest free."""
    shutil.copytree(quick_run, tmp_path, dirs_exist_ok=True)
    whole, case = Store(tmp_path).descriptions()[NAME]["seconds"], experiment(NAME).cases("quick")[0]
    Store(tmp_path).path(case, "rp-ucb:lag=one-hot").unlink()
    seen: list[tuple[int, int]] = []
    outcome = reproduce([NAME], tmp_path, "quick", progress=lambda done, total: seen.append((done, total)))[0]
    assert (outcome.computed, outcome.reused) == (1, 48)
    assert seen[-1] == (case.draws * case.horizon + CELL,) * 2  # one policy
    assert Store(tmp_path).descriptions()[NAME]["seconds"] > 0.5 * whole


@pytest.mark.parametrize(
    "change",
    [
        {"seconds": "fast"},
        {"seconds": float("nan")},
        {"rounds": None},
        {"code": None},
        {"more": 1},
    ],
    ids=str,
)
def test_a_description_with_odd_values_is_left_out(tmp_path: Path, change: dict[str, Any]) -> None:
    store = Store(tmp_path)
    store.note("ablation", [], "quick")
    store.note("example", [], "quick")
    file = tmp_path / "ablation.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    assert list(store.descriptions()) == ["example"]


@pytest.mark.parametrize("content", [b"{}", b"[]", b"not json", b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_description_is_left_out_and_written_again(tmp_path: Path, content: bytes) -> None:
    store = Store(tmp_path)
    store.note("ablation", [], "full")
    (tmp_path / "ablation.json").write_bytes(content)
    assert store.descriptions() == {}
    store.note("ablation", [], "quick")
    assert store.descriptions()["ablation"]["size"] == "quick"


def test_two_runs_at_once_keep_both_descriptions(tmp_path: Path) -> None:
    one, other = Store(tmp_path), Store(tmp_path)
    one.note("ablation", [], "full")
    before = one.descriptions()
    other.note("example", [], "quick")
    one.note("ablation", [], "quick")
    assert list(before) == ["ablation"]
    assert list(one.descriptions()) == ["ablation", "example"]


def test_a_quick_run_does_not_replace_a_full_one(quick_run: Path, tmp_path: Path) -> None:
    shutil.copytree(quick_run, tmp_path, dirs_exist_ok=True)
    store = Store(tmp_path)
    store.compute(small())
    store.save(NAME, store.rows([small()]))
    store.note(NAME, [small()], "full")
    refusals: list[tuple[Size, str]] = [("quick", "a quick run"), ("paper", "without --full")]
    for size, said in refusals:
        with pytest.raises(
            ValueError, match=rf"run is '{said}' but must be with --full, or in another folder: .*{NAME}\.parquet"
        ):
            reproduce([NAME], tmp_path, size)
    store.save(NAME, store.rows([small()], quick=True))
    reproduce([NAME], tmp_path, "quick")


def test_bad_workers_are_refused_even_when_nothing_is_left_to_do(quick_run: Path) -> None:
    with pytest.raises(ValueError, match="reproduce: workers is 0 but must be an integer at least 1"):
        reproduce([NAME], quick_run, "quick", workers=0)


def test_winning_rates_are_shares_of_duels(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        [
            {
                "case": "default",
                "policy": name,
                "draw": run // 2,
                "repeat": run % 2,
                "regret": float((i * 7 + run) % 13),
            }
            for i, name in enumerate(COLUMNS)
            for run in range(4)
        ]
    )
    pairs = winning_rates.pairs(frame, "default")
    np.testing.assert_allclose(pairs + pairs.T + np.eye(13), np.where(np.eye(13), np.nan, 1.0))
    rates = winning_rates.rates(frame).set_index("policy")["rate"]
    np.testing.assert_allclose(rates, pairs.mean(axis=1).loc[rates.index])


def test_unknown_experiments_get_the_right_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "tabel2"]) == 2
    said = capsys.readouterr().err
    assert all(name in said for name in ids())
    assert "did you mean table2?" in said
    with pytest.raises(ValueError, match="experiment is 'x'"):
        experiment("x")


def test_an_unwritable_folder_is_refused_before_any_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert cli.main(["reproduce", "table2", "--out", str(tmp_path / "file")]) == 2
    assert "must be a folder that can be written to" in capsys.readouterr().err
    (tmp_path / "report").write_text("")
    assert cli.main(["reproduce", "table2", "--out", str(tmp_path)]) == 2
    assert "must be a folder that can be written to" in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def test_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["experiments"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ids())

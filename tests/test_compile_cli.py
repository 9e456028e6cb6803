"""`latentbandits policies --compile`, and what every command says before it compiles."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.cli import compiling, policies
from latentbandits.compiled import cache, compile_first, listening, machine_code, waited
from latentbandits.presentation import progress as screen
from latentbandits.settings import InvalidValueError
from latentbandits_studies.experiments.representation import Representation

SOURCES = Path(lb.__file__).parents[1]


def command(line: str, cache_at: Path, cwd: Path) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "LATENTBANDITS_CACHE": str(cache_at)}
    return subprocess.run(
        [sys.executable, "-m", "latentbandits", *line.split()],
        env=environment,
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=300,
    )


@pytest.mark.compiled
def test_compile_fills_the_cache_once(tmp_path: Path) -> None:
    first = command("policies --compile ucb1:exploration=1 --simulation", tmp_path, tmp_path)
    assert first.returncode == 0
    folder = next((tmp_path / "latentbandits-code").iterdir())
    assert re.match(rf"compiled in \d+ s; {re.escape(str(folder))} has", first.stdout)
    assert first.stderr.startswith("compiling ucb1:exploration=1 (once, for all later runs)\n")
    again = command("policies --compile ucb1 --simulation", tmp_path, tmp_path)
    assert again.returncode == 0
    assert again.stdout.startswith("everything was compiled before; ")
    assert again.stderr == ""


@pytest.mark.compiled
def test_compile_says_that_nothing_can_be_kept(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = command("policies --compile random", blocked / "cache", tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith(f"{blocked / 'cache'} cannot be written to; set LATENTBANDITS_CACHE to a folder")


@pytest.mark.parametrize("spec", ["state-oracle", "tests.test_compiled:Careless", "no-such-policy"])
def test_compile_refuses_what_no_agent_can_use(spec: str) -> None:
    with pytest.raises(InvalidValueError):
        policies.online_policies(["ucb1", spec])


def test_compile_is_for_every_policy_that_an_agent_can_run() -> None:
    made = policies.online_policies([])
    assert {"state-library", "adarp-ucb", "random"} < set(made)
    assert not {"state-oracle", "best-single-arm", "bayes-greedy", "bayes-planner"} & set(made)
    for policy in made.values():
        lb.Agent(policy, compiled=False).ask()


def third(x: Any) -> Any:
    return x


def first(x: Any) -> Any:
    return x


def second(x: Any) -> Any:
    return x


def test_what_is_compiled_is_said_before_it_starts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    where = cache.Place(Path("/kept"), Path("/kept/here"), private=False)
    monkeypatch.setattr(compiling, "place", lambda: where)
    codes = [cache.Code(first, (lb.policies.StateLibrary(2),), "state-library"), cache.Code(second, (1.0,))]
    codes[0].__dict__["outside"] = codes[1].__dict__["outside"] = []
    with compiling.announce(codes):
        assert capsys.readouterr().err == "compiling state-library, second (once, for all later runs)\n"


def test_user_code_is_not_promised_to_be_kept(capsys: pytest.CaptureFixture[str]) -> None:
    with compiling.announce([cache.Code(first, (1,), "mine")]):
        assert capsys.readouterr().err.endswith("(in every run: machine code of user code, first, is not kept)\n")


def test_progress_does_not_count_the_seconds_of_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = screen.Progress("table2")
    begun, before = progress.seconds(), waited()
    monkeypatch.setattr(screen, "waited", lambda: before + 1000.0)
    assert progress.seconds() < begun - 900


@pytest.mark.compiled
def test_seconds_of_compiling_are_counted_whether_or_not_somebody_listens() -> None:
    before = waited()
    machine_code(third, 1)
    once = waited()
    assert once > before
    machine_code(third, 1)
    assert waited() == once
    with listening(compiling.announce):
        compile_first(iter([("b", third, (1.0,))]))
    assert waited() > once


@pytest.mark.compiled
def test_only_what_is_missing_is_announced_and_each_code_once(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def listener(codes: list[cache.Code]) -> Any:
        said.extend(code.label for code in codes)
        return compiling.announce(codes)

    jobs = [("a", first, (1,)), ("b", first, (2,)), ("c", first, (2.0,))]
    compile_first(iter(jobs))
    assert said == []  # the library is silent
    with listening(listener):
        compile_first(iter(jobs))
        assert said == ["a", "c"]
        compile_first(iter(jobs))
        assert said == ["a", "c"]


def test_an_oracle_that_one_round_is_too_short_for_plays_where_somebody_listens() -> None:
    """What is compiled ahead is found by a run of one round, in which this one finds no probe."""
    oracle = Representation(lb.policy("adasp-ucb"), "fingerprint")
    with listening(compiling.announce):
        results = lb.simulate(lb.HiddenMarkov(states=3), {"oracle": oracle}, horizon=300, draws=1, repeats=1)
    assert results.regret.shape == (1, 1)


def test_a_command_is_interrupted_with_a_word(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(policies, "run", interrupted)
    assert cli.main(["policies"]) == 130
    assert capsys.readouterr().err == "interrupted; what is finished is kept: the same command resumes there\n"

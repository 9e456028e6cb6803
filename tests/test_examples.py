"""The scripts of examples/ run, and describe the problems of docs/problems."""

import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

import latentbandits as lb

ROOT = Path(__file__).parents[1]
STORIES = {"advertising": {"trials": 1}, "pricing": {}, "routing": {"trials": 1}}


def test_every_story_has_a_script() -> None:
    pages = {page.stem for page in (ROOT / "docs" / "problems").glob("*.md")} - {"README"}
    assert pages == set(STORIES)
    assert {file.stem for file in (ROOT / "examples").glob("*.py")} == {*STORIES, "skeleton"}


@pytest.mark.parametrize("name", STORIES)
def test_a_script_runs(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    script = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))
    script["main"](horizon=300, runs=8, **STORIES[name])
    said = capsys.readouterr().out
    assert all(policy in said for policy in script["POLICIES"])


@pytest.mark.parametrize("name", STORIES)
def test_a_script_has_the_problem_of_its_story(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `--full` the script plays what the page describes."""
    found: list[Any] = []

    def stop(problem: Any, policies: Any) -> None:
        found.extend((problem, policies))
        raise InterruptedError

    monkeypatch.setattr(lb, "compare", stop, raising=False)
    script = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))
    with pytest.raises(InterruptedError):
        script["main"](full=True)
    page = (ROOT / "docs" / "problems" / f"{name}.md").read_text()
    words = tomllib.loads(page.split("```toml\n")[1].split("```")[0])
    policies = words.pop("policies", None)
    assert found[0] == lb.Problem(**words)
    if policies is None:  # they are in the command
        policies = page.split("--policies ")[1].splitlines()[0].split()
    assert found[1] == policies

"""What a release promises: a public interface that does not change by accident, one version everywhere."""

import re
import tomllib
from pathlib import Path

import latentbandits as lb
from tests.api import SNAPSHOT, lines
from tests.oldest import constraints
from tests.release import PROOF, QUICK

ROOT = Path(__file__).parents[1]


def test_the_public_interface_is_the_one_on_record() -> None:
    """If it changed on purpose: `python -m tests.api`, and a line in the changelog."""
    assert list(lines()) == SNAPSHOT.read_text().splitlines()


def test_there_is_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert cited is not None
    assert newest is not None
    assert {lb.__version__, project["version"], cited[1], newest[1]} == {lb.__version__}


def test_the_oldest_of_every_dependency_is_tried() -> None:
    """Those with extras of their own and those of some platforms as well."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    every = {one for extra in project["optional-dependencies"].values() for one in extra} | {*project["dependencies"]}
    names = {re.split(r"[\[>]", one)[0] for one in every} - {"latentbandits"}
    assert {"psycopg", "uvloop"} <= names
    assert {one.split("==")[0] for one in constraints(project)} == names


def test_every_extra_that_the_pages_name_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    named = {
        one
        for page in pages
        for found in re.findall(r"latentbandits\[([\w,]+)\]", page.read_text())
        for one in found.split(",")
    }
    assert named
    assert named <= set(project["optional-dependencies"])


def test_a_release_is_checked_with_tests_that_exist_and_every_extra_has_a_proof() -> None:
    """Mutation: rename a test file, and an hour later `make release-check` does not find it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert all((ROOT / "tests" / name).is_file() for name in QUICK)
    assert PROOF.keys() == project["optional-dependencies"].keys()

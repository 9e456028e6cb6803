"""The pages of the site: every block is run or checked; ``python -m tests.test_site_docs`` writes what commands print into the pages."""

import argparse
import contextlib
import doctest
import json
import os
import re
import shlex
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from website import architecture, citation, facts, links, reference, sources

import latentbandits as lb
from latentbandits import cli
from tests.test_problems_docs import PROMPT, ROOT, Step, check, folder, run, split

DOCS = ROOT / "docs"
KINDS = ("tutorials", "how-to", "explanations", "reference", "research", "project")
PAGES = [DOCS / "index.md", *(page for kind in KINDS for page in sorted((DOCS / kind).glob("*.md")))]
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
# A block, by its language, or a directive of the site in braces
BLOCK = re.compile(r"^```(\w+|\{[\w-]+\})[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GALLERY = sorted((ROOT / "examples" / "gallery").glob("*.py"))


def name(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


def blocks(page: Path, *languages: str) -> list[str]:
    return [block for language, block in BLOCK.findall(page.read_text()) if language in languages]


def steps(page: Path) -> list[Step]:
    return [step for block in blocks(page, "console") for step in split(block)]


@pytest.mark.parametrize("page", [page for page in PAGES if steps(page)], ids=name)
def test_commands_print_what_a_page_says(page: Path, tmp_path: Path) -> None:
    check(steps(page), tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_block_is_left_out(page: Path) -> None:
    """Doctest runs Python, this file runs commands; commands that do not end, or take long, are at least well formed."""
    text = page.read_text()
    assert "TODO" not in text
    assert len(re.findall(r"^```", text, re.MULTILINE)) == 2 * len(BLOCK.findall(text))
    for language, block in BLOCK.findall(text):
        if language == "python":
            assert block.startswith(">>> "), f"{name(page)}: Python that doctest does not see: {block}"
        elif language == "json":
            json.loads(block)
        elif language == "{literalinclude}":
            assert "../examples/" in text  # which has tests of its own
        else:
            assert language in ("console", "sh", "text", "{toctree}"), (
                f"{name(page)}: a block that nothing checks: {block}"
            )
    for line in (line.split(" #")[0] for block in blocks(page, "sh", "text") for line in block.splitlines()):
        assert _possible(line), f"{name(page)}: {line}"


def _possible(line: str) -> bool:
    """Whether a command could be run: its options exist, and so do the extras that it installs."""
    program, *words = (word for word in shlex.split(line) if not re.match(r"[A-Z_]+=", word))
    if program == "pip":
        extras = re.findall(r"\[([\w,]+)\]", line)
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        return words[0] == "install" and set(",".join(extras).split(",")) - {""} <= set(
            project["optional-dependencies"]
        )
    if program == "latentbandits":
        with contextlib.suppress(SystemExit):
            reference.parsers()[words[0]].parse_args(words[1:])
            return True
        return False
    return program == "uvicorn"


@pytest.mark.parametrize(
    "module", [citation, facts, links, reference, sources], ids=lambda module: str(module.__name__)
)
def test_examples_of_the_builder(module: Any) -> None:
    found = doctest.testmod(module)
    assert (found.failed, found.attempted > 0) == (0, True)


def test_the_reference_has_everything() -> None:
    from latentbandits.advice.vocabulary import PARAMETERS
    from latentbandits.cli import commands
    from latentbandits.policies.registry import REGISTRY
    from latentbandits.serve.routes import ROUTES

    listed = re.findall(r"~latentbandits\.(\w+)$", reference.api(), re.MULTILINE)
    assert sorted(listed) == sorted(set(lb.__all__) - {"__version__", "policies"})
    assert re.findall(r"^## (\S+)$", reference.commands(), re.MULTILINE) == list(commands())
    assert re.findall(r"^## (\S+)$", reference.settings(), re.MULTILINE) == list(REGISTRY)
    assert "|  |\n" not in reference.settings(), "a setting that no docstring explains"
    assert re.findall(r"^\| `(\w+)` \|", reference.words(), re.MULTILINE) == list(PARAMETERS)
    shown = reference.http()
    for route in ROUTES:
        assert f"## {route.summary}\n\n`{route.method} {route.path}`\n" in shown


def test_every_option_is_in_the_reference() -> None:
    text = reference.commands()
    for parser in reference.parsers().values():
        for action in parser._actions:
            if action.option_strings and not isinstance(action, argparse._HelpAction):
                assert f"`{action.option_strings[0]}" in text or f", {action.option_strings[0]}" in text


def test_links_lead_to_the_places_of_the_site(tmp_path: Path) -> None:
    sources.collect(tmp_path, dict.fromkeys(reference.GENERATORS, lambda: ""))
    places = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")}
    assert {"index.md", "policies/index.md", "project/contributing.md", "how-to/late-rewards.md"} <= places
    assert "(../policies/index.md)" in (tmp_path / "reference" / "policies.md").read_text()
    old = tmp_path / "gone.md"
    old.touch()
    before = os.stat(tmp_path / "index.md").st_mtime_ns
    sources.collect(tmp_path, dict.fromkeys(reference.GENERATORS, lambda: ""))
    assert not old.exists()
    assert os.stat(tmp_path / "index.md").st_mtime_ns == before
    with pytest.raises(FileNotFoundError, match="nowhere"):
        sources.linked("[a](nowhere.md)", "docs/index.md")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=name)
def test_notebooks_are_stored_without_outputs(notebook: Path) -> None:
    """The site runs them; what is stored is the question, not the answer."""
    cells = json.loads(notebook.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 4
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert not any(line[0] == "%" for cell in code for line in cell["source"])  # no magic


@pytest.mark.parametrize(("page", "block"), facts.BLOCKS)
def test_what_stands_in_two_places_comes_from_one(page: str, block: str) -> None:
    """If it changed on purpose: `python -m website.facts`."""
    text = (ROOT / page).read_text()
    assert f"<!-- begin: {block} -->" in text
    assert facts.renewed(page) == text


def test_the_readme_is_short_and_names_the_paper_at_once() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 900
    opening = text.partition("```")[0]
    assert "Adaptive Exploration for Latent-State Bandits" in opening


def test_one_sentence_tells_everywhere_what_this_is() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    said = str(project["description"])[1:]  # without the capital
    cited = (ROOT / "CITATION.cff").read_text()
    for text in (
        *(page.read_text() for page in (ROOT / "README.md", DOCS / "index.md")),
        cited,
        cli.overview(),
        lb.__doc__ or "",
    ):
        assert said in " ".join(text.split())


def test_every_script_of_the_gallery_has_a_title_a_text_and_a_figure() -> None:
    assert len(GALLERY) >= 11
    for script in GALLERY:
        title, line, empty, text = script.read_text().removeprefix('"""').lstrip().split("\n", 3)
        assert line == "=" * len(title), script.name
        assert empty == ""
        assert text.count("\n") <= 75, f"{script.name} is not short"
        assert "figure" in text, script.name


def rewrite(page: Path) -> None:
    """Run all commands of a page and write what they print into it."""

    def renewed(found: re.Match[str]) -> str:
        language, block = found.groups()
        if language != "console":
            return found.group()
        printed = [f"{PROMPT}{step.command}\n{run(step)}\n" for step in split(block)]
        return f"```{language}\n{chr(10).join(printed)}```"

    with tempfile.TemporaryDirectory() as path, folder(Path(path)):
        page.write_text(BLOCK.sub(renewed, page.read_text()))


def test_the_picture_of_the_architecture_is_that_of_the_code() -> None:
    """`python -m website.architecture` writes it again."""
    assert architecture.PICTURE.read_text() == architecture.picture()


def test_the_architecture_names_files_that_exist() -> None:
    text = (DOCS / "architecture.md").read_text()
    files = {*re.findall(r"`((?:\w+/)+\w+\.py)(?:: [\w.]+)?`", text)}
    packages = [ROOT / "src" / "latentbandits", ROOT / "src" / "latentbandits_studies", ROOT / "src", ROOT]
    missing = sorted(file for file in files if not any((package / file).is_file() for package in packages))
    assert len(files) > 30
    assert not missing


if __name__ == "__main__":
    for given in map(Path, sys.argv[1:]) if sys.argv[1:] else (page for page in PAGES if steps(page)):
        rewrite(given)

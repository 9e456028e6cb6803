"""The pages of docs/problems hold what was printed and plotted; ``python -m tests.test_problems_docs [PAGE]...`` writes them again."""

import contextlib
import io
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from latentbandits import cli
from latentbandits.advice import flips, problem
from latentbandits.advice.measure import CLOSE, FINALISTS
from latentbandits.advice.problem import as_problem
from latentbandits.advice.race import HOPELESS, MANY, RISK
from latentbandits.advice.study import FEWEST_WORLDS

ROOT = Path(__file__).parent.parent
HOME = ROOT / "docs" / "problems"
SKELETON = ROOT / "examples" / "skeleton.py"
PAGES = sorted(path.stem for path in HOME.glob("*.md"))
STORIES = [page for page in PAGES if page != "README"]
# A block of code: its language and what is in it
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IMAGE = re.compile(r"!\[[^\]]+\]\(([^)]+)\)")
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
PROMPT = "$ "


class Step(NamedTuple):
    """A command of a page and what the page says that it printed."""

    command: str
    said: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.command)

    @property
    def figures(self) -> list[str]:
        """The figures that it writes."""
        pairs = zip(self.words, self.words[1:], strict=False)
        return [name for option, name in pairs if option in ("--out", "--figure") and name.endswith(".svg")]

    @property
    def slow(self) -> bool:
        """Whether it takes long, or reads what `tune` wrote."""
        return self.words[1] in ("advise", "tune") or any(word.startswith("tuned-") for word in self.words)


def text(page: str) -> str:
    return (HOME / f"{page}.md").read_text()


def blocks(page: str, language: str) -> list[str]:
    return [content for found, content in BLOCK.findall(text(page)) if found == language]


def split(block: str) -> list[Step]:
    """Return the commands of a console block, which begins with one."""
    before, *parts = re.split(rf"^{re.escape(PROMPT)}", block, flags=re.MULTILINE)
    assert not before, f"a console block begins with a command, not with {before!r}"
    return [Step(command, said) for command, _, said in (part.partition("\n") for part in parts)]


def steps(page: str) -> list[Step]:
    return [step for block in blocks(page, "console") for step in split(block)]


def stripped(said: str) -> str:
    return "\n".join(line.rstrip() for line in said.splitlines()).strip("\n")


def numbers(said: str) -> set[str]:
    return {number.replace(",", "") for number in NUMBER.findall(said)}


@contextlib.contextmanager
def folder(path: Path) -> Iterator[None]:
    """Work in a folder that holds the descriptions and a policy of user code."""
    for file in (*HOME.glob("*.toml"), SKELETON):
        shutil.copy(file, path)
    searched = list(sys.path)
    try:
        with contextlib.chdir(path):
            yield
    finally:
        sys.path[:] = searched  # a policy from the current folder lengthens it


def run(step: Step) -> str:
    """Run a command in the current folder and return what it printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert step.words[0] == "latentbandits"
        assert cli.main(step.words[1:]) == 0
    return stripped(out.getvalue())


def check(chosen: list[Step], path: Path) -> None:
    with folder(path):
        for step in chosen:
            assert run(step) == stripped(step.said), step.command
            for name in step.figures:
                if (HOME / name).exists():
                    assert same((HOME / name).read_bytes(), Path(name).read_bytes()), name


def same(one: bytes, other: bytes) -> bool:
    """Whether two figures are the same; another release of matplotlib renders it a little differently."""
    made_by = [re.search(rb"Matplotlib v[\d.]+", figure) for figure in (one, other)]
    releases = [found.group() for found in made_by if found is not None]
    assert len(releases) == 2
    return one == other or releases[0] != releases[1]


@pytest.mark.parametrize("page", ["README", "advertising"])  # all pages are among the slow tests
def test_pages_say_what_compare_prints_and_plots(page: str, tmp_path: Path) -> None:
    check([step for step in steps(page) if not step.slow], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_pages_say_what_all_their_commands_print_and_plot(page: str, tmp_path: Path) -> None:
    check(steps(page), tmp_path)


FRONT = re.findall(r"\| `(latentbandits [^`]+)` \|", (ROOT / "README.md").read_text())


def test_the_first_page_has_a_command_of_each() -> None:
    assert [command.split()[1] for command in FRONT] == ["diagnose", "advise", "quickstart", "serve"]
    for command in FRONT:
        cli.parser().parse_args(shlex.split(command)[1:])


@pytest.mark.slow
@pytest.mark.usefixtures("hasty_limit")
def test_the_advice_of_the_first_page_is_a_page(tmp_path: Path) -> None:
    with folder(tmp_path):
        assert "Next:" in run(Step(FRONT[1], ""))
        assert Path("advice.html").stat().st_size > 0


@pytest.mark.parametrize("page", PAGES)
def test_no_block_is_left_out(page: str) -> None:
    """Console blocks are run here, Python by doctest, and descriptions are the files beside the page."""
    content = text(page)
    assert content.count("```") == 2 * len(BLOCK.findall(content))
    for language, block in BLOCK.findall(content):
        assert language in ("console", "python", "toml"), f"{page}: a block that nothing checks: {block}"
        if language == "console":
            assert split(block)
        elif language == "python":
            assert block.startswith(">>> ")
        else:
            assert block == (HOME / f"{page}.toml").read_text()
    assert not re.search(r"^(    )?\$ ", BLOCK.sub("", content), re.MULTILINE), (
        f"{page}: a command outside of a console block"
    )


@pytest.mark.parametrize("page", STORIES)
def test_a_story_has_its_description_its_commands_and_its_figure(page: str) -> None:
    assert len(blocks(page, "toml")) == 1
    assert as_problem(HOME / f"{page}.toml").vague
    found = steps(page)
    assert {"compare", "advise"} <= {step.words[1] for step in found}
    shown = IMAGE.findall(text(page))
    assert shown
    assert set(shown) <= {name for step in found for name in step.figures}


@pytest.mark.parametrize("page", STORIES)
def test_the_moral_has_no_number_that_was_not_printed(page: str) -> None:
    moral = text(page).split("\n## Findings\n")[1]
    assert numbers(moral) <= numbers("\n".join(step.said for step in steps(page)))


def test_every_file_is_used() -> None:
    everything = {path.name for path in HOME.iterdir()}
    shown = {name for page in PAGES for name in IMAGE.findall(text(page))}
    assert everything == {f"{page}.md" for page in PAGES} | {f"{page}.toml" for page in STORIES} | shown
    for name in shown:
        assert (HOME / name).stat().st_size < 250_000
    for page in STORIES:
        assert f"({page}.md)" in text("README")


def test_the_numbers_of_the_method_are_those_of_the_code() -> None:
    said_there = " ".join(text("README").split())
    for said in (
        f"a level of {RISK:.0%}, all looks",
        f"before {MANY} worlds, only candidates with {HOPELESS:g} times",
        f"less than {CLOSE:g} times its regret (the first {FINALISTS} of them)",
        f"{problem.STRETCH_EXACT:g} times, if it was exact",
        f"{flips.CHECKED} fresh worlds must confirm it: at least {flips.WORTH:.0%} less regret, at a level of {flips.LEVEL:.0%}",
        f"({FEWEST_WORLDS} at least)",
    ):
        assert said.replace("%", " %") in said_there, said


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", text(page)):
            assert (HOME / target).exists(), f"{page}: {target}"


def rewrite(page: str) -> None:
    """Run all commands of a page and write what they print and plot into the documents."""
    shown = {name for other in PAGES for name in IMAGE.findall(text(other))}

    def renewed(found: re.Match[str]) -> str:
        language, block = found.groups()
        if language == "toml":
            block = (HOME / f"{page}.toml").read_text()
        elif language == "console":
            printed = []
            for step in split(block):
                begin = time.perf_counter()
                printed.append(f"{PROMPT}{step.command}\n{run(step)}\n")
                print(f"{time.perf_counter() - begin:5.1f} s  {page}: {step.command}", file=sys.stderr)
                for name in step.figures:
                    if name in shown:
                        shutil.copy(name, HOME / name)
            block = "\n".join(printed)
        return f"```{language}\n{block}```"

    with tempfile.TemporaryDirectory() as path, folder(Path(path)):
        (HOME / f"{page}.md").write_text(BLOCK.sub(renewed, text(page)))


if __name__ == "__main__":
    for named in sys.argv[1:] or PAGES:
        rewrite(named)

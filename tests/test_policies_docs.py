"""The pages about policies: one for every name, every number and figure as the commands print it."""

import re
from pathlib import Path

import pytest

import latentbandits as lb
from latentbandits import cli
from latentbandits.parameters import describe
from latentbandits.policies.registry import REGISTRY

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "policies"


def index() -> dict[str, Path]:
    """Return the page of every policy: the one whose title names it."""
    titles = {page: page.read_text().splitlines()[0] for page in sorted(PAGES.glob("*.md"))}
    return {name: page for page, title in titles.items() for name in re.findall(r"`([\w-]+)`", title)}


def test_every_policy_has_a_page() -> None:
    assert sorted(index()) == sorted(REGISTRY)


def test_tables_of_policies_lead_to_their_pages() -> None:
    listed = re.findall(r"^\| \[`([\w-]+)`\]\(([\w-]+\.md)\)", (PAGES / "README.md").read_text(), re.MULTILINE)
    assert len(listed) == len(REGISTRY)
    assert {name: index()[name].name for name, _ in listed} == dict(listed)


def settings(page: Path) -> dict[str, dict[str, str]]:
    """Return, for every policy that heads a column of a table of settings, its values as the page gives them."""
    found: dict[str, dict[str, str]] = {}
    columns: list[str] = []
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if cells and cells[0] == "setting":
            columns = cells[1:-1]
        elif not cells:
            columns = []
        elif columns and cells[0].startswith("`"):
            for name, value in zip(columns, cells[1:-1], strict=True):
                found.setdefault(name, {})[cells[0].strip("`")] = value
    return found


def test_settings_are_explained_in_the_reference_and_their_values_are_true() -> None:
    """What every setting means is made from the docstrings; a table of a page may say it again, with the value of the preset."""
    for name, page in index().items():
        tables = settings(page)
        assert name in tables or "../reference/policies.md#" in page.read_text()
        true = describe(lb.policy(name))
        for setting, value in tables.get(name, {}).items():
            if isinstance(true[setting], int | float) and not isinstance(true[setting], bool):
                assert float(value) == pytest.approx(true[setting])
            else:
                assert value in (str(true[setting]), "-")


BY_HAND = {"particles.svg"}
COMMAND = re.compile(r"^\$ latentbandits (trace .+) --out docs/policies/([\w-]+\.svg)\n.+?: (.+)$", re.MULTILINE)


@pytest.mark.parametrize("suffix", ["csv", pytest.param("svg", marks=pytest.mark.slow)])  # plotting takes longest
@pytest.mark.parametrize("page", sorted({page.name for page in index().values()}))
def test_figures_are_what_the_named_commands_write(
    page: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (PAGES / page).read_text()
    commands = COMMAND.findall(text)
    shown = [picture for picture in re.findall(r"!\[.+\]\((.+)\)", text) if picture not in BY_HAND]
    assert shown == [picture for _, picture, _ in commands]
    for command, picture, said in commands:
        assert cli.main([*command.split(), "--out", str(tmp_path / f"run.{suffix}")]) == 0
        assert f": {said} Next: " in capsys.readouterr().out
        assert (PAGES / picture).stat().st_size < 150_000


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "docs" / "background.md", *PAGES.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"

"""The picture at the top of the README shows commands that exist, and what they print."""

import html
import re
import shlex

import pytest

pytest.importorskip("rich", reason="needs the extra docs")

from website import picture

from latentbandits import cli
from tests.test_problems_docs import ROOT


def shown(svg: str) -> str:
    """Return the text of a picture, a line per row."""
    rows = re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>([^<]*)</text>', svg)
    lines: dict[str, str] = {}
    for height, text in rows:
        lines[height] = lines.get(height, "") + html.unescape(text).replace("\xa0", " ")
    return "\n".join(lines.values())


def test_its_commands_exist_and_it_needs_nothing() -> None:
    svg = picture.PICTURE.read_text()
    text = " ".join(shown(svg).split())
    for step in picture.STEPS:
        assert step.command in text
        cli.parser().parse_args(shlex.split(step.command)[1:])
        assert all(beginning in text for beginning, _ in step.shown)
    assert all(f">>> {line}" in text for line in picture.PYTHON)
    assert len(svg.encode()) < 60_000
    assert not re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?https?:", svg)
    assert "](docs/terminal.svg)" in (ROOT / "README.md").read_text()


def test_lines_that_are_left_out_are_marked() -> None:
    assert picture.clipped("a\nb\nc\nd", (("b", 2),)).split("\n") == [picture.GAP, "b", "c", picture.GAP]


@pytest.mark.slow
def test_its_commands_print_what_it_shows() -> None:
    """If they print something else on purpose: `python -m website.picture`."""
    assert shown(picture.picture()) == shown(picture.PICTURE.read_text())

"""Write docs/architecture.svg, the picture of both packages: ``python -m website.architecture``.

Floors are the layers that import-linter checks, rooms are described by the first sentence of each package.
"""

import ast
import textwrap
import tomllib
from html import escape
from typing import NamedTuple

from website.sources import ROOT

PICTURE = ROOT / "docs" / "architecture.svg"
WIDTH, MARGIN, GAP, LINE = 1000, 20, 8, 15
TITLES = {
    "latentbandits_studies": "latentbandits_studies: what was measured, and the paper reproduced",
    "latentbandits": "latentbandits: what people import",
}
STYLE = (
    "text { font-family: system-ui, sans-serif; font-size: 12px; fill: #1b1f24 } .name { font-weight: 600; font-size: 13px }"
    " .title { font-weight: 600; font-size: 15px } .arrow { fill: none; stroke: #1b1f24; stroke-width: 1.5 }"
    " .house { fill: #f4f5f7; stroke: #8a919c } .room { fill: #ffffff; stroke: #8a919c } .ground { fill: #e3ecf7; stroke: #5b7fa8 }"
)


class Room(NamedTuple):
    """A package or module: its name, and what it is for."""

    name: str
    purpose: str


def contracts() -> dict[str, list[list[str]]]:
    """Return the floors of every building from the top down, as the contracts of import-linter list them: names of packages."""
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    floors = {}
    for contract in tool["contracts"]:
        if contract["type"] == "layers":
            for building in contract["containers"]:
                floors[building] = [
                    [name.strip(" ()") for name in layer.replace(":", "|").split("|")] for layer in contract["layers"]
                ]
    return floors


def purpose(building: str, name: str) -> str:
    """Return the first sentence of a package or module, without markup."""
    folder = ROOT / "src" / building / name
    file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    text = (
        (ast.get_docstring(ast.parse(file.read_text())) or "").partition("\n\n")[0].replace("\n", " ").replace("`", "")
    )
    return text.partition(". ")[0].rstrip(".")


def room(place: Room, x: float, y: float, width: float, height: float, kind: str) -> list[str]:
    """Return a box with a name and, below it, wrapped, what it is for."""
    lines = textwrap.wrap(place.purpose, max(10, int((width - 16) / 6.3)))
    parts = [f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4"/>']
    parts.append(f'<text class="name" x="{x + 8:g}" y="{y + 18:g}">{escape(place.name)}</text>')
    parts += [f'<text x="{x + 8:g}" y="{y + 18 + LINE * n:g}">{escape(line)}</text>' for n, line in enumerate(lines, 1)]
    return parts


def height_of(places: list[Room], width: float) -> float:
    """Return how high a floor must be for the longest purpose."""
    return 28 + LINE * max(len(textwrap.wrap(place.purpose, max(10, int((width - 16) / 6.3)))) for place in places)


def building(name: str, floors: list[list[str]], top: float) -> tuple[list[str], float]:
    """Return the picture of a building, and where it ends."""
    inner, y, parts = WIDTH - 2 * MARGIN - 2 * GAP, top + 34, list[str]()
    for number, floor in enumerate(floors):
        per_row = 4 if len(floor) > 5 else len(floor)
        kind = "ground" if number == len(floors) - 1 else "room"
        for first in range(0, len(floor), per_row):
            places = [Room(each, purpose(name, each)) for each in floor[first : first + per_row]]
            width = (inner - GAP * (per_row - 1)) / per_row
            height = height_of(places, width)
            for column, place in enumerate(places):
                parts += room(place, MARGIN + GAP + column * (width + GAP), y, width, height, kind)
            y += height + GAP
    frame = f'<rect class="house" x="{MARGIN}" y="{top:g}" width="{WIDTH - 2 * MARGIN}" height="{y - top:g}" rx="6"/>'
    title = f'<text class="title" x="{MARGIN + GAP}" y="{top + 23:g}">{escape(TITLES[name])}</text>'
    return [frame, title, *parts], y


def picture() -> str:
    """Return the picture as SVG: the studies above, the library below, and the one direction in which imports go."""
    floors, parts, y = contracts(), list[str](), float(MARGIN)
    for number, name in enumerate(TITLES):
        if number:
            x = WIDTH / 2
            parts.append(f'<path class="arrow" d="M{x:g} {y + 4:g} V{y + 34:g} m-5 -8 l5 8 l5 -8"/>')
            words = "imports; never the reverse. Every floor imports only floors below it."
            parts.append(f'<text x="{x + 12:g}" y="{y + 23:g}">{words}</text>')
            y += 40
        drawn, y = building(name, floors[name], y)
        parts += drawn
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + MARGIN:g}" role="img" '
        'aria-label="The packages latentbandits and latentbandits_studies, floor by floor">'
    )
    ground = f'<rect width="{WIDTH}" height="{y + MARGIN:g}" fill="#ffffff"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", ground, *parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture())
    print(f"{PICTURE.relative_to(ROOT)}: written")

"""The pages of the site: docs/ and a few other files, each at its place, with links that lead to those places."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parent.parent
# Files outside of docs/ that are on the site, and where
ELSEWHERE = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "README.md": "index.md",
    "LICENSE": "project/LICENSE",
}
SCRIPTS = "examples/gallery/"  # sphinx-gallery makes pages of them
# What sphinx makes beside the pages, and keeps
MADE = ("gallery", "sg_execution_times.rst")
BLOCK = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
LAST_LINE = re.compile(r"\n\n```$", re.MULTILINE)  # doctest needs an empty one, readers do not
LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")
GENERATED = re.compile(r"^<!-- generated: ([\w-]+) -->$", re.MULTILINE)


def place(path: str) -> str:
    """Return where a file of the project is on the site, both relative to their roots.

    Examples
    --------
    >>> place("docs/policies/README.md"), place("CHANGELOG.md"), place("examples/gallery/plot_pricing.py")
    ('policies/index.md', 'project/changelog.md', 'gallery/plot_pricing.rst')
    """
    found = PurePosixPath(ELSEWHERE.get(path, path.removeprefix("docs/")))
    if path.startswith(SCRIPTS):
        return f"gallery/{found.stem.replace('GALLERY_HEADER', 'index')}.rst"
    return str(found.with_name("index.md") if found.name == "README.md" else found)


def linked(text: str, path: str) -> str:
    """Return the text of a page with its links as they are on the site; code stays as it is.

    Examples
    --------
    >>> linked("[a policy](../examples/skeleton.py), [all](policies/README.md#which-one)", "docs/index.md")
    '[a policy](examples/skeleton.py), [all](policies/index.md#which-one)'
    """

    def moved(found: re.Match[str]) -> str:
        target = os.path.normpath(PurePosixPath(path).parent / found[2])
        if not (ROOT / target).is_file():
            raise FileNotFoundError(f"{path}: there is no file {found[2]!r}, to which it links")
        return found[1] + os.path.relpath(place(target), PurePosixPath(place(path)).parent) + found[3]

    parts, end = [], 0
    for block in BLOCK.finditer(text):
        parts += [LINK.sub(moved, text[end : block.start()]), block.group()]
        end = block.end()
    return "".join([*parts, LINK.sub(moved, text[end:])])


def files() -> Iterator[str]:
    """Yield the files that the site is made of, without the scripts of the gallery, which have their own way."""
    yield from (name for name in ELSEWHERE if name != "README.md")
    for folder in ("docs", "examples"):
        for file in sorted((ROOT / folder).rglob("*")):
            path = file.relative_to(ROOT).as_posix()
            hidden = any(part.startswith((".", "__")) for part in file.parts[len(ROOT.parts) :])
            if file.is_file() and not hidden and not path.startswith(SCRIPTS):
                yield path


def content(path: str, generators: Mapping[str, Callable[[], str]]) -> bytes:
    """Return what a file is on the site: pages have their links moved and their generated parts made."""
    if not path.endswith(".md"):
        return (ROOT / path).read_bytes()
    text = LAST_LINE.sub("\n```", linked((ROOT / path).read_text(), path))
    return GENERATED.sub(lambda found: generators[found[1]](), text).encode()


def collect(folder: Path, generators: Mapping[str, Callable[[], str]]) -> None:
    """Bring a folder up to date; what has not changed is not touched, so that sphinx does not read it again."""
    made = {place(path): content(path, generators) for path in files()}
    for name, what in made.items():
        file = folder / name
        if not file.is_file() or file.read_bytes() != what:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(what)
    for file in folder.rglob("*"):
        name = file.relative_to(folder).as_posix()
        if file.is_file() and name not in made and not name.startswith(MADE):
            file.unlink()

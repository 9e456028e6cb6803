"""Whether every link within the built site leads to a file, and to a place in it."""

import re
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINK = re.compile(r'\s(?:href|src)="([^"]*)"')
PLACE = re.compile(r'\s(?:id|name)="([^"]*)"')


def broken(site: Path) -> list[str]:
    """Return a line for every link that leads nowhere.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.html").write_text('<a href="b.html">b</a> <a href="#here" id="here">here</a> <a href="#there">there</a>')
    >>> broken(folder)
    ['a.html: b.html', 'a.html: #there']
    """

    @cache
    def places(page: Path) -> set[str]:
        return {unescape(name) for name in PLACE.findall(page.read_text())}

    found = []
    for page in sorted(page for page in site.rglob("*.html") if "_static" not in page.parts):  # the theme's templates
        for link in dict.fromkeys(map(unescape, LINK.findall(page.read_text()))):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            missing = not target.is_file()
            if missing or (
                parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in places(target)
            ):
                found.append(f"{page.relative_to(site)}: {link}")
    return found

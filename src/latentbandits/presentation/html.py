"""HTML for all pages: a skeleton, tables and figures; a page is one file that reads offline, on a phone and in print."""

import base64
import html
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from latentbandits.presentation.numbers import figure as number
from latentbandits.presentation.palette import saved

STYLE = Path(__file__).with_name("page.css").read_text()


class Html(str):
    """Text that is HTML already: `escape` leaves it as it is."""

    __slots__ = ()


class Cell(NamedTuple):
    """A cell of a table with a class of its own, such as "best"."""

    content: str
    classes: str = ""


class Row(NamedTuple):
    """A row of a table with a class or an id of its own, for a link to it."""

    cells: Sequence[str | Cell]
    classes: str = ""
    id: str = ""


def escape(text: str) -> Html:
    """Return text as HTML; what is HTML already stays as it is.

    Examples
    --------
    >>> from latentbandits.presentation.html import Html, escape
    >>> escape("a < b"), escape(Html("a &lt; b"))
    ('a &lt; b', 'a &lt; b')
    """
    return text if isinstance(text, Html) else Html(html.escape(text))


def tag(name: str, /, *content: str, classes: str = "", **attributes: str) -> Html:
    """Return an element with its content; attributes that are empty are left out.

    Examples
    --------
    >>> from latentbandits.presentation.html import tag
    >>> tag("p", "5 > 3, see ", tag("a", "below", href="#below"), classes="note")
    '<p class="note">5 &gt; 3, see <a href="#below">below</a></p>'
    """
    given = ({"class": classes} if classes else {}) | {key: value for key, value in attributes.items() if value}
    shown = "".join(f' {key}="{html.escape(value)}"' for key, value in given.items())
    return Html(f"<{name}{shown}>{''.join(map(escape, content))}</{name}>")


def listed(lines: Iterable[str]) -> Html:
    """Return sentences as a list."""
    return tag("ul", *(tag("li", line) for line in lines))


def scrolling(content: str, name: str = "") -> Html:
    """Return a box that scrolls sideways by itself, also by the keys; its name is what a screen reader calls it."""
    named = {"role": "region", "aria-label": name} if name else {}
    return tag("div", content, classes="scroll", tabindex="0", **named)


def captioned(caption: str) -> Html:
    """Return the caption of a table, which stays in sight while the table scrolls sideways; nothing if there is none."""
    return tag("caption", tag("span", caption)) if caption else Html("")


def table(
    head: Sequence[str],
    rows: Iterable[Row | Sequence[str | Cell]],
    *,
    text: Collection[int] = (0,),
    classes: str = "",
    caption: str = "",
    header: int = 0,
) -> Html:
    """Return a table in a box that scrolls sideways by itself; columns in `text` are set to the left, all others to the right.

    `header` is the column that names a row.

    Examples
    --------
    >>> from latentbandits.presentation.html import table
    >>> table(["policy", "regret"], [["ucb1", "13.4"]]).partition("<tbody>")[2]
    '<tr><th class="text" scope="row">ucb1</th><td>13.4</td></tr></tbody></table></div>'
    """

    def line(row: Row, heads: Collection[int], scope: str) -> Html:
        cells = [cell if isinstance(cell, Cell) else Cell(cell) for cell in row.cells]
        shown = []
        for i, cell in enumerate(cells):
            looks = " ".join(filter(None, ("text" if i in text else "", cell.classes)))
            name, of = ("th", scope) if i in heads else ("td", "")
            shown.append(tag(name, cell.content, classes=looks, scope=of))
        return tag("tr", *shown, classes=row.classes, id=row.id)

    body = [line(row if isinstance(row, Row) else Row(row), (header,), "row") for row in rows]
    top = tag("thead", line(Row(head), range(len(head)), "col"))
    return scrolling(tag("table", captioned(caption), top, tag("tbody", *body), classes=classes), caption)


def frame(data: pd.DataFrame, most: int | None = None, caption: str = "") -> Html:
    """Return a data frame as a table, with its index first and numbers as tables show them; what is NaN stays empty.

    Of more than `most` rows the first and the last are shown.

    Examples
    --------
    >>> import pandas as pd
    >>> from latentbandits.presentation.html import frame
    >>> "<td>0.333</td>" in frame(pd.DataFrame({"share": [1 / 3]}, index=["ucb1"]))
    True
    """
    rows = data.to_html(
        float_format=number, na_rep="", border=0, max_rows=most, show_dimensions=most is not None and len(data) > most
    )
    head, body = rows.split("<tbody>")
    head = head.replace("<th>", '<th scope="col">').replace("<thead>", f"{captioned(caption)}<thead>")
    return scrolling(Html(head + "<tbody>" + body.replace("<th>", '<th scope="row">')), caption)


def image(svg: bytes, alt: str) -> Html:
    """Return an SVG image with its content inside the page; without what no browser needs it is a quarter smaller."""
    short = svg
    for long, brief in (
        (rb"\s*\n\s*", rb" "),
        (rb"\b([1-9]\d*\.\d\d)\d{4}\b", rb"\1"),
        (rb"xlink:href", rb"href"),
        (rb"DejaVuSans", rb""),
    ):
        short = re.sub(long, brief, short)
    return Html(f'<img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{base64.b64encode(short).decode()}">')


def figure(content: Figure | bytes, caption: str) -> Html:
    """Return a figure with its caption, inside the page; `content` is a matplotlib figure or the bytes of an SVG file."""
    svg = saved(content, "svg") if isinstance(content, Figure) else content
    return tag("figure", scrolling(image(svg, caption)), tag("figcaption", caption))


def page(title: str, *parts: str, contents: Mapping[str, str] | None = None, script: str = "") -> str:
    """Return a whole page that needs no other file.

    `contents` are the ids of the parts that readers may jump to, with their titles; `script` is JavaScript that runs in the end.

    Examples
    --------
    >>> from latentbandits.presentation.html import page, tag
    >>> page("Regret & probes", tag("h1", "Regret & probes")).splitlines()[-5:]
    ['<main id="main" tabindex="-1">', '<h1>Regret &amp; probes</h1>', '</main>', '</body>', '</html>']
    """
    links = [tag("li", tag("a", text, href=f"#{id}")) for id, text in (contents or {}).items()]  # noqa: A001
    menu = tag("nav", tag("ul", *links), **{"aria-label": "Contents"}) + "\n" if links else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#main">Skip to the content</a>\n'
        + menu
        + '<main id="main" tabindex="-1">\n'
        + "\n".join(parts)
        + "\n</main>\n"
        + (f"<script>\n{script}</script>\n" if script else "")
        + "</body>\n</html>\n"
    )

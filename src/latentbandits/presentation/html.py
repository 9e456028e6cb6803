"""HTML for all pages: a skeleton, tables and figures; a page is one file that reads offline, on a phone and in print."""

import base64
import html
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from latentbandits.presentation.numbers import figure as number
from latentbandits.presentation.palette import saved

# Wide tables and figures scroll inside their own box, so the page itself never scrolls sideways; on a phone the cells of a table of claims
# are stacked
STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1rem; color: #1a1a1a; background: #fff; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-top: 1px solid #ddd; padding-top: 1rem; }
h1, h2, h3, p, li, figcaption { overflow-wrap: anywhere; } code { font-size: .9em; overflow-wrap: anywhere; }
pre { overflow-x: auto; background: #f6f6f6; padding: .75rem; } .note { color: #555; }
figure { margin: 1.5rem 0; } figure img { display: block; max-width: 100%; min-width: 32rem; height: auto; }
figcaption { color: #555; font-size: .9rem; margin-top: .25rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; }
th, td { padding: .25rem .5rem; text-align: right; vertical-align: top; border-bottom: 1px solid #eee; }
td { white-space: nowrap; } th.text, td.text { text-align: left; white-space: normal; } td.name { white-space: nowrap; }
td.text:not(:first-child) { min-width: 12rem; }
table.wide { font-size: .72rem; } table.wide td, table.wide th { padding: .2rem .35rem; white-space: normal; }
.wide small { white-space: nowrap; }
.best { background: #d6e6f2; font-weight: 600; } small { color: #666; display: block; }
.holds { color: #00694c; } .not { color: #a33c00; } .tied { color: #6b5500; }
table.claims { table-layout: fixed; width: 100%; }
.claims td { overflow-wrap: anywhere; } .claims th:first-child { width: 7.5rem; } .choices th:first-child { width: 11rem; }
.claims th:nth-child(2) { width: 36%; } .claims th:nth-child(3) { width: 18%; }
.sentences th:nth-child(3), .choices th:nth-child(3) { width: 45%; }
.quick { background: #fff3cd; padding: .5rem 1rem; border-left: 4px solid #e69f00; }
@media screen and (max-width: 44rem) { .claims, .claims tbody, .claims tr, .claims td { display: block; }
  .claims tr:first-child { display: none; } .claims tr { padding: .5rem 0; border-bottom: 1px solid #ddd; }
  .claims td { border: 0; padding: .1rem 0; } .claims td:nth-child(n+3)::before { color: #666; }
  .paper td:nth-child(3)::before { content: "paper: "; } .target td:nth-child(3)::before { content: "target: "; }
  .claims td:nth-child(4)::before { content: "here: "; } .choices td:nth-child(3)::before { content: "why: "; } }
@media print { body { font-size: 9pt; max-width: none; } .scroll { overflow: visible; } table.wide { font-size: 5.5pt; }
  figure img { min-width: 0; } pre { white-space: pre-wrap; } h2 { break-after: avoid; } figure, tr { break-inside: avoid; } }
"""


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


def tag(name: str, *content: str, classes: str = "", **attributes: str) -> Html:
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


def table(
    head: Sequence[str],
    rows: Iterable[Row | Sequence[str | Cell]],
    *,
    text: Collection[int] = (0,),
    classes: str = "",
) -> Html:
    """Return a table in a box that scrolls sideways by itself; columns in `text` are set to the left, all others to the right.

    Examples
    --------
    >>> from latentbandits.presentation.html import table
    >>> table(["policy", "regret"], [["ucb1", "13.4"]])  # doctest: +ELLIPSIS
    '<div class="scroll"><table><tr><th class="text">policy</th><th>regret</th></tr><tr><td class="text">ucb1</td>...
    """

    def line(name: str, row: Row) -> Html:
        cells = [cell if isinstance(cell, Cell) else Cell(cell) for cell in row.cells]
        return tag(
            "tr",
            *(
                tag(name, cell.content, classes=" ".join(filter(None, ("text" if i in text else "", cell.classes))))
                for i, cell in enumerate(cells)
            ),
            classes=row.classes,
            id=row.id,
        )

    body = [line("td", row if isinstance(row, Row) else Row(row)) for row in rows]
    return tag("div", tag("table", line("th", Row(head)), *body, classes=classes), classes="scroll")


def frame(data: pd.DataFrame, most: int | None = None) -> Html:
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
    return tag("div", Html(rows), classes="scroll")


def image(svg: bytes, alt: str) -> Html:
    """Return an SVG image with its content inside the page."""
    return Html(f'<img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{base64.b64encode(svg).decode()}">')


def figure(content: Figure | bytes, caption: str) -> Html:
    """Return a figure with its caption, inside the page; `content` is a matplotlib figure or the bytes of an SVG file."""
    svg = saved(content, "svg") if isinstance(content, Figure) else content
    return tag("figure", tag("div", image(svg, caption), classes="scroll"), tag("figcaption", caption))


def page(title: str, *parts: str) -> str:
    """Return a whole page that needs no other file.

    Examples
    --------
    >>> from latentbandits.presentation.html import page, tag
    >>> page("Regret & probes", tag("h1", "Regret & probes")).splitlines()[-3:]
    ['<h1>Regret &amp; probes</h1>', '</body>', '</html>']
    """
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )

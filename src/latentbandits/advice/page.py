"""Advice as one HTML page: the answer first, then figures, numbers and reasons."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from latentbandits.advice import figures
from latentbandits.advice.text import (
    columns,
    comparison_rows,
    cost_table,
    flip_lines,
    remarks,
    settings_line,
    side_by_side,
    verdict,
)
from latentbandits.presentation import html
from latentbandits.presentation.html import Row, tag

if TYPE_CHECKING:
    from latentbandits.advice.advise import Advice

SWEEPS = (
    "Each quantity is moved beyond the problem's range (grey) while the others are sampled as before. Where a line falls below 1, that "
    "policy did better on these few worlds; a flip (orange) is confirmed on fresh worlds. Bands: 95 %, from 4 to 16 worlds, so rough."
)
RACE = "Every candidate ran on the same worlds, a few more at a time, and dropped out when it had clearly lost."


def page(advice: "Advice", notes: Sequence[str] = ()) -> str:
    """Return the page of an advice; notes stand below its title."""
    first, *rest = verdict(advice)
    fresh = f"Regret over time on {advice.comparison.results.draws:,} worlds that were not used to choose."
    raced = "Regret over the winner's, on the worlds that the candidate ran on."
    sections: dict[str, list[str]] = {
        "Side by side": [
            _table(advice, side_by_side(advice)),
            tag("p", columns(advice), classes="note"),
            html.figure(figures.over_time(advice.comparison, advice.winner), fresh),
        ],
        "What it costs to be wrong": [_table(advice, cost_table(advice))],
        "All that were measured": [_table(advice, comparison_rows(advice.comparison))],
    }
    if advice.sweeps:
        swept = html.figure(figures.all_sweeps(advice), SWEEPS)
        sections["When the advice would flip"] = [html.listed(flip_lines(advice)), swept]
    sections["All candidates"] = [tag("p", RACE), html.figure(figures.all_candidates(advice), raced)]
    settings = tag("p", "Settings: ", tag("code", settings_line(advice)))
    sections["How to use it"] = [settings, tag("pre", advice.python())]
    return html.page(
        first,
        tag("h1", first.replace(" %", "\N{NO-BREAK SPACE}%")),
        *(tag("p", line, classes="quick") for line in notes),
        *(tag("p", line) for line in rest),
        *(tag("p", line, classes="quick") for line in remarks(advice.comparison)),
        tag("p", "Problem: ", tag("code", str(advice.problem)), classes="note"),
        *(part for title, parts in sections.items() for part in (tag("h2", title), *parts)),
    )


def _table(advice: "Advice", rows: Sequence[Sequence[str]]) -> html.Html:
    """Return a table, whose first row is its head, in which the advised policy stands out."""
    return html.table(rows[0], [Row(row, classes="best" if row[0] == advice.winner else "") for row in rows[1:]])

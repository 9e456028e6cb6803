"""Advice or a comparison as one HTML page: the answer first, then figures, numbers and reasons."""

from typing import TYPE_CHECKING

from latentbandits.advice import figures, worth
from latentbandits.advice.text import (
    capital,
    columns,
    comparison_rows,
    cost_table,
    definitions,
    first_two,
    flip_lines,
    head,
    remarks,
    settings_line,
    side_by_side,
    verdict,
)
from latentbandits.presentation import html
from latentbandits.presentation.html import Row, tag

if TYPE_CHECKING:
    from latentbandits.advice.advise import Advice
    from latentbandits.advice.compare import Comparison

SWEEPS = (
    "Each quantity is moved beyond the problem's range (grey) while the others are sampled as before. Where a line falls below 1, that "
    "policy did better on these few worlds; a flip (orange) is confirmed on fresh worlds. Bands: 95 %, from 4 to 16 worlds, so rough."
)


def page(advice: "Advice") -> str:
    """Return the page of an advice."""
    first, *rest = verdict(advice)
    names, *rows = side_by_side(advice)
    parts = [
        headline(first),
        *(tag("p", line) for line in rest),
        *caveats(advice.comparison),
        tag("p", "Problem: ", tag("code", str(advice.problem)), classes="note"),
        tag("h2", "Side by side"),
        html.table(names, [Row(row, classes="best" if row[0] == advice.winner else "") for row in rows]),
        tag("p", columns(advice), classes="note"),
        html.figure(
            figures.over_time(advice.comparison, advice.winner),
            f"Regret over time on {advice.comparison.results.draws:,} worlds that were not used to choose.",
        ),
        tag("h2", "What it costs to be wrong"),
        html.table(*cost_table(advice)),
        tag("h2", "All that were measured"),
        policy_table(advice.comparison, advice.winner),
    ]
    if advice.sweeps:
        flips = html.figure(figures.all_sweeps(advice), SWEEPS)
        parts += [tag("h2", "When the advice would flip"), html.listed(flip_lines(advice)), flips]
    parts += [
        tag("h2", "All candidates"),
        tag(
            "p",
            "Every candidate ran on the same worlds, a few more at a time, and dropped out when it had clearly lost.",
        ),
        html.figure(
            figures.all_candidates(advice), "Regret over the winner's, on the worlds that the candidate ran on."
        ),
        tag("h2", "How to use it"),
        tag("p", "Settings: ", tag("code", settings_line(advice))),
        tag("pre", advice.python()),
    ]
    return html.page(first, *parts)


def comparison_page(comparison: "Comparison") -> str:
    """Return the page of a comparison."""
    judged = comparison.worth
    title, *instead = worth.sentences(judged, comparison.record) if judged is not None else [comparison.headline]
    parts = [
        headline(title),
        *(tag("p", line) for line in instead),
        *caveats(comparison),
        tag("p", f"{capital(comparison.size)}: ", tag("code", str(comparison.problem)), classes="note"),
        policy_table(comparison, comparison.best),
        tag("p", definitions(comparison), classes="note"),
        *(tag("p", line) for line in first_two(comparison)),
        html.figure(figures.over_time(comparison), "Regret over time; oracles are given the truth, policies are not."),
        tag("h2", "The same in Python"),
        tag("pre", comparison.python("compare.html")),
    ]
    return html.page(title, *parts)


def policy_table(comparison: "Comparison", best: str) -> html.Html:
    """Return the ranking as a table in which a policy stands out."""
    rows = [Row(row, classes="best" if row[0] == best else "") for row in comparison_rows(comparison)]
    return html.table(head(comparison), rows)


def headline(sentence: str) -> html.Html:
    """Return the first sentence, in which no number is parted from its per cent."""
    return tag("h1", sentence.replace(" %", "\N{NO-BREAK SPACE}%"))


def caveats(comparison: "Comparison") -> list[html.Html]:
    """Return what a reader should know before comparing."""
    return [tag("p", line, classes="quick") for line in remarks(comparison)]

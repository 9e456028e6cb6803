"""A diagnosis as one HTML page: the conclusion first, then the timeline, the states, the hypotheses, the money and the flags."""

from typing import TYPE_CHECKING

import numpy as np

from latentbandits.logs import figures
from latentbandits.logs.text import (
    covariate_lines,
    first_sentence,
    how_sure,
    list_next_steps,
    list_remarks,
    money_lines,
    state_rows,
)
from latentbandits.presentation import html
from latentbandits.presentation.html import Row, tag
from latentbandits.presentation.numbers import figure, percent, span

if TYPE_CHECKING:
    from latentbandits.logs.diagnosis import Diagnosis

TIMELINE = (
    "From top to bottom: the probability of every state given all rewards, the changes of the most probable path and how probable each is, "
    "the mean reward, the arms that were played, and hour and weekday, as far as they are known."
)
HYPOTHESES = (
    "Every hypothesis is fitted as well as it can be and pays for each number that it needs (BIC). A nat is a factor of 2.7 in "
    "probability. Regimes must be ahead of all others by a margin that was calibrated on logs without regimes."
)
MONEY = (
    "Dots are averages; bars contain 90 % of the worlds that the log leaves open (for the old rule, a 95 % interval)."
)


def page(d: "Diagnosis") -> str:
    """Return the page."""
    title = first_sentence(d)
    head, rows = state_rows(d)
    parts = [
        tag("h1", title.replace(" %", "\N{NO-BREAK SPACE}%")),
        tag("p", how_sure(d)),
        *(tag("p", line, classes="note") for line in d.log.text().splitlines()),
        tag("h2", "Timeline"),
        html.figure(figures.plot_timeline(d), TIMELINE),
        tag("h2", "What the arms pay in every state" if d.regimes else "What the arms pay"),
        html.table(head, [Row(row) for row in rows]),
        tag(
            "p", "Means and dwell times with 95 % intervals; a round is a row unless rounds were given.", classes="note"
        ),
    ]
    lines = [*money_lines(d), *covariate_lines(d)]
    if lines:
        parts.append(html.listed(lines))
    parts += [tag("h2", "Hypotheses"), html.figure(figures.plot_hypotheses(d), HYPOTHESES)]
    if d.comparison is not None:
        parts += [
            tag("h2", "What policies would earn"),
            html.figure(figures.plot_money(d), MONEY),
            html.table(["policy", "lost in all", "90 % of worlds", "share of what can be won"], money_rows(d)),
        ]
    for name, lines_of_part in (
        ("What would settle it", list_next_steps(d)),
        ("What to keep in mind", list_remarks(d)),
    ):
        if lines_of_part:
            parts += [tag("h2", name), html.listed(lines_of_part)]
    parts += [tag("h2", "How to go on"), tag("pre", python(d))]
    return html.page(title, *parts)


def money_rows(d: "Diagnosis") -> list[list[str]]:
    """Return the rows of the table of money, the best first."""
    assert d.comparison is not None
    regret, table = d.comparison.regret, d.comparison.table
    rows = []
    for name in table.index:
        values = regret[name]
        low, high = np.quantile(values, (0.05, 0.95))
        share = table.loc[name, "share"]
        rows.append(
            [
                str(name),
                figure(float(values.mean())),
                span(float(low), float(high)),
                percent(share, 1) if share == share else "",
            ]
        )
    return rows


def python(d: "Diagnosis") -> str:
    """Return the Python that goes on from here."""
    columns = "".join(f", {role}={column!r}" for role, column in d.log.columns.items())
    source = d.log.source if "." in d.log.source else "log.csv"
    return (
        "import latentbandits as lb\n\n"
        f"log = lb.Log.read({source!r}{columns})\n"
        "d = lb.diagnose(log)\n"
        'print(d.compare(["state-library", "ucb1"]).text())   # what would have happened\n'
        "advice = lb.advise(d)                                # what to do\n"
        'agent = d.agent("state-library")                     # go on from what the log knows'
    )

"""Advice as one HTML page: the answer first, then figures, numbers and reasons; it needs nothing else."""

import base64
from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.figure import Figure

from latentbandits.advice import explain, figures, words
from latentbandits.presentation.numbers import figure as number
from latentbandits.presentation.numbers import percent, short
from latentbandits.presentation.palette import saved
from latentbandits.report.page import STYLE
from latentbandits.report.verdicts import text as escaped

if TYPE_CHECKING:
    from latentbandits.advice.advise import Advice


def page(advice: "Advice") -> str:
    """Return the page."""
    first, *rest = words.verdict(advice)
    parts = [
        f"<h1>{escaped(first)}</h1>",
        *(f"<p>{escaped(line)}</p>" for line in rest),
        f'<p class="note">Problem: <code>{escaped(str(advice.problem))}</code></p>',
        picture(
            figures.over_time(advice.ranking.results, advice.ranking.ranked),
            f"Regret over time on {advice.problem.runs} worlds that did not take part in the choice.",
        ),
        "<h2>What it costs to be wrong</h2>",
        costs(advice),
    ]
    if advice.sweeps:
        parts += [
            "<h2>When the advice would flip</h2>",
            listed(words.turning_points(advice)),
            picture(
                figures.turning(advice),
                "Each quantity is moved beyond the problem's range (grey) while the others are drawn as before. Where a line falls below 1 "
                "that policy did better on these few worlds; a flip (orange) is one that fresh worlds confirm. Bands: 95 %, "
                "from 4 to 16 worlds, so rough.",
            ),
        ]
    if len(advice.theory):
        parts += ["<h2>Why</h2>", listed(explain.sentences(advice.problem, advice.theory)), theory(advice.theory)]
    parts += [
        "<h2>All candidates</h2>",
        "<p>Every candidate met the same worlds, a few more at a time, and left when it had clearly lost.</p>",
        picture(figures.entrants(advice), "Regret over the winner's, on the worlds that the candidate met."),
        "<h2>How to use it</h2>",
        f"<p>Settings: <code>{escaped(words.chosen_settings(advice))}</code></p>",
        f"<pre>{escaped(advice.python())}</pre>",
    ]
    more = (
        ".figure { overflow-x: auto; } .figure img { max-width: 46rem; min-width: 32rem; } "
        "h1 { overflow-wrap: anywhere; } code { font-size: .9em; overflow-wrap: anywhere; } "
        "pre { overflow-x: auto; background: #f6f6f6; padding: .75rem; } td { white-space: nowrap; } "
        "th.words, td.words { text-align: left; white-space: normal; min-width: 16rem; }"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(first)}</title>\n<style>{STYLE}{more}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def picture(drawn: Figure, caption: str) -> str:
    """Return a figure with its caption, inside the page."""
    data = base64.b64encode(saved(drawn, "svg")).decode()
    return (
        f'<figure class="figure"><img alt="{escaped(caption)}" src="data:image/svg+xml;base64,{data}">'
        f"<figcaption>{escaped(caption)}</figcaption></figure>"
    )


def listed(lines: list[str]) -> str:
    """Return sentences as a list."""
    return "<ul>" + "".join(f"<li>{escaped(line)}</li>" for line in lines) + "</ul>"


def costs(advice: "Advice") -> str:
    """Return the table of what other choices cost."""
    head = [
        "policy",
        "regret",
        "95 % interval",
        "x limit",
        "best arm",
        "probes per 1,000",
        "more than advised",
        "95 % interval",
        "worse in",
    ]
    lines = []
    for name, row in advice.ranking.iterrows():
        more = ["", "", ""]
        if name in advice.costs.index:
            cost = advice.costs.loc[name]
            more = [
                number(cost["more"]),
                f"{number(cost['low'])} to {number(cost['high'])}",
                f"{percent(cost['beaten'])} of worlds",
            ]
        lines.append(
            [
                str(name),
                number(row["regret"]),
                f"{number(row['low'])} to {number(row['high'])}",
                f"{row['x_limit']:.2f}" if row["x_limit"] == row["x_limit"] else "",
                f"{row['optimal']:.1%}",
                f"{row['probes']:.1f}" if row["probes"] else "",
                *more,
            ]
        )
    return rows(head, lines, best=advice.winner)


def theory(table: pd.DataFrame) -> str:
    """Return the table of the theory's quantities."""
    lines = [
        [str(name), short(row["median"]), f"{short(row['low'])} to {short(row['high'])}", str(row["meaning"])]
        for name, row in table.iterrows()
    ]
    return rows(["quantity", "median", "10 to 90 % of worlds", "what it is"], lines, words=3)


def rows(head: list[str], lines: list[list[str]], best: str = "", words: int = -1) -> str:
    """Return a table: the line of the best stands out, the column of words is set as text."""

    def cells(tag: str, line: list[str]) -> str:
        return "".join(
            f"<{tag}{' class=words' if i == words else ''}>{escaped(cell)}</{tag}>" for i, cell in enumerate(line)
        )

    body = "".join(('<tr class="best">' if line[0] == best else "<tr>") + cells("td", line) + "</tr>" for line in lines)
    return f'<div class="scroll"><table><tr>{cells("th", head)}</tr>{body}</table></div>'

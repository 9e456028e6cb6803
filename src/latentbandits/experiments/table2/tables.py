"""The main table as numbers, for the page."""

from html import escape as text

import pandas as pd

from latentbandits.experiments.paper.worlds import ADDED, LIBRARY_TWO, LIMIT, SINGLE_UNIT, TITLES, TWO_UNIT, rows
from latentbandits.experiments.table2 import settings
from latentbandits.presentation.palette import label


def tables(results: pd.DataFrame) -> str:
    """Return the main table as numbers, one table per deployment group: the fitted profile, and the stated gates beside it."""
    table = settings.summary(results)
    groups = {
        "Two units, oracles and the limit": (TWO_UNIT, [*TWO_UNIT, "best-single-arm", LIMIT]),
        "One unit": (SINGLE_UNIT, [*SINGLE_UNIT]),
        "Extra columns": ((), [*settings.STATED, *settings.SAME, *settings.FOLLOWING]),
        "Policies that the paper does not have": (
            tuple(name for name in ADDED if name != LIBRARY_TWO),
            [*ADDED],
        ),
    }
    parts = [
        "<p>Mean cumulative regret per unit with its 95 % interval over matrices; below it twice that, which is the paper's scale, the "
        "published cell, and the ratio of the two. Marked: the best of the group. Settings: those that fit the table best. The extra "
        "columns stand beside the cell of the policy that they vary: <em>stated</em> has lag and gates exactly as the text states them; "
        "<em>same features</em> is a fixed schedule with the features of the adaptive policy, so that only the timing differs; "
        "<em>floor follows noise</em> is the preset of this package, whose residual floor is never below the noise that it learns.</p>"
    ]
    for title, (group, shown) in groups.items():
        parts.append(
            f'<h3>{title}</h3><div class="scroll"><table class="wide">{_cells(table, group, shown)}</table></div>'
        )
    return "".join(parts)


def _cells(table: pd.DataFrame, group: tuple[str, ...], shown: list[str]) -> str:
    cells = table.set_index(["row", "policy"])
    titles = [label(name) for name in shown]
    lines = ["<tr><th>environment</th>" + "".join(f"<th>{text(title)}</th>" for title in titles) + "</tr>"]
    for row in rows():
        winner = settings.best(table, row, group) if group else ""
        line = [f"<td>{text(TITLES[row])}</td>"]
        for name in shown:
            cell = cells.loc[(row, name)]
            mark = ' class="best"' if name == winner else ""
            beside = f"<small>&plusmn; {(cell['high'] - cell['low']) / 2:,.1f}</small>"
            if not pd.isna(cell["published"]):
                beside += f"<small>x2 {cell['scaled']:,.0f}<br>paper {cell['published']:,.0f}<br>ratio {cell['ratio']:.2f}</small>"
            line.append(f"<td{mark}>{cell['regret']:,.1f}{beside}</td>")
        lines.append("<tr>" + "".join(line) + "</tr>")
    return "".join(lines)

"""The summary of a simulation as a notebook shows it."""

from typing import TYPE_CHECKING

from latentbandits.policies.groups import ORACLES
from latentbandits.presentation import html
from latentbandits.presentation.numbers import figure, percent, span

if TYPE_CHECKING:
    from latentbandits.simulation.results import Results


def shown(results: "Results") -> html.Html:
    """Return a row per policy, lowest regret first; the best that is no oracle is highlighted."""
    rows = results.summary()
    best = next((row.label for row in rows if row.label not in ORACLES), "")
    cells = [
        html.Row(
            [row.label, figure(row.regret), span(row.low, row.high), percent(row.optimal, 1), figure(row.probes)],
            "best" if row.label == best else "",
        )
        for row in rows
    ]
    return html.show_in_notebook(html.table(["policy", "regret", "95 % interval", "best arm", "probes/1000"], cells))

"""The tables of the page: where StateLibrary loses, multiples of the limit, and differences to the paper's policies."""

import html

import pandas as pd

from latentbandits.experiments.paper.worlds import (
    COLUMNS,
    FORGETFUL,
    LIBRARY,
    LIBRARY_TWO,
    PEERS,
    SINGLE_UNIT,
    TITLES,
    TWO_UNIT,
    rows,
)
from latentbandits.experiments.state_library import claims, settings
from latentbandits.presentation.palette import label


def words() -> str:
    """Return what a reader must know before the figures."""
    seeds = ", ".join(map(str, settings.TUNED_SEEDS))
    return (
        "<p><strong>StateLibrary</strong> is not in the paper. It is told nothing: not the noise, the range of rewards, the number "
        "of states or how often they change. It stands here beside the paper's policies, four change-point policies from elsewhere "
        "(<em>peers</em>) and the Bayes limit, on the same worlds.</p>"
        f"<p>Its settings were tuned on worlds of the seeds {seeds}; every result here is of seed {settings.SEED}. The paper's policies "
        "have the settings that fit the main table in every world, and expect rewards between 0 and 1. The <em>Bayes "
        "limit</em> is greedy: it "
        "knows means, chain and noise, plays what is best at the moment and never tests. So a policy that tests can have less regret "
        "than the limit, as happens at noise 0.10. The limit has one unit, also where a policy has two.</p>"
    )


def tables(results: pd.DataFrame) -> str:
    """Return where StateLibrary loses, the multiples, and all differences to the paper's policies, as HTML."""
    return _lost(results) + _multiples(results) + _differences(results)


def _lost(results: pd.DataFrame) -> str:
    found = claims.lost(results)
    if found.empty:
        return "<h3>Where it still loses</h3><p>Nowhere in these cases.</p>"
    lines = "".join(
        f"<tr><td>{html.escape(settings.title(line['case']))}</td><td>{html.escape(label(line['policy']))}</td>"
        f"<td>{_short(line['regret'])}</td><td>{html.escape(label(line['ours']))}</td><td>{_short(line['state-library'])}</td>"
        f"<td>{_short(line['difference'])} ({_short(line['low'])} to {_short(line['high'])})</td>"
        f"<td>{'yes' if line['sure'] else 'no'}</td></tr>"
        for _, line in found.iterrows()
    )
    return (
        "<h3>Where it still loses</h3><p>Every case in which a policy that is told nothing has less regret than StateLibrary with as many "
        "units. Sure: the 95 % interval of the paired difference leaves zero out.</p>"
        '<div class="scroll"><table class="text"><tr><th>case</th><th>better</th><th>regret</th><th>than</th><th>regret</th>'
        f"<th>difference</th><th>sure</th></tr>{lines}</table></div>"
    )


def _multiples(results: pd.DataFrame) -> str:
    table = claims.summary(results)
    lines = []
    for case, part in table.groupby("case", sort=False):
        cells = part.set_index("policy")
        unit = cells["unit"].iloc[0]
        shown = [LIBRARY, FORGETFUL]
        shown += [cells.loc[list(group), "regret"].idxmin() for group in (SINGLE_UNIT, PEERS)]
        line = [
            f"<td>{html.escape(settings.title(str(case)))}</td><td>{label(unit)} {_short(cells.loc[unit, 'regret'])}</td>"
        ]
        for name in shown:
            cell = cells.loc[name]
            who = "" if name in (LIBRARY, FORGETFUL) else f" {html.escape(label(name))}"
            span = f"<small>{cell['multiple_low']:.2f} to {cell['multiple_high']:.2f}</small>"
            line.append(f"<td>{cell['multiple']:.2f}{who}{span}</td>")
        lines.append(f"<tr>{''.join(line)}</tr>")
    heads = (
        "case",
        "limit, or best rival: regret",
        label(LIBRARY),
        label(FORGETFUL),
        "best of the paper, one unit",
        "best peer",
    )
    return (
        "<h3>Multiples</h3><p>Regret over that of the limit, or of the best rival where there is no limit, with 95 % intervals over "
        "matrices. The best of a group is picked in hindsight, case by case.</p>"
        f'<div class="scroll"><table class="wide"><tr>{"".join(f"<th>{head}</th>" for head in heads)}</tr>{"".join(lines)}</table></div>'
    )


def _differences(results: pd.DataFrame) -> str:
    table = claims.differences(results).set_index(["row", "ours", "policy"])
    columns = [(LIBRARY, name) for name in COLUMNS] + [(LIBRARY_TWO, name) for name in TWO_UNIT]
    heads = [f"{html.escape(label(name))}{'<br>(two units)' if ours == LIBRARY_TWO else ''}" for ours, name in columns]
    lines = []
    for row in rows():
        line = [f"<td>{html.escape(TITLES[row])}</td>"]
        for ours, name in columns:
            cell = table.loc[(row, ours, name)]
            mark = "" if cell["high"] < 0 else ' class="not"'
            half = (cell["high"] - cell["low"]) / 2
            line.append(f"<td{mark}>{cell['difference']:,.1f}<small>&plusmn; {half:,.1f}</small></td>")
        lines.append(f"<tr>{''.join(line)}</tr>")
    return (
        "<h3>Differences to the paper's policies</h3><p>Regret of StateLibrary less that of each policy, on the same runs, with 95 % "
        "intervals over matrices; below zero is better. The last two columns: StateLibrary with two units. Coloured: the interval holds "
        'zero or more.</p><div class="scroll"><table class="wide">'
        f"<tr><th>environment</th>{''.join(f'<th>{head}</th>' for head in heads)}</tr>{''.join(lines)}</table></div>"
    )


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"

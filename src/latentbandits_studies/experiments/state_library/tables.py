"""The tables of the page: where StateLibrary loses, multiples of the limit, and differences to the paper's policies."""

import pandas as pd

from latentbandits.policies.groups import FORGETFUL, LIBRARY, PEERS, SINGLE_UNIT, TWO_UNIT
from latentbandits.presentation.html import Cell, Html, table, tag
from latentbandits.presentation.numbers import figure
from latentbandits.presentation.palette import label
from latentbandits_studies.experiments.paper.worlds import COLUMNS, LIBRARY_TWO, TITLES, rows
from latentbandits_studies.experiments.state_library import claims, settings

INTRODUCTION = tag(
    "p",
    tag("strong", "StateLibrary"),
    " is not in the paper. It is given nothing: not the noise, the range of rewards, the number of states or how often they change. It "
    "stands here beside the paper's policies, four change-point policies from other papers (",
    tag("em", "peers"),
    ") and the Bayes limit, on the same worlds.",
) + tag(
    "p",
    f"Its settings were tuned on worlds of the seeds {', '.join(map(str, settings.TUNED_SEEDS))}; every result here is of seed "
    f"{settings.SEED}. The paper's policies have the settings that fit the main table in every world, and expect rewards between 0 and "
    "1. The ",
    tag("em", "Bayes limit"),
    " is a filter that is given means, chain and noise, and that plans: it plays an arm for what its reward says about the state if that "
    "is worth it. The limit has one unit, also where a policy has two, which can test with one of them.",
)


def tables(results: pd.DataFrame) -> str:
    """Return where StateLibrary loses, the multiples, and all differences to the paper's policies, as HTML."""
    return _lost(results) + _multiples(results) + _differences(results)


def _lost(results: pd.DataFrame) -> str:
    head = tag("h3", "Where it still loses")
    found = claims.lost(results)
    if found.empty:
        return head + tag("p", "In none of these cases.")
    lines = [
        [
            settings.title(line["case"]),
            label(line["policy"]),
            figure(line["regret"]),
            label(line["ours"]),
            figure(line["state-library"]),
            f"{figure(line['difference'])} ({figure(line['low'])} to {figure(line['high'])})",
            "yes" if line["sure"] else "no",
        ]
        for _, line in found.iterrows()
    ]
    words = (
        "Every case in which a policy without knowledge of the world has less regret than StateLibrary with as many units. Sure: the "
        "95 % interval of the paired difference excludes zero."
    )
    heads = ["case", "better", "regret", "than", "regret", "difference", "sure"]
    return head + tag("p", words) + table(heads, lines)


def _multiples(results: pd.DataFrame) -> str:
    lines = []
    for case, part in claims.summary(results).groupby("case", sort=False):
        cells = part.set_index("policy")
        unit = cells["unit"].iloc[0]
        shown = [LIBRARY, FORGETFUL]
        shown += [cells.loc[list(group), "regret"].idxmin() for group in (SINGLE_UNIT, PEERS)]
        line = [settings.title(str(case)), f"{label(unit)} {figure(cells.loc[unit, 'regret'])}"]
        for name in shown:
            cell = cells.loc[name]
            who = "" if name in (LIBRARY, FORGETFUL) else f" {label(name)}"
            span = tag("small", f"{cell['multiple_low']:.2f} to {cell['multiple_high']:.2f}")
            line.append(Html(f"{cell['multiple']:.2f}{who}{span}"))
        lines.append(line)
    heads = [
        "case",
        "limit, or best rival: regret",
        label(LIBRARY),
        label(FORGETFUL),
        "best of the paper, one unit",
        "best peer",
    ]
    words = (
        "Regret over that of the limit, or of the best rival where there is no limit, with 95 % intervals over matrices. The best of a "
        "group is picked in hindsight, case by case."
    )
    return tag("h3", "Multiples") + tag("p", words) + table(heads, lines, classes="wide")


def _differences(results: pd.DataFrame) -> str:
    found = claims.differences(results).set_index(["row", "ours", "policy"])
    columns = [(LIBRARY, name) for name in COLUMNS] + [(LIBRARY_TWO, name) for name in TWO_UNIT]
    heads = [f"{label(name)}{' (two units)' if ours == LIBRARY_TWO else ''}" for ours, name in columns]
    lines = []
    for row in rows():
        line: list[str | Cell] = [TITLES[row]]
        for ours, name in columns:
            cell = found.loc[(row, ours, name)]
            half = tag("small", f"\N{PLUS-MINUS SIGN} {(cell['high'] - cell['low']) / 2:,.1f}")
            line.append(Cell(Html(f"{cell['difference']:,.1f}{half}"), "" if cell["high"] < 0 else "not"))
        lines.append(line)
    words = (
        "Regret of StateLibrary less that of each policy, on the same runs, with 95 % intervals over matrices; below zero is better. The "
        "last two columns: StateLibrary with two units. Coloured: the interval includes zero, or lies above it."
    )
    head = tag("h3", "Differences to the paper's policies") + tag("p", words)
    return head + table(["environment", *heads], lines, classes="wide")

"""The last screen of a run, for somebody who sees the paper for the first time: its numbers are those of the page."""

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from latentbandits_studies.experiments.claims import KINDS
from latentbandits_studies.experiments.paper.worlds import rows
from latentbandits_studies.experiments.state_library import claims as library
from latentbandits_studies.experiments.table2.agreement import agreement, label
from latentbandits_studies.report.verdicts import Judged, brief, of_kind

WIDTH, INDENT = 100, 14  # the first at most, and where there is no terminal


def main_table(results: pd.DataFrame) -> list[str]:
    """Return what the rows of the main table say: cells, winners, the order of the policies, and where StateLibrary stands."""
    found, own = agreement(results), library.standing(results)
    few = " A quick run: few matrices." if results["quick"].all() else ""
    doubled = "Ours is doubled, as print is; settings were fitted to print."
    lines = _item("Main table", [found.text + few, doubled])
    lines += _item("Order", [f"From least to most regret (geometric mean of {len(rows())} environments)."])
    for group, orders in found.orders.items():
        theirs, ours = (", ".join(map(label, names)) for names in orders)
        same = [f"paper and ours: {ours}"]
        lines += _item(f"  {group}", same if theirs == ours else [f"paper: {theirs}", f"ours:  {ours}"])
    return [*lines, *_item("Beyond it", [own.text, own.limit_text, own.paper_text])]


def screen(main: Sequence[str], judged: Judged, page: Path, following: Sequence[str]) -> str:
    """Return the screen: at most 23 lines on a terminal of 80 columns. What quick runs point to is said of the first kind of claims.

    Parameters
    ----------
    main : sequence of str
        What `main_table` returns, nothing if it was not run.
    judged : mapping
        The claims of every experiment on the page.
    page : path
        Where the page is.
    following : sequence of str
        What to do next, line by line.
    """
    claims: list[str] = []
    for kind, title in KINDS.items():
        shown = [claim for _, claim in of_kind(judged, kind) if not (claims and claim.points_to)]
        claims += [f"{title.removesuffix(' claims')}: {brief(shown)}"] if shown else []
    return "\n".join([*main, *_item("Claims", claims), f"{'Page':{INDENT}}{page}", *_item("Next", following)])


def _item(name: str, sentences: Iterable[str]) -> list[str]:
    """Return sentences beside a name, each on a line of its own; one with a command in it is not broken, so that it can be copied."""
    lines = []
    room = max(min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns) - INDENT, INDENT)
    for sentence in sentences:
        broken = textwrap.wrap(sentence, room, subsequent_indent="  ", break_on_hyphens=False)
        lines += [sentence] if "`" in sentence else broken
    return [f"{name if not place else '':{INDENT}}{line}" for place, line in enumerate(lines)]

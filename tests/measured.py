"""Write the tables of docs/main-table.md, claims.md, data.md, stress.md and results.md from the results of a full run.

``python -m tests.measured results`` after ``latentbandits reproduce --full``; ``python -m tests.measured results table2`` for the main
table alone, of which ``latentbandits reproduce`` has all; ``python -m tests.measured results field`` for the
field study, with its data at hand. The sentences around the tables are written by hand: read them again.
"""

import re
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from latentbandits.policies.groups import FORGETFUL, LIBRARY, PEERS, SINGLE_GROUP
from latentbandits.presentation.numbers import figure
from latentbandits.presentation.palette import label, plotting, saved
from latentbandits.settings import InvalidValueError
from latentbandits_studies.data import traces
from latentbandits_studies.experiments.field import beliefs
from latentbandits_studies.experiments.field import claims as field
from latentbandits_studies.experiments.field import shares as field_shares
from latentbandits_studies.experiments.paper.worlds import LIBRARY_TWO
from latentbandits_studies.experiments.real import claims as real
from latentbandits_studies.experiments.real import shares
from latentbandits_studies.experiments.real.standings import share
from latentbandits_studies.experiments.registry import ids
from latentbandits_studies.experiments.state_library import claims as library
from latentbandits_studies.experiments.state_library.settings import title
from latentbandits_studies.experiments.store import Store
from latentbandits_studies.experiments.stress import claims as stress
from latentbandits_studies.experiments.table2 import markdown
from latentbandits_studies.experiments.table2.agreement import agreement

DOCS = Path(__file__).parents[1] / "docs"
SHOWN = 9  # policies of the stress worlds


def real_row(results: pd.DataFrame, line: dict[str, Any]) -> str:
    """Return a dataset's row."""
    bounds = real.played(results)[line["dataset"]].bounds
    switching = ", ".join(f"{reward:.4g}" for reward in bounds.switching.values())
    rank = f"{line['rank']} of {line['policies']}"
    if line["rank"] > 1:
        rank += ", behind" if line["difference_high"] < 0 else ", tied"
    span = f"{line['difference']:+.2g} ({line['difference_low']:+.2g} to {line['difference_high']:+.2g})"
    share = line["gain"] / (line["switches_100"] - line["best_arm_reward"])
    return (
        f"| `{line['dataset']}` | {line['best_arm']} {line['best_arm_reward']:.4g} | {switching}; {bounds.best:.4g} "
        f"| `{line['winner']}` {line['winner_reward']:.4g} | {line['reward']:.4g} | {rank} | {span}, `{line['other']}` | {share:+.2f} |"
    )


def stress_row(line: dict[str, Any]) -> str:
    """Return a policy's row."""
    return (
        f"| `{line['policy']}` | {line['near']} of {line['worlds']} | {line['first']} | {line['typical']:.2f} "
        f"| {line['worst']:.2f}, {line['worst_world']} | {line['stuck']:.0%} |".replace("%", " %")
    )


def multiple_rows(results: pd.DataFrame) -> list[str]:
    """Return StateLibrary, its forgetful twin and the best of two groups as multiples of the limit, case by case."""
    rows = []
    for case, part in library.summary(results).groupby("case", sort=False):
        cells = part.set_index("policy")
        group, own = cells["group"].iloc[0], cells.loc[LIBRARY]
        two = f", two groups {cells.loc[LIBRARY_TWO, 'multiple']:.2f}" if LIBRARY_TWO in cells.index else ""
        best = [cells.loc[list(group), "regret"].idxmin() for group in (SINGLE_GROUP, PEERS)]
        shown = " | ".join(f"{cells.loc[name, 'multiple']:.2f} {label(name)}" for name in best)
        rows.append(
            f"| {title(str(case))} | {group} {figure(cells.loc[group, 'regret'])} | {own['multiple']:.2f} ({own['multiple_low']:.2f} to "
            f"{own['multiple_high']:.2f}){two} | {cells.loc[FORGETFUL, 'multiple']:.2f} | {shown} |"
        )
    return rows


def lost_rows(results: pd.DataFrame) -> list[str]:
    """Return the cases in which a policy that is given nothing has less regret than StateLibrary."""
    return [
        f"| {title(line['case'])} | {label(line['policy'])} | {figure(line['regret'])} | {figure(line['state-library'])} "
        f"| {figure(line['difference'])} ({figure(line['low'])} to {figure(line['high'])}) | {'yes' if line['sure'] else 'no'} |"
        for _, line in library.lost(results).iterrows()
    ]


def time_rows(folder: Path) -> list[str]:
    """Return rounds and seconds of every experiment."""
    found = Store(folder, read_only=True).descriptions()
    return [f"| {name} | {found[name]['rounds'] / 1e6:,.0f} | {found[name]['seconds']:.1f} |" for name in ids()]


def trait_rows(results: pd.DataFrame) -> list[str]:
    """Return what each trace of the field study is like."""
    return [
        f"| {name} | {one.rounds:,} x {one.arms}{f', {one.records} records' if one.records > 1 else ''} | {one.persistence:.2f} "
        f"| {one.gains[0]:.2f} ({one.shuffled[0]:.2f}), {one.gains[1]:.2f} ({one.shuffled[1]:.2f}) | {one.new:.2f} "
        f"| {one.kind}{f': {one.why}' if one.why else ''} |"
        for name, one in field.kinds(results).items()
    ]


def field_rows(results: pd.DataFrame) -> list[str]:
    """Return what came out on each trace of the field study."""
    return [
        f"| {line['dataset']} | {line['kind']} | {line['best_arm_reward']:.4g}; {line['leader']:.4g} "
        f"| {line['switches_10']:.4g}, {line['switches_100']:.4g} | {line['reward']:.4g} | {difference(line, 'gain')} "
        f"| {line['rank']} of {line['policies']} | `{line['other']}` | {difference(line, 'difference')} | {difference(line, 'memory')} "
        f"| {difference(line, 'own')} | {share(line['gain'], line['switches_100'] - line['best_arm_reward']):+.2f} |"
        for line in field.standings(results).to_dict("records")
    ]


def difference(line: dict[str, Any], name: str) -> str:
    """Return a difference and its interval."""
    return f"{line[name]:+.2g} ({line[f'{name}_low']:+.2g} to {line[f'{name}_high']:+.2g})"


def study(folder: Path) -> None:
    """Write the tables and figures of the field study, with the data at hand."""
    traces.folder()  # refused before anything is read
    results, page = pd.read_parquet(folder / "field.parquet"), DOCS / "field.md"
    replaced(page, "| trace | rounds and arms |", trait_rows(results))
    replaced(page, "| trace | kind |", field_rows(results))
    with plotting():
        (DOCS / "field.svg").write_bytes(saved(field_shares(results), "svg"))
        (DOCS / "field-beliefs.svg").write_bytes(saved(beliefs(results), "svg"))


def replaced(page: Path, head: str, rows: list[str]) -> None:
    """Write rows below the table head of a page that begins with `head`."""
    pattern = re.compile(rf"({re.escape(head)}[^\n]*\n\|[-|]+\n)(?:\|[^\n]*\n)+")
    text = page.read_text()
    assert pattern.search(text), f"{page}: no table with the head {head}"
    page.write_text(pattern.sub(lambda found: found[1] + "\n".join(rows) + "\n", text))


def main_table(folder: Path) -> None:
    """Write the main table, and how near it comes to print."""
    results, page = pd.read_parquet(folder / "table2.parquet"), DOCS / "main-table.md"
    head, _, *rows = markdown(results).splitlines()
    replaced(page, head, rows)
    said = re.compile(r"^\d+ of \d+ cells are within .*$", re.MULTILINE)
    page.write_text(said.sub(agreement(results).text, page.read_text()))


def claims(report: Path) -> None:
    """Write all verdicts and the readings, as the page has them: what stands before them is written by hand."""
    page = DOCS / "claims.md"
    before = page.read_text().partition("| where |")[0]
    page.write_text(before + (report / "claims.md").read_text())


def main(folder: Path) -> None:
    """Write the pages."""
    main_table(folder)
    claims(folder.parent / "report")
    results = pd.read_parquet(folder / "real.parquet")
    rows = [real_row(results, line) for line in real.standings(results).to_dict("records")]
    replaced(DOCS / "data.md", "| dataset | best single arm |", rows)
    with plotting():
        (DOCS / "data.svg").write_bytes(saved(shares(results), "svg"))
    found = stress.standings(pd.read_parquet(folder / "stress.parquet")).reset_index().to_dict("records")
    replaced(
        DOCS / "stress.md", "| policy | within 10 % of the best other |", [stress_row(line) for line in found[:SHOWN]]
    )
    results = pd.read_parquet(folder / "state-library.parquet")
    page = DOCS / "results.md"
    replaced(page, "| case | limit or best rival: regret |", multiple_rows(results))
    replaced(page, "| case | better | regret |", lost_rows(results))
    replaced(page, "| experiment | million rounds |", time_rows(folder))


if __name__ == "__main__":
    parts = {"table2": main_table, "field": study}
    try:
        parts.get(sys.argv[-1], main)(Path(sys.argv[1]))
    except InvalidValueError as reason:
        sys.exit(str(reason))

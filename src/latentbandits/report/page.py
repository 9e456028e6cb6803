"""The page: one file that reads offline, on a phone and in print, with no script."""

import base64
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from latentbandits.experiments.claims import TARGET, Claim, tempered
from latentbandits.experiments import table2
from latentbandits.experiments.paper.worlds import BEYOND, LIBRARY_TWO, LIMIT, SINGLE_UNIT, TITLES, TWO_UNIT, rows
from latentbandits.experiments.registry import IDS, experiment
from latentbandits.experiments.store import Store, code_of
from latentbandits.files import write_whole
from latentbandits.presentation.palette import drawing, label, saved
from latentbandits.report import beyond, verdicts
from latentbandits.report.pictures import PICTURES
from latentbandits.report.unsaid import unsaid
from latentbandits.report.verdicts import text

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1rem; color: #1a1a1a; background: #fff; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-top: 1px solid #ddd; padding-top: 1rem; }
figure { margin: 1.5rem 0; } figure img { width: 100%; height: auto; }
figcaption { color: #555; font-size: .9rem; } .note { color: #555; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; }
th, td { padding: .25rem .5rem; text-align: right; vertical-align: top; border-bottom: 1px solid #eee; }
th:first-child, td:first-child, .text td, .text th { text-align: left; }
table.wide { font-size: .72rem; } table.wide td, table.wide th { padding: .2rem .35rem; } .wide small { white-space: nowrap; }
.best { background: #d6e6f2; font-weight: 600; } small { color: #666; display: block; }
.holds { color: #00694c; } .not { color: #a33c00; } .tied { color: #6b5500; }
table.claims { table-layout: fixed; width: 100%; min-width: 44rem; }
.claims td { overflow-wrap: anywhere; } .claims th:first-child { width: 7.5rem; }
.claims th:nth-child(2) { width: 36%; } .claims th:nth-child(3) { width: 18%; } .sentences th:nth-child(3) { width: 45%; }
.quick { background: #fff3cd; padding: .5rem 1rem; border-left: 4px solid #e69f00; }
@media print { body { font-size: 9pt; max-width: none; } .scroll { overflow: visible; } table.wide { font-size: 5.5pt; }
  h2 { break-after: avoid; } figure, tr { break-inside: avoid; } }
"""


HEADINGS = {
    "table2": "table2: the main table",
    "example": "example: Example 1",
    "ladder": "ladder: a ladder of summaries, beyond the paper",
    "beyond": "beyond the paper",
}


def write_report(results: Path, folder: Path, step: Callable[[str], None] | None = None) -> Path:
    """Draw every experiment whose rows are there, and return the page's path; `step` is told the name of each before it is drawn."""
    store = Store(results, read_only=True)
    found = [name for name in IDS if (results / f"{name}.parquet").exists()]
    if not found:
        raise ValueError(
            f"report: {results} holds no results but must be a folder that `latentbandits reproduce` has filled"
        )
    try:
        (folder / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ValueError(f"report: out is {str(folder)!r} but must be a folder that can be written to") from problem
    sections, judged, quick = [], {}, {}
    for name in found:
        if step is not None:
            step(name)
        frame = store.load(name)
        try:
            quick[name] = bool(frame["quick"].any())
            claims = tempered(experiment(name).score(frame), quick[name])
            sections.append(section(name, frame, folder, claims) + _stale(store, name, quick[name]))
            judged[name] = claims
        except (LookupError, ValueError):  # a case, policy or column that this version does not know
            quick.pop(name, None)
            sections.append(f'<h2 id="{name}">{name}</h2><p class="quick">{_OTHER.format(name=name)}</p>')
    body = "\n".join([head(store, quick), verdicts.tables(judged), verdicts.sentences(judged), *sections, unsaid()])
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Latent-state bandits, reproduced</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
    try:
        write_whole(folder / "index.html", page.encode())
        write_whole(folder / "claims.csv", verdicts.frame(judged).to_csv(index=False).encode())
        write_whole(folder / "claims.md", verdicts.markdown(judged).encode())
    except OSError as problem:
        raise ValueError(f"report: out is {str(folder)!r} but must be a folder that can be written to") from problem
    return folder / "index.html"


_OTHER = "These results are of another version of the code: <code>latentbandits reproduce {name}</code> computes what has changed."


def _stale(store: Store, name: str, quick: bool) -> str:
    """Return a warning if the rows of an experiment were not computed by this code."""
    known = store.manifest["experiments"].get(name, {}).get("code")
    return (
        ""
        if known in (None, code_of(experiment(name).cases(quick)))
        else f'<p class="quick">{_OTHER.format(name=name)}</p>'
    )


def section(name: str, frame: pd.DataFrame, folder: Path, judged: list[Claim]) -> str:
    """Return one experiment: its line, where its claims are judged, its table if it has one, its figures."""
    heading = HEADINGS.get(name, name)
    links = ", ".join(f'<a href="#{claim.id}">{claim.id.split("/")[1]}</a>' for claim in judged)
    parts = [
        f'<h2 id="{name}">{heading}</h2>',
        f"<p>{text(experiment(name).summary)}.</p>",
        f'<p class="note">{"Targets" if all(claim.kind == TARGET for claim in judged) else "Claims"}: {links}.</p>',
    ]
    if name == "beyond":
        parts.append(beyond.words())
    for picture in PICTURES.get(name, []):
        with drawing():
            drawn = picture.draw(frame)
        content = saved(drawn, "svg")
        write_whole(folder / "figures" / f"{picture.name}.svg", content)
        data = base64.b64encode(content).decode()
        parts.append(
            f'<figure><img alt="{text(picture.caption)}" src="data:image/svg+xml;base64,{data}">'
            f"<figcaption>{text(picture.caption)}</figcaption></figure>"
        )
    if name == "table2":
        parts.append(numbers(frame))
    if name == "beyond":
        parts.append(beyond.tables(frame))
    return "\n".join(parts)


def head(store: Store, quick: dict[str, bool]) -> str:
    """Return what was run, on what, and how long it took; `quick` says of each experiment on the page whether it was a quick run."""
    manifest = store.manifest
    lines = []
    for name in quick:
        about = manifest["experiments"].get(name, {})
        size = f"{about['rounds'] / 1e6:,.0f}" if about else "?"
        spent = f"{about['seconds']:.1f}" if about else "?"
        mark = "quick" if quick[name] else "full"
        lines.append(
            f"<tr><td><a href='#{name}'>{name}</a></td><td>{text(experiment(name).summary)}</td>"
            f"<td>{mark}</td><td>{size}</td><td>{spent}</td></tr>"
        )
    hasty = [name for name in quick if quick[name]]
    which = "all experiments" if len(hasty) == len(quick) else ", ".join(hasty)
    warning = (
        f'<p class="quick">Quick run of {which}: fewer matrices, shorter sweeps and wider intervals than the paper. Not for citing.</p>'
        if hasty
        else ""
    )
    machine = manifest.get("machine", {})
    about = (
        f"latentbandits {manifest['latentbandits']}, Python {manifest['python']}, {machine.get('cores')} cores "
        f"({text(str(machine.get('processor')))}). Runs that two experiments share are counted in both."
        if "latentbandits" in manifest
        else "The manifest of these results is missing: when and where they were computed is not known."
    )
    return (
        "<h1>Adaptive exploration for latent-state bandits, reproduced</h1>"
        "<p>Jin, Hung, Krishnamurthy, Shi &amp; Zhang, KDD 2026, "
        '<a href="https://doi.org/10.1145/3770855.3817882">doi:10.1145/3770855.3817882</a>: every table, figure and claim beside ours. '
        "Regret is per unit, against an oracle that sees the hidden state; the <em>Bayes limit</em> is a filter that knows the means, the "
        f"chain and the noise but not the state, and plays greedily: it never tests, so a policy that tests can beat "
        f"it.</p>{warning}<p>{about}</p>"
        '<div class="scroll"><table class="text">'
        "<tr><th>experiment</th><th>what</th><th>size</th><th>million rounds</th><th>seconds</th></tr>"
        f"{''.join(lines)}</table></div>"
    )

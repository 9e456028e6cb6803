"""The page: one file that reads offline, on a phone and in print, with no script."""

import base64
import html
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from latentbandits.experiments.case import Claim, tempered
from latentbandits.experiments.paper import table2
from latentbandits.experiments.paper.worlds import BEYOND, LIBRARY_TWO, LIMIT, SINGLE_UNIT, TITLES, TWO_UNIT, rows
from latentbandits.experiments.store import Store
from latentbandits.experiments.table import IDS, OWN, experiment
from latentbandits.files import write_whole
from latentbandits.report import beyond, figures
from latentbandits.report.palette import drawing, label, saved


class Picture(NamedTuple):
    """A figure of an experiment: the file's name, how it is drawn, and what it shows."""

    name: str
    draw: Callable[[pd.DataFrame], Figure]
    caption: str


PICTURES: dict[str, list[Picture]] = {
    "table2": [
        Picture(
            "table2-ratio",
            figures.heat_map,
            "Ours over the published cell, all 182 cells (twice our regret per unit; 1.00 is a match).",
        ),
        Picture(
            "table2-multiples",
            figures.multiples,
            "Regret as a multiple of the Bayes limit: a filter that knows means, chain and noise.",
        ),
    ],
    "winning-rates": [
        Picture(
            "winning-rates",
            figures.sweeps,
            "Share of duels won against all other policies on the same runs; bars are 95 % intervals over matrices.",
        ),
        Picture(
            "winning-rates-pairs",
            figures.duels,
            "All duels, environment by environment: share of paired runs in which the row's policy has less regret.",
        ),
    ],
    "optimal-arm-frequency": [
        Picture(
            "optimal-arm-frequency",
            figures.frequency,
            "Share of optimal arms over time, smoothed over five stretches of 200 rounds; bands are 95 % over matrices.",
        ),
    ],
    "sensitivity": [
        Picture(
            "sensitivity",
            figures.thresholds,
            "Regret over each threshold, the others as stated (grey bar). Dotted: the Bayes limit of the same world.",
        ),
    ],
    "ablation": [
        Picture(
            "ablation",
            figures.parts,
            "What each part buys. Diamonds: published. Dotted: the Bayes limit. Bars: 95 % intervals over matrices.",
        ),
    ],
    "misspecification": [
        Picture(
            "misspecification",
            figures.mismatch,
            "Matched learners are given the true statistic. Diamonds: published. Dotted: the Bayes limit.",
        ),
    ],
    "many-arms": [
        Picture(
            "many-arms",
            figures.arms,
            "Randomized probes take one round whatever the number of arms; sequential ones as many rounds as arms.",
        ),
    ],
    "theory": [
        Picture(
            "theory",
            figures.bounds,
            "Above: regret per round of a policy that probes and commits, and the bounds on it. Below: errors of decoding "
            "the hidden state, and the bounds on them.",
        ),
        Picture(
            "theory-decomposition",
            figures.decomposition,
            "Regret on the default world, split into what no policy can know and what each loses.",
        ),
    ],
    "beyond": [
        Picture(
            "beyond",
            beyond.story,
            "Multiples of the Bayes limit in every row of Table 2, on a log axis; numbers: StateLibrary. Three lanes per row: the paper's "
            "policies, StateLibrary, the change-point peers. Bars: 95 % intervals over matrices.",
        ),
        Picture(
            "beyond-elsewhere",
            beyond.elsewhere,
            "The same in other worlds and with more arms; numbers: StateLibrary. Below: worlds without a limit, where the unit is the best "
            "rival's regret. Bars: 95 % intervals over matrices.",
        ),
        Picture(
            "beyond-parts",
            beyond.without,
            "StateLibrary with one part taken away, relative to the full policy on the same runs. Bars: 95 % intervals over matrices.",
        ),
    ],
}

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
.holds { color: #00694c; } .not { color: #a33c00; } .quick { background: #fff3cd; padding: .5rem 1rem; border-left: 4px solid #e69f00; }
@media print { body { font-size: 9pt; max-width: none; } .scroll { overflow: visible; } table.wide { font-size: 5.5pt; }
  h2 { break-after: avoid; } figure, tr { break-inside: avoid; } }
"""


def write_report(results: Path, folder: Path) -> Path:
    """Draw every experiment whose rows are there, and return the page's path."""
    store = Store(results, read_only=True)
    found = [name for name in IDS if (results / f"{name}.parquet").exists()]
    if not found:
        raise ValueError(
            f"report: {results} holds no results, allowed is a folder that `latentbandits reproduce` has filled"
        )
    try:
        (folder / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ValueError(f"report: out is {str(folder)!r}, allowed is a folder that can be written to") from problem
    sections, claims, quick = [], [], {}
    for name in found:
        frame = store.load(name)
        quick[name] = bool(frame["quick"].any())
        judged = tempered(experiment(name).score(frame), quick[name])
        if name not in OWN:
            claims.append((name, judged))
        sections.append(section(name, frame, folder, judged))
    said = [claims_table(claims)] if claims else []
    body = "\n".join([head(store, quick), *said, *sections, unsaid()])
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Latent-state bandits, reproduced</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
    write_whole(folder / "index.html", page.encode())
    return folder / "index.html"


def section(name: str, frame: pd.DataFrame, folder: Path, judged: list[Claim]) -> str:
    """Return one experiment: its line, its table if it has one, its figures; targets of our own are judged here too."""
    heading = "beyond the paper" if name == "beyond" else name
    parts = [f'<h2 id="{name}">{heading}</h2>', f"<p>{text(experiment(name).summary)}.</p>"]
    if name == "beyond":
        parts.append(beyond.words() + beyond.targets(judged))
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


def numbers(frame: pd.DataFrame) -> str:
    """Return Table 2 as numbers, one table per deployment group: the fitted profile, and the stated gates beside it."""
    table = table2.summary(frame)
    groups = {
        "Two units, oracles and the limit": (TWO_UNIT, [*TWO_UNIT, "adarp-ucb stated", "best-single-arm", LIMIT]),
        "One unit": (SINGLE_UNIT, [*SINGLE_UNIT, "adasp-ucb stated"]),
        "Beyond the paper: nothing published, and in no score of this table": (
            tuple(name for name in BEYOND if name != LIBRARY_TWO),
            [*BEYOND],
        ),
    }
    parts = [
        "<p>Mean cumulative regret per unit with its 95 % interval over matrices; below it twice that, which is the paper's scale, the "
        "published cell, and the ratio of the two. Marked: the best of the group with as many units. <em>Stated</em>: the gates exactly as "
        "the text states them; all others: the settings that fit the table best.</p>"
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
        winner = table2.best(table, row, group)
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
        f"chain and the noise but not the state.</p>{warning}<p>{about}</p>"
        '<div class="scroll"><table class="text">'
        "<tr><th>experiment</th><th>what</th><th>size</th><th>million rounds</th><th>seconds</th></tr>"
        f"{''.join(lines)}</table></div>"
    )


def claims_table(claims: list[tuple[str, list[Claim]]]) -> str:
    """Return every claim of the paper, what came out, and the verdict; how many hold comes first."""
    lines, verdicts = [], []
    for name, judged in claims:
        for claim in judged:
            verdicts.append(claim.verdict)
            kind = {"holds": "holds", "does not hold": "not"}.get(claim.verdict, "")
            why = f"<small>{text(claim.why)}</small>" if claim.why else ""
            lines.append(
                f'<tr><td class="{kind}">{claim.verdict}</td><td>{text(claim.text)}{why}<small>{name}</small></td>'
                f"<td>{text(claim.published)}</td><td>{text(claim.measured)}</td></tr>"
            )
    counted = ", ".join(f"{verdicts.count(word)} {word}" for word in dict.fromkeys(verdicts))
    return (
        f'<h2 id="claims">Claims</h2><p>Of {len(verdicts)} claims: {counted}.</p><div class="scroll"><table class="text">'
        f"<tr><th>verdict</th><th>claim</th><th>paper</th><th>here</th></tr>{''.join(lines)}</table></div>"
    )


UNSAID = (
    (
        "scale of Table 2",
        "twice the regret per unit",
        "Optimal single arm with means uniform on [0, 1] tends to T/6 per unit; the table tends to T/3",
    ),
    ("default world", "10 states, stay 0.99, noise 0.01, 20,000 rounds", "every row of the table changes one of these"),
    (
        "jumps of the chain",
        "uniform over the other states; start in the stationary distribution",
        "the simplest reading",
    ),
    (
        "lag features",
        "LC-UCB, LC-TS, SP-UCB: one-hot of the last arm times 1, r and r squared; AdaRP, AdaSP: times 1 and r; RP: the pair (a, r)",
        "the encodings that fit the table best",
    ),
    ("LinUCB", "ridge 0.1; exploration 1.0 for LC-UCB, 0.6 as LC-TS's scale, 0.5 for the probing family", "fit"),
    ("intervals of the fixed schedules", "RP-UCB 10, SP-UCB 40", "fit"),
    (
        "gates of the table",
        "z 2, margin 0.05, age cap 50, minimum gap 4, residual floor 0.05 (AdaRP) and 0.1 (AdaSP)",
        "with the stated age cap of 7, probes alone would cost more than the published regret",
    ),
    ("baselines", "D-UCB 0.99; SW-UCB 50; EXP3 0.1; EXP3-S 0.2 with share 0.001; UCB1 factor 2; TS noise 0.1", "fit"),
    ("values of the sensitivity sweeps", "five to seven around the stated ones", "the paper names only the best"),
    (
        "horizon and noise of the ablation",
        "3,000 rounds, noise 0.05",
        "AdaRP-UCB's figures come out within a few per cent",
    ),
    (
        "scale of the ablation",
        "regret per unit",
        "AdaRP-UCB's figures fit it; those of AdaSP-UCB fit twice that, so the paper seems to mix the two",
    ),
    (
        "many arms",
        "5,000 rounds; one-hot lag; age caps, gaps and intervals in proportion to the rounds of a probe; as many units as arms",
        "the paper gives no figures; the gaps contribute to the growth of sequential probing",
    ),
    ("horizon of the misspecification checks", "5,000 rounds", "figures come out at the scale of regret per unit"),
    (
        "overlap worlds",
        "states drawn at least delta apart, the last at exactly delta from another",
        "the paper gives only delta",
    ),
)


def unsaid() -> str:
    """Return every setting that had to be chosen, and how."""
    lines = "".join(
        f"<tr><td>{text(what)}</td><td>{text(chosen)}</td><td>{text(why)}</td></tr>" for what, chosen, why in UNSAID
    )
    return (
        '<h2 id="unsaid">What the paper does not say</h2><p>The paper has no public code and leaves these open.</p>'
        f'<div class="scroll"><table class="text"><tr><th>what</th><th>chosen</th><th>why</th></tr>{lines}</table></div>'
    )


def text(plain: str) -> str:
    """Return text as HTML."""
    return html.escape(plain)

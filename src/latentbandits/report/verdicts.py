"""Verdicts for people: a table per kind of claim, the paper sentence by sentence, and both as files."""

import html
from collections.abc import Mapping, Sequence

import pandas as pd

from latentbandits.experiments.claims import FAILS, HOLDS, KINDS, OPEN, PAPER, READING, TARGET, TIED, VERDICTS, Claim
from latentbandits.experiments.paper.sentences import SENTENCES

Judged = Mapping[str, Sequence[Claim]]  # experiment -> its claims
MANY: Mapping[str, str] = {HOLDS: "hold", FAILS: "do not hold", TIED: "are tied", OPEN: "cannot be judged"}
MARKS: Mapping[str, str] = {HOLDS: "holds", FAILS: "not", TIED: "tied"}
WORDS: Mapping[str, str] = {
    PAPER: "What the paper says in words or prints as a number. Orders are judged by paired 95 % intervals over reward "
    "matrices; comparisons "
    "of one claim share the 5 %. <em>Tied</em>: the interval leaves it open who is ahead. <em>Cannot be judged</em>: what the paper leaves "
    "unsaid decides, or the interval is too wide for what is claimed.",
    READING: "The paper shows figures without a sentence on them, or an example without a simulation. These are ours, and count "
    "for or against nobody.",
    TARGET: "What we wanted of this reproduction and of policies that are not the paper's. <em>Tied</em>: the target lies "
    "within the interval.",
}


def text(plain: str) -> str:
    """Return text as HTML."""
    return html.escape(plain)


def of_kind(judged: Judged, kind: str) -> list[tuple[str, Claim]]:
    """Return the claims of one kind, each with its experiment."""
    return [(name, claim) for name, claims in judged.items() for claim in claims if claim.kind == kind]


def counts(claims: Sequence[Claim]) -> str:
    """Return how many claims have which verdict, in words.

    Examples
    --------
    >>> from latentbandits.experiments.claims import Claim
    >>> from latentbandits.report.verdicts import counts
    >>> counts([Claim("a/b", "", "", "", "holds"), Claim("a/c", "", "", "", "tied"), Claim("a/d", "", "", "", "holds")])
    'Of 3: 2 hold, 1 are tied.'
    """
    found = [claim.verdict for claim in claims]
    hints = [claim.points_to for claim in claims if claim.points_to]
    told = f"Of {len(found)}: {_listed(found)}."
    return told + (f" A quick run judges nothing; it points to: {_listed(hints)}." if hints else "")


def _listed(words: Sequence[str]) -> str:
    return ", ".join(f"{words.count(word)} {MANY[word]}" for word in VERDICTS if word in words)


def tables(judged: Judged) -> str:
    """Return one table per kind of claim, the paper's first."""
    parts = []
    for kind, title in KINDS.items():
        chosen = of_kind(judged, kind)
        if chosen:
            parts.append(
                f'<h2 id="{kind}">{title[0].upper()}{title[1:]}</h2><p>{WORDS[kind]} {counts([claim for _, claim in chosen])}</p>'
                f"{_table(chosen, 'target' if kind == TARGET else 'paper')}"
            )
    return "".join(parts)


def _table(claims: Sequence[tuple[str, Claim]], beside: str) -> str:
    lines = []
    for name, claim in claims:
        why = f"<small>{text(claim.why)}</small>" if claim.why else ""
        lines.append(
            f'<tr id="{claim.id}"><td class="{MARKS.get(claim.verdict, "")}">{claim.verdict}{_hint(claim)}</td>'
            f'<td>{text(claim.text)}{why}<small><a href="#{name}">{claim.id}</a></small></td>'
            f"<td>{text(claim.published)}</td><td>{text(claim.measured)}</td></tr>"
        )
    return (
        '<div class="scroll"><table class="text claims">'
        f"<tr><th>verdict</th><th>claim</th><th>{beside}</th><th>here</th></tr>{''.join(lines)}</table></div>"
    )


def _kind(claim: Claim) -> str:
    """Return a word where a claim beside one of the paper's sentences is not the paper's."""
    return "" if claim.kind == PAPER else f" (our {claim.kind})"


def _hint(claim: Claim) -> str:
    return f"<small>points to: {claim.points_to}</small>" if claim.points_to else ""


def sentences(judged: Judged) -> str:
    """Return the paper sentence by sentence, with the claims that judge each and their verdicts."""
    found = {claim.id: claim for claims in judged.values() for claim in claims}
    lines = []
    for sentence in SENTENCES:
        links = "".join(
            f'<div><a href="#{name}">{name}</a>{_kind(found[name])}: '
            f'<span class="{MARKS.get(found[name].verdict, "")}">{found[name].verdict}</span>{_hint(found[name])}</div>'
            if name in found
            else f"<div>{name}: not run</div>"
            for name in sentence.claims
        )
        lines.append(f"<tr><td>{text(sentence.place)}</td><td>{text(sentence.text)}</td><td>{links}</td></tr>")
    return (
        '<h2 id="sentences">The paper, sentence by sentence</h2><p>Everything that it says and that can be measured, in our words.</p>'
        '<div class="scroll"><table class="text claims sentences"><tr><th>where</th><th>what it says</th><th>judged by</th></tr>'
        f"{''.join(lines)}</table></div>"
    )


def frame(judged: Judged) -> pd.DataFrame:
    """Return all claims, one line each."""
    return pd.DataFrame([claim for claims in judged.values() for claim in claims], columns=Claim._fields)


def markdown(judged: Judged) -> str:
    """Return the list of sentences and all verdicts as Markdown."""
    found = {claim.id: claim for claims in judged.values() for claim in claims}
    lines = ["| where | what the paper says, in our words | judged by | verdict |", "|---|---|---|---|"]
    for sentence in SENTENCES:
        for i, name in enumerate(sentence.claims):
            verdict = found[name].verdict if name in found else "not run"
            whose = _kind(found[name]) if name in found else ""
            head = (sentence.place, sentence.text) if i == 0 else ("", "")
            lines.append(f"| {_cell(head[0])} | {_cell(head[1])} | `{name}`{whose} | {verdict} |")
    for kind, title in KINDS.items():
        chosen = [claim for _, claim in of_kind(judged, kind)]
        beside = "target" if kind == TARGET else "paper"
        lines += [
            "",
            f"## {title[0].upper()}{title[1:]}",
            "",
            counts(chosen),
            "",
            f"| claim | {beside} | here | verdict | remark |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| `{x.id}`: {_cell(x.text)} | {_cell(x.published)} | {_cell(x.measured)} | {x.verdict} | {_cell(x.why)} |"
            for x in chosen
        ]
    return "\n".join(lines) + "\n"


def _cell(plain: str) -> str:
    return plain.replace("|", "\\|")

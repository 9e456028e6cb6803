"""Verdicts: a table per kind of claim, the paper sentence by sentence, both as files too, and the choices it leaves open."""

from collections.abc import Mapping, Sequence

import pandas as pd

from latentbandits.presentation.html import Cell, Html, Row, escape, table, tag
from latentbandits_studies.experiments.claims import (
    FAILS,
    HOLDS,
    KINDS,
    OPEN,
    PAPER,
    READING,
    TARGET,
    TIED,
    VERDICTS,
    Claim,
)
from latentbandits_studies.experiments.paper.choices import ledger
from latentbandits_studies.experiments.paper.sentences import SENTENCES

LEDGER = (
    "The paper has no public code and does not state these. Of several values the first is the default; a claim that depends on them is "
    "judged under each, and cannot be judged where they differ."
)
Judged = Mapping[str, Sequence[Claim]]  # experiment -> its claims
ONE: Mapping[str, str] = {TIED: "is tied"}  # else as the verdict itself
MANY: Mapping[str, str] = {HOLDS: "hold", FAILS: "do not hold", TIED: "are tied", OPEN: "cannot be judged"}
MARKS: Mapping[str, str] = {HOLDS: "holds", FAILS: "not", TIED: "tied"}
WORDS: Mapping[str, str] = {
    PAPER: Html(
        "What the paper says in words or prints as a number. Orders are judged by paired 95 % intervals over reward matrices; comparisons "
        "of one claim share the 5 %. <em>Tied</em>: the interval leaves open which is ahead. <em>Cannot be judged</em>: what the "
        "paper does not state decides, or the interval is too wide for what is claimed."
    ),
    READING: "The paper shows figures without a sentence on them, or an example without a simulation. These claims are our "
    "readings and count neither for nor against the paper.",
    TARGET: Html(
        "What we wanted of this reproduction and of policies that are not the paper's. <em>Tied</em>: the target lies within the "
        "interval."
    ),
}


def of_kind(judged: Judged, kind: str) -> list[tuple[str, Claim]]:
    """Return the claims of one kind, each with its experiment."""
    return [(name, claim) for name, claims in judged.items() for claim in claims if claim.kind == kind]


def counts(claims: Sequence[Claim]) -> str:
    """Return how many claims have which verdict, in words.

    Examples
    --------
    >>> from latentbandits_studies.experiments.claims import Claim
    >>> from latentbandits_studies.report.verdicts import counts
    >>> counts([Claim("a/b", "", "", "", "holds"), Claim("a/c", "", "", "", "tied"), Claim("a/d", "", "", "", "holds")])
    'Of 3: 2 hold, 1 is tied.'
    """
    verdicts = [claim.verdict for claim in claims]
    hints = [claim.points_to for claim in claims if claim.points_to]
    counted = f"Of {len(verdicts)}: {_listed(verdicts)}."
    return counted + (f" A quick run judges nothing; it points to: {_listed(hints)}." if hints else "")


def _listed(words: Sequence[str]) -> str:
    counted = {word: words.count(word) for word in VERDICTS if word in words}
    return ", ".join(f"{count} {ONE.get(word, word) if count == 1 else MANY[word]}" for word, count in counted.items())


def tables(judged: Judged) -> str:
    """Return one table per kind of claim, the paper's first."""
    parts = []
    for kind, title in KINDS.items():
        chosen = of_kind(judged, kind)
        if chosen:
            parts += [
                tag("h2", f"{title[0].upper()}{title[1:]}", id=kind),
                tag("p", WORDS[kind], " ", counts([claim for _, claim in chosen])),
                _table(chosen, _beside(kind)),
            ]
    return "".join(parts)


def _beside(kind: str) -> str:
    """Return the head of the column with what is claimed."""
    return "target" if kind == TARGET else "paper"


def _table(claims: Sequence[tuple[str, Claim]], beside: str) -> str:
    lines = []
    for name, claim in claims:
        why = tag("small", claim.why) if claim.why else ""
        link = tag("small", tag("a", claim.id, href=f"#{name}"))
        lines.append(
            Row(
                [
                    Cell(Html(claim.verdict + _hint(claim)), MARKS.get(claim.verdict, "")),
                    Html(escape(claim.text) + why + link),
                    claim.published,
                    claim.measured,
                ],
                id=claim.id,
            )
        )
    return table(["verdict", "claim", beside, "here"], lines, text=range(4), classes=f"claims {beside}")


def _kind(claim: Claim) -> str:
    """Return a word where a claim beside one of the paper's sentences is not the paper's."""
    return "" if claim.kind == PAPER else f" (our {claim.kind})"


def _hint(claim: Claim) -> str:
    return tag("small", f"points to: {claim.hint}") if claim.hint else ""


def sentences(judged: Judged) -> str:
    """Return the paper sentence by sentence, with the claims that judge each and their verdicts."""
    by_id = {claim.id: claim for claims in judged.values() for claim in claims}
    lines = [
        [sentence.place, sentence.text, Html("".join(_link(name, by_id.get(name)) for name in sentence.claims))]
        for sentence in SENTENCES
    ]
    return (
        tag("h2", "The paper, sentence by sentence", id="sentences")
        + tag("p", "Everything that it says and that can be measured, in our words.")
        + table(["where", "what it says", "judged by"], lines, text=range(3), classes="claims sentences")
    )


def _link(name: str, claim: Claim | None) -> str:
    if claim is None:
        return tag("div", f"{name}: not run")
    verdict = tag("span", claim.verdict, classes=MARKS.get(claim.verdict, ""))
    return tag("div", tag("a", name, href=f"#{name}"), f"{_kind(claim)}: ", verdict, Html(_hint(claim)))


def choices() -> str:
    """Return every setting that had to be chosen, and how."""
    return (
        tag("h2", "Choices that the paper leaves open", id="choices")
        + tag("p", LEDGER)
        + table(["reading", "values", "why"], ledger(), text=range(3), classes="claims choices")
    )


def frame(judged: Judged) -> pd.DataFrame:
    """Return all claims, one line each."""
    return pd.DataFrame([claim for claims in judged.values() for claim in claims], columns=Claim._fields)


def markdown(judged: Judged) -> str:
    """Return the list of sentences and all verdicts as Markdown."""
    by_id = {claim.id: claim for claims in judged.values() for claim in claims}
    lines = ["| where | what the paper says, in our words | judged by | verdict |", "|---|---|---|---|"]
    for sentence in SENTENCES:
        for i, name in enumerate(sentence.claims):
            verdict = by_id[name].wording if name in by_id else "not run"
            whose = _kind(by_id[name]) if name in by_id else ""
            head = (sentence.place, sentence.text) if i == 0 else ("", "")
            lines.append(f"| {_cell(head[0])} | {_cell(head[1])} | `{name}`{whose} | {verdict} |")
    for kind, title in KINDS.items():
        chosen = [claim for _, claim in of_kind(judged, kind)]
        lines += [
            "",
            f"## {title[0].upper()}{title[1:]}",
            "",
            counts(chosen),
            "",
            f"| claim | {_beside(kind)} | here | verdict | remark |",
            "|---|---|---|---|---|",
        ]
        lines += [
            f"| `{x.id}`: {_cell(x.text)} | {_cell(x.published)} | {_cell(x.measured)} | {x.wording} | {_cell(x.why)} |"
            for x in chosen
        ]
    lines += ["", "## What the paper does not state", "", LEDGER, "", "| reading | values | why |", "|---|---|---|"]
    lines += [f"| {' | '.join(map(_cell, line))} |" for line in ledger()]
    return "\n".join(lines) + "\n"


def _cell(plain: str) -> str:
    return plain.replace("|", "\\|")

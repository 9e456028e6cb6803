"""Verdicts: a table per kind of claim, the paper sentence by sentence, both as files too, and the choices it leaves open."""

from collections.abc import Mapping, Sequence

import pandas as pd

from latentbandits.presentation.html import Html, Row, escape, table, tag
from latentbandits_studies.experiments.claims import (
    FAILS,
    HOLDS,
    KINDS,
    OPEN,
    PAPER,
    PROVED,
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
MARKS: Mapping[str, str] = {HOLDS: "holds", FAILS: "not", TIED: "tied", OPEN: "open"}
SENTENCE = "sentence"  # beside the kinds of claims: the paper sentence by sentence
WORDS: Mapping[str, str] = {
    PAPER: Html(
        "What the paper says in words or prints as a number. Orders are judged by paired 95 % intervals over reward matrices; comparisons "
        "of one claim share the 5 %. <em>Tied</em>: the intervals leave open which is ahead, or in how many cases. "
        "<em>Cannot be judged</em>: what the paper does not state decides, or the interval is too wide for what is claimed; "
        "<em>never holds</em> or <em>never fails</em> beside it: under no reading of that."
    ),
    PROVED: "What the paper proves, or works out from numbers that it gives: bounds are held against simulation, the rest is "
    "arithmetic. Counted apart, since nothing else was to be expected.",
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
    return f"Of {len(claims)}: {brief(claims)}."


def brief(claims: Sequence[Claim]) -> str:
    """Return the same in a few words, for a line of a terminal.

    Examples
    --------
    >>> from latentbandits_studies.experiments.claims import Claim, temper
    >>> from latentbandits_studies.report.verdicts import brief
    >>> claims = [Claim("a/b", "", "", "", "holds"), Claim("a/c", "", "", "", "tied")]
    >>> brief(claims + temper(claims, True)), brief([])
    ('1 holds, 1 is tied; quick runs point to: 1 holds, 1 is tied', 'no claims')
    """
    judged = _listed([claim.verdict for claim in claims if not claim.points_to])
    hints = _listed([claim.points_to for claim in claims if claim.points_to])
    return "; ".join(filter(None, [judged, f"quick runs point to: {hints}" if hints else ""])) or "no claims"


def _listed(words: Sequence[str]) -> str:
    counted = {word: words.count(word) for word in VERDICTS if word in words}
    return ", ".join(f"{count} {ONE.get(word, word) if count == 1 else MANY[word]}" for word, count in counted.items())


# Rows are hidden that have another verdict, and parts of another kind or with no row left; a link to a hidden row shows all again
SCRIPT = """
const filter = document.getElementById("filter");
const choose = () => {
  let shown = 0;
  for (const part of document.querySelectorAll("[data-kind]")) {
    let left = 0;
    for (const row of part.querySelectorAll("tbody tr")) {
      row.hidden = !["all", ...row.classList].includes(filter.verdict.value);
      left += !row.hidden;
    }
    part.hidden = !["all", part.dataset.kind].includes(filter.kind.value) || left === 0;
    shown += part.hidden ? 0 : left;
  }
  filter.querySelector("output").textContent = shown === 1 ? "1 row" : `${shown} rows`;
};
const jump = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target && target.closest("[hidden]")) { filter.reset(); choose(); target.scrollIntoView(); }
};
if (filter) {
  filter.hidden = false;
  filter.addEventListener("input", choose);
  window.addEventListener("hashchange", jump);
  choose();
}
"""


def tables(judged: Judged) -> str:
    """Return all verdicts: the paper sentence by sentence, then a table per kind of claim, the paper's first; with a filter."""
    parts = [tag("h2", "Verdicts", id="verdicts"), _filter(judged), sentences(judged)]
    for kind, title in KINDS.items():
        chosen = of_kind(judged, kind)
        if chosen:
            words = tag("p", WORDS[kind], " ", counts([claim for _, claim in chosen]))
            heading = tag("h3", f"{title[0].upper()}{title[1:]}", id=kind)
            parts.append(tag("section", heading, words, _table(chosen, _beside(kind), title), **{"data-kind": kind}))
    return "".join(parts)


def _filter(judged: Judged) -> str:
    """Return the choice of kind and verdict; it is hidden where no script runs."""
    claims = [claim for given in judged.values() for claim in given]
    found = [slug(claim) for claim in claims]
    kinds = {"all": "all", SENTENCE: "the paper, sentence by sentence"} | dict(KINDS)
    words = {mark: word for word, mark in MARKS.items()}
    words |= {f"to-{mark}": f"quick run, points to: {word}" for word, mark in MARKS.items()}
    words = {mark: f"{word} ({found.count(mark)} claims)" for mark, word in words.items() if mark in found}
    boxes = []
    for name, given in (("kind", kinds), ("verdict", {"all": "all"} | words)):
        options = [tag("option", text, value=value) for value, text in given.items()]
        boxes.append(tag("label", f"{name} ", tag("select", *options, name=name)))
    named = {"aria-label": "Which verdicts are shown"}
    return tag("form", *boxes, tag("output", ""), id="filter", hidden="hidden", **named)


def slug(claim: Claim) -> str:
    """Return the class of a claim's row: its verdict or, after a quick run, which judges nothing, what that points to."""
    return f"to-{MARKS[claim.points_to]}" if claim.points_to else MARKS[claim.verdict]


def _beside(kind: str) -> str:
    """Return the head of the column with what is claimed."""
    return "target" if kind == TARGET else "paper"


def _table(claims: Sequence[tuple[str, Claim]], beside: str, title: str) -> str:
    lines = []
    for name, claim in claims:
        why = tag("small", claim.why) if claim.why else ""
        link = tag("small", tag("a", claim.id, href=f"#{name}"))
        lines.append(
            Row(
                [
                    _verdict(claim),
                    Html(escape(claim.text) + why + link),
                    claim.published,
                    claim.measured,
                ],
                slug(claim),
                claim.id,
            )
        )
    heads = ["verdict", "claim", beside, "here"]
    return table(heads, lines, text=range(4), classes=f"claims {beside}", caption=f"Verdicts on {title}", header=1)


def _kind(claim: Claim) -> str:
    """Return a word where a claim beside one of the paper's sentences is not the paper's."""
    return {PAPER: "", PROVED: f" ({PROVED})"}.get(claim.kind, f" (our {claim.kind})")


def _verdict(claim: Claim) -> Html:
    """Return a verdict in its colour; after a quick run it is what the run points to that has one."""
    looks = f"verdict {slug(claim).removeprefix('to-')}"
    if claim.hint:
        return Html(escape(claim.verdict) + tag("small", f"points to: {claim.hint}", classes=looks))
    lean = tag("small", claim.lean) if claim.lean else ""
    return Html(tag("span", claim.verdict, classes=looks) + lean)


def sentences(judged: Judged) -> str:
    """Return the paper sentence by sentence, with the claims that judge each and their verdicts."""
    by_id = {claim.id: claim for claims in judged.values() for claim in claims}
    lines = []
    for sentence in SENTENCES:
        links = Html("".join(_link(name, by_id.get(name)) for name in sentence.claims))
        found = dict.fromkeys(slug(by_id[name]) for name in sentence.claims if name in by_id)
        lines.append(Row([sentence.place, sentence.text, links], " ".join(found)))
    heads, caption = ["where", "what it says", "judged by"], "What the paper says, and the claims that judge it"
    return tag(
        "section",
        tag("h3", "The paper, sentence by sentence", id="sentences"),
        tag("p", "What we judge of it, in our words."),
        table(heads, lines, text=range(3), classes="claims sentences", caption=caption, header=1),
        **{"data-kind": SENTENCE},
    )


def _link(name: str, claim: Claim | None) -> str:
    if claim is None:
        return tag("div", f"{name}: not run")
    return tag("div", tag("a", name, href=f"#{name}"), f"{_kind(claim)}: ", _verdict(claim))


def choices() -> str:
    """Return every setting that had to be chosen, and how."""
    caption = "Settings that the paper leaves open"
    return (
        tag("h2", "Choices that the paper leaves open", id="choices")
        + tag("p", LEDGER)
        + table(["what", "values", "why"], ledger(), text=range(3), classes="claims choices", caption=caption)
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
            f"| `{x.id}`: {_cell(x.text)} | {_cell(x.published)} | {_cell(shortened(x.measured))} | {x.wording} | {_cell(x.why)} |"
            for x in chosen
        ]
    lines += ["", "## What the paper does not state", "", LEDGER, "", "| reading | values | why |", "|---|---|---|"]
    lines += [f"| {' | '.join(map(_cell, line))} |" for line in ledger()]
    return "\n".join(lines) + "\n"


def shortened(measured: str) -> str:
    """Return what was measured without the verdict under every single reading, which the page has.

    Examples
    --------
    >>> from latentbandits_studies.report.verdicts import shortened
    >>> shortened("0.97; holds under 2, tied under 2 of 4 readings; residual: after (holds), before (tied)")
    '0.97; holds under 2, tied under 2 of 4 readings'
    """
    told, of, _ = measured.partition(" readings; ")
    return f"{told} readings" if of else measured


def _cell(plain: str) -> str:
    return plain.replace("|", "\\|")

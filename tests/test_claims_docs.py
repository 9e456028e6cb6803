"""The list of sentences in the docs: complete, and of the claims that exist."""

import re
from pathlib import Path

from latentbandits_studies.experiments.claims import VERDICTS
from latentbandits_studies.experiments.paper.choices import ledger
from latentbandits_studies.experiments.paper.sentences import SENTENCES
from latentbandits_studies.experiments.registry import ids

PAGE = (Path(__file__).parents[1] / "docs" / "claims.md").read_text()


def test_every_sentence_stands_in_the_docs_with_its_verdicts() -> None:
    listed = re.findall(
        r"^\| ([^|]*) \| ([^|]*) \| `([\w./-]+)`(?: \((?:our \w+|proved)\))? \| ([\w ]+?)(?: \(never \w+\))? \|$",
        PAGE,
        re.MULTILINE,
    )
    wanted = []
    for sentence in SENTENCES:
        for place, name in enumerate(sentence.claims):
            wanted.append((*((sentence.place, sentence.text) if place == 0 else ("", "")), name))
    assert [(where.strip(), text.strip(), name) for where, text, name, _ in listed] == wanted
    assert {verdict for *_, verdict in listed} <= set(VERDICTS)


def test_the_readings_ledger_stands_in_the_docs() -> None:
    for line in ledger():
        assert f"| {' | '.join(line)} |" in PAGE


def test_the_docs_have_every_claim_once_and_agree_with_themselves() -> None:
    words = "|".join(VERDICTS)
    judged = dict(
        re.findall(
            rf"^\| `([\w./-]+)`: .* \| ({words})(?: \(never \w+\))? \| [^|]*(?:\\\|[^|]*)* \|$", PAGE, re.MULTILINE
        )
    )
    assert {name.split("/")[0] for name in judged} == set(ids())
    beside = re.findall(
        r"\| `([\w./-]+)`(?: \((?:our \w+|proved)\))? \| ([\w ]+?)(?: \(never \w+\))? \|$", PAGE, re.MULTILINE
    )
    assert beside
    assert all(judged[name] == verdict for name, verdict in beside)
    for count, part in re.findall(r"^Of (\d+): (.*)\.$", PAGE, re.MULTILINE):
        assert sum(map(int, re.findall(r"(\d+) ", part))) == int(count)

"""BibTeX from CITATION.cff, for the README and the site."""

from typing import Any

import yaml

from website.sources import ROOT

KINDS = {"software": "software", "conference-paper": "inproceedings", "article": "article"}
# Field of CITATION.cff -> field of BibTeX
FIELDS = {
    "title": "title",
    "collection-title": "booktitle",
    "journal": "journal",
    "year": "year",
    "version": "version",
    "doi": "doi",
}


def bibtex() -> str:
    """Return an entry for the package, and one for every work that it asks to be cited with it.

    Examples
    --------
    >>> from website.citation import bibtex
    >>> [line for line in bibtex().splitlines() if line.startswith("@")]
    ['@software{latentbandits,', '@inproceedings{jin2026,']
    """
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    return "\n\n".join(_entry(one) for one in [cited, *cited.get("references", [])])


def _entry(work: dict[str, Any]) -> str:
    authors = [f"{{{one['name']}}}" if "name" in one else one["family-names"] for one in work["authors"]]
    software = work["type"] == "software"
    key = work["title"].partition(":")[0] if software else f"{authors[0].lower()}{work['year']}"
    fields = {"author": " and ".join(authors)} | {
        name: str(work[field]) for field, name in FIELDS.items() if field in work
    }
    width = max(map(len, fields))
    lines = [f"  {name.ljust(width)} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@{KINDS[work['type']]}{{{key},", *lines, "}"])


def fenced() -> str:
    """Return the entries as a block of Markdown."""
    return f"```bibtex\n{bibtex()}\n```"

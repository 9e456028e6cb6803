"""The tables, as numbered files of SQL; a store says in `schema_version` which of them it has."""

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from latentbandits.settings import Refusal

FOLDER = Path(__file__).parent


class Step(NamedTuple):
    """A file of SQL: its number, its digest, its statements."""

    version: int
    digest: str
    statements: tuple[str, ...]


def steps(engine: str, folder: Path | None = None) -> list[Step]:
    """Return all steps of an engine, in order.

    Examples
    --------
    >>> from latentbandits.store.schema import steps
    >>> steps("sqlite")[0].version
    1
    """
    found = []
    for path in sorted(((folder or FOLDER) / engine).glob("[0-9][0-9][0-9].sql")):
        lines = [line.split("--")[0].rstrip() for line in path.read_text(encoding="utf-8").splitlines()]
        text = "\n".join(line for line in lines if line)
        statements = tuple(part.strip() for part in text.split(";") if part.strip())
        found.append(Step(int(path.stem), sha256(text.encode()).hexdigest()[:16], statements))
    return found


def missing(place: str, engine: str, present: int, folder: Path | None = None) -> list[Step]:
    """Return the steps that a store of some version lacks; refuse one of a later version."""
    known = steps(engine, folder)
    if present > known[-1].version:
        raise Refusal(
            "store", f"schema version of {place}", present, f"at most {known[-1].version}; update latentbandits"
        )
    return [step for step in known if step.version > present]


def refuse_older(place: str, engine: str, present: int) -> None:
    """Refuse to read a store whose tables are not those of this version."""
    lacking = missing(place, engine, present)
    if lacking:
        rule = f"{lacking[-1].version}; `latentbandits store migrate {place}` brings it up to date"
        raise Refusal("store", f"schema version of {place}", present, rule)

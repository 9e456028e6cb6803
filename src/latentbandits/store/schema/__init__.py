"""The tables, as a file of SQL per engine; a store says in `schema_version` which version it has."""

from pathlib import Path

from latentbandits.settings import InvalidValueError

VERSION = 1
_SHARED = (
    "CREATE TABLE schema_version (version BIGINT PRIMARY KEY)",
    f"INSERT INTO schema_version VALUES ({VERSION})",
)


def statements(engine: str) -> list[str]:
    """Return the statements that make the tables of an engine.

    Examples
    --------
    >>> from latentbandits.store.schema import statements
    >>> statements("sqlite")[0].split()[:3]
    ['CREATE', 'TABLE', 'experiment']
    """
    lines = (Path(__file__).parent / f"{engine}.sql").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line.split("--")[0].rstrip() for line in lines)
    return [*(part.strip() for part in text.split(";") if part.strip()), *_SHARED]


def refuse_version(place: str, version: int) -> None:
    """Refuse a store whose tables are not those of this version."""
    if version != VERSION:
        raise InvalidValueError(
            "store", f"schema version of {place}", version, f"{VERSION}, as this latentbandits has it"
        )

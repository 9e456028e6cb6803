"""What a journal receives: small plain records, which `Agent.apply` repeats.

===========  ==========================================================================================
event        other keys
===========  ==========================================================================================
``ask``      ``id``; ``context``, ``available`` (names) and ``unit``, if they were given
``tell``     ``id``, ``rewards`` (a list)
``forget``   ``id``
``add``      ``arm``
``retire``   ``arm``
``name``     ``number`` (of a regime), ``name``
===========  ==========================================================================================
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from latentbandits.agent.decision import Name
from latentbandits.settings import Refusal

Record = dict[str, Any]
Journal = Callable[[Record], object]


def asked(known: str, context: np.ndarray, available: list[Name] | None, unit: Name | None) -> Record:
    """Return the record of an ask."""
    record: Record = {"event": "ask", "id": known}
    if len(context):
        record["context"] = context.tolist()
    if available is not None:
        record["available"] = available
    if unit is not None:
        record["unit"] = unit
    return record


def field(record: Mapping[str, Any], name: str) -> Any:
    """Return a field of a record, or refuse the record."""
    if not isinstance(record, Mapping) or name not in record:
        raise Refusal("Agent", "record", record, f"a dict with {name}, as a journal receives it")
    return record[name]


def as_journal(journal: object) -> Any:
    """Return a journal that can be called, or none, or refuse it."""
    if journal is None or callable(journal):
        return journal
    raise Refusal("Agent", "journal", journal, "a function that takes a record")

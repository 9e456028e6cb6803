"""Memories as named arrays: a memory is a NamedTuple of arrays and, in a policy around another, of memories within it."""

from collections.abc import Mapping
from typing import Any

import numpy as np


def parts(memory: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a memory by name; those of a memory within it have dotted names.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.memories import parts
    >>> list(parts(lb.policy("scaled(ucb1)").init()))[:5]
    ['inner.counts', 'inner.sums', 'inner.scalars', 'fresh.counts', 'fresh.sums']
    """
    found: dict[str, np.ndarray] = {}
    for name, part in zip(memory._fields, memory, strict=True):
        if isinstance(part, tuple):
            found |= {f"{name}.{within}": array for within, array in parts(part).items()}
        else:
            found[name] = part
    return found


def replaced(memory: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """Return a memory with some of its arrays, given by the names of `parts`, replaced by others."""
    made = {}
    for name, part in zip(memory._fields, memory, strict=True):
        if isinstance(part, tuple):
            begin = f"{name}."
            within = {key.removeprefix(begin): array for key, array in arrays.items() if key.startswith(begin)}
            made[name] = replaced(part, within)
        else:
            made[name] = arrays.get(name, part)
    return type(memory)(**made)


def copied(memory: Any) -> Any:
    """Return a copy of a memory."""
    return type(memory)(*(copied(part) if isinstance(part, tuple) else part.copy() for part in memory))


def saved(policy: Any, memory: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a memory that must be saved, by name: all but those that the policy names in `scratch`."""
    scratch: tuple[str, ...] = policy.scratch
    within = tuple(f"{name}." for name in scratch)
    return {name: array for name, array in parts(memory).items() if name not in scratch and not name.startswith(within)}

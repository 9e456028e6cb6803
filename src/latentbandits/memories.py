"""Memories as named arrays: a memory is a NamedTuple of arrays and, in a policy around another, of memories within it."""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

import numpy as np

if TYPE_CHECKING:
    from latentbandits.protocols import Policy


@runtime_checkable
class NamedArrays(Protocol):
    """A memory of any policy."""

    @property
    def _fields(self) -> tuple[str, ...]: ...

    def __iter__(self) -> "Iterator[np.ndarray | NamedArrays]": ...


Memory = TypeVar("Memory", bound=NamedArrays)


def parts(memory: NamedArrays) -> dict[str, np.ndarray]:
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
        if isinstance(part, np.ndarray):
            found[name] = part
        else:
            found |= {f"{name}.{within}": array for within, array in parts(part).items()}
    return found


def replaced(memory: Memory, arrays: Mapping[str, np.ndarray]) -> Memory:
    """Return a memory with some of its arrays, given by the names of `parts`, replaced by others."""
    made: list[np.ndarray | NamedArrays] = []
    for name, part in zip(memory._fields, memory, strict=True):
        if isinstance(part, np.ndarray):
            made.append(arrays.get(name, part))
        else:
            begin = f"{name}."
            within = {key.removeprefix(begin): array for key, array in arrays.items() if key.startswith(begin)}
            made.append(replaced(part, within))
    make: Callable[..., Memory] = type(memory)
    return make(*made)


def copied(memory: Memory) -> Memory:
    """Return a copy of a memory."""
    make: Callable[..., Memory] = type(memory)
    return make(*(part.copy() if isinstance(part, np.ndarray) else copied(part) for part in memory))


def saved(policy: "Policy", memory: NamedArrays) -> dict[str, np.ndarray]:
    """Return the arrays of a memory that must be saved, by name: all but those that the policy names in `scratch`."""
    scratch = policy.scratch
    within = tuple(f"{name}." for name in scratch)
    return {name: array for name, array in parts(memory).items() if name not in scratch and not name.startswith(within)}


def empty(kind: type, sizes: Mapping[str, int]) -> Any:
    """Return a memory, or a group of one, with nothing in it: arrays of the types and sizes that their annotations name."""
    return kind(
        *(
            empty(part, sizes)
            if isinstance(part, type)
            else np.zeros([sizes[size] if isinstance(size, str) else size for size in part[1:]], part[0])
            for part in _parts(kind)
        )
    )


@functools.cache
def _parts(kind: type) -> list[Any]:
    """Return the fields of a memory or of a group: another group, or the type and the shape of an array."""
    hints = get_type_hints(kind, include_extras=True).values()
    return [get_args(hint)[1:] if get_origin(hint) is Annotated else hint for hint in hints]

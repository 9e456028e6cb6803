"""Ranges of numbers, as a person writes them."""

import numbers
from typing import Any, NamedTuple


class Range(NamedTuple):
    """Any number from `low` to `high`, ends included.

    Examples
    --------
    >>> from latentbandits.advice.ranges import Range
    >>> str(Range(3, 20)), Range(2, 2).exact
    ('3 to 20', True)
    """

    low: float
    high: float

    def __str__(self) -> str:
        return " to ".join(f"{end:g}" if float(f"{end:g}") == end else repr(end) for end in self)

    @property
    def exact(self) -> bool:
        """Whether it is a single value."""
        return self.low == self.high


def parsed(value: Any) -> tuple[float, float] | None:
    """Return the ends of a range or of a single number; None if it is neither.

    Examples
    --------
    >>> from latentbandits.advice.ranges import parsed
    >>> [parsed(value) for value in ("3 to 20", (3, 20), [3, 20], 7, "seven", [1, 2, 3])]
    [(3, 20), (3, 20), (3, 20), (7, 7), None, None]
    """
    if isinstance(value, str):
        parts: Any = [number(part) for part in value.split(" to ")]
        if len(parts) != 2:
            return None
    elif isinstance(value, numbers.Real):
        parts = (value, value)
    elif isinstance(value, list | tuple) and len(value) == 2:
        parts = value
    else:
        return None
    usable = all(isinstance(part, numbers.Real) and not isinstance(part, bool) for part in parts)
    return (parts[0], parts[1]) if usable else None


def number(text: str) -> float | None:
    """Return the number in a text, None if it is not a number.

    Examples
    --------
    >>> from latentbandits.advice.ranges import number
    >>> number(" 7 "), number("0.5"), number("seven")
    (7, 0.5, None)
    """
    for kind in (int, float):
        try:
            return kind(text.strip())
        except ValueError:
            continue
    return None

"""A parameter of a problem, a word for short: what it may be, how it is checked, and how a range of it is sampled."""

import math
import numbers
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from latentbandits.protocols import LARGEST_REWARD
from latentbandits.settings import Above, AtLeast, InvalidValueError, Within, check_float, check_int, nearest
from latentbandits.worlds.base import plain_delay
from latentbandits.worlds.registry import REGISTRY

OWNER = "problem"
WordValues = dict[str, Any]  # words of a problem, each with a value of its own type
Words = Mapping[str, Any]
INTEGER, NUMBER, NAME, MATRIX, PATH, SPECS, DELAY = "integer", "number", "name", "matrix", "path", "specs", "delay"
LOG, LINEAR, COMPLEMENT = "log", "linear", "complement"
LOWER_FIRST = 'a range with the lower end first, such as "{}"'


class Range(NamedTuple):
    """Any number from `low` to `high`, ends included.

    Examples
    --------
    >>> from latentbandits.advice.parameter import Range
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


def parse_range(value: object) -> tuple[float, float] | None:
    """Return the ends of a range or of a single number; None if it is neither.

    Examples
    --------
    >>> from latentbandits.advice.parameter import parse_range
    >>> [parse_range(value) for value in ("3 to 20", (3, 20), [3, 20], 7, "seven", [1, 2, 3])]
    [(3, 20), (3, 20), (3, 20), (7, 7), None, None]
    """
    parts: list[object] = []
    if isinstance(value, str):
        parts = [parse_number(part) for part in value.split(" to ")]
    elif isinstance(value, numbers.Real):
        parts = [value, value]
    elif isinstance(value, list | tuple):
        parts = list(value)
    ends = [part for part in parts if isinstance(part, int | float | numbers.Real) and not isinstance(part, bool)]
    return (ends[0], ends[1]) if len(ends) == len(parts) == 2 else None  # type: ignore[return-value]


def parse_number(text: str) -> float | None:
    """Return the number in a text, None if it is not a number.

    Examples
    --------
    >>> from latentbandits.advice.parameter import parse_number
    >>> parse_number(" 7 "), parse_number("0.5"), parse_number("seven")
    (7, 0.5, None)
    """
    for kind in (int, float):
        try:
            return kind(text.strip())
        except ValueError:
            continue
    return None


class Parameter(NamedTuple):
    """A parameter of a problem.

    Attributes
    ----------
    name : the word; also the option and the key in a file
    type : INTEGER, NUMBER, NAME, MATRIX, PATH, SPECS or DELAY
    help : what it means
    rule : for a number, or for both ends of a range
    names : for a name, what it may be, with what that means
    form : for all other types, what it must be
    default : what `compare` and `tune` take if it is left out
    wide : the range that `advise` takes if it is left out; None for the default
    ranged : whether it may be a range
    scale : of sampling from a range: LOG, LINEAR, or COMPLEMENT for the logarithm of 1 less the number
    scaled : whether the wide range is in units of the spread of the means
    group : words of a group replace each other
    sizes : for a matrix, the words that follow from its shape
    world : whether it is an argument of worlds; only kinds of world that take it have the word
    swept : whether `advise` looks for values at which another policy wins; a word with a linear scale only if it is a range
    note : what else the docs say about the default
    example : a value as TOML, for a word without a default or with two forms
    """

    name: str
    type: str
    help: str
    rule: AtLeast | Above | Within | None = None
    default: float | str | Range | None = None
    names: Mapping[str, str] = {}
    form: str = ""
    wide: Range | None = None
    ranged: bool = False
    scale: str = LOG
    scaled: bool = False
    group: str = ""
    sizes: tuple[str, ...] = ()
    world: bool = True
    swept: bool = True
    note: str = ""
    example: str = ""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of world that have it."""
        argument = "span" if self.name == "means" else self.name  # means may be a range, which a world calls its span
        return tuple(kind for kind, row in REGISTRY.items() if not self.world or argument in row.arguments)

    def choices(self, quote: str = "") -> str:
        """Return the names that it may be, with their meaning; nothing for a word that is no name."""
        return "; ".join(f"{quote}{name}{quote}: {summary}" for name, summary in self.names.items())

    @property
    def must_be(self) -> str:
        """What it must be, in words."""
        if self.names:
            return "one of " + ", ".join(self.names)
        if self.form:
            return self.form
        plain = f"{'an integer' if self.type == INTEGER else 'a finite number'} {self.rule or ''}".rstrip()
        return f"{plain}, or a range LOW to HIGH" if self.ranged else plain

    def accept(self, value: object) -> object:
        """Return a value in its plain form, or refuse it."""
        if self.type == NAME:
            if not isinstance(value, str) or value not in self.names:
                raise self.refusal(value, self.must_be + nearest(str(value), self.names))
            return value
        if self.type in (INTEGER, NUMBER):
            return self._quantity(value) if self.ranged else self._count(value)
        if self.type == MATRIX:
            return self._matrix(value)
        if self.type == DELAY:
            return plain_delay(value, OWNER)
        if self.type == PATH:
            path = os.fspath(value) if isinstance(value, os.PathLike) else value
            if not isinstance(path, str):
                raise self.refusal(value, self.must_be)
            return path
        if not isinstance(value, list | tuple) or not value or not all(isinstance(text, str) for text in value):
            raise self.refusal(value, self.must_be)
        return list(value)

    def sample(self, range_: Range, level: float) -> float:
        """Return the number at a level from 0 to 1 of a range.

        Examples
        --------
        >>> from latentbandits.advice.parameter import Range
        >>> from latentbandits.advice.vocabulary import PARAMETERS
        >>> round(PARAMETERS["dwell"].sample(Range(10, 1000), 0.5))
        100
        """
        low, high = range_
        if low == high:
            return low
        if self.scale == COMPLEMENT:
            least = 1e-9  # a range that ends at 1
            return float(1.0 - max(1.0 - low, least) ** (1 - level) * max(1.0 - high, least) ** level)
        if self.type == INTEGER:  # every number has its share
            return int(min(high, math.floor(low * ((high + 1) / low) ** level)))
        if self.scale == LINEAR or low <= 0:
            return float(low + (high - low) * level)
        return float(low ** (1 - level) * high**level)

    def refusal(self, value: object, rule: object) -> InvalidValueError:
        """Return a refusal of a value."""
        return InvalidValueError(OWNER, self.name, value, rule)

    def refuses(self, number: float) -> bool:
        """Whether a number breaks the rule."""
        return self.rule is not None and self.rule.refuses(number)

    def _count(self, value: object) -> int:
        count = check_int(OWNER, self.name, value, self.must_be)
        if self.refuses(count):
            raise self.refusal(value, self.must_be)
        return count

    def _quantity(self, value: object) -> float | Range:
        """Return a number or a range of numbers."""
        ends = parse_range(value)
        if ends is None:
            raise self.refusal(value, self.must_be)
        for end in ends:
            exact = check_float(OWNER, self.name, end, self.must_be)
            if self.refuses(exact) or (self.type == INTEGER and exact != int(exact)):
                raise self.refusal(value, self.must_be)
            if abs(exact) > LARGEST_REWARD:
                raise self.refusal(value, f"at most {LARGEST_REWARD:g}")
        if ends[0] > ends[1]:
            raise self.refusal(value, LOWER_FIRST.format("3 to 20"))
        low, high = (int(end) if self.type == INTEGER else float(end) for end in ends)
        return low if low == high else Range(low, high)

    def _matrix(self, value: object) -> Range | list[list[float]]:
        """Return rows of numbers, or the range from which numbers are sampled."""
        ends = parse_range(value) if self.ranged else None
        try:
            matrix = np.asarray(value if ends is None else ends)
            if matrix.dtype.kind not in "iuf":
                raise TypeError
            matrix = matrix.astype(float)
        except (TypeError, ValueError, OverflowError):
            raise self.refusal(value, self.must_be) from None
        if not (np.abs(matrix) <= LARGEST_REWARD).all():  # NaN included
            raise self.refusal(value, f"finite numbers of size at most {LARGEST_REWARD:g}")
        if ends is not None:
            if not ends[0] < ends[1]:
                raise self.refusal(value, LOWER_FIRST.format("0 to 1") + ", or a matrix")
            return Range(float(ends[0]), float(ends[1]))
        if matrix.ndim != 2:
            raise self.refusal(value, self.must_be)
        if matrix.shape[1] < 2:
            raise self.refusal(value, f"rows of at least two numbers, one per {self.sizes[-1].rstrip('s')}")
        rows: list[list[float]] = matrix.tolist()
        return rows

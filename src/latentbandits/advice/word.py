"""A word of a problem: what it may be, how it is checked, and how a range of it is sampled."""

import math
import os
from typing import Any, NamedTuple

import numpy as np

from latentbandits.advice.ranges import Range, parsed
from latentbandits.protocols import LARGEST_REWARD
from latentbandits.settings import Refusal, finite, nearest, whole
from latentbandits.worlds.base import plain_delay
from latentbandits.worlds.registry import REGISTRY

OWNER = "problem"
INTEGER, NUMBER, NAME, MATRIX, PATH, SPECS, DELAY = "integer", "number", "name", "matrix", "path", "specs", "delay"
LOG, LINEAR, COMPLEMENT = "log", "linear", "complement"
LOWER_FIRST = 'a range with the lower end first, such as "{}"'


class Word(NamedTuple):
    """A word of a problem.

    Attributes
    ----------
    name : the word; also the option and the key in a file
    type : INTEGER, NUMBER, NAME, MATRIX, PATH, SPECS or DELAY
    help : what it means
    metavar : what follows the option
    rule : the rule for a number, or for both ends of a range; for a name, the names with what they mean
    default : what `compare` and `tune` take if it is left out
    wide : the range that `advise` takes if it is left out; None for the default
    ranged : whether it may be a range
    scale : of sampling from a range: LOG, LINEAR, or COMPLEMENT for the logarithm of 1 less the number
    scaled : whether the wide range is in units of the spread of the means
    group : words of a group replace each other
    sizes : for a matrix, the words that follow from its shape
    world : whether it is an argument of worlds; only kinds of world that take it have the word
    label : of an axis, with the unit
    swept : whether `advise` looks for values at which another policy wins; a word with a linear scale only if it is a range
    note : what else the docs say about the default
    example : a value as TOML, for a word without a default or with two forms
    shape : the word that may follow it in one text: a noise of ``"0.1 t3"``
    option : whether it is for what most problems do not have; the example then has it as a comment
    """

    name: str
    type: str
    help: str
    metavar: str
    rule: Any = None
    default: Any = None
    wide: Range | None = None
    ranged: bool = False
    scale: str = LOG
    scaled: bool = False
    group: str = ""
    sizes: tuple[str, ...] = ()
    world: bool = True
    label: str = ""
    swept: bool = True
    note: str = ""
    example: str = ""
    shape: str = ""
    option: bool = False

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of world that have it."""
        return tuple(kind for kind, row in REGISTRY.items() if not self.world or _argument(self.name) in row.arguments)

    def choices(self, quote: str = "") -> str:
        """Return the names that it may be, with their meaning; nothing for a word that is no name."""
        return (
            "; ".join(f"{quote}{name}{quote}: {summary}" for name, summary in self.rule.items())
            if self.type == NAME
            else ""
        )

    @property
    def must_be(self) -> str:
        """What it must be, in words."""
        if self.type == NAME:
            return "one of " + ", ".join(self.rule)
        if self.type in (INTEGER, NUMBER):
            plain = f"{'an integer' if self.type == INTEGER else 'a finite number'} {self.rule or ''}".rstrip()
            shaped = f", with or without a {self.shape.replace('_', ' ')}" if self.shape else ""
            return f"{plain}, or a range LOW to HIGH{shaped}" if self.ranged else plain
        return str(self.rule)

    def accept(self, value: Any) -> Any:
        """Return a value in its plain form, or refuse it."""
        if self.type == NAME:
            if not isinstance(value, str) or value not in self.rule:
                raise self.refusal(value, self.must_be + nearest(str(value), self.rule))
            return value
        if self.type in (INTEGER, NUMBER):
            return self._quantity(value) if self.ranged else self._count(value)
        if self.type == MATRIX:
            return self._matrix(value)
        if self.type == DELAY:
            return plain_delay(value, OWNER)
        if self.type == PATH and isinstance(value, os.PathLike):
            value = os.fspath(value)
        texts = value if self.type == SPECS else [value]
        if not isinstance(texts, list | tuple) or not texts or not all(isinstance(text, str) for text in texts):
            raise self.refusal(value, self.must_be)
        return list(texts) if self.type == SPECS else value

    def sample(self, range_: Range, level: float) -> float:
        """Return the number at a level from 0 to 1 of a range.

        Examples
        --------
        >>> from latentbandits.advice.ranges import Range
        >>> from latentbandits.advice.vocabulary import WORDS
        >>> round(WORDS["dwell"].sample(Range(10, 1000), 0.5))
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

    def refusal(self, value: object, rule: object) -> Refusal:
        """Return a refusal of a value."""
        return Refusal(OWNER, self.name, value, rule)

    def _count(self, value: Any) -> int:
        count = whole(OWNER, self.name, value, self.must_be)
        if self.rule.refuses(count):
            raise self.refusal(value, self.must_be)
        return count

    def _quantity(self, value: Any) -> float | Range:
        """Return a number or a range of numbers."""
        ends = parsed(value)
        if ends is None:
            raise self.refusal(value, self.must_be)
        for end in ends:
            exact = finite(OWNER, self.name, end, self.must_be)
            if (self.rule is not None and self.rule.refuses(exact)) or (self.type == INTEGER and exact != int(exact)):
                raise self.refusal(value, self.must_be)
            if abs(exact) > LARGEST_REWARD:
                raise self.refusal(value, f"at most {LARGEST_REWARD:g}")
        if ends[0] > ends[1]:
            raise self.refusal(value, LOWER_FIRST.format("3 to 20"))
        low, high = (int(end) if self.type == INTEGER else float(end) for end in ends)
        return low if low == high else Range(low, high)

    def _matrix(self, value: Any) -> Range | list[list[float]]:
        """Return rows of numbers, or the range from which numbers are sampled."""
        ends = parsed(value) if self.ranged else None
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


def _argument(word: str) -> str:
    """Return the argument of a world that a word sets: means may be a range, which a world calls its span."""
    return "span" if word == "means" else word

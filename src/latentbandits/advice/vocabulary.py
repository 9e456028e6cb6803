"""The words that describe a problem: one table, from which follow the checks, the options, the TOML example, the docs and the sweeps.

A new word is a row of `WORDS` and an argument of the world that has it.
"""

import functools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from latentbandits.advice.ranges import Range, parsed
from latentbandits.protocols import LARGEST_REWARD
from latentbandits.rewards import DISTRIBUTIONS
from latentbandits.settings import Above, AtLeast, Refusal, Within, finite, nearest, whole
from latentbandits.worlds.registry import HIDDEN_MARKOV, REGISTRY

OWNER = "problem"
INTEGER, NUMBER, NAME, MATRIX, PATH, SPECS = "integer", "number", "name", "matrix", "path", "specs"
LOG, LINEAR, COMPLEMENT = "log", "linear", "complement"
LOWER_FIRST = 'a range with the lower end first, such as "{}"'


class Word(NamedTuple):
    """A word of a problem.

    Attributes
    ----------
    name : the word; also the option and the key in a file
    type : INTEGER, NUMBER, NAME, MATRIX, PATH or SPECS
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
    note : what else the docs say about the default
    example : a value as TOML, for a word without a default or with two forms
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
    note: str = ""
    example: str = ""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of world that have it."""
        return tuple(kind for kind, row in REGISTRY.items() if not self.world or _argument(self.name) in row.arguments)

    @property
    def must_be(self) -> str:
        """What it must be, in words."""
        if self.type == NAME:
            return "one of " + ", ".join(self.rule)
        if self.type in (INTEGER, NUMBER):
            plain = f"{'an integer' if self.type == INTEGER else 'a finite number'} {self.rule}"
            return f'{plain}, or a range "LOW to HIGH"' if self.ranged else plain
        return str(self.rule)

    def accept(self, value: Any) -> Any:
        """Return a value in its plain form, or refuse it."""
        if self.type == NAME:
            if value not in self.rule:
                raise self.refusal(value, self.must_be + nearest(str(value), self.rule))
            return value
        if self.type in (INTEGER, NUMBER):
            return self._quantity(value) if self.ranged else self._count(value)
        if self.type == MATRIX:
            return self._matrix(value)
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
            if self.rule.refuses(exact) or (self.type == INTEGER and exact != int(exact)):
                raise self.refusal(value, self.must_be)
            if exact > LARGEST_REWARD:
                raise self.refusal(value, f"at most {LARGEST_REWARD:g}")
        if ends[0] > ends[1]:
            raise self.refusal(value, LOWER_FIRST.format("3 to 20"))
        low, high = (int(end) if self.type == INTEGER else float(end) for end in ends)
        return low if low == high else Range(low, high)

    def _matrix(self, value: Any) -> Range | list[list[float]]:
        """Return rows of numbers, or the range from which numbers are sampled."""
        ends = parsed(value) if self.ranged else None
        try:
            matrix = np.asarray(value if ends is None else ends, dtype=float)
        except (TypeError, ValueError):
            raise self.refusal(value, self.must_be) from None
        if not (np.abs(matrix) <= LARGEST_REWARD).all():  # NaN included
            raise self.refusal(value, f"finite numbers of size at most {LARGEST_REWARD:g}")
        if ends is not None:
            if not ends[0] < ends[1]:
                raise self.refusal(value, LOWER_FIRST.format("0 to 1") + ", or a matrix")
            return Range(float(ends[0]), float(ends[1]))
        if matrix.ndim != 2:
            raise self.refusal(value, self.must_be)
        if len(matrix) < 2:
            raise self.refusal(value, "a row for each of at least two states")
        rows: list[list[float]] = matrix.tolist()
        return rows


def _argument(word: str) -> str:
    """Return the argument of a world that a word sets: means may be a range, which a world calls its span."""
    return "span" if word == "means" else word


_WORDS = (
    Word(
        "kind",
        NAME,
        "how the world changes",
        "KIND",
        {kind: row.summary for kind, row in REGISTRY.items()},
        HIDDEN_MARKOV,
        world=False,
    ),
    Word(
        "arms",
        INTEGER,
        "what you choose from",
        "N",
        Within(2, 1000),
        2,
        world=False,
        note="or as many as `means` or `file` has",
    ),
    # The position among the words that may be ranges names a word's random numbers: new ones go behind `separation`.
    Word(
        "states",
        INTEGER,
        "hidden regimes",
        "N",
        Within(2, 1000),
        10,
        Range(2, 20),
        ranged=True,
        label="number of hidden states",
    ),
    Word(
        "dwell",
        NUMBER,
        "rounds that a regime lasts: on average, or exactly for seasons",
        "ROUNDS",
        AtLeast(1),
        100,
        Range(20, 500),
        ranged=True,
        group="dwell",
        label="dwell (rounds that a regime lasts)",
    ),
    Word(
        "stickiness",
        NUMBER,
        "instead of dwell: the probability that a regime lasts one more round",
        "P",
        Within(0, 1),
        ranged=True,
        group="dwell",
        scale=COMPLEMENT,
        example="0.99",
        label="stickiness (probability that a regime lasts one more round)",
    ),
    Word(
        "transition",
        MATRIX,
        "instead of dwell: the probabilities of going from each state (row) to each state",
        "ROWS",
        "a square matrix of probabilities for at least two states",
        group="dwell",
        sizes=("states",),
        example="[[0.99, 0.01], [0.02, 0.98]]",
    ),
    Word(
        "timescale",
        NUMBER,
        "rounds after which a drifting mean has changed a lot",
        "ROUNDS",
        Above(0),
        500,
        Range(100, 2000),
        ranged=True,
        label="timescale of the drift (rounds)",
    ),
    Word(
        "means",
        MATRIX,
        "mean rewards: the range from which they are sampled for every run, or all of them",
        "RANGE|ROWS",
        "a range, or a matrix with a row per state and a column per arm",
        Range(0, 1),
        ranged=True,
        sizes=("states", "arms"),
        example="[[0.9, 0.1], [0.2, 0.6]]",
    ),
    Word(
        "rewards",
        NAME,
        "distribution of a reward",
        "NAME",
        {name: row.summary for name, row in DISTRIBUTIONS.items()},
        "gaussian",
    ),
    Word(
        "noise",
        NUMBER,
        "standard deviation of a reward, of all units together; not for bernoulli",
        "SD",
        AtLeast(0),
        0.01,
        Range(0.01, 0.5),
        ranged=True,
        scaled=True,
        label="noise (standard deviation of a reward)",
    ),
    Word(
        "carryover",
        NUMBER,
        "weight of the previous state in the expected reward",
        "WEIGHT",
        Within(0, 1),
        0,
        ranged=True,
        scale=LINEAR,
        label="carryover (weight of the previous state)",
    ),
    Word(
        "separation",
        NUMBER,
        "distance of the two states most alike, over all arms; for means that are sampled",
        "DISTANCE",
        Above(0),
        ranged=True,
        example="0.2",
        label="separation (distance of the two states most alike)",
    ),
    Word(
        "file", PATH, "recorded rewards: a column per arm, a line per round", "CSV", "a path", example='"rewards.csv"'
    ),
    Word("units", INTEGER, "groups that can be treated differently at the same time", "N", AtLeast(1), 1, world=False),
    Word(
        "horizon",
        INTEGER,
        "rounds",
        "ROUNDS",
        AtLeast(1),
        10_000,
        world=False,
        label="horizon (rounds)",
        note="or all that were recorded",
    ),
    Word(
        "runs",
        INTEGER,
        "sampled worlds, each played once by every policy; `advise` chooses on as many and measures on as many again",
        "N",
        Within(1, 100_000),
        200,
        world=False,
    ),
    Word("seed", INTEGER, "names all randomness", "N", AtLeast(0), 0, world=False),
    Word(
        "policies",
        SPECS,
        "what is compared, or the candidates; `tune` ignores it",
        "POLICY",
        "a list of names in quotes",
        world=False,
        note="six usual ones; `advise`: all that the units permit",
        example='["state-library", "adasp-ucb", "adasp-ucb:staleness=12,min_gap=4", "glr-ucb", "sw-ucb", "ucb1"]',
    ),
)
WORDS: Mapping[str, Word] = {word.name: word for word in _WORDS}
# The numbers that may be ranges
QUANTITIES: Mapping[str, Word] = {word.name: word for word in _WORDS if word.ranged and word.type != MATRIX}


@functools.cache
def words_of(kind: str) -> tuple[str, ...]:
    """Return the words that a kind of problem has.

    Examples
    --------
    >>> from latentbandits.advice.vocabulary import words_of
    >>> words_of("drift")[2:6]
    ('timescale', 'means', 'rewards', 'noise')
    """
    return tuple(name for name, word in WORDS.items() if kind in word.kinds)


def refuse_unknown(owner: str, word: str) -> Refusal:
    """Return the refusal of a word that no problem has."""
    return Refusal(owner, "word", word, f"one of {', '.join(WORDS)}{nearest(word, WORDS)}")


def table() -> str:
    """Return the table of words in Markdown."""
    rows = [
        "| word | meaning | must be | left out: `compare`, `tune` | left out: `advise` | kinds |",
        "|---|---|---|---|---|---|",
    ]
    for word in _WORDS:
        if word.type == NAME:
            form = "; ".join(f"`{name}`: {summary}" for name, summary in word.rule.items())
        else:
            form = word.must_be.replace(' "LOW to HIGH"', "")
        default = "-" if word.default is None else _shown(word.default)
        usual = ", ".join(part for part in (default, word.note) if part and part != "-") or "-"
        wide = usual if word.wide is None else _shown(word.wide)
        kinds = "all" if len(word.kinds) == len(REGISTRY) else ", ".join(word.kinds)
        rows.append(f"| `{word.name}` | {word.help} | {form} | {usual} | {wide} | {kinds} |")
    return "\n".join(rows)


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, Range) else f"{value:,}" if isinstance(value, int) else str(value)

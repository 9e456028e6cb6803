"""The words that describe a problem: one table, from which follow the checks, the options, the TOML example, the docs and the sweeps.

A new word is a row of `_WORDS`, or of `latentbandits.advice.options.OPTIONS`, and an argument of the world that has it.
"""

import functools
from collections.abc import Mapping
from typing import Any

from latentbandits.advice.options import OPTIONS
from latentbandits.advice.ranges import Range, number
from latentbandits.advice.word import COMPLEMENT, INTEGER, LINEAR, MATRIX, NAME, NUMBER, PATH, SPECS, Word
from latentbandits.rewards import DISTRIBUTIONS
from latentbandits.settings import Above, AtLeast, Refusal, Within, nearest
from latentbandits.worlds.registry import HIDDEN_MARKOV, REGISTRY

_NOISELESS = [name for name, row in DISTRIBUTIONS.items() if not row.noisy]
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
        "number of arms: what you choose from",
        "N",
        Within(2, 1000),
        2,
        world=False,
        note="or as many as `means` or `file` has",
    ),
    # The position among the words that may be ranges names a word's random numbers: new ones go to the end of the options.
    Word(
        "states",
        INTEGER,
        "number of hidden regimes (states)",
        "N",
        Within(1, 1000),
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
        shape="dwell_shape",
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
        swept=False,  # as dwell
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
        f"standard deviation of a reward, of all units together; not for {', '.join(_NOISELESS)}",
        "SD",
        AtLeast(0),
        0.01,
        Range(0.01, 0.5),
        ranged=True,
        scaled=True,
        label="noise (standard deviation of a reward)",
        shape="noise_shape",
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
        "distance of the two most similar states, over all arms; for means that are sampled",
        "DISTANCE",
        Above(0),
        ranged=True,
        example="0.2",
        label="separation (distance of the two most similar states)",
        swept=False,
    ),
    Word(
        "file", PATH, "recorded rewards: a column per arm, a line per round", "CSV", "a path", example='"rewards.csv"'
    ),
    Word("units", INTEGER, "groups that can be treated differently at the same time", "N", AtLeast(1), 1, world=False),
    Word(
        "horizon",
        INTEGER,
        "rounds that are played",
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
    Word("seed", INTEGER, "the seed of all random numbers", "N", AtLeast(0), 0, world=False),
    Word(
        "policies",
        SPECS,
        "specs of the policies that are compared, or of the candidates; `tune` ignores it",
        "POLICY",
        "a list of strings",
        world=False,
        note="six common ones; `advise`: all that the units permit",
        example='["state-library", "adasp-ucb", "adasp-ucb:staleness=12,min_gap=4", "glr-ucb", "sw-ucb", "ucb1"]',
    ),
    *OPTIONS,
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


def expanded(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return words in which a number and a shape in one text are two words.

    Examples
    --------
    >>> from latentbandits.advice.vocabulary import expanded
    >>> expanded({"states": 3, "noise": "0.1 to 0.5 laplace"})
    {'states': 3, 'noise': '0.1 to 0.5', 'noise_shape': 'laplace'}
    """
    found = dict(words)
    for word in WORDS.values():
        text = found.get(word.name)
        if not word.shape or not isinstance(text, str):
            continue
        shapes, parts = WORDS[word.shape].rule, text.split()
        named = [part for part in parts if part != "to" and number(part) is None]
        if len(named) != 1:
            continue  # a range, or something that is refused later
        if named[0] not in shapes:
            rule = f"{word.must_be} ({', '.join(shapes)}){nearest(named[0], shapes)}"
            raise word.refusal(text, rule)
        if found.get(word.shape) not in (None, named[0]):
            raise WORDS[word.shape].refusal(found[word.shape], f"left out when {word.name} is {text!r}")
        rest = " ".join(part for part in parts if part != named[0])
        found[word.shape] = named[0]
        found[word.name] = (rest if " " in rest else number(rest)) if rest else None
    return found


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
        form = word.choices("`") if word.type == NAME else word.must_be
        default = "-" if word.default is None else _shown(word.default)
        usual = ", ".join(part for part in (default, word.note) if part and part != "-") or "-"
        wide = usual if word.wide is None else _shown(word.wide)
        kinds = "all" if len(word.kinds) == len(REGISTRY) else ", ".join(word.kinds)
        rows.append(f"| `{word.name}` | {word.help} | {form} | {usual} | {wide} | {kinds} |")
    return "\n".join(rows)


def documented() -> str:
    """Return the words as parameters of a docstring."""
    lines = []
    for word in _WORDS:
        default = "" if word.default is None else f"; {_shown(word.default)} if not given"
        choices = f" ({word.choices()})" if word.choices() else ""
        lines += [f"{word.name} : {word.must_be}", f"    {word.help[0].upper()}{word.help[1:]}{choices}{default}."]
    return "\n".join(lines)


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, Range) else f"{value:,}" if isinstance(value, int) else str(value)

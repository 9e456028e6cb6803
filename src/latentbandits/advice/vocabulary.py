"""The words that describe a problem: one table, from which follow the checks, the options, the TOML example, the docs and the sweeps.

A new word is a row of `_TABLE`, or of `latentbandits.advice.options.OPTIONS`, and an argument of the world that has it.
"""

import functools
from collections.abc import Mapping

from latentbandits.advice.options import OPTIONS
from latentbandits.advice.parameter import (
    COMPLEMENT,
    INTEGER,
    LINEAR,
    MATRIX,
    NAME,
    NUMBER,
    PATH,
    SPECS,
    Parameter,
    Range,
    parse_number,
)
from latentbandits.rewards import DISTRIBUTIONS
from latentbandits.settings import Above, AtLeast, InvalidValueError, Within, nearest
from latentbandits.worlds.registry import HIDDEN_MARKOV, REGISTRY

DEFAULT_HORIZON, DEFAULT_RUNS = 10_000, 200
_NOISELESS = [name for name, row in DISTRIBUTIONS.items() if not row.noisy]
_TABLE = (
    Parameter(
        "kind",
        NAME,
        "how the world changes",
        "KIND",
        names={kind: row.summary for kind, row in REGISTRY.items()},
        default=HIDDEN_MARKOV,
        world=False,
    ),
    Parameter(
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
    Parameter(
        "states",
        INTEGER,
        "number of hidden regimes (states)",
        "N",
        Within(1, 1000),
        10,
        wide=Range(2, 20),
        ranged=True,
        label="number of hidden states",
    ),
    Parameter(
        "dwell",
        NUMBER,
        "rounds that a regime lasts: on average, or exactly for seasons",
        "ROUNDS",
        AtLeast(1),
        100,
        wide=Range(20, 500),
        ranged=True,
        group="dwell",
        label="dwell (rounds that a regime lasts)",
        shape="dwell_shape",
    ),
    Parameter(
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
    Parameter(
        "transition",
        MATRIX,
        "instead of dwell: the probabilities of going from each state (row) to each state",
        "ROWS",
        form="a square matrix of probabilities for at least two states",
        group="dwell",
        sizes=("states",),
        example="[[0.99, 0.01], [0.02, 0.98]]",
    ),
    Parameter(
        "timescale",
        NUMBER,
        "rounds after which a drifting mean has changed a lot",
        "ROUNDS",
        Above(0),
        500,
        wide=Range(100, 2000),
        ranged=True,
        label="timescale of the drift (rounds)",
    ),
    Parameter(
        "means",
        MATRIX,
        "mean rewards: the range from which they are sampled for every run, or all of them",
        "RANGE|ROWS",
        form="a range, or a matrix with a row per state and a column per arm",
        default=Range(0, 1),
        ranged=True,
        sizes=("states", "arms"),
        example="[[0.9, 0.1], [0.2, 0.6]]",
    ),
    Parameter(
        "rewards",
        NAME,
        "distribution of a reward",
        "NAME",
        names={name: row.summary for name, row in DISTRIBUTIONS.items()},
        default="gaussian",
    ),
    Parameter(
        "noise",
        NUMBER,
        f"standard deviation of a reward, of all groups together; not for {', '.join(_NOISELESS)}",
        "SD",
        AtLeast(0),
        0.01,
        wide=Range(0.01, 0.5),
        ranged=True,
        scaled=True,
        label="noise (standard deviation of a reward)",
        shape="noise_shape",
    ),
    Parameter(
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
    Parameter(
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
    Parameter(
        "file",
        PATH,
        "recorded rewards: a column per arm, a line per round",
        "CSV",
        form="a path",
        example='"rewards.csv"',
    ),
    Parameter(
        "groups", INTEGER, "groups that can be treated differently at the same time", "N", AtLeast(1), 1, world=False
    ),
    Parameter(
        "horizon",
        INTEGER,
        "rounds that are played",
        "ROUNDS",
        AtLeast(1),
        DEFAULT_HORIZON,
        world=False,
        label="horizon (rounds)",
        note="or all that were recorded",
    ),
    Parameter(
        "runs",
        INTEGER,
        "sampled worlds, each played once by every policy; `advise` chooses on as many and measures on as many again",
        "N",
        Within(1, 100_000),
        DEFAULT_RUNS,
        world=False,
    ),
    Parameter("seed", INTEGER, "the seed of all random numbers", "N", AtLeast(0), 0, world=False),
    Parameter(
        "policies",
        SPECS,
        "specs of the policies that are compared, or of the candidates; `tune` ignores it",
        "POLICY",
        form="a list of strings",
        world=False,
        note="six common ones; `advise`: all that the groups permit",
        example='["state-library", "adasp-ucb", "adasp-ucb:staleness=12,min_gap=4", "glr-ucb", "sw-ucb", "ucb1"]',
    ),
    *OPTIONS,
)
PARAMETERS: Mapping[str, Parameter] = {word.name: word for word in _TABLE}
# The numbers that may be ranges
QUANTITIES: Mapping[str, Parameter] = {word.name: word for word in _TABLE if word.ranged and word.type != MATRIX}


@functools.cache
def words_of(kind: str) -> tuple[str, ...]:
    """Return the words that a kind of problem has.

    Examples
    --------
    >>> from latentbandits.advice.vocabulary import words_of
    >>> words_of("drift")[2:6]
    ('timescale', 'means', 'rewards', 'noise')
    """
    return tuple(name for name, word in PARAMETERS.items() if kind in word.kinds)


def split_shapes(words: Mapping[str, object]) -> dict[str, object]:
    """Return words in which a number and a shape in one text are two words.

    Examples
    --------
    >>> from latentbandits.advice.vocabulary import split_shapes
    >>> split_shapes({"states": 3, "noise": "0.1 to 0.5 laplace"})
    {'states': 3, 'noise': '0.1 to 0.5', 'noise_shape': 'laplace'}
    """
    expanded = dict(words)
    for word in PARAMETERS.values():
        text = expanded.get(word.name)
        if not word.shape or not isinstance(text, str):
            continue
        shapes, parts = PARAMETERS[word.shape].names, text.split()
        shape_names = [part for part in parts if part != "to" and parse_number(part) is None]
        if len(shape_names) != 1:
            continue  # a range, or something that is refused later
        if shape_names[0] not in shapes:
            rule = f"{word.must_be} ({', '.join(shapes)}){nearest(shape_names[0], shapes)}"
            raise word.refusal(text, rule)
        if expanded.get(word.shape) not in (None, shape_names[0]):
            raise PARAMETERS[word.shape].refusal(expanded[word.shape], f"left out when {word.name} is {text!r}")
        rest = " ".join(part for part in parts if part != shape_names[0])
        expanded[word.shape] = shape_names[0]
        expanded[word.name] = (rest if " " in rest else parse_number(rest)) if rest else None
    return expanded


def refuse_unknown(owner: str, word: str) -> InvalidValueError:
    """Return the refusal of a word that no problem has."""
    return InvalidValueError(owner, "word", word, f"one of {', '.join(PARAMETERS)}{nearest(word, PARAMETERS)}")


def markdown_table() -> str:
    """Return the table of words in Markdown."""
    rows = [
        "| word | meaning | must be | left out: `compare`, `tune` | left out: `advise` | kinds |",
        "|---|---|---|---|---|---|",
    ]
    for word in _TABLE:
        form = word.choices("`") if word.type == NAME else word.must_be
        default = "-" if word.default is None else _show(word.default)
        usual = ", ".join(part for part in (default, word.note) if part and part != "-") or "-"
        wide = usual if word.wide is None else _show(word.wide)
        kinds = "all" if len(word.kinds) == len(REGISTRY) else ", ".join(word.kinds)
        rows.append(f"| `{word.name}` | {word.help} | {form} | {usual} | {wide} | {kinds} |")
    return "\n".join(rows)


def docstring() -> str:
    """Return the words as parameters of a docstring."""
    lines = []
    for word in _TABLE:
        default = "" if word.default is None else f"; {_show(word.default)} if not given"
        choices = f" ({word.choices()})" if word.choices() else ""
        lines += [f"{word.name} : {word.must_be}", f"    {word.help[0].upper()}{word.help[1:]}{choices}{default}."]
    return "\n".join(lines)


def _show(value: object) -> str:
    return f'"{value}"' if isinstance(value, Range) else f"{value:,}" if isinstance(value, int) else str(value)

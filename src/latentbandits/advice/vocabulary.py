"""The words that describe a problem: one table, from which follow the checks, the options, the TOML example, the docs and the sweeps.

A new word is a row of the table and an argument of the world that has it.
"""

import functools
from collections.abc import Mapping

from latentbandits.advice.parameter import (
    COMPLEMENT,
    DELAY,
    INTEGER,
    LINEAR,
    LOG,
    MATRIX,
    NAME,
    NUMBER,
    PATH,
    SPECS,
    Parameter,
    Range,
)
from latentbandits.protocols import LARGEST_DELAY, LEARN
from latentbandits.rewards import DISTRIBUTIONS
from latentbandits.settings import Above, AtLeast, InvalidValueError, Within, nearest
from latentbandits.worlds.delivery import RULE
from latentbandits.worlds.dwell import DWELLS
from latentbandits.worlds.noise import SHAPES
from latentbandits.worlds.registry import HIDDEN_MARKOV, REGISTRY

DEFAULT_HORIZON, DEFAULT_RUNS = 10_000, 200
_KINDS = {kind: row.summary for kind, row in REGISTRY.items()}
_REWARDS = {name: row.summary for name, row in DISTRIBUTIONS.items()}
_NOISELESS = ", ".join(name for name, row in DISTRIBUTIONS.items() if not row.noisy)
_SPECS = '["state-library", "adasp-ucb", "adasp-ucb:staleness=12,min_gap=4", "glr-ucb", "sw-ucb", "ucb1"]'
COMMON = (
    Parameter("kind", NAME, "how the world changes", names=_KINDS, default=HIDDEN_MARKOV, world=False),
    Parameter(
        "arms",
        INTEGER,
        "number of arms: what you choose from",
        Within(2, 1000),
        2,
        world=False,
        note="or as many as `means` or `file` has",
    ),
    # The position among the words that may be ranges names a word's random numbers: new ones go to the end of the options.
    Parameter(
        "states",
        INTEGER,
        "number of hidden regimes (states), or of the levels of an arm",
        Within(1, 1000),
        10,
        wide=Range(2, 20),
        ranged=True,
    ),
    Parameter(
        "dwell",
        NUMBER,
        "rounds that a regime lasts: on average, or exactly for seasons",
        AtLeast(1),
        100,
        wide=Range(20, 500),
        ranged=True,
        group="dwell",
    ),
    Parameter(
        "stickiness",
        NUMBER,
        "instead of dwell: the probability that a regime lasts one more round",
        Within(0, 1),
        ranged=True,
        group="dwell",
        scale=COMPLEMENT,
        example="0.99",
        swept=False,  # as dwell
    ),
    Parameter(
        "transition",
        MATRIX,
        "instead of dwell: the probabilities of going from each state (row) to each state",
        form="a square matrix of probabilities for at least two states",
        group="dwell",
        sizes=("states",),
        example="[[0.99, 0.01], [0.02, 0.98]]",
    ),
    Parameter(
        "timescale",
        NUMBER,
        "rounds after which a drifting mean has changed a lot",
        Above(0),
        500,
        wide=Range(100, 2000),
        ranged=True,
    ),
    Parameter(
        "means",
        MATRIX,
        "mean rewards: the range from which they are sampled for every run, or all of them",
        form="a range, or a matrix with a row per state and a column per arm",
        default=Range(0, 1),
        ranged=True,
        sizes=("states", "arms"),
        example="[[0.9, 0.1], [0.2, 0.6]]",
    ),
    Parameter("rewards", NAME, "distribution of a reward", names=_REWARDS, default="gaussian"),
    Parameter(
        "noise",
        NUMBER,
        f"standard deviation of a reward, of all groups together; not for {_NOISELESS}",
        AtLeast(0),
        0.01,
        wide=Range(0.01, 0.5),
        ranged=True,
        scaled=True,
    ),
    Parameter(
        "carryover",
        NUMBER,
        "weight of the previous state in the expected reward",
        Within(0, 1),
        0,
        ranged=True,
        scale=LINEAR,
    ),
    Parameter(
        "separation",
        NUMBER,
        "distance of the two most similar states, over all arms; for means that are sampled",
        Above(0),
        ranged=True,
        example="0.2",
        swept=False,
    ),
    Parameter(
        "file", PATH, "recorded rewards: a column per arm, a line per round", form="a path", example='"rewards.csv"'
    ),
    Parameter("groups", INTEGER, "groups that can be treated differently at the same time", AtLeast(1), 1, world=False),
    Parameter(
        "horizon",
        INTEGER,
        "rounds that are played",
        AtLeast(1),
        DEFAULT_HORIZON,
        world=False,
        note="or all that were recorded",
    ),
    Parameter(
        "runs",
        INTEGER,
        "sampled worlds, each played once by every policy; `advise` chooses on as many and measures on as many again",
        Within(1, 100_000),
        DEFAULT_RUNS,
        world=False,
    ),
    Parameter("seed", INTEGER, "the seed of all random numbers", AtLeast(0), 0, world=False),
    Parameter(
        "policies",
        SPECS,
        "specs of the policies that are compared, or of the candidates; `tune` ignores it",
        form="a list of strings",
        world=False,
        note="six common ones; `advise`: all that the groups permit",
        example=_SPECS,
    ),
)


def _share(name: str, text: str, rule: Within, default: float) -> Parameter:
    """Return a word for a number on a linear scale."""
    return Parameter(name, NUMBER, text, rule, default, ranged=True, scale=LINEAR)


def _amount(name: str, text: str, rule: AtLeast | None, default: float) -> Parameter:
    """Return a word for a number without an upper limit; a factor or a time has a logarithmic scale."""
    scale = LINEAR if rule is None or rule.low <= 0 else LOG
    return Parameter(name, NUMBER, text, rule, default, ranged=True, scale=scale, swept=False)


# What most problems do not have: unusual noise, effects on the means, late rewards, arms that come and go
OPTIONS = (
    Parameter(
        "noise_shape",
        NAME,
        "shape of the noise",
        names={name: shape.summary for name, shape in SHAPES.items()},
        default="normal",
    ),
    _amount(
        "uneven_arms",
        "every arm has noise of its own; the noisiest has up to this many times that of the quietest",
        AtLeast(1),
        1,
    ),
    _amount("uneven_states", "the same for states", AtLeast(1), 1),
    _share("proportional", "how much the noise depends on the mean: 1 for proportional to it", Within(0, 1), 0),
    _share("autocorrelation", "correlation of the noise of one round with that of the next", Within(0, 0.999), 0),
    _amount(
        "changing_noise",
        "the noise changes between two levels every 500 rounds or so; the upper is this many times the lower",
        AtLeast(1),
        1,
    ),
    Parameter("dwell_shape", NAME, "how the time that a regime lasts varies", names=DWELLS, default="geometric"),
    _share(
        "rare",
        "share of time of one rare state, in which the arm that is usually best is the worst; 0 for no such state",
        Within(0, 0.5),
        0,
    ),
    _share(
        "returning",
        "share of visits to a state that bring back its means; the others have new ones, which never return",
        Within(0, 1),
        1,
    ),
    _share("alike", "share of states that share the mean of one arm with another state", Within(0, 1), 0),
    _share("together", "correlation of the arms' means: arms that move together", Within(0, 1), 0),
    Parameter("dominated", INTEGER, "arms, the last ones, that are never better than the first", Within(0, 999), 0),
    _amount("trend", "change of all means in 1,000 rounds", None, 0),
    _amount("calendar", "amplitude of a periodic change of all means together", AtLeast(0), 0),
    _amount("calendar_arms", "amplitude of a periodic change with a phase of its own for every arm", AtLeast(0), 0),
    _amount("period", "rounds after which the calendar repeats", AtLeast(2), 100),
    Parameter(
        "features", INTEGER, "observed features, each -1 or 1, that change the mean of every arm", Within(0, 100), 0
    ),
    _amount("feature_effect", "largest effect of a feature on a mean", AtLeast(0), 0.2),
    Parameter(
        "delay",
        DELAY,
        "rounds after which a reward arrives; in a range every reward takes its own time",
        form=RULE,
        default=0,
    ),
    _share("lost", "share of rounds whose rewards never arrive", Within(0, 0.99), 0),
    _share("available", "share of rounds in which an arm is available; one arm always is", Within(0.01, 1), 1),
    _amount("stretch", "rounds for which an arm is available before it leaves, on average", AtLeast(1), 200),
    _amount(
        "uneven_dwell",
        "every arm has a dwell of its own; the longest is up to this many times the shortest",
        AtLeast(1),
        1,
    ),
    _share("incidents", "share of time in which all arms are at their lowest level at once", Within(0, 0.5), 0),
    Parameter(
        "window",
        INTEGER,
        "rounds after which a reward that has not come counts as 0; 0 for no window",
        Within(0, LARGEST_DELAY),
        0,
    ),
    Parameter(
        "learn",
        NAME,
        "with a window: when a round is learned",
        names={
            LEARN[0]: "when its window closes",
            LEARN[1]: "a reward when it comes, and that there is none when the window closes",
        },
        default=LEARN[0],
    ),
    _share("wrong", "share of rounds in which a wrong reward is told", Within(0, 0.5), 0),
    _amount("wrong_reward", "the wrong reward", None, -1),
)
PARAMETERS: Mapping[str, Parameter] = {word.name: word for word in (*COMMON, *OPTIONS)}
# The numbers that may be ranges
QUANTITIES: Mapping[str, Parameter] = {
    word.name: word for word in PARAMETERS.values() if word.ranged and word.type != MATRIX
}


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


def refuse_unknown(owner: str, word: str) -> InvalidValueError:
    """Return the refusal of a word that no problem has."""
    return InvalidValueError(owner, "word", word, f"one of {', '.join(PARAMETERS)}{nearest(word, PARAMETERS)}")


def docstring() -> str:
    """Return the words as parameters of a docstring."""
    lines = []
    for word in PARAMETERS.values():
        default = "" if word.default is None else f"; {show(word.default)} if not given"
        choices = f" ({word.choices()})" if word.choices() else ""
        lines += [f"{word.name} : {word.must_be}", f"    {word.help[0].upper()}{word.help[1:]}{choices}{default}."]
    return "\n".join(lines)


def show(value: object) -> str:
    """Return a value of a word as the docs show it."""
    return f'"{value}"' if isinstance(value, Range) else f"{value:,}" if isinstance(value, int) else str(value)

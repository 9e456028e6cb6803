"""A problem as its owner describes it: exact where it is known, a range where it is not. It is a world that can be simulated."""

import dataclasses
import functools
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from latentbandits.protocols import LARGEST_REWARD, Realisation, World
from latentbandits.random import Purpose, stream
from latentbandits.settings import Above, AtLeast, Refusal, Within, finite, nearest, refuse, whole
from latentbandits.worlds.drift import Drift
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits.worlds.recorded import Recorded
from latentbandits.worlds.rewards import KINDS as REWARDS
from latentbandits.worlds.seasons import Seasons

OWNER = "problem"
Made = TypeVar("Made")
# Rewards of one run, in numbers: 400 MB
MOST_CELLS = 50_000_000
MOST_STATES, MOST_ARMS, MOST_RUNS = 1000, 1000, 100_000


class Range(NamedTuple):
    """Somewhere from `low` to `high`, ends included."""

    low: float
    high: float

    def __str__(self) -> str:
        return " to ".join(f"{end:g}" if float(f"{end:g}") == end else repr(end) for end in self)

    @property
    def exact(self) -> bool:
        """Whether it is a single value."""
        return self.low == self.high


class Quantity(NamedTuple):
    """A quantity that may be a range: what it may be, and how it is drawn.

    Attributes
    ----------
    allowed : rule for both ends
    wide : the range that advice takes where nothing was said; None for never a range by default
    usual : the value that a comparison takes where nothing was said
    integer : whether it counts something
    even : drawn uniformly; else uniformly on a logarithmic scale
    kinds : the worlds that have it
    """

    allowed: Any
    usual: float | None
    wide: Range | None
    kinds: tuple[str, ...]
    integer: bool = False
    even: bool = False


CHAIN, SEASONS, DRIFT, RECORDED = "hidden-markov", "seasons", "drift", "recorded"
WORLDS = (CHAIN, SEASONS, DRIFT, RECORDED)
QUANTITIES: Mapping[str, Quantity] = {
    "states": Quantity(Within(2, MOST_STATES), 10, Range(2, 20), (CHAIN, SEASONS), integer=True),
    "dwell": Quantity(AtLeast(1), 100, Range(20, 500), (CHAIN, SEASONS)),
    "stickiness": Quantity(Within(0, 1), None, None, (CHAIN,)),
    "timescale": Quantity(Above(0), 500, Range(100, 2000), (DRIFT,)),
    "noise": Quantity(AtLeast(0), 0.01, Range(0.01, 0.5), (CHAIN, SEASONS, DRIFT)),
    "carryover": Quantity(Within(0, 1), 0, None, (CHAIN,), even=True),
    "separation": Quantity(Above(0), None, None, (CHAIN,)),
}
# What else a kind of world can be told
PLAIN: Mapping[str, tuple[str, ...]] = {
    "arms": WORLDS,
    "transition": (CHAIN,),
    "means": (CHAIN, SEASONS, DRIFT),
    "rewards": (CHAIN, SEASONS, DRIFT),
    "file": (RECORDED,),
}
SIZES: Mapping[str, int] = {"units": 1, "horizon": 10_000, "runs": 200, "seed": 0}


class _Told:
    """What a problem keeps beside its words."""

    given: dict[str, Any]  # the words as they were given
    _record: Recorded


@dataclass(frozen=True)
class Problem(_Told):
    """A problem in its owner's words; whatever is left out is as in the paper's default world.

    Quantities that are not known exactly are ranges: ``"3 to 20"`` or ``(3, 20)``. Every run then draws them anew, on a logarithmic
    scale (carryover on a plain one). A problem is a world: `latentbandits.simulate` takes it, too.

    Parameters
    ----------
    kind : {"hidden-markov", "seasons", "drift", "recorded"}
        Regimes that change at random, regimes that follow a calendar, means that wander, or a file.
    arms : int
        Number of arms; 2 if neither this nor `means` is given.
    states : int or range
        Number of regimes; 10 if not given.
    dwell : float or range
        Rounds that a regime lasts, on average (exactly, for seasons); 100 if not given.
    stickiness : float or range
        Instead of `dwell`: the probability that a regime lasts one more round.
    transition : array (states, states)
        Instead of `dwell`: the probabilities to go from one state to another.
    means : array (states, arms) or range
        Mean reward of every arm in every state, or the range from which means are drawn; 0 to 1 if not given.
    separation : float or range
        Distance of the two states that are most alike, for means that are drawn.
    rewards : {"gaussian", "bernoulli"}
        Numbers with noise, or 0 and 1 with the means as probabilities.
    noise : float or range
        Standard deviation of a reward; 0.01 if not given.
    carryover : float or range
        Weight of the previous state in the expected reward.
    timescale : float or range
        Rounds after which a drifting mean has changed a lot.
    file : str
        For kind "recorded": numbers separated by commas, a column per arm, a line per round.
    units : int
        Groups that can be treated differently at the same time.
    horizon : int
        Rounds that are played; 10,000 if not given, or all that were recorded.
    runs : int
        Runs, each on a world of its own.
    seed : int
        Names all randomness.
    policies : list of str
        What is compared, or the candidates; no part of the problem itself.

    Examples
    --------
    >>> import latentbandits as lb
    >>> problem = lb.Problem(arms=4, states="3 to 20", dwell=(50, 500), noise=0.3, units=2)
    >>> problem.vague
    ('states', 'dwell')
    >>> world = problem.sample(seed=0, draw=0)
    >>> world.states, round(world.stickiness, 4)
    (4, 0.989)
    >>> lb.Problem(states="20 to 3")
    Traceback (most recent call last):
    ValueError: problem: states is '20 to 3' but must be a range with the lower end first, such as "3 to 20"
    """

    kind: str = CHAIN
    arms: int = None  # type: ignore[assignment]
    states: Any = None
    dwell: Any = None
    stickiness: Any = None
    transition: Any = None
    means: Any = None
    separation: Any = None
    rewards: str = None  # type: ignore[assignment]
    noise: Any = None
    carryover: Any = None
    timescale: Any = None
    file: str | None = None
    units: int = 1
    horizon: int = None  # type: ignore[assignment]
    runs: int = 200
    seed: int = 0
    policies: list[str] | None = dataclasses.field(default=None, compare=False)

    def __post_init__(self) -> None:
        for field in ("means", "transition"):  # arrays and data frames become rows
            if isinstance(getattr(self, field), np.ndarray) or hasattr(getattr(self, field), "to_numpy"):
                self._set(field, np.asarray(getattr(self, field)).tolist())
        object.__setattr__(self, "given", {f: v for f, v in self._words().items() if v is not None})
        if self.kind not in WORLDS:
            raise refuse(OWNER, "kind", self.kind, f"one of {', '.join(WORLDS)}{nearest(str(self.kind), WORLDS)}")
        for field in ("units", "runs", *(() if self.horizon is None else ("horizon",))):
            whole(OWNER, field, getattr(self, field), least=1)
        whole(OWNER, "seed", self.seed, least=0)
        if self.runs > MOST_RUNS:
            raise refuse(OWNER, "runs", self.runs, f"at most {MOST_RUNS}")
        self._check_kind()
        for field in QUANTITIES:
            if getattr(self, field) is not None:
                self._set(field, self._quantity(field, getattr(self, field)))
        self._check_means()
        if self.kind == RECORDED:
            self._set("_record", self._load())
        self._fill()
        for end in (0, 1):  # what no world has is refused now, not in the middle of a run
            world = self._concrete({field: self.range(field)[end] for field in self.ranges})
            if self.separation is not None:
                self._in_own_words(functools.partial(world.matrix, self.seed, 0))  # type: ignore[attr-defined]
        cells = self.horizon * self.units * self.arms
        if cells > MOST_CELLS:
            raise refuse(OWNER, "horizon", self.horizon, f"at most {MOST_CELLS // (self.units * self.arms)} rounds")

    def _words(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def _set(self, field: str, value: object) -> None:
        object.__setattr__(self, field, value)

    def _check_kind(self) -> None:
        """Refuse what the kind of world does not have, and two words for one thing."""
        homes = dict(PLAIN) | {field: quantity.kinds for field, quantity in QUANTITIES.items()}
        for field, kinds in homes.items():
            if getattr(self, field) is not None and self.kind not in kinds:
                raise refuse(OWNER, field, getattr(self, field), f"none for kind {self.kind} (only {', '.join(kinds)})")
        ways = [field for field in ("dwell", "stickiness", "transition") if getattr(self, field) is not None]
        if len(ways) > 1:
            raise refuse(OWNER, ways[1], getattr(self, ways[1]), f"none when {ways[0]} is given")
        if self.rewards is not None and self.rewards not in REWARDS:
            raise refuse(OWNER, "rewards", self.rewards, "one of " + ", ".join(REWARDS))
        if self.rewards == "bernoulli" and self.noise is not None:
            raise refuse(OWNER, "noise", self.noise, "none when rewards are bernoulli, which bring their own")
        if self.kind == RECORDED and self.file is None:
            raise refuse(OWNER, "file", None, "the path of a file, for kind recorded")

    def _quantity(self, field: str, value: Any) -> float | int | Range:
        about = QUANTITIES[field]
        kind = "an integer" if about.integer else "a finite number"
        ends = parsed(value)
        shown = f'{kind} {about.allowed}, or a range "LOW to HIGH"'
        if ends is None:
            return whole(OWNER, field, value, shown) if about.integer else finite(OWNER, field, value, shown)
        for end in ends:
            number = finite(OWNER, field, end, shown)
            if about.allowed.refuses(number) or number > LARGEST_REWARD or (about.integer and number != int(number)):
                raise refuse(OWNER, field, value, shown)
        if not isinstance(value, numbers.Real) and ends[0] > ends[1]:
            raise refuse(OWNER, field, value, 'a range with the lower end first, such as "3 to 20"')
        if field == "dwell" and self.kind == SEASONS and ends[0] == ends[1] != int(ends[0]):
            raise refuse(OWNER, field, value, "a whole number of rounds for seasons")
        low, high = (int(end) if about.integer else float(end) for end in ends)
        return low if low == high else Range(low, high)

    def _check_means(self) -> None:
        """Tell a range of means from a matrix of them; sizes follow from a matrix."""
        ends = parsed(self.means)
        if self.means is None or ends is not None:
            low, high = (finite(OWNER, "means", end) for end in ends or (0.0, 1.0))
            if max(-low, high) > LARGEST_REWARD:
                raise refuse(OWNER, "means", self.means, f"numbers of size at most {LARGEST_REWARD:g}")
            if not low < high:
                raise refuse(
                    OWNER, "means", self.means, 'a range with the lower end first, such as "0 to 1", or a matrix'
                )
            if self.rewards == "bernoulli" and not 0 <= low < high <= 1:
                raise refuse(OWNER, "means", self.means, "probabilities from 0 to 1 for bernoulli rewards")
            self._set("means", Range(low, high))
            if self.kind == DRIFT and self.arms is None:
                self._set("arms", 2)
            return
        allowed = "a range" if self.kind == DRIFT else "a range, or a matrix with a row per state and a column per arm"
        shape = _shape(self.means)
        if self.kind == DRIFT or len(shape) != 2:
            raise refuse(OWNER, "means", self.means, allowed)
        if shape[0] < 2:
            raise refuse(OWNER, "means", self.means, "a row for each of at least two states")
        for field, size in zip(("states", "arms"), shape, strict=True):
            if getattr(self, field) not in (None, size):
                raise refuse(OWNER, field, getattr(self, field), f"{size}, as the means say")
            self._set(field, size)

    def _load(self) -> Recorded:
        try:
            found = Recorded(numbers_of(Path(str(self.file)).read_text(encoding="utf-8-sig")))
        except (OSError, ValueError) as problem:
            reason = (getattr(problem, "strerror", None) or str(problem).removeprefix("Recorded: ")).lower()
            allowed = "a column of numbers for each of at least two arms, separated by commas, and a line per round"
            raise refuse(OWNER, "file", self.file, f"{allowed} ({reason})") from None
        if np.abs(found.rewards).max() > LARGEST_REWARD:
            raise refuse(OWNER, "file", self.file, f"numbers of size at most {LARGEST_REWARD:g}")
        if self.arms not in (None, found.arms):
            raise refuse(OWNER, "arms", self.arms, f"{found.arms}, as the file says")
        self._set("arms", found.arms)
        return found

    def _fill(self) -> None:
        """Take the usual values where nothing was said."""
        if self.transition is not None:
            rows = _shape(self.transition)
            if len(rows) != 2 or rows[0] < 2:
                raise refuse(
                    OWNER, "transition", self.transition, "a square matrix of probabilities for at least two states"
                )
            if self.states not in (None, rows[0]):
                raise refuse(OWNER, "states", self.states, f"{rows[0]}, as the transition matrix says")
            self._set("states", rows[0])
        moved = self.stickiness is not None or self.transition is not None
        for field, quantity in QUANTITIES.items():
            silent = (field == "dwell" and moved) or (field == "noise" and self.rewards == "bernoulli")
            if self.kind in quantity.kinds and getattr(self, field) is None and not silent:
                self._set(field, quantity.usual)
        self._set("rewards", self.rewards or ("gaussian" if self.kind != RECORDED else None))
        self._set("arms", 2 if self.arms is None else self.arms)
        if whole(OWNER, "arms", self.arms, least=2) > MOST_ARMS:
            raise refuse(OWNER, "arms", self.arms, f"at most {MOST_ARMS}")
        known = self._record.rounds if self.kind == RECORDED else SIZES["horizon"]
        self._set("horizon", known if self.horizon is None else self.horizon)

    @property
    def ranges(self) -> tuple[str, ...]:
        """The quantities that this kind of problem has a value or a range of."""
        return tuple(f for f, about in QUANTITIES.items() if self.kind in about.kinds and getattr(self, f) is not None)

    @property
    def vague(self) -> tuple[str, ...]:
        """The quantities that are ranges."""
        return tuple(field for field in self.ranges if isinstance(getattr(self, field), Range))

    def range(self, field: str) -> Range:
        """Return a quantity as a range, which may be a single value."""
        value = getattr(self, field)
        return value if isinstance(value, Range) else Range(value, value)

    def replace(self, **changes: Any) -> Self:
        """Return the same problem with some words changed; the words for how long a regime lasts replace each other."""
        given = dict(self.given)
        for word, sizes in (("means", ("states", "arms")), ("transition", ("states",))):
            if word in changes:
                for size in sizes:
                    given.pop(size, None)
        if {"dwell", "stickiness", "transition"} & set(changes):
            for word in ("dwell", "stickiness", "transition"):
                given.pop(word, None)
        return type(self)(**(given | changes))

    def widened(self) -> Self:
        """Return the same problem with wide ranges for whatever was left out, as advice needs it.

        Examples
        --------
        >>> import latentbandits as lb
        >>> lb.Problem(arms=4, noise=0.3).widened().vague
        ('states', 'dwell')
        """
        given = self.given
        shaped = self.transition is not None or not isinstance(self.means, Range)
        unsaid = {}
        for field, about in QUANTITIES.items():
            timed = field == "dwell" and ("stickiness" in given or self.transition is not None)
            fixed = field in given or timed or (field == "states" and shaped)
            if about.wide is None or fixed or self.kind not in about.kinds:
                continue
            if field == "noise":
                if self.rewards == "bernoulli":
                    continue
                scale = self.scale
                unsaid[field] = Range(about.wide.low * scale, about.wide.high * scale)
            else:
                unsaid[field] = about.wide
        return type(self)(**(given | unsaid))

    @property
    def scale(self) -> float:
        """How far the means lie apart, which is what noise has to be seen against."""
        if isinstance(self.means, Range):
            return self.means.high - self.means.low
        return float(np.ptp(np.asarray(self.means, dtype=float))) or 1.0

    def sample(self, seed: int, draw: int) -> World:
        """Return one world that fits the description."""
        return self._concrete(self.sampled(seed, draw)) if self.vague else self._only

    def sampled(self, seed: int, draw: int) -> dict[str, float]:
        """Return the quantities of one world that fits the description."""
        generator = np.random.default_rng(stream(seed, Purpose.PROBLEM, draw))
        levels = dict(zip(QUANTITIES, generator.random(len(QUANTITIES)).tolist(), strict=True))
        return {field: self._drawn(field, levels[field]) for field in self.ranges}

    def _drawn(self, field: str, level: float) -> float:
        """Return the quantity at a level from 0 to 1 of its range."""
        low, high = self.range(field)
        if low == high:
            return low
        about = QUANTITIES[field]
        if field == "stickiness":  # the time that a regime lasts, on a logarithmic scale
            least = 1e-9  # a regime that never ends
            return float(1.0 - max(1.0 - low, least) ** (1 - level) * max(1.0 - high, least) ** level)
        if about.integer:  # every number has its share
            return int(min(high, math.floor(low * ((high + 1) / low) ** level)))
        if about.even or low <= 0:
            return float(low + (high - low) * level)
        return float(low ** (1 - level) * high**level)

    @functools.cached_property
    def _only(self) -> World:
        return self._concrete({field: self.range(field).low for field in self.ranges})

    def _concrete(self, at: Mapping[str, float]) -> World:
        """Return the world with these quantities, or refuse in this problem's own words."""
        return self._in_own_words(lambda: self._make(at))

    def _make(self, at: Mapping[str, float]) -> World:
        if self.kind == RECORDED:
            return self._record
        drawn = isinstance(self.means, Range)
        shared: dict[str, Any] = {"arms": self.arms, "rewards": self.rewards, "noise": at.get("noise", 0.01)}
        shared["span"] = tuple(self.means) if drawn else (0.0, 1.0)
        if self.kind == DRIFT:
            return Drift(timescale=at["timescale"], **shared)
        shared["means"] = None if drawn else self.means
        if self.kind == SEASONS:
            return Seasons(seasons=int(at["states"]), dwell=max(1, round(at["dwell"])), **shared)
        if self.transition is None:
            shared["stickiness"] = at["stickiness"] if "stickiness" in at else 1.0 - 1.0 / at["dwell"]
        shared |= {"carryover": at["carryover"], "separation": at.get("separation"), "transition": self.transition}
        return HiddenMarkov(states=int(at["states"]), **shared)

    def _in_own_words(self, make: Callable[[], Made]) -> Made:
        """Return what is made, or refuse as this problem would."""
        try:
            return make()
        except Refusal as refusal:
            words = {"span": "means", "seasons": "states"}
            raise refusal.at(owner=OWNER, field=words.get(refusal.field, refusal.field)) from None

    def realise(self, horizon: int, units: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return one realisation; see `latentbandits.protocols.World`."""
        return self.sample(seed, draw).realise(horizon, units, seed, draw, repeat)

    def __repr__(self) -> str:
        given = self.given
        silent = {"kind": CHAIN, **SIZES}
        told = {field: value for field, value in given.items() if silent.get(field) != value and field != "policies"}
        return f"Problem({', '.join(f'{field}={_shown(value)}' for field, value in told.items())})"


@dataclass(frozen=True)
class WorldProblem:
    """Any world with the sizes of a simulation: a problem about which nothing else is known.

    Attributes
    ----------
    world : the world
    horizon : rounds; 10,000 if not given, or all that were recorded
    runs : sampled worlds, each played once
    units : most units that a policy may have; None for any number
    seed : names all randomness
    policies : as in a `Problem`
    """

    world: World
    horizon: int = None  # type: ignore[assignment]
    runs: int = 200
    units: int | None = None
    seed: int = 0
    policies: list[str] | None = None

    kind: ClassVar[str] = "world"
    vague: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.horizon is None:
            object.__setattr__(self, "horizon", getattr(self.world, "rounds", SIZES["horizon"]))
        for name in ("horizon", "runs", *(() if self.units is None else ("units",))):
            whole(OWNER, name, getattr(self, name), least=1)
        whole(OWNER, "seed", self.seed, least=0)

    @property
    def arms(self) -> int:
        """Number of arms."""
        return self.world.arms

    def replace(self, **words: Any) -> Self:
        """Return the same problem with some sizes changed."""
        for word in words:
            if word not in (*SIZES, "policies"):
                raise refuse(OWNER, "word", word, "one of " + ", ".join((*SIZES, "policies")) + " for a given world")
        return dataclasses.replace(self, **words)

    def sample(self, seed: int, draw: int) -> World:  # noqa: ARG002
        """Return the world."""
        return self.world

    def realise(self, horizon: int, units: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return one realisation; see `latentbandits.protocols.World`."""
        return self.world.realise(horizon, units, seed, draw, repeat)


def as_problem(problem: Any = None, **words: Any) -> Any:
    """Return a problem, checked once, with some words changed.

    Parameters
    ----------
    problem : Problem, path, mapping or World, optional
        A `Problem`; the path of a TOML file; words as a mapping; or any world, such as `HiddenMarkov`, which becomes a `WorldProblem`. The
        default problem if not given.
    **words
        Words that differ; those that are None are left as they are.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.problem import as_problem
    >>> as_problem(lb.Problem(states=3), noise=0.2, runs=None)
    Problem(states=3, noise=0.2)
    >>> as_problem(lb.Drift(), runs=50).runs
    50
    """
    words = {word: value for word, value in words.items() if value is not None}
    if isinstance(problem, str | Path):
        from latentbandits.advice import file

        return file.read(problem, **words)
    if problem is None or isinstance(problem, Mapping):
        given = {**(problem or {}), **words}
        for word in given:
            if word not in Problem.__dataclass_fields__:
                known = tuple(Problem.__dataclass_fields__)
                raise refuse(OWNER, "word", word, f"one of {', '.join(known)}{nearest(str(word), known)}")
        return Problem(**given)
    if isinstance(problem, Problem | WorldProblem):
        return problem.replace(**words) if words else problem
    if not isinstance(problem, World) or isinstance(problem, type):
        raise refuse(OWNER, "problem", problem, "a Problem, the path of a TOML file, a mapping of words, or a world")
    return WorldProblem(problem).replace(**words)


def numbers_of(text: str) -> list[list[float]]:
    r"""Return the numbers of a text, line by line; a first line of names is left out.

    Examples
    --------
    >>> from latentbandits.advice.problem import numbers_of
    >>> numbers_of("left,right\n1,2\n3,4\n")
    [[1.0, 2.0], [3.0, 4.0]]
    """
    found: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        cells = [_number(cell) for cell in line.split(",")]
        if not line.strip() or (number == 1 and not any(cell is not None for cell in cells)):
            continue
        if None in cells or (found and len(cells) != len(found[0])):
            raise ValueError(f"line {number} is {line[:40]!r}")
        found.append([float(cell) for cell in cells if cell is not None])
    return found


def parsed(value: Any) -> tuple[float, float] | None:
    """Return the ends of a range or of a single number; None if it is neither.

    Examples
    --------
    >>> from latentbandits.advice.problem import parsed
    >>> [parsed(value) for value in ("3 to 20", (3, 20), [3, 20], 7, "seven", [1, 2, 3])]
    [(3, 20), (3, 20), (3, 20), (7, 7), None, None]
    """
    if isinstance(value, str):
        parts: Sequence[Any] = [_number(part) for part in value.split(" to ")]
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


def _number(text: str) -> float | None:
    for kind in (int, float):
        try:
            return kind(text.strip())
        except ValueError:
            continue
    return None


def _shape(matrix: Any) -> tuple[int, ...]:
    """Return the shape of a matrix; of none if it is ragged or holds no numbers."""
    try:
        return np.shape(np.asarray(matrix, dtype=float))
    except (TypeError, ValueError):
        return ()


def _shown(value: Any) -> str:
    if isinstance(value, Range):
        return repr(str(value))
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)

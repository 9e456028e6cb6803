"""A problem as a user describes it: exact where it is known, a range where it is not. It is a world that can be simulated."""

import functools
import math
from collections.abc import Callable, Mapping
from inspect import Parameter as Argument
from inspect import Signature, cleandoc
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, overload, runtime_checkable

import numpy as np

from latentbandits.advice import check, file
from latentbandits.advice.base import SIZES, BaseProblem, WorldProblem
from latentbandits.advice.parameter import INTEGER, LINEAR, OWNER, SPECS, Range, Words, WordValues
from latentbandits.advice.vocabulary import PARAMETERS, QUANTITIES, docstring, refuse_unknown, words_of
from latentbandits.protocols import World
from latentbandits.random import Purpose, stream
from latentbandits.settings import InvalidValueError, Within
from latentbandits.worlds.registry import DRIFT, HIDDEN_MARKOV, RECORDED, REGISTRY

Made = TypeVar("Made")
# Rewards of one run, in numbers: 400 MB
MOST_CELLS = 50_000_000
# How far `advise` moves a quantity beyond its range, or beyond an exact value, and to how many values
STRETCH, STRETCH_EXACT = 8.0, 32.0
POINTS, POINTS_EXACT = 7, 9
LONGEST = 1e5  # a regime of more rounds is one that never ends
# No quantity is moved beyond this, unless the problem is there itself
MOST = {"states": 100.0, "dwell": LONGEST, "timescale": LONGEST}
LEAST = {"states": 2.0}  # that nothing changes is tried anyway
DRIFTING, CONSTANT = "the means drift smoothly instead of jumping", "nothing changes at all"


@runtime_checkable
class Arrays(Protocol):
    """What becomes rows of numbers, such as an array or a data frame."""

    def __array__(self) -> np.ndarray:
        """Return it as an array."""


@runtime_checkable
class Described(Protocol):
    """What has a problem of its own, such as a `Diagnosis`."""

    def problem(self, **sizes: Any) -> BaseProblem:
        """Return the problem."""


class Problem(BaseProblem):
    """A problem in the user's words; what is left out is as in the paper's default world.

    Quantities that are not known exactly are ranges: ``"3 to 20"`` or ``(3, 20)``. Every run then samples its own value, evenly on a
    logarithmic scale (carryover on a linear one). A problem is a world: `latentbandits.simulate` takes it, too. It does not change;
    `replace` returns another one.

    Parameters
    ----------
    [words]

    Examples
    --------
    >>> import latentbandits as lb
    >>> problem = lb.Problem(arms=4, states="3 to 20", dwell=(50, 500), noise=0.3, groups=2)
    >>> problem.vague
    ('states', 'dwell')
    >>> world = problem.sample(seed=0, draw=0)
    >>> world.states, round(world.stickiness, 4)
    (4, 0.989)
    >>> lb.Problem(states="20 to 3")
    Traceback (most recent call last):
    latentbandits.settings.InvalidValueError: problem: states is '20 to 3' but must be a range with the lower end first, such as "3 to 20"
    """

    __signature__ = Signature([Argument(word, Argument.KEYWORD_ONLY, default=None) for word in PARAMETERS])
    if TYPE_CHECKING:

        def __getattr__(self, word: str) -> Any: ...  # every word is an attribute

    def __init__(self, **words: Any) -> None:
        for word in words:
            if word not in PARAMETERS:
                raise refuse_unknown(OWNER, word)
        given = {word: _plain(words[word]) for word in PARAMETERS if words.get(word) is not None}
        values = check.check_words(given)
        rows = file.read_numbers(values["file"]) if "file" in values else None
        check.add_sizes(given, values, rows)
        check.add_defaults(values)
        vars(self).update({word: values.get(word) for word in PARAMETERS}, _given=given, _rows=rows)
        check.check_specs(values.get("policies", ()), values["arms"])
        for end in (0, 1):  # what no world can be is refused now, not during a run
            world = self._world({word: self.range(word)[end] for word in self.quantities})
            if self.separation is not None:
                _in_own_words(world.matrix, self.seed, 0)  # type: ignore[attr-defined]
        rewards = values["groups"] * self.arms
        most = MOST_CELLS // rewards
        if self.horizon > most:
            raise PARAMETERS["horizon"].refusal(self.horizon, f"at most {most} rounds with {rewards} rewards each")

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(vars(self)["arms"])

    @property
    def groups(self) -> int:
        """Most groups that a policy may have."""
        return int(vars(self)["groups"])

    @property
    def given(self) -> Words:
        """The words that were given, as they were given."""
        return MappingProxyType(self._given)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"problem: {name} cannot be set; use replace({name}=...)")

    def _content(self) -> WordValues:
        # which policies are to be compared is no part of the problem
        return {word: vars(self)[word] for word in PARAMETERS if word != "policies"}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(repr(self._content()))

    def __repr__(self) -> str:
        hidden = {word: PARAMETERS[word].default for word in ("kind", *SIZES)} | {"policies": self.policies}
        shown = {word: value for word, value in self.given.items() if hidden.get(word) != value}
        return f"Problem({', '.join(f'{word}={_show(value)}' for word, value in shown.items())})"

    @property
    def quantities(self) -> tuple[str, ...]:
        """The words that have a number or a range."""
        return tuple(word for word in QUANTITIES if vars(self)[word] is not None)

    @property
    def vague(self) -> tuple[str, ...]:
        """The words that have a range."""
        return tuple(word for word in QUANTITIES if isinstance(vars(self)[word], Range))

    def range(self, word: str) -> Range:
        """Return a quantity as a range, which may be a single value."""
        value = vars(self)[word]
        return value if isinstance(value, Range) else Range(value, value)

    @property
    def scale(self) -> float:
        """The spread of the means, to which noise is compared."""
        if isinstance(self.means, Range):
            return self.means.high - self.means.low
        return 1.0 if self.means is None else float(np.ptp(np.asarray(self.means, dtype=float))) or 1.0

    def replace(self, **words: object) -> Self:
        """Return the same problem with some words changed; words of one group, such as dwell and stickiness, replace each other.

        Examples
        --------
        >>> import latentbandits as lb
        >>> lb.Problem(states=3, stickiness=0.9).replace(dwell=20, runs=50)
        Problem(states=3, dwell=20, runs=50)
        """
        return type(self)(**check.replace_words(self.given, words))

    def widen(self) -> Self:
        """Return the same problem with wide ranges for what was left out, as `advise` takes it.

        Examples
        --------
        >>> import latentbandits as lb
        >>> lb.Problem(arms=4, noise=0.3).widen().vague
        ('states', 'dwell')
        """
        stated = {*self.given, *check.sizes_of_matrices(self.given, self._content())}
        unsaid = {}
        for name in self.quantities:
            word = QUANTITIES[name]
            if word.wide is not None and name not in stated:
                scale = self.scale if word.scaled else 1
                unsaid[name] = Range(word.wide.low * scale, word.wide.high * scale)
        return type(self)(**{**self.given, **unsaid})

    def sample(self, seed: int, draw: int) -> World:
        """Return one world that fits the description."""
        return self._world(self.sample_quantities(seed, draw)) if self.vague else self._only

    def sample_quantities(self, seed: int, draw: int) -> dict[str, float]:
        """Return the quantities of one world that fits the description."""
        generator = np.random.default_rng(stream(seed, Purpose.PROBLEM, draw))
        levels = dict(zip(QUANTITIES, generator.random(len(QUANTITIES)).tolist(), strict=True))
        return {word: QUANTITIES[word].sample(self.range(word), levels[word]) for word in self.quantities}

    @functools.cached_property
    def _only(self) -> World:
        return self._world({word: self.range(word).low for word in self.quantities})

    def _world(self, quantities: Mapping[str, float]) -> World:
        """Return the world with these quantities, or refuse."""
        kind = REGISTRY[self.kind]
        arguments = kind.arguments
        words = {word: vars(self)[word] for word in words_of(self.kind)} | {**quantities, "file": self._rows}
        if isinstance(self.means, Range):
            words |= {"means": None, "span": tuple(self.means)}
        for word, value in quantities.items():
            if kind.takes_integer(word) and (word in self.vague or value == int(value)):
                words[word] = round(value)
        taken = {word: value for word, value in words.items() if word in arguments and value is not None}
        world: World = _in_own_words(kind.make, **taken)
        return world

    @property
    def known_noise(self) -> float | None:
        """The noise of rewards, if the problem gives it as a number and that says all about it."""
        return None if "noise" in self.vague else getattr(self._only, "known_noise", None)

    def known_range(self) -> Range | None:
        """Return the range of means, if it is given and rewards have no noise of their own, such as clicks; else None."""
        if "means" not in self.given or self.noise is not None:
            return None
        return Range(float(np.min(self.means)), float(np.max(self.means)))

    def movable(self) -> list[str]:
        """Return the quantities whose change could change the advice."""
        if self.kind == RECORDED:
            return []
        matrices = [PARAMETERS[name] for name in ("means", "transition") if isinstance(vars(self)[name], list)]
        fixed = {size for word in matrices for size in word.sizes} | {word.group for word in matrices}
        quantities = []
        for name in ("dwell", *(name for name in QUANTITIES if name != "dwell")):
            has = name in self.quantities or (name == "dwell" and self.stickiness is not None)
            free = name not in fixed and (QUANTITIES[name].scale != LINEAR or name in self.vague)
            quantities += [name] if has and free and QUANTITIES[name].swept else []
        return [*quantities, *super().movable()]

    def bounds(self, quantity: str) -> Range:
        """Return the range that the problem gives for a quantity; stickiness is converted to a dwell time."""
        if quantity == "horizon":
            return super().bounds(quantity)
        if quantity == "dwell" and self.stickiness is not None:
            low, high = self.range("stickiness")
            return Range(1 / max(1 - low, 1 / LONGEST), 1 / max(1 - high, 1 / LONGEST))
        return self.range(quantity)

    def grid(self, quantity: str) -> list[float]:
        """Return the values that a quantity is moved to, its range stretched on both sides.

        Examples
        --------
        >>> import latentbandits as lb
        >>> [round(value) for value in lb.Problem(dwell="20 to 200").grid("dwell")]
        [2, 7, 22, 63, 186, 545, 1600]
        """
        if quantity == "horizon":
            return super().grid(quantity)
        low, high = self.bounds(quantity)
        points = POINTS_EXACT if low == high else POINTS
        word = QUANTITIES[quantity]
        if word.scale == LINEAR:
            ends = (
                (word.rule.low, word.rule.high) if isinstance(word.rule, Within) else (2 * low - high, 2 * high - low)
            )
            return [float(value) for value in np.linspace(*ends, points)]
        if quantity == "noise":
            low, high = max(low, 1e-3 * self.scale), max(high, 1e-3 * self.scale)
        stretch = STRETCH_EXACT if low == high else STRETCH
        rule_low = word.rule.low if word.rule is not None else 0.0
        least = LEAST.get(quantity, max(float(rule_low), 1e-9))
        values = np.geomspace(
            min(low, max(least, low / stretch)),
            max(high, min(MOST.get(quantity, math.inf), high * stretch)),
            points,
        )
        return [float(value) for value in (np.unique(values.round()) if word.type == INTEGER else values)]

    def counts(self, quantity: str) -> bool:
        """Whether a quantity is a whole number."""
        return super().counts(quantity) or QUANTITIES[quantity].type == INTEGER

    def move(self, quantity: str, value: float) -> Self:
        """Return the problem with one quantity at a value."""
        whole = self.counts(quantity) or REGISTRY[self.kind].takes_integer(quantity)
        return self.replace(**{quantity: round(value) if whole else value})

    def alternatives(self) -> dict[str, BaseProblem]:
        """Return what the world could be instead of a hidden Markov chain."""
        if self.kind != HIDDEN_MARKOV:
            return {}
        shared: WordValues = {
            word: self.given[word] for word in words_of(DRIFT) if word in self.given and word not in ("kind", "means")
        }
        ends = self.means if isinstance(self.means, Range) else Range(np.min(self.means), np.max(self.means))
        if not ends.exact:
            shared["means"] = ends
        if self.transition is None:
            timescale = self.bounds("dwell")
        else:
            stay = float(np.mean(np.diag(np.asarray(self.transition, dtype=float))))
            timescale = Range(1 / max(1 / LONGEST, 1 - stay), 1 / max(1 / LONGEST, 1 - stay))
        drift = Problem(kind=DRIFT, **shared | {"arms": self.arms, "timescale": tuple(timescale)})
        return {DRIFTING: drift, CONSTANT: self.replace(stickiness=1.0)}

    def source(self) -> str:
        """Return the Python that makes the problem."""
        return f"lb.{self}"

    def values(self) -> WordValues:
        """Return the problem as plain values, everything that was given or is assumed.

        Examples
        --------
        >>> import latentbandits as lb
        >>> values = lb.Problem(states="3 to 20").values()
        >>> [values[word] for word in ("states", "dwell", "noise")]
        ['3 to 20', 100, 0.01]
        """
        content = {name: vars(self)[name] for name, word in PARAMETERS.items() if word.type != SPECS}
        return {
            name: str(value) if isinstance(value, Range) else np.asarray(value).tolist()
            for name, value in content.items()
            if value is not None
        }


Problem.__doc__ = cleandoc(Problem.__doc__ or "").replace("[words]", docstring())


def _in_own_words(make: Callable[..., Made], *args: Any, **kwargs: Any) -> Made:
    """Return what is made, or refuse in a problem's words."""
    try:
        return make(*args, **kwargs)
    except InvalidValueError as refusal:
        raise refusal.at(owner=OWNER, field="means" if refusal.field == "span" else refusal.field) from None


@overload
def as_problem(problem: "Problem | Words | str | Path | None" = None, **words: object) -> Problem: ...


@overload
def as_problem(problem: object, **words: object) -> BaseProblem: ...


def as_problem(problem: object = None, **words: object) -> BaseProblem:
    """Return a problem, checked once, with some words changed.

    Parameters
    ----------
    problem : Problem, path, World or mapping, optional
        A `Problem`; the path of a TOML file; any world, such as `HiddenMarkov`, which becomes a `WorldProblem`; or a mapping of words. The
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
    if problem is None or isinstance(problem, Mapping):
        return Problem(**{**(problem or {}), **words})
    if isinstance(problem, str | Path):
        return _from_file(problem, words)
    if isinstance(problem, BaseProblem):
        return problem.replace(**words) if words else problem
    if isinstance(problem, Described):
        return problem.problem(**words)
    if not isinstance(problem, World) or isinstance(problem, type):
        raise InvalidValueError(
            OWNER, "description", problem, "a Problem, the path of a TOML file, a mapping of words or a world"
        )
    return WorldProblem(problem).replace(**words)


def _from_file(path: str | Path, changes: Words) -> Problem:
    """Return the problem that a file describes, or refuse it by its name."""
    words = file.read(path)
    try:
        return Problem(**check.replace_words(words, changes))
    except InvalidValueError as refusal:
        if refusal.field in changes or refusal.field not in words:
            raise
        raise refusal.at(owner=str(path)) from None


def _plain(value: object) -> object:
    """Return arrays and data frames as rows."""
    return np.asarray(value).tolist() if isinstance(value, Arrays) else value


def _show(value: object) -> str:
    return repr(str(value)) if isinstance(value, Range) else repr(value)

"""A problem as a user describes it: exact where it is known, a range where it is not. It is a world that can be simulated."""

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature, cleandoc
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from latentbandits.advice import file
from latentbandits.advice.ranges import Range
from latentbandits.advice.vocabulary import QUANTITIES, WORDS, documented, expanded, refuse_unknown, words_of
from latentbandits.advice.word import MATRIX, OWNER
from latentbandits.protocols import Realisation, World
from latentbandits.random import Purpose, stream
from latentbandits.rewards import DISTRIBUTIONS, Distribution
from latentbandits.settings import Refusal
from latentbandits.specs import policy
from latentbandits.worlds.registry import REGISTRY

# Rewards of one run, in numbers: 400 MB
MOST_CELLS = 50_000_000
# How much is simulated
SIZES = ("units", "horizon", "runs", "seed")


class Problem:
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
    >>> problem = lb.Problem(arms=4, states="3 to 20", dwell=(50, 500), noise=0.3, units=2)
    >>> problem.vague
    ('states', 'dwell')
    >>> world = problem.sample(seed=0, draw=0)
    >>> world.states, round(world.stickiness, 4)
    (4, 0.989)
    >>> lb.Problem(states="20 to 3")
    Traceback (most recent call last):
    latentbandits.settings.Refusal: problem: states is '20 to 3' but must be a range with the lower end first, such as "3 to 20"
    """

    __signature__ = Signature([Parameter(word, Parameter.KEYWORD_ONLY, default=None) for word in WORDS])
    kind: str
    arms: int
    units: int
    horizon: int
    runs: int
    seed: int

    if TYPE_CHECKING:

        def __getattr__(self, word: str) -> Any: ...  # every word is an attribute

    def __init__(self, **words: Any) -> None:
        for word in words:
            if word not in WORDS:
                raise refuse_unknown(OWNER, word)
        words = expanded(words)
        given = {word: _plain(words[word]) for word in WORDS if words.get(word) is not None}
        values = _accepted(given)
        rows = file.numbers_of(values["file"]) if "file" in values else None
        _add_sizes(given, values, rows)
        _add_defaults(values)
        vars(self).update({word: values.get(word) for word in WORDS}, _given=given, _rows=rows)
        _check_specs(values.get("policies", ()), values["arms"])
        for end in (0, 1):  # what no world can be is refused now, not during a run
            world = self._world({word: self.range(word)[end] for word in self.quantities})
            if self.separation is not None:
                self._translated(world.matrix, self.seed, 0)  # type: ignore[attr-defined]
        most = MOST_CELLS // (self.units * self.arms)
        if self.horizon > most:
            raise WORDS["horizon"].refusal(
                self.horizon, f"at most {most} rounds with {self.units * self.arms} rewards each"
            )

    @property
    def given(self) -> Mapping[str, Any]:
        """The words that were given, as they were given."""
        return MappingProxyType(self._given)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"problem: {name} cannot be set; use replace({name}=...)")

    def _content(self) -> dict[str, Any]:
        # which policies are to be compared is no part of the problem
        return {word: getattr(self, word) for word in WORDS if word != "policies"}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(repr(self._content()))

    def __repr__(self) -> str:
        hidden = {word: WORDS[word].default for word in ("kind", *SIZES)} | {"policies": self.policies}
        shown = {word: value for word, value in self.given.items() if hidden.get(word) != value}
        return f"Problem({', '.join(f'{word}={_shown(value)}' for word, value in shown.items())})"

    @property
    def quantities(self) -> tuple[str, ...]:
        """The words that have a number or a range."""
        return tuple(word for word in QUANTITIES if getattr(self, word) is not None)

    @property
    def vague(self) -> tuple[str, ...]:
        """The words that have a range."""
        return tuple(word for word in QUANTITIES if isinstance(getattr(self, word), Range))

    def range(self, word: str) -> Range:
        """Return a quantity as a range, which may be a single value."""
        value = getattr(self, word)
        return value if isinstance(value, Range) else Range(value, value)

    @property
    def scale(self) -> float:
        """The spread of the means, to which noise is compared."""
        if isinstance(self.means, Range):
            return self.means.high - self.means.low
        return 1.0 if self.means is None else float(np.ptp(np.asarray(self.means, dtype=float))) or 1.0

    def replace(self, **words: Any) -> Self:
        """Return the same problem with some words changed; words of one group, such as dwell and stickiness, replace each other.

        Examples
        --------
        >>> import latentbandits as lb
        >>> lb.Problem(states=3, stickiness=0.9).replace(dwell=20, runs=50)
        Problem(states=3, dwell=20, runs=50)
        """
        return type(self)(**_replaced(self.given, words))

    def widened(self) -> Self:
        """Return the same problem with wide ranges for what was left out, as `advise` takes it.

        Examples
        --------
        >>> import latentbandits as lb
        >>> lb.Problem(arms=4, noise=0.3).widened().vague
        ('states', 'dwell')
        """
        known = {*self.given, *_following(self.given, self._content())}
        unsaid = {}
        for name in self.quantities:
            word = QUANTITIES[name]
            if word.wide is not None and name not in known:
                scale = self.scale if word.scaled else 1
                unsaid[name] = Range(word.wide.low * scale, word.wide.high * scale)
        return type(self)(**{**self.given, **unsaid})

    def sample(self, seed: int, draw: int) -> World:
        """Return one world that fits the description."""
        return self._world(self.sampled(seed, draw)) if self.vague else self._only

    def sampled(self, seed: int, draw: int) -> dict[str, float]:
        """Return the quantities of one world that fits the description."""
        generator = np.random.default_rng(stream(seed, Purpose.PROBLEM, draw))
        levels = dict(zip(QUANTITIES, generator.random(len(QUANTITIES)).tolist(), strict=True))
        return {word: QUANTITIES[word].sample(self.range(word), levels[word]) for word in self.quantities}

    def realise(self, horizon: int, units: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return one realisation; see `latentbandits.protocols.World`."""
        return self.sample(seed, draw).realise(horizon, units, seed, draw, repeat)

    @functools.cached_property
    def _only(self) -> World:
        return self._world({word: self.range(word).low for word in self.quantities})

    def _world(self, quantities: Mapping[str, float]) -> World:
        """Return the world with these quantities, or refuse."""
        kind = REGISTRY[self.kind]
        arguments = kind.arguments
        words = {word: getattr(self, word) for word in words_of(self.kind)} | {**quantities, "file": self._rows}
        if isinstance(self.means, Range):
            words |= {"means": None, "span": tuple(self.means)}
        for word, value in quantities.items():
            if kind.takes_integer(word) and (word in self.vague or value == int(value)):
                words[word] = round(value)
        taken = {word: value for word, value in words.items() if word in arguments and value is not None}
        world: World = self._translated(kind.make, **taken)
        return world

    def _translated(self, make: Any, *args: Any, **kwargs: Any) -> Any:
        """Return what is made, or refuse in this problem's words."""
        try:
            return make(*args, **kwargs)
        except Refusal as refusal:
            raise refusal.at(owner=OWNER, field="means" if refusal.field == "span" else refusal.field) from None


Problem.__doc__ = cleandoc(Problem.__doc__ or "").replace("[words]", documented())


def _accepted(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given words in their plain form, or refuse what the kind of world does not have and what excludes each other."""
    kind = WORDS["kind"].accept(given.get("kind", WORDS["kind"].default))
    values: dict[str, Any] = {"kind": kind}
    for name, value in given.items():
        word = WORDS[name]
        if kind not in word.kinds:
            raise word.refusal(
                value,
                f"left out for kind {kind} (only {' and '.join(word.kinds)} {'has' if len(word.kinds) == 1 else 'have'} it)",
            )
        for other in values:
            if word.group and WORDS[other].group == word.group:
                raise word.refusal(value, f"left out when {other} is given")
        values[name] = word.accept(value)
    if "noise" in values and not _rewards(values).noisy:
        raise WORDS["noise"].refusal(given["noise"], f"left out when rewards are {values['rewards']}")
    arguments = REGISTRY[kind].arguments
    if "means" in values and "means" not in arguments and not isinstance(values["means"], Range):
        raise WORDS["means"].refusal(given["means"], f"a range for kind {kind}")
    if "file" in arguments and "file" not in values:
        raise WORDS["file"].refusal(None, f"the path of a file for kind {kind}")
    return values


def _check_specs(specs: Iterable[str], arms: int) -> None:
    """Refuse specs that no policy has."""
    for spec in specs:
        try:
            if spec not in ("all", "paper"):  # groups, for advice
                policy(spec, arms=arms)
        except Refusal as refusal:
            raise Refusal(OWNER, "policies", spec, f"specs of policies ({refusal})") from None


def _rewards(values: Mapping[str, Any]) -> Distribution:
    return DISTRIBUTIONS[values.get("rewards", WORDS["rewards"].default)]


def _following(given: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, tuple[int, str]]:
    """Return the sizes that follow from matrices, each with the word that it follows from."""
    found: dict[str, tuple[int, str]] = {}
    for name, word in WORDS.items():
        if word.type == MATRIX and name in given and not isinstance(values[name], Range):
            for size, count in zip(word.sizes, np.shape(values[name]), strict=False):
                found.setdefault(size, (count, name))
    return found


def _add_sizes(given: Mapping[str, Any], values: dict[str, Any], rows: list[list[float]] | None) -> None:
    """Add the sizes that follow from matrices and from recorded rewards, or refuse others."""
    following = _following(given, values) | ({} if rows is None else {"arms": (len(rows[0]), "file")})
    for size, (count, source) in following.items():
        if values.setdefault(size, count) != count:
            raise WORDS[size].refusal(given[size], f"{count}, as in {source}")
    if rows is not None and values.setdefault("horizon", len(rows)) > len(rows):
        raise WORDS["horizon"].refusal(given["horizon"], f"at most the {len(rows)} rounds of the file")


def _add_defaults(values: dict[str, Any]) -> None:
    """Add the defaults of the words that the kind of world has and that nothing else replaces."""
    groups = {WORDS[name].group for name in values}
    for name in words_of(values["kind"]):
        word = WORDS[name]
        replaced = (word.group and word.group in groups) or (name == "noise" and not _rewards(values).noisy)
        if name not in values and word.default is not None and not replaced:
            values[name] = Range(*_rewards(values).span) if name == "means" else word.default


def _replaced(given: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words with some changed: a change drops the others of its group, and a matrix the sizes that follow from it."""
    changes = {name: value for name, value in expanded(changes).items() if value is not None}
    dropped = {size for name in changes if name in WORDS for size in WORDS[name].sizes}
    groups = {WORDS[name].group for name in changes if name in WORDS} - {""}
    dropped |= {name for name, word in WORDS.items() if word.group in groups}
    return {name: value for name, value in given.items() if name not in dropped} | dict(changes)


@dataclass(frozen=True)
class WorldProblem:
    """Any world with the sizes of a simulation: a problem about which nothing else is known.

    Attributes
    ----------
    world : the world
    units : most units that a policy may have; None for any number
    horizon : rounds; 10,000 if not given, or all that were recorded
    runs : sampled worlds, each played once
    seed : names all randomness
    policies : as in a `Problem`
    """

    world: World
    units: int | None = None
    horizon: int = None  # type: ignore[assignment]
    runs: int = WORDS["runs"].default
    seed: int = WORDS["seed"].default
    policies: list[str] | None = None

    kind: ClassVar[str] = "world"
    vague: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.horizon is None:
            object.__setattr__(self, "horizon", getattr(self.world, "rounds", WORDS["horizon"].default))
        for size in SIZES:
            if getattr(self, size) is not None:
                WORDS[size].accept(getattr(self, size))

    @property
    def arms(self) -> int:
        """Number of arms."""
        return self.world.arms

    def replace(self, **words: Any) -> Self:
        """Return the same problem with some sizes changed."""
        for word, value in words.items():
            if word not in WORDS:
                raise refuse_unknown(OWNER, word)
            if word not in (*SIZES, "policies"):
                raise WORDS[word].refusal(value, "left out for a world that is given")
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
    if isinstance(problem, Problem | WorldProblem):
        return problem.replace(**words) if words else problem
    if not isinstance(problem, World) or isinstance(problem, type):
        if hasattr(problem, "problem"):  # a diagnosis
            return problem.problem(**words)
        raise Refusal(
            OWNER, "description", problem, "a Problem, the path of a TOML file, a mapping of words or a world"
        )
    return WorldProblem(problem).replace(**words)


def _from_file(path: str | Path, changes: Mapping[str, Any]) -> Problem:
    """Return the problem that a file describes, or refuse it with the line of the mistake."""
    words, where = file.read(path)
    try:
        return Problem(**_replaced(words, changes))
    except Refusal as refusal:
        if refusal.field in changes or refusal.field not in words:
            raise
        raise refusal.at(owner=where(refusal.field)) from None


def _plain(value: Any) -> Any:
    """Return arrays and data frames as rows."""
    return np.asarray(value).tolist() if isinstance(value, np.ndarray) or hasattr(value, "to_numpy") else value


def _shown(value: Any) -> str:
    return repr(str(value)) if isinstance(value, Range) else repr(value)

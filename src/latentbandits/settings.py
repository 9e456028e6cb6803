"""Settings that refuse bad values: rules are declared beside the fields and checked when a policy or a world is made."""

import dataclasses
import difflib
import functools
import inspect
import math
import numbers
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import (
    Annotated,
    Any,
    NamedTuple,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

import numpy as np

Cls = TypeVar("Cls", bound=type)


LARGEST = 2**31 - 1  # more is taken for a mistake

# Rules and markers equal none of another kind, as named tuples would: Python 3.11.2 keeps one `Annotated` for all that are equal


@dataclass(frozen=True)
class AtLeast:
    """A number that is `low` or more."""

    low: float

    def refuses(self, value: float) -> bool:  # noqa: D102
        return not value >= self.low

    def __str__(self) -> str:
        return f"at least {self.low:g}"


@dataclass(frozen=True)
class Above:
    """A number above `low`."""

    low: float

    def refuses(self, value: float) -> bool:  # noqa: D102
        return not value > self.low

    def __str__(self) -> str:
        return f"above {self.low:g}"


@dataclass(frozen=True)
class Within:
    """A number from `low` to `high`, ends included."""

    low: float
    high: float

    def refuses(self, value: float) -> bool:  # noqa: D102
        return not self.low <= value <= self.high

    def __str__(self) -> str:
        return f"from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class OneOf:
    """One of several names; a field of type int holds the name's position, which compiled code can compare, one of type str the name."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return "one of " + ", ".join(self.names)


@dataclass(frozen=True)
class Vector:
    """An array of numbers with `axes` axes (a single number becomes an array of one axis).

    Attributes
    ----------
    axes : number of axes
    whole : whether the numbers are integers
    each : the rule for every number
    """

    axes: int
    whole: bool = False
    each: "AtLeast | Above | Within | None" = None

    def __str__(self) -> str:
        kind = "integers" if self.whole else "finite numbers"
        return f"a {self.axes}-axis array of {kind}" + ("" if self.each is None else f" {self.each}")


@dataclass(frozen=True)
class Interval:
    """A pair of numbers, the lower first."""

    def __str__(self) -> str:
        return "two finite numbers, the lower first"


# How `tune` treats a setting: markers stand beside its rule, ``Annotated[float, AtLeast(0), Untuned()]``


@dataclass(frozen=True)
class Untuned:
    """A setting that is searched only on request: the size of a policy's memory, or what it is given of the problem."""


@dataclass(frozen=True)
class Step:
    """An integer setting whose values are multiples of `size`."""

    size: int


@dataclass(frozen=True)
class When:
    """A setting that has an effect only while the setting `on` is true (or not empty) and, if named, the setting `off` is not."""

    on: str
    off: str = ""


@dataclass(frozen=True)
class InUnit:
    """A setting in the unit of rewards: a reward itself (`level`), or a distance of two."""

    level: bool = False


MARKERS = (Untuned, Step, When, InUnit)
Marker = Untuned | Step | When | InUnit


class InvalidValueError(ValueError):
    """A value that was refused: by whom, which field, the value, and the rule that it breaks. `str` makes the sentence.

    Parameters
    ----------
    owner : str
        What refuses: a class, a command, a file and its line.
    field : str
        The setting, word or option.
    value : object
        What was given.
    rule : object
        What it must be.
    part : str
        Which part of the field it is about, such as ``"[0]"`` or ``".shape"``.

    Examples
    --------
    >>> from latentbandits.settings import InvalidValueError
    >>> refusal = InvalidValueError("HiddenMarkov", "means", (2, 3), "(2, 2)", ".shape")
    >>> print(refusal)
    HiddenMarkov: means.shape is (2, 3) but must be (2, 2)
    >>> print(refusal.at(owner="world.toml, line 7"))
    world.toml, line 7: means.shape is (2, 3) but must be (2, 2)
    """

    def __init__(self, owner: str, field: str, value: object, rule: object, part: str = "") -> None:
        super().__init__(owner, field, value, rule, part)
        self.owner, self.field, self.value, self.rule, self.part = owner, field, value, rule, part

    def __str__(self) -> str:
        return f"{self.owner}: {self.field}{self.part} is {_quoted(self.value)} but must be {self.rule}"

    def at(self, **changes: object) -> "InvalidValueError":
        """Return the same refusal with another owner, field, value, rule or part, as another level of the program sees it."""
        return type(self)(**{**vars(self), **changes})


def _quoted(value: object) -> str:
    """Return a value in one short line."""
    number = isinstance(value, np.generic | np.ndarray) and value.dtype.kind != "M"  # NaT would become None
    plain = value.tolist() if number else value  # type: ignore[attr-defined]
    text = " ".join(repr(plain).split())
    text = text if isinstance(plain, str) else re.sub(r"\bnan\b", "NaN", text)
    most = 400 if isinstance(plain, str) else 80  # a path is of no use in part
    return text if len(text) < most else text[: most - 3] + "..."


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint at the nearest known word, or nothing.

    Examples
    --------
    >>> from latentbandits.settings import nearest
    >>> nearest("sw-ubc", ["ucb1", "sw-ucb"])
    ' (did you mean sw-ucb?)'
    """
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def check_float(owner: str, field: str, value: object, allowed: object = "a finite number") -> float:
    """Return a finite float or refuse."""
    try:
        if isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_) and math.isfinite(value):
            return float(value)
    except OverflowError:
        pass
    raise InvalidValueError(owner, field, value, allowed)


def check_range(owner: str, field: str, value: object, rule: "AtLeast | Above | Within") -> float:
    """Return a finite float that a rule allows, or refuse."""
    number = check_float(owner, field, value, f"a finite number {rule}")
    if rule.refuses(number):
        raise InvalidValueError(owner, field, value, f"a finite number {rule}")
    return number


def check_int(owner: str, field: str, value: object, allowed: object = "an integer", least: float = -math.inf) -> int:
    """Return an int that is `least` or more, or refuse; booleans and fractions are not integers."""
    if (
        isinstance(value, numbers.Integral)
        and not isinstance(value, bool | np.bool_)
        and least <= int(value) <= LARGEST
    ):
        return int(value)
    if isinstance(value, numbers.Integral) and int(value) > LARGEST:
        allowed = f"an integer of at most {LARGEST}"
    elif least != -math.inf:
        allowed = f"an integer at least {least:g}"
    raise InvalidValueError(owner, field, value, allowed)


def boolean(owner: str, field: str, value: object) -> bool:
    """Return a bool, of NumPy too, or refuse."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InvalidValueError(owner, field, value, "True or False")


def array(owner: str, field: str, value: object, rule: Vector) -> np.ndarray:
    """Return a private, contiguous array of the right kind or refuse."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biuf":
            raise TypeError
        made = np.array(given[None] if rule.axes == 1 and given.ndim == 0 else given, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise InvalidValueError(owner, field, value, rule) from None
    if made.ndim != rule.axes or not np.isfinite(made).all() or (rule.whole and (made != np.floor(made)).any()):
        raise InvalidValueError(owner, field, value, rule)
    if rule.each is not None and any(rule.each.refuses(number) for number in made.flat):
        raise InvalidValueError(owner, field, value, rule)
    typed: np.ndarray = made.astype(np.int64) if rule.whole else made
    return typed


Rule = AtLeast | Above | Within | OneOf | Vector | Interval


class Field(NamedTuple):
    """What a field may hold: its plain type, its rule (None for none), whether it may be None (if that is its default), and its markers."""

    kind: type
    rule: Rule | None
    optional: bool
    markers: tuple[Marker, ...]


def fields_of(cls: type, names: Iterable[str], defaults: Mapping[str, object]) -> dict[str, Field]:
    """Return what the annotated fields of a class may hold."""
    hints = get_type_hints(cls, include_extras=True)
    found = {}
    for name in names:
        plain, *beside = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (hints[name],)
        rule = next((each for each in beside if not isinstance(each, MARKERS)), None)
        markers = tuple(each for each in beside if isinstance(each, MARKERS))
        kinds = [kind for kind in get_args(plain) if kind is not NoneType]
        optional = name in defaults and defaults[name] is None
        found[name] = Field(kinds[0] if NoneType in get_args(plain) else plain, rule, optional, markers)
    return found


def accept(owner: str, name: str, value: object, field: Field) -> object:
    """Return a value in the exact type that compiled code needs, or refuse it."""
    kind, rule = field.kind, field.rule
    if value is None and field.optional:
        return None
    if isinstance(rule, OneOf):
        return _chosen(owner, name, value, rule, kind)
    if isinstance(rule, Interval):
        try:
            low_high = array(owner, name, value, Vector(1))
        except InvalidValueError as refusal:
            raise refusal.at(rule=rule) from None
        if low_high.shape != (2,) or not low_high[0] < low_high[1]:
            raise InvalidValueError(owner, name, value, rule)
        return float(low_high[0]), float(low_high[1])
    if isinstance(rule, Vector):
        made = array(owner, name, value, rule)
        made.flags.writeable = False  # compiled code relies on the check
        return made
    if kind is bool:
        return boolean(owner, name, value)
    if kind not in (int, float):
        return value
    plain = "an integer" if kind is int else "a finite number"
    allowed = plain if rule is None else f"{plain} {rule}"
    number = check_int(owner, name, value, allowed) if kind is int else check_float(owner, name, value, allowed)
    if rule is not None and rule.refuses(number):
        raise InvalidValueError(owner, name, value, allowed)
    return number


def _chosen(owner: str, name: str, value: object, rule: OneOf, kind: type) -> int | str:
    """Return one of several names, or its position if the field holds integers."""
    if isinstance(value, str) and value in rule.names:
        return value if kind is str else rule.names.index(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool) and kind is not str:
        position = int(value)
        if 0 <= position < len(rule.names):
            return position
    raise InvalidValueError(owner, name, value, f"{rule}{nearest(str(value), rule.names)}")


def checked(cls: Cls) -> Cls:
    """Make a frozen dataclass check and normalise its fields whenever one is made, as `latentbandits.parameters.Parameters` does.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> from latentbandits.settings import AtLeast, checked
    >>> @checked
    ... @dataclass(frozen=True)
    ... class Coin:
    ...     arms: Annotated[int, AtLeast(2)]
    >>> Coin(1)
    Traceback (most recent call last):
    latentbandits.settings.InvalidValueError: Coin: arms is 1 but must be an integer at least 2
    """
    described: Any = cls
    plain_init = described.__init__
    known = list(inspect.signature(plain_init).parameters)[1:]
    defaults = {field.name: field.default for field in dataclasses.fields(described)}
    fields = fields_of(cls, defaults, defaults)

    @functools.wraps(plain_init)
    def __init__(self: object, *args: object, **kwargs: object) -> None:  # noqa: N807
        refuse_unknown(cls, kwargs, known)
        plain_init(self, *args, **kwargs)
        for name, field in fields.items():
            object.__setattr__(self, name, accept(cls.__name__, name, vars(self)[name], field))
        if isinstance(self, _Checks):
            self.check()

    def compared(self: object) -> tuple[object, ...]:
        return content(type(self), (vars(self)[name] for name in fields))

    def __eq__(self: object, other: object) -> bool:  # noqa: N807
        return type(other) is type(self) and compared(self) == compared(other)

    def __hash__(self: object) -> int:  # noqa: N807
        return hash(compared(self))

    described.__init__, described.__eq__, described.__hash__ = __init__, __eq__, __hash__
    described.rules = {name: field.rule for name, field in fields.items()}
    return cls


@runtime_checkable
class _Checks(Protocol):
    def check(self) -> None: ...


def content(kind: type, values: Iterable[object]) -> tuple[object, ...]:
    """Return what decides whether two checked objects are equal: the class and all values, arrays as plain numbers."""
    return (kind, *((v.shape, *v.ravel().tolist()) if isinstance(v, np.ndarray) else v for v in values))


def refuse_unknown(cls: type, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse settings that a class does not have."""
    known = list(known)
    for name in given:
        if name not in known:
            raise InvalidValueError(cls.__name__, "setting", name, f"one of {', '.join(known)}{nearest(name, known)}")


def shown(rule: object, value: object) -> Any:
    """Return a field as plain data: names for positions, lists for arrays."""
    if isinstance(rule, OneOf) and isinstance(value, int):
        return rule.names[value]
    return value.tolist() if isinstance(value, np.ndarray) else value

"""Settings that refuse bad values at the door: ranges are declared beside the field and checked when a policy is made."""

import difflib
import math
import numbers
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

Cls = TypeVar("Cls", bound=type)


LARGEST = 2**31 - 1  # what a whole number may be; anything more is a mistake


class AtLeast(NamedTuple):
    """A number that is `low` or more."""

    low: float

    def refuses(self, value: float) -> bool:  # noqa: D102
        return not value >= self.low

    def __str__(self) -> str:
        return f"at least {self.low:g}"


class Above(NamedTuple):
    """A number above `low`."""

    low: float

    def refuses(self, value: float) -> bool:  # noqa: D102
        return not value > self.low

    def __str__(self) -> str:
        return f"above {self.low:g}"


class Within(NamedTuple):
    """A number from `low` to `high`, ends included."""

    low: float
    high: float

    def refuses(self, value: float) -> bool:  # noqa: D102
        return not self.low <= value <= self.high

    def __str__(self) -> str:
        return f"from {self.low:g} to {self.high:g}"


class OneOf(NamedTuple):
    """One of several names; the field holds the name's position, which compiled code can compare."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return "one of " + ", ".join(self.names)


class Vector(NamedTuple):
    """An array of numbers with `axes` axes (one number will do for one axis); `whole` says that they are integers."""

    axes: int
    whole: bool = False

    def __str__(self) -> str:
        return f"a {self.axes}-axis array of {'integers' if self.whole else 'finite numbers'}"


class Refusal(ValueError):
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
    >>> from latentbandits.settings import Refusal
    >>> refusal = Refusal("HiddenMarkov", "means", (2, 3), "(2, 2)", ".shape")
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

    def at(self, **changes: object) -> "Refusal":
        """Return the same refusal with another owner, field, value, rule or part, as another level of the program sees it."""
        return type(self)(**{**vars(self), **changes})  # type: ignore[arg-type]


def refuse(owner: str, field: str, value: object, rule: object, part: str = "") -> Refusal:
    """Return a refusal, to be raised."""
    return Refusal(owner, field, value, rule, part)


def _quoted(value: object) -> str:
    """Return a value in one short line."""
    plain = (
        value.item() if isinstance(value, np.generic) else value.tolist() if isinstance(value, np.ndarray) else value
    )
    text = " ".join(repr(plain).split())
    text = text if isinstance(plain, str) else re.sub(r"\bnan\b", "NaN", text)
    return text if len(text) < 80 else text[:77] + "..."


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


def finite(owner: str, field: str, value: object, allowed: object = "a finite number") -> float:
    """Return a finite float or refuse."""
    try:
        if isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_) and math.isfinite(value):
            return float(value)
    except OverflowError:
        pass
    raise refuse(owner, field, value, allowed)


def between(owner: str, field: str, value: object, rule: "AtLeast | Above | Within") -> float:
    """Return a finite float that a rule allows, or refuse."""
    number = finite(owner, field, value, f"a finite number {rule}")
    if rule.refuses(number):
        raise refuse(owner, field, value, f"a finite number {rule}")
    return number


def whole(owner: str, field: str, value: Any, allowed: object = "an integer", least: float = -math.inf) -> int:
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
    raise refuse(owner, field, value, allowed)


def array(owner: str, field: str, value: Any, rule: Vector) -> np.ndarray:
    """Return a private, contiguous array of the right kind or refuse."""
    try:
        if np.asarray(value).dtype.kind not in "biuf":
            raise TypeError
        made = np.array([value] if rule.axes == 1 and np.ndim(value) == 0 else value, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise refuse(owner, field, value, rule) from None
    if made.ndim != rule.axes or not np.isfinite(made).all() or (rule.whole and (made != np.floor(made)).any()):
        raise refuse(owner, field, value, rule)
    typed: np.ndarray = made.astype(np.int64) if rule.whole else made
    return typed


def _rule(hint: Any) -> tuple[type, Any]:
    """Return the plain type of a field and its rule (None if it has none)."""
    if get_origin(hint) is Annotated:
        plain, *beside = get_args(hint)
        return plain, next((one for one in beside if not isinstance(one, MARKERS)), None)
    return hint, None


def _markers(hint: Any) -> tuple[Any, ...]:
    """Return the markers of a field."""
    return tuple(one for one in get_args(hint)[1:] if isinstance(one, MARKERS)) if get_origin(hint) is Annotated else ()


def _accept(owner: str, field: str, value: Any, hint: Any) -> Any:
    """Return the value as compiled code needs it (exact type), or refuse it."""
    plain, rule = _rule(hint)
    if isinstance(rule, OneOf):
        if isinstance(value, str) and value in rule.names:
            return rule.names.index(value)
        if isinstance(value, numbers.Integral) and not isinstance(value, bool) and 0 <= int(value) < len(rule.names):
            return int(value)
        raise refuse(owner, field, value, rule)
    if isinstance(rule, Vector):
        made = array(owner, field, value, rule)
        made.flags.writeable = False  # compiled code trusts that it was checked
        return made
    if plain is bool:
        if isinstance(value, bool | np.bool_):
            return bool(value)
        raise refuse(owner, field, value, "True or False")
    kind = "an integer" if plain is int else "a finite number"
    allowed = kind if rule is None else f"{kind} {rule}"
    number = whole(owner, field, value, allowed) if plain is int else finite(owner, field, value, allowed)
    if rule is not None and rule.refuses(number):
        raise refuse(owner, field, value, allowed)
    return number


def checked(cls: Cls) -> Cls:
    """Make a NamedTuple class check and normalise its fields whenever one is made.

    Each field may carry a rule, ``Annotated[float, AtLeast(0)]``. Integers given for floats become floats, so that one policy
    has one compiled form. A method ``check(self)`` may add rules that span fields.

    Examples
    --------
    >>> from typing import Annotated, NamedTuple
    >>> from latentbandits.settings import AtLeast, checked
    >>> @checked
    ... class Greedy(NamedTuple):
    ...     arms: Annotated[int, AtLeast(2)]
    ...     prior: float = 0.0
    >>> Greedy(2, prior=1)
    Greedy(arms=2, prior=1.0)
    >>> Greedy(1)
    Traceback (most recent call last):
    ValueError: Greedy: arms is 1 but must be an integer at least 2
    """
    plain_new: Any = cls.__new__
    hints = get_type_hints(cls, include_extras=True)
    fields: tuple[str, ...] = cls._fields  # type: ignore[attr-defined]
    rules = {field: _rule(hints[field])[1] for field in fields}

    def __new__(kind: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        unknown = sorted(set(kwargs) - set(fields))
        if unknown:
            raise refuse(
                cls.__name__, "setting", unknown[0], "one of " + ", ".join(fields) + nearest(unknown[0], fields)
            )
        given = plain_new(kind, *args, **kwargs)
        made = tuple.__new__(kind, [_accept(cls.__name__, f, v, hints[f]) for f, v in zip(fields, given, strict=True)])
        if hasattr(made, "check"):
            made.check()
        return made

    def _make(kind: Any, values: Any) -> Any:
        return __new__(kind, *values)

    def _replace(self: Any, **changes: Any) -> Any:
        return __new__(type(self), **{**dict(zip(fields, self, strict=True)), **changes})

    def __repr__(self: Any) -> str:  # noqa: N807
        return f"{cls.__name__}({', '.join(f'{f}={shown(rules[f], v)!r}' for f, v in zip(fields, self, strict=True))})"

    for name, method in (("__new__", __new__), ("_replace", _replace), ("__repr__", __repr__)):
        setattr(cls, name, method)
    cls._make = classmethod(_make)  # type: ignore[attr-defined]
    cls.rules = rules  # type: ignore[attr-defined]
    cls.markers = {field: _markers(hints[field]) for field in fields}  # type: ignore[attr-defined]
    return cls


def shown(rule: object, value: Any) -> Any:
    """Return a field as a person (or JSON) reads it: names for positions, lists for arrays."""
    if isinstance(rule, OneOf):
        return rule.names[value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def describe(policy: Any) -> Mapping[str, Any]:
    """Return the settings of a policy as plain values, such that ``type(policy)(**describe(policy))`` is the same policy.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.describe(lb.policy("ucb1", arms=3))
    {'arms': 3, 'units': 1, 'exploration': 2.0}
    """
    rules: Mapping[str, Any] = getattr(policy, "rules", {})
    return {field: shown(rules.get(field), value) for field, value in zip(policy._fields, policy, strict=True)}


# Markers stand beside a rule, ``Annotated[float, AtLeast(0), Untuned()]``, and say how `tune` treats the setting


class Untuned(NamedTuple):
    """A setting that is searched only on request: the size of a policy's memory, or what it is given of the problem."""


class Step(NamedTuple):
    """An integer setting whose values are multiples of `size`."""

    size: int


class When(NamedTuple):
    """A setting that has an effect only while the setting `on` is true (or not empty) and, if named, the setting `off` is not."""

    on: str
    off: str = ""

    def holds(self, policy: Any) -> bool:
        """Whether the setting has an effect in this policy."""
        return _is_set(policy, self.on) and not (self.off and _is_set(policy, self.off))


MARKERS = (Untuned, Step, When)


def _is_set(policy: Any, setting: str) -> bool:
    value = getattr(policy, setting)
    return len(value) > 0 if isinstance(value, np.ndarray) else bool(value)


def has_effect(policy: Any, setting: str) -> bool:
    """Whether a setting has an effect beside a policy's others, which its `When` markers decide.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.settings import has_effect
    >>> [has_effect(lb.policy(name), "staleness") for name in ("adasp-ucb", "sp-ucb")]
    [True, False]
    """
    markers = getattr(policy, "markers", {}).get(setting, ())
    return all(marker.holds(policy) for marker in markers if isinstance(marker, When))

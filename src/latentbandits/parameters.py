"""Settings of a policy: a tuple of checked, named values, and the settings of the policies within it, all by name."""

import inspect
from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, TypeVar, dataclass_transform, get_origin

import numpy as np

from latentbandits.settings import (
    Field,
    Marker,
    Rule,
    When,
    accept,
    content,
    fields_of,
    refuse_unknown,
    shown,
)

if TYPE_CHECKING:
    from latentbandits.protocols import Contestant

Settings: TypeAlias = Mapping[str, Any]  # values by the names of settings
AnyContestant = TypeVar("AnyContestant", bound="Contestant")


@dataclass_transform(frozen_default=True, eq_default=False)
class Parameters(tuple[object, ...]):
    """A tuple of settings: a subclass names them as a dataclass does, and checks them whenever one is made.

    Each setting may carry a rule, ``Annotated[float, AtLeast(0)]``. Integers given for floats become floats, so that one policy has one
    compiled form. A method ``check(self)`` may add rules that span settings. Objects with equal settings are equal, arrays included. A
    value without annotation, such as ``deterministic = True``, is no setting but belongs to the class. Compiled code reads the settings,
    and no other attribute.

    Attributes
    ----------
    rules : the rule of every setting, None for none
    markers : how `tune` treats every setting, see `latentbandits.settings.MARKERS`

    Examples
    --------
    >>> from typing import Annotated
    >>> from latentbandits.parameters import Parameters
    >>> from latentbandits.settings import AtLeast
    >>> class Greedy(Parameters):
    ...     arms: Annotated[int, AtLeast(2)]
    ...     prior: float = 0.0
    >>> Greedy(2, prior=1)
    Greedy(arms=2, prior=1.0)
    >>> Greedy(1)
    Traceback (most recent call last):
    latentbandits.settings.InvalidValueError: Greedy: arms is 1 but must be an integer at least 2
    """

    _fields: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[Mapping[str, object]] = {}
    _described: ClassVar[Mapping[str, Field]] = {}
    _bind: ClassVar[Callable[..., tuple[object, ...]]]  # the plain named tuple that assigns arguments to fields
    rules: ClassVar[Mapping[str, Rule | None]] = {}
    markers: ClassVar[Mapping[str, tuple[Marker, ...]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = vars(cls)
        names = [name for name, hint in own.get("__annotations__", {}).items() if get_origin(hint) is not ClassVar]
        cls._fields = (*cls._fields, *(name for name in names if name not in cls._fields))
        cls._defaults = {**cls._defaults, **{name: own[name] for name in names if name in own}}
        cls._described = fields_of(cls, cls._fields, cls._defaults)
        cls.rules = {name: field.rule for name, field in cls._described.items()}
        cls.markers = {name: field.markers for name, field in cls._described.items()}
        cls._bind = namedtuple(cls.__name__, cls._fields, defaults=cls._defaults.values())  # type: ignore[misc]
        for name in names:
            setattr(cls, name, vars(cls._bind)[name])
        cls.__signature__ = inspect.signature(cls._bind)  # type: ignore[attr-defined]

    def __new__(cls, *args: object, **kwargs: object) -> Self:  # noqa: D102
        refuse_unknown(cls, kwargs, cls._fields)
        given = zip(cls._described.items(), cls._bind(*args, **kwargs), strict=True)
        made = tuple.__new__(cls, [accept(cls.__name__, name, value, field) for (name, field), value in given])
        made.check()
        return made

    def check(self) -> None:
        """Refuse settings that do not fit each other."""

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def _replace(self, **changes: object) -> Self:
        return type(self)(**{**self._asdict(), **changes})

    def __getnewargs__(self) -> tuple[object, ...]:
        return tuple(self)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed: use _replace({name}=...)")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in describe(self).items())})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and content(type(self), self) == content(type(self), other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(content(type(self), self))


def describe(policy: Parameters) -> Settings:
    """Return the settings of a policy as plain values, such that ``type(policy)(**describe(policy))`` is the same policy.

    Examples
    --------
    >>> import latentbandits as lb
    >>> describe(lb.policy("ucb1", arms=3))
    {'arms': 3, 'groups': 1, 'exploration': 2.0}
    """
    return {field: shown(policy.rules[field], value) for field, value in zip(policy._fields, policy, strict=True)}


def has_effect(policy: Parameters, setting: str) -> bool:
    """Whether a setting has an effect beside a policy's others, which its `When` markers decide.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.parameters import has_effect
    >>> [has_effect(lb.policy(name), "staleness") for name in ("adasp-ucb", "sp-ucb")]
    [True, False]
    """
    values = policy._asdict()
    return all(
        _is_set(values[marker.on]) and not (marker.off and _is_set(values[marker.off]))
        for marker in policy.markers.get(setting, ())
        if isinstance(marker, When)
    )


def _is_set(value: object) -> bool:
    return len(value) > 0 if isinstance(value, np.ndarray) else bool(value)


def all_settings(policy: Parameters) -> dict[str, Any]:
    """Return the settings of a policy and of the policies within it as plain values; ``inner.`` begins a name that both have.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.parameters import all_settings
    >>> all_settings(lb.policy("scaled(ucb1)"))
    {'opening': 1, 'reach': 1.0, 'arms': 2, 'groups': 1, 'exploration': 2.0}
    """
    own = dict(describe(policy))
    inner = own.pop("inner", None)
    within = {} if inner is None else all_settings(inner)
    return own | {f"inner.{name}" if name in own else name: value for name, value in within.items()}


def divided(kind: type[Parameters], settings: Settings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of a policy around another, and those of the policy within; names are as in `all_settings`.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.parameters import divided
    >>> divided(lb.policies.Scaled, {"opening": 2, "groups": 1, "inner.opening": 5})
    ({'opening': 2}, {'groups': 1, 'opening': 5})
    """
    own = {name: value for name, value in settings.items() if name in kind._fields}
    rest = {name: value for name, value in settings.items() if name not in own}
    short = {name: name.removeprefix("inner.") for name in rest}
    return own, {short[name] if short[name] in kind._fields else name: value for name, value in rest.items()}


def owner_of(policy: "Contestant", setting: str) -> tuple["Contestant", str]:
    """Return the policy, this one or one within it, that has a setting named as in `all_settings`, and the setting's name there."""
    while policy.inner is not None and setting not in policy._fields:
        name = setting.removeprefix("inner.")
        policy, setting = policy.inner, name if name in policy._fields else setting
    return policy, setting


def replaced(policy: "AnyContestant", changes: Settings) -> "AnyContestant":
    """Return a policy with some settings, named as in `all_settings`, changed.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.parameters import replaced
    >>> replaced(lb.policy("scaled(ucb1)"), {"exploration": 0.5}).inner
    UCB1(arms=2, groups=1, exploration=0.5)
    """
    if policy.inner is None:
        return policy._replace(**changes)
    own, rest = divided(type(policy), changes)
    return policy._replace(**own, inner=replaced(policy.inner, rest))

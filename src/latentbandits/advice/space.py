"""The settings of a policy that are searched and their ranges: from its rules, markers and present values, or as requested."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from latentbandits.advice.parameter import parse_range
from latentbandits.parameters import all_settings, has_effect, owner_of
from latentbandits.protocols import Contestant
from latentbandits.settings import (
    LARGEST,
    Above,
    AtLeast,
    Field,
    InUnit,
    InvalidValueError,
    Marker,
    Rule,
    Step,
    Untuned,
    Within,
    accept,
    nearest,
)
from latentbandits.specs import in_unit

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

OWNER = "tune"
Value = bool | float | str  # of a setting
Settings = Mapping[str, Value]
# A setting is searched from an eighth of its value to eight times its value
SPAN = 8
# Significant digits of a number that was found: more would claim a precision that no search has
DIGITS = 3
# A share this close to one is searched by its distance from one: a discount of 0.99 forgets ten times as fast as one of 0.999
NEAR_ONE = 0.9

# A distance in the unit of rewards is searched from this share of the range of means to the whole of it
NARROWEST = 0.01

# What the problem gives to every policy; never searched
FROM_PROBLEM = ("arms", "groups", "covariates")


class Axis(NamedTuple):
    """One setting that is searched, and its range.

    Attributes
    ----------
    setting : its name
    default : its value before the search
    low, high : ends of the range, both included
    choices : instead of a range, the values to choose from
    scale : "log"; "plain"; or "near one", for the distance from one on a logarithmic scale
    step : values are multiples of it; 0 for numbers that are not whole
    """

    setting: str
    default: Value
    low: float = 0.0
    high: float = 0.0
    choices: tuple[Value, ...] = ()
    scale: str = "log"
    step: int = 0

    def __str__(self) -> str:
        return ", ".join(map(str, self.choices)) if self.choices else f"{self.low:g} to {self.high:g}"

    @property
    def distribution(self) -> "BaseDistribution":
        """The distribution that Optuna samples from."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        if self.choices:
            return CategoricalDistribution(self.choices)
        if self.step:
            return IntDistribution(int(self.low) // self.step, int(self.high) // self.step, log=self.scale == "log")
        if self.scale == "near one":
            return FloatDistribution(1.0 - self.high, 1.0 - self.low, log=True)
        return FloatDistribution(self.low, self.high, log=self.scale == "log")

    def coordinate(self, value: Value) -> Value | None:
        """Return the study's parameter for a value of the setting; None for a value outside the range."""
        if self.choices or isinstance(value, str):
            return value if any(value == choice and type(value) is type(choice) for choice in self.choices) else None
        if not self.low <= value <= self.high or (self.step and value % self.step):
            return None
        if self.step:
            return int(value) // self.step
        return 1.0 - value if self.scale == "near one" else value

    def value(self, coordinate: Value) -> Value:
        """Return the value of the setting for a parameter of the study, with few digits.

        Examples
        --------
        >>> from latentbandits.advice.space import Axis
        >>> Axis("discount", 0.99, 0.92, 0.99875, scale="near one").value(0.0123456)
        0.9877
        """
        if self.choices or isinstance(coordinate, str):
            return coordinate
        if coordinate == self.coordinate(self.default):
            return self.default
        if self.step:
            return self.step * int(coordinate)
        rounded = float(f"{coordinate:.{DIGITS}g}")
        if self.scale == "near one":
            rounded = round(1.0 - rounded, 15)
        return min(max(rounded, self.low), self.high)


def space(
    policy: Contestant,
    fixed: Mapping[str, object] | None = None,
    search: Mapping[str, object] | None = None,
    means: tuple[float, float] | None = None,
) -> list[Axis]:
    """Return the settings of a policy to search, each with its range.

    By default these are the numbers above 0 that change how the policy behaves: those marked as `Untuned`, or without effect beside
    the other settings (`When`), are left out.

    Parameters
    ----------
    policy : Policy
        Its present settings are the centres of the ranges.
    fixed : mapping, optional
        Settings that stay as they are.
    search : mapping, optional
        Only these settings are searched, each within a range (a text such as ``"5 to 200"``, a `Range` or a tuple of two) or among the
        values of a list.
    means : pair of numbers, optional
        The range of the problem's means, if the policy takes rewards in their unit and was not made for it: its settings in this unit
        (`InUnit`) are searched too.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.space import space
    >>> [f"{axis.setting}: {axis}" for axis in space(lb.policy("d-ucb"))]
    ['discount: 0.92 to 0.99875', 'exploration: 0.0625 to 4']
    >>> [str(axis) for axis in space(lb.policy("adasp-ucb"), search={"staleness": "5 to 200", "min_gap": [2, 4, 8]})]
    ['5 to 200', '2, 4, 8']
    >>> [f"{axis.setting}: {axis}" for axis in space(lb.policy("cp-ts"), {"hazard": 0.01}, means=(-500, 3000))]
    ['prior_mean: -500 to 3000', 'prior_sd: 35 to 3500']
    >>> space(lb.policy("sw-ucb"), search={"windw": "5 to 200"})
    Traceback (most recent call last):
    latentbandits.settings.InvalidValueError: tune: search is 'windw' but must be one of window, exploration (did you mean window?)
    """
    settings = {field: value for field, value in all_settings(policy).items() if field not in FROM_PROBLEM}
    if search is not None:
        if not isinstance(search, Mapping) or not search:
            raise InvalidValueError(
                OWNER, "search", search, 'settings and their ranges, such as {"staleness": "5 to 200"}'
            )
        for setting in search:
            if setting not in settings:
                raise InvalidValueError(
                    OWNER, "search", setting, f"one of {', '.join(settings)}{nearest(str(setting), settings)}"
                )
        return [_requested_axis(policy, setting, settings[setting], where) for setting, where in search.items()]
    axes: list[Axis] = []
    for setting, value in settings.items():
        if setting in (fixed or {}):
            continue
        if means is not None and in_unit(policy, setting):
            axes += _axes_in_unit(policy, setting, value, *means)
        else:
            axes += _usual_axes(policy, setting, value)
    if not axes:
        others = f", or name some of {', '.join(settings)} to search" if settings else ""
        name = type(policy).__name__
        raise InvalidValueError(
            OWNER, "policy", name, f"one with settings that are worth a search and not given already{others}"
        )
    return axes


def _markers(policy: Contestant, setting: str) -> tuple[Marker, ...]:
    owner, field = owner_of(policy, setting)
    return owner.markers.get(field, ())


def _axes_in_unit(policy: Contestant, setting: str, value: float, low: float, high: float) -> list[Axis]:
    """Return the range of a setting in the unit of rewards: that of the means, or for a distance above 0 a share of its width."""
    if any(isinstance(marker, InUnit) and marker.level for marker in _markers(policy, setting)):
        return [Axis(setting, value, low, high, scale="plain")]
    return [Axis(setting, value, _plain(NARROWEST * (high - low)), high - low)] if value > 0 else []


def _rule_and_step(policy: Contestant, setting: str, value: object) -> tuple[Rule | None, int]:
    """Return the rule of a setting, and the step between its values if they are integers, else 0."""
    owner, field = owner_of(policy, setting)
    sizes = [marker.size for marker in _markers(policy, setting) if isinstance(marker, Step)]
    return owner.rules.get(field), next(iter(sizes), 1) if isinstance(value, int) else 0


def _usual_axes(policy: Contestant, setting: str, value: object) -> list[Axis]:
    """Return the usual range around a number above zero that is not `Untuned` and has an effect; nothing for anything else."""
    untuned = any(isinstance(marker, Untuned) for marker in _markers(policy, setting))
    if untuned or isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return []
    if not has_effect(*owner_of(policy, setting)):
        return []
    rule, step = _rule_and_step(policy, setting, value)
    least = rule.low if isinstance(rule, AtLeast | Above | Within) else 0
    most = rule.high if isinstance(rule, Within) else LARGEST
    if step:
        low, high = max(math.ceil(least), value // SPAN, 1), min(math.floor(most), value * SPAN)
        axis = Axis(setting, value, -(-low // step) * step, high // step * step, step=step)
    elif most == 1 and value > NEAR_ONE:
        far = 1.0 - value
        axis = Axis(setting, value, _plain(max(1.0 - SPAN * far, least)), _plain(1.0 - far / SPAN), scale="near one")
    else:
        axis = Axis(setting, value, _plain(max(value / SPAN, least)), _plain(min(value * SPAN, most)))
    return [axis] if axis.low < axis.high else []


def _plain(number: float) -> float:
    """Return a number without the last digits, which are rounding errors of binary arithmetic."""
    return float(f"{number:.12g}")


def _requested_axis(policy: Contestant, setting: str, value: Value, where: object) -> Axis:
    """Return the requested range or choices of a setting, or refuse them; rules that span settings are checked by the policy later."""
    rule, step = _rule_and_step(policy, setting, value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    field, form = f"search of {setting}", "several values to choose from"
    if number:
        form = f'a range such as "5 to 200", or {form}'
    ends = parse_range(where) if number and not isinstance(where, list) else None
    values = where if isinstance(where, list) else ends
    if values is None or not isinstance(value, bool | int | float | str):
        raise InvalidValueError(OWNER, field, where, form)
    accepted: list[Any] = [accept(OWNER, field, each, Field(type(value), rule, False, ())) for each in values]
    if ends is None:
        if len(set(accepted)) < max(2, len(accepted)):
            raise InvalidValueError(OWNER, field, where, form + ", each once")
        return Axis(setting, value, choices=tuple(accepted))
    low, high = map(float, accepted)
    if step > 1:
        low, high = -(-low // step) * step, high // step * step
    if not low < high:
        raise InvalidValueError(OWNER, field, where, 'a range with the lower end first, such as "5 to 200"')
    near = isinstance(rule, Within) and rule.high == 1 and not step and low >= 0.5 and high < 1
    return Axis(setting, value, low, high, scale="near one" if near else "log" if low > 0 else "plain", step=step)

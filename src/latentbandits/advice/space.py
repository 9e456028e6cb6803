"""Where to look for better settings of a policy: read off its rules and its present settings, or asked for."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from latentbandits.advice.ranges import parsed
from latentbandits.settings import LARGEST, Above, AtLeast, OneOf, Within, describe, finite, nearest, refuse, whole

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

OWNER = "tune"
# A setting is searched from an eighth of what it is to eight times that
SPAN = 8
# Digits of a number that was found: more would pretend
DIGITS = 3
# A share this close to one is searched by its distance from one: a discount of 0.99 forgets ten times as fast as one of 0.999
NEAR_ONE = 0.9

# Numbers that say how large a policy is built or what it was told, rather than how it behaves: searched if asked for
LEFT = frozenset(
    ("noise", "low", "high", "prior_mean", "prior_sd", "particles", "states", "floor", "levels", "hypotheses", "splits")
)
# What the problem says; never searched
GIVEN = ("arms", "units", "covariates")
# Of Thompson sampling, `noise` is the width of its draws: how much it explores
BEHAVES = {("ThompsonSampling", "noise")}
# (class, a switch) -> the settings that do nothing while it is off
SWITCHED = {
    ("TraceLearner", "gated"): ("residual_threshold", "residual_floor", "margin", "staleness", "min_gap"),
}
# Settings that go in steps
STEPS = {("MonitoredUCB", "window"): 2}


class Axis(NamedTuple):
    """One setting and where it is searched.

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
    default: Any
    low: float = 0.0
    high: float = 0.0
    choices: tuple[Any, ...] = ()
    scale: str = "log"
    step: int = 0

    def __str__(self) -> str:
        return ", ".join(map(str, self.choices)) if self.choices else f"{self.low:g} to {self.high:g}"

    @property
    def name(self) -> str:
        """What a study calls it."""
        if self.scale == "near one":
            return f"1 - {self.setting}"
        return f"{self.setting} / {self.step}" if self.step > 1 else self.setting

    @property
    def distribution(self) -> "BaseDistribution":
        """The same for Optuna."""
        from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

        if self.choices:
            return CategoricalDistribution(self.choices)
        if self.step:
            return IntDistribution(int(self.low) // self.step, int(self.high) // self.step, log=self.scale == "log")
        if self.scale == "near one":
            return FloatDistribution(1.0 - self.high, 1.0 - self.low, log=True)
        return FloatDistribution(self.low, self.high, log=self.scale == "log")

    def coordinate(self, value: Any) -> Any:
        """Return where a study puts a value of the setting; None if it is outside."""
        if self.choices:
            return value if any(value == choice and type(value) is type(choice) for choice in self.choices) else None
        if not self.low <= value <= self.high or (self.step and value % self.step):
            return None
        if self.step:
            return int(value) // self.step
        return 1.0 - value if self.scale == "near one" else value

    def value(self, coordinate: Any) -> Any:
        """Return the value of the setting at a place of the study, with few digits.

        Examples
        --------
        >>> from latentbandits.advice.space import Axis
        >>> Axis("discount", 0.99, 0.92, 0.99875, scale="near one").value(0.0123456)
        0.9877
        """
        if self.choices:
            return coordinate
        if coordinate == self.coordinate(self.default):
            return self.default
        if self.step:
            return self.step * int(coordinate)
        rounded = float(f"{coordinate:.{DIGITS}g}")
        if self.scale == "near one":
            rounded = round(1.0 - rounded, 15)
        return min(max(rounded, self.low), self.high)


def space(policy: Any, fixed: Mapping[str, Any] | None = None, search: Mapping[str, Any] | None = None) -> list[Axis]:
    """Return where to look for better settings of a policy.

    Parameters
    ----------
    policy : Policy
        Its settings are in the middle of what is searched.
    fixed : mapping, optional
        Settings that stay as they are.
    search : mapping, optional
        Only these settings are searched, each within a range (a text such as ``"5 to 200"``, a `Range` or a tuple of two) or among the
        values of a list.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.advice.space import space
    >>> [f"{axis.setting}: {axis}" for axis in space(lb.policy("d-ucb"))]
    ['discount: 0.92 to 0.99875', 'exploration: 0.0625 to 4']
    >>> [str(axis) for axis in space(lb.policy("adasp-ucb"), search={"staleness": "5 to 200", "min_gap": [2, 4, 8]})]
    ['5 to 200', '2, 4, 8']
    >>> space(lb.policy("sw-ucb"), search={"windw": "5 to 200"})
    Traceback (most recent call last):
    latentbandits.settings.Refusal: tune: search is 'windw' but must be one of window, exploration (did you mean window?)
    """
    settings = {field: value for field, value in describe(policy).items() if field not in GIVEN}
    name = type(policy).__name__
    if search is not None:
        if not isinstance(search, Mapping) or not search:
            raise refuse(OWNER, "search", search, 'settings and their ranges, such as {"staleness": "5 to 200"}')
        for setting in search:
            if setting not in settings:
                raise refuse(OWNER, "search", setting, f"one of {', '.join(settings)}{nearest(str(setting), settings)}")
        return [_asked(policy, setting, settings[setting], where) for setting, where in search.items()]
    idle = {
        s for (kind, switch), those in SWITCHED.items() for s in those if kind == name and not getattr(policy, switch)
    }
    found = []
    for setting, value in settings.items():
        told = setting in LEFT and (name, setting) not in BEHAVES
        if not told and setting not in idle and setting not in (fixed or {}):
            found += _usual(policy, setting, value)
    if not found:
        others = f", or name some of {', '.join(settings)} to search" if settings else ""
        raise refuse(OWNER, "policy", name, f"one with settings to search that are not given already{others}")
    return found


def _rule(policy: Any, setting: str) -> Any:
    return getattr(policy, "rules", {}).get(setting)


def _step(policy: Any, setting: str, value: Any) -> int:
    return STEPS.get((type(policy).__name__, setting), 1) if isinstance(value, int) else 0


def _usual(policy: Any, setting: str, value: Any) -> list[Axis]:
    """Return the usual range around a number above zero; nothing for anything else."""
    rule = _rule(policy, setting)
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        return []
    least = rule.low if isinstance(rule, AtLeast | Above | Within) else 0
    most = rule.high if isinstance(rule, Within) else LARGEST
    step = _step(policy, setting, value)
    if step:
        low, high = max(math.ceil(least), value // SPAN, 1), min(math.floor(most), value * SPAN)
        found = Axis(setting, value, -(-low // step) * step, high // step * step, step=step)
    elif most == 1 and value > NEAR_ONE:
        far = 1.0 - value
        found = Axis(setting, value, _plain(max(1.0 - SPAN * far, least)), _plain(1.0 - far / SPAN), scale="near one")
    else:
        found = Axis(setting, value, _plain(max(value / SPAN, least)), _plain(min(value * SPAN, most)))
    return [found] if found.low < found.high else []


def _plain(number: float) -> float:
    """Return a number without the last digits, which come from counting in binary."""
    return float(f"{number:.12g}")


def _asked(policy: Any, setting: str, value: Any, where: Any) -> Axis:
    """Return what was asked for, or refuse it."""
    rule, step = _rule(policy, setting), _step(policy, setting, value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    field, shown = (
        f"search of {setting}",
        ('a range such as "5 to 200", or ' if number else "") + "several values to choose from",
    )
    if isinstance(where, list):
        choices = tuple(_acceptable(field, value, rule, one) for one in where)
        if len(set(choices)) < 2 or len(set(choices)) < len(choices):
            raise refuse(OWNER, field, where, shown + ", each once")
        return Axis(setting, value, choices=choices)
    ends = parsed(where)
    if ends is None or not number:
        raise refuse(OWNER, field, where, shown)
    low, high = (_acceptable(field, value, rule, end) for end in ends)
    if step > 1:
        low, high = -(-low // step) * step, high // step * step
    if not low < high:
        raise refuse(OWNER, field, where, 'a range with the lower end first, such as "5 to 200"')
    near = isinstance(rule, Within) and rule.high == 1 and not step and low >= 0.5 and high < 1
    return Axis(setting, value, low, high, scale="near one" if near else "log" if low > 0 else "plain", step=step)


def _acceptable(field: str, present: Any, rule: Any, value: Any) -> Any:
    """Return a value that a setting may have, or refuse it; what settings mean together is for the policy to say."""
    if isinstance(present, bool):
        if not isinstance(value, bool):
            raise refuse(OWNER, field, value, "true or false")
        return value
    if isinstance(rule, OneOf):
        if value not in rule.names:
            raise refuse(OWNER, field, value, rule)
        return value
    if not isinstance(present, int | float):
        raise refuse(OWNER, field, value, "a setting that is a number, a name, or true or false")
    kind = f"{'an integer' if isinstance(present, int) else 'a finite number'}{f' {rule}' if rule is not None else ''}"
    number = whole(OWNER, field, value, kind) if isinstance(present, int) else finite(OWNER, field, value, kind)
    if rule is not None and rule.refuses(number):
        raise refuse(OWNER, field, value, kind)
    return number

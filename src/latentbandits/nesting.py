"""Settings of a policy and of the policies within it, all by name."""

from collections.abc import Mapping
from typing import Any

from latentbandits.settings import describe


def all_settings(policy: Any) -> dict[str, Any]:
    """Return the settings of a policy and of the policies within it as plain values; ``inner.`` begins a name that both have.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.nesting import all_settings
    >>> all_settings(lb.policy("scaled:ucb1"))
    {'opening': 1, 'reach': 1.0, 'arms': 2, 'units': 1, 'exploration': 2.0}
    """
    own = dict(describe(policy))
    inner = own.pop("inner", None)
    within = {} if inner is None else all_settings(inner)
    return own | {f"inner.{name}" if name in own else name: value for name, value in within.items()}


def divided(kind: Any, settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings of a policy around another, and those of the policy within; names are as in `all_settings`.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.nesting import divided
    >>> divided(lb.Scaled, {"opening": 2, "units": 1, "inner.opening": 5})
    ({'opening': 2}, {'units': 1, 'opening': 5})
    """
    own = {name: value for name, value in settings.items() if name in kind._fields}
    rest = {name: value for name, value in settings.items() if name not in own}
    short = {name: name.removeprefix("inner.") for name in rest}
    return own, {short[name] if short[name] in kind._fields else name: value for name, value in rest.items()}


def owner_of(policy: Any, setting: str) -> tuple[Any, str]:
    """Return the policy, this one or one within it, that has a setting named as in `all_settings`, and the setting's name there."""
    while hasattr(policy, "inner") and setting not in policy._fields:
        name = setting.removeprefix("inner.")
        policy, setting = policy.inner, name if name in policy._fields else setting
    return policy, setting


def replaced(policy: Any, changes: Mapping[str, Any]) -> Any:
    """Return a policy with some settings, named as in `all_settings`, changed.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.nesting import replaced
    >>> replaced(lb.policy("scaled:ucb1"), {"exploration": 0.5}).inner
    UCB1(arms=2, units=1, exploration=0.5)
    """
    if not hasattr(policy, "inner"):
        return policy._replace(**changes)
    own, rest = divided(policy, changes)
    return policy._replace(**own, inner=replaced(policy.inner, rest))

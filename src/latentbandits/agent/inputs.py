"""Checks of what an agent is given: policies, names of arms, and numbers of the right size, all finite."""

import numbers
from collections.abc import Iterable, Mapping, Sequence, Set
from decimal import Decimal
from typing import TypeGuard

import numpy as np

from latentbandits import specs
from latentbandits.agent.decision import Name
from latentbandits.protocols import LARGEST_REWARD, Oracle, Policy
from latentbandits.settings import InvalidValueError, check_int, nearest

MOST_ARMS = 100_000  # a mistyped number must not take all memory
_SIZE = f"of size at most {LARGEST_REWARD:g}"


def online(policy: Policy | str, arms: Sequence[Name] | int | None) -> tuple[Policy, list[Name]]:
    """Return the policy of an agent and the names of its arms, or refuse."""
    names: list[Name] | None
    if _integer(arms) and int(arms) > MOST_ARMS:
        raise InvalidValueError("Agent", "arms", arms, f"at most {MOST_ARMS:,}")
    names = (
        None
        if arms is None
        else list(range(check_int("Agent", "arms", arms, least=2)))
        if _integer(arms)
        else _names(arms)
    )
    if isinstance(policy, str):
        policy = specs.policy(policy, arms=None if names is None else len(names))
    if isinstance(policy, Policy) and policy.arms > MOST_ARMS:
        raise InvalidValueError("Agent", "arms", policy.arms, f"at most {MOST_ARMS:,}")
    if isinstance(policy, Oracle):
        raise InvalidValueError(
            "Agent", "policy", policy, "one that needs no knowledge of the world (BayesFilter takes it as settings)"
        )
    if not isinstance(policy, Policy):
        raise InvalidValueError("Agent", "policy", policy, "a policy or the name of one")
    if names is None:
        names = list(range(policy.arms))
    if len(names) != policy.arms:
        raise InvalidValueError("Agent", "arms", arms, f"{policy.arms}, the policy's, or that many names")
    return policy, names


def _names(arms: object) -> list[Name]:
    """Return the names in a list, or refuse it."""
    if isinstance(arms, str | bytes | Mapping | Set) or not isinstance(arms, Iterable):
        raise InvalidValueError("Agent", "arms", arms, "a number, or a list of names")
    names = [as_name(name) for name in arms]
    if len(set(names)) < len(names):
        raise InvalidValueError("Agent", "arms", arms, "names that all differ")
    return names


def as_name(name: object, field: str = "arm") -> Name:
    """Return a name (of an arm or of a subject) as plain text or a plain integer, or refuse it."""
    if isinstance(name, str):
        return str.__str__(name)  # the text itself, of an enumeration too
    if _integer(name):
        return int(name)
    raise InvalidValueError("Agent", field, name, "a text or an integer")


def _integer(value: object) -> TypeGuard[numbers.Integral]:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def number_of(name: object, known: Mapping[Name, int], field: str = "arm") -> int:
    """Return the number of the arm that has a name, or refuse the name."""
    plain = as_name(name, field)
    if plain not in known:
        hint = nearest(plain, [other for other in known if isinstance(other, str)]) if isinstance(plain, str) else ""
        raise InvalidValueError("Agent", field, name, f"one of {', '.join(map(str, known))}{hint}")
    return known[plain]


def observed(context: object, covariates: int) -> np.ndarray:
    """Return the covariates that a policy observes, or refuse."""
    rule = (
        "left out, since the policy observes no covariates"
        if covariates == 0
        else f"a list of one finite number {_SIZE}, the policy's covariate"
        if covariates == 1
        else f"{covariates} finite numbers {_SIZE}, the policy's covariates"
    )
    values = _numbers("context", () if context is None else context, rule)
    if values.shape != (covariates,) or not (np.abs(values) <= LARGEST_REWARD).all():
        raise InvalidValueError("Agent", "context", context, rule)
    return values


def received(rewards: object, groups: int) -> np.ndarray:
    """Return one finite reward per group, or refuse."""
    rule = f"a finite number {_SIZE}" if groups == 1 else f"{groups} finite numbers {_SIZE}, one per group"
    values = _numbers("rewards", rewards, rule)
    values = values.reshape(1) if values.ndim == 0 else values
    if values.shape != (groups,) or not (np.abs(values) <= LARGEST_REWARD).all():
        raise InvalidValueError("Agent", "rewards", rewards, rule)
    return values


def _numbers(field: str, given: object, rule: str) -> np.ndarray:
    """Return an array of numbers, or refuse."""
    try:
        if np.ma.is_masked(given) or (isinstance(given, list | tuple) and any(one is np.ma.masked for one in given)):
            raise TypeError  # as an array it would be a number
        values = np.asarray(given)
        if values.dtype == object and all(isinstance(one, Decimal | numbers.Real) for one in values.flat):
            values = values.astype(np.float64)
        if values.dtype.kind not in "biuf":
            raise TypeError
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValueError("Agent", field, given, rule) from None

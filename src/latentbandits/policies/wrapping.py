"""Policies around another policy: what they have of it, and how it restarts.

A wrapper is a NamedTuple with a field `inner`, the policy within. Its memory has the fields `inner`, the memory of that policy, `fresh`,
the same before the first round, and `scalars`, a record with the field `restarts`. A choice's last feature is the number of restarts
before it: rewards that arrive after a later one are not handed on, since the features beside them belong to a memory that is gone.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from latentbandits.compiled import copy_into, kernel
from latentbandits.protocols import Choice, Oracle, Policy
from latentbandits.settings import Refusal

Wrapper = TypeVar("Wrapper", bound=type)


def wrapper(*, scale_free: bool = False) -> Callable[[Wrapper], Wrapper]:
    """Give a policy class with a field `inner` the arms, units, features, traits and scratch space that follow from the policy within.

    Parameters
    ----------
    scale_free : bool
        Whether it plays alike in every unit of rewards, see `latentbandits.protocols.traits`.

    Examples
    --------
    >>> import latentbandits as lb
    >>> made = lb.policy("scaled:lc-ts", arms=3)
    >>> made.arms, made.width == made.inner.width + 1, made.deterministic
    (3, True, False)
    """
    given: dict[str, Callable[[Any], Any]] = {
        "arms": lambda self: self.inner.arms,
        "units": lambda self: self.inner.units,
        "covariates": lambda self: getattr(self.inner, "covariates", 0),
        "deterministic": lambda self: getattr(self.inner, "deterministic", False),
        "fixed_arms": lambda self: getattr(self.inner, "fixed_arms", False),
        "width": lambda self: getattr(self.inner, "width", 0) + 1,
        "scratch": lambda self: ("fresh", *(f"inner.{name}" for name in getattr(self.inner, "scratch", ()))),
    }

    def decorate(kind: Any) -> Any:
        for name, get in given.items():
            setattr(kind, name, property(get))
        kind.scale_free, kind.__getattr__ = scale_free, _belief
        return kind

    return decorate


def _belief(self: Any, name: str) -> Any:
    """Return the method `belief` if the policy within has one; called for attributes that are missing."""
    if name != "belief" or not hasattr(self.inner, "belief"):
        raise AttributeError(f"{type(self).__name__} has no {name}", name=name, obj=self)
    return lambda memory: self.inner.belief(memory.inner)


def refuse_inner(owner: str, inner: Any) -> None:
    """Refuse what cannot be within a wrapper: anything but a policy, an oracle, and a wrapper of the same kind."""
    if not isinstance(inner, Policy) or isinstance(inner, type | Oracle) or not hasattr(inner, "_fields"):
        raise Refusal(owner, "inner", inner, "a policy that needs no knowledge of the world")
    part = inner
    while hasattr(part, "inner"):  # every level has its memory twice
        if type(part).__name__ == owner:
            raise Refusal(owner, "inner", inner, f"a policy without another {owner} within it")
        part = part.inner


@kernel
def within(choice: Choice) -> Choice:
    """Return a choice as the policy within sees it: without the last feature."""
    return Choice(choice.arms, choice.features[: len(choice.features) - 1], choice.note, choice.offers)


@kernel
def stamp(choice: Choice, restarts: int) -> None:
    """Write the number of restarts into a choice."""
    choice.features[len(choice.features) - 1] = restarts


@kernel
def is_current(choice: Choice, restarts: int) -> bool:
    """Return whether no restart came after a choice."""
    return bool(choice.features[len(choice.features) - 1] == restarts)


@kernel
def restart(memory: Any) -> None:
    """Let the policy within forget everything."""
    copy_into(memory.inner, memory.fresh)
    memory.scalars[0].restarts += 1

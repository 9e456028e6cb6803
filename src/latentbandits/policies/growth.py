"""A new arm for a policy that has already learned: everything that is known of the other arms stays as it is."""

from typing import Any

import numpy as np

from latentbandits.protocols import Choice, refuse_fixed


def corner(fresh: Any, memory: Any) -> Any:
    """Return a fresh memory with the arrays of a smaller one copied into their first rows and columns."""
    for field in memory._fields:
        _into_corner(getattr(fresh, field), getattr(memory, field))
    return fresh


def _into_corner(large: np.ndarray, small: np.ndarray) -> None:
    large[tuple(slice(size) for size in small.shape)] = small


def grown(policy: Any, memory: Any) -> tuple[Any, Any]:
    """Return a policy with one more arm, the last, and its memory, in which that arm is as fresh as before the first round.

    A policy may have a method ``grow(memory)`` that returns the larger memory; without one, arrays are copied into the first rows and
    columns of a fresh memory. A policy that cannot take a new arm refuses.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.policies.growth import grown
    >>> policy, memory = grown(lb.UCB1(arms=2), lb.UCB1(arms=2).init())
    >>> policy.arms, len(memory.counts)
    (3, 3)
    """
    refuse_fixed(policy)
    if hasattr(policy, "inner"):
        inner, memory_within = grown(policy.inner, memory.inner)
        more = policy._replace(inner=inner)
        fresh = more.init()
        for name in (name for name in memory._fields if name not in ("inner", "fresh")):
            _into_corner(getattr(fresh, name), getattr(memory, name))
        return more, fresh._replace(inner=memory_within)
    if hasattr(policy, "grow"):
        larger = policy.grow(memory)
        return policy._replace(arms=policy.arms + 1), larger
    more = policy._replace(arms=policy.arms + 1)
    return more, corner(more.init(), memory)


def grown_choice(policy: Any, larger: Any, choice: Choice) -> Choice:
    """Return a choice that was made before an arm was added, in the form that the larger policy learns from."""
    made = Choice.blank(larger)
    made.arms[:] = choice.arms
    made.features[_positions(policy, larger)] = choice.features
    made.note[:] = choice.note
    made.offers[: policy.arms] = choice.offers
    made.offers[policy.arms :]["available"] = 0
    return made


def _positions(policy: Any, larger: Any) -> np.ndarray:
    """Return where the features of a choice go; the last one of a policy around another stays the last."""
    if hasattr(policy, "inner"):
        return np.append(_positions(policy.inner, larger.inner), larger.width - 1)
    found: np.ndarray = policy.positions() if hasattr(policy, "positions") else np.arange(getattr(policy, "width", 0))
    return found

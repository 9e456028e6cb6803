"""How `tune` treats a setting: markers stand beside its rule, ``Annotated[float, AtLeast(0), Untuned()]``."""

from typing import Any, NamedTuple

import numpy as np


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


class InUnit(NamedTuple):
    """A setting in the unit of rewards: a reward itself (`level`), or a distance of two."""

    level: bool = False


MARKERS = (Untuned, Step, When, InUnit)


def _is_set(policy: Any, setting: str) -> bool:
    value = getattr(policy, setting)
    return len(value) > 0 if isinstance(value, np.ndarray) else bool(value)


def has_effect(policy: Any, setting: str) -> bool:
    """Whether a setting has an effect beside a policy's others, which its `When` markers decide.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.markers import has_effect
    >>> [has_effect(lb.policy(name), "staleness") for name in ("adasp-ucb", "sp-ucb")]
    [True, False]
    """
    markers = getattr(policy, "markers", {}).get(setting, ())
    return all(marker.holds(policy) for marker in markers if isinstance(marker, When))

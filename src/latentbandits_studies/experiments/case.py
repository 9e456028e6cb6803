"""A case is everything that one simulation needs, as data."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from latentbandits.parameters import describe
from latentbandits_studies.experiments.dependencies import digest

OWN = " | own"  # ends the names of cases with policies of one's own


@dataclasses.dataclass(frozen=True)
class Case:
    """One world, several policies, all sizes.

    Attributes
    ----------
    name : what the case is called within its experiment
    world : the world
    policies : label -> policy
    horizon, draws, repeats, seed, first : sizes and randomness, as in `latentbandits.simulate`
    bins : stretches of rounds for which curves are kept; 1 for none
    """

    name: str
    world: Any
    policies: Mapping[str, Any]
    horizon: int
    draws: int
    repeats: int = 1
    seed: int = 0
    bins: int = 1
    first: int = 0

    @property
    def rounds(self) -> int:
        """Rounds of all policies and runs."""
        return len(self.policies) * self.horizon * self.draws * self.repeats

    def description(self) -> dict[str, Any]:
        """Return the case as plain values."""
        sizes = {field: getattr(self, field) for field in ("horizon", "draws", "repeats", "seed", "bins")}
        sizes |= {"first": self.first} if self.first else {}  # names of results from 0 on stay as they were
        policies = {label: description(one) for label, one in self.policies.items()}
        return {"name": self.name, "world": description(self.world), **sizes, "policies": policies}

    @cached_property
    def keys(self) -> dict[str, str]:
        """The name of each policy's results: the same content (settings, sizes, seed and code) has the same name, in any experiment."""
        content = self.description()
        policies = content.pop("policies")
        del content["name"]
        made = {}
        for label, policy in self.policies.items():
            code = digest(*dict.fromkeys([*_modules(policy), *_modules(self.world)]))
            text = json.dumps({**content, "policy": policies[label], "code": code}, sort_keys=True)
            made[label] = hashlib.sha256(text.encode()).hexdigest()[:24]
        return made


def resized(cases: Sequence[Case], sizes: Sequence[int] | None) -> list[Case]:
    """Return cases on another number of draws, each played once, from another first one; as they are if no sizes are given.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits_studies.experiments.case import Case, resized
    >>> made = Case("small", lb.HiddenMarkov(), {"ucb1": lb.policy("ucb1")}, horizon=100, draws=128, repeats=5)
    >>> [(case.draws, case.repeats, case.first) for case in resized([made], (4, 1000))]
    [(4, 1, 1000)]
    """
    if sizes is None:
        return list(cases)
    draws, first = sizes
    return [dataclasses.replace(case, draws=draws, repeats=1, first=first) for case in cases]


def description(thing: Any) -> dict[str, Any]:
    """Return a policy or a world as plain values, with those within it.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits_studies.experiments.case import description
    >>> description(lb.policy("sw-ucb"))
    {'class': 'SlidingWindowUCB', 'arms': 2, 'units': 1, 'window': 50, 'exploration': 0.5}
    """
    if hasattr(thing, "_fields"):
        values = dict(describe(thing))
    else:
        values = {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing)}
    return {"class": type(thing).__name__, **{name: _plain(value) for name, value in values.items()}}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return description(value) if _has_parts(value) else value


def _has_parts(value: Any) -> bool:
    return hasattr(value, "_fields") or dataclasses.is_dataclass(value)


def _modules(thing: Any) -> list[str]:
    """Return the modules that the classes of a policy or world, and of those within it, are written in."""
    within = thing if isinstance(thing, tuple) else vars(thing).values()
    return [type(thing).__module__, *(name for part in within if _has_parts(part) for name in _modules(part))]

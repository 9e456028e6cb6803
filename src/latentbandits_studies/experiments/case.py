"""A case is everything that one simulation needs, as data."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from latentbandits.parameters import Parameters, describe
from latentbandits.protocols import Contestant, World
from latentbandits.simulation.blocks import digest_code

# How much is run: everything short; the paper's main table in full and the rest short; everything in full
Size = Literal["quick", "paper", "full"]
SIZES: tuple[Size, ...] = ("quick", "paper", "full")  # from the smallest
OWN = " | own"  # ends the names of cases with policies of one's own
MOST_SHOWN = 1_000  # numbers: larger arrays, such as recorded rewards, are described by a digest


@dataclasses.dataclass(frozen=True)
class Case:
    """One world, several policies, all sizes.

    Attributes
    ----------
    name : what the world is called within its experiment; cases of one name are one world, in which policies have runs of their own number
    world : the world
    policies : label -> policy
    horizon, draws, repeats, seed, first : sizes and randomness, as in `latentbandits.simulate`
    bins : stretches of rounds for which curves are kept; 1 for none
    """

    name: str
    world: World
    policies: Mapping[str, Contestant]
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

    def description(self) -> dict[str, object]:
        """Return the case as plain values."""
        policies = {label: describe_parts(policy) for label, policy in self.policies.items()}
        return {"name": self.name, "world": describe_parts(self.world), **self._sizes(), "policies": policies}

    def _sizes(self) -> dict[str, int]:
        return {
            "horizon": self.horizon,
            "draws": self.draws,
            "repeats": self.repeats,
            "seed": self.seed,
            "bins": self.bins,
            "first": self.first,
        }

    @cached_property
    def keys(self) -> dict[str, str]:
        """The name of each policy's results: the same content (settings, sizes, seed and code) has the same name, in any experiment."""
        return {label: self._key(policy) for label, policy in self.policies.items()}

    def _key(self, policy: Contestant) -> str:
        parts = {"world": describe_parts(self.world), "policy": describe_parts(policy), **self._sizes()}
        text = json.dumps({**parts, "code": digest_code(policy, self.world)}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


def resize(cases: Sequence[Case], sizes: Sequence[int | None] | None) -> list[Case]:
    """Return cases with another number of draws (their own if it is None), from another first one; as they are if no sizes are given.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits_studies.experiments.case import Case, resize
    >>> case = Case("small", lb.HiddenMarkov(), {"ucb1": lb.policy("ucb1")}, horizon=100, draws=128, repeats=5)
    >>> [(case.draws, case.repeats, case.first) for case in resize([case], (4, 1000))]
    [(4, 5, 1000)]
    """
    if sizes is None:
        return list(cases)
    draws, first = sizes
    return [dataclasses.replace(case, draws=draws or case.draws, first=first or 0) for case in cases]


def describe_parts(thing: object) -> dict[str, object]:
    """Return a policy or a world as plain values, with those within it.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits_studies.experiments.case import describe_parts
    >>> describe_parts(lb.policy("sw-ucb"))
    {'class': 'SlidingWindowUCB', 'arms': 2, 'groups': 1, 'window': 50, 'exploration': 0.5}
    """
    if isinstance(thing, Parameters):
        values: Mapping[str, object] = describe(thing)
    elif dataclasses.is_dataclass(thing):
        values = {field.name: vars(thing)[field.name] for field in dataclasses.fields(thing)}
    else:
        values = vars(thing)
    return {"class": type(thing).__name__, **{name: _plain(value) for name, value in values.items()}}


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray):
        return (
            value.tolist()
            if max((value.size, *value.shape)) <= MOST_SHOWN
            else hashlib.sha256(value.tobytes()).hexdigest()[:24]
        )
    has_parts = dataclasses.is_dataclass(value) or (isinstance(value, tuple) and type(value) is not tuple)
    return describe_parts(value) if has_parts else value

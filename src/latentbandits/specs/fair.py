"""Specs that no unit of rewards harms."""

from collections.abc import Mapping
from typing import Protocol, TypeAlias, overload, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from latentbandits.parameters import owner_of
from latentbandits.policies import registry
from latentbandits.protocols import Contestant, Oracle, World
from latentbandits.settings import InUnit
from latentbandits.specs.syntax import lowered, split, wrapper
from latentbandits.specs.text import policy


# What a world may say about its means, beyond what every world has
@runtime_checkable
class _Sampled(Protocol):
    def sample(self, seed: int, draw: int) -> World: ...


@runtime_checkable
class _Around(Protocol):
    @property
    def world(self) -> World: ...


@runtime_checkable
class _Spanned(Protocol):
    @property
    def span(self) -> tuple[float, float] | None: ...


@runtime_checkable
class _Levelled(Protocol):
    @property
    def means(self) -> np.ndarray | None: ...


# Means within [0, 1] that span no less of it need no scaling
HALF = 0.5

Given: TypeAlias = str | Contestant  # a policy as its spec or itself


@overload
def fair(spec: str, problem: World) -> str: ...


@overload
def fair(spec: Given, problem: World) -> Given: ...


def fair(spec: Given, problem: World) -> Given:
    """Return a spec that no unit of rewards harms: within `scaled` if the policy expects rewards on [0, 1] and a problem's are not.

    A policy itself, a class of user code, a file, and a spec with settings in the unit of rewards (``cp-ts:prior_mean=1250``) stay as they
    are: whoever wrote them had the unit in mind.

    Parameters
    ----------
    spec : str or Policy
        As `policy` takes it.
    problem : World
        A problem or a world.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.specs import fair
    >>> dollars = lb.Problem(means="-500 to 3000")
    >>> [fair(spec, dollars) for spec in ("cp-ts", "scaled(ts)", "state-library", "cp-ts:prior_mean=1250,prior_sd=1000")]
    ['scaled(cp-ts)', 'scaled(ts)', 'state-library', 'cp-ts:prior_mean=1250,prior_sd=1000']
    >>> fair("cp-ts", lb.Problem())
    'cp-ts'
    """
    if not isinstance(spec, str) or spec.endswith(".toml"):
        return spec
    name, given = split(spec)
    contestant = policy(spec, arms=problem.arms)
    own = (wrapper(name)[0] or name.lower()) in registry.REGISTRY
    if not own or isinstance(contestant, Oracle) or contestant.scale_free or is_unit(problem):
        return spec
    return spec if any(in_unit(contestant, setting) for setting in given) else f"scaled({lowered(spec)})"


def fairly(specs: Mapping[str, Given], problem: World) -> dict[str, Given]:
    """Return labelled specs, each as `fair` returns it; a label that is the spec itself changes with it.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.specs import fairly
    >>> fairly({"ts": "ts", "mine": "ucb1", "random": "random"}, lb.Problem(means="0 to 50"))
    {'scaled(ts)': 'scaled(ts)', 'mine': 'scaled(ucb1)', 'random': 'random'}
    """
    fair_specs = {label: fair(spec, problem) for label, spec in specs.items()}
    return {
        spec if isinstance(spec, str) and label == specs[label] else label: spec for label, spec in fair_specs.items()
    }


def in_unit(contestant: Contestant, setting: str) -> bool:
    """Return whether a setting of a policy, or of one within it, is in the unit of rewards."""
    owner, field = owner_of(contestant, setting)
    return any(isinstance(marker, InUnit) for marker in owner.markers.get(field, ()))


def is_unit(problem: World) -> bool:
    """Return whether the means of a problem or world are known to lie in [0, 1] and to span at least half of it, and rewards are near them.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.specs import is_unit
    >>> worlds = (lb.HiddenMarkov(), lb.HiddenMarkov(means=[[0.1, 0.9]]), lb.Seasons(span=(0, 9)), lb.Problem(means="0.4 to 0.5"))
    >>> [is_unit(world) for world in worlds]
    [True, True, False, False]
    """
    rewards = getattr(problem, "rewards", None)
    if isinstance(rewards, str) and rewards in ("counts", "revenue"):  # many times their mean, now and then
        return False
    ends = means_range(problem)
    return ends is not None and ends[0] >= 0.0 and ends[1] <= 1.0 and ends[1] - ends[0] >= HALF


def means_range(problem: World) -> tuple[float, float] | None:
    """Return the range of the means of a problem or world, None if it is not known."""
    world = problem.sample(0, 0) if isinstance(problem, _Sampled) else problem
    while isinstance(world, _Around) and not isinstance(world, _Spanned):  # one that says nothing of the means itself
        world = world.world
    levels: ArrayLike | None = world.means if isinstance(world, _Levelled) else None
    if levels is None and isinstance(world, _Spanned):
        levels = world.span
    return None if levels is None else (float(np.min(levels)), float(np.max(levels)))

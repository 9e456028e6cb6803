"""A case is everything that one simulation needs, as data."""

import dataclasses
import hashlib
import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from latentbandits.settings import describe

_PACKAGE = Path(__file__).parents[1]
# What every result depends on, whatever the policy
_ENGINE = (
    "compiled.py",
    "linear.py",
    "noise.py",
    "policies/bayes_filter.py",
    "policies/lag_table.py",
    "policies/oracles.py",
    "policies/stories.py",
    "protocols.py",
    "random.py",
    "rewards.py",
    "simulation/loop.py",
    "simulation/batch.py",
    "worlds",
)


@dataclasses.dataclass(frozen=True)
class Case:
    """One world, several policies, all sizes.

    Attributes
    ----------
    name : what the case is called within its experiment
    world : the world
    policies : label -> policy
    horizon, draws, repeats, seed : sizes and randomness, as in `latentbandits.simulate`
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

    @property
    def rounds(self) -> int:
        """Rounds of all policies and runs."""
        return len(self.policies) * self.horizon * self.draws * self.repeats

    def about(self) -> dict[str, Any]:
        """Return the case as plain values."""
        sizes = {field: getattr(self, field) for field in ("horizon", "draws", "repeats", "seed", "bins")}
        policies = {label: about_policy(one) for label, one in self.policies.items()}
        return {"name": self.name, "world": about_world(self.world), **sizes, "policies": policies}

    def key(self, label: str) -> str:
        """Return the name of one policy's results: the same content has the same name, in any experiment."""
        about = self.about()
        content = {k: about[k] for k in ("world", "horizon", "draws", "repeats", "seed", "bins")}
        content["policy"] = about["policies"][label]
        content["code"] = code_version(self.policies[label])
        content["world code"] = _source(self.world)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]


def about_policy(policy: Any) -> dict[str, Any]:
    """Return a policy's settings as plain values, those of a policy within it too."""
    plain = {
        key: about_policy(value) if hasattr(value, "_fields") else value for key, value in describe(policy).items()
    }
    return {"class": type(policy).__name__, **plain}


def about_world(world: Any) -> dict[str, Any]:
    """Return a world's options as plain values."""
    return {"class": type(world).__name__} | {
        field.name: _plain(getattr(world, field.name)) for field in dataclasses.fields(world)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return about_world(value) if dataclasses.is_dataclass(value) else value


def _file(thing: Any) -> Path:
    """Return the file that a thing's class is written in."""
    return Path(sys.modules[type(thing).__module__].__file__ or "")


# What runs is what was imported, whatever happens to the files meanwhile
_SOURCES = {file: file.read_bytes() for file in sorted(_PACKAGE.rglob("*.py"))}


@cache
def _digest(*parts: Path) -> str:
    made = hashlib.sha256()
    for part in parts:
        for file in [file for file in _SOURCES if file.is_relative_to(part)] or [part]:
            made.update(_SOURCES[file] if file in _SOURCES else file.read_bytes())
    return made.hexdigest()


def _source(thing: Any) -> str:
    """Return a digest of the file that a thing's class is written in."""
    return _digest(_file(thing))


def code_version(policy: Any) -> str:
    """Return a digest of the sources that a policy's results depend on: its own file, those of policies within it, and the engine."""
    within = [value for value in policy if hasattr(value, "_fields")]
    return _digest(*map(_file, (policy, *within)), *(_PACKAGE / name for name in _ENGINE))

"""A fit as a problem: `compare` and `advise` take it like a description in words."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from latentbandits.advice.problem import WorldProblem
from latentbandits.logs.worlds import FittedWorld

# What is moved to see when the advice would flip -> the scale of the world
SCALES = {"factor on dwell": "scale_dwell", "factor on noise": "scale_noise", "factor on gaps": "scale_gaps"}


@dataclass(frozen=True)
class FittedProblem(WorldProblem):
    """A world that is as a log was, with the sizes of a simulation; dwell, noise and the gaps between arms can be scaled.

    Attributes
    ----------
    kind : the explanation that the world stands for
    world, units, horizon, runs, seed, policies : as in `WorldProblem`
    """

    world: FittedWorld
    units: int = 1
    kind: str = "fitted"  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"a log as {self.world}"

    @property
    def given(self) -> Mapping[str, Any]:
        """The words that were given: none."""
        return {}

    @property
    def factors(self) -> Mapping[str, float]:
        """What can be moved, and where it is."""
        binary = self.world.rewards == "bernoulli"
        return {name: getattr(self.world, scale) for name, scale in SCALES.items() if not (binary and "noise" in name)}

    def scaled(self, factor: str, value: float) -> Self:
        """Return the same problem with one factor at a value."""
        return dataclasses.replace(self, world=self.world.scaled(**{SCALES[factor]: value}))

    def widened(self) -> Self:
        """Return the same problem: what is not known is in the samples of the fit."""
        return self

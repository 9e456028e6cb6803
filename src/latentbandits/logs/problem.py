"""A fit as a problem: `compare` and `advise` take it like a description in words."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from latentbandits.advice.base import WorldProblem
from latentbandits.advice.parameter import Range
from latentbandits.advice.problem import POINTS, STRETCH
from latentbandits.logs.worlds import BINARY, FittedWorld

DWELL, NOISE, GAPS = "factor on dwell", "factor on noise", "factor on gaps"
SCALES = {DWELL: "scale_dwell", NOISE: "scale_noise", GAPS: "scale_gaps"}  # factor -> the scale of the world


@dataclass(frozen=True)
class FittedProblem(WorldProblem):
    """A world that is as a log was, with the sizes of a simulation; dwell, noise and the gaps between arms can be scaled.

    Attributes
    ----------
    kind : the explanation that the world stands for
    world, groups, horizon, runs, seed, policies : as in `WorldProblem`
    """

    world: FittedWorld
    groups: int | None = 1
    kind: str = "fitted"
    advisable: ClassVar[bool] = True

    def __repr__(self) -> str:
        return f"a log as {self.world}"

    @property
    def factors(self) -> Mapping[str, float]:
        """What can be moved, and where it is."""
        noise = {} if self.world.rewards == BINARY else {NOISE: self.world.scale_noise}
        return {DWELL: self.world.scale_dwell} | noise | {GAPS: self.world.scale_gaps}

    def movable(self) -> list[str]:
        """Return the factors, and the horizon."""
        return [*self.factors, *super().movable()]

    def bounds(self, quantity: str) -> Range:
        """Return the present value of a factor, twice; or of the horizon."""
        value = self.factors.get(quantity, self.horizon)
        return Range(value, value)

    def grid(self, quantity: str) -> list[float]:
        """Return the values that a factor is moved to, or the horizon."""
        if quantity not in self.factors:
            return super().grid(quantity)
        low, high = self.bounds(quantity)
        return [float(value) for value in np.geomspace(low / STRETCH, high * STRETCH, POINTS)]

    def move(self, quantity: str, value: float) -> Self:
        """Return the problem with one factor, or the horizon, at a value."""
        if quantity not in self.factors:
            return super().move(quantity, value)
        return dataclasses.replace(self, world=self.world.scale(**{SCALES[quantity]: value}))

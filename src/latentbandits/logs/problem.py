"""A fit as a problem: `compare` and `advise` take it like a description in words."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from latentbandits.advice.problem import WorldProblem
from latentbandits.advice.ranges import Range
from latentbandits.logs.worlds import FittedWorld

# word -> scale of the world
SCALES = {"dwell": "scale_dwell", "noise": "scale_noise", "gaps": "scale_gaps"}


@dataclass(frozen=True)
class FittedProblem(WorldProblem):
    """A world that is as a log was, with the sizes of a simulation; dwell, noise and gaps can be scaled.

    Attributes
    ----------
    kind : the explanation that the world stands for
    world, units, horizon, runs, seed, policies : as in `WorldProblem`
    """

    kind: str = "fitted"  # type: ignore[misc]
    fitted: ClassVar[bool] = True

    def replace(self, **words: Any) -> Self:
        """Return the same problem with some sizes, or the scale of dwell, noise or gaps, changed."""
        import dataclasses

        scales = {SCALES[word]: float(words.pop(word)) for word in list(words) if word in SCALES}
        sized = super().replace(**{word: value for word, value in words.items() if value is not None})
        if not scales:
            return sized
        assert isinstance(self.world, FittedWorld)
        return dataclasses.replace(sized, world=self.world.scaled(**scales))

    def range(self, word: str) -> Range:
        """Return the present scale of dwell, noise or gaps."""
        value = getattr(self.world, SCALES[word])
        return Range(value, value)

"""A world in another unit of rewards."""

from dataclasses import dataclass

import numpy as np

from latentbandits.protocols import Realisation
from latentbandits.settings import Refusal
from latentbandits.worlds.hidden_markov import HiddenMarkov


@dataclass(frozen=True)
class Rescaled:
    """A hidden Markov world in another unit: every reward x becomes shift + scale x.

    Parameters
    ----------
    world : HiddenMarkov
        The world; its rewards must be Gaussian.
    shift, scale : float
        Zero and unit of the rewards; the scale must be positive.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits_studies.experiments.state_library.rescaled import Rescaled
    >>> world = Rescaled(lb.HiddenMarkov(), shift=5.0, scale=0.001)
    >>> bool((abs(world.realise(horizon=9, units=1, seed=0, draw=0, repeat=0).means - 5.0005) < 0.0005).all())
    True
    """

    world: HiddenMarkov
    shift: float
    scale: float

    def __post_init__(self) -> None:
        if not self.scale > 0:
            raise Refusal("Rescaled", "scale", self.scale, "above 0")
        if self.world.rewards != "gaussian":
            raise Refusal("Rescaled", "rewards", self.world.rewards, "gaussian")

    @property
    def arms(self) -> int:
        """Number of arms."""
        return self.world.arms

    @property
    def span(self) -> tuple[float, float]:
        """Range of the means."""
        known = self.world.span if self.world.means is None else self.world.means
        return self.shift + self.scale * float(np.min(known)), self.shift + self.scale * float(np.max(known))

    def realise(self, horizon: int, units: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return one realisation; see `latentbandits.protocols.World`."""
        table = self.world.realise(horizon, units, seed, draw, repeat)
        truth = table.truth
        if truth is not None:
            truth = truth._replace(means=self.shift + self.scale * truth.means, noise=self.scale * truth.noise)
        return table._replace(
            means=self.shift + self.scale * table.means,
            rewards=self.shift + self.scale * table.rewards,
            truth=truth,
        )

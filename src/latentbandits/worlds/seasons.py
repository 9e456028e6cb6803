"""A world whose states follow each other in a fixed order and last a fixed time."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from latentbandits.random import Purpose, stream
from latentbandits.settings import AtLeast, checked
from latentbandits.worlds.base import Path
from latentbandits.worlds.regimes import Regimes


@checked
@dataclass(frozen=True, repr=False)
class Seasons(Regimes):
    """States that follow each other like the seasons of a calendar; a policy does not observe the date.

    With two states, a `dwell` of 1 is a state that alternates, and one of the horizon is a single change at a random time.

    Parameters
    ----------
    states : int
        Number of states (seasons).
    dwell : int
        Rounds that a state lasts.
    arms : int
        Number of arms.
    **options
        Means, noise, rewards and everything else that worlds with states have in common: see `latentbandits.worlds.regimes.Regimes` and
        `latentbandits.worlds.base.SampledWorld`.

    Examples
    --------
    >>> import latentbandits as lb
    >>> realisation = lb.Seasons(states=4, dwell=3).realise(horizon=12, groups=1, seed=0, draw=0, repeat=0)
    >>> int((np.diff(realisation.states) != 0).sum())
    4
    """

    states: Annotated[int, AtLeast(1)] = 4
    dwell: Annotated[int, AtLeast(1)] = 100
    arms: Annotated[int, AtLeast(2)] = 2

    def path(self, horizon: int, seed: int, draw: int, repeat: int) -> Path:
        """Return how the means change; it begins on a random day."""
        day = np.random.default_rng(stream(seed, Purpose.PATH, draw, repeat)).integers(self.states * self.dwell)
        season = (day + np.arange(horizon)) // self.dwell
        states, matrix = self.visits(season - day // self.dwell, season % self.states, seed, draw, repeat)
        return Path(states, matrix[states])

"""A world whose states come in a fixed order and last a fixed time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from latentbandits.protocols import Realisation
from latentbandits.random import Purpose, stream
from latentbandits.settings import Vector, array, refuse, whole
from latentbandits.worlds.rewards import check_noise, check_span, received, unit_scales


@dataclass(frozen=True)
class Seasons:
    """Seasons that follow each other like a calendar; the policy is not told the date.

    Parameters
    ----------
    seasons : int
        Number of seasons.
    dwell : int
        Rounds that a season lasts.
    arms : int
        Number of arms.
    means : array (seasons, arms), optional
        Mean rewards; drawn uniformly from `span` for every draw of the world if not given.
    span : pair of float
        Interval from which means are drawn uniformly, where they are drawn.
    noise : float
        Standard deviation of Gaussian rewards.
    unit_noise : sequence of float, optional
        Standard deviation for each unit; `noise` times the root of the number of units if not given.
    rewards : {"gaussian", "bernoulli"}
        Kind of rewards.

    Examples
    --------
    >>> import latentbandits as lb
    >>> realisation = lb.Seasons(seasons=4, dwell=3).realise(horizon=12, units=1, seed=0, draw=0, repeat=0)
    >>> int((np.diff(realisation.states) != 0).sum())
    4
    """

    seasons: int = 4
    dwell: int = 100
    arms: int = 2
    means: Any = None
    noise: float = 0.01
    unit_noise: Sequence[float] | None = None
    rewards: str = "gaussian"
    span: Sequence[float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        for field, least in (("seasons", 1), ("dwell", 1), ("arms", 2)):
            whole("Seasons", field, getattr(self, field), least=least)
        if self.means is not None:
            means = array("Seasons", "means", self.means, Vector(2))
            if means.shape != (self.seasons, self.arms):
                raise refuse("Seasons", "means", f"of shape {means.shape}", f"shape ({self.seasons}, {self.arms})")
            object.__setattr__(self, "means", means)
        check_noise("Seasons", self.rewards, self.noise, self.unit_noise)
        check_span("Seasons", self.span, self.rewards)

    def realise(self, horizon: int, units: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return one realisation, which begins on a random day; see `latentbandits.protocols.World`."""
        drawn = np.random.default_rng(stream(seed, Purpose.WORLD, draw)).random((self.seasons, self.arms))
        matrix = self.span[0] + (self.span[1] - self.span[0]) * drawn if self.means is None else self.means
        day = np.random.default_rng(stream(seed, Purpose.PATH, draw, repeat)).integers(self.seasons * self.dwell)
        states = (day + np.arange(horizon)) // self.dwell % self.seasons
        means = matrix[states]
        scales = unit_scales("Seasons", self.noise, self.unit_noise, units)
        rewards = received(means, scales, self.rewards, seed, draw, repeat)
        return Realisation(means, rewards, np.zeros((horizon, 0)), states, None)

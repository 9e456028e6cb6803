"""A world whose states follow each other in a fixed order and last a fixed time."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from latentbandits.protocols import Realisation
from latentbandits.random import Purpose, stream
from latentbandits.rewards import NAMES, UNIT_NOISE, check_means, sampled, unit_scales
from latentbandits.settings import AtLeast, Interval, OneOf, Refusal, Vector, checked


@checked
@dataclass(frozen=True)
class Seasons:
    """States that follow each other like the seasons of a calendar; a policy does not observe the date.

    Parameters
    ----------
    states : int
        Number of states (seasons).
    dwell : int
        Rounds that a state lasts.
    arms : int
        Number of arms.
    means : array (states, arms), optional
        Mean rewards; sampled uniformly from `span` for every draw of the world if not given.
    span : pair of float
        Interval from which means are sampled, if they are.
    noise : float
        Standard deviation of Gaussian rewards.
    unit_noise : sequence of float, optional
        Standard deviation for each unit; `noise` times the root of the number of units if not given.
    rewards : str
        Distribution of rewards, a name of `latentbandits.rewards.DISTRIBUTIONS`.

    Examples
    --------
    >>> import latentbandits as lb
    >>> realisation = lb.Seasons(states=4, dwell=3).realise(horizon=12, units=1, seed=0, draw=0, repeat=0)
    >>> int((np.diff(realisation.states) != 0).sum())
    4
    """

    states: Annotated[int, AtLeast(1)] = 4
    dwell: Annotated[int, AtLeast(1)] = 100
    arms: Annotated[int, AtLeast(2)] = 2
    means: Annotated[Any, Vector(2)] = None
    noise: Annotated[float, AtLeast(0)] = 0.01
    unit_noise: Annotated[Any, UNIT_NOISE] = None
    rewards: Annotated[str, OneOf(NAMES)] = "gaussian"
    span: Annotated[tuple[float, float], Interval()] = (0.0, 1.0)

    def check(self) -> None:
        """Refuse means that do not fit the sizes or the rewards."""
        if self.means is not None:
            sizes = self.states, self.arms
            if self.means.shape != sizes:
                rule = f"{sizes}, one row per state and one column per arm"
                raise Refusal("Seasons", "means", self.means.shape, rule, ".shape")
            check_means("Seasons", "means", self.means, self.rewards)
        check_means("Seasons", "span", self.span, self.rewards)

    def realise(self, horizon: int, units: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return one realisation, which begins on a random day; see `latentbandits.protocols.World`."""
        levels = np.random.default_rng(stream(seed, Purpose.WORLD, draw)).random((self.states, self.arms))
        matrix = self.span[0] + (self.span[1] - self.span[0]) * levels if self.means is None else self.means
        day = np.random.default_rng(stream(seed, Purpose.PATH, draw, repeat)).integers(self.states * self.dwell)
        states = (day + np.arange(horizon)) // self.dwell % self.states
        means = matrix[states]
        scales = unit_scales("Seasons", self.noise, self.unit_noise, units)
        rewards = sampled(means, scales, self.rewards, seed, draw, repeat)
        return Realisation(means, rewards, np.zeros((horizon, 0)), states, None)

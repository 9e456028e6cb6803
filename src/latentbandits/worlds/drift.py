"""A world without states: the mean of every arm drifts smoothly."""

from dataclasses import dataclass
from math import erf, sqrt
from typing import Annotated, Any

import numpy as np

from latentbandits.protocols import Realisation
from latentbandits.random import Purpose, stream
from latentbandits.rewards import NAMES, UNIT_NOISE, check_means, sampled, unit_scales
from latentbandits.settings import Above, AtLeast, Interval, OneOf, checked

_WAVES = 32


@checked
@dataclass(frozen=True)
class Drift:
    """Means that move smoothly within an interval as smooth random curves, uniform at any moment.

    Each arm's curve is a sum of random waves (an approximate Gaussian process with a squared-exponential kernel) pushed through the normal
    distribution function.

    Parameters
    ----------
    arms : int
        Number of arms.
    timescale : float
        Rounds after which a mean has changed a lot (the kernel's length scale).
    span : pair of float
        Interval that the means move smoothly within.
    noise : float
        Standard deviation of Gaussian rewards.
    unit_noise : sequence of float, optional
        Standard deviation for each unit; `noise` times the root of the number of units if not given.
    rewards : str
        Distribution of rewards, a name of `latentbandits.rewards.DISTRIBUTIONS`.

    Examples
    --------
    >>> import latentbandits as lb
    >>> realisation = lb.Drift(arms=3, timescale=200).realise(horizon=1000, units=1, seed=0, draw=0, repeat=0)
    >>> bool((abs(np.diff(realisation.means, axis=0)) < 0.02).all())
    True
    """

    arms: Annotated[int, AtLeast(2)] = 2
    timescale: Annotated[float, Above(0)] = 500.0
    noise: Annotated[float, AtLeast(0)] = 0.01
    unit_noise: Annotated[Any, UNIT_NOISE] = None
    rewards: Annotated[str, OneOf(NAMES)] = "gaussian"
    span: Annotated[tuple[float, float], Interval()] = (0.0, 1.0)

    def check(self) -> None:
        """Refuse means that the rewards cannot have."""
        check_means("Drift", "span", self.span, self.rewards)

    def realise(self, horizon: int, units: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return one realisation; see `latentbandits.protocols.World`."""
        generator = np.random.default_rng(stream(seed, Purpose.WORLD, draw))
        speed = generator.standard_normal((self.arms, _WAVES)) / self.timescale
        phase = generator.uniform(0, 2 * np.pi, (self.arms, _WAVES))
        # A repeat is another stretch of the same endless curve.
        begin = np.random.default_rng(stream(seed, Purpose.PATH, draw, repeat)).uniform(0, 1e4 * self.timescale)
        time = begin + np.arange(horizon)
        means = np.empty((horizon, self.arms))
        for arm in range(self.arms):
            curve = sqrt(2 / _WAVES) * sum(np.cos(w * time + p) for w, p in zip(speed[arm], phase[arm], strict=True))
            means[:, arm] = [0.5 * (1 + erf(x / sqrt(2))) for x in curve]
        means = self.span[0] + (self.span[1] - self.span[0]) * means
        scales = unit_scales("Drift", self.noise, self.unit_noise, units)
        rewards = sampled(means, scales, self.rewards, seed, draw, repeat)
        return Realisation(means, rewards, np.zeros((horizon, 0)), np.full(horizon, -1), None)

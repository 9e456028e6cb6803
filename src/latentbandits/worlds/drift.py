"""A world without states: the mean of every arm drifts smoothly."""

from dataclasses import dataclass
from math import sqrt
from typing import Annotated

import numpy as np

from latentbandits.random import Purpose, stream
from latentbandits.settings import Above, AtLeast, checked
from latentbandits.worlds.base import Path, SampledWorld
from latentbandits.worlds.regimes import normal_share

_WAVES = 32


@checked
@dataclass(frozen=True, repr=False)
class Drift(SampledWorld):
    """Means that move smoothly within an interval as smooth random curves, uniform at any moment.

    Each arm's curve is a sum of random waves (an approximate Gaussian process with a squared-exponential kernel) pushed through the normal
    distribution function.

    Parameters
    ----------
    arms : int
        Number of arms.
    timescale : float
        Rounds after which a mean has changed a lot (the kernel's length scale).
    **options
        Noise, rewards and everything else that worlds have in common: see `latentbandits.worlds.base.SampledWorld`.

    Examples
    --------
    >>> import latentbandits as lb
    >>> realisation = lb.Drift(arms=3, timescale=200).realise(horizon=1000, groups=1, seed=0, draw=0, repeat=0)
    >>> bool((abs(np.diff(realisation.means, axis=0)) < 0.02).all())
    True
    """

    arms: Annotated[int, AtLeast(2)] = 2
    timescale: Annotated[float, Above(0)] = 500.0

    def path(self, horizon: int, seed: int, draw: int, repeat: int) -> Path:
        """Return how the means change."""
        # A repeat is another stretch of the same endless curve.
        begin = np.random.default_rng(stream(seed, Purpose.PATH, draw, repeat)).uniform(0, 1e4 * self.timescale)
        time = begin + np.arange(horizon)
        curves = self._curves(np.random.default_rng(stream(seed, Purpose.WORLD, draw)), self.arms, time)
        if self.together > 0:
            (shared,) = self._curves(np.random.default_rng(stream(seed, Purpose.MEANS, draw)), 1, time)
            curves = [sqrt(self.together) * shared + sqrt(1 - self.together) * own for own in curves]
        levels = normal_share(np.stack(curves, axis=1))
        levels = self.dominate(levels) if self.dominated > 0 else levels
        return Path(np.full(horizon, -1), self.span[0] + (self.span[1] - self.span[0]) * levels)

    def _curves(self, generator: np.random.Generator, count: int, time: np.ndarray) -> list[np.ndarray]:
        """Return smooth random curves, normal at any moment."""
        speed = generator.standard_normal((count, _WAVES)) / self.timescale
        phase = generator.uniform(0, 2 * np.pi, (count, _WAVES))
        waves = [zip(*wave, strict=True) for wave in zip(speed, phase, strict=True)]
        return [sqrt(2 / _WAVES) * sum(np.cos(w * time + p) for w, p in wave) for wave in waves]

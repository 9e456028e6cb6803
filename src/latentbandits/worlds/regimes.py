"""What worlds with hidden states have in common: how the means of the states are sampled."""

from dataclasses import dataclass
from math import erf, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from latentbandits.random import Purpose, stream
from latentbandits.rewards import check_means
from latentbandits.settings import AtLeast, Vector, Within
from latentbandits.worlds.base import SampledWorld
from latentbandits.worlds.noise import unequal

# The options that concern how means are sampled
SAMPLED = ("together", "dominated", "alike")
normal_quantile = np.vectorize(NormalDist().inv_cdf, otypes=[float])
normal_share = np.vectorize(lambda x: 0.5 * (1 + erf(x / sqrt(2))), otypes=[float])


@dataclass(frozen=True, kw_only=True, repr=False)
class Regimes(SampledWorld):
    """The options of a world with hidden states, beside those of `SampledWorld`.

    Parameters
    ----------
    means : array (states, arms), optional
        Mean rewards; sampled uniformly from `span` for every draw of the world if not given.
    uneven_states : float
        Every state has noise of its own, between `noise` divided and multiplied by the root of this factor.
    alike : float
        Share of states that have the mean of one arm from another state, so that this arm does not tell them apart.
    returning : float
        Share of visits to a state that bring back its means; the others have new means, which never return.
    """

    means: Annotated[Any, Vector(2)] = None
    uneven_states: Annotated[float, AtLeast(1)] = 1.0
    alike: Annotated[float, Within(0, 1)] = 0.0
    returning: Annotated[float, Within(0, 1)] = 1.0

    if TYPE_CHECKING:

        @property
        def states(self) -> int:
            """Number of states, a field of every such world."""

    def check(self) -> None:
        """Refuse means that do not fit the sizes, the rewards or the options; see `SampledWorld.check`."""
        if self.means is not None:
            if self.means.shape != (self.states, self.arms):
                rule = f"({self.states}, {self.arms}), one row per state and one column per arm"
                raise self._refusal("means", rule).at(value=self.means.shape, part=".shape")
            check_means(self._owner, "means", self.means, self.rewards)
            for option in self._changed(*SAMPLED):
                raise self._refusal(option, "left out when means are given")
        super().check()

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest mean that it can have, before any effect."""
        return self.span if self.means is None else (float(self.means.min()), float(self.means.max()))

    def levels(self, generator: np.random.Generator) -> np.ndarray:
        """Sample the means of all states on a scale from 0 to 1."""
        return generator.random((self.states, self.arms))

    def matrix(self, seed: int, draw: int) -> np.ndarray:
        """Return the mean rewards of one draw of the world, an array (states, arms)."""
        if self.means is not None:
            return self.means  # type: ignore[no-any-return]
        levels = self.levels(np.random.default_rng(stream(seed, Purpose.WORLD, draw)))
        if self.together > 0 or self.dominated > 0 or self.alike > 0:
            levels = self._arranged(levels, np.random.default_rng(stream(seed, Purpose.MEANS, draw)))
        return self._scaled(levels)

    def _scaled(self, levels: np.ndarray) -> np.ndarray:
        low, high = self.ends
        return low + (high - low) * levels

    def _arranged(self, levels: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """Return levels of states that have something in common, as the options say; more states change nothing of the first."""
        random = generator.random((len(levels), 4))
        if self.together > 0:  # normal numbers with this correlation, as uniform ones
            shared, own = normal_quantile(random[:, :1]), normal_quantile(levels)
            levels = normal_share(sqrt(self.together) * shared + sqrt(1 - self.together) * own)
        if self.dominated > 0:
            levels = self.dominate(levels)
        for state in range(1, len(levels)):
            if random[state, 1] < self.alike:
                other, arm = int(random[state, 2] * state), int(random[state, 3] * self.arms)
                levels[state, arm] = levels[other, arm]
        if self.dominated > 0:  # what was copied may be above the first arm
            last = self.arms - self.dominated
            levels[:, last:] = np.minimum(levels[:, last:], levels[:, :1])
        return levels

    def visits(
        self, visit: np.ndarray, states: np.ndarray, seed: int, draw: int, repeat: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the states of all rounds, with numbers of their own for visits that have new means, and the means of all states.

        `visit` is the number of the visit that a round belongs to, from 0, and `states` has its state, both (rounds,).
        """
        matrix = self.matrix(seed, draw)
        if self.returning == 1:
            return states, matrix
        number = int(visit.max(initial=-1)) + 1
        random = np.random.default_rng(stream(seed, Purpose.VISITS, draw, repeat, 1)).random((number, self.arms + 1))
        arranged = self._arranged(random[:, 1:], np.random.default_rng(stream(seed, Purpose.VISITS, draw, repeat, 2)))
        fresh = random[visit, 0] >= self.returning
        return np.where(fresh, self.states + visit, states), np.vstack([matrix, self._scaled(arranged)])

    def state_noise(self, states: np.ndarray, seed: int, draw: int) -> np.ndarray | float:
        """Return how many times its usual size the noise of every round is, an array (rounds, 1) or a number."""
        if self.uneven_states == 1:
            return 1.0
        generator = np.random.default_rng(stream(seed, Purpose.SHAPE, draw, 1))
        return unequal(generator, self.uneven_states, int(states.max()) + 1)[states, None]

"""The slow twin of the planner: every reward node of every arm, without bounds that save work."""

import math
from collections.abc import Sequence

import numpy as np

from tests.naive import Floats, first_best
from tests.naive_filter import NaiveFilter

REACH = 5  # nodes on either side of a mean


def likelihoods(means: Floats, noise: Floats, bernoulli: bool) -> Floats:
    """Return the probability of every reward node (columns) of one arm, by state: counts of ones, or points a deviation apart."""
    if bernoulli:
        groups = len(noise)
        return np.array(
            [[math.comb(groups, n) * p**n * (1 - p) ** (groups - n) for n in range(groups + 1)] for p in means]
        )
    deviation = float((1 / noise**2).sum() ** -0.5)
    places = (means - means.min()) / deviation
    nearest = np.floor(places + 0.5)
    grid = sorted({float(near + step) for near in nearest for step in range(-REACH, REACH + 1)})
    found = np.array([[math.exp(-((x - place) ** 2) / 2) for x in grid] for place in places])
    found[np.abs(np.array(grid) - nearest[:, None]) > REACH] = 0.0
    return np.asarray(found / found.sum(axis=1, keepdims=True))


class NaivePlanner(NaiveFilter):
    """A filter whose indices are expected rewards plus a multiple of what the next round gains by seeing the reward."""

    def __init__(
        self,
        transition: Floats,
        means: Floats,
        start: Floats,
        noise: Floats,
        bernoulli: bool,
        groups: int,
        multiplier: float,
    ) -> None:
        super().__init__(transition, means, start, noise, bernoulli, groups)
        self.multiplier, self.ahead = multiplier, transition @ means
        self.nodes = [likelihoods(column, noise, bernoulli) for column in means.T]
        self.probe_reasons: frozenset[str] = frozenset()

    def belief(self) -> Floats:
        return np.asarray(np.exp(self.log_belief - np.logaddexp.reduce(self.log_belief)))

    def indices(self, available: Sequence[int]) -> Floats:
        """Return the index of every arm."""
        belief, values = self.belief(), self.expected()
        certain = belief @ self.ahead.max(axis=1)
        blind = (belief @ self.ahead)[list(available)].max()
        if certain - blind <= 1e-5 * np.ptp(self.means):
            return values
        seeing = [
            (self.ahead[:, list(available)].T @ (belief[:, None] * nodes)).max(axis=0).sum() for nodes in self.nodes
        ]
        return np.asarray(values + self.multiplier * (np.array(seeing) - blind))

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        arm = first_best(available, self.indices(available))
        self.probe_reasons = frozenset() if arm == first_best(available, self.expected()) else frozenset(["rival"])
        return [arm] * self.groups

"""A world in which every arm has regimes of its own."""

from dataclasses import dataclass
from math import sqrt
from typing import Annotated

import numpy as np

from latentbandits.protocols import ArmChains, Realisation
from latentbandits.random import Purpose, stream
from latentbandits.rewards import group_scales
from latentbandits.settings import AtLeast, Within, checked
from latentbandits.worlds.base import Path
from latentbandits.worlds.dwell import SHORTEST, UNEVEN, visited
from latentbandits.worlds.hidden_markov import HiddenMarkov
from latentbandits.worlds.noise import unequal
from latentbandits.worlds.regimes import Regimes


@checked
@dataclass(frozen=True, repr=False, kw_only=True)
class Independent(HiddenMarkov):
    """Every arm is a hidden Markov chain of its own over its levels, as providers, zones and servers fail and recover one by one.

    Everything that a `HiddenMarkov` world has is true of every arm by itself: `states` are the levels of an arm (2 unless given), a row of
    `means` holds the level of that number of all arms, and `rare` is the share of time that an arm spends at its last level, which then
    is the lowest mean.

    Parameters
    ----------
    uneven_dwell : float
        Every arm has a dwell time of its own, between the usual one divided and multiplied by the root of this factor.
    incidents : float
        Share of time of incidents that hit all arms at once: each pays its lowest level. They last as long as a level usually does; the
        arms' own chains go on meanwhile.
    **options
        See `HiddenMarkov`, but for `separation` and ``reveal="state"``.

    Examples
    --------
    >>> import latentbandits as lb
    >>> world = lb.Independent(arms=3, dwell=20, means=[[0.9, 0.8, 0.7], [0.1, 0.2, 0.3]])
    >>> means = world.realise(horizon=1000, groups=1, seed=0, draw=0, repeat=0).means
    >>> [sorted(set(arm.tolist())) for arm in means.T]
    [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]]
    """

    uneven_dwell: Annotated[float, AtLeast(1)] = 1.0
    incidents: Annotated[float, Within(0, 0.5)] = 0.0

    def check(self) -> None:
        """Refuse what does not fit together; fill in what follows from the rest."""
        if self.states is None and self.means is None and self.transition is None:
            self._set("states", 2)
        if self.separation is not None:
            raise self._refusal("separation", "left out where every arm has regimes of its own")
        if self.reveal == "state":
            raise self._refusal("reveal", "nothing or means where every arm has regimes of its own")
        super().check()
        leaving = (1 - np.diag(self.chain)).max()
        if self.dwell_shape in UNEVEN and leaving * sqrt(self.uneven_dwell) > 1.000001 / SHORTEST:
            raise self._refusal("uneven_dwell", f"less: no level may last less than {SHORTEST:g} rounds on average")

    def matrix(self, seed: int, draw: int) -> np.ndarray:
        """Return the levels of one draw of the world, an array (levels, arms)."""
        levels = Regimes.matrix(self, seed, draw)
        if self.rare > 0 and self.means is None:
            levels[-1] = self.span[0]
        return levels

    def chains(self, seed: int, draw: int) -> np.ndarray:
        """Return the transition matrix of every arm, an array (arms, levels, levels)."""
        pace = np.ones(self.arms)
        if self.uneven_dwell > 1:
            pace = unequal(np.random.default_rng(stream(seed, Purpose.MEANS, draw, 1)), self.uneven_dwell, self.arms)
        leaving = (1 - np.diag(self.chain)).max()
        pace = np.minimum(pace, 1 / max(leaving, 1e-9))  # at most a change in every round
        stay = np.eye(self.states)
        return stay + pace[:, None, None] * (self.chain - stay)  # type: ignore[no-any-return]

    def path(self, horizon: int, seed: int, draw: int, repeat: int) -> Path:
        """Return how the means change; the state of a round is a number for what all arms are at, in the order of appearance."""
        means, levels = np.empty((horizon, self.arms)), np.empty((horizon, self.arms + 1), np.int64)
        for arm, chain in enumerate(self.chains(seed, draw)):
            generator = np.random.default_rng(stream(seed, Purpose.PATH, draw, repeat, arm))
            own = visited(
                generator, self.dwell_shape, chain, self.start, horizon + 1
            )  # with the round before the first
            own, rows = self.visits(np.append(0, np.cumsum(np.diff(own) != 0)), own, seed, draw, repeat)
            means[:, arm] = (1 - self.carryover) * rows[own[1:], arm] + self.carryover * rows[own[:-1], arm]
            levels[:, arm] = own[1:]
        incident = self._incidents(horizon, seed, draw, repeat)
        means[incident] = self.matrix(seed, draw).min(axis=0)
        levels[:, -1] = incident
        levels[incident, :-1] = -1
        if self.dominated > 0:
            last = self.arms - self.dominated
            means[:, last:] = np.minimum(means[:, last:], means[:, :1])
        return Path(_numbered(levels), means)

    def _incidents(self, horizon: int, seed: int, draw: int, repeat: int) -> np.ndarray:
        """Return in which rounds there is an incident."""
        end = float((1 - np.diag(self.chain)).mean())
        if self.incidents == 0 or end == 0:
            return np.zeros(horizon, bool)
        shares = np.array([1 - self.incidents, self.incidents])
        begin = end * self.incidents / (1 - self.incidents)
        chain = np.array([[1 - begin, begin], [end, 1 - end]])
        generator = np.random.default_rng(stream(seed, Purpose.PATH, draw, repeat, self.arms))
        return visited(generator, self.dwell_shape, chain, shares, horizon) == 1  # type: ignore[no-any-return]

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return one realisation; see `latentbandits.protocols.World`."""
        found = super().realise(horizon, groups, seed, draw, repeat)
        known = self._unusual[2] and self.uneven_states == 1 and self.returning == 1
        if not known or self.carryover > 0 or self.incidents > 0 or self.dominated > 0:
            return found
        noise = np.maximum(group_scales(self._owner, self.noise, self.group_noise, groups), 1e-9)
        return found._replace(
            chains=ArmChains(self.chains(seed, draw), self.matrix(seed, draw), self.start, noise, self.rewards)
        )


def _numbered(rows: np.ndarray) -> np.ndarray:
    """Return the number of every row, equal rows alike, in the order of appearance."""
    _, first, number = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return order[number.reshape(-1)]

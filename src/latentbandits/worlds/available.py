"""Any world, of which some arms may be played in some rounds only."""

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from latentbandits.compiled import fast
from latentbandits.protocols import Realisation, World
from latentbandits.random import Stream, below, uniform
from latentbandits.settings import InvalidValueError, Vector, checked


def walk_arms(share: float, stretch: float, random: Stream, available: np.ndarray) -> None:
    """Let arms leave and arrive from round to round; the last one stays."""
    leave = 1.0 / stretch
    arrive = leave * share / (1.0 - share)
    for arm in range(available.shape[1]):
        available[0, arm] = uniform(random) < share
    if not available[0].any():
        available[0, below(random, available.shape[1])] = True
    for t in range(1, len(available)):
        present = 0
        for arm in range(available.shape[1]):
            available[t, arm] = available[t - 1, arm]
            present += 1 if available[t, arm] else 0
        for arm in range(available.shape[1]):
            level = uniform(random)
            if not available[t, arm]:
                available[t, arm] = level < arrive
            elif present > 1 and level < leave:
                available[t, arm] = False
                present -= 1


def come_and_go(rounds: int, arms: int, share: float, stretch: float, random: Stream) -> np.ndarray:
    """Return which arms are available, (rounds, arms): each for a share of the time, in stretches of random lengths; one always is.

    The share is a little larger with few arms, since the last one stays. `stretch` is the mean of the lengths.
    """
    available = np.zeros((rounds, arms), bool)
    fast(walk_arms)(share, stretch, random, available)
    return available


@checked
@dataclass(frozen=True)
class WithAvailability:
    """A world with arms that come and go: the same realisations, and which arms may be played in which round.

    Regret is against the best arm that is available. A horizon longer than the rows of `available` is refused.

    Parameters
    ----------
    world : World
        Any world; where it has availability of its own, an arm needs both.
    available : array (rounds, arms)
        True or 1 where an arm may be played, False or 0 elsewhere. Every round needs at least one arm.

    Examples
    --------
    Arm 2 arrives in round 500, and arm 1 leaves in round 800, counted from 0:

    >>> import latentbandits as lb
    >>> available = np.ones((1000, 3), bool)
    >>> available[:500, 2] = available[800:, 1] = False
    >>> world = lb.WithAvailability(lb.HiddenMarkov(arms=3), available)
    >>> results = lb.simulate(world, ["state-library", "state-oracle"], draws=2, repeats=1)
    >>> results.horizon, float(results.regret[1].max())
    (1000, 0.0)

    A record of rewards in which some are missing:

    >>> rewards = np.array([[0.1, 0.9, np.nan], [0.2, np.nan, 0.8]])
    >>> world = lb.WithAvailability(lb.Replay(np.nan_to_num(rewards)), ~np.isnan(rewards))
    >>> world.realise(horizon=2, groups=1, seed=0, draw=0, repeat=0).offered.max(axis=1).tolist()
    [0.9, 0.8]
    """

    world: Any
    available: Annotated[Any, Vector(2, whole=True)] = field(repr=False)

    def check(self) -> None:
        """Refuse what does not fit the world, and rounds without an arm."""
        if not isinstance(self.world, World) or isinstance(self.world, type):
            raise InvalidValueError("WithAvailability", "world", self.world, "a world, such as HiddenMarkov()")
        given = self.available
        if len(given) == 0 or given.shape[1] != self.world.arms:
            rule = f"(rounds, {self.world.arms}), one column for each arm of the world"
            raise InvalidValueError("WithAvailability", "available", given.shape, rule, ".shape")
        for row in np.flatnonzero(((given != 0) & (given != 1)).any(axis=1) | ~given.any(axis=1))[:1]:
            raise InvalidValueError(
                "WithAvailability", "available", given[row], "0 or 1 for every arm, with at least one 1", f"[{row}]"
            )
        table = given.astype(bool)
        table.flags.writeable = False
        object.__setattr__(self, "available", table)

    @property
    def rounds(self) -> int:
        """Number of rounds for which the available arms are given."""
        return min(len(self.available), getattr(self.world, "rounds", len(self.available)))

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(self.world.arms)

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return a realisation of the world, with the arms that are available; see `latentbandits.protocols.World`."""
        if horizon > len(self.available):
            raise InvalidValueError(
                "WithAvailability", "horizon", horizon, f"at most the {len(self.available)} rows of available"
            )
        realisation: Realisation = self.world.realise(horizon, groups, seed, draw, repeat)
        available = self.available[:horizon]
        if realisation.available is not None:
            available = available & np.asarray(realisation.available, bool)
        return realisation._replace(available=available)

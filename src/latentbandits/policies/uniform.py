"""Uniform random choice: the floor of every comparison."""

from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.protocols import Choice
from latentbandits.random import Stream, below
from latentbandits.settings import AtLeast, checked


class State(NamedTuple):
    """Number of rewards told; there is nothing else to remember."""

    told: np.ndarray


@checked
class UniformRandom(NamedTuple):
    """Play a random arm, drawn anew for every unit.

    Parameters
    ----------
    arms : int
        Number of arms.
    units : int
        Units per round.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent(lb.UniformRandom(arms=3, units=2), seed=1)
    >>> agent.ask().arms
    (0, 2)
    """

    arms: Annotated[int, AtLeast(2)]
    units: Annotated[int, AtLeast(1)] = 1

    def init(self) -> State:
        """Return the state before the first round."""
        return State(np.zeros(1, np.int64))

    def choose(self, state: State, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Draw each unit's arm."""
        for unit in range(self.units):
            choice.arms[unit] = below(random, self.arms)

    def learn(self, state: State, choice: Choice, rewards: np.ndarray) -> None:  # noqa: ARG002
        """Count."""
        state.told[0] += rewards.shape[0]

"""Uniform random choice: the floor of every comparison."""

from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.policies.arms import available, nth_available, set_mixture
from latentbandits.protocols import Choice, Policy, record_type
from latentbandits.random import Stream, below
from latentbandits.settings import AtLeast

Scalars = record_type(rewards=int)


class Memory(NamedTuple):
    """Number of rewards so far; there is nothing else to remember."""

    scalars: np.ndarray


class UniformRandom(Policy):
    """Play a random arm, sampled for every unit.

    Parameters
    ----------
    arms : int
        Number of arms.
    units : int
        Units per round.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent(lb.policies.UniformRandom(arms=3, units=2), seed=1)
    >>> agent.ask().arms
    (0, 2)
    """

    scale_free = True

    arms: Annotated[int, AtLeast(2)]
    units: Annotated[int, AtLeast(1)] = 1

    def init(self) -> Memory:
        """Return the memory before the first round."""
        return Memory(np.zeros(1, Scalars))

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Sample each unit's arm."""
        number = available(choice)
        set_mixture(choice, 0, 1.0)
        for unit in range(self.units):
            choice.arms[unit] = nth_available(choice, below(random, number))

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:  # noqa: ARG002
        """Count."""
        memory.scalars[0].rewards += rewards.shape[0]

"""The uniform random choice."""

from typing import NamedTuple

import numpy as np

from latentbandits.policies.arms import available, nth_available, set_mixture
from latentbandits.protocols import Choice, PlainPolicy, record_type
from latentbandits.random import Stream, below

Seen = record_type(rewards=int)


class Memory(NamedTuple):
    """Number of rewards so far; there is nothing else to remember."""

    scalars: np.ndarray


class UniformRandom(PlainPolicy):
    """Play a random arm, sampled for every group.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent(lb.policies.UniformRandom(arms=3, groups=2), seed=1)
    >>> agent.ask().arms
    (0, 2)
    """

    scale_free = True

    def init(self) -> Memory:
        """Return the memory before the first round."""
        return Memory(np.zeros(1, Seen))

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Sample each group's arm."""
        number = available(choice)
        set_mixture(choice, 0, 1.0)
        for group in range(self.groups):
            choice.arms[group] = nth_available(choice, below(random, number))

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:  # noqa: ARG002
        """Count."""
        memory.scalars[0].rewards += rewards.shape[0]

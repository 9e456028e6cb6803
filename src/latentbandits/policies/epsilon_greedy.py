"""Epsilon-greedy."""

from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.policies.arms import FIRST, assign, available, highest, nth_available, set_means, set_mixture
from latentbandits.protocols import Choice, Policy
from latentbandits.random import Stream, below, uniform
from latentbandits.settings import AtLeast, Within


class Memory(NamedTuple):
    """Rewards counted and summed per arm."""

    counts: np.ndarray
    sums: np.ndarray


class EpsilonGreedy(Policy):
    """Play a random arm with probability ``epsilon``, else the first untried arm or the one with the highest mean.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm and each reward counts.
    epsilon : float
        Probability of a random arm.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.policies.EpsilonGreedy(arms=2, epsilon=0.05), seed=1).ask().arm
    0
    """

    scale_free = True

    arms: Annotated[int, AtLeast(2)]
    groups: Annotated[int, AtLeast(1)] = 1
    epsilon: Annotated[float, Within(0, 1)] = 0.1

    def init(self) -> Memory:
        """Return the memory before the first round."""
        return Memory(np.zeros(self.arms), np.zeros(self.arms))

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Toss the coin, then explore or exploit."""
        set_means(choice, memory.sums, memory.counts, FIRST)
        best = highest(choice)
        set_mixture(choice, best, self.epsilon)
        if uniform(random) < self.epsilon:
            assign(nth_available(choice, below(random, available(choice))), choice)
        else:
            assign(best, choice)

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Count every group's reward."""
        for group in range(self.groups):
            memory.counts[choice.arms[group]] += 1
            memory.sums[choice.arms[group]] += rewards[group]

"""Epsilon-greedy: the highest mean, and occasionally a random arm."""

from typing import Annotated

import numpy as np

from latentbandits.policies.arms import FIRST, play_mixture, set_means
from latentbandits.policies.counting import CountingPolicy, Memory
from latentbandits.protocols import Choice
from latentbandits.random import Stream
from latentbandits.settings import Within


class EpsilonGreedy(CountingPolicy):
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

    epsilon: Annotated[float, Within(0, 1)] = 0.1

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Toss the coin, then explore or exploit."""
        set_means(choice, memory.sums, memory.counts, FIRST)
        play_mixture(choice, self.epsilon, random)

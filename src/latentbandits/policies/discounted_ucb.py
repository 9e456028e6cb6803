"""D-UCB: confidence bounds that forget at a constant rate."""

import math
from typing import Annotated

import numpy as np

from latentbandits.policies.arms import FIRST, assign_highest, set_index, set_untried
from latentbandits.policies.counting import CountingPolicy, Memory, count_each
from latentbandits.protocols import Choice
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, Within


class DiscountedUCB(CountingPolicy):
    """Upper confidence bounds on discounted means (Garivier & Moulines 2011).

    Counts and sums of all arms shrink by ``discount`` in every round. The bonus is ``sqrt(exploration * log(n) / n_a)`` with n the
    sum of the discounted counts n_a.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm and each reward counts.
    discount : float
        Weight that an observation keeps from one round to the next.
    exploration : float
        Factor within the bonus: 4 xi of the authors, who write it ``2 sqrt(xi log(n) / n_a)``.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.policies.DiscountedUCB(arms=2, discount=0.95), seed=1).ask().arm
    0
    """

    deterministic = True

    discount: Annotated[float, Within(0.01, 1)] = 0.99
    exploration: Annotated[float, AtLeast(0)] = 0.5

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play the first untried arm, else the one with the highest index."""
        total = 0.0
        for arm in range(self.arms):
            total += memory.counts[arm]
        log_n = math.log(max(total, 1.0))
        for arm in range(self.arms):
            n = memory.counts[arm]
            if n > 0:
                set_index(choice, arm, memory.sums[arm] / n, math.sqrt(self.exploration * log_n / n))
            else:
                set_untried(choice, arm, FIRST)
        assign_highest(choice)

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Forget a little, then count every group's reward."""
        for arm in range(self.arms):
            memory.counts[arm] *= self.discount
            memory.sums[arm] *= self.discount
        count_each(memory.counts, memory.sums, choice, rewards)

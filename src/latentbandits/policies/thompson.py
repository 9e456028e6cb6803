"""Thompson sampling with Gaussian posteriors."""

import math
from typing import Annotated

import numpy as np

from latentbandits.policies.arms import assign_highest, sample_index
from latentbandits.policies.counting import CountingPolicy, Memory
from latentbandits.protocols import Choice
from latentbandits.random import Stream
from latentbandits.settings import Above, InUnit


class ThompsonSampling(CountingPolicy):
    """Sample every arm's mean from its Gaussian posterior and play the highest (Thompson 1933).

    The posterior of an arm with n rewards that sum to s is ``N(s / (n + w), noise^2 / (n + w))`` with prior weight w: a prior of w
    pseudo rewards of 0.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm and each reward counts.
    noise : float
        Standard deviation of a reward, as the policy believes.
    prior_weight : float
        Number of pseudo rewards in the prior.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.policies.ThompsonSampling(arms=2), seed=1).ask().arm
    1
    """

    noise: Annotated[float, Above(0), InUnit()] = 0.1
    prior_weight: Annotated[float, Above(0)] = 0.1

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play the arm with the highest sampled mean."""
        for arm in range(self.arms):
            weight = memory.counts[arm] + self.prior_weight
            sample_index(choice, arm, memory.sums[arm] / weight, self.noise / math.sqrt(weight), random)
        assign_highest(choice)

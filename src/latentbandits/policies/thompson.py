"""Gaussian Thompson sampling, blind to hidden states."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.policies.arms import assign_highest, sample_index
from latentbandits.protocols import Choice, Policy
from latentbandits.random import Stream
from latentbandits.settings import Above, AtLeast, InUnit


class Memory(NamedTuple):
    """Rewards counted and summed per arm."""

    counts: np.ndarray
    sums: np.ndarray


class ThompsonSampling(Policy):
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

    arms: Annotated[int, AtLeast(2)]
    groups: Annotated[int, AtLeast(1)] = 1
    noise: Annotated[float, Above(0), InUnit()] = 0.1
    prior_weight: Annotated[float, Above(0)] = 0.1

    def init(self) -> Memory:
        """Return the memory before the first round."""
        return Memory(np.zeros(self.arms), np.zeros(self.arms))

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play the arm with the highest sampled mean."""
        for arm in range(self.arms):
            weight = memory.counts[arm] + self.prior_weight
            sample_index(choice, arm, memory.sums[arm] / weight, self.noise / math.sqrt(weight), random)
        assign_highest(choice)

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Count every group's reward."""
        for group in range(self.groups):
            memory.counts[choice.arms[group]] += 1
            memory.sums[choice.arms[group]] += rewards[group]

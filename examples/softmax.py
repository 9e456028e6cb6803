"""A randomised policy in one file, to copy: the better an arm has paid of late, the more often it is sampled."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.protocols import Choice, Policy
from latentbandits.random import Stream, uniform
from latentbandits.settings import Above, AtLeast, Within


class Memory(NamedTuple):
    """What it remembers; the random stream is no part of it, since it comes with every choice."""

    usual: np.ndarray  # running mean reward of each arm


class Softmax(Policy):
    """Sample arms with probabilities that grow exponentially with their running mean rewards.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; each samples its own arm.
    temperature : float
        How much less an arm pays that is sampled 2.7 times less often.
    rate : float
        Weight of the newest reward in the running mean.
    """

    arms: Annotated[int, AtLeast(2)]
    groups: Annotated[int, AtLeast(1)] = 1
    temperature: Annotated[float, Above(0)] = 0.1
    rate: Annotated[float, Within(0, 1)] = 0.1

    def init(self) -> Memory:
        """Return the memory before the first round."""
        return Memory(np.zeros(self.arms))

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Write the probability of every arm, then sample one for each group."""
        best = -math.inf
        for arm in range(self.arms):
            if choice.arm_scores[arm].available:
                best = max(best, memory.usual[arm])
        total = 0.0
        for arm in range(self.arms):
            choice.arm_scores[arm].value = memory.usual[arm]
            choice.arm_scores[arm].probability = 0.0
            if choice.arm_scores[arm].available:
                choice.arm_scores[arm].probability = math.exp((memory.usual[arm] - best) / self.temperature)
            total += choice.arm_scores[arm].probability
        for arm in range(self.arms):
            choice.arm_scores[arm].probability /= total
        for group in range(self.groups):
            left = uniform(random)  # the only source of chance: it moves the stream on
            for arm in range(self.arms):
                if choice.arm_scores[arm].available:
                    left -= choice.arm_scores[arm].probability
                    choice.arms[group] = arm
                    if left < 0:
                        break

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Learn from one reward per group."""
        for group in range(self.groups):
            arm = choice.arms[group]
            memory.usual[arm] += self.rate * (rewards[group] - memory.usual[arm])

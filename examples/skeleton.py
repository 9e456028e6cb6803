"""A whole policy in one file, to copy: stay with an arm while it pays as usual, else move to the next."""

from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.policies.arms import assign
from latentbandits.protocols import Choice, Policy, record_type
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, Within

Scalars = record_type(arm=int)  # the arm it stays with


class Memory(NamedTuple):
    """What it remembers. Arrays only: they are changed in place, saved and restored."""

    scalars: np.ndarray
    usual: np.ndarray  # running mean reward of each arm


class WinStayLoseShift(Policy):
    """Stay with an arm while it pays at least its usual reward less a tolerance; else try the next arm.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm.
    tolerance : float
        How far below its usual reward an arm may pay before it is left.
    rate : float
        Weight of the newest reward in the running mean.
    """

    deterministic = True

    arms: Annotated[int, AtLeast(2)]
    groups: Annotated[int, AtLeast(1)] = 1
    tolerance: Annotated[float, AtLeast(0)] = 0.1
    rate: Annotated[float, Within(0, 1)] = 0.1

    def init(self) -> Memory:
        """Return the memory before the first round; the only place that allocates."""
        return Memory(np.zeros(1, Scalars), np.zeros(self.arms))

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Write one arm per group into the choice, only of those that are available, and what every arm is expected to pay."""
        arm = memory.scalars[0].arm
        while not choice.arm_scores[arm].available:
            arm = (arm + 1) % self.arms
        assign(arm, choice)
        for each in range(self.arms):
            choice.arm_scores[each].value = memory.usual[each]

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Learn from one reward per group. The choice may be an old one: rewards can come late."""
        arm = choice.arms[0]
        reward = 0.0
        for group in range(self.groups):
            reward += rewards[group] / self.groups
        if reward < memory.usual[arm] - self.tolerance:
            memory.scalars[0].arm = (arm + 1) % self.arms
        memory.usual[arm] += self.rate * (reward - memory.usual[arm])

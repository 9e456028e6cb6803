"""Policies that count: how many rewards every arm has given, and their sum."""

from typing import NamedTuple

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.protocols import Choice, PlainPolicy


class Memory(NamedTuple):
    """Rewards counted and summed per arm."""

    counts: np.ndarray
    sums: np.ndarray


@kernel
def count_each(counts: np.ndarray, sums: np.ndarray, choice: Choice, rewards: np.ndarray) -> None:
    """Count every group's reward."""
    for group in range(len(choice.arms)):
        counts[choice.arms[group]] += 1
        sums[choice.arms[group]] += rewards[group]


class CountingPolicy(PlainPolicy):
    """A policy that remembers how many rewards every arm has given, and their sum; a subclass says how it chooses."""

    def init(self) -> Memory:
        """Return the memory before the first round."""
        return Memory(np.zeros(self.arms), np.zeros(self.arms))

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Count every group's reward."""
        count_each(memory.counts, memory.sums, choice, rewards)


class TotalMemory(NamedTuple):
    """Rewards counted and summed per arm, and one number more."""

    counts: np.ndarray
    sums: np.ndarray
    scalars: np.ndarray

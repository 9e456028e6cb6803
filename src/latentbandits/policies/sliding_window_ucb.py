"""SW-UCB: confidence bounds that forget all but a window."""

from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.policies.arms import assign_highest, set_bounds
from latentbandits.protocols import Choice, PlainPolicy, record_type
from latentbandits.random import Stream
from latentbandits.settings import AtLeast

Scalars = record_type(seen=int)


class Memory(NamedTuple):
    """Counts and sums within the window, the window itself as a ring, and the number of rewards seen."""

    counts: np.ndarray
    sums: np.ndarray
    arms: np.ndarray
    rewards: np.ndarray
    scalars: np.ndarray


class SlidingWindowUCB(PlainPolicy):
    """Upper confidence bounds on the last ``window`` rewards (Garivier & Moulines 2011).

    The bonus is ``exploration * sqrt(log(min(n, window)) / n_a)`` after n rewards, n_a of them from arm a within the window. An arm that
    is not in the window is played at once.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm and each reward counts.
    window : int
        Number of rewards remembered.
    exploration : float
        Factor of the bonus: sqrt(xi) of the authors.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.policies.SlidingWindowUCB(arms=2, window=100), seed=1).ask().arm
    0
    """

    deterministic = True

    window: Annotated[int, AtLeast(2)] = 50
    exploration: Annotated[float, AtLeast(0)] = 0.5

    def init(self) -> Memory:
        """Return the memory before the first round."""
        return Memory(
            np.zeros(self.arms, np.int64),
            np.zeros(self.arms),
            np.zeros(self.window, np.int64),
            np.zeros(self.window),
            np.zeros(1, Scalars),
        )

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play the first arm that is not in the window, else the one with the highest index."""
        total = min(memory.scalars[0].seen, self.window)
        set_bounds(choice, memory.sums, memory.counts, total, self.exploration)
        assign_highest(choice)

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Replace the oldest reward of the window; after each turn of the ring, sum again so that errors cannot pile up."""
        for group in range(self.groups):
            at = memory.scalars[0].seen % self.window
            if memory.scalars[0].seen >= self.window:
                memory.counts[memory.arms[at]] -= 1
                memory.sums[memory.arms[at]] -= memory.rewards[at]
            arm = choice.arms[group]
            memory.arms[at] = arm
            memory.rewards[at] = rewards[group]
            memory.counts[arm] += 1
            memory.sums[arm] += rewards[group]
            memory.scalars[0].seen += 1
            if at == self.window - 1:
                for other in range(self.arms):
                    memory.sums[other] = 0.0
                for place in range(self.window):
                    memory.sums[memory.arms[place]] += memory.rewards[place]

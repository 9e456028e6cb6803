"""The plain A/B test: try every arm equally often, then play the best one for ever."""

from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.protocols import CONTINUED, SCHEDULED, WHY, Choice
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, checked


class Memory(NamedTuple):
    """Rounds begun, and the rewards of the test counted and summed per arm."""

    round: np.ndarray
    counts: np.ndarray
    sums: np.ndarray


@checked
class ABTest(NamedTuple):
    """Play the arms in turn for ``test`` rounds, then the one with the highest mean of the test for ever.

    The test is one probe; with more than two arms it is called an A/B/n test. Rewards of the test that come late count whenever they
    come, others never. An arm without a reward in the test is not chosen after it, unless there is none with one: then arm 0 is.

    Parameters
    ----------
    arms : int
        Number of arms.
    units : int
        Units per round; they share the turns of the test, then all play the same arm.
    test : int
        Rounds of the test.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent(lb.ABTest(arms=2, test=4), seed=1)
    >>> played = []
    >>> for reward in (0.3, 0.2, 0.1, 0.5, 0.0, 0.0):
    ...     decision = agent.ask()
    ...     played.append(decision.arm)
    ...     agent.tell(decision, reward)
    >>> played
    [0, 1, 0, 1, 1, 1]
    """

    arms: Annotated[int, AtLeast(2)]
    units: Annotated[int, AtLeast(1)] = 1
    test: Annotated[int, AtLeast(1)] = 1000

    def init(self) -> Memory:
        """Return the memory before the first round."""
        return Memory(np.zeros(1, np.int64), np.zeros(self.arms), np.zeros(self.arms))

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Go on with the test, or play the arm that was best in it."""
        begun = memory.round[0]
        memory.round[0] += 1
        testing = begun < self.test
        best, top = 0, -np.inf
        for arm in range(self.arms):
            if memory.counts[arm] > 0 and memory.sums[arm] / memory.counts[arm] > top:
                best, top = arm, memory.sums[arm] / memory.counts[arm]
        for unit in range(self.units):
            choice.arms[unit] = (begun * self.units + unit) % self.arms if testing else best
        choice.note[WHY] = 0 if not testing else SCHEDULED if begun == 0 else CONTINUED

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Count every unit's reward of the test."""
        if choice.note[WHY] != 0:
            for unit in range(self.units):
                memory.counts[choice.arms[unit]] += 1
                memory.sums[choice.arms[unit]] += rewards[unit]

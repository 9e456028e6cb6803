"""The A/B test: all arms in turn for a while, then the best permanently."""

from typing import Annotated

import numpy as np

from latentbandits.policies.arms import LAST, assign_highest, available, nth_available, set_means
from latentbandits.policies.counting import TotalMemory, count_each
from latentbandits.protocols import CONTINUED, PROBE_REASON, SCHEDULED, Choice, PlainPolicy, record_type
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, InvalidValueError

Begun = record_type(rounds=int)  # of a test


class ABTest(PlainPolicy):
    """Play the arms in turn for ``test`` rounds, then always the one with the highest mean in the test.

    The test is one probe; with more than two arms it is called an A/B/n test. Rewards of the test that come late count whenever they
    come, others never. An arm without a reward in the test is not chosen after it, unless no available arm has one. Turn n of
    the test is that of the available arm n modulo their number. A round with one available arm is no part of the test, which waits. A new
    arm cannot join.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; they share the turns of the test, then all play the same arm.
    test : int
        Rounds of the test.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent(lb.policies.ABTest(arms=2, test=4), seed=1)
    >>> played = []
    >>> for reward in (0.3, 0.2, 0.1, 0.5, 0.0, 0.0):
    ...     decision = agent.ask()
    ...     played.append(decision.arm)
    ...     _ = agent.tell(decision, reward)
    >>> played
    [0, 1, 0, 1, 1, 1]
    """

    deterministic = True
    scale_free = True

    test: Annotated[int, AtLeast(1)] = 1000

    def init(self) -> TotalMemory:
        """Return the memory before the first round."""
        return TotalMemory(np.zeros(self.arms), np.zeros(self.arms), np.zeros(1, Begun))

    def choose(self, memory: TotalMemory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Continue the test, or play the arm that was best in it."""
        begun, number = memory.scalars[0].rounds, available(choice)
        set_means(choice, memory.sums, memory.counts, LAST)
        if begun < self.test and number > 1:
            memory.scalars[0].rounds += 1
            choice.tags[PROBE_REASON] = SCHEDULED if begun == 0 else CONTINUED
            for group in range(self.groups):
                choice.arms[group] = nth_available(choice, (begun * self.groups + group) % number)
        else:
            choice.tags[PROBE_REASON] = 0
            assign_highest(choice)

    def learn(self, memory: TotalMemory, choice: Choice, rewards: np.ndarray) -> None:
        """Count every group's reward of the test."""
        if choice.tags[PROBE_REASON] != 0:
            count_each(memory.counts, memory.sums, choice, rewards)

    def grow(self, memory: TotalMemory) -> TotalMemory:  # noqa: ARG002
        """Refuse a new arm."""
        raise InvalidValueError(
            "ABTest", "new arm", self.arms, "there from the start, since a test compares the arms that it began with"
        )

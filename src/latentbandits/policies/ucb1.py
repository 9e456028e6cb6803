"""UCB1: the highest mean plus bonus."""

from typing import Annotated

import numpy as np

from latentbandits.policies.arms import assign_highest, set_bounds
from latentbandits.policies.counting import TotalMemory, count_each
from latentbandits.protocols import Choice, PlainPolicy, record_type
from latentbandits.random import Stream
from latentbandits.settings import AtLeast

Total = record_type(total=int)  # rewards


class UCB1(PlainPolicy):
    """Play every arm once, then the one with the highest mean plus bonus (Auer, Cesa-Bianchi & Fischer 2002).

    The bonus is ``exploration * sqrt(log(n) / n_a)`` after n rewards, n_a of them from arm a.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm and each reward counts.
    exploration : float
        Factor of the bonus.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent(lb.policies.UCB1(arms=3), seed=1)
    >>> [agent.ask().arm for _ in range(2)]  # no reward has arrived yet: arm 0 is still the first untried one
    [0, 0]
    """

    deterministic = True
    harmed_by_logs = True

    exploration: Annotated[float, AtLeast(0)] = 2.0

    def init(self) -> TotalMemory:
        """Return the memory before the first round."""
        return TotalMemory(np.zeros(self.arms), np.zeros(self.arms), np.zeros(1, Total))

    def choose(self, memory: TotalMemory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play the first untried arm, else the one with the highest index."""
        set_bounds(choice, memory.sums, memory.counts, memory.scalars[0].total, self.exploration)
        assign_highest(choice)

    def learn(self, memory: TotalMemory, choice: Choice, rewards: np.ndarray) -> None:
        """Count every group's reward."""
        count_each(memory.counts, memory.sums, choice, rewards)
        memory.scalars[0].total += self.groups

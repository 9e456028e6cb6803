"""D-TS: Thompson sampling that forgets at a constant rate."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.noise import Noise, start_noise
from latentbandits.policies.arms import sample_index
from latentbandits.policies.rounds import (
    Clock,
    arrived,
    begin_round,
    count_discounted,
    play_highest,
    reward_of_round,
    set_unseen,
)
from latentbandits.protocols import Choice, Policy
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, Untuned, Within


class Memory(NamedTuple):
    """Discounted counts and sums per arm, the last round of every arm, the clock and the learned noise."""

    counts: np.ndarray
    sums: np.ndarray
    asked: np.ndarray
    clock: np.ndarray  # see `latentbandits.policies.rounds`
    noise: np.ndarray  # see `latentbandits.noise`


class DiscountedThompson(Policy):
    """Thompson sampling with a discounted Gaussian posterior (Raj & Kalyani 2017; Gaussian: Qi, Wang & Zhu 2023).

    A reward that is k rounds older than the newest one has the weight ``discount^k``. With the sum n of the weights of an arm, and the
    weighted mean m of its rewards, its mean is sampled from ``N(m, (exploration * noise)^2 / n)``, and the highest sample is played. The
    weights of an arm that is not played vanish, so that sooner or later it is played again; an arm without rewards goes first.

    Parameters
    ----------
    arms : int
        Number of arms.
    units : int
        Units per round; all play the same arm, and a round's reward is their mean.
    discount : float
        Weight that a reward keeps from one round to the next (gamma).
    exploration : float
        Factor of the posterior's standard deviation.
    noise : float
        Standard deviation of one unit's reward; 0 if it is to be learned.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.DiscountedThompson(arms=2), seed=1).ask().arm
    0
    """

    scale_free = True

    arms: Annotated[int, AtLeast(2)]
    units: Annotated[int, AtLeast(1)] = 1
    discount: Annotated[float, Within(0.01, 1)] = 0.93
    exploration: Annotated[float, AtLeast(0)] = 0.3
    noise: Annotated[float, AtLeast(0), Untuned()] = 0.0

    def init(self) -> Memory:
        """Return the memory before the first round."""
        memory = Memory(
            np.zeros(self.arms),
            np.zeros(self.arms),
            np.zeros(self.arms, np.int64),
            np.zeros(1, Clock),
            np.zeros(1, Noise),
        )
        start_noise(memory.noise[0], self.noise, 0.0)
        return memory

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play the first untried arm, else the one with the highest sampled mean."""
        clock = memory.clock[0]
        begin_round(clock, choice)
        noise = self.exploration * (memory.noise[0].sd / math.sqrt(self.units))
        for arm in range(self.arms):
            n = memory.counts[arm]
            if n > 0.0:
                sample_index(choice, arm, memory.sums[arm] / n, noise / math.sqrt(n), random)
            else:
                set_unseen(choice, arm, clock, memory.asked)
        play_highest(choice, clock, memory.asked)

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Discount what is older than this reward, and count it; a late one has the weight that it would have by now."""
        clock = memory.clock[0]
        arm = choice.arms[0]
        reward = reward_of_round(clock, memory.noise[0], self.noise, self.units, arm, rewards)
        count_discounted(memory.counts, memory.sums, self.discount, arrived(clock, choice), arm, reward)

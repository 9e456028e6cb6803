"""Thompson sampling that forgets: at a constant rate (D-TS), or all but a window (SW-TS)."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.noise import fresh_noise
from latentbandits.policies.rounds import (
    ROUND,
    Clock,
    arrived,
    begin_round,
    count_discounted,
    play_highest,
    reward_of_round,
    sample_mean,
)
from latentbandits.protocols import Choice, PlainPolicy
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, Untuned, Within


class DiscountedMemory(NamedTuple):
    """Discounted counts and sums per arm, the last round of every arm, the clock and the learned noise."""

    counts: np.ndarray
    sums: np.ndarray
    asked: np.ndarray
    clock: np.ndarray  # see `latentbandits.policies.rounds`
    noise: np.ndarray  # see `latentbandits.noise`


class WindowMemory(NamedTuple):
    """Counts and sums within the window, the window itself as a ring, the last round of every arm, the clock and the learned noise."""

    counts: np.ndarray
    sums: np.ndarray
    arms: np.ndarray  # of each round of the window, -1 where no reward has arrived
    rewards: np.ndarray
    asked: np.ndarray
    clock: np.ndarray  # see `latentbandits.policies.rounds`
    noise: np.ndarray  # see `latentbandits.noise`


@kernel
def play_sampled(memory: DiscountedMemory | WindowMemory, noise: float, random: Stream, choice: Choice) -> None:
    """Play the first arm without rewards, else the one with the highest mean, sampled with the noise of a single reward."""
    clock = memory.clock[0]
    begin_round(clock, choice)
    for arm in range(len(memory.counts)):
        sample_mean(choice, arm, memory.counts[arm], memory.sums[arm], noise, random, clock, memory.asked)
    play_highest(choice, clock, memory.asked)


class DiscountedThompson(PlainPolicy):
    """Thompson sampling with a discounted Gaussian posterior (Raj & Kalyani 2017; Gaussian: Qi, Wang & Zhu 2023).

    A reward that is k rounds older than the newest one has the weight ``discount^k``. With the sum n of the weights of an arm, and the
    weighted mean m of its rewards, its mean is sampled from ``N(m, (exploration * noise)^2 / n)``, and the highest sample is played. The
    weights of an arm that is not played vanish, so that sooner or later it is played again; an arm without rewards goes first.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm, and a round's reward is their mean.
    discount : float
        Weight that a reward keeps from one round to the next (gamma).
    exploration : float
        Factor of the posterior's standard deviation.
    noise : float
        Standard deviation of one group's reward; 0 if it is to be learned.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.policies.DiscountedThompson(arms=2), seed=1).ask().arm
    0
    """

    scale_free = True

    discount: Annotated[float, Within(0.01, 1)] = 0.93
    exploration: Annotated[float, AtLeast(0)] = 0.3
    noise: Annotated[float, AtLeast(0), Untuned()] = 0.0

    def init(self) -> DiscountedMemory:
        """Return the memory before the first round."""
        return DiscountedMemory(
            np.zeros(self.arms),
            np.zeros(self.arms),
            np.zeros(self.arms, np.int64),
            np.zeros(1, Clock),
            fresh_noise(self.noise),
        )

    def choose(self, memory: DiscountedMemory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play the first untried arm, else the one with the highest sampled mean."""
        play_sampled(memory, self.exploration * (memory.noise[0].sd / math.sqrt(self.groups)), random, choice)

    def learn(self, memory: DiscountedMemory, choice: Choice, rewards: np.ndarray) -> None:
        """Discount what is older than this reward, and count it; a late one has the weight that it would have by now."""
        clock = memory.clock[0]
        arm = choice.arms[0]
        reward = reward_of_round(clock, memory.noise[0], self.noise, self.groups, arm, rewards)
        count_discounted(memory.counts, memory.sums, self.discount, arrived(clock, choice), arm, reward)


class SlidingWindowThompson(PlainPolicy):
    """Thompson sampling with the rewards of the last rounds (Trovo et al. 2020; Gaussian: Fiandri, Metelli & Trovo 2024).

    The window is that of the `window` rounds before the newest one whose rewards have arrived. With n rewards of an arm in it, and their
    mean m, its mean is sampled from ``N(m, (exploration * noise)^2 / n)``, and the highest sample is played. An arm that is not in the
    window is played at once.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm, and a round's reward is their mean.
    window : int
        Number of rounds remembered (tau).
    exploration : float
        Factor of the posterior's standard deviation: 1 / sqrt(gamma) of Fiandri et al.
    noise : float
        Standard deviation of one group's reward; 0 if it is to be learned.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.policies.SlidingWindowThompson(arms=2, window=100), seed=1).ask().arm
    0
    """

    scale_free = True

    window: Annotated[int, AtLeast(2)] = 30
    exploration: Annotated[float, AtLeast(0)] = 0.5
    noise: Annotated[float, AtLeast(0), Untuned()] = 0.0

    def init(self) -> WindowMemory:
        """Return the memory before the first round."""
        return WindowMemory(
            np.zeros(self.arms, np.int64),
            np.zeros(self.arms),
            np.full(self.window, -1),
            np.zeros(self.window),
            np.zeros(self.arms, np.int64),
            np.zeros(1, Clock),
            fresh_noise(self.noise),
        )

    def choose(self, memory: WindowMemory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play the first arm that is not in the window, else the one with the highest sampled mean."""
        play_sampled(memory, self.exploration * (memory.noise[0].sd / math.sqrt(self.groups)), random, choice)

    def learn(self, memory: WindowMemory, choice: Choice, rewards: np.ndarray) -> None:
        """Move the window to this round if it is the newest, and put the reward in unless the round is no longer part of it."""
        clock = memory.clock[0]
        arm, number = choice.arms[0], choice.tags[ROUND]
        reward = reward_of_round(clock, memory.noise[0], self.noise, self.groups, arm, rewards)
        newer = arrived(clock, choice)
        for passed in range(number - min(newer, self.window) + 1, number + 1):
            _drop(memory, passed % self.window)
        if newer > -self.window:
            place = number % self.window
            memory.arms[place] = arm
            memory.rewards[place] = reward
            memory.counts[arm] += 1
            memory.sums[arm] += reward


@kernel
def _drop(memory: WindowMemory, place: int) -> None:
    """Take a reward out of the window; after each turn of the ring, sum again so that errors cannot pile up."""
    arm = memory.arms[place]
    if arm >= 0:
        memory.counts[arm] -= 1
        memory.sums[arm] -= memory.rewards[place]
        memory.arms[place] = -1
    if place == 0:
        for other in range(len(memory.sums)):
            memory.sums[other] = 0.0
        for each in range(len(memory.arms)):
            if memory.arms[each] >= 0:
                memory.sums[memory.arms[each]] += memory.rewards[each]

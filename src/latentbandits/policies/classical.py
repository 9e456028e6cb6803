"""Policies that know of no hidden states: UCB1, Thompson sampling, epsilon-greedy, the A/B test, and the uniform random choice."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.arms import (
    FIRST,
    LAST,
    assign_highest,
    available,
    nth_available,
    play_mixture,
    sample_index,
    set_bounds,
    set_means,
    set_mixture,
)
from latentbandits.protocols import CONTINUED, PROBE_REASON, SCHEDULED, Choice, PlainPolicy, record_type
from latentbandits.random import Stream, below
from latentbandits.settings import Above, AtLeast, InUnit, InvalidValueError, Within


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


Total = record_type(total=int)  # rewards
Begun = record_type(rounds=int)  # of a test


class TotalMemory(NamedTuple):
    """Rewards counted and summed per arm, and a `Total` or what has `Begun`."""

    counts: np.ndarray
    sums: np.ndarray
    scalars: np.ndarray


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


class ThompsonSampling(CountingPolicy):
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

    noise: Annotated[float, Above(0), InUnit()] = 0.1
    prior_weight: Annotated[float, Above(0)] = 0.1

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play the arm with the highest sampled mean."""
        for arm in range(self.arms):
            weight = memory.counts[arm] + self.prior_weight
            sample_index(choice, arm, memory.sums[arm] / weight, self.noise / math.sqrt(weight), random)
        assign_highest(choice)


class EpsilonGreedy(CountingPolicy):
    """Play a random arm with probability ``epsilon``, else the first untried arm or the one with the highest mean.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm and each reward counts.
    epsilon : float
        Probability of a random arm.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.policies.EpsilonGreedy(arms=2, epsilon=0.05), seed=1).ask().arm
    0
    """

    scale_free = True

    epsilon: Annotated[float, Within(0, 1)] = 0.1

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Toss the coin, then explore or exploit."""
        set_means(choice, memory.sums, memory.counts, FIRST)
        play_mixture(choice, self.epsilon, random)


Seen = record_type(rewards=int)


class RandomMemory(NamedTuple):
    """Number of rewards so far; there is nothing else to remember."""

    scalars: np.ndarray


class UniformRandom(PlainPolicy):
    """Play a random arm, sampled for every group.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent(lb.policies.UniformRandom(arms=3, groups=2), seed=1)
    >>> agent.ask().arms
    (0, 2)
    """

    scale_free = True

    def init(self) -> RandomMemory:
        """Return the memory before the first round."""
        return RandomMemory(np.zeros(1, Seen))

    def choose(self, memory: RandomMemory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Sample each group's arm."""
        number = available(choice)
        set_mixture(choice, 0, 1.0)
        for group in range(self.groups):
            choice.arms[group] = nth_available(choice, below(random, number))

    def learn(self, memory: RandomMemory, choice: Choice, rewards: np.ndarray) -> None:  # noqa: ARG002
        """Count."""
        memory.scalars[0].rewards += rewards.shape[0]


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

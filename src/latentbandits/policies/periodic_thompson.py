"""A learned period: Thompson sampling with means that depend on the phase of a period, if rewards say that there is one."""

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
from latentbandits.protocols import Choice, PlainPolicy, record_type
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, Untuned, Within

_EVERY = 32  # rounds from one look for a period to the next
_FEWEST = 16  # pairs of rewards without which a lag says nothing
_ERRORS = 2.0  # standard errors that a dip must be sure by
_RINGS = 4  # longest periods that the past is kept for
_FADE = 0.9  # weight that a phase's rewards keep from one period to the next
_ENOUGH = 3.0  # rewards of a phase that need no neighbours
_REACH = 8  # neighbours are no further away than this part of a period
_RATE = 0.02  # weight of the newest reward in the two errors of prediction

Scalars = record_type(
    learned=int,  # rounds whose rewards have arrived
    period=int,  # 0 for none
    plain_error=float,  # mean squared error of the discounted means, and of those of the phase
    phase_error=float,
)


class Memory(NamedTuple):
    """Discounted means, the recent past, differences at every lag, and the means of every phase."""

    counts: np.ndarray  # discounted, per arm
    sums: np.ndarray
    rounds: np.ndarray  # the recent past as a ring: number, arm and reward of a round
    arms: np.ndarray
    rewards: np.ndarray
    pairs: np.ndarray  # per lag: pairs of rewards of one arm, and their squared differences
    squares: np.ndarray
    phase_counts: np.ndarray  # per arm and phase
    phase_sums: np.ndarray
    scalars: np.ndarray
    asked: np.ndarray  # last round of every arm
    clock: np.ndarray  # see `latentbandits.policies.rounds`
    noise: np.ndarray  # see `latentbandits.noise`


class PeriodicThompson(PlainPolicy):
    """Thompson sampling with a period that is learned (after Chen, Wang & Wang 2020), and that of `DiscountedThompson` without one.

    For every lag up to `longest`, the squared differences of two rewards of one arm that are so many rounds apart have the mean d(lag).
    Within a period they grow and fall again. A lag p >= 2 is a period if ``d(p) - least <= dip * (mean of d below p - least)``, with
    two standard errors of d(p) to spare, and least the smallest of all d: the rule of YIN (de Cheveigne & Kawahara 2002), for pairs of one
    arm. Of the lags from the first such one to a quarter more, the one with the smallest d is the period.

    Then an arm's mean is that of its rewards in the same phase of earlier periods, with neighbouring phases (up to an eighth of the period
    away) until there are three rewards; each period weighs 0.9 of the next one. It is sampled from
    ``N(mean, (exploration * noise)^2 / n)``, and the highest is played. Without a period, where it has predicted recent rewards worse
    than the discounted means, and for an arm without rewards nearby, the discounted means and weights take their place.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm, and a round's reward is their mean.
    longest : int
        Longest period that is looked for, in rounds.
    dip : float
        How far differences must fall within a period, as a share of their mean at shorter lags.
    discount : float
        Weight that a reward keeps from one round to the next, where no period is used.
    exploration : float
        Factor of the posterior's standard deviation.
    noise : float
        Standard deviation of one group's reward; 0 if it is to be learned.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.policies.PeriodicThompson(arms=2), seed=1).ask().arm
    0
    """

    scale_free = True

    longest: Annotated[int, AtLeast(2), Untuned()] = 512
    dip: Annotated[float, Within(0, 1)] = 0.4
    discount: Annotated[float, Within(0.01, 1)] = 0.93
    exploration: Annotated[float, AtLeast(0)] = 0.3
    noise: Annotated[float, AtLeast(0), Untuned()] = 0.0

    def init(self) -> Memory:
        """Return the memory before the first round."""
        return Memory(
            np.zeros(self.arms),
            np.zeros(self.arms),
            np.zeros(_RINGS * self.longest, np.int64),
            np.zeros(_RINGS * self.longest, np.int64),
            np.zeros(_RINGS * self.longest),
            np.zeros(self.longest + 1),
            np.zeros(self.longest + 1),
            np.zeros((self.arms, self.longest)),
            np.zeros((self.arms, self.longest)),
            np.zeros(1, Scalars),
            np.zeros(self.arms, np.int64),
            np.zeros(1, Clock),
            fresh_noise(self.noise),
        )

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play the first untried arm, else the one with the highest sampled mean of this phase."""
        clock, scalars = memory.clock[0], memory.scalars[0]
        begin_round(clock, choice)
        noise = self.exploration * (memory.noise[0].sd / math.sqrt(self.groups))
        periodic = scalars.period > 0 and scalars.phase_error <= scalars.plain_error
        for arm in range(self.arms):
            n, total = nearby(memory, arm, clock.now) if periodic else (0.0, 0.0)
            if n == 0.0:
                n, total = memory.counts[arm], memory.sums[arm]
            sample_mean(choice, arm, n, total, noise, random, clock, memory.asked)
        play_highest(choice, clock, memory.asked)

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Compare the two predictions, learn the reward for both, and look for a period now and then."""
        clock, scalars = memory.clock[0], memory.scalars[0]
        arm, number = choice.arms[0], choice.tags[ROUND]
        reward = reward_of_round(clock, memory.noise[0], self.noise, self.groups, arm, rewards)
        if scalars.period > 0:
            n, total = nearby(memory, arm, number)
            if n > 0.0 and memory.counts[arm] > 0.0:
                plain, phase = reward - memory.sums[arm] / memory.counts[arm], reward - total / n
                scalars.plain_error += _RATE * (plain * plain - scalars.plain_error)
                scalars.phase_error += _RATE * (phase * phase - scalars.phase_error)
            count_phase(memory, arm, number, reward)
        count_discounted(memory.counts, memory.sums, self.discount, arrived(clock, choice), arm, reward)
        if clock.newest - number < len(memory.rounds):
            count_lags(memory, arm, number, reward)
        scalars.learned += 1
        if scalars.learned % _EVERY == 0:
            period = best_lag(memory, self.dip)
            if period != scalars.period:
                scalars.period = period
                begin_period(memory)


@kernel
def nearby(memory: Memory, arm: int, number: int) -> tuple[float, float]:
    """Return weight and sum of an arm's rewards in the phase of a round, with neighbouring phases until there are enough."""
    period = memory.scalars[0].period
    phase = number % period
    n, total = memory.phase_counts[arm, phase], memory.phase_sums[arm, phase]
    for distance in range(1, period // _REACH + 1):
        if n >= _ENOUGH:
            break
        for place in ((phase + distance) % period, (phase - distance) % period):
            n += memory.phase_counts[arm, place]
            total += memory.phase_sums[arm, place]
    return n, total


@kernel
def count_phase(memory: Memory, arm: int, number: int, reward: float) -> None:
    """Count a reward in the phase of its round."""
    phase = number % memory.scalars[0].period
    memory.phase_counts[arm, phase] = _FADE * memory.phase_counts[arm, phase] + 1.0
    memory.phase_sums[arm, phase] = _FADE * memory.phase_sums[arm, phase] + reward


@kernel
def count_lags(memory: Memory, arm: int, number: int, reward: float) -> None:
    """Count the differences from earlier rewards of the arm, and remember this one."""
    size = len(memory.rounds)
    for lag in range(1, min(len(memory.pairs), number)):
        place = (number - lag) % size
        if memory.arms[place] == arm and memory.rounds[place] == number - lag:
            gap = reward - memory.rewards[place]
            memory.pairs[lag] += 1.0
            memory.squares[lag] += gap * gap
    memory.rounds[number % size] = number
    memory.arms[number % size] = arm
    memory.rewards[number % size] = reward


@kernel
def best_lag(memory: Memory, dip: float) -> int:
    """Return the period that the differences speak for, 0 for none."""
    least = np.inf
    for lag in range(1, len(memory.pairs)):
        if memory.pairs[lag] >= _FEWEST:
            least = min(least, memory.squares[lag] / memory.pairs[lag])
    shorter, lags = 0.0, 0.0
    best, lowest, last = 0, np.inf, len(memory.pairs) - 1
    for lag in range(1, len(memory.pairs)):
        if memory.pairs[lag] < _FEWEST or lag > last:
            continue
        mean = memory.squares[lag] / memory.pairs[lag]
        if best == 0 and lags > 0.0 and 2 * lag <= memory.scalars[0].learned:
            error = _ERRORS * mean * math.sqrt(2.0 / memory.pairs[lag])
            if mean - least + error <= dip * (shorter / lags - least):
                best, lowest, last = lag, mean, lag + lag // 4
        elif best > 0 and mean < lowest:
            best, lowest = lag, mean
        shorter += mean
        lags += 1.0
    return best


@kernel
def begin_period(memory: Memory) -> None:
    """Count what is remembered of the past in the phases of a new period, oldest first."""
    scalars = memory.scalars[0]
    for arm in range(memory.phase_counts.shape[0]):
        for phase in range(memory.phase_counts.shape[1]):
            memory.phase_counts[arm, phase] = 0.0
            memory.phase_sums[arm, phase] = 0.0
    scalars.plain_error = scalars.phase_error = 0.0
    if scalars.period > 0:
        size, newest = len(memory.rounds), memory.clock[0].newest
        for number in range(max(newest - size + 1, 1), newest + 1):
            if memory.rounds[number % size] == number:
                count_phase(memory, memory.arms[number % size], number, memory.rewards[number % size])

"""Scaled: a policy for rewards on [0, 1], in any unit."""

from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.compiled import Arrays, kernel
from latentbandits.noise import few_values, fresh_noise, mean_of_round
from latentbandits.policies.arms import FIRST, LAST, assign, available, nth_available
from latentbandits.policies.wrapping import Wrapper, is_current, restart, stamp, within
from latentbandits.protocols import PROBE_REASON, UNTRIED, Choice, Record, record_type
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, Untuned

# Typical rewards farther outside the range than this, in widths of the range, widen it
OUTSIDE = 0.25
# Typical rewards are this many standard deviations of the noise beyond the means behind them
NOISE = 2.0
# Medians that must be equal before every reward counts as typical
FEW = 10
# Room that is left beyond the farthest typical reward, in widths of the range
ROOM = 0.1
# Widths of the range without a single reward that are far too wide
ABSURD = 64.0
# A narrower range counts as empty: its inverse must be finite
NARROW = 1e-100

Scalars = record_type(
    restarts=int,  # of the policy within; 0 while the range is not known
    low=float,  # the range that becomes [0, 1]
    high=float,
    medians=int,  # of three rewards of an arm in a row
    least=float,  # of these medians
    most=float,
    lowest=float,  # of all rewards, and the second ones
    lower=float,
    highest=float,
    higher=float,
)


class Memory(NamedTuple):
    """The memory of the policy within, and what is known of the range of rewards."""

    inner: Arrays
    fresh: Arrays  # the same before the first round
    scalars: np.ndarray
    noise: np.ndarray  # see `latentbandits.noise`
    asked: np.ndarray  # rounds of every arm while the range is not known
    counts: np.ndarray  # rewards of every arm
    recent: np.ndarray  # the last three of them
    scaled: np.ndarray  # rewards as the policy within receives them


class Scaled(Wrapper):
    """Another policy that receives rewards on about [0, 1], whatever their unit and zero; the range is learned.

    The available arms take turns until each has `opening` rewards, and two rewards differ: their range, with a tenth of its width added
    at both ends, becomes [0, 1]. From then on the policy within plays. A typical reward is the median of three rewards of one arm in a row,
    so that single outliers do not count, moved by two standard deviations of the learned noise towards the middle. If one is more than a
    quarter of the width outside the range, the range is widened to it, with a tenth of the new width added, and the policy within restarts:
    what it has learned was in another unit. If all of ten medians or more are equal, as with rare sales, every reward is typical but the
    lowest and the highest, each of which may be a mistake. If rewards of a few values make the range 64 times as wide as those two leave
    it, it was a mistake that came early: the range is theirs, and the policy within restarts.

    Rewards more than `reach` widths outside the range count as if they were there. Values and indices of the arms are in the unit of
    the rewards.

    Parameters
    ----------
    inner : Policy
        The policy within.
    opening : int
        Rewards of every arm before the policy within begins.
    reach : float
        How far outside the range a reward counts, in widths of the range.

    Examples
    --------
    >>> import latentbandits as lb
    >>> world = lb.HiddenMarkov(means=[[0, 900], [700, 100]], stickiness=0.99, noise=100)
    >>> results = lb.simulate(world, ["scaled(cp-ts)", "cp-ts"], horizon=2000, draws=4, repeats=1)
    >>> [row.label for row in results.summary()]
    ['scaled(cp-ts)', 'cp-ts']
    """

    scale_free = True

    opening: Annotated[int, AtLeast(1), Untuned()] = 1
    reach: Annotated[float, AtLeast(0), Untuned()] = 1.0

    def init(self) -> Memory:
        """Return the memory before the first round."""
        arms = self.inner.arms
        memory = Memory(
            self.inner.init(),
            self.inner.init(),
            np.zeros(1, Scalars),
            fresh_noise(0.0),
            np.zeros(arms, np.int64),
            np.zeros(arms, np.int64),
            np.zeros((arms, 3)),
            np.zeros(self.inner.groups),
        )
        memory.scalars[0].least = memory.scalars[0].lowest = memory.scalars[0].lower = FIRST
        memory.scalars[0].most = memory.scalars[0].highest = memory.scalars[0].higher = LAST
        return memory

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:
        """Let the policy within choose, once the range is known; else the available arm that was played least."""
        scalars = memory.scalars[0]
        stamp(choice, scalars.restarts)
        if scalars.restarts == 0:
            take_turns(memory.asked, choice)
        else:
            choice.tags[PROBE_REASON] = 0
            self.inner.choose(memory.inner, context, random, within(choice))
            width = scalars.high - scalars.low
            for arm in range(len(choice.arm_scores)):
                arm_score = choice.arm_scores[arm]
                arm_score.value = scalars.low + width * arm_score.value
                if abs(arm_score.index) < FIRST:
                    arm_score.index = scalars.low + width * arm_score.index

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Learn the range; while it stays as it is, the policy within learns the scaled rewards."""
        scalars = memory.scalars[0]
        mean_of_round(memory.noise[0], False, 0.0, 1, choice.arms[0], rewards)
        for group in range(len(choice.arms)):
            observe(memory, choice.arms[group], rewards[group])
        if scalars.restarts == 0:
            if opened(memory, choice, self.opening):
                begin(scalars)
                restart(memory)
        elif narrow(memory) or widen(scalars, memory.noise[0].sd):
            restart(memory)
        elif is_current(choice, scalars.restarts):
            width = scalars.high - scalars.low
            for group in range(len(choice.arms)):
                place = (rewards[group] - scalars.low) / width
                memory.scaled[group] = min(max(place, -self.reach), 1.0 + self.reach)
            self.inner.learn(memory.inner, within(choice), memory.scaled)


@kernel
def take_turns(asked: np.ndarray, choice: Choice) -> None:
    """Let all groups play the available arm that was played least, the first of equals."""
    turn = nth_available(choice, 0)
    for arm in range(len(choice.arm_scores)):
        arm_score = choice.arm_scores[arm]
        arm_score.value = arm_score.index = np.nan
        arm_score.probability = 0.0
        if arm_score.available and asked[arm] < asked[turn]:
            turn = arm
    asked[turn] += 1
    choice.arm_scores[turn].probability = 1.0
    choice.tags[PROBE_REASON] = UNTRIED if available(choice) > 1 else 0
    assign(turn, choice)


@kernel
def observe(memory: Memory, arm: int, reward: float) -> None:
    """Count a reward, and the median of the last three of its arm."""
    scalars, recent = memory.scalars[0], memory.recent[arm]
    recent[memory.counts[arm] % 3] = reward
    memory.counts[arm] += 1
    scalars.lower = min(scalars.lower, max(scalars.lowest, reward))
    scalars.lowest = min(scalars.lowest, reward)
    scalars.higher = max(scalars.higher, min(scalars.highest, reward))
    scalars.highest = max(scalars.highest, reward)
    if memory.counts[arm] >= 3:
        typical = max(min(recent[0], recent[1]), min(max(recent[0], recent[1]), recent[2]))
        scalars.medians += 1
        scalars.least = min(scalars.least, typical)
        scalars.most = max(scalars.most, typical)


@kernel
def opened(memory: Memory, choice: Choice, opening: int) -> bool:
    """Return whether the available arms have enough rewards, and two of all rewards differ."""
    for arm in range(len(choice.arm_scores)):
        if choice.arm_scores[arm].available and memory.counts[arm] < opening:
            return False
    return bool(memory.scalars[0].highest - memory.scalars[0].lowest > NARROW)


@kernel
def begin(scalars: Record) -> None:
    """Set the first range: that of all rewards, with room at both ends."""
    room = ROOM * (scalars.highest - scalars.lowest)
    scalars.low = scalars.lowest - room
    scalars.high = scalars.highest + room


@kernel
def narrow(memory: Memory) -> bool:
    """Narrow the range if a single one of rewards of a few values made it absurdly wide; returns whether it did."""
    scalars = memory.scalars[0]
    width = scalars.higher - scalars.lower
    if scalars.medians < FEW or width <= NARROW or not few_values(memory.noise[0]):
        return False
    if scalars.high - scalars.low < ABSURD * width:
        return False
    scalars.low, scalars.high = scalars.lower - ROOM * width, scalars.higher + ROOM * width
    return True


@kernel
def widen(scalars: Record, noise: float) -> bool:
    """Widen the range if rewards leave it by far, with room at the ends that they have passed; returns whether they do."""
    low, high = scalars.lower, scalars.higher
    if scalars.most - scalars.least > NARROW:
        low, high = scalars.least + NOISE * noise, scalars.most - NOISE * noise
    elif scalars.medians < FEW:
        return False
    width = scalars.high - scalars.low
    below, above = low < scalars.low - OUTSIDE * width, high > scalars.high + OUTSIDE * width
    low, high = min(low, scalars.low), max(high, scalars.high)
    if below:
        scalars.low = low - ROOM * (high - low)
    if above:
        scalars.high = high + ROOM * (high - low)
    return bool(below or above)

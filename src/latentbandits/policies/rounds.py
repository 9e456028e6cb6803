"""Rounds as a policy counts them: when it asked for an arm, how late rewards are, and the range that they have had."""

import math

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.noise import mean_of_round
from latentbandits.policies.arms import FIRST, LAST, assign, highest, sample_index
from latentbandits.protocols import PHASE, Choice, Record, record_type
from latentbandits.random import Stream

ROUND = PHASE  # the slot of a choice's note that holds the number of its round

# To be kept as an array with one row:
Clock = record_type(
    now=int,  # rounds begun
    newest=int,  # the newest round whose rewards have arrived
    longest=int,  # the longest delay of a reward so far
    low=float,  # lowest and highest reward so far
    high=float,
)


@kernel
def begin_round(clock: Record, choice: Choice) -> None:
    """Count a round, and write its number into the choice."""
    clock.now += 1
    choice.tags[ROUND] = clock.now


@kernel
def set_unseen(choice: Choice, arm: int, clock: Record, asked: np.ndarray) -> None:
    """Write that nothing is expected of an arm: it goes first, unless a reward of it should be under way; then it goes last.

    Of several such arms the one that was asked for longest ago goes first. `asked` has the last round of every arm, 0 for none.
    """
    share = 0.5 * asked[arm] / clock.now
    arm_score = choice.arm_scores[arm]
    arm_score.value = np.nan
    arm_score.index = LAST * (0.5 + share) if 0 < clock.now - asked[arm] <= clock.longest else FIRST * (1.0 - share)


@kernel
def sample_mean(
    choice: Choice, arm: int, n: float, total: float, noise: float, random: Stream, clock: Record, asked: np.ndarray
) -> None:
    """Write a sample of an arm's mean as its index, given the weight and the sum of its rewards; without rewards see `set_unseen`."""
    if n > 0.0:
        sample_index(choice, arm, total / n, noise / math.sqrt(n), random)
    else:
        set_unseen(choice, arm, clock, asked)


@kernel
def play(arm: int, choice: Choice, clock: Record, asked: np.ndarray) -> None:
    """Let all groups play an arm, and remember when."""
    assign(arm, choice)
    asked[arm] = clock.now


@kernel
def play_highest(choice: Choice, clock: Record, asked: np.ndarray) -> None:
    """Let all groups play the available arm with the highest index, and remember when."""
    play(highest(choice), choice, clock, asked)


@kernel
def arrived(clock: Record, choice: Choice) -> int:
    """Return by how many rounds a choice is newer than the newest one whose rewards have arrived; below 0 if it is older."""
    newer = choice.tags[ROUND] - clock.newest
    clock.longest = max(clock.longest, clock.now - choice.tags[ROUND])
    clock.newest = max(clock.newest, choice.tags[ROUND])
    return int(newer)


@kernel
def count_discounted(
    counts: np.ndarray, sums: np.ndarray, discount: float, newer: int, arm: int, reward: float
) -> None:
    """Count a reward of a round that is `newer` rounds newer than the newest one so far: the newest has weight 1, others less."""
    weight = 1.0
    if newer >= 0:
        kept = math.pow(discount, float(newer))
        for other in range(len(counts)):
            counts[other] *= kept
            sums[other] *= kept
    else:
        weight = math.pow(discount, float(-newer))
    counts[arm] += weight
    sums[arm] += weight * reward


@kernel
def reward_of_round(clock: Record, noise: Record, given: float, groups: int, arm: int, rewards: np.ndarray) -> float:
    """Return the mean reward of a round, after learning the range and (unless it is given) the noise of rewards.

    Until there are pairs of rewards, a tenth of the range so far is taken for the noise: nothing depends on the unit of rewards.
    """
    for group in range(groups):
        if clock.newest == 0 and group == 0:  # the first reward of all
            clock.low = clock.high = rewards[group]
        clock.low = min(clock.low, rewards[group])
        clock.high = max(clock.high, rewards[group])
    return mean_of_round(noise, given, clock.high - clock.low, groups, arm, rewards)

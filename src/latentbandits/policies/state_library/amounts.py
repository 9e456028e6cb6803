"""Nothing or an amount: yes-or-no, purchases at a price, revenue that is mostly zero; and the evidence that rewards are like that.

One value, the usual one, comes again and again, exactly. It is that of the first arm that pays the same twice in a row; any other
reward is an amount. A state remembers for each arm how often it paid an amount and how large amounts were (their logarithms), apart
from each other. An amount that an arm pays always the same is a price, and says nothing about the state.

Three explanations of each arm's rewards are compared by their log evidence: this one; numbers around a mean; and values that stay until the
state changes. All arms are judged together: what an arm that was hardly played pays is known from the others.
"""

import math

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.noise import few_values
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.memory import Standard
from latentbandits.protocols import Choice, Record


@kernel
def mass(far: float, variance: float, gap: float) -> float:
    """Return the probability of a value this far from its mean, of values that are a gap apart; never quite 0.

    gap * normal density with variance + gap^2 / (2 pi), so that it is 1 without variance
    """
    total = variance + gap * gap / (2.0 * math.pi)
    if total == 0.0:
        return 1.0
    exponent = min(0.5 * far * far / total, constants.LARGEST_EXPONENT)
    return float(math.exp(-exponent) * min(max(gap / math.sqrt(2.0 * math.pi * total), constants.LEAST_MASS), 1.0))


@kernel
def compare(usual: Record, arm: Record, reward: float) -> None:
    """Add what a reward of an arm says for and against the three explanations, each by what it learned from earlier ones.

    amounts: share * mass among amounts, or 1 - share;  smooth: mass among all rewards;
    lasting: (1 - h) * [as the last reward] + h * the first one. An arm with two values says nothing, see `count_reward`
    """
    share = (arm.hits + 0.5) / (arm.count + 1.0)
    variance = (arm.squares + arm.gap * arm.gap) / arm.count
    smooth = mass(reward - arm.average, variance, arm.gap)
    mixed = 1.0 - share
    if reward != usual.value:
        varying = (arm.paid_squares + variance) / (arm.hits + 1.0)
        mixed = share * mass(reward - (arm.paid if arm.hits > 0 else arm.average), varying, arm.gap)
    same = 1.0 - constants.LASTING if reward == arm.last else 0.0
    usual.smooth += math.log(mixed / smooth)
    usual.lasting += math.log(mixed / (same + constants.LASTING * mixed))


@kernel
def count_amount(usual: Record, arm: Record, reward: float) -> None:
    """Count a reward that is not the usual one: running mean and squares, and the logarithms of amounts."""
    size = math.log(abs(reward - usual.value))
    if arm.hits > 0:
        arm.moved += (size - arm.last_amount) * (size - arm.last_amount)
    arm.last_amount = size
    arm.hits += 1
    far = reward - arm.paid
    arm.paid += far / arm.hits
    arm.paid_squares += far * (reward - arm.paid)
    arm.amount += (size - arm.amount) / arm.hits


@kernel
def count_reward(standard: Standard, arm: int, reward: float) -> None:
    """Learn from a reward what rewards are like: the usual value, once there is one, and which explanation is better."""
    usual, mine = standard.usual[0], standard.amounts[arm]
    far = abs(reward - mine.last)
    if mine.count > 0 and far > 0.0 and (mine.gap == 0.0 or far < mine.gap):
        mine.gap = far
    if usual.known == 0 and mine.count > 0 and reward == mine.last:
        usual.known = 1
        usual.value = reward
    elif usual.known == 1 and mine.paid_squares > 0.0:  # two values are yes and no, or a price, whatever the shares
        compare(usual, mine, reward)
    if usual.known == 1:
        usual.count += 1
        if reward != usual.value:
            usual.hits += 1
            count_amount(usual, mine, reward)
    mine.count += 1
    away = reward - mine.average
    mine.average += away / mine.count
    mine.squares += away * (reward - mine.average)
    mine.last = reward


@kernel
def is_absurd(standard: Standard, arm: int, reward: float) -> bool:
    """Return whether a reward is a mistake rather than an amount: far larger than those of every arm, unless the arm's last one was, too.

    log(size) > mean of the logarithms of an arm's amounts + 5 * sqrt(1 + spread^2), for all arms that have paid any
    """
    usual, mine = standard.usual[0], standard.amounts[arm]
    if not may_pay_amounts(usual) or reward == usual.value:
        return False
    size, top = math.log(abs(reward - usual.value)), -np.inf
    for other in range(len(standard.amounts)):
        one = standard.amounts[other]
        if one.hits > 0:
            spread = spread_of(one)
            top = max(top, one.amount + constants.ABSURD_AMOUNT * math.sqrt(1.0 + spread * spread))
    before, mine.doubted = mine.doubted, 1 if size > top else 0
    return bool(size > top and before == 0)


@kernel
def is_mistake(standard: Standard, choice: Choice, rewards: np.ndarray) -> bool:
    """Return whether a group's reward is absurd among nothing and amounts."""
    found = False
    for group in range(len(rewards)):
        found = is_absurd(standard, choice.arms[group], rewards[group]) or found
    return found


@kernel
def was_mistaken(standard: Standard, rewards: np.ndarray) -> float:
    """Return the size of an amount, one of the first two, that shows the learned range to be that of a mistake before it; else 0."""
    usual, scale = standard.usual[0], standard.scale[0]
    if usual.known == 0 or usual.hits > 1 or standard.noise[0].sd == 0.0 or not few_values(standard.noise[0]):
        return 0.0
    for group in range(len(rewards)):
        size = abs(rewards[group] - usual.value)
        if 0.0 < size * math.exp(constants.ABSURD_AMOUNT) < scale.high - scale.low:
            return float(size)
    return 0.0


@kernel
def forget_amounts(standard: Standard) -> None:
    """Take all rewards so far for the usual value."""
    usual = standard.usual[0]
    usual.hits, usual.smooth, usual.lasting = 0, 0.0, 0.0
    for arm in range(len(standard.amounts)):
        mine = standard.amounts[arm]
        mine.average = mine.last = usual.value
        mine.squares = mine.gap = mine.paid = mine.paid_squares = mine.amount = mine.last_amount = mine.moved = 0.0
        mine.hits = mine.doubted = 0


@kernel
def count_rewards(standard: Standard, choice: Choice, rewards: np.ndarray) -> None:
    """Learn from the rewards of all groups what rewards are like."""
    for group in range(len(rewards)):
        count_reward(standard, choice.arms[group], rewards[group])


@kernel
def may_pay_amounts(usual: Record) -> bool:
    """Return whether a value has come again, and another one, and neither of the other explanations is clearly better."""
    return bool(usual.hits > 0 and min(usual.smooth, usual.lasting) > -constants.AMOUNTS_FIRST)


@kernel
def pays_amounts(standard: Standard) -> bool:
    """Return whether rewards are nothing or an amount: they may be, and values repeat in a row."""
    return bool(may_pay_amounts(standard.usual[0]) and few_values(standard.noise[0]))


@kernel
def summary_of(usual: Record, rewards: np.ndarray, first: int, last: int) -> tuple[int, float]:
    """Return how many rewards of some groups are amounts, and the mean of their logarithms."""
    hits, size = 0, 0.0
    for group in range(first, last):
        if usual.known == 1 and rewards[group] != usual.value:
            hits += 1
            size += math.log(abs(rewards[group] - usual.value))
    return hits, size / max(hits, 1)


@kernel
def chance_of(share: float, count: float, guess: float, hits: int, size: int) -> float:
    """Return the probability that so many of some groups, in a given order, pay an amount, after `count` rewards of which a share did.

    product over groups of (count * share + 2 * guess) / (count + 2), each counted before the next
    """
    yes = count * min(max(share, 0.0), 1.0) + constants.BINARY_REWARDS * guess
    no = count * (1.0 - min(max(share, 0.0), 1.0)) + constants.BINARY_REWARDS * (1.0 - guess)
    total = count + constants.BINARY_REWARDS
    chance = 1.0
    for i in range(hits):
        chance *= (yes + i) / (total + i)
    for i in range(size - hits):
        chance *= (no + i) / (total + hits + i)
    return float(chance)


@kernel
def spread_of(arm: Record) -> float:
    """Return the standard deviation of the logarithm of an arm's amounts in one state, by those that follow each other; 0 for a price.

    sqrt((moved / 2 + 1) / hits), moved the sum of the squared differences, and never below 0.05
    """
    if arm.moved == 0.0:
        return 0.0
    return max(math.sqrt((0.5 * arm.moved + 1.0) / arm.hits), constants.LEAST_AMOUNTS)


@kernel
def size_density(arm: Record, spread: float, size: float, hits: float, mine: float, number: int) -> tuple[float, float]:
    """Return the density, in `spread`, of the mean logarithm of some amounts in a state with `hits` of its own: height and exponent.

    normal(mean (hits * size + 2 * size of the arm) / (hits + 2), variance spread^2 * (1 / number + 1 / (hits + 2)))
    """
    weight = hits + constants.AMOUNTS
    far = (mine - (hits * size + constants.AMOUNTS * arm.amount) / weight) / spread
    variance = 1.0 / number + 1.0 / weight
    return 1.0 / math.sqrt(variance), 0.5 * far * far / variance


@kernel
def deviation_of(standard: Standard, amounts: bool, arm: int, number: int) -> float:
    """Return the standard deviation of an arm's mean in a state after so many rewards: by the noise, or by its amounts.

    sqrt(v / (number + v / spread^2));  v = share * (1 - share) * paid^2 + share * variance of what it paid, the arm's share of
    amounts in all states, with two rewards as all of them: by its share in this one an arm that has not paid yet would look certain
    """
    mine, usual, spread = standard.amounts[arm], standard.usual[0], standard.scale[0].spread
    if not amounts or mine.hits == 0:
        return float(standard.deviation[number])
    expected, paid = (usual.hits + 1.0) / (usual.count + 2.0), mine.paid - usual.value
    share = (mine.hits + constants.BINARY_REWARDS * expected) / (mine.count + constants.BINARY_REWARDS)
    variance = share * ((1.0 - share) * paid * paid + mine.paid_squares / mine.hits)
    return math.sqrt(variance / (number + variance / (spread * spread)))

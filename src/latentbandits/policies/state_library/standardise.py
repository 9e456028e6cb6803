"""Range and noise: what rewards mean, learned from the rewards themselves unless it is given.

The range follows from the first rewards and is widened by means and by rewards that are confirmed. The noise follows from differences of
rewards of one arm: one round apart and, with one group, also two rounds apart. Differences are a mixture of noise and of changes of the
state, see `latentbandits.noise`; two things can mislead it. Where there are no changes the mixture takes the largest differences for
some: noise alone must be clearly the worse explanation. And where the state alternates, differences are changes, but two rounds apart they
are noise. `observe` says whether all is to be learned again.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.noise import (
    FEW_PAIRS,
    TIED,
    advantage,
    count_pair,
    estimate,
    fade,
    few_values,
    forget_differences,
)
from latentbandits.policies.state_library import constants
from latentbandits.policies.state_library.amounts import forget_amounts
from latentbandits.policies.state_library.covariates import shrink_difference
from latentbandits.policies.state_library.emissions import Outcome, set_gaussians
from latentbandits.policies.state_library.memory import FEATURES, Covariates, Memory, Standard
from latentbandits.protocols import Choice, Record

if TYPE_CHECKING:
    from latentbandits.policies.state_library.policy import StateLibrary


# --- range ---


@kernel
def set_range(scale: Record, low: float, high: float) -> None:
    """Expect means in a range."""
    scale.low = low
    scale.high = high
    scale.centre = 0.5 * (low + high)
    scale.spread = constants.UNIFORM * (high - low)


@kernel
def within_reach(standard: Standard, rounds: int, reward: float) -> float:
    """Return a reward, or the farthest that counts if it is farther outside the range, by the noise and the rounds learned from.

    At first the range may be far too narrow.
    """
    scale, sd = standard.scale[0], standard.noise[0].sd
    if sd == 0.0:
        return reward
    widths = constants.REACH_AT_FIRST if rounds <= constants.HISTORY else constants.REACH
    reach = widths * (scale.high - scale.low) + constants.REACH_NOISE * sd
    return float(min(max(reward, scale.low - reach), scale.high + reach))


@kernel
def first_scale(standard: Standard, given: float, arms: int, rounds: int, low: float, high: float) -> bool:
    """Learn the first range and noise, once each of the `arms` available was tried and two rewards differ; returns whether they are known.

    The range of n uniform numbers is on average (n - 1) / (n + 1) of what they are sampled from: widen by width / (n - 1) at both ends
    """
    scale = standard.scale[0]
    if rounds > 1:
        low, high = min(low, scale.low), max(high, scale.high)
    scale.low, scale.high = low, high
    if arms < 2 or rounds < arms or high - low < constants.NARROW:
        return False
    beyond = (high - low) / (arms - 1)
    set_range(scale, low - beyond, high + beyond)
    standard.noise[0].sd = given if given > 0.0 else learned_noise(standard)
    return True


@kernel
def rebase(means: np.ndarray, known: int, standard: Standard, centre: float, spread: float) -> None:
    """Move the means of some states from the prior that they were learned with (its middle and spread) to the present one.

    mean <- (mean * (n + w) - w * centre + w' * centre') / (n + w');  w = (noise / spread)^2
    """
    scale, sd = standard.scale[0], standard.noise[0].sd
    before, after = (sd / spread) * (sd / spread), (sd / scale.spread) * (sd / scale.spread)
    for k in range(known):
        for arm in range(means.shape[1]):
            mean = means[k, arm]
            total = mean.average * (mean.count + before) - before * centre
            mean.average = (total + after * scale.centre) / (mean.count + after)


@kernel
def confirmed(history: np.ndarray, rounds: int, arm: int, margin: float) -> bool:
    """Return whether the latest reward of an arm agrees with the one before; one that stands alone may be an outlier."""
    latest = history[(rounds - 1) % constants.HISTORY]
    now = latest.reward if latest.first == arm else latest.other
    for i in range(2, min(rounds, constants.HISTORY) + 1):
        past = history[(rounds - i) % constants.HISTORY]
        if arm in (past.first, past.second):
            before = past.reward if past.first == arm else past.other
            return bool(abs(now - before) <= margin)
    return False


@kernel
def level_outside(memory: Memory, given: bool, arm: int, reward: float) -> float:
    """Return a level that the range should reach, or else its middle: the arm's mean in the present state, or its latest reward.

    The mean of two rewards at least, 4.2 deviations outside, by the heaviest particle; or a reward 4.2 times the noise outside that agrees
    with the one before, unless the range is given
    """
    scale, library = memory.standard.scale[0], memory.library
    best = library.core[0].best
    mean = library.means[best, library.particles[best].here, arm]
    far = max(mean.average - scale.high, scale.low - mean.average)
    if far > 0.0 and mean.count > 1 and far > constants.OUTSIDE * memory.standard.deviation[mean.count]:
        return float(mean.average)
    margin = constants.OUTSIDE * memory.standard.noise[0].sd
    far = max(reward - scale.high, scale.low - reward)
    if far > margin and not given and confirmed(memory.history.rounds, memory.core[0].rounds, arm, margin):
        return reward
    return float(scale.centre)


@kernel
def widen(memory: Memory, groups: int, low: float, high: float) -> bool:
    """Widen the range to reach two levels; returns whether all is to be learned again."""
    scale = memory.standard.scale[0]
    centre, spread = scale.centre, scale.spread
    if high > scale.high:
        set_range(scale, scale.low, high + constants.WIDEN * (high - scale.low))
    if low < scale.low:
        set_range(scale, low - constants.WIDEN * (scale.high - low), scale.high)
    if memory.core[0].rounds <= constants.HISTORY:
        return True
    library = memory.library
    for i in range(library.core[0].live):
        slot = library.slots[i]
        rebase(library.means[slot], library.particles[slot].known, memory.standard, centre, spread)
    rebase(memory.evidence.means, len(memory.evidence.means), memory.standard, centre, spread)
    set_gaussians(memory.standard, groups)
    return False


@kernel
def third_highest(history: np.ndarray, sign: float) -> float:
    """Return the third highest of all rewards that are remembered, times a sign."""
    first = second = third = -np.inf
    for i in range(constants.HISTORY):
        reward = sign * history[i].reward
        if reward > first:
            first, second, third = reward, first, second
        elif reward > second:
            second, third = reward, second
        elif reward > third:
            third = reward
    return float(third)


@kernel
def set_absurd_range(standard: Standard, history: np.ndarray, given: float) -> bool:
    """Return whether the range is far too wide for the first 256 rewards, and set it by these: a first one was an outlier.

    The third lowest and the third highest of them count, widened by a quarter of their distance
    """
    scale = standard.scale[0]
    low, high = -third_highest(history, -1.0), third_highest(history, 1.0)
    if high - low < constants.NARROW or scale.high - scale.low < constants.ABSURD * (high - low):
        return False
    beyond = constants.WIDEN * (high - low)
    set_range(scale, low - beyond, high + beyond)
    standard.noise[0].sd = given if given > 0.0 else learned_noise(standard)
    return True


@kernel
def forget_mistake(standard: Standard, history: np.ndarray, rounds: int, size: float) -> None:
    """Let range, noise and amounts begin again, as if rewards absurdly far from the usual value, for amounts of a size, had been usual."""
    value, scale, far = standard.usual[0].value, standard.scale[0], size * math.exp(constants.ABSURD_AMOUNT)
    forget_amounts(standard)
    for i in range(2):
        forget_differences(standard.noise[i], value)
    standard.noise[0].sd = 0.0
    scale.low = scale.high = value
    for i in range(min(rounds, constants.HISTORY)):
        past = history[i]
        if abs(past.reward - value) > far:
            past.reward, past.hits = value, 0
        if past.second >= 0 and abs(past.other - value) > far:
            past.other, past.other_hits = value, 0


# --- noise ---


@kernel
def count_difference(
    policy: "StateLibrary", standard: Standard, covariates: Covariates, choice: Choice, rewards: np.ndarray
) -> bool:
    """Count the difference of two rewards of one arm, if there is one; returns whether the noise is to be estimated again.

    The rewards are those of two groups, or (with one group) of this round and the one before, and the one before that.
    """
    noise, earlier, arm = standard.noise[0], standard.noise[1], choice.arms[0]
    if policy.noise > 0.0:
        return False
    if policy.groups > 1:
        due = choice.arms[1] == arm and count_pair(noise, rewards[0] - rewards[1])
        fade(noise)
        return bool(due)
    due = False
    if noise.last_arm == arm:
        due = count_pair(noise, without_effects(standard, covariates, 0, rewards[0], choice))
        fade(noise)
        if earlier.last_arm == arm:
            count_pair(earlier, without_effects(standard, covariates, 1, rewards[0], choice))
            fade(earlier)
    earlier.last_arm, earlier.last_reward = (arm if noise.last_arm == arm else -1), noise.last_reward
    noise.last_arm, noise.last_reward = arm, rewards[0]
    return bool(due)


@kernel
def without_effects(standard: Standard, covariates: Covariates, earlier: int, reward: float, choice: Choice) -> float:
    """Return the difference of two rewards of an arm without what features explain of it; as it is for rewards of a few values."""
    scale = standard.scale[0]
    difference = reward - standard.noise[earlier].last_reward
    if len(covariates.features) == 0:
        return float(difference)
    if earlier == 0:
        scale.pairs += 1
        scale.ties += 1 if difference == 0.0 else 0
    if scale.ties > TIED * scale.pairs:
        return float(difference)
    return shrink_difference(covariates, choice.arms[0], difference, choice.features[FEATURES:], earlier == 1)


@kernel
def learned_noise(standard: Standard) -> float:
    """Return the noise that the differences of rewards suggest, with some caution.

    (raw^pairs * expected^4)^(1 / (pairs + 4)) * (1 + 0.5 / sqrt(pairs + 4)), without the caution for rewards of a few values
    """
    noise, scale = standard.noise[0], standard.scale[0]
    width, pairs = scale.high - scale.low, float(noise.pairs)
    sd = estimate(noise, constants.NOISE_SHARE * width, constants.NOISE_PAIRS)
    if noise.largest > 0.0 and not few_values(noise):
        raw = separated(noise, standard.noise[1])
        expected = constants.NOISE_PAIRS * math.log(constants.NOISE_SHARE * width)
        sd = math.exp((pairs * math.log(raw) + expected) / (pairs + constants.NOISE_PAIRS))
        sd *= 1.0 + constants.CAUTION / math.sqrt(pairs + constants.NOISE_PAIRS)
    return float(max(sd, constants.LEAST_NOISE * width))


@kernel
def separated(noise: Record, earlier: Record) -> float:
    """Return the noise by the mixture, which has just been estimated, or by what explains the differences better."""
    plain = math.sqrt(0.5 * noise.squares / noise.pairs)
    raw = plain if advantage(noise, plain) < constants.PROOF else noise.raw
    if earlier.pairs < FEW_PAIRS or earlier.largest == 0.0:
        return float(raw)
    apart = estimate(earlier, 0.0, 0.0)
    if apart < constants.ALTERNATING * raw:
        return float(apart)
    return float(raw)


# --- both ---


@kernel
def observe(policy: "StateLibrary", memory: Memory, arms: int, outcome: Outcome, due: bool) -> tuple[bool, bool]:
    """Learn range and noise from the rewards of a decision with so many arms.

    Returns whether they turned out so different that all is to be learned again, and whether what was learned was on an absurd scale.
    """
    standard, rounds = memory.standard, memory.core[0].rounds
    noise, scale = standard.noise[0], standard.scale[0]
    if noise.sd == 0.0:
        low, high = outcome.reward, outcome.reward
        if outcome.second >= 0:
            low, high = min(low, outcome.other), max(high, outcome.other)
        return first_scale(standard, policy.noise, arms, rounds, low, high), False
    again, absurd, given = False, False, policy.high > policy.low
    low = high = level_outside(memory, given, outcome.first, outcome.reward)
    if outcome.second >= 0:
        level = level_outside(memory, given, outcome.second, outcome.other)
        low, high = min(low, level), max(high, level)
    if low < scale.low or high > scale.high:
        again = widen(memory, policy.groups, low, high)
    if rounds == constants.HISTORY and not given:
        absurd = set_absurd_range(standard, memory.history.rounds, policy.noise)
        again = absurd or again
    if due:
        sd = learned_noise(standard)
        if sd > constants.LOUDER * scale.noise_at_start or sd < constants.QUIETER * scale.noise_at_start:
            noise.sd = sd
            again = True
        elif abs(sd - noise.sd) > constants.OTHER_NOISE * noise.sd:
            noise.sd = sd
            set_gaussians(standard, policy.groups)
    return again, absurd

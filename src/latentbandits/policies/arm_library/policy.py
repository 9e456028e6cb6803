"""ArmLibrary: how it chooses and learns."""

import math

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.arm_library.chain import set_hazard, set_values, staying
from latentbandits.policies.arm_library.constants import (
    IDLE,
    IDLE_LEAST,
    LEAST_NOISE,
    MERGE_EVERY,
    NARROW,
    OUTREACH,
    RATES,
    REGIMES,
)
from latentbandits.policies.arm_library.drift import begin_drift, drift_index, learn_drift, score, weigh
from latentbandits.policies.arm_library.filter import begin_regimes, learn_regimes, merge_levels
from latentbandits.policies.arm_library.memory import SCRATCH, Memory, fresh
from latentbandits.policies.arms import FIRST, available, highest, set_index, set_untried
from latentbandits.policies.renewal import renewal_index
from latentbandits.policies.rounds import ROUND, arrived, begin_round, play, reward_of_round, set_unseen
from latentbandits.protocols import PROBE_REASON, RIVAL, STALENESS, UNTRIED, Choice, PlainPolicy, Record
from latentbandits.random import Stream


@kernel
def noise_of(core: Record, noise: float) -> float:
    """Return the standard deviation of a mean reward, which is never quite 0."""
    return float(max(noise, LEAST_NOISE * (core.high - core.low)))


@kernel
def set_arm(memory: Memory, arm: int, rounds: float, sd: float, choice: Choice) -> None:
    """Write an arm's value and index, those of all explanations by their probabilities, and the standard deviation of the value."""
    state = memory.arms[arm]
    gap = memory.clock[0].now - state.last
    stay = staying(state.hazard, gap)
    levels, square = 0.0, sd * sd / state.rewards
    for i in range(state.atoms):
        memory.space[i] = stay * memory.now[arm, i] + (1.0 - stay) * memory.usual[arm, i]
        levels += memory.space[i] * memory.values[arm, i]
    for i in range(state.atoms):
        square += memory.space[i] * (memory.values[arm, i] - levels) ** 2
    weight = memory.weight[REGIMES]
    index = weight * renewal_index(
        memory.values[arm], memory.space, memory.usual[arm], memory.rates[arm], state.atoms, sd
    )
    value, variance = weight * levels, weight * square
    for j in range(REGIMES):
        kalman, weight = memory.drifts[arm, j], memory.weight[j]
        index += weight * drift_index(memory, arm, j, gap, rounds, sd)
        value += weight * kalman.average
        variance += weight * ((kalman.variance + RATES[j] * gap) * sd * sd + (kalman.average - levels) ** 2)
    under_way = state.last < memory.asked[arm] and memory.clock[0].now - memory.asked[arm] <= memory.clock[0].longest
    set_index(choice, arm, value, 0.0 if under_way else index - value)  # a look under way makes another needless
    choice.arm_scores[arm].std_error = math.sqrt(max(variance - (value - levels) ** 2, 0.0))


@kernel
def see_range(memory: Memory, arm: int, reward: float) -> None:
    """Learn how many values rewards have, and the range of levels from the first two rewards of every arm."""
    core = memory.core[0]
    if core.values == 0:
        core.least, core.most, core.values = reward, reward, 1
    elif core.values < 3 and reward not in (core.least, core.most):
        core.values += 1
    core.least, core.most = min(core.least, reward), max(core.most, reward)
    if core.low > core.high:
        core.low, core.high = reward, reward
    elif memory.arms[arm].rewards < 2:
        core.low, core.high = min(core.low, reward), max(core.high, reward)


@kernel
def pays_less(choice: Choice, arm: int) -> bool:
    """Return whether another available arm is expected to pay more."""
    for other in range(len(choice.arm_scores)):
        if choice.arm_scores[other].available and choice.arm_scores[other].value > choice.arm_scores[arm].value:
            return True
    return False


@kernel
def longest_idle(memory: Memory, choice: Choice, number: int) -> int:
    """Return the available arm that was asked for longest ago, if that is too long; else -1."""
    now, stalest = memory.clock[0].now, -1
    longest = IDLE * now + IDLE_LEAST * number
    for arm in range(len(memory.arms)):
        idle = now - memory.asked[arm]
        if choice.arm_scores[arm].available and idle > longest:
            stalest, longest = arm, float(idle)
    return stalest


@kernel
def score_arms(memory: Memory, noise: float, choice: Choice) -> None:
    """Write what every arm is worth; every arm goes first until it was played twice."""
    clock = memory.clock[0]
    sd, number = noise_of(memory.core[0], noise), available(choice)
    untried = memory.core[0].high - memory.core[0].low <= NARROW
    for arm in range(len(memory.arms)):
        state = memory.arms[arm]
        if state.rewards == 1 and memory.asked[arm] <= state.last:
            set_untried(choice, arm, 2.0 * FIRST)  # at once, so that the noise is known
        elif state.rewards < 2 or untried:
            set_unseen(choice, arm, clock, memory.asked)
        else:
            set_arm(memory, arm, clock.now / number, sd, choice)


@kernel
def pick(memory: Memory, choice: Choice) -> int:
    """Return the arm with the highest index, or one that was left alone for too long, and write why."""
    arm, number = highest(choice), available(choice)
    choice.tags[PROBE_REASON] = 0
    if number > 1 and math.isnan(choice.arm_scores[arm].value):
        choice.tags[PROBE_REASON] = UNTRIED
    elif number > 1:
        stale = longest_idle(memory, choice, number)
        if stale >= 0:
            arm = stale
            choice.tags[PROBE_REASON] = STALENESS
        elif pays_less(choice, arm):
            choice.tags[PROBE_REASON] = RIVAL
    return arm


@kernel
def learn_reward(memory: Memory, arm: int, number: int, reward: float, noise: float) -> float:
    """Learn a reward of an arm in a round by every explanation; returns how likely they made it, 0 if they said nothing."""
    core, state, like = memory.core[0], memory.arms[arm], 0.0
    see_range(memory, arm, reward)
    sd, gap = noise_of(core, noise), abs(number - state.last)
    late = number < state.last
    state.last = max(state.last, number)
    state.rewards += 1
    if state.rewards == 1:
        begin_regimes(memory, arm, reward)
        begin_drift(memory, arm, reward)
    elif core.high - core.low > NARROW:
        out = 1.0 / (core.high - core.low + OUTREACH * sd)
        drifting = learn_drift(memory, arm, gap, late, reward, sd, out)
        levels = learn_regimes(memory, arm, gap, late, reward, sd, out)
        like = drifting + memory.weight[REGIMES] * levels
        score(memory, REGIMES, gap, levels)
        if state.rewards % MERGE_EVERY == 0:
            for h in range(state.live):
                merge_levels(memory.hypotheses[arm, h], memory.levels[arm, h], sd)
        weigh(memory)
    set_hazard(memory, arm)
    set_values(memory, arm, sd)
    return like


class ArmLibrary(PlainPolicy):
    """Every arm changes by itself between levels that come back: remember them, and look again at an arm that may have recovered.

    Per arm, hypotheses say which levels there are and which reward was at which; Bayes' rule weighs them. Time passes for arms that are not
    played: what was bad drifts back to its long-run share of good levels. An arm is played if its renewal index is highest, the subsidy for
    leaving it alone at which one would not care (`latentbandits.policies.renewal`). Means that never change or drift are other explanations
    of the same rewards; indices are weighed by how well each predicts. No arm is given up: one that was left alone for a share of all
    rounds is tried once more. Noise, levels, their shares and how often they change are learned;
    nothing depends on the unit or the zero of rewards. Rewards of two values are learned as such.

    All groups play one arm. A late reward is about the round of its decision. Features are not used.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm.

    Examples
    --------
    >>> import latentbandits as lb
    >>> world = lb.Independent(arms=6, dwell=200, noise=0.1)
    >>> results = lb.simulate(world, ["arm-library", "d-ts"], horizon=5000, draws=8, repeats=1)
    >>> results.summary()[0].label
    'arm-library'
    """

    deterministic = True
    scale_free = True

    @property
    def scratch(self) -> tuple[str, ...]:
        """Fields of the memory that are written before they are read."""
        return SCRATCH

    def init(self) -> Memory:
        """Return the memory before the first round."""
        return fresh(self.arms)

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play every arm twice, then the one with the highest index."""
        clock = memory.clock[0]
        begin_round(clock, choice)
        score_arms(memory, memory.noise[0].sd / math.sqrt(self.groups), choice)
        play(pick(memory, choice), choice, clock, memory.asked)

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Learn the noise, and the mean reward of all groups."""
        arm = choice.arms[0]
        reward = reward_of_round(memory.clock[0], memory.noise[0], 0.0, self.groups, arm, rewards)
        arrived(memory.clock[0], choice)
        learn_reward(memory, arm, choice.tags[ROUND], reward, memory.noise[0].sd / math.sqrt(self.groups))

"""BR-MAB: confidence bounds since the last change, and what is remembered of earlier times that were like the present."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.noise import fresh_noise
from latentbandits.policies.arms import forced_arm, set_index
from latentbandits.policies.rounds import Clock, arrived, begin_round, play, play_highest, reward_of_round, set_unseen
from latentbandits.protocols import Choice, PlainPolicy
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, Untuned, Within

_ABOVE = 0  # the walk of rewards that are too high; the other one is that of rewards that are too low


class Memory(NamedTuple):
    """The present concept, the walks of the change detector, and the library of earlier concepts."""

    counts: np.ndarray  # rewards since the last change, per arm
    sums: np.ndarray
    walks: np.ndarray  # per arm, above and under: the cumulative sum of deviations
    tail_counts: np.ndarray  # rewards since that sum was last zero
    tail_sums: np.ndarray
    past_counts: np.ndarray  # rewards of earlier concepts, per arm and concept
    past_sums: np.ndarray
    stored: np.ndarray  # number of these concepts, per arm
    recalled: np.ndarray  # the one that has returned, -1 for none, per arm
    asked: np.ndarray  # last round of every arm
    clock: np.ndarray  # see `latentbandits.policies.rounds`
    noise: np.ndarray  # see `latentbandits.noise`


class RecurrentBandit(PlainPolicy):
    """Upper confidence bounds with change detection and recurring concepts: BR-MAB (Re et al. 2021).

    The index of an arm is its mean plus ``exploration * noise * sqrt(log(n) / n_a)`` after n rewards of the present concept, n_a of them
    of arm a. In addition, every ``arms / forced`` rounds each arm is played once; only available arms count there.

    *Break-points.* Each reward r of an arm with at least `warm_up` rewards and mean u moves two sums, ``above = max(0, above + r - u -
    drift * noise)`` and ``under = max(0, under + u - r - drift * noise)``; u leaves out the rewards since the sum was last 0. When
    one of them reaches ``threshold * noise``, the arm has changed, or all arms have if they change `together`. The change was when
    that sum was last 0: rewards since then belong to the new concept, those before are stored in a library.

    *Recurrence.* While no concept has been recalled since the change, the new rewards of the arm are compared with each stored concept.
    They are equal if two one-sided tests place the difference of the means within ``margin`` of the range of rewards, ``|difference| +
    confidence * error <= margin * range``, and the difference may be chance, ``|difference| <= confidence * error``; other arms with
    rewards must pass the second test. If the concepts that are equal have the same best arm, the one with the smallest difference, in units
    of its error, returns with all its rewards; else more rewards are needed to say which one it is.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm, and a round's reward is their mean.
    warm_up : int
        Rewards of an arm before changes are looked for (M), and of a concept before it is stored.
    drift : float
        Deviation that is not counted, in units of the noise.
    threshold : float
        Sum of deviations that is a change, in units of the noise.
    margin : float
        Difference of two means that counts as none, as a share of the range of rewards (d).
    confidence : float
        Width of the tests for equality, in standard errors.
    forced : float
        Share of rounds in which the arms take turns.
    exploration : float
        Factor of the bonus.
    together : bool
        Whether a change of one arm is a change of all, and a concept one of all arms; False in the paper.
    concepts : int
        Most concepts that are kept; the one with the fewest rewards is replaced.
    noise : float
        Standard deviation of one group's reward; 0 if it is to be learned.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.policies.RecurrentBandit(arms=2), seed=1).ask().arm
    0
    """

    deterministic = True
    scale_free = True

    warm_up: Annotated[int, AtLeast(1)] = 5
    drift: Annotated[float, AtLeast(0)] = 0.5
    threshold: Annotated[float, AtLeast(0)] = 7.0
    margin: Annotated[float, Within(0, 1)] = 0.2
    confidence: Annotated[float, AtLeast(0)] = 2.0
    forced: Annotated[float, Within(0, 1)] = 0.003
    exploration: Annotated[float, AtLeast(0)] = 2.5
    together: bool = False
    concepts: Annotated[int, AtLeast(1), Untuned()] = 32
    noise: Annotated[float, AtLeast(0), Untuned()] = 0.0

    def init(self) -> Memory:
        """Return the memory before the first round."""
        return Memory(
            np.zeros(self.arms),
            np.zeros(self.arms),
            np.zeros((self.arms, 2)),
            np.zeros((self.arms, 2)),
            np.zeros((self.arms, 2)),
            np.zeros((self.arms, self.concepts)),
            np.zeros((self.arms, self.concepts)),
            np.zeros(self.arms, np.int64),
            np.full(self.arms, -1),
            np.zeros(self.arms, np.int64),
            np.zeros(1, Clock),
            fresh_noise(self.noise),
        )

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play the arm whose turn it is, if any, else the first untried one or the one with the highest index."""
        clock = memory.clock[0]
        begin_round(clock, choice)
        width = self.exploration * (memory.noise[0].sd / math.sqrt(self.groups))
        total = 0.0
        for arm in range(self.arms):
            total += _known(self, memory, arm)[0]
        log_n = math.log(max(total, 1.0))
        for arm in range(self.arms):
            n, rewards = _known(self, memory, arm)
            if n > 0.0:
                set_index(choice, arm, rewards / n, width * math.sqrt(log_n / n))
            else:
                set_unseen(choice, arm, clock, memory.asked)
        turn = forced_arm(choice, clock.now - 1, self.forced)
        if turn >= 0:
            play(turn, choice, clock, memory.asked)
        else:
            play_highest(choice, clock, memory.asked)

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Move the walks, store the concept if one of them says that it has ended, and look whether another has returned."""
        clock = memory.clock[0]
        arm = choice.arms[0]
        reward = reward_of_round(clock, memory.noise[0], self.noise, self.groups, arm, rewards)
        arrived(clock, choice)
        noise = memory.noise[0].sd / math.sqrt(self.groups)
        known, total = _known(self, memory, arm)
        memory.counts[arm] += 1.0
        memory.sums[arm] += reward
        ended = -1
        for side in range(2):
            before = known - memory.tail_counts[arm, side]
            if before < self.warm_up:
                continue
            gap = reward - (total - memory.tail_sums[arm, side]) / before
            memory.walks[arm, side] += (gap if side == _ABOVE else -gap) - self.drift * noise
            if memory.walks[arm, side] > 0.0:
                memory.tail_counts[arm, side] += 1.0
                memory.tail_sums[arm, side] += reward
                if noise > 0.0 and memory.walks[arm, side] >= self.threshold * noise:
                    ended = side
            else:
                memory.walks[arm, side] = 0.0
                memory.tail_counts[arm, side] = 0.0
                memory.tail_sums[arm, side] = 0.0
        if ended >= 0:
            _store(self, memory, arm, ended)
        if memory.recalled[_owner(self, arm)] < 0:
            _recall(self, memory, arm, noise, clock.high - clock.low)


@kernel
def _owner(policy: RecurrentBandit, arm: int) -> int:
    """Return whose number of concepts counts for an arm: its own, or that of the first arm for all of them."""
    return 0 if policy.together else arm


@kernel
def _known(policy: RecurrentBandit, memory: Memory, arm: int) -> tuple[float, float]:
    """Return number and sum of an arm's rewards in the present concept, with those of the time that has returned."""
    slot = memory.recalled[_owner(policy, arm)]
    if slot < 0:
        return memory.counts[arm], memory.sums[arm]
    return memory.counts[arm] + memory.past_counts[arm, slot], memory.sums[arm] + memory.past_sums[arm, slot]


@kernel
def _store(policy: RecurrentBandit, memory: Memory, arm: int, side: int) -> None:
    """Store the concept that has ended, and begin one with the rewards of the walk that says so."""
    count, total = memory.tail_counts[arm, side], memory.tail_sums[arm, side]
    memory.counts[arm] -= count
    memory.sums[arm] -= total
    owner = _owner(policy, arm)
    slot = memory.recalled[owner]
    first, last = (0, policy.arms) if policy.together else (arm, arm + 1)
    most = 0.0
    for other in range(first, last):
        most = max(most, memory.counts[other])
    if slot < 0 and most >= policy.warm_up:
        slot = memory.stored[owner]
        if slot < policy.concepts:
            memory.stored[owner] += 1
        else:
            slot = _smallest(memory, first, last)
            for other in range(first, last):
                memory.past_counts[other, slot] = 0.0
                memory.past_sums[other, slot] = 0.0
    for other in range(first, last):
        if slot >= 0:
            memory.past_counts[other, slot] += memory.counts[other]
            memory.past_sums[other, slot] += memory.sums[other]
        memory.counts[other] = 0.0
        memory.sums[other] = 0.0
        for each in range(2):
            memory.walks[other, each] = 0.0
            memory.tail_counts[other, each] = 0.0
            memory.tail_sums[other, each] = 0.0
    memory.counts[arm] = count
    memory.sums[arm] = total
    memory.recalled[owner] = -1


@kernel
def _smallest(memory: Memory, first: int, last: int) -> int:
    """Return the stored concept with the fewest rewards."""
    place, least = 0, np.inf
    for slot in range(memory.past_counts.shape[1]):
        total = 0.0
        for arm in range(first, last):
            total += memory.past_counts[arm, slot]
        if total < least:
            place, least = slot, total
    return place


@kernel
def _recall(policy: RecurrentBandit, memory: Memory, arm: int, noise: float, span: float) -> None:
    """Look for the stored concept that the rewards since the change are most like."""
    owner = _owner(policy, arm)
    first, last = (0, policy.arms) if policy.together else (arm, arm + 1)
    found, least, favourite, agreed = -1, np.inf, -1, True
    for slot in range(memory.stored[owner]):
        if memory.counts[arm] * memory.past_counts[arm, slot] == 0.0:
            continue
        fits, misfit, compared = True, 0.0, 0.0
        for other in range(first, last):
            n, m = memory.counts[other], memory.past_counts[other, slot]
            if n * m > 0.0:
                gap = abs(memory.sums[other] / n - memory.past_sums[other, slot] / m)
                width = policy.confidence * noise * math.sqrt(1.0 / n + 1.0 / m)
                if gap > width or (other == arm and gap + width > policy.margin * span):
                    fits = False
                elif width > 0.0:
                    misfit += (gap / width) * (gap / width)
                compared += 1.0
        if fits:
            best = _best(memory, slot, first, last)
            agreed = agreed and (favourite < 0 or favourite == best)
            favourite = best
            if misfit / compared < least:
                found, least = slot, misfit / compared
    memory.recalled[owner] = found if agreed else -1


@kernel
def _best(memory: Memory, slot: int, first: int, last: int) -> int:
    """Return the arm with the highest mean in a stored concept."""
    best, top = -1, -np.inf
    for arm in range(first, last):
        n = memory.past_counts[arm, slot]
        if n > 0.0 and memory.past_sums[arm, slot] / n > top:
            best, top = arm, memory.past_sums[arm, slot] / n
    return best

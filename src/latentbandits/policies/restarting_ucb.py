"""Confidence bounds that restart after a change: found by a likelihood ratio (GLR-UCB), a window (M-UCB), or sums (CUSUM-UCB)."""

import math
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.noise import fresh_noise, mean_of_round
from latentbandits.policies.arms import assign, assign_highest, forced_arm, play_mixture, set_bounds
from latentbandits.protocols import Choice, PlainPolicy, record_type
from latentbandits.random import Stream
from latentbandits.settings import Above, AtLeast, InUnit, InvalidValueError, Step, Untuned, Within

if TYPE_CHECKING:
    from latentbandits.policies.detection_augmented import Memory

Scalars = record_type(rounds=int)  # since the restart


@kernel
def changes(memory: "SplitMemory | Memory", arm: int, reward: float, noise: float, risk: float) -> bool:
    """Count a reward of an arm, and return whether its mean seems to have changed since the first reward (Besson et al. 2022).

    The rewards are split into s earlier and s' later ones; for some split ``(mean - mean')^2 / (1 / s + 1 / s') / (2 noise^2)`` is
    ``log(3 n^1.5 / risk)`` or more.
    """
    most = memory.split_counts.shape[1]
    if memory.counts[arm] > 0:
        if memory.splits[arm] == most:
            thin_out(memory, arm)
        newest = memory.splits[arm]
        memory.split_counts[arm, newest] = memory.counts[arm]
        memory.split_sums[arm, newest] = memory.sums[arm]
        memory.splits[arm] += 1
    memory.counts[arm] += 1
    memory.sums[arm] += reward

    n, total = memory.counts[arm], memory.sums[arm]
    threshold = math.log(3.0 * n * math.sqrt(n) / risk) * 2.0 * noise * noise
    changed = False
    for i in range(memory.splits[arm]):
        early = memory.split_counts[arm, i]
        # the statistic with one division: the difference of the two means is n / (early * late) times this
        gap = memory.split_sums[arm, i] - total * early / n
        if gap * gap * n >= threshold * early * (n - early) > 0.0:
            changed = True
    return changed


@kernel
def forget(memory: "SplitMemory | Memory") -> None:
    """Forget all rewards."""
    for arm in range(len(memory.counts)):
        memory.counts[arm] = 0
        memory.sums[arm] = 0.0
        memory.splits[arm] = 0


@kernel
def thin_out(memory: "SplitMemory | Memory", arm: int) -> None:
    """Drop the split whose two neighbours are nearest to each other, for the older one's age; the newest stays."""
    size, now = memory.splits[arm], memory.counts[arm]
    least, place, before = np.inf, 0, 0
    for i in range(size - 1):
        distance = (memory.split_counts[arm, i + 1] - before) / (now - before)
        if distance < least:
            least, place = distance, i
        before = memory.split_counts[arm, i]
    for i in range(place, size - 1):
        memory.split_counts[arm, i] = memory.split_counts[arm, i + 1]
        memory.split_sums[arm, i] = memory.split_sums[arm, i + 1]
    memory.splits[arm] -= 1


class SplitMemory(NamedTuple):
    """Rewards since the restart, in all and at some moments in between; and the learned noise."""

    counts: np.ndarray  # per arm
    sums: np.ndarray
    split_counts: np.ndarray  # counts and sums of an arm at earlier moments, oldest first
    split_sums: np.ndarray
    splits: np.ndarray  # number of these moments, per arm
    scalars: np.ndarray
    noise: np.ndarray  # see `latentbandits.noise`


class RecentMemory(NamedTuple):
    """Rewards since the restart and each arm's newest ones as a ring; and the learned noise."""

    counts: np.ndarray
    sums: np.ndarray
    recent: np.ndarray  # the newest rewards, per arm
    scalars: np.ndarray
    noise: np.ndarray  # see `latentbandits.noise`


class SumsMemory(NamedTuple):
    """Rewards since the restart and the two cumulative sums, per arm; and the learned noise."""

    counts: np.ndarray
    sums: np.ndarray
    usual: np.ndarray  # mean of the first rewards
    above: np.ndarray  # by how much later rewards were higher, in all
    under: np.ndarray  # by how much they were lower
    noise: np.ndarray  # see `latentbandits.noise`


@kernel
def play_in_turns(memory: SplitMemory | RecentMemory, width: float, forced: float, choice: Choice) -> None:
    """Play the arm whose turn it is, if any, else the first untried one or the one with the highest index."""
    rounds = memory.scalars[0].rounds
    set_bounds(choice, memory.sums, memory.counts, rounds, width)
    turn = forced_arm(choice, rounds, forced)
    if turn >= 0:
        assign(turn, choice)
    else:
        assign_highest(choice)


class GLRUCB(PlainPolicy):
    """Upper confidence bounds since the last change, which a test finds: GLR-UCB with global restarts (Besson et al. 2022).

    The index of an arm is its mean plus ``exploration * noise * sqrt(log(n) / n_a)`` after n rounds since the restart, n_a of
    them with arm a. In addition, every ``arms / forced`` rounds each arm is played once; only available arms count there. The rewards of an
    arm are split into s earlier and s' later ones; if for some split ``(mean - mean')^2 / (1 / s + 1 / s') / (2 noise^2)`` is
    ``log(3 n_a^1.5 / risk)`` or more, all arms restart.

    No more than `splits` splits of an arm are tested, all of the newest and ever fewer of the older ones: new splits come in at
    the end, and the one that is missed least for its age is dropped. A test of some splits has no more false alarms than one
    of all, and whenever a change was, a split is near it for its age.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm, and a round's reward is their mean.
    risk : float
        Probability of a false alarm that the threshold stands for (delta).
    forced : float
        Share of rounds in which the arms take turns (alpha).
    exploration : float
        Factor of the bonus.
    splits : int
        Most splits that are tested, per arm.
    noise : float
        Standard deviation of one group's reward; 0 if it is to be learned.
    prior_sd : float
        Standard deviation of the arms' expected rewards; until there are rewards, a tenth of it is taken for the noise.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.policies.GLRUCB(arms=2), seed=1).ask().arm
    0
    """

    deterministic = True

    risk: Annotated[float, Within(0, 1)] = 0.1
    forced: Annotated[float, Within(0, 1)] = 0.003
    exploration: Annotated[float, AtLeast(0)] = 2.0
    splits: Annotated[int, AtLeast(2), Untuned()] = 32
    noise: Annotated[float, AtLeast(0), Untuned(), InUnit()] = 0.0
    prior_sd: Annotated[float, Above(0), Untuned(), InUnit()] = 0.29

    def init(self) -> SplitMemory:
        """Return the memory before the first round."""
        return SplitMemory(
            np.zeros(self.arms, np.int64),
            np.zeros(self.arms),
            np.zeros((self.arms, self.splits), np.int64),
            np.zeros((self.arms, self.splits)),
            np.zeros(self.arms, np.int64),
            np.zeros(1, Scalars),
            fresh_noise(self.noise, self.prior_sd),
        )

    def choose(self, memory: SplitMemory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play the arm whose turn it is, if any, else the first untried one or the one with the highest index."""
        play_in_turns(memory, self.exploration * (memory.noise[0].sd / math.sqrt(self.groups)), self.forced, choice)

    def learn(self, memory: SplitMemory, choice: Choice, rewards: np.ndarray) -> None:
        """Count the rewards, and restart if the arm seems to have changed."""
        arm = choice.arms[0]
        reward = mean_of_round(memory.noise[0], self.noise, self.prior_sd, self.groups, arm, rewards)
        memory.scalars[0].rounds += 1
        if changes(memory, arm, reward, memory.noise[0].sd / math.sqrt(self.groups), self.risk):
            memory.scalars[0].rounds = 0
            forget(memory)


class MonitoredUCB(PlainPolicy):
    """Upper confidence bounds since the last change, which a window finds: M-UCB (Cao, Wen, Kveton & Xie 2019).

    The index of an arm is its mean plus ``exploration * noise * sqrt(log(n) / n_a)`` after n rounds since the restart, n_a of
    them with arm a. In addition, every ``arms / forced`` rounds each arm is played once; only available arms count there. When the
    sums of the older and of the newer half of an arm's last `window` rewards differ by more than
    ``threshold * noise * sqrt(window)``, all arms restart.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm, and a round's reward is their mean.
    window : int
        Number of an arm's newest rewards that are compared, an even number (w).
    threshold : float
        Difference of the two halves that is a change, in standard deviations of that difference (b).
    forced : float
        Share of rounds in which the arms take turns (gamma).
    exploration : float
        Factor of the bonus.
    noise : float
        Standard deviation of one group's reward; 0 if it is to be learned.
    prior_sd : float
        Standard deviation of the arms' expected rewards; until there are rewards, a tenth of it is taken for the noise.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.policies.MonitoredUCB(arms=2), seed=1).ask().arm
    0
    """

    deterministic = True

    window: Annotated[int, AtLeast(2), Step(2)] = 8
    threshold: Annotated[float, AtLeast(0)] = 3.0
    forced: Annotated[float, Within(0, 1)] = 0.01
    exploration: Annotated[float, AtLeast(0)] = 2.8
    noise: Annotated[float, AtLeast(0), Untuned(), InUnit()] = 0.0
    prior_sd: Annotated[float, Above(0), Untuned(), InUnit()] = 0.29

    def check(self) -> None:
        """Refuse a window without halves."""
        if self.window % 2:
            raise InvalidValueError("MonitoredUCB", "window", self.window, "an even number")

    def init(self) -> RecentMemory:
        """Return the memory before the first round."""
        return RecentMemory(
            np.zeros(self.arms, np.int64),
            np.zeros(self.arms),
            np.zeros((self.arms, self.window)),
            np.zeros(1, Scalars),
            fresh_noise(self.noise, self.prior_sd),
        )

    def choose(self, memory: RecentMemory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play the arm whose turn it is, if any, else the first untried one or the one with the highest index."""
        play_in_turns(memory, self.exploration * (memory.noise[0].sd / math.sqrt(self.groups)), self.forced, choice)

    def learn(self, memory: RecentMemory, choice: Choice, rewards: np.ndarray) -> None:
        """Count the rewards, and restart if the halves of the arm's window differ."""
        arm = choice.arms[0]
        reward = mean_of_round(memory.noise[0], self.noise, self.prior_sd, self.groups, arm, rewards)
        noise = memory.noise[0].sd / math.sqrt(self.groups)
        newest = memory.counts[arm] % self.window
        memory.recent[arm, newest] = reward
        memory.counts[arm] += 1
        memory.sums[arm] += reward
        memory.scalars[0].rounds += 1
        if memory.counts[arm] < self.window:
            return
        half = self.window // 2
        difference = 0.0
        for back in range(half):
            difference += memory.recent[arm, (newest - back) % self.window]
            difference -= memory.recent[arm, (newest - back - half) % self.window]
        if abs(difference) > self.threshold * noise * math.sqrt(self.window):
            memory.scalars[0].rounds = 0
            for other in range(self.arms):
                memory.counts[other] = 0
                memory.sums[other] = 0.0


class CUSUMUCB(PlainPolicy):
    """Upper confidence bounds since the last change, which two cumulative sums find: CUSUM-UCB (Liu, Lee & Shroff 2018).

    The index of an arm is its mean plus ``exploration * noise * sqrt(log(n) / n_a)`` after n rounds, n_a of them with arm a. In
    the share `forced` of the rounds the arm is random, one of those available. The first `warm_up` rewards of an arm give its
    usual reward u; each later reward r moves two sums, ``above = max(0, above + r - u - drift * noise)`` and
    ``under = max(0, under + u - r - drift * noise)``. When one of them reaches ``threshold * noise``, the arm restarts, or all
    arms do if they change `together`.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm, and a round's reward is their mean.
    warm_up : int
        Number of rewards that give an arm's usual reward (M).
    drift : float
        Deviation that is not counted, in units of the noise (epsilon).
    threshold : float
        Sum of deviations that is a change, in units of the noise (h).
    forced : float
        Share of rounds with a random arm (alpha).
    exploration : float
        Factor of the bonus.
    together : bool
        Whether a change of one arm is a change of all; False in the paper.
    noise : float
        Standard deviation of one group's reward; 0 if it is to be learned.
    prior_sd : float
        Standard deviation of the arms' expected rewards; until there are rewards, a tenth of it is taken for the noise.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.policies.CUSUMUCB(arms=2), seed=1).ask().arm
    0
    """

    warm_up: Annotated[int, AtLeast(1)] = 5
    drift: Annotated[float, AtLeast(0)] = 1.0
    threshold: Annotated[float, AtLeast(0)] = 5.0
    forced: Annotated[float, Within(0, 1)] = 0.003
    exploration: Annotated[float, AtLeast(0)] = 2.8
    together: bool = False
    noise: Annotated[float, AtLeast(0), Untuned(), InUnit()] = 0.0
    prior_sd: Annotated[float, Above(0), Untuned(), InUnit()] = 0.29

    def init(self) -> SumsMemory:
        """Return the memory before the first round."""
        return SumsMemory(
            np.zeros(self.arms, np.int64),
            np.zeros(self.arms),
            np.zeros(self.arms),
            np.zeros(self.arms),
            np.zeros(self.arms),
            fresh_noise(self.noise, self.prior_sd),
        )

    def choose(self, memory: SumsMemory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play a random arm now and then, else the first untried one or the one with the highest index."""
        total = 0
        for arm in range(self.arms):
            total += memory.counts[arm]
        width = self.exploration * (memory.noise[0].sd / math.sqrt(self.groups))
        set_bounds(choice, memory.sums, memory.counts, total, width)
        play_mixture(choice, self.forced, random)

    def learn(self, memory: SumsMemory, choice: Choice, rewards: np.ndarray) -> None:
        """Count the rewards and move the sums; restart if one of them is too large."""
        arm = choice.arms[0]
        reward = mean_of_round(memory.noise[0], self.noise, self.prior_sd, self.groups, arm, rewards)
        noise = memory.noise[0].sd / math.sqrt(self.groups)
        memory.counts[arm] += 1
        memory.sums[arm] += reward
        if memory.counts[arm] <= self.warm_up:
            memory.usual[arm] = memory.sums[arm] / memory.counts[arm]
            return
        gap = reward - memory.usual[arm]
        memory.above[arm] = max(0.0, memory.above[arm] + gap - self.drift * noise)
        memory.under[arm] = max(0.0, memory.under[arm] - gap - self.drift * noise)
        if max(memory.above[arm], memory.under[arm]) >= self.threshold * noise:
            for other in range(self.arms):
                if self.together or other == arm:
                    memory.counts[other] = 0
                    memory.sums[other] = 0.0
                    memory.above[other] = 0.0
                    memory.under[other] = 0.0

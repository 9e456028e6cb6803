"""M-UCB: confidence bounds, restarted when the two halves of a window differ."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.noise import Noise, mean_of_round, start_noise
from latentbandits.policies.arms import assign, assign_highest, forced_arm, set_bounds
from latentbandits.protocols import Choice, Policy, record_type
from latentbandits.random import Stream
from latentbandits.settings import Above, AtLeast, InUnit, Refusal, Step, Untuned, Within

Scalars = record_type(rounds=int)  # since the restart


class Memory(NamedTuple):
    """Rewards since the restart and each arm's newest ones as a ring; and the learned noise."""

    counts: np.ndarray
    sums: np.ndarray
    recent: np.ndarray  # the newest rewards, per arm
    scalars: np.ndarray
    noise: np.ndarray  # see `latentbandits.noise`


class MonitoredUCB(Policy):
    """Upper confidence bounds since the last change, which a window finds: M-UCB (Cao, Wen, Kveton & Xie 2019).

    The index of an arm is its mean plus ``exploration * noise * sqrt(log(n) / n_a)`` after n rounds since the restart, n_a of
    them with arm a. In addition, every ``arms / forced`` rounds each arm is played once; only available arms count there. When the
    sums of the older and of the newer half of an arm's last `window` rewards differ by more than
    ``threshold * noise * sqrt(window)``, all arms restart.

    Parameters
    ----------
    arms : int
        Number of arms.
    units : int
        Units per round; all play the same arm, and a round's reward is their mean.
    window : int
        Number of an arm's newest rewards that are compared, an even number (w).
    threshold : float
        Difference of the two halves that is a change, in standard deviations of that difference (b).
    forced : float
        Share of rounds in which the arms take turns (gamma).
    exploration : float
        Factor of the bonus.
    noise : float
        Standard deviation of one unit's reward; 0 if it is to be learned.
    prior_sd : float
        Standard deviation of the arms' expected rewards; until there are rewards, a tenth of it is taken for the noise.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.MonitoredUCB(arms=2), seed=1).ask().arm
    0
    """

    deterministic = True

    arms: Annotated[int, AtLeast(2)]
    units: Annotated[int, AtLeast(1)] = 1
    window: Annotated[int, AtLeast(2), Step(2)] = 8
    threshold: Annotated[float, AtLeast(0)] = 3.0
    forced: Annotated[float, Within(0, 1)] = 0.01
    exploration: Annotated[float, AtLeast(0)] = 2.8
    noise: Annotated[float, AtLeast(0), Untuned(), InUnit()] = 0.0
    prior_sd: Annotated[float, Above(0), Untuned(), InUnit()] = 0.29

    def check(self) -> None:
        """Refuse a window without halves."""
        if self.window % 2:
            raise Refusal("MonitoredUCB", "window", self.window, "an even number")

    def init(self) -> Memory:
        """Return the memory before the first round."""
        memory = Memory(
            np.zeros(self.arms, np.int64),
            np.zeros(self.arms),
            np.zeros((self.arms, self.window)),
            np.zeros(1, Scalars),
            np.zeros(1, Noise),
        )
        start_noise(memory.noise[0], self.noise, self.prior_sd)
        return memory

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play the arm whose turn it is, if any, else the first untried one or the one with the highest index."""
        width = self.exploration * (memory.noise[0].sd / math.sqrt(self.units))
        set_bounds(choice, memory.sums, memory.counts, memory.scalars[0].rounds, width)
        turn = forced_arm(choice, memory.scalars[0].rounds, self.forced)
        if turn >= 0:
            assign(turn, choice)
        else:
            assign_highest(choice)

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Count the rewards, and restart if the halves of the arm's window differ."""
        arm = choice.arms[0]
        reward = mean_of_round(memory.noise[0], self.noise, self.prior_sd, self.units, arm, rewards)
        noise = memory.noise[0].sd / math.sqrt(self.units)
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

"""CUSUM-UCB: confidence bounds, restarted when rewards leave the mean of the first few."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.noise import Noise, mean_of_round, start_noise
from latentbandits.policies.arms import assign, available, highest, nth_available, set_bounds, set_mixture
from latentbandits.protocols import Choice, Policy
from latentbandits.random import Stream, below, uniform
from latentbandits.settings import Above, AtLeast, InUnit, Untuned, Within


class Memory(NamedTuple):
    """Rewards since the restart and the two cumulative sums, per arm; and the learned noise."""

    counts: np.ndarray
    sums: np.ndarray
    usual: np.ndarray  # mean of the first rewards
    above: np.ndarray  # by how much later rewards were higher, in all
    under: np.ndarray  # by how much they were lower
    noise: np.ndarray  # see `latentbandits.noise`


class CUSUMUCB(Policy):
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
    units : int
        Units per round; all play the same arm, and a round's reward is their mean.
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
        Standard deviation of one unit's reward; 0 if it is to be learned.
    prior_sd : float
        Standard deviation of the arms' expected rewards; until there are rewards, a tenth of it is taken for the noise.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.CUSUMUCB(arms=2), seed=1).ask().arm
    0
    """

    arms: Annotated[int, AtLeast(2)]
    units: Annotated[int, AtLeast(1)] = 1
    warm_up: Annotated[int, AtLeast(1)] = 5
    drift: Annotated[float, AtLeast(0)] = 1.0
    threshold: Annotated[float, AtLeast(0)] = 5.0
    forced: Annotated[float, Within(0, 1)] = 0.003
    exploration: Annotated[float, AtLeast(0)] = 2.8
    together: bool = False
    noise: Annotated[float, AtLeast(0), Untuned(), InUnit()] = 0.0
    prior_sd: Annotated[float, Above(0), Untuned(), InUnit()] = 0.29

    def init(self) -> Memory:
        """Return the memory before the first round."""
        memory = Memory(
            np.zeros(self.arms, np.int64),
            np.zeros(self.arms),
            np.zeros(self.arms),
            np.zeros(self.arms),
            np.zeros(self.arms),
            np.zeros(1, Noise),
        )
        start_noise(memory.noise[0], self.noise, self.prior_sd)
        return memory

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play a random arm now and then, else the first untried one or the one with the highest index."""
        total = 0
        for arm in range(self.arms):
            total += memory.counts[arm]
        width = self.exploration * (memory.noise[0].sd / math.sqrt(self.units))
        set_bounds(choice, memory.sums, memory.counts, total, width)
        best = highest(choice)
        set_mixture(choice, best, self.forced)
        if uniform(random) < self.forced:
            assign(nth_available(choice, below(random, available(choice))), choice)
        else:
            assign(best, choice)

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Count the rewards and move the sums; restart if one of them is too large."""
        arm = choice.arms[0]
        reward = mean_of_round(memory.noise[0], self.noise, self.prior_sd, self.units, arm, rewards)
        noise = memory.noise[0].sd / math.sqrt(self.units)
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

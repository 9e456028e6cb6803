"""CP-TS: Thompson sampling over what may have changed, and when."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.markers import Untuned
from latentbandits.noise import BINS, TALLIES, first_noise, mean_of_round
from latentbandits.protocols import Choice
from latentbandits.random import Stream, normal, uniform
from latentbandits.settings import Above, AtLeast, Within, checked

# Before anything is known there is one change in a hundred rounds, and that counts as much as a hundred rounds.
_CHANGES, _ROUNDS = 1.0, 100.0
# Far beyond any use, so that nothing becomes infinite, and not all weights zero
_MISFIT, _PRIOR_WEIGHT, _NEGLIGIBLE = 1e300, 1e-12, 1e-100


class Memory(NamedTuple):
    """Hypotheses about the last change, each with its weight and the rewards since; and what is known of noise and hazard."""

    weights: np.ndarray  # of each hypothesis
    counts: np.ndarray  # rounds since its change, per hypothesis and arm
    sums: np.ndarray
    changes: np.ndarray  # number of changes that each hypothesis expects in the past
    misfit: np.ndarray  # of each hypothesis to the newest reward
    used: np.ndarray  # number of hypotheses so far
    rounds: np.ndarray
    hazard: np.ndarray
    noise: np.ndarray
    bins: np.ndarray
    tally: np.ndarray
    last_arm: np.ndarray
    last_reward: np.ndarray


@checked
class ChangePointThompson(NamedTuple):
    """Thompson sampling with Bayesian change-point detection: Global-STS of Mellor & Shapiro (2013), all arms change together.

    A hypothesis says when the last change was. It knows the rewards since then, and weighs what the filter over run lengths
    (Adams & MacKay 2007) gives it: each reward multiplies its weight by the predictive density, and each round moves the share
    `hazard` of all weight to a new hypothesis that knows nothing. A round draws a hypothesis by weight, then a mean of every
    arm from its posterior, and plays the highest. When there are more than `hypotheses`, the lightest is dropped.

    Parameters
    ----------
    arms : int
        Number of arms.
    units : int
        Units per round; all play the same arm, and a round's reward is their mean.
    hazard : float
        Probability of a change in a round; 0 if it is to be learned, by counting the changes that the hypotheses expect.
    hypotheses : int
        Most hypotheses that are kept.
    noise : float
        Standard deviation of one unit's reward; 0 if it is to be learned.
    prior_mean : float
        Mean of an arm's expected reward after a change.
    prior_sd : float
        Standard deviation of an arm's expected reward after a change.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.ChangePointThompson(arms=2), seed=1).ask().arm
    0
    """

    arms: Annotated[int, AtLeast(2)]
    units: Annotated[int, AtLeast(1)] = 1
    hazard: Annotated[float, Within(0, 1)] = 0.002
    hypotheses: Annotated[int, AtLeast(2), Untuned()] = 32
    noise: Annotated[float, AtLeast(0), Untuned()] = 0.0
    prior_mean: Annotated[float, Untuned()] = 0.5
    prior_sd: Annotated[float, Above(0), Untuned()] = 0.29

    def init(self) -> Memory:
        """Return the memory before the first round: one hypothesis, that there was no change."""
        weights = np.zeros(self.hypotheses)
        weights[0] = 1.0
        return Memory(
            weights,
            np.zeros((self.hypotheses, self.arms)),
            np.zeros((self.hypotheses, self.arms)),
            np.zeros(self.hypotheses),
            np.zeros(self.hypotheses),
            np.ones(1, np.int64),
            np.zeros(1, np.int64),
            np.full(1, self.hazard if self.hazard > 0.0 else _CHANGES / _ROUNDS),
            np.full(1, first_noise(self.noise, self.prior_sd)),
            np.zeros(BINS),
            np.zeros(TALLIES),
            np.full(1, -1, np.int64),
            np.zeros(1),
        )

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Draw a hypothesis, then a mean of every arm, and play the highest."""
        left = uniform(random)
        drawn = 0
        while drawn < memory.used[0] - 1 and left >= memory.weights[drawn]:
            left -= memory.weights[drawn]
            drawn += 1
        noise = memory.noise[0] / math.sqrt(self.units)
        # the prior is worth so many rounds
        prior_weight = max(noise * noise / (self.prior_sd * self.prior_sd), _PRIOR_WEIGHT)
        best, top = 0, -np.inf
        for arm in range(self.arms):
            weight = prior_weight + memory.counts[drawn, arm]
            mean = (prior_weight * self.prior_mean + memory.sums[drawn, arm]) / weight
            value = mean + noise / math.sqrt(weight) * normal(random)
            if value > top:
                best, top = arm, value
        for unit in range(self.units):
            choice.arms[unit] = best

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Weigh the hypotheses by how well they predicted the mean reward, and add a new one."""
        arm = choice.arms[0]
        reward = mean_of_round(memory, self.noise, self.prior_sd, self.units, arm, rewards)
        noise = memory.noise[0] / math.sqrt(self.units)
        prior_weight = max(noise * noise / (self.prior_sd * self.prior_sd), _PRIOR_WEIGHT)

        used = memory.used[0]
        least = np.inf
        for i in range(used):
            if memory.weights[i] < _NEGLIGIBLE:
                memory.weights[i] = 0.0
            else:
                share = 1.0 / (prior_weight + memory.counts[i, arm])
                gap = (reward - (prior_weight * self.prior_mean + memory.sums[i, arm]) * share) / noise
                spread = share + 1.0
                memory.misfit[i] = min(gap * gap / spread, _MISFIT)
                memory.weights[i] /= math.sqrt(spread)
                memory.counts[i, arm] += 1
                memory.sums[i, arm] += reward
                least = min(least, memory.misfit[i])
        lightest = 0
        for i in range(used):
            if memory.weights[i] > 0.0:
                memory.weights[i] *= math.exp(-0.5 * (memory.misfit[i] - least))
            if memory.weights[i] < memory.weights[lightest]:
                lightest = i
        if used < self.hypotheses:
            lightest = used
            memory.used[0] += 1
        memory.weights[lightest] = 0.0

        kept, changes = 0.0, 0.0
        for i in range(used):
            kept += memory.weights[i]
            changes += memory.weights[i] * memory.changes[i]
        changes /= kept
        memory.rounds[0] += 1
        if self.hazard == 0.0:
            memory.hazard[0] = (_CHANGES + changes) / (_ROUNDS + memory.rounds[0])
        hazard = memory.hazard[0]
        for i in range(used):
            memory.weights[i] *= (1.0 - hazard) / kept
        memory.weights[lightest] = hazard
        memory.changes[lightest] = changes + 1.0
        for other in range(self.arms):
            memory.counts[lightest, other] = 0.0
            memory.sums[lightest, other] = 0.0

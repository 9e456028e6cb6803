"""CP-TS: Thompson sampling over what may have changed, and when."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.noise import fresh_noise, mean_of_round
from latentbandits.policies.arms import assign_highest, sample_index
from latentbandits.protocols import Choice, PlainPolicy, record_type
from latentbandits.random import Stream, uniform
from latentbandits.settings import Above, AtLeast, InUnit, Untuned, Within

# Before anything is known there is one change in a hundred rounds, and that counts as much as a hundred rounds.
_CHANGES, _ROUNDS = 1.0, 100.0
# Far beyond any use, so that nothing becomes infinite, and not all weights zero
_MISFIT, _PRIOR_WEIGHT, _NEGLIGIBLE = 1e300, 1e-12, 1e-100


Scalars = record_type(
    used=int,  # number of hypotheses so far
    rounds=int,  # rounds learned from
    hazard=float,
)


class Memory(NamedTuple):
    """Hypotheses about the last change, each with its weight and the rewards since; and the learned noise and hazard."""

    weights: np.ndarray  # of each hypothesis
    counts: np.ndarray  # rounds since its change, per hypothesis and arm
    sums: np.ndarray
    changes: np.ndarray  # number of changes that each hypothesis expects in the past
    misfit: np.ndarray  # of each hypothesis to the newest reward
    scalars: np.ndarray
    noise: np.ndarray  # see `latentbandits.noise`


class ChangePointThompson(PlainPolicy):
    """Thompson sampling with Bayesian change-point detection: Global-STS of Mellor & Shapiro (2013), all arms change together.

    A hypothesis says when the last change was, and has the rewards since then. Its weight is that of the filter over run lengths
    (Adams & MacKay 2007): each reward multiplies its weight by the predictive density, and each round moves the share
    `hazard` of all weight to a new hypothesis without rewards. A round samples a hypothesis by weight, then a mean of every
    arm from its posterior, and plays the highest. When there are more than `hypotheses`, the lightest is dropped.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm, and a round's reward is their mean.
    hazard : float
        Probability of a change in a round; 0 if it is to be learned, by counting the changes that the hypotheses expect.
    hypotheses : int
        Most hypotheses that are kept.
    noise : float
        Standard deviation of one group's reward; 0 if it is to be learned.
    prior_mean : float
        Mean of an arm's expected reward after a change.
    prior_sd : float
        Standard deviation of an arm's expected reward after a change.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.policies.ChangePointThompson(arms=2), seed=1).ask().arm
    0
    """

    hazard: Annotated[float, Within(0, 1)] = 0.002
    hypotheses: Annotated[int, AtLeast(2), Untuned()] = 32
    noise: Annotated[float, AtLeast(0), Untuned(), InUnit()] = 0.0
    prior_mean: Annotated[float, Untuned(), InUnit(level=True)] = 0.5
    prior_sd: Annotated[float, Above(0), Untuned(), InUnit()] = 0.29

    def init(self) -> Memory:
        """Return the memory before the first round: one hypothesis, that there was no change."""
        weights = np.zeros(self.hypotheses)
        weights[0] = 1.0
        memory = Memory(
            weights,
            np.zeros((self.hypotheses, self.arms)),
            np.zeros((self.hypotheses, self.arms)),
            np.zeros(self.hypotheses),
            np.zeros(self.hypotheses),
            np.zeros(1, Scalars),
            fresh_noise(self.noise, self.prior_sd),
        )
        memory.scalars[0].used = 1
        memory.scalars[0].hazard = self.hazard if self.hazard > 0.0 else _CHANGES / _ROUNDS
        return memory

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Sample a hypothesis, then a mean of every arm, and play the highest."""
        left = uniform(random)
        sampled = 0
        while sampled < memory.scalars[0].used - 1 and left >= memory.weights[sampled]:
            left -= memory.weights[sampled]
            sampled += 1
        noise = memory.noise[0].sd / math.sqrt(self.groups)
        # the number of rounds that the prior is worth
        prior_weight = max(noise * noise / (self.prior_sd * self.prior_sd), _PRIOR_WEIGHT)
        for arm in range(self.arms):
            weight = prior_weight + memory.counts[sampled, arm]
            mean = (prior_weight * self.prior_mean + memory.sums[sampled, arm]) / weight
            sample_index(choice, arm, mean, noise / math.sqrt(weight), random)
        assign_highest(choice)

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Weigh the hypotheses by how well they predicted the mean reward, and add a new one."""
        arm = choice.arms[0]
        reward = mean_of_round(memory.noise[0], self.noise, self.prior_sd, self.groups, arm, rewards)
        noise = memory.noise[0].sd / math.sqrt(self.groups)
        prior_weight = max(noise * noise / (self.prior_sd * self.prior_sd), _PRIOR_WEIGHT)

        used = memory.scalars[0].used
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
            memory.scalars[0].used += 1
        memory.weights[lightest] = 0.0

        kept, changes = 0.0, 0.0
        for i in range(used):
            kept += memory.weights[i]
            changes += memory.weights[i] * memory.changes[i]
        changes /= kept
        memory.scalars[0].rounds += 1
        if self.hazard == 0.0:
            memory.scalars[0].hazard = (_CHANGES + changes) / (_ROUNDS + memory.scalars[0].rounds)
        hazard = memory.scalars[0].hazard
        for i in range(used):
            memory.weights[i] *= (1.0 - hazard) / kept
        memory.weights[lightest] = hazard
        memory.changes[lightest] = changes + 1.0
        for other in range(self.arms):
            memory.counts[lightest, other] = 0.0
            memory.sums[lightest, other] = 0.0

"""LARL: a linear bandit on the last few arms and rewards, which stand for a latent autoregressive state."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.linear import enlarge, predict, reset, update
from latentbandits.policies.arms import assign_highest, set_index
from latentbandits.protocols import Choice, PlainPolicy, record_type
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, Within

Scalars = record_type(learned=int)  # rounds whose rewards have arrived


class Memory(NamedTuple):
    """The arms' regressions (see `latentbandits.linear`), and the last completed decisions, the newest first."""

    factor: np.ndarray
    coefficients: np.ndarray
    lag_arms: np.ndarray
    lag_rewards: np.ndarray
    scalars: np.ndarray
    gain: np.ndarray  # space that an update of the regressions needs


class LatentAutoregressive(PlainPolicy):
    """Latent autoregressive LinUCB (Trella et al. 2024): the last `lags` arms and rewards as context.

    If all means are linear in one latent state that follows an autoregression, the best prediction of the next reward (a steady-state
    Kalman filter) is nearly linear in recent rewards, with weights that depend on the arms that gave them. So the context is 1 and, for
    each of the last `lags` completed decisions, one-hot of its arm, and its reward times that. One ridge regression per arm learns the
    weights; the index is the prediction plus ``exploration`` times its standard error for unit noise.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm, and a round's reward is their mean.
    lags : int
        Number of completed decisions in the context (s).
    exploration : float
        Factor of the bonus (alpha).
    regularization : float
        Ridge penalty (lambda).

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.policies.LatentAutoregressive(arms=2, lags=3), seed=1).ask().arm
    0
    """

    deterministic = True

    lags: Annotated[int, Within(1, 100)] = 5
    exploration: Annotated[float, AtLeast(0)] = 0.6
    regularization: Annotated[float, AtLeast(1e-12)] = 1.0

    @property
    def width(self) -> int:
        """Number of features."""
        return 1 + 2 * self.lags * self.arms

    def init(self) -> Memory:
        """Return the memory before the first round."""
        width = self.width
        factor = np.zeros((self.arms, width, width))
        reset(factor, self.regularization)
        return Memory(
            factor,
            np.zeros((self.arms, width)),
            np.zeros(self.lags, np.int64),
            np.zeros(self.lags),
            np.zeros(1, Scalars),
            np.zeros(width),
        )

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Build the context, and play the arm with the highest index."""
        features = choice.features
        for i in range(len(features)):
            features[i] = 0.0
        features[0] = 1.0
        for lag in range(min(self.lags, memory.scalars[0].learned)):
            at = 1 + 2 * lag * self.arms + memory.lag_arms[lag]
            features[at] = 1.0
            features[at + self.arms] = memory.lag_rewards[lag]
        for arm in range(self.arms):
            mean, variance = predict(memory.factor, memory.coefficients, arm, features)
            set_index(choice, arm, mean, self.exploration * math.sqrt(variance))
        assign_highest(choice)

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Update the regression of the arm, and put the decision before the others."""
        arm = choice.arms[0]
        reward = 0.0
        for group in range(self.groups):
            reward += rewards[group] / self.groups
        update(memory.factor, memory.coefficients, memory.gain, arm, choice.features, float(self.groups), reward)
        for lag in range(self.lags - 1, 0, -1):
            memory.lag_arms[lag] = memory.lag_arms[lag - 1]
            memory.lag_rewards[lag] = memory.lag_rewards[lag - 1]
        memory.lag_arms[0] = arm
        memory.lag_rewards[0] = reward
        memory.scalars[0].learned += 1

    def positions(self) -> np.ndarray:
        """Return where each feature stands when there is one arm more."""
        blocks = np.arange(2 * self.lags * self.arms)
        return np.concatenate([[0], 1 + blocks + blocks // self.arms])

    def grow(self, memory: Memory) -> Memory:
        """Return the memory with one arm more: a fresh regression, and features that nobody has seen in those of the others."""
        return enlarge(self.larger().init(), memory, self.positions())

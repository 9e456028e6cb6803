"""EXP3 and EXP3-S: exponential weights against an adversary."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.protocols import Choice
from latentbandits.random import Stream, uniform
from latentbandits.settings import AtLeast, Within, checked

# A weight never falls below this share, so that rewards far outside [0, 1] cannot make all of them vanish
_LEAST = 1e-250


class Memory(NamedTuple):
    """The arms' weights, scaled so that they sum to one."""

    weights: np.ndarray


@checked
class EXP3(NamedTuple):
    """Sample an arm by exponential weights of importance-weighted rewards (Auer, Cesa-Bianchi, Freund & Schapire 2002).

    With ``share`` above 0 it is EXP3.S: after each update every weight receives ``e * share / K`` of the total, so that no arm is
    ever forgotten. Each unit samples its own arm. Rewards are expected in [0, 1].

    Parameters
    ----------
    arms : int
        Number of arms, K.
    units : int
        Units per round.
    mixing : float
        Share of uniform exploration, and learning rate times K (gamma).
    share : float
        Share of the total weight that all arms receive in every round (alpha); 0 for plain EXP3.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.EXP3(arms=2, share=0.001), seed=1).ask().arm
    0
    """

    arms: Annotated[int, AtLeast(2)]
    units: Annotated[int, AtLeast(1)] = 1
    mixing: Annotated[float, Within(1e-9, 1)] = 0.1
    share: Annotated[float, Within(0, 1)] = 0.0

    @property
    def width(self) -> int:
        """Number of features: the probability with which each unit's arm was sampled."""
        return self.units

    def init(self) -> Memory:
        """Return the memory before the first round."""
        return Memory(np.full(self.arms, 1.0 / self.arms))

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Sample each unit's arm and note its probability, which the estimate of a late reward needs."""
        for unit in range(self.units):
            left = uniform(random)
            for arm in range(self.arms):
                probability = (1.0 - self.mixing) * memory.weights[arm] + self.mixing / self.arms
                left -= probability
                choice.arms[unit] = arm
                choice.features[unit] = probability
                if left < 0:
                    break

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Raise the weights of the sampled arms, share, and scale the sum back to one."""
        for unit in range(self.units):
            gain = self.mixing * rewards[unit] / (choice.features[unit] * self.arms)
            # only ratios matter: instead of raising one weight, which may overflow, lower all else (the shares too)
            fall = math.exp(-abs(gain))
            shared = math.e * self.share / self.arms * (fall if gain > 0 else 1.0)
            total = 0.0
            for arm in range(self.arms):
                if (arm == choice.arms[unit]) == (gain < 0):
                    memory.weights[arm] = max(memory.weights[arm] * fall, _LEAST)
                memory.weights[arm] += shared
                total += memory.weights[arm]
            for arm in range(self.arms):
                memory.weights[arm] /= total

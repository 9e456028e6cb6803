"""EXP3 and EXP3-S: exponential weights against an adversary."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.arms import available
from latentbandits.protocols import Choice, PlainPolicy
from latentbandits.random import Stream, uniform
from latentbandits.settings import Within

# A weight never falls below this share, so that rewards far outside [0, 1] cannot make all of them vanish
_LEAST = 1e-250
# Available arms that weigh less than this together are scaled up to it, so that those that remain of many are far from the least
_ENOUGH = 1e-100


class Memory(NamedTuple):
    """The arms' weights, scaled so that they sum to one."""

    weights: np.ndarray


class EXP3(PlainPolicy):
    """Sample an arm by exponential weights of importance-weighted rewards (Auer, Cesa-Bianchi, Freund & Schapire 2002).

    With ``share`` above 0 it is EXP3.S: after each update every weight receives ``e * share / K`` of the total, so that no arm is
    ever forgotten. Each group samples its own arm. Rewards are expected in [0, 1]. K counts the available arms: their
    probabilities and updates are those of EXP3 among them, and the sum of their weights does not change. Others keep their weights. A new
    arm has the mean weight of the others.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round.
    mixing : float
        Share of uniform exploration, and learning rate times K (gamma).
    share : float
        Share of the total weight that all arms receive in every round (alpha); 0 for plain EXP3.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.policies.EXP3(arms=2, share=0.001), seed=1).ask().arm
    0
    """

    mixing: Annotated[float, Within(1e-9, 1)] = 0.1
    share: Annotated[float, Within(0, 1)] = 0.0

    def init(self) -> Memory:
        """Return the memory before the first round."""
        return Memory(np.full(self.arms, 1.0 / self.arms))

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Sample each group's arm by the probabilities, which the estimate of a late reward needs again."""
        number = available(choice)
        total = held(memory, choice, number)
        for arm in range(self.arms):
            choice.arm_scores[arm].probability = 0.0
            if choice.arm_scores[arm].available:
                weight = memory.weights[arm]
                if number < self.arms:
                    weight /= total
                choice.arm_scores[arm].probability = (1.0 - self.mixing) * weight + self.mixing / number
        for group in range(self.groups):
            left = uniform(random)
            for arm in range(self.arms):
                if choice.arm_scores[arm].available:
                    left -= choice.arm_scores[arm].probability
                    choice.arms[group] = arm
                    if left < 0:
                        break

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Raise the weights of the sampled arms, share, and scale back to the sum that the available arms had before."""
        number = available(choice)
        for group in range(self.groups):
            before = held(memory, choice, number)
            if before < _ENOUGH:
                for arm in range(self.arms):
                    if choice.arm_scores[arm].available:
                        memory.weights[arm] *= _ENOUGH / before
                before = _ENOUGH
            gain = self.mixing * rewards[group] / (choice.arm_scores[choice.arms[group]].probability * number)
            # only ratios matter: instead of raising one weight, which may overflow, lower all else (the shares too)
            fall = math.exp(-abs(gain))
            shared = before * math.e * self.share / number * (fall if gain > 0 else 1.0)
            total = 0.0
            for arm in range(self.arms):
                if choice.arm_scores[arm].available:
                    if (arm == choice.arms[group]) == (gain < 0):
                        memory.weights[arm] = max(memory.weights[arm] * fall, _LEAST)
                    memory.weights[arm] += shared
                    total += memory.weights[arm]
            if number < self.arms:  # else it is 1, and a division would take a tenth of the round
                total /= before
            for arm in range(self.arms):
                if choice.arm_scores[arm].available:
                    memory.weights[arm] /= total

    def grow(self, memory: Memory) -> Memory:
        """Give a new arm the mean weight of the others."""
        weights = np.append(memory.weights, memory.weights.mean())
        return Memory(weights / weights.sum())


@kernel
def held(memory: Memory, choice: Choice, number: int) -> float:
    """Return the weight of the available arms; all arms together weigh one."""
    if number == len(memory.weights):
        return 1.0
    total = 0.0
    for arm in range(len(memory.weights)):
        if choice.arm_scores[arm].available:
            total += memory.weights[arm]
    return total

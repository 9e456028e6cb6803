"""GLR-UCB: confidence bounds, restarted by a likelihood-ratio test."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.noise import Noise, mean_of_round, start_noise
from latentbandits.policies.arms import assign, assign_highest, forced_arm, set_bounds
from latentbandits.policies.likelihood_ratio import changes, forget
from latentbandits.protocols import Choice, Policy, record_type
from latentbandits.random import Stream
from latentbandits.settings import Above, AtLeast, InUnit, Untuned, Within

Scalars = record_type(rounds=int)  # since the restart


class Memory(NamedTuple):
    """Rewards since the restart, in all and at some moments in between; and the learned noise."""

    counts: np.ndarray  # per arm
    sums: np.ndarray
    split_counts: np.ndarray  # counts and sums of an arm at earlier moments, oldest first
    split_sums: np.ndarray
    splits: np.ndarray  # number of these moments, per arm
    scalars: np.ndarray
    noise: np.ndarray  # see `latentbandits.noise`


class GLRUCB(Policy):
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
    units : int
        Units per round; all play the same arm, and a round's reward is their mean.
    risk : float
        Probability of a false alarm that the threshold stands for (delta).
    forced : float
        Share of rounds in which the arms take turns (alpha).
    exploration : float
        Factor of the bonus.
    splits : int
        Most splits that are tested, per arm.
    noise : float
        Standard deviation of one unit's reward; 0 if it is to be learned.
    prior_sd : float
        Standard deviation of the arms' expected rewards; until there are rewards, a tenth of it is taken for the noise.

    Examples
    --------
    >>> import latentbandits as lb
    >>> lb.Agent(lb.GLRUCB(arms=2), seed=1).ask().arm
    0
    """

    deterministic = True

    arms: Annotated[int, AtLeast(2)]
    units: Annotated[int, AtLeast(1)] = 1
    risk: Annotated[float, Within(0, 1)] = 0.1
    forced: Annotated[float, Within(0, 1)] = 0.003
    exploration: Annotated[float, AtLeast(0)] = 2.0
    splits: Annotated[int, AtLeast(2), Untuned()] = 32
    noise: Annotated[float, AtLeast(0), Untuned(), InUnit()] = 0.0
    prior_sd: Annotated[float, Above(0), Untuned(), InUnit()] = 0.29

    def init(self) -> Memory:
        """Return the memory before the first round."""
        memory = Memory(
            np.zeros(self.arms, np.int64),
            np.zeros(self.arms),
            np.zeros((self.arms, self.splits), np.int64),
            np.zeros((self.arms, self.splits)),
            np.zeros(self.arms, np.int64),
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
        """Count the rewards, and restart if the arm seems to have changed."""
        arm = choice.arms[0]
        reward = mean_of_round(memory.noise[0], self.noise, self.prior_sd, self.units, arm, rewards)
        memory.scalars[0].rounds += 1
        if changes(memory, arm, reward, memory.noise[0].sd / math.sqrt(self.units), self.risk):
            memory.scalars[0].rounds = 0
            forget(memory)

"""DAL: any bandit, restarted by a likelihood-ratio test."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.compiled import Arrays
from latentbandits.noise import fresh_noise, mean_of_round
from latentbandits.policies.arms import assign, available, forced_arm, nth_available, set_means
from latentbandits.policies.restarting_ucb import changes, forget
from latentbandits.policies.wrapping import Wrapper, is_current, restart, stamp, within
from latentbandits.protocols import CONTINUED, PROBE_REASON, SCHEDULED, Choice, record_type
from latentbandits.random import Stream
from latentbandits.settings import Above, AtLeast, InUnit, Untuned, Within

Scalars = record_type(
    restarts=int,  # of the policy within
    asked=int,  # rounds asked since the last one
)


class Memory(NamedTuple):
    """The memory of the policy within; rewards since the restart, in all and at some moments in between; and the learned noise."""

    inner: Arrays
    fresh: Arrays  # that of the policy within before the first round
    scalars: np.ndarray
    counts: np.ndarray  # per arm
    sums: np.ndarray
    split_counts: np.ndarray  # counts and sums of an arm at earlier moments, oldest first
    split_sums: np.ndarray
    splits: np.ndarray  # number of these moments, per arm
    noise: np.ndarray  # see `latentbandits.noise`


class DetectionAugmented(Wrapper):
    """Another policy that restarts when a test finds a change: detection-augmented learning (Gerogiannis, Huang, Bose & Veeravalli 2025).

    After k - 1 restarts, every ``arms / (forced * sqrt(k))`` rounds each available arm is played once, beginning with the first round: the
    more changes there were, the more the arms are watched. In all other rounds the policy within plays, and it learns from these
    alone. The rewards of both kinds of rounds are tested, arm by arm, with the test of `GLRUCB`; if it finds a change, the policy within
    and the test forget everything. Rewards of decisions before the restart, if they arrive later, are ignored.

    Parameters
    ----------
    inner : Policy
        The policy within, made for a world that does not change.
    risk : float
        Probability of a false alarm that the threshold stands for (delta).
    forced : float
        Share of rounds in which the arms take turns before the first restart (alpha).
    splits : int
        Most splits that are tested, per arm.
    noise : float
        Standard deviation of one group's reward; 0 if it is to be learned.
    prior_sd : float
        Standard deviation of the arms' expected rewards; until there are rewards, a tenth of it is taken for the noise.

    Examples
    --------
    >>> import latentbandits as lb
    >>> results = lb.simulate(lb.HiddenMarkov(states=3), ["dal", "ts"], horizon=2000, draws=4, repeats=1)
    >>> [row.label for row in results.summary()]
    ['dal', 'ts']
    """

    risk: Annotated[float, Within(0, 1)] = 0.1
    forced: Annotated[float, Within(0, 1)] = 0.003
    splits: Annotated[int, AtLeast(2), Untuned()] = 32
    noise: Annotated[float, AtLeast(0), Untuned(), InUnit()] = 0.0
    prior_sd: Annotated[float, Above(0), Untuned(), InUnit()] = 0.29

    def init(self) -> Memory:
        """Return the memory before the first round."""
        arms = self.inner.arms
        return Memory(
            self.inner.init(),
            self.inner.init(),
            np.zeros(1, Scalars),
            np.zeros(arms, np.int64),
            np.zeros(arms),
            np.zeros((arms, self.splits), np.int64),
            np.zeros((arms, self.splits)),
            np.zeros(arms, np.int64),
            fresh_noise(self.noise, self.prior_sd),
        )

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:
        """Play the arm whose turn it is, if any, else let the policy within choose."""
        scalars = memory.scalars[0]
        turn = forced_arm(choice, scalars.asked, min(self.forced * math.sqrt(scalars.restarts + 1.0), 1.0))
        scalars.asked += 1
        choice.tags[PROBE_REASON] = 0
        if turn < 0 or available(choice) == 1:
            stamp(choice, scalars.restarts)
            self.inner.choose(memory.inner, context, random, within(choice))
            return
        stamp(choice, -1 - scalars.restarts)  # not for the policy within
        set_means(choice, memory.sums, memory.counts, np.nan)
        for arm in range(len(choice.arm_scores)):
            choice.arm_scores[arm].probability = 1.0 if arm == turn else 0.0
        choice.tags[PROBE_REASON] = SCHEDULED if turn == nth_available(choice, 0) else CONTINUED
        assign(turn, choice)

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Test the rewards; if nothing has changed, the policy within learns from its own choices."""
        scalars = memory.scalars[0]
        own = is_current(choice, scalars.restarts)
        if not own and not is_current(choice, -1 - scalars.restarts):
            return
        mean_of_round(memory.noise[0], self.noise, self.prior_sd, 1, choice.arms[0], rewards)
        changed = False
        for group in range(len(choice.arms)):
            if changes(memory, choice.arms[group], rewards[group], memory.noise[0].sd, self.risk):
                changed = True
        if changed:
            scalars.asked = 0
            forget(memory)
            restart(memory)
        elif own:
            self.inner.learn(memory.inner, within(choice), rewards)

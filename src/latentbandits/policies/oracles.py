"""Oracles whose arms are given: the best single arm, and the best arm of every round."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.policies.arms import assign
from latentbandits.protocols import Choice, PlainOracle, PlainPolicy, Policy, Realisation, record_type
from latentbandits.random import Stream
from latentbandits.settings import InvalidValueError, Vector

Scalars = record_type(rounds=int)


class Memory(NamedTuple):
    """Rounds begun."""

    scalars: np.ndarray


class Scripted(PlainPolicy):
    """Play a given sequence of arms, over and over.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round; all play the same arm.
    script : sequence of int
        The arms, in order.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent(lb.policies.Scripted(arms=2, script=[0, 1, 1]), seed=1)
    >>> [agent.ask().arm for _ in range(5)]
    [0, 1, 1, 0, 1]
    """

    deterministic = True
    fixed_arms = True
    scale_free = True

    script: Annotated[Sequence[int] | np.ndarray, Vector(1, whole=True)] = (0,)

    def check(self) -> None:
        """Refuse arms that do not exist."""
        script = np.asarray(self.script)
        if len(script) == 0 or (script < 0).any() or (script >= self.arms).any():
            raise InvalidValueError(
                "Scripted", "script", script.tolist(), f"at least one arm, each from 0 to {self.arms - 1}"
            )

    def init(self) -> Memory:
        """Return the memory before the first round."""
        return Memory(np.zeros(1, Scalars))

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play the next arm of the script."""
        scalars = memory.scalars[0]
        assign(self.script[scalars.rounds % len(self.script)], choice)
        scalars.rounds += 1

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Learn nothing."""


class BestSingleArm(PlainOracle):
    """Oracle: the one arm that is best on average over the stationary distribution (over the realisation, where there is no chain).

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round.

    Examples
    --------
    >>> import latentbandits as lb
    >>> realisation = lb.HiddenMarkov(means=[[0.1, 0.3], [0.9, 0.2]]).realise(horizon=10, groups=1, seed=0, draw=0, repeat=0)
    >>> lb.policies.BestSingleArm(arms=2).informed(realisation)
    Scripted(arms=2, groups=1, script=[0])
    """

    def informed(self, realisation: Realisation) -> Policy:
        """Return the policy that plays the best arm of this world."""
        value = (
            realisation.means.mean(axis=0)
            if realisation.truth is None
            else realisation.truth.start @ realisation.truth.means
        )
        if realisation.available is None:
            return Scripted(self.arms, self.groups, (int(np.argmax(value)),))
        return Scripted(self.arms, self.groups, np.where(realisation.available, value, -np.inf).argmax(axis=1))


class StateOracle(PlainOracle):
    """Oracle: sees the hidden state and plays its best arm, with no regret at all.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round.

    Examples
    --------
    >>> import latentbandits as lb
    >>> realisation = lb.HiddenMarkov(states=3).realise(horizon=10, groups=1, seed=0, draw=0, repeat=0)
    >>> script = lb.policies.StateOracle(arms=2).informed(realisation).script
    >>> bool((script == realisation.means.argmax(axis=1)).all())
    True
    """

    def informed(self, realisation: Realisation) -> Policy:
        """Return the policy that plays the best arm of every round of this realisation."""
        return Scripted(self.arms, self.groups, realisation.offered.argmax(axis=1))

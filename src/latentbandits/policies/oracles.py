"""Oracles that are told where to go: the best single arm, and the best arm of every round."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.protocols import Choice, Policy, Table
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, Vector, checked, refuse


class State(NamedTuple):
    """Rounds begun."""

    round: np.ndarray


@checked
class Scripted(NamedTuple):
    """Play a given sequence of arms, over and over.

    Parameters
    ----------
    arms : int
        Number of arms.
    units : int
        Units per round; all play the same arm.
    script : sequence of int
        The arms, in order.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent(lb.Scripted(arms=2, script=[0, 1, 1]), seed=1)
    >>> [agent.ask().arm for _ in range(5)]
    [0, 1, 1, 0, 1]
    """

    arms: Annotated[int, AtLeast(2)]
    units: Annotated[int, AtLeast(1)] = 1
    script: Annotated[Sequence[int] | np.ndarray, Vector(1, whole=True)] = (0,)

    def check(self) -> None:
        """Refuse arms that do not exist."""
        script = np.asarray(self.script)
        if len(script) == 0 or (script < 0).any() or (script >= self.arms).any():
            raise refuse("Scripted", "script", script.tolist(), f"at least one arm, each from 0 to {self.arms - 1}")

    def init(self) -> State:
        """Return the state before the first round."""
        return State(np.zeros(1, np.int64))

    def choose(self, state: State, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Play the next arm of the script."""
        for unit in range(self.units):
            choice.arms[unit] = self.script[state.round[0] % len(self.script)]
        state.round[0] += 1

    def learn(self, state: State, choice: Choice, rewards: np.ndarray) -> None:
        """Learn nothing."""


@checked
class BestSingleArm(NamedTuple):
    """Oracle: the one arm that is best on average over the stationary distribution (over the table, where there is no chain).

    Parameters
    ----------
    arms : int
        Number of arms.
    units : int
        Units per round.

    Examples
    --------
    >>> import latentbandits as lb
    >>> table = lb.HiddenMarkov(means=[[0.1, 0.3], [0.9, 0.2]]).realise(horizon=10, units=1, seed=0, draw=0, repeat=0)
    >>> lb.BestSingleArm(arms=2).informed(table)
    Scripted(arms=2, units=1, script=[0])
    """

    arms: Annotated[int, AtLeast(2)]
    units: Annotated[int, AtLeast(1)] = 1

    def informed(self, table: Table) -> Policy:
        """Return the policy that plays the best arm of this world."""
        value = table.means.mean(axis=0) if table.truth is None else table.truth.start @ table.truth.means
        return Scripted(self.arms, self.units, (int(np.argmax(value)),))


@checked
class StateOracle(NamedTuple):
    """Oracle: sees the hidden state and plays its best arm, with no regret at all.

    Parameters
    ----------
    arms : int
        Number of arms.
    units : int
        Units per round.

    Examples
    --------
    >>> import latentbandits as lb
    >>> table = lb.HiddenMarkov(states=3).realise(horizon=10, units=1, seed=0, draw=0, repeat=0)
    >>> script = lb.StateOracle(arms=2).informed(table).script
    >>> bool((script == table.means.argmax(axis=1)).all())
    True
    """

    arms: Annotated[int, AtLeast(2)]
    units: Annotated[int, AtLeast(1)] = 1

    def informed(self, table: Table) -> Policy:
        """Return the policy that plays the best arm of every round of this table."""
        return Scripted(self.arms, self.units, table.means.argmax(axis=1))

"""Probe, then commit: the idealised policy of the paper's scheduling bounds."""

from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.protocols import CONTINUED, PHASE, SCHEDULED, WHY, Choice
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, checked, refuse


class State(NamedTuple):
    """Rounds begun, and the last reward that each arm gave in a probe."""

    round: np.ndarray
    probed: np.ndarray


@checked
class ProbeCommit(NamedTuple):
    """Probe all arms every ``interval`` rounds and play the arm that paid most until the next probe.

    It learns nothing from one probe to the next: what the bounds on probing schedules (Theorem 1 and its corollaries) speak of. Units
    share a probe, so it takes as many rounds as arms with one unit, and one round with as many units as arms.

    Parameters
    ----------
    arms : int
        Number of arms.
    units : int
        Units per round.
    interval : int
        Rounds from one probe to the next (tau).

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent(lb.ProbeCommit(arms=2, interval=5), seed=1)
    >>> played = []
    >>> for _ in range(6):
    ...     decision = agent.ask()
    ...     played.append(decision.arm)
    ...     agent.tell(decision, 0.4 + 0.2 * decision.arm)
    >>> played
    [0, 1, 1, 1, 1, 0]
    """

    arms: Annotated[int, AtLeast(2)]
    units: Annotated[int, AtLeast(1)] = 1
    interval: Annotated[int, AtLeast(1)] = 20

    def check(self) -> None:
        """Refuse an interval that a probe does not fit into."""
        phases = -(-self.arms // self.units)
        if self.interval < phases:
            raise refuse("ProbeCommit", "interval", self.interval, f"at least the {phases} rounds of a probe")

    def init(self) -> State:
        """Return the state before the first round."""
        return State(np.zeros(1, np.int64), np.zeros(self.arms))

    def choose(self, state: State, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Go on with a probe, or play the arm that paid most in the last one."""
        phase = state.round[0] % self.interval
        state.round[0] += 1
        probing = phase * self.units < self.arms
        best = 0
        for arm in range(1, self.arms):
            if state.probed[arm] > state.probed[best]:
                best = arm
        for unit in range(self.units):
            choice.arms[unit] = (phase * self.units + unit) % self.arms if probing else best
        choice.note[WHY] = 0 if not probing else SCHEDULED if phase == 0 else CONTINUED
        choice.note[PHASE] = phase

    def learn(self, state: State, choice: Choice, rewards: np.ndarray) -> None:
        """Remember what the arms of a probe paid."""
        if choice.note[WHY] != 0:
            for unit in range(self.units):
                state.probed[choice.arms[unit]] = rewards[unit]

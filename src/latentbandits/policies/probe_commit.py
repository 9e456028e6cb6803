"""Probe, then commit: the idealised policy of the paper's scheduling bounds."""

from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.policies.arms import LAST, assign_highest, available, nth_available, set_index, set_untried
from latentbandits.protocols import CONTINUED, EPISODE, PHASE, RESIDUAL, SCHEDULED, WHY, Choice, record_type, traits
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, Refusal, checked

Scalars = record_type(
    rounds=int,  # begun since the start, or since the last early probe began
    probes=int,  # begun
    surprised=int,  # 1 if a reward has contradicted the last probe
)


class Memory(NamedTuple):
    """The counters, and the last reward that each arm gave in a probe (LAST if none)."""

    scalars: np.ndarray
    probed: np.ndarray


@traits(deterministic=True, scale_free=True)
@checked
class ProbeCommit(NamedTuple):
    """Probe all arms every ``interval`` rounds and play the arm that paid most until the next probe.

    It learns nothing from one probe to the next: the policy of the bounds on probing schedules (Theorem 1 and its corollaries). Units
    share a probe, so it takes as many rounds as arms with one unit, and one round with as many units as arms.

    Round n after the beginning of a probe is for the available arms from number ``n * units`` on, and not part of it where there are no
    such arms. Rounds with one available arm do not count: a probe, and the time until the next one, waits. An arm that was never probed is
    not played between probes, unless no available arm was.

    Parameters
    ----------
    arms : int
        Number of arms.
    units : int
        Units per round.
    interval : int
        Rounds from one probe to the next (tau), at most where there are early ones.
    surprise : float
        Probe early when the reward of the committed arm (the mean of the units) is farther than this from what the probe saw of it; 0 for
        never. The interval is then a cap on the age of a probe, and the schedule one of those of the hazard corollary.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent(lb.ProbeCommit(arms=2, interval=5), seed=1)
    >>> played = []
    >>> for _ in range(6):
    ...     decision = agent.ask()
    ...     played.append(decision.arm)
    ...     _ = agent.tell(decision, 0.4 + 0.2 * decision.arm)
    >>> played
    [0, 1, 1, 1, 1, 0]

    With `surprise`, it probes again as soon as the arm pays something else:

    >>> agent, played = lb.Agent(lb.ProbeCommit(arms=2, interval=50, surprise=0.1), seed=1), []
    >>> for reward in (0.4, 0.6, 0.6, 0.6, 0.2, 0.4, 0.2):
    ...     decision = agent.ask()
    ...     played.append(decision.arm)
    ...     _ = agent.tell(decision, reward)
    >>> played
    [0, 1, 1, 1, 1, 0, 1]
    """

    arms: Annotated[int, AtLeast(2)]
    units: Annotated[int, AtLeast(1)] = 1
    interval: Annotated[int, AtLeast(1)] = 20
    surprise: Annotated[float, AtLeast(0)] = 0.0

    def check(self) -> None:
        """Refuse an interval that a probe does not fit into."""
        phases = -(-self.arms // self.units)
        if self.interval < phases:
            raise Refusal("ProbeCommit", "interval", self.interval, f"at least the {phases} rounds of a probe")

    def init(self) -> Memory:
        """Return the memory before the first round."""
        return Memory(np.zeros(1, Scalars), np.full(self.arms, LAST))

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Go on with a probe, begin one, or play the arm that paid most in the last one."""
        scalars = memory.scalars[0]
        choice.note[WHY] = choice.note[PHASE] = 0
        choice.note[EPISODE] = scalars.probes
        for arm in range(self.arms):
            if memory.probed[arm] == LAST:
                set_untried(choice, arm, LAST)
            else:
                set_index(choice, arm, memory.probed[arm], 0.0)
        assign_highest(choice)
        number = available(choice)
        if number == 1:  # nothing to compare: a probe waits
            return
        phase = scalars.rounds % self.interval
        early = scalars.surprised == 1 and phase * self.units >= number
        if early:
            phase = 0
            scalars.rounds = 0
        scalars.rounds += 1
        probing = phase * self.units < number
        why = CONTINUED if probing else 0
        if phase == 0:
            why = 0 if early else SCHEDULED
            if scalars.surprised == 1:
                why += RESIDUAL
            scalars.probes += 1
            scalars.surprised = 0
        if probing:
            for unit in range(self.units):
                choice.arms[unit] = nth_available(choice, (phase * self.units + unit) % number)
        choice.note[WHY] = why
        choice.note[PHASE] = phase
        choice.note[EPISODE] = scalars.probes

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Remember what the arms of a probe paid, or notice that the committed arm pays something else."""
        if choice.note[WHY] != 0:
            for unit in range(self.units):
                memory.probed[choice.arms[unit]] = rewards[unit]
        elif self.surprise > 0 and choice.note[EPISODE] == memory.scalars[0].probes:  # not late for a newer probe
            mean = 0.0
            for unit in range(self.units):
                mean += rewards[unit] / self.units
            probed = memory.probed[choice.arms[0]]
            if probed != LAST and abs(mean - probed) > self.surprise:
                memory.scalars[0].surprised = 1

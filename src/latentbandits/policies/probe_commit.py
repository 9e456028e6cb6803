"""Probe, then commit: the idealised policies of the bounds on probing schedules."""

from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.policies.arms import LAST, assign_highest, available, nth_available, set_index, set_untried
from latentbandits.protocols import (
    CONTINUED,
    EPISODE,
    PHASE,
    PROBE_REASON,
    RESIDUAL,
    SCHEDULED,
    Choice,
    PlainPolicy,
    record_type,
)
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, InvalidValueError

Scalars = record_type(
    rounds=int,  # begun since the start, or since the last early probe began
    probes=int,  # begun
    surprised=int,  # 1 if a reward has contradicted the last probe
)


class Memory(NamedTuple):
    """The counters, and the last reward that each arm gave in a probe (LAST if none)."""

    scalars: np.ndarray
    probed: np.ndarray


class ProbeCommit(PlainPolicy):
    """Probe all arms every ``interval`` rounds and play the arm that paid most until the next probe.

    It learns nothing from one probe to the next: the policy of the bounds on probing schedules (Theorem 1 and its corollaries). Groups
    share a probe, so it takes as many rounds as arms with one group, and one round with as many groups as arms.

    Round n after the beginning of a probe is for the available arms from number ``n * groups`` on, and not part of it where there are no
    such arms. Rounds with one available arm do not count: a probe, and the time until the next one, waits. An arm that was never probed is
    not played between probes, unless no available arm was.

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round.
    interval : int
        Rounds from one probe to the next (tau), at most where there are early ones.
    surprise : float
        Probe early when the reward of the committed arm (the mean of the groups) is farther than this from what the probe saw of it; 0 for
        never. The interval is then a cap on the age of a probe, and the schedule one of those of the hazard corollary.

    Examples
    --------
    >>> import latentbandits as lb
    >>> agent = lb.Agent(lb.policies.ProbeCommit(arms=2, interval=5), seed=1)
    >>> played = []
    >>> for _ in range(6):
    ...     decision = agent.ask()
    ...     played.append(decision.arm)
    ...     _ = agent.tell(decision, 0.4 + 0.2 * decision.arm)
    >>> played
    [0, 1, 1, 1, 1, 0]

    With `surprise`, it probes again as soon as the arm pays something else:

    >>> agent, played = lb.Agent(lb.policies.ProbeCommit(arms=2, interval=50, surprise=0.1), seed=1), []
    >>> for reward in (0.4, 0.6, 0.6, 0.6, 0.2, 0.4, 0.2):
    ...     decision = agent.ask()
    ...     played.append(decision.arm)
    ...     _ = agent.tell(decision, reward)
    >>> played
    [0, 1, 1, 1, 1, 0, 1]
    """

    deterministic = True
    scale_free = True

    interval: Annotated[int, AtLeast(1)] = 20
    surprise: Annotated[float, AtLeast(0)] = 0.0

    def check(self) -> None:
        """Refuse an interval that a probe does not fit into."""
        phases = -(-self.arms // self.groups)
        if self.interval < phases:
            raise InvalidValueError(
                "ProbeCommit", "interval", self.interval, f"at least the {phases} rounds of a probe"
            )

    def init(self) -> Memory:
        """Return the memory before the first round."""
        return Memory(np.zeros(1, Scalars), np.full(self.arms, LAST))

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Go on with a probe, begin one, or play the arm that paid most in the last one."""
        scalars = memory.scalars[0]
        choice.tags[PROBE_REASON] = choice.tags[PHASE] = 0
        choice.tags[EPISODE] = scalars.probes
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
        early = scalars.surprised == 1 and phase * self.groups >= number
        if early:
            phase = 0
            scalars.rounds = 0
        scalars.rounds += 1
        probing = phase * self.groups < number
        probe_reason = CONTINUED if probing else 0
        if phase == 0:
            probe_reason = 0 if early else SCHEDULED
            if scalars.surprised == 1:
                probe_reason += RESIDUAL
            scalars.probes += 1
            scalars.surprised = 0
        if probing:
            for group in range(self.groups):
                choice.arms[group] = nth_available(choice, (phase * self.groups + group) % number)
        choice.tags[PROBE_REASON] = probe_reason
        choice.tags[PHASE] = phase
        choice.tags[EPISODE] = scalars.probes

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Remember what the arms of a probe paid, or notice that the committed arm pays something else."""
        if choice.tags[PROBE_REASON] != 0:
            for group in range(self.groups):
                memory.probed[choice.arms[group]] = rewards[group]
        elif self.surprise > 0 and choice.tags[EPISODE] == memory.scalars[0].probes:  # not late for a newer probe
            mean = 0.0
            for group in range(self.groups):
                mean += rewards[group] / self.groups
            probed = memory.probed[choice.arms[0]]
            if probed != LAST and abs(mean - probed) > self.surprise:
                memory.scalars[0].surprised = 1

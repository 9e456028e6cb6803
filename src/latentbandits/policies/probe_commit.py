"""Probe, then commit: the idealised policies of the bounds on probing schedules."""

from collections.abc import Sequence
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
    Policy,
    record_type,
)
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, InvalidValueError, Vector

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


Decoded = record_type(
    rounds=int,  # begun
    decoded=int,  # the state that the last probe named
)


class DecodedMemory(NamedTuple):
    """What it remembers.

    Attributes
    ----------
    scalars : rounds begun, and the state that the last probe named
    sums : what each arm has paid in the probes that named each state; every arm has as many rewards there, so that means are not needed
    """

    scalars: np.ndarray
    sums: np.ndarray


class DecodeCommit(Policy):
    """Probe all arms in one round, name the state whose fingerprint is nearest, and play what has paid most in probes of that state.

    The fingerprints of the states (mean rewards of the decoding arms) are known; what the arms are worth is learned, and from probes only.
    So everything that it learns comes at times fixed beforehand, which is what makes its regret easy to bound
    (`latentbandits_studies.theory.decoded_bound`).

    Parameters
    ----------
    arms : int
        Number of arms.
    groups : int
        Groups per round, at least as many as arms; the first ones probe.
    interval : int
        Rounds from one probe to the next (tau).
    fingerprints : array (states, decoding arms)
        Mean rewards of the decoding arms in every state.
    decoding : sequence of int
        The arms whose rewards name the state (B), in the order of the columns; empty for all.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits.policies.probe_commit import DecodeCommit
    >>> agent = lb.Agent(DecodeCommit(2, groups=2, interval=3, fingerprints=[[0.1], [0.9]], decoding=[0]), seed=1)
    >>> played = []
    >>> for rewards in ([0.9, 0.4], [0.9, 0.9], [0.9, 0.9], [0.1, 0.4], [0.4, 0.4]):
    ...     decision = agent.ask()
    ...     played.append(decision.arms)
    ...     _ = agent.tell(decision, rewards)
    >>> played
    [(0, 1), (0, 0), (0, 0), (0, 1), (1, 1)]
    """

    deterministic = True
    fixed_arms = True

    arms: Annotated[int, AtLeast(2)]
    groups: Annotated[int, AtLeast(1)]
    interval: Annotated[int, AtLeast(1)]
    fingerprints: Annotated[Sequence[Sequence[float]] | np.ndarray, Vector(2)]
    decoding: Annotated[Sequence[int] | np.ndarray, Vector(1, whole=True)] = ()

    def check(self) -> None:
        """Refuse settings that contradict each other."""
        if self.groups < self.arms:
            raise InvalidValueError("DecodeCommit", "groups", self.groups, f"at least the {self.arms} arms of a probe")
        chosen = np.asarray(self.decoding)
        if len(set(chosen.tolist())) != len(chosen) or (chosen < 0).any() or (chosen >= self.arms).any():
            raise InvalidValueError(
                "DecodeCommit", "decoding", chosen.tolist(), f"different arms from 0 to {self.arms - 1}"
            )
        shape, columns = np.shape(self.fingerprints), len(chosen) or self.arms
        if shape[0] < 1 or shape[1] != columns:
            wanted = f"one row per state and {columns} columns, one per decoding arm"
            raise InvalidValueError("DecodeCommit", "fingerprints", np.asarray(self.fingerprints).tolist(), wanted)

    def init(self) -> DecodedMemory:
        """Return the memory before the first round."""
        return DecodedMemory(np.zeros(1, Decoded), np.zeros((len(self.fingerprints), self.arms)))

    def choose(self, memory: DecodedMemory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Probe, or play the arm with the highest mean in the decoded state."""
        scalars = memory.scalars[0]
        probing = scalars.rounds % self.interval == 0
        scalars.rounds += 1
        if probing:
            for group in range(self.groups):
                choice.arms[group] = group % self.arms
        else:
            for arm in range(self.arms):
                set_index(choice, arm, memory.sums[scalars.decoded, arm], 0.0)
            assign_highest(choice)
        choice.tags[PROBE_REASON] = SCHEDULED if probing else 0

    def learn(self, memory: DecodedMemory, choice: Choice, rewards: np.ndarray) -> None:
        """Name the state of a probe, and add the rewards to its sums."""
        if choice.tags[PROBE_REASON] == 0:
            return
        nearest = np.inf
        for s in range(self.fingerprints.shape[0]):  # type: ignore[union-attr]
            distance = 0.0
            for place in range(self.fingerprints.shape[1]):  # type: ignore[union-attr]
                arm = self.decoding[place] if len(self.decoding) > 0 else place
                gap = rewards[arm] - self.fingerprints[s][place]  # groups probe in the order of arms
                distance += gap * gap
            if distance < nearest:
                nearest = distance
                memory.scalars[0].decoded = s
        for group in range(self.arms):
            memory.sums[memory.scalars[0].decoded, choice.arms[group]] += rewards[group]

"""Probe, decode the state, and commit: the policy of the bounds on decoded states."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from latentbandits.policies.arms import assign_highest, set_index
from latentbandits.protocols import EPISODE, PROBE_REASON, RESIDUAL, SCHEDULED, Choice, Policy, record_type
from latentbandits.random import Stream
from latentbandits.settings import AtLeast, InvalidValueError, Vector

Decoded = record_type(
    rounds=int,  # begun since the start, or since the last early probe began
    decoded=int,  # the state that the last probe named
    surprised=int,  # 1 if a reward has contradicted what is known of that state
)


class Memory(NamedTuple):
    """What it remembers.

    Attributes
    ----------
    scalars : rounds begun, the state that the last probe named, and whether a reward has contradicted it
    sums : what each arm has paid in the probes that named each state; every arm has as many rewards there, so that they rank the arms
    probes : how many probes have named each state
    """

    scalars: np.ndarray
    sums: np.ndarray
    probes: np.ndarray


class DecodeCommit(Policy):
    """Probe all arms in one round, name the state whose fingerprint is nearest, and play what has paid most in probes of that state.

    The fingerprints of the states (mean rewards of the decoding arms) are known; what the arms are worth is learned, and from probes only.
    With `surprise` it has a residual gate, and the interval is its age cap: a gated policy whose model is right, since rewards are linear
    in the indicator of the state, and whose regret has a bound for that reason (`latentbandits_studies.theory.gated_bound`).

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
    surprise : float
        Probe early when the reward of the committed arm (the mean of the groups) is at least this far from what the arm has paid on average
        in probes of the decoded state; 0 for never.

    Examples
    --------
    >>> import latentbandits as lb
    >>> from latentbandits_studies.policies.decode_commit import DecodeCommit
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
    surprise: Annotated[float, AtLeast(0)] = 0.0

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

    def init(self) -> Memory:
        """Return the memory before the first round."""
        states = len(self.fingerprints)
        return Memory(np.zeros(1, Decoded), np.zeros((states, self.arms)), np.zeros(states))

    def choose(self, memory: Memory, context: np.ndarray, random: Stream, choice: Choice) -> None:  # noqa: ARG002
        """Probe, or play the arm with the highest mean in the decoded state."""
        scalars = memory.scalars[0]
        early = scalars.surprised == 1
        if early:
            scalars.rounds = scalars.surprised = 0
        probing = scalars.rounds % self.interval == 0
        scalars.rounds += 1
        if probing:
            for group in range(self.groups):
                choice.arms[group] = group % self.arms
        else:
            for arm in range(self.arms):
                set_index(choice, arm, memory.sums[scalars.decoded, arm], 0.0)
            assign_highest(choice)
        choice.tags[PROBE_REASON] = RESIDUAL if early else SCHEDULED if probing else 0
        choice.tags[EPISODE] = scalars.decoded

    def learn(self, memory: Memory, choice: Choice, rewards: np.ndarray) -> None:
        """Name the state of a probe, and add the rewards to its sums; or notice that the committed arm pays something else."""
        scalars = memory.scalars[0]
        if choice.tags[PROBE_REASON] == 0:
            probes = memory.probes[scalars.decoded]
            if (
                self.surprise > 0 and probes > 0 and choice.tags[EPISODE] == scalars.decoded
            ):  # not late, of another state
                paid = 0.0
                for group in range(self.groups):
                    paid += rewards[group] / self.groups
                if abs(paid - memory.sums[scalars.decoded, choice.arms[0]] / probes) >= self.surprise:
                    scalars.surprised = 1
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
                scalars.decoded = s
        memory.probes[scalars.decoded] += 1.0
        for group in range(self.arms):
            memory.sums[scalars.decoded, choice.arms[group]] += rewards[group]

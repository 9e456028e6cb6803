"""The context of the paper's linear learner: features (fingerprint, lag and covariates), and the probes that renew the fingerprint."""

from typing import TYPE_CHECKING

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.policies.arms import FIRST, available, nth_available
from latentbandits.protocols import Choice, record_type
from latentbandits.settings import OneOf

if TYPE_CHECKING:
    from latentbandits.policies.traces import Memory, TraceLearner

NONE, PAIR, ONE_HOT, SLOPES, CURVES = 0, 1, 2, 3, 4
LAGS = OneOf(("none", "pair", "one-hot", "slopes", "curves"))
# Probes whose rewards may be under way at once; of older ones nothing is kept
OPEN_PROBES = 16
# An arm as probes have seen it
Visit = record_type(
    last=int,  # number of the last probe that visited it, -1 for none
    number=int,  # visits whose rewards have arrived
    paid=float,  # the sum of these rewards
)


def blocks(policy: "TraceLearner") -> list[int]:
    """Return the lengths of the parts of the features, in order; some grow with the number of arms."""
    arms = policy.arms
    lag = {NONE: [], PAIR: [2], ONE_HOT: [arms, 1], SLOPES: [arms] * 2, CURVES: [arms] * 3}[int(policy.lag)]
    return [policy.probed if policy.fingerprint else 0, *lag, policy.covariates]


@kernel
def write_features(policy: "TraceLearner", memory: "Memory", context: np.ndarray, features: np.ndarray) -> None:
    """Write fingerprint, lag and covariates, in this order."""
    at = 0
    if policy.fingerprint:
        for place in range(memory.fingerprint.shape[0]):
            features[place] = memory.fingerprint[place]
        at = memory.fingerprint.shape[0]
    arm, reward = memory.scalars[0].lag_arm, memory.scalars[0].lag_reward
    if policy.lag == PAIR:
        features[at] = arm
        features[at + 1] = reward
        at += 2
    elif policy.lag == ONE_HOT:
        for i in range(policy.arms):
            features[at + i] = 0.0
        features[at + arm] = 1.0
        features[at + policy.arms] = reward
        at += policy.arms + 1
    elif policy.lag != NONE:
        term = 1.0
        for _ in range(int(policy.lag) - ONE_HOT + 1):  # powers of the reward: two for slopes, three for curves
            for i in range(policy.arms):
                features[at + i] = 0.0
            features[at + arm] = term
            term *= reward
            at += policy.arms
    for i in range(policy.covariates):
        features[at + i] = context[i]


@kernel
def visited(policy: "TraceLearner", choice: Choice) -> int:
    """Return the number of available arms of the probe set, or of those that a probe visits if that is less."""
    number = available(choice)
    if len(policy.probe_set) > 0:
        number = 0
        for place in range(len(policy.probe_set)):
            number += int(choice.arm_scores[policy.probe_set[place]].available)
    return min(number, policy.probe_size) if policy.probe_size > 0 else number


@kernel
def nth_visited(policy: "TraceLearner", choice: Choice, n: int) -> int:
    """Return the n-th available arm of the probe set, counted from 0."""
    if len(policy.probe_set) == 0:
        return nth_available(choice, n)
    left = n
    for place in range(len(policy.probe_set)):
        if choice.arm_scores[policy.probe_set[place]].available:
            if left == 0:
                return int(policy.probe_set[place])
            left -= 1
    return -1


@kernel
def next_visited(policy: "TraceLearner", choice: Choice, visits: np.ndarray, probe: int) -> int:
    """Return the arm of the probe set that a probe of some arms visits next: the first that none has visited, or that has paid most."""
    best, top = -1, -np.inf
    for place in range(policy.arms if len(policy.probe_set) == 0 else len(policy.probe_set)):
        arm = place if len(policy.probe_set) == 0 else int(policy.probe_set[place])
        visit = visits[arm]
        if choice.arm_scores[arm].available and visit.last != probe:
            mean = visit.paid / visit.number if visit.number > 0 else FIRST
            if best < 0 or mean > top:
                best, top = arm, mean
    return best


@kernel
def place_of(policy: "TraceLearner", arm: int) -> int:
    """Return the place of an arm in the probe set."""
    for place in range(len(policy.probe_set)):
        if policy.probe_set[place] == arm:
            return place
    return arm


@kernel
def begin_probe(memory: "Memory") -> None:
    """Begin a probe; arms that it will not visit keep their part of the fingerprint."""
    scalars = memory.scalars[0]
    scalars.last_probe = scalars.now
    scalars.probe += 1
    slot = scalars.probe % OPEN_PROBES
    memory.owner[slot] = scalars.probe
    memory.arrived[slot] = 0
    for place in range(len(memory.fingerprint)):
        memory.pending[slot, place] = memory.fingerprint[place]


@kernel
def show(memory: "Memory", probe: int) -> None:
    """Let a probe replace the fingerprint if it has ended and all its rounds have arrived, unless a newer one already has."""
    scalars, slot = memory.scalars[0], probe % OPEN_PROBES
    if memory.arrived[slot] == 0 and probe > scalars.shown:
        scalars.shown = probe
        for place in range(len(memory.fingerprint)):
            memory.fingerprint[place] = memory.pending[slot, place]


@kernel
def end_probe(memory: "Memory", rounds: int) -> None:
    """End the newest probe, of so many rounds."""
    scalars = memory.scalars[0]
    scalars.next_phase = 0
    memory.arrived[scalars.probe % OPEN_PROBES] -= rounds
    show(memory, scalars.probe)

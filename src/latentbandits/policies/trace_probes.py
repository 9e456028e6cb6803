"""The probes of the paper's linear learner: which arms they visit, and when their rewards become the fingerprint."""

from typing import Any

from latentbandits.compiled import kernel
from latentbandits.policies.arms import available, nth_available
from latentbandits.protocols import Choice

# Probes whose rewards may be under way at once; of older ones nothing is kept
OPEN_PROBES = 16


@kernel
def visited(policy: Any, choice: Choice) -> int:
    """Return the number of available arms of the probe set."""
    if len(policy.probe_set) == 0:
        return available(choice)
    number = 0
    for place in range(len(policy.probe_set)):
        number += choice.offers[policy.probe_set[place]].available
    return int(number)


@kernel
def nth_visited(policy: Any, choice: Choice, n: int) -> int:
    """Return the n-th available arm of the probe set, counted from 0."""
    if len(policy.probe_set) == 0:
        return nth_available(choice, n)
    left = n
    for place in range(len(policy.probe_set)):
        if choice.offers[policy.probe_set[place]].available:
            if left == 0:
                return int(policy.probe_set[place])
            left -= 1
    return -1


@kernel
def place_of(policy: Any, arm: int) -> int:
    """Return the place of an arm in the probe set."""
    for place in range(len(policy.probe_set)):
        if policy.probe_set[place] == arm:
            return place
    return arm


@kernel
def begin_probe(memory: Any) -> None:
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
def show(memory: Any, probe: int) -> None:
    """Let a probe replace the fingerprint if it has ended and all its rounds have arrived, unless a newer one already has."""
    scalars, slot = memory.scalars[0], probe % OPEN_PROBES
    if memory.arrived[slot] == 0 and probe > scalars.shown:
        scalars.shown = probe
        for place in range(len(memory.fingerprint)):
            memory.fingerprint[place] = memory.pending[slot, place]


@kernel
def end_probe(memory: Any, rounds: int) -> None:
    """End the newest probe, of so many rounds."""
    scalars = memory.scalars[0]
    scalars.next_phase = 0
    memory.arrived[scalars.probe % OPEN_PROBES] -= rounds
    show(memory, scalars.probe)

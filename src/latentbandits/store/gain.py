"""What a policy gains against the subjects that are held back: intervals and an alarm that hold however often one looks.

Whoever looks every minute at an interval that is right 95 % of the time at one moment will see it wrong sooner or later. These are right at
all moments together with probability 95 %: a confidence sequence (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, Time-uniform central
limit theory and asymptotic confidence sequences, Annals of Statistics 2024). Where rewards change with time, they are about the means so
far.
"""

import math
import operator
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from latentbandits.agent.decision import Name
from latentbandits.agent.events import Event
from latentbandits.store.minutes import MINUTE_US
from latentbandits.store.queries import Reads

ERROR = 0.05  # probability that an interval is ever wrong
RARE = 1e-4  # probability that the alarm is ever raised by chance, for each part of the log
ENOUGH = 20  # rewards of each side before there is an interval: it is right for many
TIGHT = 1000  # rewards at which it is tightest
PART = 10_000  # events of a part of the log in which subjects are counted
_PACE = (-2 * math.log(ERROR) + math.log(1 - 2 * math.log(ERROR))) / TIGHT


Sums = tuple[int, float, float]  # of rewards: how many, their sum, and that of their squares


class Side(NamedTuple):
    """Rewards of some decisions: how many, their mean and its standard error."""

    rewards: int
    mean: float | None
    error: float | None


class Gain(NamedTuple):
    """The policy (with its probes and the floor) against the subjects that are held back.

    Attributes
    ----------
    policy, control : both sides
    difference, low, high : of the means, and a 95 % interval that may be looked at all the time; None as long as it is not known
    total : the difference times the rewards of the policy
    """

    policy: Side
    control: Side
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    total: float | None = None


class Ratio(NamedTuple):
    """Whether as many subjects are compared on each side as should be.

    Attributes
    ----------
    subjects, held : distinct subjects that were compared, in a part of the log, and those of them that were held back
    share : the share that should be
    mismatch : whether this is no chance: rewards of one side get lost, or somebody chooses who is asked for
    """

    subjects: int
    held: int
    share: float
    mismatch: bool


def stretch(count: int) -> float:
    """Return how many standard errors make half an interval that may be looked at all the time; at one moment it would be 1.96.

    Examples
    --------
    >>> from latentbandits.store.gain import stretch
    >>> [round(stretch(count), 2) for count in (100, 1000, 100_000)]
    [3.86, 3.04, 3.56]
    """
    seen = count * _PACE
    return math.sqrt(2 * (seen + 1) / seen * math.log(math.sqrt(seen + 1) / ERROR))


def gain(reads: Reads, experiment: int, since: int = 0) -> Gain:
    """Return what the policy gains against the subjects that are held back.

    Compared are the rewards of live decisions from the first whole minute on after the control arm, or the share of subjects that are held
    back, was last changed. Before it others were held back, or on another arm: in a world that changes, those would be compared with
    another time.
    """
    changes = reads.changes(experiment)
    control, _, event = _compared(changes)
    arm_names = _names(changes)
    sums: dict[str, Sums] = {"policy": (0, 0.0, 0.0), "control": (0, 0.0, 0.0)}
    begun = 0 if event is None else event.at_us // MINUTE_US + 1
    for arm, decided_by, *more in reads.sums(experiment, max(since, begun)):
        side = "policy" if decided_by in ("policy", "floor") else decided_by
        if side == "policy" or (side == "control" and arm_names[arm] == control):
            count, total, squares = map(operator.add, sums[side], more)
            sums[side] = int(count), total, squares
    return between(sums["policy"], sums["control"])


def between(policy: Sums, control: Sums) -> Gain:
    """Return what one side gains against another, by how many rewards each has, their sum, and that of their squares."""
    ours, held = _side(*policy), _side(*control)
    if ours.mean is None or held.mean is None:
        return Gain(ours, held)
    difference = ours.mean - held.mean
    found = Gain(ours, held, difference, total=difference * ours.rewards)
    if min(ours.rewards, held.rewards) < ENOUGH:
        return found
    # the spread of few rewards may be small by chance: it counts as that of all rewards at least
    spread = _variance(*map(operator.add, policy, control))
    error = math.sqrt(sum(max(spread, _variance(*side)) / side[0] for side in (policy, control)))
    half = stretch(policy[0] + control[0]) * error
    return found._replace(low=difference - half, high=difference + half)


def ratio(reads: Reads, experiment: int, head: int) -> Ratio | None:
    """Return whether the sides are as large as they should be, in the last part of the log and in the one before; None without a holdback.

    Compared are distinct subjects with a live decision that ended by a reward or the default, and could have been held back.
    """
    control, share, event = _compared(reads.changes(experiment))
    if not 0 < share < 1:
        return None
    begun, found = 0 if event is None else event.seq, []
    for part in {max(head // PART - 1, begun // PART), head // PART}:
        held, others = _subjects(reads, experiment, max(begun, part * PART), min(head, (part + 1) * PART), control)
        found.append(Ratio(held + others, held, share, unlikely(held, held + others, share)))
    return max(found, key=lambda one: (one.mismatch, one.subjects))


def unlikely(hits: int, tries: int, share: float) -> bool:
    """Return whether so many hits are no chance, however often one has looked before.

    The likelihood of shares near this one, against that of this one, is above 1 / `RARE` with probability `RARE` at most, ever.

    Examples
    --------
    >>> from latentbandits.store.gain import unlikely
    >>> unlikely(110, 1000, 0.1), unlikely(160, 1000, 0.1)
    (False, True)
    """
    a, b = 100 * share, 100 * (1 - share)
    beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    after = math.lgamma(a + hits) + math.lgamma(b + tries - hits) - math.lgamma(a + b + tries)
    return after - beta - hits * math.log(share) - (tries - hits) * math.log1p(-share) > -math.log(RARE)


def _subjects(reads: Reads, experiment: int, after: int, until: int, control: Name) -> tuple[int, int]:
    """Return how many subjects were compared between two events: those that were held back, and the others."""
    asked: dict[str | None, tuple[bool, str | None]] = {}
    sides: dict[bool, set[str | None]] = {True: set(), False: set()}
    for event in reads.events(experiment, after, until - after):
        if event.kind == "decide":
            payload = event.payload
            if "status" not in payload and control in payload.get("available", [control]):
                asked[event.decision] = event.decided_by == "control", event.subject or event.decision
        elif event.kind in ("reward", "expire") and event.decision in asked:
            held, subject = asked[event.decision]
            sides[held].add(subject)
    return len(sides[True]), len(sides[False])


def _compared(changes: Iterable[Event]) -> tuple[Any, float, Event | None]:
    """Return the control arm, the share that is held back, and the event since which both are so."""
    control, share, last = None, 0.0, None
    for event in changes:
        payload: Mapping[str, Any] = event.payload
        control, share = payload.get("control", control), payload.get("holdback", share)
        if event.kind == "configure" and {"control", "holdback"} & payload.keys():
            last = event
    return control, share, last


def _names(changes: Iterable[Event]) -> list[Name]:
    """Return the names of all arms by number."""
    names: list[Name] = []
    for event in changes:
        added = (
            event.payload.get("arms", ())
            if event.kind == "create"
            else [event.payload["arm"]]
            if event.kind == "add"
            else ()
        )
        names += [name for name in added if name not in names]
    return names


def _side(count: int, total: float, squares: float) -> Side:
    """Return the mean of some rewards and its standard error, by their sums."""
    mean = total / count if count else None
    error = math.sqrt(_variance(count, total, squares) / count) if count > 1 else None
    return Side(count, mean, error)


def _variance(count: float, total: float, squares: float) -> float:
    return max(0.0, squares - total * total / count) / (count - 1)

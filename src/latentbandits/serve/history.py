"""What pages say about the past: stays in regimes, gains, the health of the pipe of rewards. Plain functions of what the store has."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import msgspec

from latentbandits.serve.answers import BeliefMinute, Gain, Gains, Name, RegimeGain, Side, Stay
from latentbandits.store import Believed, Event, Minute, Reads
from latentbandits.store.minutes import MINUTE_US, leader

DAY = 1440  # minutes
POINTS = 1440  # of a curve; a longer one is thinned
NORMAL = 1.96  # half the width of a 95 % interval, in standard errors


def beliefs(rows: Iterable[Believed]) -> list[BeliefMinute]:
    """Return beliefs as answers have them."""
    return [_decode(b'{"minute":%d,' % row.minute + row.body[1:].encode()) for row in rows]


_decode = msgspec.json.Decoder(BeliefMinute).decode


class Past:
    """What pages need every few seconds: each look reads only what is new.

    A minute that is over never changes, since times never decrease: its belief is kept, and its rewards are in a sum.
    """

    def __init__(self) -> None:
        self._rows: dict[int, list[BeliefMinute]] = {}
        self._sums: dict[int, tuple[int, Sums]] = {}  # from which minute on there is more to add

    def rows(self, reads: Reads, experiment: int, since: int) -> list[BeliefMinute]:
        """Return the beliefs of an experiment from a minute on; the last minute may still change, and is read again."""
        kept = self._rows.get(experiment, [])
        fresh = beliefs(reads.beliefs(experiment, max(since, kept[-1].minute) if kept else since))
        last = fresh[0].minute if fresh else math.inf
        self._rows[experiment] = [row for row in kept if since <= row.minute < last] + fresh
        return self._rows[experiment]

    def gains(self, reads: Reads, experiment: int, since: int) -> Gains:
        """Return the gains of an experiment from a minute on; 0 for all of them."""
        fresh = Sums(*compared(reads.changes(experiment)))
        begun, sums = self._sums.get(experiment, (0, fresh)) if since == 0 else (since, fresh)
        if sums.comparison != fresh.comparison:
            begun, sums = 0, fresh
        # before the beliefs: that of a minute is there as soon as the next one begins
        minutes = reads.minutes(experiment, begun)
        held = {row.minute: row for row in beliefs(reads.beliefs(experiment, begun))}
        last = minutes[-1].minute if minutes else begun
        sums = deepcopy(sums)
        sums.add([row for row in minutes if row.minute < last], held)
        if since == 0:
            self._sums[experiment] = last, deepcopy(sums)
        sums.add([row for row in minutes if row.minute >= last], held)
        return sums.gains()


def thinned(rows: Sequence[BeliefMinute]) -> list[BeliefMinute]:
    """Return at most `POINTS` of the rows, the last among them."""
    step = max(1, math.ceil(len(rows) / POINTS))
    return list(rows[::-1][::step][::-1])


def stays(rows: Sequence[BeliefMinute], present: int | None = None) -> list[Stay]:
    """Return the visits of regimes, in order. A belief is that at the end of its minute; the last visit goes on.

    Examples
    --------
    >>> from latentbandits.serve.answers import BeliefMinute
    >>> from latentbandits.serve.history import stays
    >>> rows = [BeliefMinute(minute=m, states=[], current=r, elsewhere=0.0, means=[]) for m, r in [(5, 1), (6, 1), (7, 2)]]
    >>> [(stay.regime, stay.from_us // 60_000_000, stay.until_us) for stay in stays(rows)]
    [(1, 5, 420000000), (2, 7, None)]
    """
    begins: list[tuple[int, int]] = []
    for row in rows:
        if not begins or begins[-1][0] != row.current:
            begins.append((row.current, row.minute * MINUTE_US))
    if present is not None and rows and begins[-1][0] != present:
        begins.append((present, (rows[-1].minute + 1) * MINUTE_US))
    ends: list[int | None] = [begun for _, begun in begins[1:]]
    return [
        Stay(regime=regime, from_us=begun, until_us=end)
        for (regime, begun), end in zip(begins, [*ends, None], strict=False)
    ]


def typical_us(visits: Iterable[Stay], regime: int) -> int | None:
    """Return how long a visit of a regime lasts, the median of those that have ended; None if none has."""
    lengths = sorted(
        stay.until_us - stay.from_us for stay in visits if stay.regime == regime and stay.until_us is not None
    )
    return lengths[len(lengths) // 2] if lengths else None


def best_since(rows: Sequence[BeliefMinute], best: int) -> int | None:
    """Return since when an arm has been the best, by the rule of `leader`, to the minute; None if there are no beliefs yet.

    Examples
    --------
    >>> from latentbandits.serve.answers import BeliefMinute
    >>> from latentbandits.serve.history import best_since
    >>> means = [[-0.5, 0.0], [-0.5, -0.7], [-0.5, -0.8]]
    >>> rows = [BeliefMinute(minute=m, states=[], current=1, elsewhere=0.0, means=each) for m, each in enumerate(means, 5)]
    >>> best_since(rows, 0) // 60_000_000
    6
    """
    since = (rows[-1].minute + 1) * MINUTE_US if rows else None
    for row in reversed(rows):
        if leader(row.means) != best:
            break
        since = row.minute * MINUTE_US
    return since


def per_second(rows: Iterable[Minute], now_us: int) -> float:
    """Return the decisions per second of the minute before and of this one so far."""
    present = now_us // MINUTE_US
    decided = sum(row.decided for row in rows if row.minute >= present - 1)
    return decided / ((now_us - (present - 1) * MINUTE_US) / 1e6)


def matched(rows: Iterable[Minute], arms: Sequence[Name]) -> dict[str, float | None]:
    """Return per arm the share of decisions that ended by a reward among those that ended; None where none has."""
    ended, rewarded = [0] * len(arms), [0] * len(arms)
    for row in rows:
        ended[row.arm] += row.rewarded + row.expired + row.censored
        rewarded[row.arm] += row.rewarded
    return {str(arm): rewarded[n] / ended[n] if ended[n] else None for n, arm in enumerate(arms)}


def mean_delay(rows: Sequence[Minute]) -> float | None:
    """Return the mean time from decisions to their rewards, in microseconds."""
    rewarded = sum(row.rewarded for row in rows)
    return sum(row.delay_us for row in rows) / rewarded if rewarded else None


def compared(changes: Iterable[Event]) -> tuple[int, int]:
    """Return the number of the control arm, and the minute in which it or the share of subjects that are held back was last changed.

    Before that minute others were held back, or on another arm: in a world that changes, those would be compared with another time.
    """
    settings: dict[str, Any] = {}
    names: list[Name] = []
    since, draft = 0, True
    for event in changes:
        payload = event.payload
        if event.kind in ("create", "configure"):
            since = since if draft or not {"control", "holdback"} & payload.keys() else event.at_us // MINUTE_US
            settings |= payload
            names = list(settings["arms"]) if draft else names
        elif event.kind == "add" and payload["arm"] not in names:
            names.append(payload["arm"])
        elif event.kind == "status":
            draft = False
    control = settings.get("control")
    return names.index(control) if control in names else -1, since


class _Sum:
    """Adds up rewards."""

    def __init__(self) -> None:
        self.count, self.total, self.squares = 0, 0.0, 0.0

    def add(self, row: Minute) -> None:
        self.count += row.rewarded + row.expired
        self.total += row.total
        self.squares += row.squares

    def side(self) -> Side:
        if not self.count:
            return Side(count=0, mean=None, error=None)
        mean = self.total / self.count
        if self.count == 1:
            return Side(count=1, mean=mean, error=None)
        variance = max(0.0, self.squares - self.count * mean * mean) / (self.count - 1)
        return Side(count=self.count, mean=mean, error=math.sqrt(variance / self.count))


def _gain(sums: Mapping[str, _Sum]) -> Gain:
    """Return the difference between two sides, with a 95 % interval."""
    ours, control = sums["policy"].side(), sums["control"].side()
    if ours.mean is None or control.mean is None:
        return Gain(policy=ours, control=control, difference=None, low=None, high=None, total=None)
    difference = ours.mean - control.mean
    half = None if ours.error is None or control.error is None else NORMAL * math.hypot(ours.error, control.error)
    return Gain(
        policy=ours,
        control=control,
        difference=difference,
        low=None if half is None else difference - half,
        high=None if half is None else difference + half,
        total=difference * ours.count,
    )


class Sums:
    """Rewards of the policy and of the subjects that are held back, over all and by the regime of the minute, and what probing has cost.

    Parameters
    ----------
    control : int
        The number of the arm of subjects that are held back.
    since : int
        The minute from which on the two are compared.
    """

    def __init__(self, control: int, since: int = 0) -> None:
        self.comparison = control, since
        self._all: dict[str, _Sum] = defaultdict(_Sum)
        self._split: dict[int | None, dict[str, _Sum]] = defaultdict(partial(defaultdict, _Sum))
        self._probed, self._cost, self._held = 0, 0.0, False

    def _side(self, row: Minute) -> str | None:
        """Return which side decisions count for, None for those that nobody could have held back: of another status, arm or time."""
        control, since = self.comparison
        if row.minute < since:
            return None
        if row.decided_by == "control":
            return "control" if row.arm == control else None
        return "policy" if row.decided_by in ("policy", "floor") else None

    def add(self, minutes: Iterable[Minute], held: Mapping[int, BeliefMinute]) -> None:
        """Add minutes, with the beliefs that were held at their ends."""
        self._held = self._held or bool(held)
        for row in minutes:
            belief = held.get(row.minute)
            side = self._side(row)
            if side is not None:
                self._all[side].add(row)
                self._split[None if belief is None else belief.current][side].add(row)
            self._probed += row.probed
            if belief is not None and row.probed and row.arm < len(belief.means):
                own, means = belief.means[row.arm], [mean for mean in belief.means if mean is not None]
                self._cost += row.probed * (max(means) - own) if own is not None else 0.0

    def gains(self) -> Gains:
        """Return what the policy gains against the subjects that are held back, over all and by the regime of the minute.

        Examples
        --------
        >>> from latentbandits.serve.history import Sums
        >>> from latentbandits.store import Minute
        >>> sums = Sums(control=0)
        >>> sums.add([Minute(7, 1, "policy", rewarded=10, total=9.0, squares=9.0)], {})
        >>> sums.add([Minute(7, 0, "control", rewarded=10, total=4.0, squares=4.0)], {})
        >>> round(sums.gains().all.difference, 9)
        0.5
        """
        order = sorted(self._split, key=lambda regime: (regime is None, regime or 0))
        return Gains(
            all=_gain(self._all),
            regimes=[RegimeGain(regime=each, gain=_gain(self._split[each])) for each in order],
            probed=self._probed,
            probing_cost=self._cost if self._held else None,
        )

"""What pages say about the past: stays in regimes, gains, the health of the pipe of rewards. Plain functions of what the store has."""

import math
from collections.abc import Iterable, Sequence

import msgspec

from latentbandits.serve.answers import BeliefMinute, Name, Stay
from latentbandits.store import Believed, Minute, Reads
from latentbandits.store.minutes import MINUTE_US, leader

DAY = 1440  # minutes
POINTS = 1440  # of a curve; a longer one is thinned
NORMAL = 1.96  # half the width of a 95 % interval, in standard errors


def beliefs(rows: Iterable[Believed]) -> list[BeliefMinute]:
    """Return beliefs as answers have them."""
    return [_decode(b'{"minute":%d,' % row.minute + row.body[1:].encode()) for row in rows]


_decode = msgspec.json.Decoder(BeliefMinute).decode


class Past:
    """Beliefs, which pages need every second: each look reads only what is new.

    A minute that is over never changes, since times never decrease.
    """

    def __init__(self) -> None:
        self._rows: dict[int, list[BeliefMinute]] = {}

    def rows(self, reads: Reads, experiment: int, since: int) -> list[BeliefMinute]:
        """Return the beliefs of an experiment from a minute on; the last minute may still change, and is read again."""
        kept = self._rows.get(experiment, [])
        fresh = beliefs(reads.beliefs(experiment, max(since, kept[-1].minute) if kept else since))
        last = fresh[0].minute if fresh else math.inf
        self._rows[experiment] = [row for row in kept if since <= row.minute < last] + fresh
        return self._rows[experiment]


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

"""Open decisions as arrays, for policies that `peek`: what they played, what was told, and how much could have been told by now."""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Mapping

import numpy as np

from latentbandits.agent.slots import Open
from latentbandits.protocols import Waiting

KEPT = 512  # delays: how long the last rewards took
_NEVER = np.iinfo(np.int64).max  # an age below 0, by which nothing is known


class Delays:
    """How long rewards took, in microseconds: the last 512 of decisions whose windows are closed, so that none is left out for being slow.

    Examples
    --------
    >>> from latentbandits.agent.windows import Delays
    >>> delays = Delays([10, 30, 20])
    >>> delays.share(np.array([0, 20, 100]), 100).tolist()
    [0.0, 0.55, 1.0]
    """

    def __init__(self, last: Iterable[int] = ()) -> None:
        self.last = deque(last, KEPT)
        self._sorted = sorted(self.last)

    def copy(self) -> "Delays":
        """Return a copy."""
        return Delays(self.last)

    def add(self, delay: int) -> None:
        """Count a delay; of too many the oldest is forgotten."""
        if len(self.last) == KEPT:
            del self._sorted[bisect_left(self._sorted, self.last[0])]
        self.last.append(delay)
        insort(self._sorted, delay)

    def share(self, ages: np.ndarray, window: int) -> np.ndarray:
        """Return the share F of rewards that have come by some ages: those not slower, and one that takes any time within the window."""
        inside = np.clip(ages, 0, window)
        faster = np.searchsorted(np.array(self._sorted, np.int64), inside, side="right")
        shares: np.ndarray = (faster * (ages >= 0) + inside / window) / (len(self._sorted) + 1)
        return shares


class Windows:
    """The open decisions that a policy was asked for, as arrays that grow at the end and lose their beginning."""

    def __init__(self, groups: int, waiting: Mapping[str, Open]) -> None:
        self._arms = np.zeros((64, groups), np.int64)
        self._rewards, self._at = np.zeros((64, groups)), np.zeros(64, np.int64)
        self._places: dict[str, int] = {}
        self._first = self._end = self._gone = 0  # rows in use, and how many have been left behind
        for key, one in waiting.items():
            self.open(key, one)

    def __len__(self) -> int:
        return self._end - self._first

    def open(self, key: str, one: Open) -> None:
        """Add a decision, if the policy was asked for it."""
        if not one.content:
            return
        if self._end == len(self._at):
            self._make_room()
        row = self._end
        self._end += 1
        self._places[key] = row + self._gone
        self._arms[row], self._at[row] = one.arms, one.at_us
        self._rewards[row] = np.nan if one.told is None else one.told

    def _make_room(self) -> None:
        """Move all rows to the beginning, of larger arrays if they fill more than half of these."""
        rows, size = slice(self._first, self._end), len(self._at) * (1 + (2 * len(self) > len(self._at)))
        for name in ("_arms", "_rewards", "_at"):
            before = getattr(self, name)
            larger = np.zeros((size, *before.shape[1:]), before.dtype)
            larger[: len(self)] = before[rows]
            setattr(self, name, larger)
        self._gone += self._first
        self._first, self._end = 0, len(self)

    def change(self, key: str, one: Open) -> None:
        """Take over the arms and the rewards of a decision that is known."""
        if key in self._places:
            row = self._places[key] - self._gone
            self._arms[row] = one.arms
            self._rewards[row] = np.nan if one.told is None else one.told

    def end(self, key: str) -> None:
        """Leave out a decision that has ended: the oldest, or one about which nothing is known any more."""
        if key in self._places:
            row = self._places.pop(key) - self._gone
            self._at[row], self._rewards[row] = _NEVER, np.nan
            while self._first < self._end and self._at[self._first] == _NEVER:
                self._first += 1

    def waiting(self, now_us: int, delays: Delays, window: int, default: float) -> Waiting:
        """Return what is known of them at a time."""
        rows = slice(self._first, self._end)
        return Waiting(self._arms[rows], self._rewards[rows], delays.share(now_us - self._at[rows], window), default)

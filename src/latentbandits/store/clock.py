"""The time that a store goes by: the system's, which may jump, bounded by a clock that does not."""

import time
from collections.abc import Callable

SHARE = 10  # in ten seconds the time may gain or lose one on the machine's steady clock: so it follows the system's, and never jumps
JUMP_US = 1_000_000  # of the system's clock, from which on it is worth a word


def _wall() -> int:
    return time.time_ns() // 1000


def _steady() -> int:
    """Return a time that nobody sets; where it can be known, it goes on while the machine sleeps."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
    return time.monotonic_ns() // 1000


class Clock:
    """Returns microseconds since 1970, as the system says, but never a tenth faster or slower than time passes.

    If somebody sets the system's clock, the time goes on, and approaches the new one by a second in ten: reward windows keep their length.

    Parameters
    ----------
    wall, steady : callable, optional
        Microseconds since 1970, and since whenever.

    Examples
    --------
    >>> from latentbandits.store.clock import Clock
    >>> wall, steady = [1_000_000], [0]
    >>> clock = Clock(lambda: wall[0], lambda: steady[0])
    >>> wall[0], steady[0] = 86_400_000_000, 10_000_000  # ten seconds later it is a day later
    >>> clock(), clock.behind_us
    (12000001, 86387999999)
    """

    def __init__(self, wall: Callable[[], int] = _wall, steady: Callable[[], int] = _steady) -> None:
        self._wall, self._steady = wall, steady
        self._last = wall(), steady()  # one tuple, since threads share it
        self.behind_us = 0

    def __call__(self) -> int:
        """Return the time."""
        (last, begun), steady, wall = self._last, self._steady(), self._wall()
        passed = max(0, steady - begun)
        room = passed // SHARE + 1
        now = min(max(wall, last + passed - room), last + passed + room)
        self._last, self.behind_us = (now, steady), wall - now
        return now

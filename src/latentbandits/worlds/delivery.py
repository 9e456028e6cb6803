"""When rewards arrive: at once, some rounds late, or never."""

import math
import re
from typing import Any, NamedTuple

import numpy as np

from latentbandits.protocols import LARGEST_DELAY, LEARN
from latentbandits.random import Purpose, stream
from latentbandits.settings import InvalidValueError, check_float, check_int

RULE = f'rounds from 0 to {LARGEST_DELAY}: a number, "20 to 200" or a pair for a range, or "geometric 20" for a mean'


class Delay(NamedTuple):
    """After how many further rounds a reward arrives, each reward on its own.

    Attributes
    ----------
    low, high : range of a uniform integer, both included; equal for a fixed delay
    mean : mean of a geometric delay from 0 on, or 0 for a uniform one
    """

    low: int
    high: int
    mean: float = 0.0

    def __str__(self) -> str:
        if self.mean > 0:
            return f"geometric {self.mean:g}"
        return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"

    def rounds(self, uniform: np.ndarray) -> np.ndarray:
        """Return the delays that belong to numbers from [0, 1)."""
        if self.mean > 0:
            waits: np.ndarray = np.minimum(np.log1p(-uniform) / math.log(self.mean / (1 + self.mean)), LARGEST_DELAY)
            return waits.astype(np.int64)
        return self.low + (uniform * (self.high - self.low + 1)).astype(np.int64)


def as_delay(value: Any, owner: str = "delivery") -> Delay:
    """Return a delay from a number, a pair, ``("geometric", mean)`` or a text; or refuse.

    Examples
    --------
    >>> from latentbandits.worlds.delivery import as_delay
    >>> [str(as_delay(value)) for value in (20, (20, 200), "20 to 200", ("geometric", 20), "geometric 20")]
    ['20', '20 to 200', '20 to 200', 'geometric 20', 'geometric 20']
    """
    if isinstance(value, Delay):
        return value
    parts = _parts(value) if isinstance(value, str) else value
    try:
        first, second = (parts, parts) if np.ndim(parts) == 0 else parts
        if first == "geometric":
            mean = check_float(owner, "delay", second)
            if not 0 < mean <= LARGEST_DELAY:
                raise ValueError
            return Delay(0, 0, mean)
        low, high = check_int(owner, "delay", first, least=0), check_int(owner, "delay", second, least=0)
    except (TypeError, ValueError):
        raise InvalidValueError(owner, "delay", value, RULE) from None
    if not low <= high <= LARGEST_DELAY:
        raise InvalidValueError(owner, "delay", value, RULE)
    return Delay(low, high)


def _parts(text: str) -> Any:
    """Return what a text says as a number or a pair, None if it says nothing."""
    if match := re.fullmatch(r"\s*(\d+)\s*(?:to\s*(\d+)\s*)?", text):
        return int(match[1]), int(match[2] or match[1])
    match = re.fullmatch(r"\s*geometric\s+(\d+(?:\.\d+)?)\s*", text)
    return ("geometric", float(match[1])) if match else None


def delays(horizon: int, delay: Any, lost: float, seed: int, draw: int, repeat: int) -> np.ndarray | None:
    """Return after how many further rounds the rewards of each round arrive, -1 for never; None if all arrive at once.

    `delay` is what `as_delay` takes, `lost` the probability that the rewards of a round never arrive. A longer horizon changes nothing
    about the first rounds.

    Examples
    --------
    >>> from latentbandits.worlds.delivery import delays
    >>> delays(8, (0, 3), 0.25, seed=1, draw=0, repeat=0).tolist()
    [0, 2, 2, 0, 2, 3, -1, 2]
    >>> print(delays(8, 0, 0.0, seed=0, draw=0, repeat=0))
    None
    """
    waiting = as_delay(delay)
    if not 0 <= check_float("delivery", "lost", lost) < 1:
        raise InvalidValueError("delivery", "lost", lost, "a probability below 1")
    if waiting == Delay(0, 0) and lost == 0:
        return None
    uniform = np.random.default_rng(stream(seed, Purpose.DELIVERY, draw, repeat)).random((horizon, 2))
    return np.where(uniform[:, 0] < lost, -1, waiting.rounds(uniform[:, 1]))


def within(waits: np.ndarray | None, window: int, learn: str, rewards: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rewards (rounds, groups, arms) and delays of rounds with a window: what has not come by then is 0.

    At the window all rounds are as late as the window is long. At once, a reward other than 0 comes after its own delay (the first column),
    and that there is none is known when the window closes (the second one).

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.worlds.delivery import within
    >>> clicks, waits = within(np.array([2, 9, -1]), 5, "at_once", np.ones((3, 1, 2)))
    >>> clicks[:, 0, 0].tolist(), waits.tolist()
    ([1.0, 0.0, 0.0], [[2, 5], [5, 5], [5, 5]])
    """
    waits = np.zeros(len(rewards), np.int64) if waits is None else waits
    came = (waits >= 0) & (waits <= window)
    closes = np.full(len(waits), window)
    late = closes if learn == LEARN[0] else np.stack([np.where(came, waits, window), closes], axis=1)
    return np.where(came[:, None, None], rewards, 0.0), late


def mistaken(rewards: np.ndarray, share: float, value: float, seed: int, draw: int, repeat: int) -> np.ndarray:
    """Return rewards of which a share of rounds is told wrong, by one value.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.worlds.delivery import mistaken
    >>> mistaken(np.ones((6, 1, 2)), 0.3, -9.0, seed=1, draw=0, repeat=0)[:, 0, 0].tolist()
    [1.0, 1.0, 1.0, -9.0, -9.0, -9.0]
    """
    uniform = np.random.default_rng(stream(seed, Purpose.DELIVERY, draw, repeat, 1)).random(len(rewards))
    return np.where((uniform < share)[:, None, None], value, rewards)

"""Where open decisions keep their choices.

A choice is four small arrays, and making them takes longer than the policy needs to choose. So they are made once, as views of one block of
memory in which the policy works; what an open decision keeps is a copy of the block's bytes.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from latentbandits.protocols import ArmScore, Choice, Policy


class Open(NamedTuple):
    """A decision that waits for its rewards.

    Attributes
    ----------
    content : the bytes of its choice; empty if the policy was not asked
    arms : numbers of its arms, one per group
    by : who decided: policy, floor or control
    at_us : when, in microseconds since 1970
    counted_under : who decided, or the status of then if it was not live
    told : its rewards, if they are known and its window is open; None if nothing was told
    told_us : when they were told
    """

    content: bytes
    arms: tuple[int, ...]
    by: str
    at_us: int
    counted_under: str
    told: tuple[float, ...] | None = None
    told_us: int = 0


class Slots:
    """The block in which a policy works, and the form of what is kept of it.

    Attributes
    ----------
    blank : bytes of a blank choice, in which the retired arms are not available
    choice : Choice, views of the block
    block : memoryview, the bytes of the choice
    probability : float array, a view of the arm scores
    """

    def __init__(self, policy: Policy, retired: Iterable[int] = ()) -> None:
        self._parts = Choice.blank(policy)
        for arm in retired:
            self._parts.arm_scores[arm].available = 0
        self.blank = packed(self._parts)
        words = np.frombuffer(self.blank, np.uint64).copy()  # words, so that every part is aligned
        self.choice, self.block = self._views(words), words.view(np.uint8).data
        self.probability = self.choice.arm_scores["probability"]

    def _views(self, words: np.ndarray) -> Choice:
        views, start = [], 0
        for part in self._parts:
            end = start + part.nbytes // 8
            views.append(words[start:end].view(part.dtype))
            start = end
        return Choice(*views)

    def opened(self, content: bytes) -> Choice:
        """Return a choice by its bytes, to read."""
        return self._views(np.frombuffer(content, np.uint64))

    def stacked(self, contents: Iterable[bytes]) -> Choice:
        """Return copies of several choices by their bytes, one row each."""
        rows = np.frombuffer(b"".join(contents), np.uint8).reshape(-1, len(self.blank))
        parts, start = [], 0
        for part in self._parts:
            end = start + part.nbytes
            parts.append(np.ascontiguousarray(rows[:, start:end]).view(part.dtype))
            start = end
        return Choice(*parts)


def packed(choice: Choice) -> bytes:
    """Return the bytes of a choice."""
    return b"".join(part.tobytes() for part in choice)


def scored(contents: Sequence[bytes], arms: int) -> list[bytes]:
    """Return what a policy thought of every arm in some choices, as 32-bit numbers.

    There are five per arm: available, value, index, standard error and probability.
    """
    if not contents:
        return []
    # a choice ends with its arm scores
    rows = np.frombuffer(b"".join(contents), np.float64).reshape(len(contents), -1)
    words = rows[:, -arms * _SCORE_WORDS :].reshape(-1, _SCORE_WORDS)
    with np.errstate(over="ignore"):  # indices that go before all others are beyond these numbers: infinite
        table = words.take(_SCORES, axis=1).astype("<f4")
    table[:, 0] = words.view(np.int64)[:, 0]
    whole, size = table.tobytes(), table.strides[0] * arms
    return [whole[begun : begun + size] for begun in range(0, len(whole), size)]


def scores(content: bytes | None) -> list[list[float]]:
    """Return what `scored` wrote: five numbers per arm."""
    return np.frombuffer(content or b"", "<f4").reshape(-1, 5).tolist()


_SCORE_WORDS = ArmScore.itemsize // 8
_SCORES = np.array([0, 1, 2, 4, 3])  # places of the five in an arm score

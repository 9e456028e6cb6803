"""Where open decisions keep their choices.

A choice is four small arrays, and making them takes longer than the policy needs to choose. So they are made once, as views of one block of
memory, and used again: one copy of the block makes the choice blank.
"""

from collections.abc import Iterable

import numpy as np

from latentbandits.protocols import Choice, Policy


class Slot:
    """An open decision: its choice, the names of its arms, and who decided.

    Attributes
    ----------
    choice : Choice
    block : memoryview, the bytes of the choice
    arms : tuple of names, one per unit
    by : "policy", "floor" or "control"
    probability : float array, a view of the offers
    """

    __slots__ = ("arms", "block", "by", "choice", "probability")

    def __init__(self, choice: Choice, block: memoryview) -> None:
        self.choice, self.block, self.probability = choice, block, choice.offers["probability"]
        self.arms: tuple[str | int, ...] = ()
        self.by = "policy"


class Slots:
    """Makes slots for a policy.

    Attributes
    ----------
    blank : bytes of a blank choice, in which the retired arms are not available
    spare : slots to use again
    """

    def __init__(self, policy: Policy, retired: Iterable[int] = ()) -> None:
        self._parts = Choice.blank(policy)
        for arm in retired:
            self._parts.offers[arm].available = 0
        self.blank = b"".join(part.tobytes() for part in self._parts)
        self.spare: list[Slot] = []

    def new(self) -> Slot:
        """Return a new slot with a blank choice."""
        block = np.frombuffer(self.blank, np.uint64).copy()  # words, so that every part is aligned
        views, start = [], 0
        for part in self._parts:
            end = start + part.nbytes // 8
            views.append(block[start:end].view(part.dtype))
            start = end
        return Slot(Choice(*views), block.view(np.uint8).data)

    def filled(self, choice: Choice) -> Slot:
        """Return a new slot with a copy of a choice."""
        slot = self.new()
        for own, given in zip(slot.choice, choice, strict=True):
            own[:] = given
        return slot

    def stacked(self, slots: Iterable[Slot]) -> Choice:
        """Return copies of the choices of several slots, one row per slot."""
        content = b"".join(slot.block for slot in slots)
        rows = np.frombuffer(content, np.uint8).reshape(-1, len(self.blank))
        parts, start = [], 0
        for part in self._parts:
            end = start + part.nbytes
            parts.append(np.ascontiguousarray(rows[:, start:end]).view(part.dtype))
            start = end
        return Choice(*parts)

"""The particles of the slow twin of StateLibrary: each is an object with a library of its own. See `tests.naive_library`."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Remembered:
    """One remembered state."""

    means: list[float]
    counts: list[int]
    entered: int = 0

    def copy(self) -> "Remembered":
        return Remembered([*self.means], [*self.counts], self.entered)


@dataclass
class Particle:
    """A library, and where we are in it."""

    library: list[Remembered]
    odds: float
    weight: float = 1.0
    here: int = 0
    stays: int = 0
    changes: int = 0
    lineage: object = field(default_factory=object)
    moves: Counter[tuple[int, int]] = field(default_factory=Counter)

    def copy(self) -> "Particle":
        library = [entry.copy() for entry in self.library]
        return Particle(
            library, self.odds, self.weight, self.here, self.stays, self.changes, self.lineage, self.moves.copy()
        )

    @property
    def now(self) -> Remembered:
        return self.library[self.here]

    def unseen(self, novelty: float) -> float:
        """Return the mass of states never seen: Good and Turing count those seen once."""
        return novelty + sum(entry.entered == 1 for entry in self.library)

    def left(self) -> int:
        """Return how often the present state was left."""
        return sum(n for (before, _), n in self.moves.items() if before == self.here)

    def everything(self, novelty: float) -> float:
        return self.unseen(novelty) + sum(entry.entered for entry in self.library) - self.now.entered

    def leaving(self, novelty: float, going: float = 1.0) -> list[float]:
        """Return the probability of every state after a change, the last a new one, times the probability `going` of a change.

        By entries it is f = mass / everything, by moves (n + f) / (left + 1), and both are averaged by their odds. Written in the order in
        which the policy rounds, since particles can weigh the same but for rounding.
        """
        share, backed = 1 / (1 + self.odds), self.odds / (self.left() + 1)
        by_entry = share * (1 / self.everything(novelty)) * (1 + backed)
        by_move = share * backed
        known = [
            going * by_entry * entry.entered + going * by_move * self.moves[self.here, k]
            for k, entry in enumerate(self.library)
        ]
        return [*known, going * (by_entry * self.unseen(novelty))]


Branch = tuple[
    Particle, int, float
]  # a particle, the state it goes to (or one past the last, for a new one), and its weight


def prune(branches: list[Branch], most: int, floor: float, u: float) -> list[Branch]:
    """Fearnhead & Clifford (2003): those above a cut stay as they are, the others weigh the cut or are gone."""
    weights = [weight for _, _, weight in branches]
    total = ordered_sum(weights)
    cut = least = floor * total
    room = most - 1
    weights.sort(key=lambda weight: weight > least)  # those below the floor are added up first

    def small() -> float:
        return ordered_sum([weight for weight in weights if weight <= cut])

    def big() -> int:
        return sum(weight > cut for weight in weights)

    if len(branches) > most and (cut == 0 or big() + small() / cut > room):
        # solve big + small / cut = room: those above total / room are big for sure, and so on
        cut, certain = total / room, 0
        while certain < big() < room:
            certain = big()
            cut = small() / (room - certain)
    kept, left = [], u * cut
    for particle, to, weight in branches:
        if weight > cut:
            kept.append((particle, to, weight))
            continue
        left -= weight
        if left < 0:
            left += cut
            kept.append((particle, to, cut))
    return kept


def decay(x: float) -> float:
    """Return exp(-x): the policy takes the nearest multiple of 1/32 and five terms of a series, right to 11 digits."""
    near = math.floor(32 * x + 0.5) / 32
    r = near - x
    return float(np.exp(-near) * (1 + r * (1 + r * (0.5 + r * (1 / 6 + r / 24)))))


def ordered_sum(values: Sequence[float]) -> float:
    """Add up from left to right: since Python 3.12 `sum` rounds better than that."""
    total = 0.0
    for value in values:
        total += value
    return total

"""The particles of the slow twin of StateLibrary: each is an object with a library of its own. See `tests.naive_library`."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from tests.naive import Floats
from tests.naive_amounts import Amounts


class Group(NamedTuple):
    """Some rewards of one arm in one round."""

    arm: int
    mean: float
    size: int
    rewards: tuple[float, ...] = ()  # of all groups, as they were told
    effect: float = 0.0  # of features, which was taken off the mean


class Seen(NamedTuple):
    """A round that was learned: its number, its rewards, the random number of the pruning, and the observed features."""

    number: int
    groups: list[Group]
    u: float
    x: Floats


@dataclass
class Scale:
    """What rewards mean."""

    noise: float = 0.0  # until the range is known
    low: float = 0.0
    high: float = 0.0
    amounts: Amounts | None = None  # what is known of them
    pays: bool = False  # whether rewards are nothing or an amount
    given: bool = False  # whether the range is

    def spread(self) -> float:
        return 0.29 * (self.high - self.low)

    def centre(self) -> float:
        return (self.low + self.high) / 2

    def prior(self) -> float:
        """Return how many rewards the prior of a mean is worth."""
        return (self.noise / self.spread()) ** 2

    def deviation(self, n: int) -> float:
        """Return the standard deviation of a mean with n rewards behind it."""
        return self.noise / math.sqrt(n + self.prior())

    def deviation_of(self, arm: int, n: int) -> float:
        """Return the standard deviation of an arm's mean: by the noise, or by the size of its amounts and its share of them."""
        amounts = self.amounts
        if amounts is None or not self.pays or not amounts.paid[arm]:
            return self.deviation(n)
        paid = amounts.paid[arm]
        share = (len(paid) + 2 * amounts.guess()) / (len(amounts.rewards[arm]) + 2)
        size = float(np.mean(paid)) - (amounts.value or 0.0)
        variance = share * ((1 - share) * size**2 + float(np.var(paid)))
        return math.sqrt(variance / (n + variance / self.spread() ** 2))


class Urns(NamedTuple):
    """What is believed of the chain of states before the first round."""

    states: int
    novelty: float = 1.0
    stay_prior: float = 29.0
    change_prior: float = 0.5
    structure: float = 0.05


# The first age of each of 64 classes of ages: single rounds up to 20, then steps of 10 %
AGES: list[int] = [*range(1, 21), *(math.ceil(20 * 1.1**i) for i in range(1, 45))]


def age_class(age: int) -> int:
    return max(bisect_right(AGES, age) - 1, 0)


@dataclass
class Remembered:
    """One remembered state."""

    means: list[float]
    counts: list[int]
    shares: list[float]  # of rewards that are amounts, and the means of their logarithms
    sizes: list[float]
    entered: int = 0
    spent: int = 0
    mark: object = field(default_factory=object)  # of its own, the same in copies of the library

    def copy(self) -> "Remembered":
        return replace(self, means=[*self.means], counts=[*self.counts], shares=[*self.shares], sizes=[*self.sizes])


@dataclass
class Particle:
    """A library, and where we are in it."""

    urns: Urns
    library: list[Remembered]
    changed: int  # the round of the last change, and the latest before it
    until: int
    weight: float
    odds: float
    ageing: float
    here: int = 0
    stays: int = 0
    changes: float = 0.0
    outliers: int = 0
    lineage: object = field(default_factory=object)
    moves: Counter[tuple[int, int]] = field(default_factory=Counter)
    visits: list[tuple[int | None, int]] = field(
        default_factory=list
    )  # the last four: state and first round, latest first
    ended: Counter[int] = field(default_factory=Counter)  # states by the class of the age at which they ended

    def copy(self) -> "Particle":
        return replace(
            self,
            library=[entry.copy() for entry in self.library],
            moves=self.moves.copy(),
            visits=[*self.visits],
            ended=self.ended.copy(),
        )

    @property
    def now(self) -> Remembered:
        return self.library[self.here]

    # Whether the state changes

    def stay(self) -> float:
        """Return the probability that the state stays, if that does not depend on its age."""
        stays = self.stays + self.urns.stay_prior
        return stays / (stays + self.changes + self.urns.change_prior)

    def aged(self, number: int) -> float:
        """Return the probability that it changes in a round, as states of its age did; a pseudo-state changed at the constant rate."""
        age = age_class(number - self.changed)
        if age == len(AGES) - 1:
            return 1 - self.stay()
        rounds = AGES[age + 1] - AGES[age]
        reached = sum(n for end, n in self.ended.items() if end >= age)
        return (self.ended[age] + (1 - self.stay()) * rounds) / ((reached + 1) * rounds)

    def hazard(self, number: int, front: int) -> float:
        """Return the probability that it has changed by a round, where rounds up to `front` were learned."""
        if number - front > 1:
            return float(1 - self.stay() ** (number - front))
        return (1 - self.stay() + self.ageing * self.aged(number)) / (1 + self.ageing)

    def weigh_ageing(self, number: int, changed: bool) -> None:
        """Update the odds of the two hazards by what they predicted."""
        aged, constant = self.aged(number), 1 - self.stay()
        odds = self.ageing * (aged / constant if changed else (1 - aged) / (1 - constant))
        self.ageing = min(max(odds, self.urns.structure / 1000), 1000)

    # Where a change leads

    def unseen(self) -> float:
        """Return the mass of states never seen: Good and Turing count those seen once."""
        return self.urns.novelty + sum(entry.entered == 1 for entry in self.library)

    def left(self) -> int:
        """Return how often the present state was left."""
        return sum(n for (before, _), n in self.moves.items() if before == self.here)

    def everything(self) -> float:
        return self.unseen() + sum(entry.entered for entry in self.library) - self.now.entered

    def leaving(self, going: float = 1.0) -> list[float]:
        """Return the probability of every state after a change, the last a new one, times the probability `going` of a change.

        By entries it is f = mass / everything, by moves (n + f) / (left + 1), and both are averaged by their odds. Written in the order in
        which the policy rounds, since particles can weigh the same but for rounding.
        """
        share, backed = 1 / (1 + self.odds), self.odds / (self.left() + 1)
        by_entry = share * (1 / self.everything()) * (1 + backed)
        by_move = share * backed
        known = [
            going * by_entry * entry.entered + going * by_move * self.moves[self.here, k]
            for k, entry in enumerate(self.library)
        ]
        return [*known, going * (by_entry * self.unseen())]

    def change(self, to: int, blank: Remembered, number: int, front: int) -> None:
        """Go to another state; a new one, `blank`, takes the place of the rarest if the library is full."""
        new = to == len(self.library)
        flat = (self.unseen() if new else self.library[to].entered) / self.everything()
        counted = flat + self.moves[self.here, to]
        odds = self.odds * counted / (self.left() + 1) / flat
        self.odds = min(max(odds, self.urns.structure / 1000), 1000)
        self.ended[age_class(number - self.changed)] += 1
        self.visits = [(self.here, self.changed), *self.visits][:4]
        if new:
            self.lineage = object()
            if to < self.urns.states:
                self.library.append(blank)
            else:
                to = min((k for k in range(to) if k != self.here), key=lambda k: self.library[k].entered)
                self.library[to] = blank
                self.moves = Counter({move: n for move, n in self.moves.items() if to not in move})
                self.visits = [(None if state == to else state, began) for state, began in self.visits]
        self.moves[self.here, to] += 1
        self.library[to].entered += 1
        self.changes += 1
        self.changed, self.until, self.here = number, front, to

    def before(self, number: int) -> int | None:
        """Return the state of a round before the last change, None if it was forgotten."""
        return next((state for state, began in self.visits if number >= began), None)


# Where a branch goes: to a state (one past the last for a new one), or one of these
OUTLIER, HERE, BEFORE = -1, -2, -3
Branch = tuple[Particle, int, float]  # a particle, where it goes, and its weight


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
    return float(np.exp(-near) * (1 + r * (1 + r * (0.5 + r * (1 / 6 + r * (1 / 24))))))


def ordered_sum(values: Sequence[float]) -> float:
    """Add up from left to right: since Python 3.12 `sum` rounds better than that."""
    total = 0.0
    for value in values:
        total += value
    return total

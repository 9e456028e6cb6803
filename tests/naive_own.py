"""Shared or own: part of the slow twin of the library of states. `tests.naive_arms` has the levels of every arm."""

import math
from collections.abc import Iterable, Sequence

from tests.naive_arms import Levels, Looked
from tests.naive_particles import Group


class Own:
    """Whether every arm changes by itself, and what it is worth if so."""

    def __init__(self, arms: int, is_on: bool) -> None:
        self.is_on, self.levels = is_on, Levels(arms)
        self.begin()

    def begin(self) -> None:
        self.levels.begin()
        self.odds, self.last = -1.0, -1

    @property
    def is_likely(self) -> bool:
        return self.is_on and self.odds > 0

    def asked(self, number: int, arms: Iterable[int]) -> None:
        for arm in arms:
            self.levels.arms[arm].asked = number

    def look(self, number: int, noise: float, available: Sequence[int], effects: Sequence[float]) -> Looked:
        self.levels.now = number
        return self.levels.look(noise, available, effects)

    def learn(self, number: int, groups: Sequence[Group], noise: float, amounts: bool, library: float) -> None:
        """Learn the rewards of a round, which the library made likely by so much, and compare; one reward moves the odds by 1 at most."""
        if not self.is_on:
            return
        likes = [self.levels.hear(group.arm, number, group.mean, noise / math.sqrt(group.size)) for group in groups]
        again = len(groups) == 1 and groups[0].arm == self.last
        self.last = groups[0].arm if len(groups) == 1 else -1
        like = math.prod(like or 0.0 for like in likes)
        if like == 0 or amounts != self.levels.rewards.two:
            return
        density = math.log(library) - (0 if amounts else len(groups) * 0.5 * math.log(2 * math.pi))
        more = min(max(math.log(like) - density, -1), 1)
        self.odds = min(max(self.odds + (0.1 if again else 1) * more, -10), 10)

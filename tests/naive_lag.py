"""The lag model of the slow twin of StateLibrary. See `tests.naive_library`."""

import math
from collections.abc import Sequence

from tests.naive_particles import Group, Scale


class LagModel:
    """From the last arm and the level of its reward to the next reward of every arm."""

    def __init__(self, arms: int, levels: int, scale: Scale) -> None:
        self.most, self.scale = levels, scale
        self.error = scale.spread() ** 2
        self.seen: list[tuple[int, float]] = [(0, scale.centre())] * arms  # number and mean
        self.levels: list[list[tuple[float, float]]] = [[] for _ in range(arms)]  # weight and centre
        self.following: dict[tuple[int, int, int], tuple[int, float]] = {}
        self.last: tuple[int, int] | None = None
        self.xx = self.xy = self.trust()
        self.blend = 1.0

    def trust(self) -> float:
        return 0.5 * (self.scale.high - self.scale.low) ** 2

    def cell(self, arm: int) -> tuple[int, float]:
        return (0, 0.0) if self.last is None else self.following.get((*self.last, arm), (0, 0.0))

    def expected(self, arm: int) -> float:
        n, mean = self.cell(arm)
        return self.seen[arm][1] if self.last is None else (n * mean + 2 * self.seen[arm][1]) / (n + 2)

    def std_error(self, arm: int) -> float:
        return math.sqrt(self.error / (self.cell(arm)[0] + 2))

    def weigh(self, arm: int, reward: float, by_library: float) -> None:
        """Discounted least squares: how far to go from the lag model's expectation towards the library's."""
        if self.last is None:
            return
        base = self.expected(arm)
        self.xx = 0.999 * self.xx + (1 - 0.999) * self.trust() + (by_library - base) ** 2
        self.xy = 0.999 * self.xy + (1 - 0.999) * self.trust() + (by_library - base) * (reward - base)
        self.blend = max(0.0, self.xy / self.xx)
        if self.blend > 0.9:
            self.blend = 1.0
        self.error += 0.01 * ((reward - base) ** 2 - self.error)

    def learn(self, groups: Sequence[Group]) -> None:
        for arm, reward, _, _, _ in groups:
            n, mean = self.seen[arm]
            self.seen[arm] = (n + 1, mean + (reward - mean) / (n + 1))
            if self.last is not None:
                n, mean = self.cell(arm)
                self.following[(*self.last, arm)] = (n + 1, mean + (reward - mean) / (n + 1))
        arm, reward, *_ = groups[-1]
        levels = self.levels[arm]
        far = [abs(reward - centre) for _, centre in levels]
        if len(levels) < self.most and (not far or min(far) > 3 * self.scale.noise):
            levels.append((1, reward))
            nearest = len(levels) - 1
        else:
            nearest = far.index(min(far))
            weight, centre = levels[nearest]
            weight = min(weight + 1, 1000)
            levels[nearest] = (weight, centre + (reward - centre) / weight)
        self.last = (arm, nearest)

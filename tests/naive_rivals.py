"""Slow twins of the policies that forget, recall or expect a period: lists, written from the formulas.

See `tests.naive` for what a twin is. They share no code with the package.
"""

import math
from collections.abc import Sequence

import numpy as np

from tests.naive import Draws, Floats, first_best
from tests.naive_noise import NaiveNoise


class Recorder:
    """Everything that happened, round by round; rewards are never late."""

    def __init__(self, arms: int, groups: int, noise: float) -> None:
        self.arms, self.groups = arms, groups
        self.noise = NaiveNoise(noise, groups, 0.0)
        self.round = 0
        self.asked = [0] * arms
        self.history: list[tuple[int, int, float]] = []  # round, arm and mean reward
        self.by_arm: list[list[tuple[int, float]]] = [[] for _ in range(arms)]  # round and mean reward
        self.low, self.high = math.inf, -math.inf  # of all rewards

    def untried_or_best(self, available: Sequence[int], values: dict[int, float]) -> int:
        """Return the arm without a value that was asked for longest ago, else the one with the highest value."""
        untried = [arm for arm in available if arm not in values]
        if untried:
            return min(untried, key=lambda arm: (self.asked[arm], arm))
        return first_best(available, values)

    def played(self, arm: int) -> list[int]:
        self.asked[arm] = self.round
        return [arm] * self.groups

    def record(self, arms: Sequence[int], rewards: Sequence[float]) -> float:
        """Learn noise and range, and return the mean reward."""
        self.low, self.high = min(self.low, *rewards), max(self.high, *rewards)
        self.noise.expected = 0.1 * (self.high - self.low)
        self.noise.see(arms[0], rewards)
        mean = sum(rewards) / self.groups
        self.history.append((self.round, arms[0], mean))
        self.by_arm[arms[0]].append((self.round, mean))
        return mean

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        self.record(arms, rewards)


class NaiveDiscountedThompson(Recorder):
    """Raj & Kalyani (2017) with the Gaussian posterior of Qi, Wang & Zhu (2023), written out over the whole history."""

    def __init__(self, draws: Draws, arms: int, groups: int, discount: float, exploration: float, noise: float) -> None:
        super().__init__(arms, groups, noise)
        self.draws, self.discount, self.exploration = draws, discount, exploration

    def plain(self, arm: int) -> tuple[float, float]:
        """Return the discounted weight of an arm's rewards, and their mean; the newest round of all has weight 1."""
        rounds, rewards = np.array(self.by_arm[arm]).reshape(-1, 2).T
        weights = self.discount ** (self.round - 1 - rounds)
        return weights.sum(), weights @ rewards / weights.sum() if len(rounds) else 0.0

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        self.round += 1
        values = {}
        for arm in available:
            weight, mean = self.plain(arm)
            if weight > 0:
                values[arm] = mean + self.exploration * self.noise.of_mean() / math.sqrt(weight) * self.draws.normal()
        return self.played(self.untried_or_best(available, values))


class NaiveSlidingWindowThompson(Recorder):
    """Trovo et al. (2020) with the Gaussian posterior of Fiandri et al. (2024): the window is searched in every round."""

    def __init__(self, draws: Draws, arms: int, groups: int, window: int, exploration: float, noise: float) -> None:
        super().__init__(arms, groups, noise)
        self.draws, self.window, self.exploration = draws, window, exploration

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        self.round += 1
        values = {}
        for arm in available:
            rewards = [reward for _, a, reward in self.history[-self.window :] if a == arm]
            if rewards:
                scale = self.exploration * self.noise.of_mean() / math.sqrt(len(rewards))
                values[arm] = math.fsum(rewards) / len(rewards) + scale * self.draws.normal()
        return self.played(self.untried_or_best(available, values))


class NaiveRecurrentBandit(Recorder):
    """Re et al. (2021): concepts are lists of rewards; one library for all arms, or one for each."""

    def __init__(
        self,
        draws: Draws,
        arms: int,
        groups: int,
        warm_up: int,
        drift: float,
        threshold: float,
        margin: float,
        confidence: float,
        forced: float,
        exploration: float,
        together: bool,
        concepts: int,
        noise: float,
    ) -> None:
        super().__init__(arms, groups, noise)
        self.warm_up, self.drift, self.threshold = warm_up, drift, threshold
        self.margin, self.confidence, self.forced, self.exploration = margin, confidence, forced, exploration
        self.most = concepts
        self.parts = [list(range(arms))] if together else [[arm] for arm in range(arms)]
        self.rewards: list[list[float]] = [[] for _ in range(arms)]
        self.tails: list[dict[int, list[float]]] = [{1: [], -1: []} for _ in range(arms)]
        self.walks = [{1: 0.0, -1: 0.0} for _ in range(arms)]
        self.library: list[list[dict[int, list[float]]]] = [[] for _ in self.parts]
        self.recalled: list[dict[int, list[float]] | None] = [None for _ in self.parts]

    def part(self, arm: int) -> int:
        return next(i for i, part in enumerate(self.parts) if arm in part)

    def known(self, arm: int) -> list[float]:
        past = self.recalled[self.part(arm)]
        return self.rewards[arm] + (past[arm] if past is not None else [])

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        self.round += 1
        if self.forced > 0:
            phase = (self.round - 1) % math.floor(len(available) / self.forced)
            if phase < len(available):
                return self.played(available[phase])
        every = sum(len(self.known(arm)) for arm in range(self.arms))
        scale = self.exploration * self.noise.of_mean()
        values = {
            arm: sum(known) / len(known) + scale * math.sqrt(math.log(every) / len(known))
            for arm in available
            if (known := self.known(arm))
        }
        return self.played(self.untried_or_best(available, values))

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        arm, reward = arms[0], self.record(arms, rewards)
        noise, known = self.noise.of_mean(), self.known(arm)
        self.rewards[arm].append(reward)
        ended = None
        for sign, tail in self.tails[arm].items():
            number = len(known) - len(tail)
            if number < self.warm_up:
                continue
            gap = reward - (sum(known) - sum(tail)) / number
            self.walks[arm][sign] = max(0.0, self.walks[arm][sign] + sign * gap - self.drift * noise)
            if self.walks[arm][sign] == 0:
                tail.clear()
                continue
            tail.append(reward)
            if noise > 0 and self.walks[arm][sign] >= self.threshold * noise:
                ended = [*tail]
        if ended is not None:
            self.store(arm, ended)
        if self.recalled[self.part(arm)] is None:
            self.recall(arm)

    def store(self, arm: int, tail: list[float]) -> None:
        number = self.part(arm)
        part, library = self.parts[number], self.library[number]
        self.rewards[arm] = self.rewards[arm][: len(self.rewards[arm]) - len(tail)]
        concept = self.recalled[number]
        if concept is None and max(len(self.rewards[other]) for other in part) >= self.warm_up:
            concept = {other: [] for other in part}
            if len(library) < self.most:
                library.append(concept)
            else:
                sizes = [sum(map(len, each.values())) for each in library]
                library[sizes.index(min(sizes))] = concept
        for other in part:
            if concept is not None:
                concept[other] = concept[other] + self.rewards[other]
            self.rewards[other] = []
            self.tails[other] = {1: [], -1: []}
            self.walks[other] = {1: 0.0, -1: 0.0}
        self.rewards[arm] = tail
        self.recalled[number] = None

    def recall(self, arm: int) -> None:
        number = self.part(arm)
        noise, span = self.noise.of_mean(), self.high - self.low
        best, favourites = math.inf, set()
        for concept in self.library[number]:
            if not concept[arm]:
                continue
            misfits = []
            for other in self.parts[number]:
                new, old = self.rewards[other], concept[other]
                if not new or not old:
                    continue
                gap = abs(sum(new) / len(new) - sum(old) / len(old))
                width = self.confidence * noise * math.sqrt(1 / len(new) + 1 / len(old))
                equal = gap <= width and (other != arm or gap + width <= self.margin * span)
                misfits.append((gap / width if width else 0.0) ** 2 if equal else math.inf)
            if sum(misfits) < math.inf:
                means = {other: sum(old) / len(old) for other, old in concept.items() if old}
                favourites.add(first_best(means, means))
            if sum(misfits) / len(misfits) < best:
                best, self.recalled[number] = sum(misfits) / len(misfits), concept
        if len(favourites) > 1:
            self.recalled[number] = None


class NaiveLatentAutoregressive:
    """Trella et al. (2024): one ridge regression per arm on the last arms and rewards, solved again in every round."""

    def __init__(
        self, draws: Draws, arms: int, groups: int, lags: int, exploration: float, regularization: float
    ) -> None:
        self.arms, self.groups, self.lags, self.exploration = arms, groups, lags, exploration
        width = 1 + 2 * lags * arms
        self.matrices = [regularization * np.eye(width) for _ in range(arms)]
        self.targets = [np.zeros(width) for _ in range(arms)]
        self.past: list[tuple[int, float]] = []

    def features(self) -> Floats:
        blocks = np.zeros((self.lags, 2, self.arms))
        for block, (arm, reward) in zip(blocks, reversed(self.past[-self.lags :]), strict=False):
            block[:, arm] = (1.0, reward)
        return np.concatenate([[1.0], blocks.ravel()])

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        self.context = self.features()
        indices = {}
        for arm in available:
            weights, spread = np.linalg.solve(self.matrices[arm], np.stack([self.targets[arm], self.context], axis=1)).T
            indices[arm] = weights @ self.context + self.exploration * math.sqrt(spread @ self.context)
        return [first_best(available, indices)] * self.groups

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        arm, reward = arms[0], sum(rewards) / self.groups
        self.matrices[arm] += self.groups * np.outer(self.context, self.context)
        self.targets[arm] += self.groups * reward * self.context
        self.past.append((arm, reward))


class NaivePeriodicThompson(NaiveDiscountedThompson):
    """A period by the rule of YIN, from all pairs of rewards of one arm; the phases' means from lists."""

    def __init__(
        self,
        draws: Draws,
        arms: int,
        groups: int,
        longest: int,
        dip: float,
        discount: float,
        exploration: float,
        noise: float,
    ) -> None:
        super().__init__(draws, arms, groups, discount, exploration, noise)
        self.longest, self.dip = longest, dip
        self.period = 0
        self.errors = (0.0, 0.0)
        self.phases: dict[tuple[int, int], list[float]] = {}
        self.gaps = [(0, 0.0)] * (longest + 1)  # per lag: number and sum of squared differences of one arm's rewards

    def phase(self, arm: int, now: int) -> tuple[float, float]:
        """Return the weight of an arm's rewards in the phase of a round and around it, and their mean."""
        rewards: list[tuple[float, float]] = []
        for distance in range(self.period // 8 + 1):
            if sum(w for w, _ in rewards) >= 3:
                break
            for place in [now + distance, now - distance][: 1 + (distance > 0)]:
                past = self.phases.get((arm, place % self.period), [])
                rewards += [(0.9**age, reward) for age, reward in enumerate(reversed(past))]
        weight = sum(w for w, _ in rewards)
        return weight, sum(w * reward for w, reward in rewards) / weight if weight else 0.0

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        self.round += 1
        values = {}
        for arm in available:
            weight = 0.0
            if self.period and self.errors[1] <= self.errors[0]:
                weight, mean = self.phase(arm, self.round)
            if not weight:
                weight, mean = self.plain(arm)
            if weight:
                values[arm] = mean + self.exploration * self.noise.of_mean() / math.sqrt(weight) * self.draws.normal()
        return self.played(self.untried_or_best(available, values))

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        arm, before = arms[0], self.plain(arms[0])
        reward = self.record(arms, rewards)
        if self.period:
            predicted = (before, self.phase(arm, self.round))
            if all(weight > 0 for weight, _ in predicted):
                both = zip(self.errors, predicted, strict=True)
                plain, phase = (error + 0.02 * ((reward - mean) ** 2 - error) for error, (_, mean) in both)
                self.errors = (plain, phase)
            self.phases.setdefault((arm, self.round % self.period), []).append(reward)
        for lag in range(1, min(self.longest, self.round - 1) + 1):
            _, other, earlier = self.history[-1 - lag]
            if other == arm:
                number, total = self.gaps[lag]
                self.gaps[lag] = (number + 1, total + (reward - earlier) ** 2)
        if self.round % 32 == 0 and (period := self.find()) != self.period:
            self.period, self.phases, self.errors = period, {}, (0.0, 0.0)
            if period:
                for t, a, past in self.history[-4 * self.longest :]:
                    self.phases.setdefault((a, t % period), []).append(past)

    def find(self) -> int:
        means = {lag: total / number for lag, (number, total) in enumerate(self.gaps) if number >= 16}
        least = min(means.values(), default=0.0)
        shorter: list[float] = []
        for lag, mean in means.items():
            shorter.append(mean)
            if len(shorter) == 1 or 2 * lag > self.round:
                continue
            error = 2 * mean * math.sqrt(2 / self.gaps[lag][0])
            if mean - least + error <= self.dip * (sum(shorter[:-1]) / len(shorter[:-1]) - least):
                return min((other for other in means if lag <= other <= lag + lag // 4), key=lambda one: means[one])
        return 0

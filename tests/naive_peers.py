"""Slow twins of the policies that watch for changes: lists and dictionaries, written from the formulas.

See `tests.naive` for what a twin is. They share no code with the package.
"""

import math
from collections.abc import Sequence
from typing import TypedDict

from tests.naive import Draws, Floats, first_best
from tests.naive_noise import NaiveNoise


class Hypothesis(TypedDict):
    """When the last change was is all that matters; these are the consequences."""

    weight: float
    rewards: list[tuple[int, float]]  # number and sum of the rewards since, per arm
    changes: float


class NaiveChangePointThompson:
    """Mellor & Shapiro (2013), Global-STS, over a limited number of run lengths (Adams & MacKay 2007)."""

    def __init__(
        self,
        draws: Draws,
        arms: int,
        groups: int,
        hazard: float,
        hypotheses: int,
        noise: float,
        prior_mean: float,
        prior_sd: float,
    ) -> None:
        self.draws, self.arms, self.groups, self.most = draws, arms, groups, hypotheses
        self.given_hazard = hazard
        self.prior_mean, self.prior_sd = prior_mean, prior_sd
        self.noise = NaiveNoise(noise, groups, prior_sd)
        self.rounds = 0
        self.known: list[Hypothesis] = [{"weight": 1.0, "rewards": [(0, 0.0)] * arms, "changes": 0.0}]

    def posterior(self, hypothesis: Hypothesis, arm: int) -> tuple[float, float]:
        """Return mean and variance of an arm's expected reward, by the conjugate formulas."""
        count, total = hypothesis["rewards"][arm]
        noise = self.noise.of_mean()
        precision = 1 / self.prior_sd**2 + count / noise**2
        return (self.prior_mean / self.prior_sd**2 + total / noise**2) / precision, 1 / precision

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        point, drawn = self.draws.uniform(), self.known[-1]
        for hypothesis in self.known:
            if point < hypothesis["weight"]:
                drawn = hypothesis
                break
            point -= hypothesis["weight"]
        values = {}
        for arm in available:
            mean, variance = self.posterior(drawn, arm)
            values[arm] = mean + math.sqrt(variance) * self.draws.normal()
        return [first_best(available, values)] * self.groups

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        arm, mean = arms[0], sum(rewards) / self.groups
        self.noise.see(arm, rewards)
        # predictive density of the mean reward, up to a factor that all hypotheses share
        for hypothesis in self.known:
            if hypothesis["weight"] < 1e-100:
                hypothesis["weight"] = 0.0
        alive = [hypothesis for hypothesis in self.known if hypothesis["weight"] > 0]
        predicted = [self.posterior(hypothesis, arm) for hypothesis in alive]
        noise = self.noise.of_mean()
        spreads = [variance + noise**2 for _, variance in predicted]
        misfits = [(mean - expected) ** 2 / spread for (expected, _), spread in zip(predicted, spreads, strict=True)]
        for hypothesis, spread, misfit in zip(alive, spreads, misfits, strict=True):
            fit = math.exp(-(misfit - min(misfits)) / 2) / math.sqrt(spread / noise**2)
            hypothesis["weight"] *= fit
            count, total = hypothesis["rewards"][arm]
            hypothesis["rewards"] = [*hypothesis["rewards"]]
            hypothesis["rewards"][arm] = (count + 1, total + mean)
        # the new hypothesis comes last, or takes the place of the lightest
        place = len(self.known)
        if place == self.most:
            weights = [hypothesis["weight"] for hypothesis in self.known]
            place = weights.index(min(weights))
        others = [hypothesis for i, hypothesis in enumerate(self.known) if i != place]
        everything = sum(hypothesis["weight"] for hypothesis in others)
        changes = sum(hypothesis["weight"] * hypothesis["changes"] for hypothesis in others) / everything
        self.rounds += 1
        hazard = self.given_hazard or (1 + changes) / (100 + self.rounds)
        for hypothesis in others:
            hypothesis["weight"] *= (1 - hazard) / everything
        new: Hypothesis = {"weight": hazard, "rewards": [(0, 0.0)] * self.arms, "changes": changes + 1}
        self.known[place : place + 1] = [new]


class Restarting:
    """Mean rewards of every arm's rounds since its last restart, upper confidence bounds on them, and turns."""

    def __init__(self, arms: int, groups: int, exploration: float, noise: float, prior_sd: float) -> None:
        self.arms, self.groups, self.exploration = arms, groups, exploration
        self.noise = NaiveNoise(noise, groups, prior_sd)
        self.rewards: list[list[float]] = [[] for _ in range(arms)]
        self.rounds = 0

    def best(self, available: Sequence[int]) -> int:
        """Return the first available arm without rewards, or the one with the highest index (the lowest of equals)."""
        for arm in available:
            if not self.rewards[arm]:
                return arm
        every = sum(len(rewards) for rewards in self.rewards)
        indices = {
            arm: sum(self.rewards[arm]) / len(self.rewards[arm])
            + self.exploration * self.noise.of_mean() * math.sqrt(math.log(every) / len(self.rewards[arm]))
            for arm in available
        }
        return first_best(available, indices)

    def turn_or_best(self, forced: float, available: Sequence[int]) -> int:
        """Return the arm whose turn it is (every arms / forced rounds, all of them one after the other), else the best."""
        if forced > 0:
            phase = self.rounds % math.floor(len(available) / forced)
            if phase < len(available):
                return available[phase]
        return self.best(available)

    def restart(self) -> None:
        self.rewards = [[] for _ in range(self.arms)]
        self.rounds = 0


class NaiveGLRUCB(Restarting):
    """Besson, Kaufmann, Maillard & Seznec (2022) with global restarts; the test has all rewards, but tries some splits only."""

    def __init__(
        self,
        draws: Draws,
        arms: int,
        groups: int,
        risk: float,
        forced: float,
        exploration: float,
        splits: int,
        noise: float,
        prior_sd: float,
    ) -> None:
        super().__init__(arms, groups, exploration, noise, prior_sd)
        self.risk, self.forced, self.most = risk, forced, splits
        self.splits: list[list[int]] = [[] for _ in range(arms)]

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        return [self.turn_or_best(self.forced, available)] * self.groups

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        arm = arms[0]
        self.noise.see(arm, rewards)
        if seen := len(self.rewards[arm]):
            splits = self.splits[arm]
            if len(splits) == self.most:
                # the split whose neighbours are nearest to each other, relative to the age of the older one
                ends = [0, *splits]
                closeness = [(ends[i + 2] - ends[i]) / (seen - ends[i]) for i in range(len(splits) - 1)]
                del splits[closeness.index(min(closeness))]
            splits.append(seen)
        self.rewards[arm].append(sum(rewards) / self.groups)
        self.rounds += 1
        if any(self.differs(self.rewards[arm], split) for split in self.splits[arm]):
            self.restart()
            self.splits = [[] for _ in range(self.arms)]

    def differs(self, rewards: list[float], split: int) -> bool:
        n = len(rewards)
        gap = sum(rewards[:split]) / split - sum(rewards[split:]) / (n - split)
        statistic = split * (n - split) / n * gap**2 / (2 * self.noise.of_mean() ** 2)
        return statistic >= math.log(3 * n**1.5 / self.risk)


class NaiveCUSUMUCB(Restarting):
    """Liu, Lee & Shroff (2018)."""

    def __init__(
        self,
        draws: Draws,
        arms: int,
        groups: int,
        warm_up: int,
        drift: float,
        threshold: float,
        forced: float,
        exploration: float,
        together: bool,
        noise: float,
        prior_sd: float,
    ) -> None:
        super().__init__(arms, groups, exploration, noise, prior_sd)
        self.draws, self.warm_up, self.drift, self.threshold = draws, warm_up, drift, threshold
        self.forced, self.together = forced, together
        self.walks = [(0.0, 0.0)] * arms

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        if self.draws.uniform() < self.forced:
            return [available[self.draws.below(len(available))]] * self.groups
        return [self.best(available)] * self.groups

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        arm = arms[0]
        self.noise.see(arm, rewards)
        reward, noise = sum(rewards) / self.groups, self.noise.of_mean()
        self.rewards[arm].append(reward)
        if len(self.rewards[arm]) <= self.warm_up:
            return
        gap = reward - sum(self.rewards[arm][: self.warm_up]) / self.warm_up
        above, under = self.walks[arm]
        self.walks[arm] = (max(0.0, above + gap - self.drift * noise), max(0.0, under - gap - self.drift * noise))
        if max(self.walks[arm]) >= self.threshold * noise:
            for other in range(self.arms) if self.together else [arm]:
                self.rewards[other] = []
                self.walks[other] = (0.0, 0.0)


class NaiveMonitoredUCB(Restarting):
    """Cao, Wen, Kveton & Xie (2019)."""

    def __init__(
        self,
        draws: Draws,
        arms: int,
        groups: int,
        window: int,
        threshold: float,
        forced: float,
        exploration: float,
        noise: float,
        prior_sd: float,
    ) -> None:
        super().__init__(arms, groups, exploration, noise, prior_sd)
        self.window, self.threshold, self.forced = window, threshold, forced

    def choose(self, context: Floats, available: Sequence[int]) -> list[int]:
        return [self.turn_or_best(self.forced, available)] * self.groups

    def learn(self, arms: Sequence[int], rewards: Sequence[float]) -> None:
        arm = arms[0]
        self.noise.see(arm, rewards)
        self.rounds += 1
        self.rewards[arm].append(sum(rewards) / self.groups)
        recent, half = self.rewards[arm][-self.window :], self.window // 2
        limit = self.threshold * self.noise.of_mean() * math.sqrt(self.window)
        if len(recent) == self.window and abs(sum(recent[:half]) - sum(recent[half:])) > limit:
            self.restart()

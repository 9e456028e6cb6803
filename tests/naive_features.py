"""Observed features in the slow twin of StateLibrary: every reward that the regressions use is kept. See `tests.naive_library`."""

import math
from collections.abc import Sequence

import numpy as np

from tests.naive import Floats
from tests.naive_particles import Particle, Scale, Seen


class Visits:
    """The rewards of one arm that were attributed to one state, with their features: what a column of zeros and ones would stand for."""

    def __init__(self, mark: object, covariates: int) -> None:
        self.mark = mark
        self.rows: list[Floats] = []
        self.rewards: list[float] = []
        self.moments, self.products = np.zeros((covariates, covariates)), np.zeros(covariates)

    def add(self, x: Floats, reward: float) -> None:
        self.rows.append(x)
        self.rewards.append(reward)
        features, rewards = np.array(self.rows), np.array(self.rewards)
        far = features - features.mean(axis=0)
        self.moments, self.products = far.T @ far, far.T @ (rewards - rewards.mean())


class Slopes:
    """The effect of every feature on every arm: ridge regressions within the states, with a prior that is learned from them."""

    def __init__(self, arms: int, covariates: int, scale: Scale) -> None:
        self.arms, self.covariates, self.scale = arms, covariates, scale
        self.seen: list[Floats] = []
        self.average, self.variance = np.zeros(covariates), np.ones(covariates)
        self.priors = [0.02] * covariates
        self.slopes = self.told = np.zeros((arms, covariates))
        self.variances = np.zeros((arms, covariates, covariates))  # of the slopes, in squared noise
        self.visits: list[list[Visits]] = [[] for _ in range(arms)]
        self.latest: dict[tuple[int, int], Visits] = {}  # by the place of a state and the arm
        self.pairs = self.ties = self.retold = 0

    def see(self, x: Floats) -> None:
        """Average the features of all rounds, with their variances; 1 for a feature that has not varied."""
        self.seen.append(x)
        seen = np.array(self.seen)
        self.average = seen.mean(axis=0)
        self.variance = np.where(seen.min(axis=0) < seen.max(axis=0), seen.var(axis=0), 1.0)

    def effects(self, x: Floats) -> list[float]:
        """Return what features add to the reward of every arm."""
        if self.covariates == 0:
            return [0.0] * self.arms
        return [float(slopes @ (x - self.average)) for slopes in self.slopes]

    def without(self, seen: Seen) -> Seen:
        """Return a round as it would have been with average features."""
        if self.covariates == 0:
            return seen
        effects = self.effects(seen.x)
        return seen._replace(
            groups=[
                group._replace(mean=group.mean - effects[group.arm], effect=effects[group.arm]) for group in seen.groups
            ]
        )

    def std_error(self, arm: int, x: Floats, best: Particle) -> float:
        """Return the variance of an arm's effect, in squared noise, around the features of its rewards in the present state.

        Of an arm without rewards all features that have varied are in doubt, as much as the priors say; with few, more than the priors,
        which other arms have taught.
        """
        if self.covariates == 0:
            return 0.0
        varied = [j for j in range(self.covariates) if len({float(row[j]) for row in self.seen}) > 1]
        here = self.latest.get((best.here, arm)) if self.visits[arm] else None
        known = here is not None and here.mark is best.now.mark
        far = x - (np.mean(here.rows, axis=0) if known and here is not None else self.average)
        learned = sum(len(cell.rows) for cell in self.visits[arm])
        effect = 0.2 * (self.scale.high - self.scale.low) / self.scale.noise
        look = effect * effect / (learned + 1) / self.covariates
        more = sum(float(far[j]) ** 2 * look / float(self.variance[j]) for j in varied)
        if not self.visits[arm]:
            return more + sum(float(far[j]) ** 2 * self.priors[j] / float(self.variance[j]) for j in varied)
        return max(more + float(far @ self.variances[arm] @ far), 0.0)

    def bounded(self, x: Floats) -> Floats:
        """Return features, those that are absurd as far from their average as they count: ten standard deviations."""
        if len(self.seen) < 30:
            return x
        far = [
            10 * math.sqrt(self.variance[j]) if len({float(row[j]) for row in self.seen}) > 1 else np.inf
            for j in range(self.covariates)
        ]
        found: Floats = np.clip(x, self.average - np.array(far), self.average + np.array(far))
        return found

    def difference(self, arm: int, difference: float, far: Floats, once: bool) -> float:
        """Return a difference of rewards without what features explain, made as large as noise alone would be.

        Differences of a few values, as 5 % of ties one round apart show, are left as they are.
        """
        if self.covariates == 0:
            return difference
        self.pairs += once
        self.ties += once and difference == 0
        if self.ties > 0.05 * self.pairs:
            return difference
        left = 1 - float(far @ self.variances[arm] @ far) / 2
        return (difference - float(self.slopes[arm] @ far)) / math.sqrt(max(left, 0.1))

    # Learning

    def learn(self, history: Sequence[Seen], best: Particle) -> None:
        """Learn the round of eight rounds ago, in the state that it had by the present belief; every 16 rounds learn the priors."""
        if self.covariates == 0 or len(history) < 9:
            return
        then = history[-9]
        k = best.here if then.number >= best.changed else best.before(then.number)
        if k is not None:
            for arm, reward, _, _, _ in then.groups:
                self.regress(arm, reward, then.x, k, best.library[k].mark)
        if len(history) % 16 == 0:
            self.learn_priors()

    def regress(self, arm: int, reward: float, x: Floats, k: int, mark: object) -> None:
        visits = self.latest.get((k, arm))
        if visits is None or visits.mark is not mark:
            visits = self.latest[k, arm] = Visits(mark, self.covariates)
            self.visits[arm].append(visits)
        visits.add(x, reward)
        self.solve(arm)

    def solve(self, arm: int) -> None:
        d = self.covariates
        moments = sum((visits.moments for visits in self.visits[arm]), np.zeros((d, d)))
        products = sum((visits.products for visits in self.visits[arm]), np.zeros(d))
        ridge = np.diag([self.variance[j] / self.priors[j] for j in range(d)])
        self.variances[arm] = np.linalg.inv(moments + ridge)
        self.slopes = self.slopes.copy()
        self.slopes[arm] = np.linalg.solve(moments + ridge, products)

    def learn_priors(self) -> None:
        """One step of expectation-maximisation: the mean square of every feature's effects, where 0.3 arms have what is expected.

        Arms without rewards do not count.
        """
        noise, arms = self.scale.noise, [arm for arm in range(self.arms) if self.visits[arm]]
        expected = 0.0325 * (self.scale.high - self.scale.low) / noise
        for j in range(self.covariates):
            squares = [(self.slopes[arm, j] / noise) ** 2 + self.variances[arm, j, j] for arm in arms]
            self.priors[j] = (0.3 * expected**2 + self.variance[j] * sum(squares)) / (0.3 + len(arms))
        for arm in arms:
            self.solve(arm)

    def outdated(self, rounds: int) -> bool:
        """Return whether effects have changed by half the noise since all was learned with them, and the rounds have doubled."""
        if self.covariates == 0 or rounds < 2 * max(self.retold, 16):
            return False
        total, rewards = 0.0, 0
        for arm in range(self.arms):
            number = sum(len(visits.rows) for visits in self.visits[arm])
            rewards += number
            for j in range(self.covariates):
                total += number * self.variance[j] * (self.slopes[arm, j] - self.told[arm, j]) ** 2
        if total <= rewards * (0.5 * self.scale.noise) ** 2:
            return False
        self.told, self.retold = self.slopes, rounds
        return True

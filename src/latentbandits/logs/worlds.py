"""Worlds that are as a log was, by each hypothesis: regimes, drift, changes, or nothing that changes.

Every draw is another model that the log leaves open, so what varies from draw to draw is what is not known.
"""

from dataclasses import dataclass, field

import numpy as np

from latentbandits.compiled import fast
from latentbandits.logs import hmm
from latentbandits.logs.emissions import mixture_std
from latentbandits.protocols import Realisation, Truth
from latentbandits.random import Purpose, stream
from latentbandits.worlds.hidden_markov import walk

ALIKE = 1.25  # the noise of arms that differ by no more is one noise, for the limit
Chain = tuple[np.ndarray, np.ndarray, np.ndarray]  # transition, means and start: what an oracle is given
Path = tuple[np.ndarray, np.ndarray, Chain | None]  # states, means and the chain, if there is one


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FittedWorld:
    """What all fitted worlds have in common: rewards around means.

    Attributes
    ----------
    noise : array (arms,), standard deviation of a reward of every arm
    binary : whether rewards are 0 and 1
    components : array (components, 3), see `latentbandits.logs.hmm.Model`; empty for normal noise
    ar_coef : share of the noise that is left in the next round
    """

    noise: np.ndarray
    binary: bool = False
    components: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    ar_coef: float = 0.0

    @property
    def arms(self) -> int:
        """Number of arms."""
        return len(self.noise)

    def path(self, horizon: int, seed: int, draw: int, repeat: int) -> Path:
        """Return states (rounds,), means (rounds, arms) and what an oracle is given, None if nothing."""
        raise NotImplementedError

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return one realisation; see `latentbandits.protocols.World`."""
        states, means, chain = self.path(horizon, seed, draw, repeat)
        truth = None
        plain = len(self.components) == 0 and self.ar_coef == 0.0
        if chain is not None and plain and self.noise.max() <= ALIKE * self.noise.min():
            deviation = 1.0 if self.binary else float(self.noise.mean())
            truth = Truth(*chain, np.full(groups, deviation), "bernoulli" if self.binary else "gaussian")
        rewards = self.sample_rewards(means, groups, seed, draw, repeat)
        return Realisation(means, rewards, np.zeros((horizon, 0)), states, truth)

    def sample_rewards(self, means: np.ndarray, groups: int, seed: int, draw: int, repeat: int) -> np.ndarray:
        """Return rewards (rounds, groups, arms) around means (rounds, arms); the noise of a group is the same for all arms of a round."""
        size = (len(means), groups)
        random = np.random.default_rng(stream(seed, Purpose.NOISE, draw, repeat, groups))
        if self.binary:
            chance = random.random(size)[:, :, None]
            return np.asarray(chance < np.clip(means, 0.0, 1.0)[:, None, :], dtype=float)
        errors = random.standard_normal(size)
        if self.ar_coef:
            fast(wander)(errors, self.ar_coef)
        if len(self.components):
            weight, centre, width = self.components.T
            shares = np.random.default_rng(stream(seed, Purpose.SHAPE, draw, repeat, groups)).random(size)
            component = np.searchsorted(np.cumsum(weight)[:-1], shares)
            mean = (weight * centre).sum()
            errors = (centre[component] + width[component] * errors - mean) / mixture_std(self.components)
        return np.asarray(means[:, None, :] + self.noise * errors[:, :, None])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FittedRegimes(FittedWorld):
    """Regimes: a chain of hidden states. Without states that differ, a world in which nothing changes.

    Attributes
    ----------
    means : array (samples, states, arms)
    exit_prob, entry_prob : arrays (samples, states)
    """

    means: np.ndarray
    exit_prob: np.ndarray
    entry_prob: np.ndarray

    def __repr__(self) -> str:
        samples, states, arms = self.means.shape
        return f"<FittedRegimes: {states} states, {arms} arms, {samples} samples>"

    def path(self, horizon: int, seed: int, draw: int, repeat: int) -> Path:
        """Return states, means and the chain."""
        sample = int(np.random.default_rng(stream(seed, Purpose.WORLD, draw)).integers(len(self.means)))
        matrix = np.ascontiguousarray(self.means[sample])
        exit_prob = np.minimum(self.exit_prob[sample], 0.9)
        transition = hmm.transition_matrix(exit_prob, self.entry_prob[sample])
        start = hmm.stationary_probs(exit_prob, self.entry_prob[sample])
        states, means = np.empty(horizon, np.int64), np.empty((horizon, self.arms))
        fast(walk)(transition, start, matrix, 0.0, stream(seed, Purpose.PATH, draw, repeat), states, means)
        return states, means, (transition, matrix, start)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FittedLevels(FittedWorld):
    """Means that change without states.

    Attributes
    ----------
    centres, sizes : arrays (arms,), mean and standard deviation of the means
    time : rounds after which a level has changed, or between two changes, on average
    """

    centres: np.ndarray
    sizes: np.ndarray
    time: float

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.arms} arms, {self.time:.0f} rounds>"

    def around_centres(self, steps: np.ndarray) -> np.ndarray:
        """Return means (rounds, arms) that are off the centres by steps."""
        means = self.centres + steps
        return np.asarray(np.clip(means, 0.0, 1.0) if self.binary else means)


class FittedDrift(FittedLevels):
    """Drift: the level of every arm wanders around its mean."""

    def path(self, horizon: int, seed: int, draw: int, repeat: int) -> Path:
        """Return no states, and means that wander."""
        random = np.random.default_rng(stream(seed, Purpose.PATH, draw, repeat))
        levels = random.standard_normal((horizon, self.arms))
        fast(wander)(levels, float(np.exp(-1 / max(self.time, 0.1))))
        return np.full(horizon, -1), self.around_centres(self.sizes * levels), None


def wander(levels: np.ndarray, keep: float) -> None:
    """Turn independent numbers into levels that wander, in place."""
    fresh = np.sqrt(1.0 - keep * keep)
    for t in range(1, len(levels)):
        for arm in range(levels.shape[1]):
            levels[t, arm] = keep * levels[t - 1, arm] + fresh * levels[t, arm]


class FittedChanges(FittedLevels):
    """Abrupt changes: after each of them every arm has a new mean, which never returns."""

    def path(self, horizon: int, seed: int, draw: int, repeat: int) -> Path:
        """Return the number of every round's stretch, and its means."""
        random = np.random.default_rng(stream(seed, Purpose.PATH, draw, repeat))
        stretch = np.cumsum(random.random(horizon) < 1 / self.time)
        fresh = np.random.default_rng(stream(seed, Purpose.MEANS, draw, repeat))
        steps = fresh.standard_normal((int(stretch[-1]) + 1, self.arms)) * self.sizes
        return stretch, self.around_centres(steps[stretch]), None

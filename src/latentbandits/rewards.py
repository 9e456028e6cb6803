"""Distributions of rewards: how they are sampled around expected rewards, and how likely a reward is.

A distribution is a row of `DISTRIBUTIONS`, a function that samples and, if its limit is known, a branch of `log_likelihood`; worlds,
problems and the Bayes filter take it from here.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from latentbandits.compiled import fast, kernel
from latentbandits.random import Purpose, Stream, normal, stream, uniform
from latentbandits.settings import Above, AtLeast, InvalidValueError, Vector, Within

# Revenue: the share of rounds with any; what is paid then has a logarithm with a standard deviation of 1
BUYERS = 0.1
MANY_COUNTS = 1000.0


def sample_gaussian(means: np.ndarray, scales: np.ndarray, random: Stream, rewards: np.ndarray) -> None:
    """Add normal noise to the expected rewards; the arms share it, since only one of them will be seen."""
    for t in range(rewards.shape[0]):
        for group in range(rewards.shape[1]):
            noise = scales[group] * normal(random)
            for arm in range(rewards.shape[2]):
                rewards[t, group, arm] = means[t, arm] + noise


def sample_bernoulli(means: np.ndarray, scales: np.ndarray, random: Stream, rewards: np.ndarray) -> None:  # noqa: ARG001
    """Write 1 with the expected reward as probability, else 0; the arms share one uniform number, since only one of them will be seen."""
    for t in range(rewards.shape[0]):
        for group in range(rewards.shape[1]):
            level = uniform(random)
            for arm in range(rewards.shape[2]):
                rewards[t, group, arm] = 1.0 if level < means[t, arm] else 0.0


def sample_counts(means: np.ndarray, scales: np.ndarray, random: Stream, rewards: np.ndarray) -> None:  # noqa: ARG001
    """Write Poisson numbers: how many arrivals at rate 1 come before the expected reward; the arms share the arrivals.

    Where there would be very many, a rounded normal number is as good.
    """
    for t in range(rewards.shape[0]):
        most, many = 0.0, False
        for arm in range(rewards.shape[2]):
            if means[t, arm] > MANY_COUNTS:
                many = True
            else:
                most = max(most, means[t, arm])
        for group in range(rewards.shape[1]):
            level = normal(random) if many else 0.0
            for arm in range(rewards.shape[2]):
                mean = means[t, arm]
                rewards[t, group, arm] = (
                    max(np.floor(mean + math.sqrt(mean) * level + 0.5), 0.0) if mean > MANY_COUNTS else 0.0
                )
            passed = -math.log(uniform(random))
            while passed < most:
                for arm in range(rewards.shape[2]):
                    rewards[t, group, arm] += 1.0 if passed < means[t, arm] <= MANY_COUNTS else 0.0
                passed -= math.log(uniform(random))


def sample_ratings(means: np.ndarray, scales: np.ndarray, random: Stream, rewards: np.ndarray) -> None:  # noqa: ARG001
    """Write 1 to 5 stars: each star after the first is given with the probability that makes the expected reward the mean."""
    for t in range(rewards.shape[0]):
        for group in range(rewards.shape[1]):
            for arm in range(rewards.shape[2]):
                rewards[t, group, arm] = 1.0
            for _ in range(4):
                level = uniform(random)
                for arm in range(rewards.shape[2]):
                    rewards[t, group, arm] += 1.0 if level < (means[t, arm] - 1.0) / 4.0 else 0.0


def sample_revenue(means: np.ndarray, scales: np.ndarray, random: Stream, rewards: np.ndarray) -> None:  # noqa: ARG001
    """Write 0, or for one round in ten a lognormal amount; the arms share the customer."""
    for t in range(rewards.shape[0]):
        for group in range(rewards.shape[1]):
            buys = uniform(random) < BUYERS
            amount = math.exp(normal(random) - 0.5) / BUYERS
            for arm in range(rewards.shape[2]):
                rewards[t, group, arm] = means[t, arm] * amount if buys else 0.0


class Distribution(NamedTuple):
    """A kind of reward.

    Attributes
    ----------
    sample : fills rewards (rounds, groups, arms), given means (rounds, arms), the scale of each group's noise, and a stream
    summary : what a reward is, in a few words
    noisy : whether it has a standard deviation of its own (`noise`); else the noise follows from the mean
    means : what means must be, None for anything
    variance : the variance of a reward, given its mean and the noise
    span : the range from which means are sampled if none is given
    limit : whether the limit is known, so that worlds give oracles the truth
    """

    sample: Callable[[np.ndarray, np.ndarray, Stream, np.ndarray], None]
    summary: str
    noisy: bool
    means: Above | AtLeast | Within | None
    variance: Callable[[np.ndarray, float], np.ndarray]
    span: tuple[float, float] = (0.0, 1.0)
    limit: bool = False


DISTRIBUTIONS: Mapping[str, Distribution] = {
    "gaussian": Distribution(
        sample_gaussian,
        "numbers with normal noise",
        noisy=True,
        means=None,
        variance=lambda means, noise: np.full_like(means, noise**2),
        limit=True,
    ),
    "bernoulli": Distribution(
        sample_bernoulli,
        "0 and 1, the means are probabilities",
        noisy=False,
        means=Within(0, 1),
        variance=lambda means, _: means * (1 - means),
        limit=True,
    ),
    "counts": Distribution(
        sample_counts,
        "0, 1, 2, ... (Poisson)",
        noisy=False,
        means=AtLeast(0),
        variance=lambda means, _: means * 1.0,
    ),
    "ratings": Distribution(
        sample_ratings,
        "1 to 5 stars",
        noisy=False,
        means=Within(1, 5),
        variance=lambda means, _: (means - 1) * (5 - means) / 4,
        span=(1.0, 5.0),
    ),
    "revenue": Distribution(
        sample_revenue,
        "mostly 0 (nine rounds of ten), else a lognormal amount",
        noisy=False,
        means=AtLeast(0),
        variance=lambda means, _: means**2 * (math.e / BUYERS - 1),
    ),
}
NAMES = tuple(DISTRIBUTIONS)
# Those whose limit is known; they come first, so that a name has the same position in both
FILTERED = tuple(name for name in NAMES if DISTRIBUTIONS[name].limit)
_BERNOULLI = NAMES.index("bernoulli")


@kernel
def log_likelihood(distribution: int, reward: float, mean: float, scale: float) -> float:
    """Return the logarithm of a reward's likelihood, up to a constant; the distribution is its position in `FILTERED`."""
    if distribution == _BERNOULLI:
        chance = mean if reward > 0.5 else 1.0 - mean
        return math.log(chance) if chance > 0 else -np.inf
    away = (reward - mean) / scale
    return -0.5 * away * away


def check_means(owner: str, field: str, means: object, rewards: str) -> None:
    """Refuse means that a distribution cannot have.

    Examples
    --------
    >>> from latentbandits.rewards import check_means
    >>> check_means("Seasons", "means", [[0.2, 1.5]], "bernoulli")
    Traceback (most recent call last):
    latentbandits.settings.InvalidValueError: Seasons: means is [[0.2, 1.5]] but must be finite numbers from 0 to 1 for bernoulli rewards
    """
    rule = DISTRIBUTIONS[rewards].means
    if rule is not None and any(rule.refuses(mean) for mean in np.ravel(np.asarray(means, dtype=float))):
        raise InvalidValueError(owner, field, means, f"finite numbers {rule} for {rewards} rewards")


# The rule of a world's `group_noise`
GROUP_NOISE = Vector(1, each=AtLeast(0))


def group_scales(owner: str, noise: float, group_noise: np.ndarray | None, groups: int) -> np.ndarray:
    """Return the standard deviation of each group's noise.

    Groups share a round's traffic: with U of them each sees 1/U of it, so its mean reward has U times the variance (the paper's
    variance of 2 sigma^2 for two groups). `group_noise` overrides this; a policy with fewer groups has the first ones.
    """
    if group_noise is None:
        return np.full(groups, noise * np.sqrt(groups))
    if len(group_noise) < groups:
        raise InvalidValueError(
            owner, "group_noise", group_noise, f"one standard deviation for each of the {groups} groups"
        )
    return np.array(group_noise[:groups], dtype=np.float64)


def sampled(means: np.ndarray, scales: np.ndarray, rewards: str, seed: int, draw: int, repeat: int) -> np.ndarray:
    """Return the rewards that each group would receive from each arm in each round."""
    made = np.empty((len(means), len(scales), means.shape[1]))
    random = stream(seed, Purpose.NOISE, draw, repeat, len(scales))
    fast(DISTRIBUTIONS[rewards].sample)(means, scales, random, made)
    return made

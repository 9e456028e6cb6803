"""Distributions of rewards: how they are sampled around expected rewards, and how likely a reward is.

A distribution is a row of `DISTRIBUTIONS`, a function that samples and a branch of `log_likelihood`; worlds, problems and the Bayes filter
take it from here.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from latentbandits.compiled import fast, kernel
from latentbandits.random import Purpose, Stream, normal, stream, uniform
from latentbandits.settings import Above, AtLeast, Refusal, Vector, Within


def sample_gaussian(means: np.ndarray, scales: np.ndarray, random: Stream, rewards: np.ndarray) -> None:
    """Add normal noise to the expected rewards; the arms share it, since only one of them will be seen."""
    for t in range(rewards.shape[0]):
        for unit in range(rewards.shape[1]):
            noise = scales[unit] * normal(random)
            for arm in range(rewards.shape[2]):
                rewards[t, unit, arm] = means[t, arm] + noise


def sample_bernoulli(means: np.ndarray, scales: np.ndarray, random: Stream, rewards: np.ndarray) -> None:  # noqa: ARG001
    """Write 1 with the expected reward as probability, else 0; the arms share one uniform number, since only one of them will be seen."""
    for t in range(rewards.shape[0]):
        for unit in range(rewards.shape[1]):
            level = uniform(random)
            for arm in range(rewards.shape[2]):
                rewards[t, unit, arm] = 1.0 if level < means[t, arm] else 0.0


class Distribution(NamedTuple):
    """A kind of reward.

    Attributes
    ----------
    sample : fills rewards (rounds, units, arms), given means (rounds, arms), the scale of each unit's noise, and a stream
    summary : what a reward is, in a few words
    noisy : whether it has a standard deviation of its own (`noise`); else the noise follows from the mean
    means : what means must be, None for anything
    variance : the variance of a reward, given its mean and the noise
    """

    sample: Callable[[np.ndarray, np.ndarray, Stream, np.ndarray], None]
    summary: str
    noisy: bool
    means: Above | AtLeast | Within | None
    variance: Callable[[np.ndarray, float], np.ndarray]


DISTRIBUTIONS: Mapping[str, Distribution] = {
    "gaussian": Distribution(
        sample_gaussian,
        "numbers with normal noise",
        noisy=True,
        means=None,
        variance=lambda means, noise: np.full_like(means, noise**2),
    ),
    "bernoulli": Distribution(
        sample_bernoulli,
        "0 and 1, the means are probabilities",
        noisy=False,
        means=Within(0, 1),
        variance=lambda means, _: means * (1 - means),
    ),
}
NAMES = tuple(DISTRIBUTIONS)
_GAUSSIAN, _BERNOULLI = NAMES.index("gaussian"), NAMES.index("bernoulli")


@kernel
def log_likelihood(distribution: int, reward: float, mean: float, scale: float) -> float:
    """Return the logarithm of a reward's likelihood, up to a constant; the distribution is its position in `NAMES`."""
    if distribution == _BERNOULLI:
        chance = mean if reward > 0.5 else 1.0 - mean
        return math.log(chance) if chance > 0 else -np.inf
    if distribution == _GAUSSIAN:
        away = (reward - mean) / scale
        return -0.5 * away * away
    return math.nan  # a distribution without a branch here has no likelihood, and no limit


def check_means(owner: str, field: str, means: object, rewards: str) -> None:
    """Refuse means that a distribution cannot have.

    Examples
    --------
    >>> from latentbandits.rewards import check_means
    >>> check_means("Seasons", "means", [[0.2, 1.5]], "bernoulli")
    Traceback (most recent call last):
    latentbandits.settings.Refusal: Seasons: means is [[0.2, 1.5]] but must be finite numbers from 0 to 1 for bernoulli rewards
    """
    rule = DISTRIBUTIONS[rewards].means
    if rule is not None and any(rule.refuses(mean) for mean in np.ravel(np.asarray(means, dtype=float))):
        raise Refusal(owner, field, means, f"finite numbers {rule} for {rewards} rewards")


# The rule of a world's `unit_noise`
UNIT_NOISE = Vector(1, each=AtLeast(0))


def unit_scales(owner: str, noise: float, unit_noise: np.ndarray | None, units: int) -> np.ndarray:
    """Return the standard deviation of each unit's noise.

    Units share a round's traffic: with U of them each sees 1/U of it, so its mean reward has U times the variance (the paper's
    variance of 2 sigma^2 for two units). `unit_noise` overrides this; a policy with fewer units has the first ones.
    """
    if unit_noise is None:
        return np.full(units, noise * np.sqrt(units))
    if len(unit_noise) < units:
        raise Refusal(owner, "unit_noise", unit_noise, f"one standard deviation for each of the {units} units")
    return np.array(unit_noise[:units], dtype=np.float64)


def sampled(means: np.ndarray, scales: np.ndarray, rewards: str, seed: int, draw: int, repeat: int) -> np.ndarray:
    """Return the rewards that each unit would receive from each arm in each round."""
    made = np.empty((len(means), len(scales), means.shape[1]))
    random = stream(seed, Purpose.NOISE, draw, repeat, len(scales))
    fast(DISTRIBUTIONS[rewards].sample)(means, scales, random, made)
    return made

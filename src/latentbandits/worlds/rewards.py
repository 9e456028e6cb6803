"""From expected to received rewards: noise that all worlds share, and the streams that they draw from."""

from collections.abc import Sequence

import numpy as np

from latentbandits.compiled import fast
from latentbandits.random import Purpose, Stream, normal, stream, uniform
from latentbandits.settings import AtLeast, between, finite, refuse

KINDS = ("gaussian", "bernoulli")


def draw_rewards(means: np.ndarray, scales: np.ndarray, bernoulli: bool, random: Stream, rewards: np.ndarray) -> None:
    """Fill rewards (rounds, units, arms): one draw per round and unit, shared by the arms, of which only one will be seen."""
    for t in range(rewards.shape[0]):
        for unit in range(rewards.shape[1]):
            if bernoulli:
                level = uniform(random)
                for arm in range(rewards.shape[2]):
                    rewards[t, unit, arm] = 1.0 if level < means[t, arm] else 0.0
            else:
                noise = scales[unit] * normal(random)
                for arm in range(rewards.shape[2]):
                    rewards[t, unit, arm] = means[t, arm] + noise


def unit_scales(world: str, noise: float, unit_noise: Sequence[float] | None, units: int) -> np.ndarray:
    """Return the noise of each unit.

    Units share a round's traffic: with U of them each sees 1/U of it, so its mean reward has U times the variance (the paper's
    variance of 2 sigma^2 for two units). `unit_noise` overrides this; a policy with fewer units has the first ones.
    """
    if unit_noise is None:
        return np.full(units, noise * np.sqrt(units))
    if len(unit_noise) < units:
        raise refuse(world, "unit_noise", tuple(unit_noise), f"one standard deviation for each of the {units} units")
    return np.array(unit_noise[:units], dtype=np.float64)


def check_noise(world: str, kind: str, noise: float, unit_noise: Sequence[float] | None) -> None:
    """Refuse an unknown kind of reward or a noise that is negative or not finite."""
    if kind not in KINDS:
        raise refuse(world, "rewards", kind, "one of " + ", ".join(KINDS))
    between(world, "noise", noise, AtLeast(0))
    if unit_noise is not None:
        if np.ndim(unit_noise) != 1:
            raise refuse(world, "unit_noise", unit_noise, "one standard deviation per unit")
        for scale in unit_noise:
            between(world, "unit_noise", scale, AtLeast(0))


def check_span(world: str, span: Sequence[float], kind: str) -> None:
    """Refuse an interval of means that is none, or that probabilities do not fit into."""
    if np.ndim(span) != 1 or len(span) != 2:
        raise refuse(world, "span", span, "a lowest and a highest mean")
    low, high = (finite(world, "span", end) for end in span)
    if not low < high:
        raise refuse(world, "span", tuple(span), "the lower end first")
    if kind == "bernoulli" and (low < 0 or high > 1):
        raise refuse(world, "span", tuple(span), "probabilities from 0 to 1 for bernoulli rewards")


def received(means: np.ndarray, scales: np.ndarray, kind: str, seed: int, draw: int, repeat: int) -> np.ndarray:
    """Return the rewards that each unit would receive from each arm in each round."""
    rewards = np.empty((len(means), len(scales), means.shape[1]))
    random = stream(seed, Purpose.NOISE, draw, repeat, len(scales))
    fast(draw_rewards)(means, scales, kind == "bernoulli", random, rewards)
    return rewards

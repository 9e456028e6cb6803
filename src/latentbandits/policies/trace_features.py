"""The features of the paper's linear learner: fingerprint, lag and covariates, in this order."""

from typing import Any

import numpy as np

from latentbandits.compiled import kernel
from latentbandits.settings import OneOf

NONE, PAIR, ONE_HOT, SLOPES, CURVES = 0, 1, 2, 3, 4
LAGS = OneOf(("none", "pair", "one-hot", "slopes", "curves"))


@kernel
def sizes(policy: Any) -> tuple[int, int]:
    """Return the number of arms that a probe visits and the number of features."""
    probed = len(policy.probe_set)
    if probed == 0:
        probed = policy.arms
    width = policy.covariates
    if policy.fingerprint:
        width += probed
    if policy.lag == PAIR:
        width += 2
    elif policy.lag == ONE_HOT:
        width += policy.arms + 1
    elif policy.lag == SLOPES:
        width += 2 * policy.arms
    elif policy.lag == CURVES:
        width += 3 * policy.arms
    return probed, width


def blocks(policy: Any) -> list[int]:
    """Return the lengths of the parts of the features that may grow with the number of arms, in order."""
    arms = policy.arms
    lag = {NONE: [], PAIR: [2], ONE_HOT: [arms, 1], SLOPES: [arms] * 2, CURVES: [arms] * 3}[int(policy.lag)]
    return [policy.probed if policy.fingerprint else 0, *lag, policy.covariates]


@kernel
def write_features(policy: Any, memory: Any, context: np.ndarray, features: np.ndarray) -> None:
    """Write fingerprint, lag and covariates, in this order."""
    at = 0
    if policy.fingerprint:
        for place in range(memory.fingerprint.shape[0]):
            features[place] = memory.fingerprint[place]
        at = memory.fingerprint.shape[0]
    arm, reward = memory.scalars[0].lag_arm, memory.scalars[0].lag_reward
    if policy.lag == PAIR:
        features[at] = arm
        features[at + 1] = reward
        at += 2
    elif policy.lag == ONE_HOT:
        for i in range(policy.arms):
            features[at + i] = 0.0
        features[at + arm] = 1.0
        features[at + policy.arms] = reward
        at += policy.arms + 1
    elif policy.lag != NONE:
        term = 1.0
        for _ in range(int(policy.lag) - ONE_HOT + 1):  # powers of the reward: two for slopes, three for curves
            for i in range(policy.arms):
                features[at + i] = 0.0
            features[at + arm] = term
            term *= reward
            at += policy.arms
    for i in range(policy.covariates):
        features[at + i] = context[i]

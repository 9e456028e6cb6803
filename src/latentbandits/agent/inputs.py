"""Checks of what an agent is given: numbers of the right size, all finite."""

from typing import Any

import numpy as np

from latentbandits.protocols import LARGEST_REWARD
from latentbandits.settings import Refusal

_SIZE = f"of size at most {LARGEST_REWARD:g}"


def observed(context: Any, covariates: int) -> np.ndarray:
    """Return the covariates that a policy observes, or refuse."""
    rule = (
        "left out, since the policy observes no covariates"
        if covariates == 0
        else f"a list of one finite number {_SIZE}, the policy's covariate"
        if covariates == 1
        else f"{covariates} finite numbers {_SIZE}, the policy's covariates"
    )
    values = _numbers("context", () if context is None else context, rule)
    if values.shape != (covariates,) or not (np.abs(values) <= LARGEST_REWARD).all():
        raise Refusal("Agent", "context", context, rule)
    return values


def received(rewards: Any, units: int) -> np.ndarray:
    """Return one finite reward per unit, or refuse."""
    rule = f"a finite number {_SIZE}" if units == 1 else f"{units} finite numbers {_SIZE}, one per unit"
    values = _numbers("rewards", rewards, rule)
    values = values.reshape(1) if values.ndim == 0 else values
    if values.shape != (units,) or not (np.abs(values) <= LARGEST_REWARD).all():
        raise Refusal("Agent", "rewards", rewards, rule)
    return values


def _numbers(field: str, given: Any, rule: str) -> np.ndarray:
    """Return an array of numbers, or refuse."""
    try:
        values = np.asarray(given)
        if values.dtype.kind not in "biuf":
            raise TypeError
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise Refusal("Agent", field, given, rule) from None

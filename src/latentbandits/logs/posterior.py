"""How sure the numbers of a fit are: the curvature of the likelihood at its top, and models sampled from what it leaves open.

The slope of the log-likelihood is the expected slope of that of the rewards together with the states (Fisher's identity), so one pass over
the log gives it exactly; central differences of it give the curvature (the observed information).
"""

from typing import NamedTuple

import numpy as np

from latentbandits.logs import chain, emissions, memory
from latentbandits.logs.em import Tick, expected, silent
from latentbandits.logs.model import BINARY, LOUD, MEMORY, SHAPED, Model
from latentbandits.logs.series import Series

STEP = 1e-3  # of a central difference, in units of a parameter's own deviation if nothing else were fitted
LEVEL = 0.95
# Intervals from the curvature are too narrow with many states, since some may be two, or two be one, and where states are hard to tell
WIDER, FROM, UNSURE = 0.025, 3, 8.0


class Samples(NamedTuple):
    """Models sampled from the posterior, in the units of a series.

    Attributes
    ----------
    means : array (samples, states, arms)
    leave, enter : arrays (samples, states)
    noise : array (samples, states)
    """

    means: np.ndarray
    leave: np.ndarray
    enter: np.ndarray
    noise: np.ndarray

    @property
    def dwell(self) -> np.ndarray:
        """Array (samples, states)."""
        return np.stack([chain.dwell(*one) for one in zip(self.leave, self.enter, strict=True)])

    @property
    def shares(self) -> np.ndarray:
        """Array (samples, states)."""
        return np.stack([chain.shares(*one) for one in zip(self.leave, self.enter, strict=True)])


def packed(model: Model) -> np.ndarray:
    """Return the parameters of a model as numbers without limits."""
    means = _logit(model.means) if model.family == BINARY else model.means
    noise = np.log(model.noise if model.family == LOUD else model.noise[:1])
    fitted = [] if model.family in (BINARY, SHAPED) else [noise]
    return np.concatenate([means.ravel(), _logit(model.leave), np.log(model.enter), *fitted])


def unpacked(model: Model, numbers: np.ndarray) -> Model:
    """Return the model with these parameters."""
    states, arms = model.means.shape
    cells = states * arms
    means = numbers[:cells].reshape(states, arms)
    leave = 1 / (1 + np.exp(-numbers[cells : cells + states]))
    enter = np.exp(numbers[cells + states : cells + 2 * states])
    noise = model.noise
    if model.family not in (BINARY, SHAPED):
        noise = np.exp(np.clip(numbers[cells + 2 * states :], -7, 7)) * np.ones(states)
    return model._replace(
        means=1 / (1 + np.exp(-np.clip(means, -20.7, 20.7))) if model.family == BINARY else means,
        leave=np.clip(leave, 1e-9, 0.5),
        enter=enter / enter.sum(),
        noise=noise,
    )


def _logit(share: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(share / (1 - share)))


def slope(series: Series, model: Model, tick: Tick = silent) -> np.ndarray:
    """Return the derivative of likelihood and priors by every parameter, in the order of `packed`."""
    counts = expected(series, model)
    tick(series.rows * model.states)
    centres, widths = series.centres, emissions.SPREADS * series.spreads
    leave = counts.jumps + chain.JUMPS - (counts.visits + chain.VISITS) * model.leave
    entries = counts.entries + chain.ENTRIES
    enter = entries - model.enter * entries.sum()
    if model.family == SHAPED:
        rows, values, _ = emissions.shaped_moments(series, model, counts.states)
        middle, precision = model.shape[:, 1, None, None], 1 / model.shape[:, 2, None, None] ** 2
        off = (precision * (values - (middle + model.means) * rows)).sum(axis=0)
        means = off - (model.means - centres) / widths**2
        return np.concatenate([means.ravel(), leave, enter])
    if model.family == BINARY and len(series.odds):
        means = emissions.odds_slopes(series, model, counts.states)[1] + emissions.PSEUDO * (centres - model.means)
        return np.concatenate([means.ravel(), leave, enter])
    if model.family == MEMORY:
        means, noise = memory.slope(series, model, counts.states)
        means = means - (model.means - centres) / widths**2
        return np.concatenate([means.ravel(), leave, enter, noise])
    tried, sums, squares = emissions.moments_of(series, counts.states)
    if model.family == BINARY:
        means = sums - tried * model.means + emissions.PSEUDO * (centres - model.means)
        return np.concatenate([means.ravel(), leave, enter])
    precision = 1 / (model.noise * model.noise)[:, None]
    means = (sums - tried * model.means) * precision - (model.means - centres) / widths**2
    around = (squares - 2 * model.means * sums + model.means**2 * tried).sum(axis=1)
    noise = around * precision[:, 0] - tried.sum(axis=1)
    noise = noise + precision[:, 0] - 1.0 if model.family == LOUD else np.array([noise.sum()])
    return np.concatenate([means.ravel(), leave, enter, noise])


def covariance(series: Series, model: Model, tick: Tick = silent) -> np.ndarray:
    """Return the covariance of the parameters, in the order of `packed`."""
    top = packed(model)
    size = len(top)
    scale = np.sqrt(1 / np.maximum(own_information(series, model), 1e-9))
    curve = np.empty((size, size))
    for i in range(size):
        step = np.zeros(size)
        step[i] = STEP * min(scale[i], 10.0)
        above, below = (slope(series, unpacked(model, top + sign * step), tick) for sign in (1.0, -1.0))
        curve[i] = -(above - below) / (2 * step[i])
    curve = 0.5 * (curve + curve.T)
    states = model.states
    first = model.means.size + states
    curve[first : first + states, first : first + states] += 1.0  # only ratios of entries matter
    values, vectors = np.linalg.eigh(curve * np.outer(scale, scale))
    # a direction in which the curve is flat, or bends up by rounding, is as open as the prior leaves it
    values = np.maximum(values, 0.05)
    whole = (vectors / values) @ vectors.T
    return np.asarray(whole * np.outer(scale, scale))


def own_information(series: Series, model: Model) -> np.ndarray:
    """Return the information about every parameter if all others, and the states, were known."""
    tried = model.tried
    if model.family == BINARY:
        means = (tried + emissions.PSEUDO) * model.means * (1 - model.means)
    else:
        means = (
            tried * (1 - abs(model.memory)) ** 2 / (model.noise**2)[:, None]
            + 1 / (emissions.SPREADS * series.spreads) ** 2
        )
    rows = tried.sum(axis=1)
    leave = (rows + chain.VISITS) * model.leave * (1 - model.leave)
    entries = (rows * model.leave).sum() + chain.ENTRIES * model.states
    enter = entries * model.enter * (1 - model.enter) + 0.1
    noise = (
        [] if model.family in (BINARY, SHAPED) else [2 * rows if model.family == LOUD else 2 * rows.sum(keepdims=True)]
    )
    return np.concatenate([means.ravel(), leave, enter, *noise])


def sampled(series: Series, model: Model, count: int, seed: int = 0, tick: Tick = silent) -> Samples:
    """Return models sampled from the normal posterior around the top of the likelihood.

    They are spread wider where there are many states, and where the state of a row is hard to tell.
    """
    unsure = 1 - float(expected(series, model).states.max(axis=1).mean())
    wider = 1 + WIDER * max(0, model.states - FROM) + UNSURE * unsure
    spread = covariance(series, model, tick) * wider**2
    random = np.random.default_rng([seed, 2])
    points = random.multivariate_normal(packed(model), spread, count, method="cholesky")
    made = [unpacked(model, point) for point in points]
    return Samples(
        np.stack([one.means for one in made]),
        np.stack([one.leave for one in made]),
        np.stack([one.enter for one in made]),
        np.stack([one.noise for one in made]),
    )


def gain(means: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return what following the state earns per round beyond the best single arm: of models (..., states, arms) and shares (..., states).

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.logs.posterior import gain
    >>> float(gain(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.75, 0.25])))
    0.25
    """
    follow = (shares * means.max(axis=-1)).sum(axis=-1)
    single = (shares[..., None] * means).sum(axis=-2).max(axis=-1)
    return np.asarray(follow - single)


def interval(samples: np.ndarray, level: float = LEVEL) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the interval that contains a share of the samples, along the first axis."""
    low, high = np.quantile(samples, ((1 - level) / 2, (1 + level) / 2), axis=0)
    return np.asarray(low), np.asarray(high)

"""How sure the numbers of a fit are: the curvature of the likelihood at its top, and models sampled from what it leaves open.

The gradient of the log-likelihood is the expected gradient of that of the rewards together with the states (Fisher's identity), so one pass
over the log gives it exactly; central differences of it give the curvature (the observed information).
"""

import numpy as np
import pandas as pd

from latentbandits.compiled import fast
from latentbandits.logs import emissions, hmm
from latentbandits.logs.em import Tick, e_step, no_tick
from latentbandits.logs.hmm import AUTOREGRESSIVE, BINARY, HETEROSCEDASTIC, MIXTURE, Model
from latentbandits.logs.log import Log
from latentbandits.logs.series import Series

STEP = 1e-3  # of a central difference, in units of a parameter's own deviation if nothing else were fitted
Z = 1.959964
# Intervals from the curvature are too narrow with many states, since some may be two, or two be one, and where states are hard to tell
WIDER, FROM, UNSURE = 0.025, 3, 8.0


def to_vector(model: Model) -> np.ndarray:
    """Return the parameters of a model as numbers without limits."""
    means = _logit(model.means) if model.family == BINARY else model.means
    noise = np.log(model.noise if model.family == HETEROSCEDASTIC else model.noise[:1])
    fitted = [] if model.family in (BINARY, MIXTURE) else [noise]
    return np.concatenate([means.ravel(), _logit(model.exit_prob), np.log(model.entry_prob), *fitted])


def from_vector(model: Model, vector: np.ndarray) -> Model:
    """Return the model with these parameters."""
    states, arms = model.means.shape
    cells = states * arms
    means = vector[:cells].reshape(states, arms)
    exit_prob = 1 / (1 + np.exp(-vector[cells : cells + states]))
    entry_prob = np.exp(vector[cells + states : cells + 2 * states])
    noise = model.noise
    if model.family not in (BINARY, MIXTURE):
        noise = np.exp(np.clip(vector[cells + 2 * states :], -7, 7)) * np.ones(states)
    return model._replace(
        means=1 / (1 + np.exp(-np.clip(means, -20.7, 20.7))) if model.family == BINARY else means,
        exit_prob=np.clip(exit_prob, 1e-9, 0.5),
        entry_prob=entry_prob / entry_prob.sum(),
        noise=noise,
    )


def _logit(share: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(share / (1 - share)))


def gradient(series: Series, model: Model, tick: Tick = no_tick) -> np.ndarray:
    """Return the derivative of likelihood and priors by every parameter, in the order of `to_vector`."""
    expected = e_step(series, model)
    tick(series.rows * model.num_states)
    centres, widths = series.centres, emissions.PRIOR_SPREADS * series.spreads
    exit_prob = expected.jumps + hmm.PRIOR_JUMPS - (expected.visits + hmm.PRIOR_VISITS) * model.exit_prob
    entries = expected.entries + hmm.PRIOR_ENTRIES
    entry_prob = entries - model.entry_prob * entries.sum()
    means, noise = _emission_gradient(series, model, expected.state_probs)
    if model.family == BINARY:
        means = means + emissions.PSEUDO_COUNT * (centres - model.means)
    else:
        means = means - (model.means - centres) / widths**2
    return np.concatenate([means.ravel(), exit_prob, entry_prob, noise])


def _emission_gradient(series: Series, model: Model, probs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivative of the likelihood by the means, an array (states, arms), and by the logarithm of the noise, as it is fitted."""
    if model.family == AUTOREGRESSIVE:
        return emissions.autoregressive_gradient(series, model, probs)
    if model.family == MIXTURE:
        rows, values, _ = fast(emissions.sum_component_moments)(series, probs, model.means, model.components)
        centre, precision = model.components[:, 1, None, None], 1 / model.components[:, 2, None, None] ** 2
        return (precision * (values - (centre + model.means) * rows)).sum(axis=0), np.zeros(0)
    if model.family == BINARY and len(series.logit_offset):
        return fast(emissions.sum_logit_moments)(series, probs, model.means)[1], np.zeros(0)
    tried, sums, squares = fast(emissions.sum_moments)(series, probs)
    if model.family == BINARY:
        return sums - tried * model.means, np.zeros(0)
    precision = 1 / (model.noise * model.noise)[:, None]
    squares_left = (squares - 2 * model.means * sums + model.means**2 * tried).sum(axis=1)
    noise = squares_left * precision[:, 0] - tried.sum(axis=1)
    noise = noise + precision[:, 0] - 1.0 if model.family == HETEROSCEDASTIC else np.array([noise.sum()])
    return (sums - tried * model.means) * precision, noise


def covariance(series: Series, model: Model, tick: Tick = no_tick) -> np.ndarray:
    """Return the covariance of the parameters, in the order of `to_vector`."""
    mode = to_vector(model)
    size = len(mode)
    scale = np.sqrt(1 / np.maximum(diagonal_information(series, model), 1e-9))
    information = np.empty((size, size))
    for i in range(size):
        step = np.zeros(size)
        step[i] = STEP * min(scale[i], 10.0)
        above, below = (gradient(series, from_vector(model, mode + sign * step), tick) for sign in (1.0, -1.0))
        information[i] = -(above - below) / (2 * step[i])
    information = 0.5 * (information + information.T)
    states = model.num_states
    first = model.means.size + states
    information[first : first + states, first : first + states] += 1.0  # only ratios of entries matter
    eigenvalues, eigenvectors = np.linalg.eigh(information * np.outer(scale, scale))
    # a direction in which the curve is flat, or bends up by rounding, is as open as the prior leaves it
    eigenvalues = np.maximum(eigenvalues, 0.05)
    inverse = (eigenvectors / eigenvalues) @ eigenvectors.T
    return np.asarray(inverse * np.outer(scale, scale))


def diagonal_information(series: Series, model: Model) -> np.ndarray:
    """Return the information about every parameter if all others, and the states, were known."""
    tried = model.tried
    if model.family == BINARY:
        means = (tried + emissions.PSEUDO_COUNT) * model.means * (1 - model.means)
    else:
        prior = 1 / (emissions.PRIOR_SPREADS * series.spreads) ** 2
        means = tried * (1 - abs(model.ar_coef)) ** 2 / (model.noise**2)[:, None] + prior
    rows = tried.sum(axis=1)
    exit_prob = (rows + hmm.PRIOR_VISITS) * model.exit_prob * (1 - model.exit_prob)
    entries = (rows * model.exit_prob).sum() + hmm.PRIOR_ENTRIES * model.num_states
    entry_prob = entries * model.entry_prob * (1 - model.entry_prob) + 0.1
    noise = 2 * rows if model.family == HETEROSCEDASTIC else 2 * rows.sum(keepdims=True)
    fitted = [] if model.family in (BINARY, MIXTURE) else [noise]
    return np.concatenate([means.ravel(), exit_prob, entry_prob, *fitted])


def sample_models(series: Series, model: Model, count: int, seed: int = 0, tick: Tick = no_tick) -> Model:
    """Return models sampled from the normal posterior around the top of the likelihood, as one whose arrays begin with an axis of samples.

    They are spread wider where there are many states, and where the state of a row is hard to tell.
    """
    uncertainty = 1 - float(e_step(series, model).state_probs.max(axis=1).mean())
    widening = 1 + WIDER * max(0, model.num_states - FROM) + UNSURE * uncertainty
    spread = covariance(series, model, tick) * widening**2
    random = np.random.default_rng([seed, 2])
    vectors = random.multivariate_normal(to_vector(model), spread, count, method="cholesky")
    models = [from_vector(model, point) for point in vectors]
    return model._replace(
        means=np.stack([each.means for each in models]),
        exit_prob=np.stack([each.exit_prob for each in models]),
        entry_prob=np.stack([each.entry_prob for each in models]),
        noise=np.stack([each.noise for each in models]),
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


def credible_interval(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the interval that contains 95 % of the samples, along the first axis."""
    low, high = np.quantile(samples, ((1 - 0.95) / 2, (1 + 0.95) / 2), axis=0)
    return np.asarray(low), np.asarray(high)


def state_table(log: Log, model: Model, samples: Model, means: np.ndarray) -> pd.DataFrame:
    """Return a row per state and arm; `means` are the sampled means in the unit of rewards."""
    low, high = credible_interval(means)
    dwell_low, dwell_high = credible_interval(samples.dwell)
    states, arms = model.means.shape
    of_states = {
        "state": np.arange(states),
        "share": model.shares,
        "dwell": model.dwell,
        "dwell_low": dwell_low,
        "dwell_high": dwell_high,
    }
    of_cells = {"mean": model.means, "low": low, "high": high, "tried": model.tried}
    return pd.DataFrame(
        {name: np.repeat(values, arms) for name, values in of_states.items()}
        | {"arm": [*log.arms] * states}
        | {name: values.ravel() for name, values in of_cells.items()}
    )


def arm_table(log: Log) -> pd.DataFrame:
    """Return a row per arm, of a log without regimes; intervals of rewards of 0 and 1 are Wilson's."""
    rows, binary = [], bool(np.isin(log.rewards, (0.0, 1.0)).all())
    for arm, name in enumerate(log.arms):
        own = log.rewards[log.played == arm]
        mean, number = float(own.mean()), len(own)
        middle, half = mean, Z * float(own.std(ddof=1)) / np.sqrt(number) if number > 1 else np.inf
        if binary:
            middle = (mean + 0.5 * Z**2 / number) / (1 + Z**2 / number)
            half = Z * np.sqrt(mean * (1 - mean) / number + 0.25 * (Z / number) ** 2) / (1 + Z**2 / number)
        row = {"arm": name, "mean": mean, "low": middle - half, "high": middle + half, "tried": float(number)}
        rows.append(row)
    table = pd.DataFrame(rows)
    return table.assign(low=table["low"].clip(lower=0.0), high=table["high"].clip(upper=1.0)) if binary else table

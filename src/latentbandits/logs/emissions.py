"""How rewards are spread around the means of a state: normal, of 0 and 1, of any shape, or louder in some states than in others."""

import numpy as np

from latentbandits.compiled import fast
from latentbandits.logs import memory
from latentbandits.logs.model import AUTOREGRESSIVE, BINARY, HETEROSCEDASTIC, MIXTURE, NOISE_ONLY, Model
from latentbandits.logs.series import Series

PSEUDO_COUNT = 1.0  # rewards of the arm's own mean that are added to every cell of rewards of 0 and 1
LEAST_NOISE, LEAST_WIDTH = 0.02, 0.05  # noise of a state, and width of a component, in units of the arms' noise
PRIOR_SPREADS = 2.0  # a mean lies around that of its arm, with a prior deviation of this many spreads of the arm


def _normal(arms: np.ndarray, values: np.ndarray, means: np.ndarray, noise: np.ndarray, log_lik: np.ndarray) -> None:
    """Write the log-likelihood of every row in every state: normal, with noise of every state."""
    for i in range(len(noise)):
        precision, constant = 0.5 / (noise[i] * noise[i]), -np.log(noise[i]) - 0.9189385332046727  # log(2 pi) / 2
        for t in range(len(values)):
            residual = values[t] - means[i, arms[t]]
            log_lik[t, i] = constant - precision * residual * residual


def _binary(arms: np.ndarray, values: np.ndarray, means: np.ndarray, log_lik: np.ndarray) -> None:
    """Write the log-likelihood of rewards of 0 and 1."""
    yes, no = np.log(means), np.log(1.0 - means)
    for t in range(len(values)):
        for i in range(len(means)):
            log_lik[t, i] = yes[i, arms[t]] if values[t] > 0.5 else no[i, arms[t]]


def _binary_offset(
    arms: np.ndarray, values: np.ndarray, logit_offset: np.ndarray, means: np.ndarray, log_lik: np.ndarray
) -> None:
    """Write the same where something is added to the log-odds of every row."""
    base = np.log(means / (1.0 - means))
    for t in range(len(values)):
        for i in range(len(means)):
            logit = base[i, arms[t]] + logit_offset[t]
            log_lik[t, i] = -np.log1p(np.exp(-logit)) if values[t] > 0.5 else -np.log1p(np.exp(logit))


def _sum_logit_moments(
    arms: np.ndarray,
    values: np.ndarray,
    logit_offset: np.ndarray,
    state_probs: np.ndarray,
    means: np.ndarray,
    moments: np.ndarray,
) -> None:
    """Add up per state and arm: rows, slopes and curvatures of the likelihood by the log-odds."""
    base = np.log(means / (1.0 - means))
    for t in range(len(values)):
        arm = arms[t]
        for i in range(state_probs.shape[1]):
            share = 1.0 / (1.0 + np.exp(-(base[i, arm] + logit_offset[t])))
            moments[0, i, arm] += state_probs[t, i]
            moments[1, i, arm] += state_probs[t, i] * (values[t] - share)
            moments[2, i, arm] += state_probs[t, i] * share * (1.0 - share)


def _mixture(
    arms: np.ndarray, values: np.ndarray, means: np.ndarray, components: np.ndarray, log_lik: np.ndarray
) -> None:
    """Write the log-likelihood of rewards around means by a mixture of normal components: rows of weight, centre and width."""
    for t in range(len(values)):
        for i in range(len(means)):
            residual, density = values[t] - means[i, arms[t]], 0.0
            for k in range(len(components)):
                z = (residual - components[k, 1]) / components[k, 2]
                density += components[k, 0] / components[k, 2] * np.exp(-0.5 * z * z)
            log_lik[t, i] = np.log(density + 1e-300) - 0.9189385332046727


def _sum_moments(arms: np.ndarray, values: np.ndarray, state_probs: np.ndarray, moments: np.ndarray) -> None:
    """Add up per state and arm: rows, values and squares."""
    for t in range(len(values)):
        arm, value = arms[t], values[t]
        for i in range(state_probs.shape[1]):
            weight = state_probs[t, i]
            moments[0, i, arm] += weight
            moments[1, i, arm] += weight * value
            moments[2, i, arm] += weight * value * value


def _sum_component_moments(
    arms: np.ndarray,
    values: np.ndarray,
    state_probs: np.ndarray,
    means: np.ndarray,
    components: np.ndarray,
    moments: np.ndarray,
) -> None:
    """Add up per component, state and arm: rows, values and squares."""
    count = len(components)
    density = np.empty(count)
    for t in range(len(values)):
        arm, value = arms[t], values[t]
        for i in range(state_probs.shape[1]):
            if state_probs[t, i] < 1e-9:
                continue
            residual, norm = value - means[i, arm], 1e-300
            for k in range(count):
                z = (residual - components[k, 1]) / components[k, 2]
                density[k] = components[k, 0] / components[k, 2] * np.exp(-0.5 * z * z)
                norm += density[k]
            for k in range(count):
                weight = state_probs[t, i] * density[k] / norm
                moments[0, k, i, arm] += weight
                moments[1, k, i, arm] += weight * value
                moments[2, k, i, arm] += weight * value * value


def component_moments(series: Series, model: Model, state_probs: np.ndarray) -> np.ndarray:
    """Return rows, values and squares per component, state and arm, an array (3, components, states, arms)."""
    moments = np.zeros((3, len(model.components), *model.means.shape))
    fast(_sum_component_moments)(series.arms, series.values, state_probs, model.means, model.components, moments)
    return moments


def log_likelihoods(series: Series, model: Model) -> np.ndarray:
    """Return the log-likelihood of every row in every state, an array (rows, states)."""
    log_lik = np.empty((series.rows, model.num_states))
    if model.family == BINARY and len(series.logit_offset):
        fast(_binary_offset)(series.arms, series.values, series.logit_offset, model.means, log_lik)
    elif model.family == BINARY:
        fast(_binary)(series.arms, series.values, model.means, log_lik)
    elif model.family == MIXTURE:
        fast(_mixture)(series.arms, series.values, model.means, model.components, log_lik)
    elif model.family == AUTOREGRESSIVE:
        fast(memory._autoregressive)(
            series.arms, series.values, series.gaps, model.means, model.noise, model.ar_coef, log_lik
        )
    else:
        fast(_normal)(series.arms, series.values, model.means, model.noise, log_lik)
    return log_lik


def cell_moments(series: Series, state_probs: np.ndarray) -> np.ndarray:
    """Return rows, values and squares per state and arm, an array (3, states, arms)."""
    moments = np.zeros((3, state_probs.shape[1], series.width))
    fast(_sum_moments)(series.arms, series.values, state_probs, moments)
    return moments


def m_step(series: Series, model: Model, state_probs: np.ndarray) -> Model:
    """Return the model whose means, noise and shape fit the probabilities of states best, with the priors of the means."""
    centres, widths = series.centres, PRIOR_SPREADS * series.spreads
    if model.family == MIXTURE:
        return _m_step_mixture(series, model, state_probs, centres, widths)
    if model.family == AUTOREGRESSIVE:
        updated = memory.m_step(series, model, state_probs, centres, widths)
        return updated._replace(noise=np.maximum(updated.noise, LEAST_NOISE))
    if len(series.logit_offset) and model.family == BINARY:
        return _m_step_logit(series, model, state_probs, centres)
    tried, sums, squares = cell_moments(series, state_probs)
    if model.family == BINARY:
        means = (sums + PSEUDO_COUNT * centres) / (tried + PSEUDO_COUNT)
        return model._replace(means=np.clip(means, 1e-6, 1 - 1e-6), tried=tried)
    precision = 1 / (model.noise * model.noise)[:, None]
    if model.family == NOISE_ONLY:  # the same means in all states
        weights = (tried * precision).sum(axis=0) + 1 / widths**2
        common = ((sums * precision).sum(axis=0) + centres / widths**2) / weights
        means = np.repeat(common[None, :], model.num_states, axis=0)
    else:
        means = (sums * precision + centres / widths**2) / (tried * precision + 1 / widths**2)
    squares_left = np.maximum(squares - 2 * means * sums + means * means * tried, 0.0)
    if model.family in (HETEROSCEDASTIC, NOISE_ONLY):
        rows = tried.sum(axis=1)
        # one row of the usual noise keeps a state with few rows from a noise of nothing
        noise = np.sqrt((squares_left.sum(axis=1) + 1.0) / (rows + 1.0))
    else:
        noise = np.full(model.num_states, np.sqrt(squares_left.sum() / tried.sum()))
    return model._replace(means=means, noise=np.maximum(noise, LEAST_NOISE), tried=tried)


def logit_moments(series: Series, model: Model, state_probs: np.ndarray) -> np.ndarray:
    """Return rows, slopes and curvatures by the log-odds of every cell, an array (3, states, arms)."""
    moments = np.zeros((3, *model.means.shape))
    fast(_sum_logit_moments)(series.arms, series.values, series.logit_offset, state_probs, model.means, moments)
    return moments


def _m_step_logit(series: Series, model: Model, state_probs: np.ndarray, centres: np.ndarray) -> Model:
    """Return the model after a step of Newton's method, which is short where it could go too far."""
    tried, slope, curve = logit_moments(series, model, state_probs)
    slope += PSEUDO_COUNT * (centres - model.means)
    curve += PSEUDO_COUNT * model.means * (1 - model.means)
    logits = np.log(model.means / (1 - model.means)) + np.clip(slope / np.maximum(curve, 1e-9), -0.5, 0.5)
    return model._replace(means=np.clip(1 / (1 + np.exp(-logits)), 1e-6, 1 - 1e-6), tried=tried)


def _m_step_mixture(
    series: Series, model: Model, state_probs: np.ndarray, centres: np.ndarray, widths: np.ndarray
) -> Model:
    """Return the model whose means fit the shape as it is, with the shape that then fits these means."""
    rows, values, squares = component_moments(series, model, state_probs)
    centre, precision = model.components[:, 1, None, None], 1 / model.components[:, 2, None, None] ** 2
    numerator = (precision * (values - centre * rows)).sum(axis=0) + centres / widths**2
    means = numerator / ((precision * rows).sum(axis=0) + 1 / widths**2)
    weight = np.maximum(rows.sum(axis=(1, 2)), 1e-9)
    centres_of_components = (values - means * rows).sum(axis=(1, 2)) / weight
    squares_left = (squares - 2 * means * values + means**2 * rows).sum(axis=(1, 2)) / weight - centres_of_components**2
    components = np.stack(
        [
            np.maximum(weight / weight.sum(), 1e-6),
            centres_of_components,
            np.maximum(np.sqrt(np.maximum(squares_left, 0)), LEAST_WIDTH),
        ],
        axis=1,
    )
    return model._replace(
        means=means,
        components=components,
        tried=rows.sum(axis=0),
        noise=np.full(model.num_states, mixture_std(components)),
    )


def mixture_std(components: np.ndarray) -> float:
    """Return the standard deviation of a shape."""
    weight, centre, width = components.T
    mean = (weight * centre).sum()
    return float(np.sqrt((weight * (width**2 + centre**2)).sum() - mean**2))


def log_prior(series: Series, model: Model) -> float:
    """Return the logarithm of the prior of the means (and of the noise of states), but for a constant."""
    centres = series.centres
    if model.family == BINARY:
        cells = centres * np.log(model.means) + (1 - centres) * np.log(1 - model.means)
        return float(PSEUDO_COUNT * cells.sum())
    rows = model.means[:1] if model.family == NOISE_ONLY else model.means
    total = -0.5 * (((rows - centres) / (PRIOR_SPREADS * series.spreads)) ** 2).sum()
    if model.family in (HETEROSCEDASTIC, NOISE_ONLY):
        total += (-np.log(model.noise) - 0.5 / model.noise**2).sum()
    return float(total)

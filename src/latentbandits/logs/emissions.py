"""How rewards are spread around the means of a state: normal, of 0 and 1, of any shape, or louder in some states than in others."""

import numpy as np

from latentbandits.compiled import fast
from latentbandits.logs import memory
from latentbandits.logs.model import BINARY, LEVEL, LOUD, MEMORY, SHAPED, Model
from latentbandits.logs.series import Series

BELLS = 3  # of a shape: enough for heavy tails and for skew
PSEUDO = 1.0  # rewards of the arm's own mean that are added to every cell of rewards of 0 and 1
QUIETEST, NARROWEST = 0.02, 0.05  # noise of a state, and width of a bell, in units of the arms' noise
SPREADS = 2.0  # a mean lies around that of its arm, with a prior deviation of this many spreads of the arm


def normal(arms: np.ndarray, values: np.ndarray, means: np.ndarray, noise: np.ndarray, likely: np.ndarray) -> None:
    """Write the log-likelihood of every row in every state: normal, with noise of every state."""
    for i in range(len(noise)):
        precision, constant = 0.5 / (noise[i] * noise[i]), -np.log(noise[i]) - 0.9189385332046727  # log(2 pi) / 2
        for t in range(len(values)):
            off = values[t] - means[i, arms[t]]
            likely[t, i] = constant - precision * off * off


def binary(arms: np.ndarray, values: np.ndarray, means: np.ndarray, likely: np.ndarray) -> None:
    """Write the log-likelihood of rewards of 0 and 1."""
    yes, no = np.log(means), np.log(1.0 - means)
    for t in range(len(values)):
        for i in range(len(means)):
            likely[t, i] = yes[i, arms[t]] if values[t] > 0.5 else no[i, arms[t]]


def binary_odds(arms: np.ndarray, values: np.ndarray, odds: np.ndarray, means: np.ndarray, likely: np.ndarray) -> None:
    """Write the same where something is added to the log-odds of every row."""
    usual = np.log(means / (1.0 - means))
    for t in range(len(values)):
        for i in range(len(means)):
            away = usual[i, arms[t]] + odds[t]
            likely[t, i] = -np.log1p(np.exp(-away)) if values[t] > 0.5 else -np.log1p(np.exp(away))


def add_up_odds(
    arms: np.ndarray, values: np.ndarray, odds: np.ndarray, states: np.ndarray, means: np.ndarray, moments: np.ndarray
) -> None:
    """Add up per state and arm: rows, slopes and curvatures of the likelihood by the log-odds."""
    usual = np.log(means / (1.0 - means))
    for t in range(len(values)):
        arm = arms[t]
        for i in range(states.shape[1]):
            share = 1.0 / (1.0 + np.exp(-(usual[i, arm] + odds[t])))
            moments[0, i, arm] += states[t, i]
            moments[1, i, arm] += states[t, i] * (values[t] - share)
            moments[2, i, arm] += states[t, i] * share * (1.0 - share)


def shaped(arms: np.ndarray, values: np.ndarray, means: np.ndarray, shape: np.ndarray, likely: np.ndarray) -> None:
    """Write the log-likelihood of rewards around means by a mixture of bells: rows of weight, centre and width."""
    for t in range(len(values)):
        for i in range(len(means)):
            off, found = values[t] - means[i, arms[t]], 0.0
            for k in range(len(shape)):
                away = (off - shape[k, 1]) / shape[k, 2]
                found += shape[k, 0] / shape[k, 2] * np.exp(-0.5 * away * away)
            likely[t, i] = np.log(found + 1e-300) - 0.9189385332046727


def add_up(arms: np.ndarray, values: np.ndarray, states: np.ndarray, moments: np.ndarray) -> None:
    """Add up per state and arm: rows, values and squares."""
    for t in range(len(values)):
        arm, value = arms[t], values[t]
        for i in range(states.shape[1]):
            weight = states[t, i]
            moments[0, i, arm] += weight
            moments[1, i, arm] += weight * value
            moments[2, i, arm] += weight * value * value


def add_up_shaped(
    arms: np.ndarray, values: np.ndarray, states: np.ndarray, means: np.ndarray, shape: np.ndarray, moments: np.ndarray
) -> None:
    """Add up per bell, state and arm: rows, values and squares."""
    count = len(shape)
    part = np.empty(count)
    for t in range(len(values)):
        arm, value = arms[t], values[t]
        for i in range(states.shape[1]):
            if states[t, i] < 1e-9:
                continue
            off, whole = value - means[i, arm], 1e-300
            for k in range(count):
                away = (off - shape[k, 1]) / shape[k, 2]
                part[k] = shape[k, 0] / shape[k, 2] * np.exp(-0.5 * away * away)
                whole += part[k]
            for k in range(count):
                weight = states[t, i] * part[k] / whole
                moments[0, k, i, arm] += weight
                moments[1, k, i, arm] += weight * value
                moments[2, k, i, arm] += weight * value * value


def shaped_moments(series: Series, model: Model, states: np.ndarray) -> np.ndarray:
    """Return rows, values and squares per bell, state and arm, an array (3, bells, states, arms)."""
    moments = np.zeros((3, len(model.shape), *model.means.shape))
    fast(add_up_shaped)(series.arms, series.values, states, model.means, model.shape, moments)
    return moments


def likelihoods(series: Series, model: Model) -> np.ndarray:
    """Return the log-likelihood of every row in every state, an array (rows, states)."""
    likely = np.empty((series.rows, model.states))
    if model.family == BINARY and len(series.odds):
        fast(binary_odds)(series.arms, series.values, series.odds, model.means, likely)
    elif model.family == BINARY:
        fast(binary)(series.arms, series.values, model.means, likely)
    elif model.family == SHAPED:
        fast(shaped)(series.arms, series.values, model.means, model.shape, likely)
    elif model.family == MEMORY:
        fast(memory.remembering)(
            series.arms, series.values, series.gaps, model.means, model.noise, model.memory, likely
        )
    else:
        fast(normal)(series.arms, series.values, model.means, model.noise, likely)
    return likely


def moments_of(series: Series, states: np.ndarray) -> np.ndarray:
    """Return rows, values and squares per state and arm, an array (3, states, arms)."""
    moments = np.zeros((3, states.shape[1], series.width))
    fast(add_up)(series.arms, series.values, states, moments)
    return moments


def refitted(series: Series, model: Model, states: np.ndarray) -> Model:
    """Return the model whose means, noise and shape fit the probabilities of states best, with the priors of the means."""
    centres, widths = series.centres, SPREADS * series.spreads
    if model.family == SHAPED:
        return _reshaped(series, model, states, centres, widths)
    if model.family == MEMORY:
        made = memory.refitted(series, model, states, centres, widths)
        return made._replace(noise=np.maximum(made.noise, QUIETEST))
    if len(series.odds) and model.family == BINARY:
        return _newton(series, model, states, centres)
    tried, sums, squares = moments_of(series, states)
    if model.family == BINARY:
        means = (sums + PSEUDO * centres) / (tried + PSEUDO)
        return model._replace(means=np.clip(means, 1e-6, 1 - 1e-6), tried=tried)
    precision = 1 / (model.noise * model.noise)[:, None]
    if model.family == LEVEL:  # the same means in all states
        weights = (tried * precision).sum(axis=0) + 1 / widths**2
        row = ((sums * precision).sum(axis=0) + centres / widths**2) / weights
        means = np.repeat(row[None, :], model.states, axis=0)
    else:
        means = (sums * precision + centres / widths**2) / (tried * precision + 1 / widths**2)
    around = np.maximum(squares - 2 * means * sums + means * means * tried, 0.0)
    if model.family in (LOUD, LEVEL):
        rows = tried.sum(axis=1)
        # one row of the usual noise keeps a state with few rows from a noise of nothing
        noise = np.sqrt((around.sum(axis=1) + 1.0) / (rows + 1.0))
    else:
        noise = np.full(model.states, np.sqrt(around.sum() / tried.sum()))
    return model._replace(means=means, noise=np.maximum(noise, QUIETEST), tried=tried)


def odds_slopes(series: Series, model: Model, states: np.ndarray) -> np.ndarray:
    """Return rows, slopes and curvatures by the log-odds of every cell, an array (3, states, arms)."""
    moments = np.zeros((3, *model.means.shape))
    fast(add_up_odds)(series.arms, series.values, series.odds, states, model.means, moments)
    return moments


def _newton(series: Series, model: Model, states: np.ndarray, centres: np.ndarray) -> Model:
    """Return the model after a step of Newton's method, which is short where it could go too far."""
    tried, slope, curve = odds_slopes(series, model, states)
    slope += PSEUDO * (centres - model.means)
    curve += PSEUDO * model.means * (1 - model.means)
    odds = np.log(model.means / (1 - model.means)) + np.clip(slope / np.maximum(curve, 1e-9), -0.5, 0.5)
    return model._replace(means=np.clip(1 / (1 + np.exp(-odds)), 1e-6, 1 - 1e-6), tried=tried)


def _reshaped(series: Series, model: Model, states: np.ndarray, centres: np.ndarray, widths: np.ndarray) -> Model:
    """Return the model whose means fit the shape as it is, with the shape that then fits these means."""
    rows, values, squares = shaped_moments(series, model, states)
    middle, precision = model.shape[:, 1, None, None], 1 / model.shape[:, 2, None, None] ** 2
    tops = (precision * (values - middle * rows)).sum(axis=0) + centres / widths**2
    means = tops / ((precision * rows).sum(axis=0) + 1 / widths**2)
    whole = np.maximum(rows.sum(axis=(1, 2)), 1e-9)
    middles = (values - means * rows).sum(axis=(1, 2)) / whole
    around = (squares - 2 * means * values + means**2 * rows).sum(axis=(1, 2)) / whole - middles**2
    shape = np.stack(
        [np.maximum(whole / whole.sum(), 1e-6), middles, np.maximum(np.sqrt(np.maximum(around, 0)), NARROWEST)], axis=1
    )
    return model._replace(
        means=means, shape=shape, tried=rows.sum(axis=0), noise=np.full(model.states, deviation(shape))
    )


def deviation(shape: np.ndarray) -> float:
    """Return the standard deviation of a shape."""
    weight, middle, width = shape.T
    mean = (weight * middle).sum()
    return float(np.sqrt((weight * (width**2 + middle**2)).sum() - mean**2))


def prior(series: Series, model: Model) -> float:
    """Return the logarithm of the prior of the means (and of the noise of loud states), but for a constant."""
    centres = series.centres
    if model.family == BINARY:
        cells = centres * np.log(model.means) + (1 - centres) * np.log(1 - model.means)
        return float(PSEUDO * cells.sum())
    rows = model.means[:1] if model.family == LEVEL else model.means
    found = -0.5 * (((rows - centres) / (SPREADS * series.spreads)) ** 2).sum()
    if model.family in (LOUD, LEVEL):
        found += (-np.log(model.noise) - 0.5 / model.noise**2).sum()
    return float(found)

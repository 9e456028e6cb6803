"""How rewards are spread around the means of a state, and the M step of each family.

Autoregressive noise is an AR(1) process: a share of it (`ar_coef`) is left in the next round, whatever arm is played there. In the round
after a row with the value v of arm b, a row of arm a in state s is normal around mean(s, a) + ar_coef (v - mean(s, b)). What the noise was
is judged by the present state, so that a row depends on no state but its own; in the one row after a change that is the wrong one, so now
and then (RESET_PROB) a row remembers nothing and is RESET_SCALE times as noisy. After a pause, at the beginning, and within a round
nothing is remembered either.
"""

from typing import NamedTuple

import numpy as np

from latentbandits.compiled import fast, kernel
from latentbandits.logs.hmm import AUTOREGRESSIVE, BINARY, HETEROSCEDASTIC, MIXTURE, NOISE_ONLY, Model
from latentbandits.logs.series import Series

PSEUDO_COUNT = 1.0  # rewards of the arm's own mean that are added to every cell of rewards of 0 and 1
LEAST_NOISE, LEAST_WIDTH = 0.02, 0.05  # noise of a state, and width of a component, in units of the arms' noise
PRIOR_SPREADS = 2.0  # a mean lies around that of its arm, with a prior deviation of this many spreads of the arm

MOST_AR_COEF = 0.98
RESET_PROB, RESET_SCALE = 0.005, 2.0
MOST_ARMS = 20  # arms: with more, sums over pairs of them would take longer than all the rest


def _normal(series: Series, means: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return the log-likelihood of every row in every state: normal, with noise of every state."""
    arms, values = series.arms, series.values
    log_lik = np.empty((len(values), len(noise)))
    for i in range(len(noise)):
        precision, constant = 0.5 / (noise[i] * noise[i]), -np.log(noise[i]) - 0.9189385332046727  # log(2 pi) / 2
        for t in range(len(values)):
            residual = values[t] - means[i, arms[t]]
            log_lik[t, i] = constant - precision * residual * residual
    return log_lik


def _binary(series: Series, means: np.ndarray) -> np.ndarray:
    """Return the log-likelihood of rewards of 0 and 1."""
    arms, values = series.arms, series.values
    log_lik = np.empty((len(values), len(means)))
    yes, no = np.log(means), np.log(1.0 - means)
    for t in range(len(values)):
        for i in range(len(means)):
            log_lik[t, i] = yes[i, arms[t]] if values[t] > 0.5 else no[i, arms[t]]
    return log_lik


def _binary_offset(series: Series, means: np.ndarray) -> np.ndarray:
    """Return the same where something is added to the log-odds of every row."""
    arms, values = series.arms, series.values
    log_lik = np.empty((len(values), len(means)))
    base = np.log(means / (1.0 - means))
    for t in range(len(values)):
        for i in range(len(means)):
            logit = base[i, arms[t]] + series.logit_offset[t]
            log_lik[t, i] = -np.log1p(np.exp(-logit)) if values[t] > 0.5 else -np.log1p(np.exp(logit))
    return log_lik


def _mixture(series: Series, means: np.ndarray, components: np.ndarray) -> np.ndarray:
    """Return the log-likelihood of rewards around means by a mixture of normal components: rows of weight, centre and width."""
    arms, values = series.arms, series.values
    log_lik = np.empty((len(values), len(means)))
    for t in range(len(values)):
        for i in range(len(means)):
            residual, density = values[t] - means[i, arms[t]], 0.0
            for k in range(len(components)):
                z = (residual - components[k, 1]) / components[k, 2]
                density += components[k, 0] / components[k, 2] * np.exp(-0.5 * z * z)
            log_lik[t, i] = np.log(density + 1e-300) - 0.9189385332046727
    return log_lik


def log_likelihoods(series: Series, model: Model) -> np.ndarray:
    """Return the log-likelihood of every row in every state, an array (rows, states)."""
    if model.family == BINARY:
        return np.asarray(fast(_binary_offset if len(series.logit_offset) else _binary)(series, model.means))
    if model.family == MIXTURE:
        return np.asarray(fast(_mixture)(series, model.means, model.components))
    if model.family == AUTOREGRESSIVE:
        return np.asarray(fast(_autoregressive)(series, model.means, model.noise, model.ar_coef))
    return np.asarray(fast(_normal)(series, model.means, model.noise))


def sum_moments(series: Series, state_probs: np.ndarray) -> np.ndarray:
    """Return rows, values and squares per state and arm, an array (3, states, arms)."""
    arms, values = series.arms, series.values
    moments = np.zeros((3, state_probs.shape[1], len(series.noise)))
    for t in range(len(values)):
        arm, value = arms[t], values[t]
        for i in range(state_probs.shape[1]):
            weight = state_probs[t, i]
            moments[0, i, arm] += weight
            moments[1, i, arm] += weight * value
            moments[2, i, arm] += weight * value * value
    return moments


def sum_logit_moments(series: Series, state_probs: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Return rows, slopes and curvatures of the likelihood by the log-odds of every cell, an array (3, states, arms)."""
    moments = np.zeros((3, means.shape[0], means.shape[1]))
    base = np.log(means / (1.0 - means))
    for t in range(len(series.values)):
        arm = series.arms[t]
        for i in range(state_probs.shape[1]):
            share = 1.0 / (1.0 + np.exp(-(base[i, arm] + series.logit_offset[t])))
            moments[0, i, arm] += state_probs[t, i]
            moments[1, i, arm] += state_probs[t, i] * (series.values[t] - share)
            moments[2, i, arm] += state_probs[t, i] * share * (1.0 - share)
    return moments


def sum_component_moments(
    series: Series, state_probs: np.ndarray, means: np.ndarray, components: np.ndarray
) -> np.ndarray:
    """Return rows, values and squares per component, state and arm, an array (3, components, states, arms)."""
    count = len(components)
    moments, density = np.zeros((3, count, means.shape[0], means.shape[1])), np.empty(count)
    for t in range(len(series.values)):
        arm, value = series.arms[t], series.values[t]
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
    return moments


def m_step(series: Series, model: Model, state_probs: np.ndarray) -> Model:
    """Return the model whose means, noise and shape fit the probabilities of states best, with the priors of the means."""
    centres, widths = series.centres, PRIOR_SPREADS * series.spreads
    if model.family == MIXTURE:
        return _m_step_mixture(series, model, state_probs, centres, widths)
    if model.family == AUTOREGRESSIVE:
        updated = _m_step_autoregressive(series, model, state_probs, centres, widths)
        return updated._replace(noise=np.maximum(updated.noise, LEAST_NOISE))
    if len(series.logit_offset) and model.family == BINARY:
        return _m_step_logit(series, model, state_probs, centres)
    tried, sums, squares = fast(sum_moments)(series, state_probs)
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


def _m_step_logit(series: Series, model: Model, state_probs: np.ndarray, centres: np.ndarray) -> Model:
    """Return the model after a step of Newton's method, which is short where it could go too far."""
    tried, slope, curve = fast(sum_logit_moments)(series, state_probs, model.means)
    slope += PSEUDO_COUNT * (centres - model.means)
    curve += PSEUDO_COUNT * model.means * (1 - model.means)
    logits = np.log(model.means / (1 - model.means)) + np.clip(slope / np.maximum(curve, 1e-9), -0.5, 0.5)
    return model._replace(means=np.clip(1 / (1 + np.exp(-logits)), 1e-6, 1 - 1e-6), tried=tried)


def _m_step_mixture(
    series: Series, model: Model, state_probs: np.ndarray, centres: np.ndarray, widths: np.ndarray
) -> Model:
    """Return the model whose means fit the shape as it is, with the shape that then fits these means."""
    rows, values, squares = fast(sum_component_moments)(series, state_probs, model.means, model.components)
    centre, precision = model.components[:, 1, None, None], 1 / model.components[:, 2, None, None] ** 2
    numerator = (precision * (values - centre * rows)).sum(axis=0) + centres / widths**2
    means = numerator / ((precision * rows).sum(axis=0) + 1 / widths**2)
    weight = np.maximum(rows.sum(axis=(1, 2)), 1e-9)
    centres_of_components = (values - means * rows).sum(axis=(1, 2)) / weight
    squares_left = (squares - 2 * means * values + means**2 * rows).sum(axis=(1, 2)) / weight - centres_of_components**2
    widths_of_components = np.maximum(np.sqrt(np.maximum(squares_left, 0)), LEAST_WIDTH)
    shares = np.maximum(weight / weight.sum(), 1e-6)
    components = np.stack([shares, centres_of_components, widths_of_components], axis=1)
    noise = np.full(model.num_states, mixture_std(components))
    return model._replace(means=means, components=components, tried=rows.sum(axis=0), noise=noise)


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


@kernel
def _reset_odds(precision: float, residual: float, plain: float) -> float:
    """Return the odds that a row remembers nothing, by its residuals with memory and without (`plain`)."""
    energy = precision * residual * residual - precision * plain * plain / RESET_SCALE**2
    return float(RESET_PROB / (1.0 - RESET_PROB) / RESET_SCALE * np.exp(min(energy, 700.0)))


def _autoregressive(series: Series, means: np.ndarray, noise: np.ndarray, ar_coef: float) -> np.ndarray:
    """Return the log-likelihood of every row in every state."""
    arms, values, gaps = series.arms, series.values, series.gaps
    log_lik = np.empty((len(values), len(noise)))
    for i in range(len(noise)):
        precision, constant = 0.5 / (noise[i] * noise[i]), -np.log(noise[i]) - 0.9189385332046727  # log(2 pi) / 2
        for t in range(len(values)):
            plain = values[t] - means[i, arms[t]]
            if t > 0 and gaps[t] == 1.0:
                residual = plain - ar_coef * (values[t - 1] - means[i, arms[t - 1]])
                odds = _reset_odds(precision, residual, plain)
                log_lik[t, i] = constant - precision * residual * residual + np.log((1.0 - RESET_PROB) * (1.0 + odds))
            else:
                log_lik[t, i] = constant - precision * plain * plain
    return log_lik


def _sum_pair_moments(
    series: Series, state_probs: np.ndarray, means: np.ndarray, noise: np.ndarray, ar_coef: float
) -> np.ndarray:
    """Add up per state, arm and arm before: rows, values, values before, and products of both; after the last arm, rows without memory.

    What a row that forgot adds is scaled down as its noise is up, so that all that is added up has the same noise.
    """
    arms, values, gaps, no_previous = series.arms, series.values, series.gaps, len(series.noise)
    moments = np.zeros((6, state_probs.shape[1], no_previous, no_previous + 1))
    for t in range(len(values)):
        arm, value = arms[t], values[t]
        for i in range(state_probs.shape[1]):
            reset_weight = state_probs[t, i]
            if t > 0 and gaps[t] == 1.0:
                previous_arm, previous_value = arms[t - 1], values[t - 1]
                plain = value - means[i, arm]
                residual = plain - ar_coef * (previous_value - means[i, previous_arm])
                weight = reset_weight / (1.0 + _reset_odds(0.5 / (noise[i] * noise[i]), residual, plain))
                reset_weight = (reset_weight - weight) / RESET_SCALE**2
                moments[0, i, arm, previous_arm] += weight
                moments[1, i, arm, previous_arm] += weight * value
                moments[2, i, arm, previous_arm] += weight * previous_value
                moments[3, i, arm, previous_arm] += weight * value * value
                moments[4, i, arm, previous_arm] += weight * value * previous_value
                moments[5, i, arm, previous_arm] += weight * previous_value * previous_value
            moments[0, i, arm, no_previous] += reset_weight
            moments[1, i, arm, no_previous] += reset_weight * value
            moments[3, i, arm, no_previous] += reset_weight * value * value
    return moments


class Pairs(NamedTuple):
    """Sums over rows and the rows before them, arrays (states, arms, arms + 1); in the last place, rows without memory."""

    rows: np.ndarray
    now: np.ndarray
    old: np.ndarray
    now_now: np.ndarray
    now_old: np.ndarray
    old_old: np.ndarray

    @classmethod
    def of(cls, series: Series, model: Model, state_probs: np.ndarray) -> "Pairs":
        """Return the sums for probabilities of states."""
        return cls(*fast(_sum_pair_moments)(series, state_probs, model.means, model.noise, model.ar_coef))

    @property
    def tried(self) -> np.ndarray:
        """Expected rows per state and arm."""
        return np.asarray(self.rows.sum(axis=2))

    def equations(self, ar_coef: float) -> tuple[np.ndarray, np.ndarray]:
        """Return what the means solve if noise is 1 and there is no prior: arrays (states, arms, arms) and (states, arms)."""
        pairs, fresh = self.rows[:, :, :-1], self.now - ar_coef * self.old
        left = -ar_coef * (pairs + pairs.transpose(0, 2, 1))
        place = np.arange(pairs.shape[1])
        left[:, place, place] += self.tried + ar_coef**2 * pairs.sum(axis=1)
        return left, fresh.sum(axis=2) - ar_coef * fresh[:, :, :-1].sum(axis=1)

    def squares(self, means: np.ndarray) -> tuple[float, float, float]:
        """Return the squares of the noise, its products with that of the row before, and the squares of the latter."""
        here = means[:, :, None]
        before = np.concatenate([means, np.zeros((len(means), 1))], axis=1)[:, None, :]
        has_previous = np.ones(self.rows.shape[2])
        has_previous[-1] = 0.0
        now = self.now_now - 2 * here * self.now + here**2 * self.rows
        cross = self.now_old - before * self.now - here * self.old + here * before * self.rows
        old = self.old_old - 2 * before * self.old + before**2 * self.rows
        return float(now.sum()), float((cross * has_previous).sum()), float((old * has_previous).sum())


def _m_step_autoregressive(
    series: Series, model: Model, state_probs: np.ndarray, centres: np.ndarray, widths: np.ndarray
) -> Model:
    """Return the model with the best means for its memory, then the best memory for these means, then the best noise."""
    pairs = Pairs.of(series, model, state_probs)
    precision = 1 / model.noise[0] ** 2
    left, right = pairs.equations(model.ar_coef)
    prior = np.diag(1 / widths**2)
    means = np.linalg.solve(precision * left + prior, (precision * right + centres / widths**2)[:, :, None])[:, :, 0]
    now, cross, old = pairs.squares(means)
    ar_coef = float(np.clip(cross / max(old, 1e-300), -MOST_AR_COEF, MOST_AR_COEF))
    variance = max(now - 2 * ar_coef * cross + ar_coef**2 * old, 0.0) / series.rows
    return model._replace(
        means=means, ar_coef=ar_coef, noise=np.full(model.num_states, np.sqrt(variance)), tried=pairs.tried
    )


def autoregressive_gradient(series: Series, model: Model, state_probs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivative of the likelihood by means, an array (states, arms), and by the logarithm of the noise, an array (1,)."""
    pairs = Pairs.of(series, model, state_probs)
    precision = 1 / model.noise[0] ** 2
    left, right = pairs.equations(model.ar_coef)
    now, cross, old = pairs.squares(model.means)
    squares = now - 2 * model.ar_coef * cross + model.ar_coef**2 * old
    means = precision * (right - (left @ model.means[:, :, None])[:, :, 0])
    return means, np.array([squares * precision - series.rows])


def residual_autocorrelation(series: Series, means: np.ndarray) -> float:
    """Return the correlation of what is left of successive rows when their means are taken out."""
    rest = series.values - means
    pairs = np.flatnonzero(series.gaps[1:] == 1.0)
    now, old = rest[1:][pairs], rest[:-1][pairs]
    return float((now * old).sum() / max((rest**2).mean() * len(pairs), 1e-300)) if len(pairs) else 0.0

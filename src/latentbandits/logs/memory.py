"""Rewards with a memory: noise of which a share is left in the next round, whatever arm is played there (an AR(1) process).

In the round after a row with the value v of arm b, a row of arm a in state s is normal around mean(s, a) + ar_coef (v - mean(s, b)). What
the noise was is judged by the present state, so that a row depends on no state but its own; in the one row after a change that is the
wrong one, so now and then (RESET_PROB) a row remembers nothing and is RESET_SCALE times as noisy. After a pause, at the beginning, and
within a round nothing is remembered either.
"""

from typing import NamedTuple

import numpy as np

from latentbandits.compiled import fast
from latentbandits.logs.model import Model
from latentbandits.logs.series import Series

MOST_AR_COEF = 0.98
RESET_PROB, RESET_SCALE = 0.005, 2.0
MOST_ARMS = 20  # arms: with more, sums over pairs of them would take longer than all the rest


def _autoregressive(
    arms: np.ndarray,
    values: np.ndarray,
    gaps: np.ndarray,
    means: np.ndarray,
    noise: np.ndarray,
    ar_coef: float,
    log_lik: np.ndarray,
) -> None:
    """Write the log-likelihood of every row in every state."""
    for i in range(len(noise)):
        precision, constant = 0.5 / (noise[i] * noise[i]), -np.log(noise[i]) - 0.9189385332046727  # log(2 pi) / 2
        for t in range(len(values)):
            residual = values[t] - means[i, arms[t]]
            if t > 0 and gaps[t] == 1.0:
                reset_energy = precision * residual * residual / RESET_SCALE**2
                residual -= ar_coef * (values[t - 1] - means[i, arms[t - 1]])
                odds = (
                    RESET_PROB
                    / (1.0 - RESET_PROB)
                    / RESET_SCALE
                    * np.exp(min(precision * residual * residual - reset_energy, 700.0))
                )
                log_lik[t, i] = constant - precision * residual * residual + np.log((1.0 - RESET_PROB) * (1.0 + odds))
            else:
                log_lik[t, i] = constant - precision * residual * residual


def _sum_pair_moments(
    arms: np.ndarray,
    values: np.ndarray,
    gaps: np.ndarray,
    state_probs: np.ndarray,
    means: np.ndarray,
    noise: np.ndarray,
    ar_coef: float,
    moments: np.ndarray,
) -> None:
    """Add up per state, arm and arm before: rows, values, values before, and products of both; after the last arm, rows without memory.

    What a row that forgot adds is scaled down as its noise is up, so that all that is added up has the same noise.
    """
    no_previous = moments.shape[3] - 1
    for t in range(len(values)):
        arm, value = arms[t], values[t]
        for i in range(state_probs.shape[1]):
            reset_weight = state_probs[t, i]
            if t > 0 and gaps[t] == 1.0:
                previous_arm, previous_value = arms[t - 1], values[t - 1]
                precision, residual = 0.5 / (noise[i] * noise[i]), value - means[i, arm]
                reset_energy = precision * residual * residual / RESET_SCALE**2
                residual -= ar_coef * (previous_value - means[i, previous_arm])
                odds = (
                    RESET_PROB
                    / (1.0 - RESET_PROB)
                    / RESET_SCALE
                    * np.exp(min(precision * residual * residual - reset_energy, 700.0))
                )
                weight = reset_weight / (1.0 + odds)
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
        moments = np.zeros((6, state_probs.shape[1], series.width, series.width + 1))
        fast(_sum_pair_moments)(
            series.arms, series.values, series.gaps, state_probs, model.means, model.noise, model.ar_coef, moments
        )
        return cls(*moments)

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


def m_step(series: Series, model: Model, state_probs: np.ndarray, centres: np.ndarray, widths: np.ndarray) -> Model:
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


def gradient(series: Series, model: Model, state_probs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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

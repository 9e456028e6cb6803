"""Rewards with a memory: noise of which a share is left in the next round, whatever arm is played there (an AR(1) process).

In the round after a row with the value v of arm b, a row of arm a in state s is normal around mean(s, a) + memory (v - mean(s, b)). What
the noise was is judged by the present state, so that a row depends on no state but its own; in the one row after a change that is the
wrong one, so now and then (FORGET) a row remembers nothing and is LOOSE times as noisy. After a pause, at the beginning, and within a
round nothing is remembered either.
"""

from typing import NamedTuple

import numpy as np

from latentbandits.compiled import fast
from latentbandits.logs.model import Model
from latentbandits.logs.series import Series

MOST = 0.98
FORGET, LOOSE = 0.005, 2.0
MANY = 20  # arms: with more, sums over pairs of them would take longer than all the rest


def remembering(
    arms: np.ndarray,
    values: np.ndarray,
    gaps: np.ndarray,
    means: np.ndarray,
    noise: np.ndarray,
    memory: float,
    likely: np.ndarray,
) -> None:
    """Write the log-likelihood of every row in every state."""
    for i in range(len(noise)):
        precision, constant = 0.5 / (noise[i] * noise[i]), -np.log(noise[i]) - 0.9189385332046727  # log(2 pi) / 2
        for t in range(len(values)):
            off = values[t] - means[i, arms[t]]
            if t > 0 and gaps[t] == 1.0:
                loose = precision * off * off / LOOSE**2
                off -= memory * (values[t - 1] - means[i, arms[t - 1]])
                odds = FORGET / (1.0 - FORGET) / LOOSE * np.exp(min(precision * off * off - loose, 700.0))
                likely[t, i] = constant - precision * off * off + np.log((1.0 - FORGET) * (1.0 + odds))
            else:
                likely[t, i] = constant - precision * off * off


def add_up_pairs(
    arms: np.ndarray,
    values: np.ndarray,
    gaps: np.ndarray,
    states: np.ndarray,
    means: np.ndarray,
    noise: np.ndarray,
    memory: float,
    moments: np.ndarray,
) -> None:
    """Add up per state, arm and arm before: rows, values, values before, and products of both; after the last arm, rows without memory.

    What a row that forgot adds is scaled down as its noise is up, so that all that is added up has the same noise.
    """
    none = moments.shape[3] - 1
    for t in range(len(values)):
        arm, value = arms[t], values[t]
        for i in range(states.shape[1]):
            alone = states[t, i]
            if t > 0 and gaps[t] == 1.0:
                before, old = arms[t - 1], values[t - 1]
                precision, off = 0.5 / (noise[i] * noise[i]), value - means[i, arm]
                loose = precision * off * off / LOOSE**2
                off -= memory * (old - means[i, before])
                odds = FORGET / (1.0 - FORGET) / LOOSE * np.exp(min(precision * off * off - loose, 700.0))
                weight = alone / (1.0 + odds)
                alone = (alone - weight) / LOOSE**2
                moments[0, i, arm, before] += weight
                moments[1, i, arm, before] += weight * value
                moments[2, i, arm, before] += weight * old
                moments[3, i, arm, before] += weight * value * value
                moments[4, i, arm, before] += weight * value * old
                moments[5, i, arm, before] += weight * old * old
            moments[0, i, arm, none] += alone
            moments[1, i, arm, none] += alone * value
            moments[3, i, arm, none] += alone * value * value


class Pairs(NamedTuple):
    """Sums over rows and the rows before them, arrays (states, arms, arms + 1); in the last place, rows without memory."""

    rows: np.ndarray
    now: np.ndarray
    old: np.ndarray
    now_now: np.ndarray
    now_old: np.ndarray
    old_old: np.ndarray

    @classmethod
    def of(cls, series: Series, model: Model, states: np.ndarray) -> "Pairs":
        """Return the sums for probabilities of states."""
        moments = np.zeros((6, states.shape[1], series.width, series.width + 1))
        fast(add_up_pairs)(
            series.arms, series.values, series.gaps, states, model.means, model.noise, model.memory, moments
        )
        return cls(*moments)

    @property
    def tried(self) -> np.ndarray:
        """Expected rows per state and arm."""
        return np.asarray(self.rows.sum(axis=2))

    def equations(self, memory: float) -> tuple[np.ndarray, np.ndarray]:
        """Return what the means solve if noise is 1 and there is no prior: arrays (states, arms, arms) and (states, arms)."""
        pairs, fresh = self.rows[:, :, :-1], self.now - memory * self.old
        left = -memory * (pairs + pairs.transpose(0, 2, 1))
        place = np.arange(pairs.shape[1])
        left[:, place, place] += self.tried + memory**2 * pairs.sum(axis=1)
        return left, fresh.sum(axis=2) - memory * fresh[:, :, :-1].sum(axis=1)

    def squares(self, means: np.ndarray) -> tuple[float, float, float]:
        """Return the squares of the noise, its products with that of the row before, and the squares of the latter."""
        here = means[:, :, None]
        before = np.concatenate([means, np.zeros((len(means), 1))], axis=1)[:, None, :]
        known = np.ones(self.rows.shape[2])
        known[-1] = 0.0
        now = self.now_now - 2 * here * self.now + here**2 * self.rows
        cross = self.now_old - before * self.now - here * self.old + here * before * self.rows
        old = self.old_old - 2 * before * self.old + before**2 * self.rows
        return float(now.sum()), float((cross * known).sum()), float((old * known).sum())


def refitted(series: Series, model: Model, states: np.ndarray, centres: np.ndarray, widths: np.ndarray) -> Model:
    """Return the model with the best means for its memory, then the best memory for these means, then the best noise."""
    pairs = Pairs.of(series, model, states)
    precision = 1 / model.noise[0] ** 2
    left, right = pairs.equations(model.memory)
    prior = np.diag(1 / widths**2)
    means = np.linalg.solve(precision * left + prior, (precision * right + centres / widths**2)[:, :, None])[:, :, 0]
    now, cross, old = pairs.squares(means)
    memory = float(np.clip(cross / max(old, 1e-300), -MOST, MOST))
    around = max(now - 2 * memory * cross + memory**2 * old, 0.0) / series.rows
    return model._replace(means=means, memory=memory, noise=np.full(model.states, np.sqrt(around)), tried=pairs.tried)


def slope(series: Series, model: Model, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivative of the likelihood by means, an array (states, arms), and by the logarithm of the noise, an array (1,)."""
    pairs = Pairs.of(series, model, states)
    precision = 1 / model.noise[0] ** 2
    left, right = pairs.equations(model.memory)
    now, cross, old = pairs.squares(model.means)
    around = now - 2 * model.memory * cross + model.memory**2 * old
    means = precision * (right - (left @ model.means[:, :, None])[:, :, 0])
    return means, np.array([around * precision - series.rows])


def of_rest(series: Series, means: np.ndarray) -> float:
    """Return the correlation of what is left of successive rows when their means are taken out."""
    rest = series.values - means
    pairs = np.flatnonzero(series.gaps[1:] == 1.0)
    now, old = rest[1:][pairs], rest[:-1][pairs]
    return float((now * old).sum() / max((rest**2).mean() * len(pairs), 1e-300)) if len(pairs) else 0.0

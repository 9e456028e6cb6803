"""A fitted chain of hidden states, as plain numbers."""

from typing import NamedTuple

import numpy as np

from latentbandits.logs import chain

# How rewards are spread around the means: normal with one noise; of 0 and 1; a mixture of normal components; normal with noise of every
# state; the same with the same means in all states, so that only the volatility changes; normal with autoregressive noise
NORMAL, BINARY, MIXTURE, HETEROSCEDASTIC, NOISE_ONLY, AUTOREGRESSIVE = (
    "normal",
    "binary",
    "mixture",
    "heteroscedastic",
    "noise-only",
    "autoregressive",
)


class Model(NamedTuple):
    """A chain of hidden states and what they pay, in the units of a series.

    Attributes
    ----------
    family : how rewards are spread
    means : array (states, arms)
    exit_prob, entry_prob : arrays (states,), see `latentbandits.logs.chain`
    noise : array (states,)
    components : array (components, 3) of weights, centres and widths; empty for other families
    tried : array (states, arms), expected rows
    log_lik : log-likelihood of all rows
    objective : the same with the logarithm of all priors
    tied : whether all states last equally long and are entered equally often, so that the chain is one number
    ar_coef : share of the noise that is left in the next round; `noise` is then what is new in a round
    """

    family: str
    means: np.ndarray
    exit_prob: np.ndarray
    entry_prob: np.ndarray
    noise: np.ndarray
    components: np.ndarray
    tried: np.ndarray
    log_lik: float = -np.inf
    objective: float = -np.inf
    tied: bool = False
    ar_coef: float = 0.0

    @property
    def num_states(self) -> int:
        """Number of states."""
        return len(self.exit_prob)

    @property
    def dwell(self) -> np.ndarray:
        """Rounds that every state lasts, on average."""
        return chain.mean_dwell(self.exit_prob, self.entry_prob)

    @property
    def shares(self) -> np.ndarray:
        """Share of time of every state."""
        return chain.stationary_probs(self.exit_prob, self.entry_prob)

    @property
    def spread(self) -> np.ndarray:
        """Standard deviation of a reward around its mean in every state, be the noise new or remembered."""
        return np.asarray(self.noise / np.sqrt(1 - self.ar_coef**2))

    @property
    def num_params(self) -> int:
        """Number of numbers that were fitted to rows: cells that the log never tried are not counted."""
        cells = self.means.shape[1] if self.family == NOISE_ONLY else int((self.tried >= 1).sum())
        noise_params = {
            NORMAL: 1,
            BINARY: 0,
            MIXTURE: 3 * len(self.components) - 2,
            HETEROSCEDASTIC: self.num_states,
            NOISE_ONLY: self.num_states,
            AUTOREGRESSIVE: 2,
        }
        chain_params = 0 if self.num_states == 1 else 1 if self.tied else 2 * self.num_states - 1
        return cells + chain_params + noise_params[self.family]

    def sort_states(self) -> "Model":
        """Return the same model with the most usual state first."""
        order = np.argsort(-self.shares, kind="stable")
        return self._replace(
            means=self.means[order],
            exit_prob=self.exit_prob[order],
            entry_prob=self.entry_prob[order],
            noise=self.noise[order],
            tried=self.tried[order],
        )

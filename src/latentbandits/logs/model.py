"""A fitted chain of hidden states, as plain numbers."""

from typing import NamedTuple

import numpy as np

from latentbandits.logs import chain

# How rewards are spread around the means: normal with one noise; of 0 and 1; a mixture of bells; normal with noise of every state;
# the same with means that are the same in all states, so that only the loudness changes; normal with noise that has a memory
NORMAL, BINARY, SHAPED, LOUD, LEVEL, MEMORY = "normal", "binary", "shaped", "loud", "level", "memory"


class Model(NamedTuple):
    """A chain of hidden states and what they pay, in the units of a series.

    Attributes
    ----------
    family : how rewards are spread
    means : array (states, arms)
    leave, enter : arrays (states,), see `latentbandits.logs.chain`
    noise : array (states,)
    shape : array (bells, 3) of weights, centres and widths; empty for other families
    tried : array (states, arms), expected rows
    likelihood : log-likelihood of all rows
    objective : the same with the logarithm of all priors
    alike : whether all states last equally long and are entered equally often, so that the chain is one number
    memory : share of the noise that is left in the next round; `noise` is then what is new in a round
    """

    family: str
    means: np.ndarray
    leave: np.ndarray
    enter: np.ndarray
    noise: np.ndarray
    shape: np.ndarray
    tried: np.ndarray
    likelihood: float = -np.inf
    objective: float = -np.inf
    alike: bool = False
    memory: float = 0.0

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self.leave)

    @property
    def dwell(self) -> np.ndarray:
        """Rounds that every state lasts, on average."""
        return chain.dwell(self.leave, self.enter)

    @property
    def shares(self) -> np.ndarray:
        """Share of time of every state."""
        return chain.shares(self.leave, self.enter)

    @property
    def spread(self) -> np.ndarray:
        """Standard deviation of a reward around its mean in every state, be the noise new or remembered."""
        return np.asarray(self.noise / np.sqrt(1 - self.memory**2))

    @property
    def parameters(self) -> int:
        """Number of numbers that were fitted to rows: cells that the log never tried are not counted."""
        cells = self.means.shape[1] if self.family == LEVEL else int((self.tried >= 1).sum())
        noises = {
            NORMAL: 1,
            BINARY: 0,
            SHAPED: 3 * len(self.shape) - 2,
            LOUD: self.states,
            LEVEL: self.states,
            MEMORY: 2,
        }
        chain_numbers = 0 if self.states == 1 else 1 if self.alike else 2 * self.states - 1
        return cells + chain_numbers + noises[self.family]

    def ordered(self) -> "Model":
        """Return the same model with the most usual state first."""
        order = np.argsort(-self.shares, kind="stable")
        return self._replace(
            means=self.means[order],
            leave=self.leave[order],
            enter=self.enter[order],
            noise=self.noise[order],
            tried=self.tried[order],
        )

"""What a simulation found: one row per policy and run, and how to sum it up."""

import importlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Summary(NamedTuple):
    """One policy over all runs.

    Attributes
    ----------
    label : the policy
    regret, low, high : mean cumulative regret per unit, and its 95 % interval over draws of the world
    optimal : share of rounds in which the best arm was played
    probes : probes per 1,000 rounds
    """

    label: str
    regret: float
    low: float
    high: float
    optimal: float
    probes: float


@dataclass(frozen=True)
class Results:
    """Paired results: run r of every policy met the same world.

    Attributes
    ----------
    labels : names of the policies
    horizon, draws, repeats, seed : what was run; run r is repeat ``r % repeats`` of draw ``r // repeats``
    regret_bins : array (policies, runs, bins), regret per unit that fell into each bin of rounds
    optimal_bins : array (policies, runs, bins), share of optimal arms in each bin
    counts : for each of probes, probe_rounds, residual_gate, margin_gate, staleness_gate an int array (policies, runs)
    """

    labels: tuple[str, ...]
    horizon: int
    draws: int
    repeats: int
    seed: int
    regret_bins: np.ndarray
    optimal_bins: np.ndarray
    counts: Mapping[str, np.ndarray]

    @property
    def regret(self) -> np.ndarray:
        """Cumulative regret per unit, an array (policies, runs)."""
        total: np.ndarray = self.regret_bins.sum(axis=2)
        return total

    @property
    def edges(self) -> np.ndarray:
        """First round of every bin, and the end of the last."""
        bins = self.regret_bins.shape[2]
        starts: np.ndarray = np.arange(bins + 1) * self.horizon // bins
        return starts

    @property
    def optimal(self) -> np.ndarray:
        """Share of rounds with the optimal arm, an array (policies, runs)."""
        weight = np.diff(self.edges) / self.horizon
        total: np.ndarray = np.minimum(self.optimal_bins @ weight, 1.0)
        return total

    def summary(self) -> list[Summary]:
        """Return one line per policy, lowest regret first.

        Examples
        --------
        >>> import latentbandits as lb
        >>> results = lb.simulate(lb.HiddenMarkov(), ["ucb1", "state-oracle"], horizon=100, draws=3, repeats=1)
        >>> [row.label for row in results.summary()]
        ['state-oracle', 'ucb1']
        """
        rows = []
        for i, label in enumerate(self.labels):
            mean, low, high = interval(self.regret[i].reshape(self.draws, self.repeats).mean(axis=1))
            probes = 1000 * self.counts["probes"][i].mean() / self.horizon
            rows.append(Summary(label, mean, low, high, float(self.optimal[i].mean()), float(probes)))
        return sorted(rows, key=lambda row: row.regret)

    def _repr_html_(self) -> str:
        # how results look is no part of them: what is imported by name does not count among the sources of a result
        return str(importlib.import_module("latentbandits.presentation.summary").shown(self))


def interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """Return the mean of independent values and its Student interval (of infinite width for a single value).

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.simulation.results import interval
    >>> tuple(round(x, 3) for x in interval(np.array([1.0, 2.0, 3.0])))
    (2.0, -0.484, 4.484)
    """
    from scipy.special import stdtrit

    mean, count = float(values.mean()), len(values)
    if count < 2:
        return mean, -np.inf, np.inf
    half = float(stdtrit(count - 1, 0.5 + level / 2)) * float(values.std(ddof=1)) / math.sqrt(count)
    return mean, mean - half, mean + half


def ratio(values: np.ndarray, reference: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """Return the ratio of two paired means and its interval over independent pairs (to first order).

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.simulation.results import ratio
    >>> ratio(np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0]))
    (2.0, 2.0, 2.0)
    """
    found = float(values.mean() / reference.mean())
    if found == 0:
        return 0.0, 0.0, 0.0
    _, low, high = interval((values - found * reference) / values.mean(), level)  # of the logarithm
    return found, found * float(np.exp(low)), found * float(np.exp(high))

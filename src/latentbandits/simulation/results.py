"""What a simulation found: one row per policy and run, and how to sum it up."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from latentbandits.settings import InvalidValueError

if TYPE_CHECKING:
    import pandas as pd


class Summary(NamedTuple):
    """One policy over all runs.

    Attributes
    ----------
    label : the policy
    regret, low, high : mean cumulative regret per group, and its 95 % interval over draws of the world
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
    regret_bins : array (policies, runs, bins), regret per group that fell into each bin of rounds
    optimal_bins : array (policies, runs, bins), share of optimal arms in each bin
    counts : for each of probes, probe_rounds, changes (of the best arm), found (those that a probe followed before the next), delay (rounds
        from these to their probes, in all), residual_gate, margin_gate, staleness_gate an int array (policies, runs)
    first : number of the first draw
    """

    labels: tuple[str, ...]
    horizon: int
    draws: int
    repeats: int
    seed: int
    regret_bins: np.ndarray
    optimal_bins: np.ndarray
    counts: Mapping[str, np.ndarray]
    first: int = 0

    @property
    def regret(self) -> np.ndarray:
        """Cumulative regret per group, an array (policies, runs)."""
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

    def frame(self) -> "pd.DataFrame":
        """Return a row per policy and run, with what identifies the run, its regret, its share of optimal arms and all counts.

        Examples
        --------
        >>> import latentbandits as lb
        >>> results = lb.simulate(lb.HiddenMarkov(), ["ucb1", "ts"], horizon=100, draws=3, repeats=2)
        >>> frame = results.frame()
        >>> len(frame), list(frame.columns[:5])
        (12, ['policy', 'draw', 'repeat', 'regret', 'optimal'])
        """
        import pandas as pd

        runs = np.tile(np.arange(self.draws * self.repeats), len(self.labels))
        columns = {
            "policy": np.repeat(np.array(self.labels, object), self.draws * self.repeats),
            "draw": self.first + runs // self.repeats,
            "repeat": runs % self.repeats,
            "regret": self.regret.ravel(),
            "optimal": self.optimal.ravel(),
            **{name: count.ravel() for name, count in self.counts.items()},
        }
        return pd.DataFrame(columns)

    def joined(self, other: "Results") -> "Results":
        """Return these results and others of the same rounds: of the draws that follow these, or of other policies on the same draws.

        Examples
        --------
        >>> import latentbandits as lb
        >>> def play(policy: str, first: int) -> lb.Results:
        ...     return lb.simulate(lb.HiddenMarkov(), [policy], horizon=100, draws=2, repeats=1, first=first)
        >>> both = play("ucb1", 0).joined(play("ucb1", 2)).joined(play("ts", 0).joined(play("ts", 2)))
        >>> both.labels, both.regret.shape
        (('ucb1', 'ts'), (2, 4))
        """
        bins, other_bins = self.regret_bins.shape[2], other.regret_bins.shape[2]
        for field, mine, theirs in (
            ("horizon", self.horizon, other.horizon),
            ("repeats", self.repeats, other.repeats),
            ("seed", self.seed, other.seed),
            ("bins", bins, other_bins),
        ):
            if mine != theirs:
                raise InvalidValueError("Results.joined", field, theirs, f"{mine}, as of the first")
        if self.labels == other.labels and other.first == self.first + self.draws:
            return self._with(other, 1, draws=self.draws + other.draws)
        if (self.first, self.draws) == (other.first, other.draws) and not set(self.labels) & set(other.labels):
            return self._with(other, 0, labels=(*self.labels, *other.labels))
        given = f"draws {other.first} to {other.first + other.draws - 1} of {', '.join(other.labels)}"
        last = self.first + self.draws
        rule = f"draws from {last} on of the same policies, or draws {self.first} to {last - 1} of others"
        raise InvalidValueError("Results.joined", "other", given, rule)

    def _with(self, other: "Results", axis: int, **changes: Any) -> "Results":
        return replace(
            self,
            regret_bins=np.concatenate([self.regret_bins, other.regret_bins], axis),
            optimal_bins=np.concatenate([self.optimal_bins, other.optimal_bins], axis),
            counts={name: np.concatenate([count, other.counts[name]], axis) for name, count in self.counts.items()},
            **changes,
        )

    def _repr_html_(self) -> str:
        import pandas as pd

        from latentbandits.presentation.html import frame

        return frame(pd.DataFrame(self.summary()).set_index("label"))


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
    quotient = float(values.mean() / reference.mean())
    if quotient == 0:
        return 0.0, 0.0, 0.0
    _, low, high = interval((values - quotient * reference) / values.mean(), level)  # of the logarithm
    return quotient, quotient * float(np.exp(low)), quotient * float(np.exp(high))

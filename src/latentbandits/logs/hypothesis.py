"""What a hypothesis about a log is: the kind of change that it stands for, in words, and how well it fits.

The file that fits a kind of change says everything about it: its names, its fit, its world. `hypotheses.py` lists all kinds.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from latentbandits.logs.series import Series
from latentbandits.logs.worlds import FittedWorld

Detail = TypeVar("Detail")


class Fit(Protocol):
    """A rival that was fitted."""

    @property
    def gain(self) -> float:
        """Log-likelihood beyond that of a log in which nothing changes."""

    @property
    def num_params(self) -> int:
        """How many numbers were fitted beyond those of such a log."""

    def world(self, series: Series, still: FittedWorld) -> FittedWorld | None:
        """Return a world that is as the log was: `still` if that never changes which arm is best, None if nothing was found."""


class Kind(NamedTuple):
    """A kind of change.

    Attributes
    ----------
    name : in files and in code
    phrase : in tables
    sentence : the conclusion where it wins
    fit : of rivals that are fitted to a series alone
    binary : whether that takes rewards of 0 and 1 as they are
    """

    name: str
    phrase: str
    sentence: str
    fit: Callable[[Series], Fit] | None = None
    binary: bool = False


class Hypothesis(NamedTuple):
    """One hypothesis about a log.

    Attributes
    ----------
    kind : what changes: the name of a `Kind`
    calendar : whether the calendar is part of it
    gain : log-likelihood beyond that of a log in which nothing changes
    num_params : how many numbers were fitted beyond those of such a log
    score : the gain, penalised for the numbers (BIC) and corrected for the shape, in nats
    shape_gain : what the same chain gains on shuffled rewards, where only a better shape can be gained; only where states differ
    rank_score : the score where only the order of an arm's rewards is left, to which no shape can add; of rivals with normal noise
    clipped_score : the score on rewards without outliers; of regimes, and of rivals with normal noise
    detail : what was fitted
    """

    kind: str
    calendar: bool
    gain: float
    num_params: int
    score: float
    shape_gain: float = 0.0
    rank_score: float = -np.inf
    clipped_score: float = -np.inf
    detail: object = None

    @property
    def name(self) -> str:
        """Its name in tables."""
        return f"calendar and {self.kind}" if self.calendar and self.kind != "calendar" else self.kind

    def fitted(self, kind: type[Detail]) -> Detail:
        """Return what was fitted, which must be of a type."""
        assert isinstance(self.detail, kind)
        return self.detail

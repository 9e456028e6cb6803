"""Field data: public traces, read from clones that users bring, since their files are not shipped.

`LATENTBANDITS_DATA`, or `latentbandits reproduce field --data DIR`, names a folder with clones or unpacked archives of the repositories in
`SOURCES`, and with folders of your own (a file ARM.trace for each arm).
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from latentbandits.protocols import Realisation
from latentbandits.settings import InvalidValueError
from latentbandits.worlds.recorded import Replay
from latentbandits_studies.data import formats
from latentbandits_studies.data.forecasters import FORECASTERS, Series, scores
from latentbandits_studies.data.replays import repeats

VARIABLE = "LATENTBANDITS_DATA"
RECORDED = " as recorded"  # ends the names of traces whose rounds repeat measurements
FAST = 60.0  # milliseconds
DEAREST, CHEAPEST = 400.0, -50.0  # EUR per MWh: prices count as if they were between
WEEK = 7
FEWEST_DAYS = 20 * WEEK  # ten weeks are the history of the forecasters
SHUFFLED = 0  # seed
FEWEST = 100  # rounds: fewer are not played, not even to show something


@dataclass(frozen=True, eq=False)
class Trace:
    """Rewards of all arms, recorded once or for several users at the same time.

    Attributes
    ----------
    name : its name
    rewards : array (records, rounds, arms), higher is better
    arms : the names of the arms
    round, unit : what a round is, and what the rewards are measured in
    seen : who learns what an arm paid: "tried" if only who plays it, "all" if everybody does
    units : how many arms may really be played in one round
    step : of so many recorded rounds one is kept, since the others repeat its measurement
    """

    name: str
    rewards: np.ndarray = field(repr=False)
    arms: tuple[str, ...]
    round: str
    unit: str
    seen: str = "tried"
    units: int = 1
    step: int = 1

    @property
    def world(self) -> "Traces":
        """The world that replays the records, one after the other for each draw."""
        return Traces(self.rewards)


@dataclass(frozen=True, eq=False, repr=False)
class Traces:
    """A world with a record for each draw: draw 0 plays the first one.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.data.traces import Traces
    >>> world = Traces(np.arange(12.0).reshape(2, 3, 2))
    >>> world.realise(2, 1, seed=0, draw=1, repeat=0).means.tolist()
    [[6.0, 7.0], [8.0, 9.0]]
    """

    rewards: np.ndarray

    @property
    def arms(self) -> int:
        """Number of arms."""
        return int(self.rewards.shape[2])

    @property
    def means(self) -> np.ndarray:
        """All rewards: what `specs.fair` looks at."""
        return self.rewards

    def realise(self, horizon: int, groups: int, seed: int, draw: int, repeat: int) -> Realisation:
        """Return the first rounds of a record; see `latentbandits.protocols.World`."""
        return Replay(self.rewards[draw % len(self.rewards)]).realise(horizon, groups, seed, draw, repeat)


class Source(NamedTuple):
    """A public repository: what to clone, on what terms, where its files are, and how they become traces."""

    repository: str
    licence: str
    place: str
    read: Callable[[Path], list[Trace]]


def _spot(folder: Path) -> list[Trace]:
    traces = []
    for place in sorted(path for path in folder.glob("*-node/*") if len(list(path.glob("*.json"))) > 1):
        arms, rewards = formats.zones(place)
        name = f"spot {place.parent.name} {place.name}"
        when = "a tick of the record; several jobs run at a time"
        traces.append(
            Trace(name, rewards[None], arms, when, "share of the instances asked for that the zone gives", units=2)
        )
    return traces


def _servers(folder: Path) -> list[Trace]:
    arms, rewards = formats.servers(folder)
    unit = "minus the logarithm of the round trip in seconds (3 at most)"
    return [
        Trace("nearest server", rewards, arms, "a slice of about 16 seconds, for each of 99 clients", unit, units=2)
    ]


def _carriers(folder: Path) -> list[Trace]:
    arms, taken = formats.pings(folder)
    when = "a second in which all three phones of a car have a ping"
    fast = Trace(
        f"carriers below {FAST:g} ms",
        (taken < FAST).astype(float)[None],
        arms,
        when,
        f"1 if the mean ping is below {FAST:g} ms",
    )
    slow = -np.log(np.minimum(taken, formats.LOST))[None]
    order = np.random.default_rng(SHUFFLED).permutation(len(taken))
    return [
        fast,
        replace(
            fast, name="carriers log ping", rewards=slow, unit="minus the logarithm of the mean ping in milliseconds"
        ),
        replace(
            fast, name="carriers shuffled", rewards=fast.rewards[:, order], round="the same seconds in random order"
        ),
    ]


def _prices(path: Path) -> list[Trace]:
    days, table = formats.prices(path)
    if len(days) < FEWEST_DAYS:
        raise InvalidValueError(
            "field", "days", len(days), f"at least {FEWEST_DAYS} on which all countries of {path} have a price"
        )
    cost = -np.clip(table, CHEAPEST, DEAREST)
    countries = Trace(
        "power by country", cost[None], formats.COUNTRIES, "a day", "minus the price of power, EUR per MWh", "all"
    )
    germany = scores(Series(days, table[:, formats.COUNTRIES.index("Germany")]), WEEK).values
    unit = "minus the absolute error of the forecast of tomorrow's price in Germany, EUR per MWh"
    return [countries, Trace("price forecasters", germany[None], tuple(FORECASTERS), "a day", unit, "all")]


SOURCES: Sequence[Source] = (
    Source("github.com/skypilot-org/spot-traces", "none stated", "availability", _spot),
    Source("github.com/uofa-rzhu3/NetLatency-Data", "MIT", "Seattle", _servers),
    Source("github.com/NUWiNS/pam2025-multi-carrier-dataset", "CC0", "datasets/raw_files/ping", _carriers),
    Source(
        "github.com/AdelinChaushev/Bulgarian-electricity-prices",
        "CC BY 4.0 (Ember)",
        "data/european_wholesale_electricity_price_data_daily.csv",
        _prices,
    ),
)


def folder() -> Path:
    """Return the folder of `LATENTBANDITS_DATA`, or refuse and say what to clone into one."""
    given = os.environ.get(VARIABLE, "")
    if not given or not Path(given).is_dir():
        raise _nothing(given)
    return Path(given)


def _nothing(given: str) -> InvalidValueError:
    clones = " ".join(f"https://{source.repository}" for source in SOURCES)
    rule = f"a folder in which `git clone` was run for some of {clones} (docs/field.md has the commands)"
    return InvalidValueError("reproduce field", "--data", given, rule)


def load(place: Path | None = None) -> list[Trace]:
    """Return all traces of a folder.

    A trace whose rounds repeat measurements comes twice: at honest steps, and as it was recorded.
    """
    return list(_load((place or folder()).resolve()))


@cache
def _load(place: Path) -> tuple[Trace, ...]:
    found: list[Trace] = []
    for source in SOURCES:
        there = [path for path in (place / source.place, *sorted(place.glob(f"*/{source.place}"))) if path.exists()]
        found += source.read(there[0]) if there else []
    for own in sorted({path.parent for pattern in ("*.trace", "*/*.trace") for path in place.glob(pattern)}):
        arms, rewards = formats.columns(own)
        found.append(Trace(own.name, rewards[None], arms, "a line", "as in the files"))
    if not found:
        raise _nothing(str(place))
    played = tuple(trace for one in found for trace in honest(one))
    for trace in played:
        if trace.rewards.shape[1] < FEWEST:
            rule = f"at least {FEWEST}, each with a measurement of its own: take its files out of {place}"
            raise InvalidValueError("field", f"rounds of {trace.name}", trace.rewards.shape[1], rule)
    return played


def honest(trace: Trace) -> list[Trace]:
    """Return a trace alone if every round has a measurement of its own, else at honest steps and as it was recorded.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits_studies.data.traces import Trace, honest
    >>> packets = np.repeat(np.random.default_rng(0).random((1, 300, 2)), 4, axis=1)
    >>> [(one.name, one.rewards.shape) for one in honest(Trace("packets", packets, ("A", "B"), "a packet", "bits"))]
    [('packets', (1, 300, 2)), ('packets as recorded', (1, 1200, 2))]
    """
    step = repeats(trace.rewards)
    if step == 1:
        return [trace]
    kept = replace(trace, rewards=np.ascontiguousarray(trace.rewards[:, ::step]), step=step)
    return [kept, replace(trace, name=trace.name + RECORDED)]

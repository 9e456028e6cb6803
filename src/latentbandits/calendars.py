"""Features of the hour and the weekday, for policies that observe features."""

from datetime import datetime
from typing import Any

import numpy as np

from latentbandits.settings import InvalidValueError, boolean

_DAY = 86400  # seconds
_FIRST = 3  # the epoch began on a Thursday; weekdays are counted from Monday
_LATEST = 253402300800  # the end of the year 9999; milliseconds of our time are beyond it
_FINER = {"milliseconds": 1e3, "microseconds": 1e6, "nanoseconds": 1e9}  # than seconds
_COARSE = ("Y", "M", "W")  # units that have neither hours nor weekdays
_ONE = "a datetime, a datetime64 or seconds since the epoch"
_ALL = f"{_ONE}, or a sequence of one of them"


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
    """Return an array of datetime64 or of numbers, or refuse."""
    try:
        values = np.asarray(timestamps)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValueError("calendar", "timestamps", timestamps, _ALL) from None
    if values.ndim > 1:
        raise InvalidValueError("calendar", "timestamps", values.shape, "one axis at most", ".shape")
    if values.dtype.kind not in "MiufO":
        raise InvalidValueError("calendar", "timestamps", timestamps, _ALL)
    if np.ma.is_masked(timestamps):
        at = int(np.flatnonzero(np.ma.getmaskarray(timestamps))[0])
        raise InvalidValueError(
            "calendar", "timestamps", True, "False, since no timestamp may be missing", f".mask{_at(values, at)}"
        )
    if values.dtype.kind == "O":
        return _shown(values)
    wrong = np.isnat(values) if values.dtype.kind == "M" else ~(np.abs(values.astype(float)) <= _LATEST)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise _refusal(values, at, _looks_like(values.flat[at]))
    if values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] in _COARSE:
        raise InvalidValueError("calendar", "timestamps", str(values.dtype), "datetime64[D] or finer", ".dtype")
    return values if values.dtype.kind == "M" else values.astype(float)


def _shown(values: np.ndarray) -> np.ndarray:
    """Return datetimes as their clocks show them, or refuse."""
    for at, value in enumerate(values.flat):
        if not isinstance(value, datetime) or value != value:  # pandas has datetimes that are none
            raise _refusal(values, at)
    zoned = [value.utcoffset() is not None for value in values.flat]
    if len(set(zoned)) > 1:
        at, word = zoned.index(not zoned[0]), "with" if zoned[0] else "without"
        raise InvalidValueError(
            "calendar", "timestamps", values[at], f"one {word} a time zone, as timestamps[0] is", f"[{at}]"
        )
    return np.array([value.replace(tzinfo=None) for value in values.flat], "datetime64[us]").reshape(values.shape)


def _refusal(values: np.ndarray, at: int, hint: str = "") -> InvalidValueError:
    """Return what refuses one of the timestamps."""
    rule = f"{_ONE}, of one kind with the others" if values.ndim else _ALL
    return InvalidValueError("calendar", "timestamps", values.flat[at], rule + hint, _at(values, at))


def _at(values: np.ndarray, at: int) -> str:
    """Return which of the timestamps it is; a single one needs no number."""
    return f"[{at}]" if values.ndim else ""


def _looks_like(value: Any) -> str:
    """Return a hint at the unit of a number that is too large for seconds, or nothing."""
    for unit, size in _FINER.items():
        if not isinstance(value, np.datetime64) and abs(float(value)) / size <= _LATEST:
            return f" (this looks like {unit})"
    return ""


def _seconds_and_weekday(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the seconds since midnight, and the weekday counted from Monday."""
    if values.dtype.kind == "M":
        days = values.astype("datetime64[D]")
        return (values - days) / np.timedelta64(1, "s"), (days.astype(np.int64) + _FIRST) % 7
    days = np.floor(values / _DAY)
    return values - days * _DAY, (days.astype(np.int64) + _FIRST) % 7

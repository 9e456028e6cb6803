"""Features of the hour and the weekday."""

import math
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pytest

import latentbandits as lb

WEEK = [datetime(2026, 11, 16) + timedelta(hours=hour) for hour in range(7 * 24)]  # from a Monday


def test_columns_of_the_hour() -> None:
    found = lb.calendar(WEEK, weekdays=False)
    assert found.shape == (168, 4)
    for moment, row in zip(WEEK, found, strict=True):
        angle = 2 * math.pi * moment.hour / 24
        expected = [math.sin(angle), math.cos(angle), math.sin(2 * angle), math.cos(2 * angle)]
        assert row == pytest.approx(expected, abs=1e-12)
    minutes = lb.calendar(datetime(2026, 11, 16, 5, 59, 59, 999999), weekdays=False)
    assert minutes == pytest.approx([1, 0, 0, -1], abs=1e-8)
    assert minutes[0] < 1 or minutes[1] > 0


def test_columns_of_the_weekday() -> None:
    found = lb.calendar(WEEK, hours=False)
    assert found.shape == (168, 6)
    for moment, row in zip(WEEK, found, strict=True):
        day = moment.weekday()
        assert row.tolist() == ([-1.0] * 6 if day == 6 else [float(each == day) for each in range(6)])


def test_ten_columns_are_independent_and_zero_on_average() -> None:
    found = lb.calendar(WEEK)
    assert (found == np.hstack([lb.calendar(WEEK, weekdays=False), lb.calendar(WEEK, hours=False)])).all()
    assert found.mean(axis=0) == pytest.approx(np.zeros(10), abs=1e-12)
    assert np.linalg.matrix_rank(np.hstack([found, np.ones((168, 1))])) == 11


@pytest.mark.parametrize("group", ["h", "m", "s", "ms", "us", "ns"])
def test_datetime64_of_any_unit(group: str) -> None:
    found = lb.calendar(np.array(WEEK, f"datetime64[{group}]"))
    assert found == pytest.approx(lb.calendar(WEEK), abs=1e-12)


def test_datetime64_of_days_stand_for_midnight() -> None:
    found = lb.calendar(np.array(["2026-11-22", "1969-12-31"], "datetime64[D]"))
    assert found[:, :4].tolist() == [[0, 1, 0, 1]] * 2
    assert found[:, 4:].tolist() == [[-1.0] * 6, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]  # Sunday, and a Wednesday


def test_seconds_since_the_epoch_are_in_utc() -> None:
    moments = [*WEEK, datetime(1969, 7, 20, 20, 17, 40), datetime(1, 1, 1), datetime(9999, 12, 31, 23)]
    seconds = [moment.replace(tzinfo=UTC).timestamp() for moment in moments]
    for given in (seconds, np.array(seconds), np.array(seconds, np.int64), [int(second) for second in seconds]):
        assert lb.calendar(given) == pytest.approx(lb.calendar(moments), abs=1e-9)
    assert lb.calendar(np.array([7], np.uint8)) == pytest.approx(lb.calendar([7.0]))


def test_a_time_zone_means_local_time() -> None:
    evening = datetime(
        2026, 11, 17, 23, 30, tzinfo=timezone(timedelta(hours=-8))
    )  # a Tuesday there, and Wednesday in UTC
    assert (lb.calendar(evening) == lb.calendar(datetime(2026, 11, 17, 23, 30))).all()
    here, there = lb.calendar([evening, evening.astimezone(UTC)]).tolist()
    assert here == lb.calendar(evening).tolist() != there


def test_pandas() -> None:
    index = pd.date_range("2026-11-16", periods=168, freq="h")
    for given in (index, pd.Series(index), index.tz_localize("America/New_York"), list(index)):
        assert lb.calendar(given) == pytest.approx(lb.calendar(WEEK), abs=1e-12)


def test_a_single_timestamp_is_one_row() -> None:
    for one in (WEEK[5], np.datetime64(WEEK[5]), WEEK[5].replace(tzinfo=UTC).timestamp(), np.array(WEEK[5])):
        assert lb.calendar(one).shape == (10,)
        assert lb.calendar(one) == pytest.approx(lb.calendar([WEEK[5]])[0], abs=1e-12)
    assert lb.calendar([]).shape == (0, 10)
    assert lb.calendar([WEEK[0]]).shape == (1, 10)


@pytest.mark.parametrize(
    "timestamps",
    [
        "2026-11-17",
        ["2026-11-17"],
        None,
        True,
        [True, False],
        math.nan,
        [0.0, math.inf],
        1e30,
        1794873600 * 1000,  # milliseconds
        [0, 1794873600 * 1000],
        [WEEK[0], None],
        [WEEK[0], 5],
        date(2026, 11, 17),
        [pd.Timestamp("2026-11-17", tz="UTC"), pd.NaT],
        pd.Series([pd.Timestamp("2026-11-17"), None]),
        np.datetime64("NaT"),
        [WEEK[0], np.datetime64("2026-11-17")],
        np.array(["2026-11-17", "NaT"], "datetime64[s]"),
        np.array(["2026-11-17"], "datetime64[W]"),
        np.array(["2026-11-17"], "datetime64[M]"),
        np.ma.masked_array(np.array(WEEK[:2], "datetime64[s]"), [False, True]),
        [[0.0, 1.0]],
        [[0.0], [1.0, 2.0]],
        1 + 1j,
        {"when": 0},
    ],
)
def test_bad_timestamps_are_refused(timestamps: Any) -> None:
    with pytest.raises(lb.InvalidValueError, match=r"calendar: timestamps is .* but must be a datetime, a datetime64"):
        lb.calendar(timestamps)


def test_bad_options_are_refused() -> None:
    with pytest.raises(lb.InvalidValueError, match="calendar: hours is 4 but must be True or False"):
        lb.calendar(0, hours=4)  # type: ignore[arg-type]
    with pytest.raises(
        lb.InvalidValueError, match="calendar: hours is False but must be True, since weekdays is False"
    ):
        lb.calendar(0, hours=False, weekdays=False)


def test_options_may_be_booleans_of_numpy() -> None:
    assert (lb.calendar(WEEK, hours=np.True_, weekdays=np.False_) == lb.calendar(WEEK, weekdays=False)).all()  # type: ignore[arg-type]

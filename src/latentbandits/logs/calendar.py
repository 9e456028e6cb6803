"""What the calendar explains: hours of the day and days of the week, for all arms alike or for each its own."""

from typing import NamedTuple

import numpy as np

from latentbandits.logs.em import constant_log_lik, penalise, profile_log_lik
from latentbandits.logs.hypothesis import Kind
from latentbandits.logs.regression import expit, least_squares, logistic
from latentbandits.logs.series import Series

CALENDAR = "calendar"
KIND = Kind(CALENDAR, "the calendar", "It follows the calendar; no regimes are needed")
# Days that a log must last before hours, weekends, or days of the week can be told from chance
DAYS, WEEKEND, WEEKS = 2.0, 9.0, 14.0
PARTS = 48  # of a day
HOURS, WEEK = ("", "waves", "block", "hours"), ("", "weekend", "weekdays")
SHORTEST = 4  # parts of a day that a block lasts, at least


class Calendar(NamedTuple):
    """A calendar that was fitted.

    Attributes
    ----------
    hours : "", "waves" (two harmonics of the day), "block" (one part of the day, such as office hours) or "hours" (every hour its own)
    week : "", "weekend" or "weekdays" (every day its own)
    per_arm : whether every arm has a calendar of its own
    gain : log-likelihood beyond that of a log in which nothing changes
    num_params : how many numbers were fitted
    offsets : array (rows,), what the calendar adds to every row: to its value, or to its log-odds if rewards are 0 and 1
    share : of the variance around the arms' means that it explains
    block : the first part of the day inside a block, and the first after it
    """

    hours: str
    week: str
    per_arm: bool
    gain: float
    num_params: int
    offsets: np.ndarray
    share: float
    block: tuple[int, int] = (0, 0)

    def design(self, series: Series, times: np.ndarray) -> np.ndarray:
        """Return its columns for every row, an array (rows, columns)."""
        shape = design_columns(self.hours, self.week, _part_of_day(times), _weekday(times), self.block)
        if not self.per_arm:
            return shape
        return np.hstack([shape * (series.arms == arm)[:, None] for arm in range(series.width)])

    @property
    def words(self) -> str:
        """What it consists of."""
        named = {
            "waves": "the time of day",
            "block": "a part of the day",
            "hours": "the hour of the day",
            "weekend": "weekends",
            "weekdays": "the day of the week",
        }
        parts = " and ".join(named[part] for part in (self.hours, self.week) if part)
        return f"{parts}, {'every arm its own' if self.per_arm else 'the same for all arms'}"


def designs(times: np.ndarray) -> list[tuple[str, str, bool]]:
    """Return the calendars that a log is long enough for."""
    days = (times[-1] - times[0]) / np.timedelta64(1, "D") if len(times) else 0.0
    hours = HOURS if days >= DAYS and len(np.unique(_part_of_day(times) // 2)) > 2 else HOURS[:1]
    week = WEEK if days >= WEEKS else WEEK[:2] if days >= WEEKEND else WEEK[:1]
    return [(h, w, own) for h in hours for w in week for own in (False, True) if h or w]


def _part_of_day(times: np.ndarray) -> np.ndarray:
    seconds = (times - times.astype("datetime64[D]")) / np.timedelta64(1, "s")
    return np.asarray((seconds * PARTS / 86400).astype(np.int64))


def _weekday(times: np.ndarray) -> np.ndarray:
    return np.asarray((times.astype("datetime64[D]").astype(np.int64) + 3) % 7)  # the epoch was a Thursday; 0 is Monday


def design_columns(
    hours: str, week: str, part: np.ndarray, weekday: np.ndarray, block: tuple[int, int] = (0, 0)
) -> np.ndarray:
    """Return the columns of a calendar for times given as parts of a day and days of the week; a block goes from a part to another."""
    columns = []
    if hours == "block":
        begin, end = block  # which may go over midnight
        columns.append(((part - begin) % PARTS < (end - begin) % PARTS).astype(float))
    if hours == "waves":
        angle = 2 * np.pi * (part + 0.5) / PARTS
        columns += [np.sin(angle), np.cos(angle), np.sin(2 * angle), np.cos(2 * angle)]
    elif hours == "hours":
        columns += [(part // 2 == hour).astype(float) for hour in range(1, 24)]
    if week == "weekend":
        columns.append((weekday >= 5).astype(float))
    elif week == "weekdays":
        columns += [(weekday == day).astype(float) for day in range(1, 7)]
    return np.stack(columns, axis=1)


def best_block(count: int, used: np.ndarray, tried: np.ndarray, sums: np.ndarray, per_arm: bool) -> tuple[int, int]:
    """Return the block of the day, for sums of rows, that explains most by least squares around the arms' means."""
    arm, part = used % count, used // count % PARTS
    table, rows = np.zeros((count, PARTS)), np.zeros((count, PARTS))
    np.add.at(rows, (arm, part), tried)
    np.add.at(table, (arm, part), sums)
    centres = table.sum(axis=1, keepdims=True) / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    off = table - rows * centres
    best, block = -1.0, (0, SHORTEST)
    for begin in range(PARTS):
        for length in range(SHORTEST, PARTS - SHORTEST + 1):
            inside = (begin + np.arange(length)) % PARTS
            part_of, number = off[:, inside].sum(axis=1), rows[:, inside].sum(axis=1)
            weight = number * (1 - number / np.maximum(rows.sum(axis=1), 1))
            if per_arm:
                worth = float((part_of**2 / np.maximum(weight, 1e-9))[weight > 0].sum())
            else:
                worth = float(part_of.sum() ** 2 / max(weight.sum(), 1e-9))
            if worth > best:
                best, block = worth, (begin, begin + length)
    return block


def best_calendar(series: Series, times: np.ndarray) -> Calendar | None:
    """Return the best calendar that a log is long enough for, by its penalised gain; None if there is none."""
    calendars = [fit_calendar(series, times, *design) for design in designs(times)]
    return max(calendars, key=lambda fitted: penalise(series, fitted.gain, fitted.num_params), default=None)


def fit_calendar(series: Series, times: np.ndarray, hours: str, week: str, per_arm: bool) -> Calendar:
    """Return one calendar, fitted by least squares, or by logistic regression to rewards of 0 and 1.

    Rows of one arm at one time of the week are alike to every calendar, so only their sums are needed.
    """
    part, weekday = _part_of_day(times), _weekday(times)
    cells = (weekday * PARTS + part) * series.width + series.arms
    size = 7 * PARTS * series.width
    tried, sums = np.bincount(cells, minlength=size), np.bincount(cells, series.values, minlength=size)
    used = np.flatnonzero(tried)
    tried, sums = tried[used].astype(float), sums[used]
    arm = np.eye(series.width)[used % series.width]
    block = best_block(series.width, used, tried, sums, per_arm) if hours == "block" else (0, 0)
    shape = design_columns(hours, week, used // series.width % PARTS, used // series.width // PARTS, block)
    effects = np.hstack([shape * arm[:, [k]] for k in range(series.width)]) if per_arm else shape
    effects = effects[:, effects.any(axis=0)]
    design = np.hstack([arm, effects])
    if series.binary:
        place = np.searchsorted(used, cells)
        logit_offset = series.logit_offset if len(series.logit_offset) else np.zeros(series.rows)

        def expected(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            if not len(series.logit_offset):
                return tried * expit(logits), tried * expit(logits) * (1 - expit(logits))
            chance = expit(logits[place] + logit_offset)
            return np.bincount(place, chance), np.bincount(place, chance * (1 - chance))

        weights = logistic(design, sums, expected)
        chance = expit((design @ weights)[place] + logit_offset)
        gain = float(np.log(np.where(series.values > 0.5, chance, 1 - chance)).sum()) - constant_log_lik(series)
        constant_squares, squares_left = (
            float(((series.values - means) ** 2).sum()) for means in (series.shares, chance)
        )
    else:
        weights = least_squares(design, tried, sums / tried)
        means = design @ weights
        constant_squares = float(((series.values - series.centres[series.arms]) ** 2).sum())
        within = float((series.values**2).sum()) - float((sums**2 / tried).sum())
        squares_left = within + float((tried * (sums / tried - means) ** 2).sum())
        gain = profile_log_lik(series.rows, squares_left) - profile_log_lik(series.rows, constant_squares)
    offset = np.zeros(size)
    offset[used] = effects @ weights[series.width :]
    offsets = offset[cells]
    explained = max(0.0, 1 - squares_left / constant_squares) if constant_squares > 0 else 0.0
    num_params = effects.shape[1] + (2 if hours == "block" else 0)  # where a block begins and ends was searched for
    return Calendar(hours, week, per_arm, gain, num_params, offsets - offsets.mean(), explained, block)

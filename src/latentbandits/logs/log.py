"""A log of decisions: what was played, what it paid, and, as far as it is known, when, to whom and with which probability."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pandas as pd

from latentbandits.logs.reading import (
    OWNER,
    Bad,
    Table,
    choose_columns,
    parse_arms,
    parse_numbers,
    parse_times,
    read_table,
)
from latentbandits.presentation.numbers import counted
from latentbandits.settings import InvalidValueError

# A pause this many times as long as usual is a gap: as many rounds have gone by as fit into it
PAUSE = 50.0
MOST_BAD = 0.5
# Share of rewards, or of times, that differ from all others, and how many rewards at least; rows within which a retry is looked for
DISTINCT, FEWEST_DISTINCT, BACK = 0.95, 20, 3


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """Decisions in order of time, one row each.

    `Log.read` makes one from a file or a frame.

    Attributes
    ----------
    arms : the names of the arms
    played : int array (rows,), the arm of every row, a position in `arms`
    rewards : array (rows,)
    times : array (rows,) of datetime64, or of numbers such as rounds; None if there are none
    clock : array (rows,), the times as a clock on the wall showed them, for the calendar; None if they are no dates
    subjects : array (rows,), to whom; rows with one time are then one round. None if every row is a round of its own
    propensities : array (rows,), the probability with which the arm was played; None if unknown
    context : name -> array (rows,), numbers that were known before the decision
    gaps : array (rows,), rounds since the row before, 0 within a round
    columns : role -> column, as it was read
    guessed : the roles whose column was guessed
    bad : the rows that were left out, by reason, with lines
    sorted : whether the rows were in order of time
    source : where it comes from
    """

    arms: tuple[int | str, ...]
    played: np.ndarray
    rewards: np.ndarray
    times: np.ndarray | None = None
    subjects: np.ndarray | None = None
    propensities: np.ndarray | None = None
    context: Mapping[str, np.ndarray] = field(default_factory=dict)
    gaps: np.ndarray = field(default_factory=lambda: np.zeros(0))
    columns: Mapping[str, str] = field(default_factory=dict)
    guessed: tuple[str, ...] = ()
    bad: tuple[Bad, ...] = ()
    sorted: bool = True
    source: str = ""
    clock: np.ndarray | None = None

    @classmethod
    def read(
        cls,
        source: object,
        *,
        arm: str | None = None,
        reward: str | None = None,
        time: str | None = None,
        subject: str | None = None,
        propensity: str | None = None,
        context: Sequence[str] = (),
        day_first: bool | None = None,
    ) -> Self:
        """Return the log in a file, a frame or a mapping.

        Parameters
        ----------
        source : path, data frame or mapping
            A CSV file (or .csv.gz) with a line of names, a Parquet file, a frame of pandas, polars or Arrow, or a dict of columns, such as
            the feedback of Open Bandit Pipeline.
        arm, reward, time, subject, propensity : str, optional
            The columns; guessed by their names if not given (`guessed` says which). `time` is a date, a number of seconds since 1970, or
            the number of the round. With `subject`, rows that have one time are one round.
        context : sequence of str
            Columns of numbers that were known before the decision.
        day_first : bool, optional
            Whether 3/4/2025 is in April; if not given, the column as a whole must tell.

        Examples
        --------
        >>> import pandas as pd
        >>> import latentbandits as lb
        >>> days = ["2026-01-01", "2026-01-02", "2026-01-03", ""]
        >>> frame = pd.DataFrame({"banner": ["a", "b", "a", None], "click": [0, 1, 1, 0], "at": days})
        >>> log = lb.Log.read(frame, arm="banner")
        >>> log
        <Log: 3 rows, 2 arms, 1 row left out>
        >>> log.guessed, log.bad
        (('reward', 'time'), (Bad(reason='no arm', rows=1, lines=(4,)),))
        """
        table = read_table(source)
        if not len(table.lines) and not table.reasons:
            raise InvalidValueError(OWNER, "rows that can be used", 0, "most of them (it has no rows)")
        if isinstance(context, str):
            raise InvalidValueError(OWNER, "context", context, "a list of columns")
        given = {"arm": arm, "reward": reward, "time": time, "subject": subject, "propensity": propensity}
        columns, guessed = choose_columns(table, given)
        for name in context:
            if name not in table.columns or name in columns.values():
                rule = f"one of the columns {', '.join(table.columns)} that nothing else uses"
                raise InvalidValueError(OWNER, "context", name, rule)
        if "subject" in columns and "time" not in columns:
            rule = "given with a time: rows of one time are one round"
            raise InvalidValueError(OWNER, "subject", columns["subject"], rule)
        cells = {role: table.columns[column] for role, column in columns.items()}
        played, arms = parse_arms(cells["arm"], table)
        parsed = {"rewards": parse_numbers(cells["reward"], "reward", table)}
        if "time" in cells:
            parsed["times"], parsed["clock"] = parse_times(cells["time"], table, day_first)
            if parsed["times"].dtype.kind == "M":
                table.mark(find_duplicates(table, parsed["times"]), "a copy of a row before, in all columns")
            else:
                del parsed["clock"]
        if "propensity" in cells:
            parsed["propensities"] = parse_numbers(cells["propensity"], "propensity", table)
            with np.errstate(invalid="ignore"):
                possible = (parsed["propensities"] > 0) & (parsed["propensities"] <= 1)
            table.mark(~possible, "a propensity that is not above 0 and at most 1")
        features = {name: parse_numbers(table.columns[name], name, table) for name in context}
        if "subject" in cells:
            parsed["subjects"] = pd.factorize(pd.Series(cells["subject"]))[0]
        rows, bad = np.flatnonzero(~table.bad), table.summary()
        if len(rows) < 2 or len(rows) < MOST_BAD * (len(rows) + sum(each.rows for each in bad)):
            reasons = "; ".join(map(str, bad)) or "it has no rows"
            raise InvalidValueError(OWNER, "rows that can be used", len(rows), f"most of them ({reasons})")
        in_order = True
        if "times" in parsed:
            times = parsed["times"][rows]
            in_order = bool((times[1:] >= times[:-1]).all())
            rows = rows if in_order else rows[np.argsort(times, kind="stable")]
        retried = find_retries(played[rows], parsed["rewards"][rows])
        if retried.any():
            again = np.zeros(len(played), bool)
            again[rows[retried]] = True
            table.mark(
                again, "a reward of many digits that repeats one just before: a retry, which would look like drift"
            )
            rows, bad = rows[~retried], table.summary()
        used, place = np.unique(played[rows], return_inverse=True)
        parsed = {name: values[rows] for name, values in parsed.items()}
        return cls(
            tuple(arms[arm] for arm in used),
            place.astype(np.int64),
            **parsed,
            context={name: values[rows] for name, values in features.items()},
            gaps=count_gaps(parsed.get("times"), parsed.get("subjects"), len(rows)),
            columns=columns,
            guessed=guessed,
            bad=bad,
            sorted=in_order,
            source=table.source,
        )

    def __len__(self) -> int:
        return len(self.rewards)

    def __repr__(self) -> str:
        left_out = f", {counted(self.left_out, 'row')} left out" if self.left_out else ""
        return f"<Log: {counted(len(self), 'row')}, {counted(len(self.arms), 'arm')}{left_out}>"

    @property
    def left_out(self) -> int:
        """Number of rows that could not be used."""
        return sum(bad.rows for bad in self.bad)

    @property
    def dated(self) -> bool:
        """Whether the times are dates."""
        return self.times is not None and self.times.dtype.kind == "M"

    def above(self, value: float) -> Self:
        """Return the same log with a reward of 1 where it is above a value, and 0 elsewhere."""
        return dataclasses.replace(self, rewards=(self.rewards > value).astype(float))

    def text(self) -> str:
        """Return what was read, in a few lines: columns, and rows that were left out."""
        roles = [
            f"{role} = {column}{' (guessed)' if role in self.guessed else ''}" for role, column in self.columns.items()
        ]
        named = f"; columns: {', '.join(roles)}" if roles else ""
        lines = [f"{counted(len(self), 'row')} of {counted(len(self.arms), 'arm')}{named}."]
        if self.bad:
            lines.append(f"{counted(self.left_out, 'row')} left out: {'; '.join(map(str, self.bad))}.")
        if not self.sorted:
            lines.append("The rows were not in order of time; they are now.")
        return "\n".join(lines)


def find_duplicates(table: Table, times: np.ndarray) -> np.ndarray:
    """Return which rows are copies of rows before; none where rows often share a time, so that equal rows may well be several."""
    copies = pd.DataFrame(dict(table.columns)).duplicated().to_numpy()
    left = times[~copies]
    return np.asarray(copies & (len(np.unique(left)) >= DISTINCT * len(left)))


def find_retries(played: np.ndarray, rewards: np.ndarray) -> np.ndarray:
    """Return which rows have the arm and the reward of one of the rows just before, if rewards otherwise hardly ever come again.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.logs.log import find_retries
    >>> np.flatnonzero(find_retries(np.zeros(31), np.repeat(np.arange(30.0), 1 + (np.arange(30) == 7))))
    array([8])
    """
    again = np.zeros(len(rewards), bool)
    for back in range(1, min(BACK, len(rewards) - 1) + 1):
        again[back:] |= (rewards[back:] == rewards[:-back]) & (played[back:] == played[:-back])
    left = rewards[~again]
    return again & (len(np.unique(left)) >= max(DISTINCT * len(left), FEWEST_DISTINCT))


def count_gaps(times: np.ndarray | None, subjects: np.ndarray | None, rows: int) -> np.ndarray:
    """Return the rounds since the row before: 0 for rows of one round, several after a pause.

    Rows are rounds, unless times are whole numbers (of rounds) or there are subjects. After a pause of more than 50 usual steps the rounds
    that fit into it have gone by.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.logs.log import count_gaps
    >>> count_gaps(np.array([0.0, 1.0, 1.0, 2.0, 9.0]), None, 5).tolist()
    [1.0, 1.0, 0.0, 1.0, 7.0]
    """
    gaps = np.ones(rows)
    if times is None or rows < 2:
        return gaps
    dated = times.dtype.kind == "M"
    steps = np.diff(times) / np.timedelta64(1, "us") if dated else np.diff(times)
    if not dated and (times % 1 == 0).all():
        gaps[1:] = steps
        return gaps
    if subjects is not None:
        gaps[1:] = steps > 0
    usual = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
    if usual > 0:
        paused = steps > PAUSE * usual
        gaps[1:][paused] = np.round(steps[paused] / usual)
    return gaps

"""Which column of a log is what, and what its cells mean; cells that mean nothing are counted, with their lines."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from latentbandits.logs.formats import OWNER, Table
from latentbandits.protocols import LARGEST_REWARD
from latentbandits.settings import Refusal, nearest

# Names that a column usually has, the most usual first
USUAL: Mapping[str, tuple[str, ...]] = {
    "arm": (
        "arm", "action", "arm_id", "action_id", "variant", "banner", "ad", "option", "choice", "treatment", "item", "model", "group",
        "version", "price", "offer", "campaign", "chosen",
    ),
    "reward": (
        "reward", "click", "clicked", "clicks", "conversion", "converted", "revenue", "payoff", "outcome", "success", "rating", "score",
        "value", "purchase", "sale", "y",
    ),
    "time": (
        "at", "time", "timestamp", "ts", "datetime", "date", "created_at", "when", "decided_at", "round", "step", "t",
    ),
    "unit": ("unit",),
    "propensity": ("propensity", "probability", "pscore", "prob", "action_prob", "_label_probability", "p"),
}  # fmt: skip
NEEDED = ("arm", "reward")
MOST_ARMS = 1000
# Numbers of this size are seconds, milliseconds, microseconds or nanoseconds since 1970: from 1990 to 2100
SECONDS = (6.3e8, 4.1e9)
TRUE = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


class Bad(NamedTuple):
    """Rows that could not be used for one reason: why, how many, and on which lines (the first of them)."""

    reason: str
    rows: int
    lines: tuple[int, ...]


def choose_columns(table: Table, given: Mapping[str, str | None]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the column of every role, and the roles whose column was guessed; or refuse.

    Examples
    --------
    >>> import numpy as np
    >>> from latentbandits.logs.columns import choose_columns
    >>> from latentbandits.logs.formats import Table
    >>> cells = np.zeros(2)
    >>> table = Table({"At": cells, "banner": cells, "click": cells, "page": cells}, np.arange(2), {}, "")
    >>> choose_columns(table, {"arm": "banner"})
    ({'arm': 'banner', 'reward': 'click', 'time': 'At'}, ('reward', 'time'))
    """
    columns = list(table.columns)
    chosen: dict[str, str] = {}
    guessed = []
    for role in USUAL:
        column = given.get(role)
        if column is not None:
            if column not in columns:
                raise Refusal(
                    OWNER, role, column, f"one of the columns {', '.join(columns)}{nearest(str(column), columns)}"
                )
            chosen[role] = column
    for role, parse_arms in USUAL.items():
        if role in chosen:
            continue
        lower = {name.lower(): name for name in reversed(columns) if name not in chosen.values()}
        similar = [column for column in lower.values() if role == _role(column)]
        match = next((lower[name] for name in parse_arms if name in lower), similar[0] if len(similar) == 1 else None)
        if match is not None:
            chosen[role] = match
            guessed.append(role)
        elif role in NEEDED:
            raise Refusal(OWNER, f"column of the {role}", None, f"named, one of {', '.join(columns) or 'none at all'}")
    return {role: chosen[role] for role in USUAL if role in chosen}, tuple(guessed)


def _role(column: str) -> str | None:
    """Return what a name of several words says that a column is: by its last word (`click_value`), else by its first (`banner_id`)."""
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", column).lower())
    for word in (words[-1], words[0]) if len(words) > 1 else ():
        for role, usual in USUAL.items():
            if len(word) > 1 and word in usual:
                return role
    return None


class Faults:
    """The rows that cannot be used, and why: the first reason counts."""

    def __init__(self, table: Table) -> None:
        self.lines = table.lines
        self.bad = np.zeros(len(table.lines), bool)
        self._found: dict[str, list[int]] = {}
        self._counts: dict[str, int] = {}
        for line, reason in table.refused.items():
            self._note(reason, [line])

    def _note(self, reason: str, lines: Sequence[int]) -> None:
        self._counts[reason] = self._counts.get(reason, 0) + len(lines)
        self._found.setdefault(reason, []).extend(int(line) for line in lines[:5])

    def add(self, rows: np.ndarray, reason: str) -> None:
        """Mark rows, a bool array, as bad for a reason."""
        fresh = rows & ~self.bad
        if fresh.any():
            self.bad |= fresh
            self._note(reason, self.lines[fresh].tolist())

    def summary(self) -> tuple[Bad, ...]:
        """Return what was found, the most frequent first."""
        order = sorted(self._counts, key=lambda reason: -self._counts[reason])
        return tuple(Bad(reason, self._counts[reason], tuple(self._found[reason][:5])) for reason in order)


def parse_numbers(cells: np.ndarray, role: str, faults: Faults) -> np.ndarray:
    """Return cells as numbers; what is empty or no finite number is a fault."""
    if cells.dtype == object or cells.dtype.kind in "USO":
        column = pd.Series(cells)
        text = column.where(~column.isin([True, False]), column.astype(str)).astype(str).str.strip().str.lower()
        empty = column.isna().to_numpy() | text.isin(("", "none", "null", "nan")).to_numpy()
        numbers = pd.to_numeric(text.map(TRUE).astype(object).where(text.isin(TRUE), text), errors="coerce").to_numpy(
            dtype=float
        )
    else:
        numbers = cells.astype(float)
        empty = np.isnan(numbers)
    late = " yet (late or lost)" if role == "reward" else ""
    faults.add(empty, f"no {role}{late}")
    with np.errstate(invalid="ignore"):
        faults.add(~(np.abs(numbers) <= LARGEST_REWARD), f"a {role} that is no finite number")
    return np.asarray(numbers)


def parse_arms(cells: np.ndarray, faults: Faults) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Return the number of every row's arm, and the names of the arms in order; empty cells are faults."""
    codes, cells_found = pd.factorize(pd.Series(cells))
    plain = [_name(cell) for cell in cells_found]
    arms = sorted({name for name in plain if name is not None}, key=lambda name: (isinstance(name, str), name))
    if len(arms) > MOST_ARMS:
        raise Refusal(OWNER, "number of arms", len(arms), f"at most {MOST_ARMS} (is this the column of the arm?)")
    places = {name: place for place, name in enumerate(arms)}
    place = np.array([*(places.get(name, -1) for name in plain), -1], dtype=np.int64)  # the last is for empty cells
    played = place[codes]
    faults.add(played < 0, "no arm")
    return played, tuple(arms)


def _name(cell: Any) -> Any:
    """Return a cell as the name of an arm, an integer or a text; None if it is empty."""
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return int(cell)
    if isinstance(cell, int | np.integer) and not isinstance(cell, bool | np.bool_):
        return int(cell)
    return str(cell).strip() or None


def parse_times(cells: np.ndarray, faults: Faults) -> np.ndarray:
    """Return cells as moments: dates if they are any, or numbers of seconds since 1970; else plain numbers, such as rounds."""
    if cells.dtype.kind == "M":
        faults.add(np.isnat(cells), "no time")
        return cells.astype("datetime64[us]")
    column = pd.Series(cells)
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    if np.isfinite(numbers).mean() > 0.5:
        faults.add(~np.isfinite(numbers), "no time")
        usual = float(np.nanmedian(np.abs(numbers)))
        for power in (0, 3, 6, 9):
            if SECONDS[0] <= usual / 10**power <= SECONDS[1]:
                seconds = np.where(np.isfinite(numbers), numbers, 0.0) / 10**power
                return np.asarray((seconds * 1e6).astype(np.int64).astype("datetime64[us]"))
        return np.asarray(np.where(np.isfinite(numbers), numbers, 0.0))
    text = column.astype(str).where(~column.isna(), None)
    dates = pd.to_datetime(text, errors="coerce", utc=True, format="ISO8601")
    if dates.isna().mean() > 0.5:
        dates = pd.to_datetime(text, errors="coerce", utc=True, format="mixed")
    faults.add(dates.isna().to_numpy(), "a time that cannot be read")
    return np.asarray(dates.dt.tz_localize(None).to_numpy().astype("datetime64[us]"))

"""From a file or a frame to columns, and from columns to numbers; cells that mean nothing are counted, with their lines."""

import csv
import gzip
import importlib
import io
import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from latentbandits.protocols import LARGEST_REWARD
from latentbandits.settings import InvalidValueError, nearest

OWNER = "log"
RULE = "the path of a .csv, .csv.gz or .parquet file, a data frame of pandas, polars or Arrow, or a dict of columns"
SEPARATORS = ",;\t"  # the first of those that are equally frequent in the first line
DECIMAL = re.compile(r"\d,\d")  # a comma in a number, where commas do not separate
FIRST = 100  # lines in which it is looked for
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
    "subject": ("subject",),
    "propensity": (
        "propensity", "propensity_score", "probability", "pscore", "prob", "action_prob", "action_probability", "p",
    ),
}  # fmt: skip
NEEDED = ("arm", "reward")
MOST_ARMS = 1000
# Numbers of this size are seconds, milliseconds, microseconds or nanoseconds since 1970: from 1990 to 2100
SECONDS = (6.3e8, 4.1e9)
TRUE = {"true": 1.0, "yes": 1.0, "y": 1.0, "t": 1.0, "false": 0.0, "no": 0.0, "n": 0.0, "f": 0.0}
# 3/4/2025, 03.04.25: a day and a month, in either order; with dots the day is first
NUMERIC_DATE = r"^(\d{1,2})([./-])(\d{1,2})[./-]\d{2,4}\b"
ZONE = r"\s*(?:Z|UTC|GMT|[+-]\d\d:?\d\d|(?<=:\d\d)[+-]\d\d)$"


class Bad(NamedTuple):
    """Rows that could not be used for one reason: why, how many, and on which lines (the first of them)."""

    reason: str
    rows: int
    lines: tuple[int, ...]

    def __str__(self) -> str:
        lines = ", ".join(f"{line:,}" for line in self.lines)
        more = ", ..." if self.rows > len(self.lines) else ""
        return f"{self.reason} ({self.rows:,}; line{'s' if self.rows > 1 else ''} {lines}{more})"


class Table:
    """Columns, and the rows that cannot be used.

    Attributes
    ----------
    columns : name -> array, all of one length
    lines : int array, the line of every row in its file, or its number from 1
    source : where it comes from, for people
    reasons : why some lines cannot be used -> these lines, be they rows or not
    bad : bool array, the rows among them
    """

    def __init__(
        self, columns: Mapping[str, np.ndarray], lines: np.ndarray, source: str, reasons: dict[str, list[int]]
    ) -> None:
        self.columns, self.lines, self.source, self.reasons = columns, lines, source, reasons
        self.bad = np.zeros(len(lines), bool)

    def mark(self, rows: np.ndarray, reason: str) -> None:
        """Mark rows, a bool array, as bad for a reason; the first reason counts."""
        fresh = rows & ~self.bad
        if fresh.any():
            self.bad |= fresh
            self.reasons.setdefault(reason, []).extend(self.lines[fresh].tolist())

    def summary(self) -> tuple[Bad, ...]:
        """Return the reasons, the most frequent first."""
        order = sorted(self.reasons.items(), key=lambda item: -len(item[1]))
        return tuple(Bad(reason, len(lines), tuple(lines[:5])) for reason, lines in order)


def read_table(source: object) -> Table:
    """Return the columns of a file, a frame or a mapping, or refuse it."""
    if isinstance(source, Mapping):
        return _from_mapping(source)
    if not isinstance(source, str | Path):
        return _from_frame(source, "data frame")
    path = Path(source)
    try:
        match path.suffix.lower():
            case ".csv":
                return _from_csv(path, path.read_bytes())
            case ".gz" if path.stem.lower().endswith(".csv"):
                return _from_csv(path, gzip.decompress(path.read_bytes()))
            case ".parquet":
                importlib.import_module("pyarrow")  # so that it is named if it is missing
                return _from_frame(pd.read_parquet(path), str(path))
    except InvalidValueError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
    except ValueError as error:
        reason = " ".join(str(error).split())[:80]
    else:
        raise InvalidValueError(OWNER, "file", str(path), RULE)
    raise InvalidValueError(OWNER, "file", str(path), f"a log that can be read ({reason[:1].lower()}{reason[1:]})")


def _decoded(content: bytes) -> str:
    """Return the text of a file: UTF-8 or UTF-16, or else what Windows writes in the West."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def _from_csv(path: Path, content: bytes) -> Table:
    """Read a file with a line of names and a line per row; lines with too many cells are refused by number."""
    text, skipped = _decoded(content), 0
    told = re.match(r'"?sep=(.)"?\r?\n', text)  # what Excel writes above the names
    if told:
        text, skipped = text[told.end() :], 1
    first = text.split("\n", 1)[0].rstrip("\r")
    separator = told[1] if told else max(SEPARATORS, key=first.count)
    commas = separator != "," and any(DECIMAL.search(line) for line in islice(io.StringIO(text), 1, FIRST))
    names = next(csv.reader([first], delimiter=separator), [])
    if not any(names) or pd.to_numeric(pd.Series(names), errors="coerce").notna().any():
        raise InvalidValueError(OWNER, "first line", first[:80], "the names of the columns", f" of {path}")
    if len(set(names)) < len(names):
        raise InvalidValueError(OWNER, "first line", first[:80], "names that all differ", f" of {path}")
    form = {"low_memory": False, "index_col": False, "skip_blank_lines": False}
    try:
        frame = pd.read_csv(io.StringIO(text), sep=separator, decimal="," if commas else ".", **form)
        return _from_frame(frame, str(path), np.arange(2, len(frame) + 2) + skipped)
    except pd.errors.ParserError:  # some line has too many cells: read them one by one
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        next(reader)
        rows = [(reader.line_num + skipped, row) for row in reader]
        wide = len(names)
        refused: dict[str, list[int]] = {}
        for line, row in rows:
            if len(row) != wide:
                refused.setdefault(f"{len(row)} cells instead of {wide}", []).append(line)
        frame = pd.DataFrame([row for _, row in rows if len(row) == wide], columns=names)
        lines = np.array([line for line, row in rows if len(row) == wide], dtype=np.int64)
        return _from_frame(frame, str(path), lines, refused)


def _from_mapping(source: Mapping[str, Any]) -> Table:
    """Read a dict of columns, such as the feedback of Open Bandit Pipeline, whose `context` becomes context_0, context_1 and so on."""
    columns = {str(name): np.asarray(column) for name, column in source.items() if np.ndim(column) == 1}
    context = np.asarray(source["context"]) if np.ndim(source.get("context", 0)) == 2 else np.zeros((0, 0))
    columns |= {f"context_{number}": column for number, column in enumerate(context.T)}
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1:
        raise InvalidValueError(OWNER, "lengths of the columns", sorted(lengths), "one length for all")
    return Table(columns, np.arange(1, lengths.pop() + 1), "columns", {})


def _from_frame(
    source: object, name: str, lines: np.ndarray | None = None, refused: dict[str, list[int]] | None = None
) -> Table:
    """Read a frame of pandas, polars or Arrow."""
    import narwhals as nw

    try:
        frame = nw.from_native(source, eager_only=True)  # type: ignore[call-overload]
    except TypeError:
        raise InvalidValueError(OWNER, "source", type(source), RULE) from None
    except ValueError:
        raise InvalidValueError(OWNER, "columns", "names that are the same", "names that all differ") from None
    columns = {}
    for column in frame.iter_columns():
        zoned = isinstance(column.dtype, nw.Datetime) and column.dtype.time_zone is not None
        columns[str(column.name).strip()] = _with_zone(column) if zoned else column.to_numpy()
    return Table(columns, np.arange(1, len(frame) + 1) if lines is None else lines, name, refused or {})


def _with_zone(column: Any) -> np.ndarray:
    """Return moments that have a zone as text, in which it is kept."""
    wall, moments = (
        part.dt.replace_time_zone(None).to_numpy().astype("datetime64[us]")
        for part in (column, column.dt.convert_time_zone("UTC"))
    )
    known = ~np.isnat(moments)
    minutes = np.zeros(len(known), np.int64)
    minutes[known] = (wall - moments)[known] // np.timedelta64(1, "m")
    offsets, place = np.unique(minutes, return_inverse=True)
    zones = np.array(
        [f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02d}:{abs(offset) % 60:02d}" for offset in offsets]
    )
    return np.where(known, np.char.add(np.datetime_as_string(wall), zones[place]), "").astype(object)


def choose_columns(table: Table, given: Mapping[str, str | None]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the column of every role, and the roles whose column was guessed; or refuse."""
    columns = list(table.columns)
    chosen: dict[str, str] = {}
    guessed, missing = [], []
    for role in USUAL:
        column = given.get(role)
        if column is not None:
            if column not in columns:
                rule = f"one of the columns {', '.join(columns)}{nearest(str(column), columns)}"
                raise InvalidValueError(OWNER, role, column, rule)
            chosen[role] = column
    for role, names in USUAL.items():
        if role in chosen:
            continue
        lower = {name.lower(): name for name in reversed(columns) if name not in chosen.values()}
        match = next((lower[name] for name in names if name in lower), None)
        if match is not None:
            chosen[role] = match
            guessed.append(role)
        elif role in NEEDED:
            missing.append(role)
    if missing:
        which = " and ".join(f"column of the {role}" for role in missing)
        how = ", ".join(f"{role}=... or --{role}" for role in missing)
        raise InvalidValueError(
            OWNER, which, None, f"named ({how}), among {', '.join(columns) or 'columns, of which there are none'}"
        )
    return {role: chosen[role] for role in USUAL if role in chosen}, tuple(guessed)


def parse_numbers(cells: np.ndarray, role: str, table: Table) -> np.ndarray:
    """Return cells as numbers; what is empty or no finite number is a fault."""
    if cells.dtype.kind in "USO":
        column = pd.Series(cells)
        text = column.where(~column.isin([True, False]), column.astype(str)).astype(str).str.strip().str.lower()
        empty = column.isna().to_numpy() | text.isin(("", "none", "null", "nan")).to_numpy()
        words = text.map(TRUE).astype(object).where(text.isin(TRUE), text)
        numbers = pd.to_numeric(words, errors="coerce").to_numpy(dtype=float)
    else:
        numbers = cells.astype(float)
        empty = np.isnan(numbers)
    late = " yet (late or lost)" if role == "reward" else ""
    table.mark(empty, f"no {role}{late}")
    with np.errstate(invalid="ignore"):
        table.mark(~(np.abs(numbers) <= LARGEST_REWARD), f"a {role} that is no finite number")
    return np.asarray(numbers)


def parse_arms(cells: np.ndarray, table: Table) -> tuple[np.ndarray, tuple[int | str, ...]]:
    """Return the number of every row's arm, and the names of the arms in order; empty cells are faults."""
    codes, distinct = pd.factorize(pd.Series(cells))
    names = [_arm_name(cell) for cell in distinct]
    arms = sorted({name for name in names if name is not None}, key=lambda name: (isinstance(name, str), name))
    if len(arms) > MOST_ARMS:
        raise InvalidValueError(
            OWNER, "number of arms", len(arms), f"at most {MOST_ARMS} (is this the column of the arm?)"
        )
    places: dict[int | str | None, int] = {name: place for place, name in enumerate(arms)}
    place = np.array([*(places.get(name, -1) for name in names), -1], dtype=np.int64)  # the last is for empty cells
    played = place[codes]
    table.mark(played < 0, "no arm")
    return played, tuple(arms)


def _arm_name(cell: object) -> int | str | None:
    """Return a cell as the name of an arm, an integer or a text; None if it is empty."""
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return int(cell)
    if isinstance(cell, int | np.integer) and not isinstance(cell, bool):
        return int(cell)
    return str(cell).strip() or None


def parse_times(cells: np.ndarray, table: Table, day_first: bool | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return cells as moments, and as a clock on the wall showed them: they differ where a zone is given.

    They are dates if they are any, or numbers of seconds since 1970; else plain numbers, such as rounds.
    """
    if cells.dtype.kind == "M":
        table.mark(np.isnat(cells), "no time")
        moments = cells.astype("datetime64[us]")
        return moments, moments
    column = pd.Series(cells)
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    finite = np.isfinite(numbers)
    if finite.mean() > 0.5:
        table.mark(~finite, "no time")
        usual = float(np.nanmedian(np.abs(numbers)))
        numbers = np.where(finite, numbers, 0.0)
        for power in (0, 3, 6, 9):
            if SECONDS[0] <= usual / 10**power <= SECONDS[1]:
                numbers = (numbers / 10**power * 1e6).astype(np.int64).astype("datetime64[us]")
                break
        return numbers, numbers
    text = column.astype(str).str.strip().where(~column.isna(), None)
    form: dict[str, Any] = {"format": "ISO8601"}
    if pd.to_datetime(text, errors="coerce", utc=True, **form).isna().mean() > 0.5:
        form = {"format": "mixed", "dayfirst": is_day_first(text, day_first)}
    dates = pd.to_datetime(text, errors="coerce", utc=True, **form)
    table.mark(dates.isna().to_numpy(), "a time that cannot be read")
    zoned = text.str.contains(ZONE, na=False).any()
    wall = pd.to_datetime(text.str.replace(ZONE, "", regex=True), errors="coerce", utc=True, **form) if zoned else dates
    moments, clock = (
        np.asarray(part.dt.tz_localize(None).to_numpy().astype("datetime64[us]")) for part in (dates, wall)
    )
    return moments, clock


def is_day_first(text: pd.Series, given: bool | None) -> bool:
    """Return whether the day stands before the month, by the column as a whole; refuse a column that does not say so."""
    parts = text.str.extract(NUMERIC_DATE).dropna()
    if given is not None or parts.empty:
        return bool(given)
    first, second = (parts[place].astype(int).max() > 12 for place in (0, 2))
    if first != second:
        return bool(first)
    if not first and (parts[1] == ".").all():
        return True
    raise InvalidValueError(
        OWNER,
        "time",
        str(text.iloc[0]),
        "a date whose day and month can be told apart (day_first=True or False, --day-first yes or no, settles it)",
    )

"""The files and frames that a log may come in, each as plain columns."""

import importlib
import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from latentbandits import dsjson
from latentbandits.settings import Refusal

OWNER = "log"
RULE = (
    "the path of a .csv, .tsv, .parquet or .jsonl file (or .dsjson of Vowpal Wabbit), a data frame of pandas, polars or Arrow, "
    "or the feedback of Open Bandit Pipeline"
)
TEXT = {".csv": None, ".tsv": "\t", ".txt": None}  # which cells are separated by; None: see its first line
SEPARATORS = ",;\t"  # the first of those that are equally frequent
DECIMAL = re.compile(r"\d,\d")  # a comma in a number, where commas do not separate
FIRST = 100  # lines in which it is looked for
LINES = (".jsonl", ".ndjson", ".json", ".dsjson", ".log")


class Table(NamedTuple):
    """Columns, and where their rows stand.

    Attributes
    ----------
    columns : name -> array, all of one length
    lines : int array, the line of every row in its file, or its number from 1
    refused : line -> why it could not be read at all
    source : where it comes from, for people
    """

    columns: Mapping[str, np.ndarray]
    lines: np.ndarray
    refused: Mapping[int, str]
    source: str


def table(source: Any) -> Table:
    """Return the columns of a file, a frame or a mapping, or refuse it."""
    if isinstance(source, str | Path):
        return _file(Path(source))
    if isinstance(source, Mapping):
        return _feedback(source)
    return _frame(source)


def _file(path: Path) -> Table:
    suffix = path.suffix.lower()
    if suffix not in (*TEXT, ".parquet", *LINES):
        raise Refusal(OWNER, "file", str(path), RULE)
    try:
        if suffix == ".parquet":
            importlib.import_module("pyarrow")  # so that it is named if it is missing
            frame = pd.read_parquet(path)
            return _columns(frame, np.arange(1, len(frame) + 1), {}, str(path))
        return _lines(path) if suffix in LINES else _text(path, TEXT[suffix])
    except (OSError, UnicodeDecodeError, ValueError) as problem:
        if isinstance(problem, Refusal):
            raise
        reason = getattr(problem, "strerror", None) or " ".join(str(problem).split())[:80] or type(problem).__name__
        raise Refusal(OWNER, "file", str(path), f"a log that can be read ({reason[:1].lower()}{reason[1:]})") from None


def _text(path: Path, separator: str | None) -> Table:
    """Read a file with a line of names and a line per row; lines with too many cells are refused by number."""
    refused: dict[int, str] = {}
    options: dict[str, Any] = {"skip_blank_lines": False, "encoding": "utf-8-sig"}
    with open(path, encoding="utf-8-sig") as file:
        first = file.readline().rstrip("\r\n")
        separator = separator or max(SEPARATORS, key=first.count)
        if separator != "," and any(DECIMAL.search(line) for line in islice(file, FIRST)):
            options["decimal"] = ","
    names = first.split(separator)
    if not any(names) or any(_numeric(name) for name in names):
        raise Refusal(OWNER, "first line", ",".join(names)[:80], "the names of the columns", f" of {path}")
    if len(set(names)) < len(names):
        raise Refusal(OWNER, "first line", ",".join(names)[:80], "names that all differ", f" of {path}")
    try:
        frame = pd.read_csv(path, sep=separator, low_memory=False, index_col=False, **options)
        lines = np.arange(2, len(frame) + 2)
    except pd.errors.ParserError:  # some line has too many cells: read them one by one
        with open(path, encoding="utf-8-sig", newline=None) as file:
            cells = [line.rstrip("\n").split(separator) for line in file][1:]
        good = [(number, row) for number, row in enumerate(cells, start=2) if len(row) == len(names)]
        refused = {
            number: f"{len(row)} cells instead of {len(names)}"
            for number, row in enumerate(cells, start=2)
            if len(row) != len(names)
        }
        frame = pd.DataFrame([row for _, row in good], columns=names)
        lines = np.array([number for number, _ in good], dtype=np.int64)
    return _columns(frame, lines, refused, str(path))


def _numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _lines(path: Path) -> Table:
    """Read a file with a JSON object per line: plain rows, Vowpal Wabbit's decisions, or decisions and rewards of an agent by id."""
    rows, lines, refused = [], [], {}
    told: dict[str, Any] = {}
    with open(path, encoding="utf-8-sig") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                refused[number] = "no JSON"
                continue
            if not isinstance(row, dict):
                refused[number] = "no JSON object"
            elif row.get("event") == "tell":
                told[str(row.get("id"))] = row.get("rewards", row.get("reward"))
            elif row.get("event") not in (None, "ask"):
                continue  # what an agent's journal says of arms that come and go
            else:
                decision = _decision(row)
                if isinstance(decision, str):
                    refused[number] = decision
                else:
                    rows.append(decision)
                    lines.append(number)
    if told:
        for row in rows:
            reward = told.get(str(row.get("id")))
            row["reward"] = reward[0] if isinstance(reward, list) and len(reward) == 1 else reward
    return _columns(pd.DataFrame(rows), np.array(lines, dtype=np.int64), refused, str(path))


def _decision(row: dict[str, Any]) -> dict[str, Any] | str:
    """Return a line of JSON as a plain row, or why it cannot be one."""
    if "_label_cost" in row:
        return dsjson.decision(row)
    if row.get("event") == "ask":
        arms = row.get("arms", row.get("arm"))
        if isinstance(arms, list):
            if len(arms) != 1:
                return "several arms in one decision"
            row = {**row, "arm": arms[0]}
        elif arms is None:
            return "no arm"
        row = {key: value for key, value in row.items() if key not in ("event", "arms")}
    return row


def _feedback(source: Mapping[str, Any]) -> Table:
    """Read what Open Bandit Pipeline calls feedback: a dict of arrays with one number per round."""
    if not {"action", "reward"} <= set(source):
        raise Refusal(OWNER, "source", sorted(map(str, source))[:8], f"{RULE} (a dict with action, reward and pscore)")
    rows = len(np.asarray(source["action"]))
    columns = {"arm": np.asarray(source["action"]), "reward": np.asarray(source["reward"])}
    if source.get("pscore") is not None:
        columns["propensity"] = np.asarray(source["pscore"])
    context = np.asarray(source["context"]) if source.get("context") is not None else np.zeros((rows, 0))
    for number in range(context.shape[1] if context.ndim == 2 else 0):
        columns[f"context_{number}"] = context[:, number]
    for name, column in columns.items():
        if column.shape != (rows,):
            raise Refusal(OWNER, name, column.shape, f"({rows},), a number per round", ".shape")
    return Table(columns, np.arange(1, rows + 1), {}, "Open Bandit Pipeline feedback")


def _frame(source: Any) -> Table:
    """Read a frame of pandas, polars or Arrow."""
    if isinstance(source, pd.DataFrame):
        return _columns(source, np.arange(1, len(source) + 1), {}, "data frame")
    import narwhals as nw

    try:
        frame = nw.from_native(source, eager_only=True)
    except TypeError:
        raise Refusal(OWNER, "source", type(source), RULE) from None
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    return Table(columns, np.arange(1, len(frame) + 1), {}, "data frame")


def _columns(frame: pd.DataFrame, lines: np.ndarray, refused: Mapping[int, str], source: str) -> Table:
    if frame.columns.duplicated().any():
        raise Refusal(OWNER, "columns", list(map(str, frame.columns)), "names that all differ")
    return Table(dict(_each(frame)), lines, refused, source)


def _each(frame: pd.DataFrame) -> Iterator[tuple[str, np.ndarray]]:
    for name in frame.columns:
        column = frame[name]
        if isinstance(column.dtype, pd.DatetimeTZDtype):
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        yield str(name).strip(), column.to_numpy()

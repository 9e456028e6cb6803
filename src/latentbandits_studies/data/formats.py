"""Readers of public traces in their repositories' own formats: of a file that is not as expected nothing is read."""

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np

from latentbandits.settings import InvalidValueError

CLIENTS_SEE, LEARNED = 5, 60  # servers that a client may choose from, and slices before, in which they are found
MISSING = 0.02  # share of these slices in which a server may be without a measurement
SLOWEST = 3.0  # seconds: the most that a round trip counts, and what one without an answer counts
CARRIERS = ("verizon", "tmobile", "atnt")
PING = re.compile(r"\[(\S+ \S+)\] \d+ bytes from \S+ icmp_seq=\d+ .*time=([\d.]+) ms")
STARTED = re.compile(r"Start time: (\d{10,})")
QUARTER, DAY = 900, 86_400  # seconds: time zones are whole multiples of the one and below the other
LOST = 500.0  # milliseconds: the most that a ping counts
COUNTRIES = ("Finland", "Norway", "Sweden", "France", "Spain", "Germany")
COLUMNS = {"Country", "Date", "Price (EUR/MWhe)"}


@contextmanager
def reading(path: Path, rule: str) -> Iterator[None]:
    """Refuse a file or folder in one sentence if anything in it is not as expected."""
    try:
        yield
    except InvalidValueError:
        raise
    except (
        OSError,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        ArithmeticError,
        RecursionError,
        csv.Error,
    ) as reason:
        raise InvalidValueError("field", "file", str(path), rule) from reason


def finite(values: Sequence[object]) -> np.ndarray:
    """Return numbers as an array, or raise a ValueError."""
    numbers = np.array(values, float)
    if numbers.ndim != 1 or not len(numbers) or not np.isfinite(numbers).all():
        raise ValueError
    return numbers


def side_by_side(columns: Mapping[str, np.ndarray], folder: Path) -> tuple[tuple[str, ...], np.ndarray]:
    """Return arms and rewards (rounds, arms), as long as the shortest."""
    if len(columns) < 2:
        raise InvalidValueError("field", "folder", str(folder), "one with a trace of two arms or more")
    shortest = min(map(len, columns.values()))
    return tuple(columns), np.stack([values[:shortest] for values in columns.values()], axis=1)


def zones(folder: Path) -> tuple[tuple[str, ...], np.ndarray]:
    """Return zones and the share of the instances asked for that each gave, from a JSON file per zone (spot-traces).

    As many instances were asked for as the folder above says: `16-node`.
    """
    with reading(folder.parent, "a folder N-node, N instances being asked for"):
        asked = int(folder.parent.name.partition("-")[0])
        if asked < 1:
            raise ValueError
    found, gaps = {}, set()
    for path in sorted(folder.glob("*.json")):
        with reading(
            path, f'a JSON file with "metadata": {{"gap_seconds": ...}} and "data", instances from 0 to {asked}'
        ):
            content = json.loads(path.read_text())
            gaps.add(float(content["metadata"]["gap_seconds"]))
            shares = finite(content["data"]) / asked
            if shares.min() < 0 or shares.max() > 1:
                raise ValueError
            found[path.stem] = shares
    if len(gaps) > 1:
        raise InvalidValueError("field", "gap_seconds", sorted(gaps), f"the same in all files of {folder}")
    return side_by_side(found, folder)


def servers(folder: Path) -> tuple[tuple[str, ...], np.ndarray]:
    """Return minus the logarithm of round trips (clients, rounds, arms), from a matrix per slice (NetLatency-Data).

    Every machine is a client. Its arms are the servers with the lowest median in the first slices, which are not played.
    """
    named = (path for path in folder.glob("SeattleData_*") if path.name.partition("_")[2].isdigit())
    paths = sorted(named, key=lambda path: (len(path.name), path.name))
    slices: list[np.ndarray] = []
    for path in paths:
        with reading(path, "a square matrix of seconds, as large as in the other files"):
            square = np.array([line.split() for line in path.read_text().splitlines() if line.strip()], float)
            if square.shape != (len(square), len(square)) or np.isnan(square).any() or len(square) <= CLIENTS_SEE:
                raise ValueError
            if slices and square.shape != slices[0].shape:
                raise ValueError
            slices.append(square)
    if len(slices) <= LEARNED:
        raise InvalidValueError(
            "field", "folder", str(folder), f"one with more than {LEARNED} files SeattleData_1, ..."
        )
    seconds = np.stack(slices)
    answered = seconds > 0
    median = np.median(seconds[:LEARNED], axis=0)
    median[(~answered[:LEARNED]).mean(axis=0) > MISSING] = np.inf
    np.fill_diagonal(median, np.inf)
    nearest = np.argsort(median, axis=1, kind="stable")[:, :CLIENTS_SEE]
    chosen = np.isfinite(np.take_along_axis(median, nearest, axis=1)).all(axis=1)
    if not chosen.any():
        raise InvalidValueError(
            "field", "folder", str(folder), f"one with a machine that reaches {CLIENTS_SEE} others in the first slices"
        )
    counted = -np.log(np.minimum(np.where(answered, seconds, SLOWEST), SLOWEST))[LEARNED:]
    rewards = np.stack([counted[:, client, nearest[client]] for client in np.flatnonzero(chosen)])
    return tuple(f"server {rank}" for rank in range(1, CLIENTS_SEE + 1)), rewards


def pings(folder: Path) -> tuple[tuple[str, ...], np.ndarray]:
    """Return carriers and milliseconds (rounds, arms), the mean of each second in which all three have a ping (pam2025-multi-carrier).

    Lines have the time of day where the phone was; the first line of a file has it in the world's seconds, which tells the time zone.
    """
    seconds: dict[int, dict[str, list[float]]] = {}
    for path in sorted(folder.rglob("*.out")):
        carrier = next((name for name in CARRIERS if name in path.parts), None)
        with reading(path, f"a log of pings that begins with `Start time: ...`, in a folder of {', '.join(CARRIERS)}"):
            if carrier is None:
                raise ValueError
            first, *lines = path.read_text().splitlines()
            began = int(STARTED.fullmatch(first.strip())[1]) / 1000  # type: ignore[index]
            matches = filter(None, map(PING.match, lines))
            times = [
                (datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp(), float(ms))
                for at, ms in (m.groups() for m in matches)
            ]
            if not all(ms > 0 for _, ms in times):
                raise ValueError
            zone = round((times[0][0] - began) / QUARTER) * QUARTER if times else 0
            if abs(zone) >= DAY:
                raise ValueError
            for at, ms in times:
                seconds.setdefault(int(at - zone), {}).setdefault(carrier, []).append(ms)
    shared = [seconds[at] for at in sorted(seconds) if len(seconds[at]) == len(CARRIERS)]
    if not shared:
        raise InvalidValueError(
            "field", "folder", str(folder), "one with pings of all three carriers in the same second"
        )
    return CARRIERS, np.array([[float(np.mean(second[carrier])) for carrier in CARRIERS] for second in shared])


def prices(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return days and prices (days, countries) on which all countries have one, from Ember's daily prices."""
    found: dict[str, dict[str, float]] = {}
    with reading(path, f"a table with the columns {', '.join(sorted(COLUMNS))}, and a price of {', '.join(COUNTRIES)}"):
        with path.open(newline="", encoding="utf-8") as lines:
            for row in csv.DictReader(lines):
                if row["Country"] in COUNTRIES and row["Price (EUR/MWhe)"]:
                    found.setdefault(row["Date"], {})[row["Country"]] = float(row["Price (EUR/MWhe)"])
        days = sorted(day for day, row in found.items() if len(row) == len(COUNTRIES))
        if not days:
            raise ValueError
        dates = [date.fromisoformat(day) for day in days]
        table = np.array([finite([found[day][country] for country in COUNTRIES]) for day in days])
        return np.array(dates, "datetime64[D]"), table


def columns(folder: Path) -> tuple[tuple[str, ...], np.ndarray]:
    """Return arms and rewards of a folder with a file ARM.trace for each arm: a number per line, more is better, line by line one round."""
    found = {}
    for path in sorted(folder.glob("*.trace")):
        with reading(path, "a number per line and nothing else"):
            found[path.stem] = finite(path.read_text().strip().splitlines())
    if len({len(values) for values in found.values()}) > 1:
        lines = {name: len(values) for name, values in found.items()}
        raise InvalidValueError("field", "lines", lines, f"the same number in all files of {folder}")
    return side_by_side(found, folder)

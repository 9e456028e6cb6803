"""Results on disk: found again by content, written whole or not at all, checked when read."""

import hashlib
import json
import math
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from latentbandits import __version__
from latentbandits.presentation.progress import Stages
from latentbandits.settings import Refusal
from latentbandits.simulation.batch import cores
from latentbandits.simulation.blocks import Block, Piece, play_all
from latentbandits.simulation.build import this_build
from latentbandits.simulation.loop import COUNTS
from latentbandits.simulation.spread import Task, spread
from latentbandits_studies.experiments.case import OWN, Case
from latentbandits_studies.experiments.cells import ARRAYS, Cell, Cells, Ranges, Shape
from latentbandits_studies.experiments.folders import folder_at, inside

Progress = Callable[[int, int], None]
KEEP_EVERY = 5.0  # seconds of results that a kill may lose


class Column(NamedTuple):
    """A column of the results, one row per run."""

    name: str
    dtype: str
    meaning: str


_COUNTED = {"probes": "probes begun", "probe_rounds": "rounds spent on probes"}
COLUMNS = (
    Column("case", "object", "the world, by its name within the experiment"),
    Column("policy", "object", "the policy; variants are written `adasp-ucb|pair|no lag` or `rp-ucb|same features`"),
    Column("draw", "int64", "which reward matrix; the same draw and repeat are the same world for every policy"),
    Column("repeat", "int64", "which run on it"),
    Column("regret", "float64", "cumulative regret per unit against the oracle that sees the state"),
    Column("optimal", "float64", "share of rounds (and units) in which the best arm was played"),
    *(
        Column(name, "int64", _COUNTED.get(name, f"probes at whose beginning the {name.removesuffix('_gate')} gate was open"))
        for name in COUNTS
    ),
    Column("quick", "bool", "whether the run was a quick one"),
    Column("regret_curve", "object", "where a case keeps curves: regret per stretch of rounds, a list"),
    Column("optimal_curve", "object", "where a case keeps curves: share of optimal arms per stretch of rounds, a list"),
)  # fmt: skip
# What a description of an experiment must have; anything else was not written by `Store.note`
_DESCRIBED: dict[str, Any] = {
    "quick": bool, "finished": str, "seconds": (int, float), "rounds": int, "code": str, "cases": list,
    "latentbandits": str, "python": str, "packages": dict, "machine": dict,
}  # fmt: skip


class Shard(NamedTuple):
    """One of several shares of all work, counted from 1.

    Examples
    --------
    >>> from latentbandits_studies.experiments.store import Shard
    >>> Shard.of("3/64")
    Shard(number=3, shares=64)
    """

    number: int
    shares: int

    @classmethod
    def of(cls, text: str, owner: str = "reproduce") -> "Shard":
        """Return the shard of a text such as 3/64, or refuse it."""
        number, _, shares = text.partition("/")
        if not (number.isdecimal() and shares.isdecimal() and 1 <= int(number) <= int(shares)):
            raise Refusal(owner, "shard", text, "such as 3/64: a number, and of how many")
        return cls(int(number), int(shares))

    def holds(self, position: int) -> bool:
        """Return whether something at a position of a list belongs to it."""
        return position % self.shares == self.number - 1

    def ranges(self, cases: Sequence[Case]) -> list[tuple[int, int]]:
        """Return its range of runs of each case: neighbours in one row of all runs, cut where shares have equal numbers of rounds."""
        seen: set[str] = set()
        each = []  # rounds of a run of each case, of all policies whose cells no case before it has
        for case in cases:
            each.append(case.horizon * len({*case.keys.values()} - seen))
            seen.update(case.keys.values())
        runs = [shape_of(case).runs for case in cases]
        total, before, found = sum(one * number for one, number in zip(each, runs, strict=True)), 0, []
        for one, number in zip(each, runs, strict=True):
            cuts = [
                -((before * self.shares - at * total) // (one * self.shares)) if one else 0
                for at in (self.number - 1, self.number)
            ]
            found.append((min(max(cuts[0], 0), number), min(max(cuts[1], 0), number)))
            before += one * number
        return found


class Keeper:
    """Takes the pieces of a case as they come, and keeps them every few seconds: neighbours are one part."""

    def __init__(self, cells: Cells, case: Case, labels: Sequence[str]) -> None:
        self._cells, self._case, self._labels = cells, case, labels
        self._waiting: list[Piece] = []
        self._kept = time.monotonic()

    def take(self, piece: Piece) -> None:
        """Take a piece."""
        self._waiting.append(piece)
        if time.monotonic() - self._kept >= KEEP_EVERY:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting."""
        waiting = sorted(self._waiting, key=lambda piece: (piece.build, piece.begin))
        self._waiting, self._kept = [], time.monotonic()
        shape = shape_of(self._case)
        while waiting:
            count = 1
            while count < len(waiting) and _neighbours(waiting[count - 1], waiting[count]):
                count += 1
            pieces, waiting = waiting[:count], waiting[count:]
            for i, label in enumerate(self._labels):
                parts = ((piece.regret[i], piece.optimal[i], piece.counts[i]) for piece in pieces)
                found = dict(zip(ARRAYS, map(np.concatenate, zip(*parts, strict=True)), strict=True))
                self._cells.keep(self._case.keys[label], shape, pieces[0].begin, found, pieces[0].build)


def _neighbours(one: Piece, other: Piece) -> bool:
    return one.end == other.begin and one.build == other.build


def shape_of(case: Case) -> Shape:
    """Return the size of each cell of a case."""
    return Shape(case.draws * case.repeats, min(case.bins, case.horizon))


def _block(case: Case, labels: Sequence[str], begin: int, end: int) -> Block:
    policies = {label: case.policies[label] for label in labels}
    bins = min(case.bins, case.horizon)
    return Block(case.world, policies, case.horizon, case.repeats, case.seed, case.first, bins, begin, end)


def code_of(cases: Sequence[Case]) -> str:
    """Return a digest of all that the results of some cases depend on: settings, sizes, seeds and code; but of policies of one's own."""
    keys = "".join(key for case in cases if not case.name.endswith(OWN) for key in case.keys.values())
    return hashlib.sha256(keys.encode()).hexdigest()[:24]


class Store:
    """A folder of results, on this machine or wherever fsspec reaches.

    `cells/` holds the results per policy and case, named by content (settings, sizes, seed, code), whole or in parts (ranges of runs, see
    `cells`): what is there already is not computed again, and a damaged file is. Each cell is read once. An experiment's table
    (`EXPERIMENT.parquet`, one row per run, see `COLUMNS`) is put together from the cells; `EXPERIMENT.json` describes how it was made.

    Parameters
    ----------
    folder : path or str
        A path, or an address such as ``s3://bucket/results``.
    read_only : bool
        Make nothing.
    strict : bool
        Refuse parts that several builds have computed, even if their probes agree.
    """

    def __init__(self, folder: str | Path, read_only: bool = False, strict: bool = False) -> None:
        self.folder = folder_at(folder)
        if not read_only:
            self.folder.prepare()
        self.cells = Cells(self.folder, strict)

    def missing(self, case: Case) -> list[str]:
        """Return the labels of a case whose results are not all there."""
        return [label for label in case.policies if not self._cell(case, label).complete]

    def left(self, cases: Sequence[Case], shard: Shard | None = None) -> list[dict[str, Ranges]]:
        """Return the runs of each label that are not there, for every case, of a shard if one is given.

        Two labels, or two cases, may share a cell: it belongs to the first.
        """
        held = [(0, shape_of(case).runs) for case in cases] if shard is None else shard.ranges(cases)
        seen, found = set[str](), list[dict[str, Ranges]]()
        for case, (begin, end) in zip(cases, held, strict=True):
            found.append({})
            for label, key in case.keys.items() if begin < end else ():
                missing = () if key in seen else self.cells.cell(key, shape_of(case), begin, end).missing(begin, end)
                seen.add(key)
                if missing:
                    found[-1][label] = missing
            seen.update(case.keys.values())
        return found

    def compute(
        self,
        cases: Case | Sequence[Case],
        workers: int | None = None,
        progress: Progress | None = None,
        executor: Executor | None = None,
        shard: Shard | None = None,
    ) -> list[str]:
        """Simulate what is missing of some cases, keep it part by part, and return the labels computed."""
        self.cells.look()
        cases = [cases] if isinstance(cases, Case) else cases
        tasks, computed, written = list[Task](), list[str](), set[str]()
        keepers = []
        for case, left in zip(cases, self.left(cases, shard), strict=True):
            computed += left
            written.update(case.keys[label] for label in left)
            for ranges in dict.fromkeys(left.values()):
                labels = [label for label in left if left[label] == ranges]
                keepers.append(Keeper(self.cells, case, labels))
                tasks += [Task(_block(case, labels, *one), keepers[-1].take) for one in ranges]
        if tasks:
            self.cells.refuse_others([this_build().id])
        try:
            if executor is not None:
                spread(tasks, executor, workers or cores(), progress)
            elif shard is not None:  # a few runs of every case: threads play several cases at a time
                with ThreadPoolExecutor(workers or cores()) as threads:
                    spread(tasks, threads, workers or cores(), progress)
            else:
                stages = Stages(progress, *(task.block.rounds for task in tasks))
                for task in tasks:
                    play_all(task.block, workers or cores(), progress=stages.next(), done=task.done)
        finally:
            for keeper in keepers:
                keeper.flush()
        if shard is not None and tasks:
            self.cells.look()  # the last of all shards finds the parts of the others
        sizes = {key: shape_of(case) for case in cases for key in case.keys.values()}
        # one file of each cell whose parts are all there: whoever writes the last of them sees the others
        self.cells.seal_complete(sizes if shard is None else {key: sizes[key] for key in written})
        return computed

    def rows(self, cases: Sequence[Case], quick: bool = False) -> pd.DataFrame:
        """Return the results of all cases, one row per run; curves are lists of floats where a case keeps them."""
        cells = [self._values(case, label, quick) for case in cases for label in case.policies]
        table = {}
        for column in COLUMNS:
            parts = [cell.get(column.name, np.full(len(cell["draw"]), np.nan)) for cell in cells]
            if any(column.name in cell for cell in cells):
                table[column.name] = np.concatenate([part.astype(column.dtype) for part in parts])
        return pd.DataFrame(table)

    def refuse_quick(self, experiments: Iterable[str], draws: int | None = None) -> None:
        """Refuse if a quick run of some experiments, or one with other draws, would replace results of a full one."""
        for name in (f"{name}.parquet" for name in experiments):
            try:
                content = BytesIO(self.folder.read(name) or b"")
                full = not pd.read_parquet(content, columns=["quick"])["quick"].all()
            except Exception:  # not there, or damaged
                continue
            if full:
                path = inside(self.folder.where, name)
                field, value, rule = ("quick", True, "False") if draws is None else ("draws", draws, "left out")
                raise Refusal("reproduce", field, value, f"{rule}, or in another folder: {path} is of a full run")

    def save(self, experiment: str, rows: pd.DataFrame) -> None:
        """Write an experiment's rows as parquet."""
        content = BytesIO()
        rows.to_parquet(content, index=False)
        self.folder.write(f"{experiment}.parquet", content.getvalue())

    def load(self, experiment: str) -> pd.DataFrame:
        """Return an experiment's rows, or refuse."""
        path = inside(self.folder.where, f"{experiment}.parquet")
        content = self.folder.read(f"{experiment}.parquet")
        if content is None:
            raise Refusal("report", "file", path, "one that `latentbandits reproduce` has written (it is missing)")
        try:
            return pd.read_parquet(BytesIO(content))
        except Exception as problem:
            rule = "one that `latentbandits reproduce` has written (it is damaged, and will be written again)"
            raise Refusal("report", "file", path, rule) from problem

    def experiments(self) -> list[str]:
        """Return the names of the experiments whose rows are there."""
        return [name.removesuffix(".parquet") for name in self.folder.names() if name.endswith(".parquet")]

    @property
    def manifest(self) -> dict[str, Any]:
        """What was run, by experiment, and under the other keys the software and machine of the last run; what is damaged is left out."""
        names = [name for name in self.folder.names() if name.endswith(".json")]
        found = {name.removesuffix(".json"): _described(self.folder.read(name) or b"") for name in names}
        experiments = {name: about for name, about in found.items() if about is not None}
        last = max(experiments.values(), key=lambda about: str(about["finished"]), default={})
        return {"experiments": experiments} | {name: last[name] for name in _software() if last}

    def note(
        self,
        experiment: str,
        cases: Sequence[Case],
        quick: bool,
        seconds: float = 0.0,
        sizes: tuple[int, int] | None = None,
    ) -> None:
        """Describe how an experiment was made; the seconds are added to those of earlier calls that computed parts of the same."""
        code = code_of(cases)
        before = _described(self.folder.read(f"{experiment}.json") or b"") or {}
        same = before.get("code") == code and before.get("quick") == quick
        description = {
            "quick": quick,
            "finished": time.strftime("%Y-%m-%d %H:%M", time.gmtime()) + " UTC",
            "seconds": round(seconds + (before["seconds"] if same else 0.0), 2),
            "rounds": sum(case.rounds for case in cases),
            "code": code,
            **({} if sizes is None else {"sizes": sizes}),
            **_software(),
            "builds": sorted(self.cells.merged - {""}),
            "cases": [case.description() for case in cases],
        }
        self.folder.write(f"{experiment}.json", (json.dumps(description, indent=1) + "\n").encode())

    def _cell(self, case: Case, label: str) -> Cell:
        return self.cells.cell(case.keys[label], shape_of(case))

    def _values(self, case: Case, label: str, quick: bool) -> dict[str, np.ndarray]:
        """Return the columns that a cell has."""
        cell = self._cell(case, label)
        if not cell.complete:
            raise Refusal("reproduce", f"results of {label} on {case.name}", "missing", "computed first")
        found = cell.arrays
        runs, bins = np.arange(case.draws * case.repeats), found["optimal"].shape[1]
        edges = np.arange(bins + 1) * case.horizon // bins
        values = {
            "case": np.full(len(runs), case.name, object),
            "policy": np.full(len(runs), label, object),
            "draw": case.first + runs // case.repeats,
            "repeat": runs % case.repeats,
            "regret": found["regret"].sum(axis=1),
            "optimal": found["optimal"] @ (np.diff(edges) / case.horizon),
            **dict(zip(COUNTS, found["counts"].T, strict=True)),
            "quick": np.full(len(runs), quick),
        }
        if case.bins > 1:
            for name in ("regret", "optimal"):
                values[f"{name}_curve"] = np.empty(len(runs), object)
                for run, curve in enumerate(found[name].astype(np.float32)):
                    values[f"{name}_curve"][run] = curve
        return values


def _software() -> dict[str, Any]:
    """Return the versions and the machine that results are computed with."""
    return {
        "latentbandits": __version__,
        "python": platform.python_version(),
        "packages": {name: version(name) for name in ("numba", "numpy", "scipy", "pandas")},
        "machine": {"processor": platform.machine(), "system": platform.system(), "cores": cores()},
    }


def _described(content: bytes) -> dict[str, Any] | None:
    """Return the description of an experiment, None if it is damaged."""
    try:
        found = json.loads(content)
        valid = all(isinstance(found[name], kind) for name, kind in _DESCRIBED.items())
        valid = valid and math.isfinite(found["seconds"]) and isinstance(found["machine"]["cores"], int)
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return dict(found) if valid else None

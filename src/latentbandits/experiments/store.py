"""Results on disk: found again by content, written whole or not at all, checked when read."""

import hashlib
import json
import math
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from latentbandits import __version__
from latentbandits.experiments.case import Case
from latentbandits.files import write_whole
from latentbandits.settings import Refusal
from latentbandits.simulation.batch import cores, simulate
from latentbandits.simulation.loop import COUNTS

Progress = Callable[[int, int], None]


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


def code_of(cases: Sequence[Case]) -> str:
    """Return a digest of all that the results of some cases depend on: settings, sizes, seeds and code."""
    keys = "".join(key for case in cases for key in case.keys.values())
    return hashlib.sha256(keys.encode()).hexdigest()[:24]


class Store:
    """A folder of results.

    `cells/` holds one file per policy and case, named by content (settings, sizes, seed, code): what is there already is not computed
    again, and a damaged file is. Each cell is read once. An experiment's table (`EXPERIMENT.parquet`, one row per run, see `COLUMNS`) is
    put together from the cells; `EXPERIMENT.json` describes how it was made.
    """

    def __init__(self, folder: Path, read_only: bool = False) -> None:
        self.folder = folder
        self._cells: dict[str, dict[str, np.ndarray]] = {}
        if read_only:
            return
        try:
            (folder / "cells").mkdir(parents=True, exist_ok=True)
            for left in (folder / "cells").glob(".*.tmp"):  # of a run that was killed while it wrote
                if time.time() - left.stat().st_mtime > 3600:
                    left.unlink(missing_ok=True)
            probe = folder / "cells" / ".probe"
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as problem:
            raise Refusal("reproduce", "out", str(folder), "a folder that can be written to") from problem

    def missing(self, case: Case) -> list[str]:
        """Return the labels of a case whose results are not there, or damaged."""
        return [label for label in case.policies if self._read(case, label) is None]

    def compute(self, case: Case, workers: int | None = None, progress: Progress | None = None) -> list[str]:
        """Simulate what is missing of a case, keep it, and return the labels computed."""
        wanted = self.missing(case)
        begin = time.perf_counter()
        if wanted:
            results = simulate(
                case.world,
                {label: case.policies[label] for label in wanted},
                horizon=case.horizon,
                draws=case.draws,
                repeats=case.repeats,
                seed=case.seed,
                bins=case.bins,
                workers=workers,
                progress=progress,
            )
            seconds = np.array((time.perf_counter() - begin) / len(wanted))
            for i, label in enumerate(wanted):
                counts = np.stack([results.counts[name][i] for name in COUNTS], axis=1)
                cell = {"regret": results.regret_bins[i], "optimal": results.optimal_bins[i], "counts": counts}
                self._keep(case.keys[label], {**cell, "seconds": seconds})
        return wanted

    def rows(self, cases: Sequence[Case], quick: bool = False) -> pd.DataFrame:
        """Return the results of all cases, one row per run; curves are lists of floats where a case keeps them."""
        cells = [self._values(case, label, quick) for case in cases for label in case.policies]
        table = {}
        for column in COLUMNS:
            parts = [cell.get(column.name, np.full(len(cell["draw"]), np.nan)) for cell in cells]
            if any(column.name in cell for cell in cells):
                table[column.name] = np.concatenate([part.astype(column.dtype) for part in parts])
        return pd.DataFrame(table)

    def refuse_quick(self, experiments: Iterable[str]) -> None:
        """Refuse if a quick run of some experiments would replace results of a full one."""
        for path in (self.folder / f"{name}.parquet" for name in experiments):
            try:
                full = not pd.read_parquet(path, columns=["quick"])["quick"].all()
            except Exception:  # not there, or damaged
                continue
            if full:
                raise Refusal("reproduce", "quick", True, f"False, or in another folder: {path} is of a full run")

    def save(self, experiment: str, rows: pd.DataFrame) -> Path:
        """Write an experiment's rows as parquet."""
        content = BytesIO()
        rows.to_parquet(content, index=False)
        path = self.folder / f"{experiment}.parquet"
        write_whole(path, content.getvalue())
        return path

    def load(self, experiment: str) -> pd.DataFrame:
        """Return an experiment's rows, or refuse."""
        path = self.folder / f"{experiment}.parquet"
        if not path.exists():
            raise Refusal("report", "file", str(path), "one that `latentbandits reproduce` has written (it is missing)")
        try:
            return pd.read_parquet(path)
        except Exception as problem:
            rule = "one that `latentbandits reproduce` has written (it is damaged, and will be written again)"
            raise Refusal("report", "file", str(path), rule) from problem

    @property
    def manifest(self) -> dict[str, Any]:
        """What was run, by experiment, and under the other keys the software and machine of the last run; what is damaged is left out."""
        found = {file.stem: _described(file) for file in sorted(self.folder.glob("*.json"))}
        experiments = {name: about for name, about in found.items() if about is not None}
        last = max(experiments.values(), key=lambda about: str(about["finished"]), default={})
        return {"experiments": experiments} | {name: last[name] for name in _software() if last}

    def note(self, experiment: str, cases: Sequence[Case], quick: bool) -> None:
        """Describe how an experiment was made; its seconds are those of all its cells, whenever they were computed."""
        cells = [self._read(case, label) for case in cases for label in case.policies]
        description = {
            "quick": quick,
            "finished": time.strftime("%Y-%m-%d %H:%M", time.gmtime()) + " UTC",
            "seconds": round(sum(float(cell["seconds"]) for cell in cells if cell is not None), 2),
            "rounds": sum(case.rounds for case in cases),
            "code": code_of(cases),
            **_software(),
            "cases": [case.description() for case in cases],
        }
        write_whole(self.folder / f"{experiment}.json", (json.dumps(description, indent=1) + "\n").encode())

    def _path(self, key: str) -> Path:
        return self.folder / "cells" / f"{key}.npz"

    def _keep(self, key: str, cell: dict[str, np.ndarray]) -> None:
        content = BytesIO()
        np.savez_compressed(content, **cell)  # type: ignore[arg-type]
        write_whole(self._path(key), content.getvalue())
        self._cells[key] = cell

    def _read(self, case: Case, label: str) -> dict[str, np.ndarray] | None:
        """Return a cell, None if it is not there or damaged."""
        key = case.keys[label]
        if key in self._cells:
            return self._cells[key]
        runs, bins = case.draws * case.repeats, min(case.bins, case.horizon)
        shapes = {"regret": (runs, bins), "optimal": (runs, bins), "counts": (runs, len(COUNTS)), "seconds": ()}
        try:
            with np.load(BytesIO(self._path(key).read_bytes()), allow_pickle=False) as file:
                found = {name: file[name] for name in shapes}
                # written when there were fewer gates: those that came later never opened
                found["counts"] = np.pad(found["counts"], ((0, 0), (0, max(0, len(COUNTS) - found["counts"].shape[1]))))
        except Exception:  # not there, or damaged: an archive fails in a dozen ways
            return None
        valid = {name: part.shape for name, part in found.items()} == shapes
        if not valid or not all(np.isfinite(part).all() for part in found.values()):
            return None
        self._cells[key] = found
        return found

    def _values(self, case: Case, label: str, quick: bool) -> dict[str, np.ndarray]:
        """Return the columns that a cell has."""
        found = self._read(case, label)
        if found is None:
            raise Refusal("reproduce", f"results of {label} on {case.name}", "missing", "computed first")
        runs, bins = np.arange(case.draws * case.repeats), found["optimal"].shape[1]
        edges = np.arange(bins + 1) * case.horizon // bins
        values = {
            "case": np.full(len(runs), case.name, object),
            "policy": np.full(len(runs), label, object),
            "draw": runs // case.repeats,
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


def _described(file: Path) -> dict[str, Any] | None:
    """Return the description of an experiment, None if it is damaged."""
    try:
        found = json.loads(file.read_text())
        valid = all(isinstance(found[name], kind) for name, kind in _DESCRIBED.items())
        valid = valid and math.isfinite(found["seconds"]) and isinstance(found["machine"]["cores"], int)
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    return dict(found) if valid else None

"""Results on disk: found again by content, written whole or not at all, checked when read."""

import hashlib
import json
import math
import os
import platform
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, TypedDict, cast

import numpy as np
import pandas as pd

from latentbandits import __version__
from latentbandits.files import write_whole
from latentbandits.settings import InvalidValueError
from latentbandits.simulation.batch import cores, simulate
from latentbandits.simulation.loop import COUNTS
from latentbandits.simulation.results import Results
from latentbandits_studies.experiments.case import OWN, SIZES, Case, Size

Progress = Callable[[int, int], None]


class Column(NamedTuple):
    """A column of the results, one row per run."""

    name: str
    dtype: str
    meaning: str


_COUNTED = {
    "probes": "probes begun",
    "probe_rounds": "rounds spent on probes",
    "changes": "changes of the best arm",
    "found": "changes that a probe followed before the next change; as many probes began with a best arm that was new to them",
    "delay": "rounds from the changes that were found to their probes, in all",
}
COLUMNS = (
    Column("case", "object", "the world, by its name within the experiment"),
    Column("policy", "object", "the policy: a registered name, or a spec such as `adasp-ucb-table:gated=False,interval=40`"),
    Column("draw", "int64", "which reward matrix; the same draw and repeat are the same world for every policy"),
    Column("repeat", "int64", "which run on it"),
    Column("regret", "float64", "cumulative regret per group against the oracle that sees the state"),
    Column("optimal", "float64", "share of rounds (and groups) in which the best arm was played"),
    *(
        Column(name, "int64", _COUNTED.get(name, f"probes at whose beginning the {name.removesuffix('_gate')} gate was open"))
        for name in COUNTS
    ),
    Column("quick", "bool", "whether the run was a quick one"),
    Column("regret_curve", "object", "where a case keeps curves: regret per stretch of rounds, a list"),
    Column("optimal_curve", "object", "where a case keeps curves: share of optimal arms per stretch of rounds, a list"),
)  # fmt: skip


class Description(TypedDict):
    """How an experiment's rows were made; `sizes` are other draws than its own (how many, and the first), if there are any."""

    size: Size
    finished: str
    seconds: float
    rounds: int
    code: str
    sizes: list[int | None] | None
    cases: list[dict[str, object]]
    latentbandits: str
    python: str
    packages: dict[str, str]
    processor: str
    cores: int


def digest_cases(cases: Sequence[Case]) -> str:
    """Return a digest of all that the results of some cases depend on: settings, sizes, seeds and code; but of policies of one's own."""
    keys = "".join(key for case in cases if not case.name.endswith(OWN) for key in case.keys.values())
    return hashlib.sha256(keys.encode()).hexdigest()[:24]


class Store:
    """A folder of results.

    `runs/` holds a Parquet file per case and policy, named by content (settings, sizes, seed, code): what is there already is not computed
    again, and a damaged file is. An experiment's table (`EXPERIMENT.parquet`, one row per run, see `COLUMNS`) is put together from them;
    `EXPERIMENT.json` describes how it was made. Files are written whole or not at all.

    Parameters
    ----------
    folder : path or str
        Where results are kept.
    read_only : bool
        Make nothing.
    """

    def __init__(self, folder: str | Path, read_only: bool = False) -> None:
        self.folder = Path(folder)
        self._runs: dict[str, pd.DataFrame] = {}
        if not read_only:
            try:
                (self.folder / "runs").mkdir(parents=True, exist_ok=True)
            except OSError as problem:
                raise InvalidValueError("reproduce", "out", str(folder), "a folder that can be written to") from problem
            if not os.access(self.folder / "runs", os.W_OK):
                raise InvalidValueError("reproduce", "out", str(folder), "a folder that can be written to")

    def path(self, case: Case, label: str) -> Path:
        """Return the file with the runs of a policy in a case."""
        return self.folder / "runs" / f"{case.keys[label]}.parquet"

    def missing(self, case: Case) -> list[str]:
        """Return the labels of a case whose results are not there; of several that share a file the first."""
        labels: dict[str, str] = {}
        for label, key in case.keys.items():
            if not self._has(case, label):
                labels.setdefault(key, label)
        return list(labels.values())

    def _has(self, case: Case, label: str) -> bool:
        """Return whether the runs of a policy are there, and read them once."""
        key = case.keys[label]
        if key not in self._runs:
            try:
                runs = pd.read_parquet(self.path(case, label))
            except Exception:  # not there, or damaged
                return False
            if len(runs) != case.draws * case.repeats:
                return False
            self._runs[key] = runs
        return True

    def compute(
        self,
        case: Case,
        workers: int | None = None,
        progress: Progress | None = None,
        executor: Executor | None = None,
    ) -> list[str]:
        """Simulate what is missing of a case, keep it, and return the labels computed."""
        labels = self.missing(case)
        if labels:
            results = simulate(
                case.world,
                {label: case.policies[label] for label in labels},
                horizon=case.horizon,
                draws=case.draws,
                repeats=case.repeats,
                seed=case.seed,
                first=case.first,
                bins=case.bins,
                workers=workers,
                executor=executor,
                progress=progress,
            )
            for i, label in enumerate(labels):
                runs = self._runs[case.keys[label]] = _run_rows(results, i)
                _write_frame(self.path(case, label), runs)
        return labels

    def runs(self, case: Case, label: str) -> pd.DataFrame:
        """Return the runs of a policy in a case, or refuse."""
        if not self._has(case, label):
            raise InvalidValueError("reproduce", f"results of {label} on {case.name}", "missing", "computed first")
        return self._runs[case.keys[label]]

    def rows(self, cases: Sequence[Case], quick: bool = False) -> pd.DataFrame:
        """Return the results of all cases, one row per run; curves are lists of floats where a case keeps them."""
        parts = [
            self.runs(case, label).assign(case=case.name, policy=label, quick=quick)
            for case in cases
            for label in case.policies
        ]
        table = pd.concat(parts, ignore_index=True)
        return table[[column.name for column in COLUMNS if column.name in table]]

    def refuse_smaller(self, experiment: str, size: Size, sizes: Sequence[int | None] | None = None) -> None:
        """Refuse if a smaller run of an experiment, or one with other draws, would replace results that are judged."""
        file, about = self.folder / f"{experiment}.parquet", self.descriptions().get(experiment)
        try:
            quick = pd.read_parquet(file, columns=["quick"])["quick"].all()
        except Exception:  # not there, or damaged
            return
        if quick or (about is not None and about["sizes"] is not None):
            return
        there = "full" if about is None else about["size"]
        rule = f"or in another folder: {file} is of a {there} run"
        if sizes is not None:
            raise InvalidValueError("reproduce", "draws and first", list(sizes), f"left out, {rule}")
        if SIZES.index(size) < SIZES.index(there):
            asked = {"quick": "a quick run", "paper": "without --full"}[size]
            larger = "with --full" if there == "full" else "without --quick"
            raise InvalidValueError("reproduce", "run", asked, f"{larger}, {rule}")

    def save(self, experiment: str, rows: pd.DataFrame) -> None:
        """Write an experiment's rows as Parquet."""
        _write_frame(self.folder / f"{experiment}.parquet", rows)

    def load(self, experiment: str) -> pd.DataFrame:
        """Return an experiment's rows, or refuse."""
        path = self.folder / f"{experiment}.parquet"
        try:
            return pd.read_parquet(path)
        except Exception as problem:
            state = "damaged, and will be written again" if path.exists() else "missing"
            rule = f"one that `latentbandits reproduce` has written (it is {state})"
            raise InvalidValueError("report", "file", str(path), rule) from problem

    def experiments(self) -> list[str]:
        """Return the names of the experiments whose rows are there."""
        return sorted(path.stem for path in self.folder.glob("*.parquet"))

    def descriptions(self) -> dict[str, Description]:
        """Return how the experiments' rows were made; what is damaged is left out."""
        described = {path.stem: _describe(path) for path in sorted(self.folder.glob("*.json"))}
        return {name: about for name, about in described.items() if about is not None}

    def note(
        self,
        experiment: str,
        cases: Sequence[Case],
        size: Size,
        seconds: float = 0.0,
        sizes: Sequence[int | None] | None = None,
    ) -> None:
        """Describe how an experiment was made; the seconds are added to those of earlier calls that computed parts of the same."""
        code = digest_cases(cases)
        before = self.descriptions().get(experiment)
        if before is not None and (before["code"], before["size"]) == (code, size):
            seconds += before["seconds"]
        description: Description = {
            "size": size,
            "finished": time.strftime("%Y-%m-%d %H:%M", time.gmtime()) + " UTC",
            "seconds": round(seconds, 2),
            "rounds": sum(case.rounds for case in cases),
            "code": code,
            "sizes": None if sizes is None else list(sizes),
            "cases": [case.description() for case in cases],
            "latentbandits": __version__,
            "python": platform.python_version(),
            "packages": {name: version(name) for name in ("numba", "numpy", "scipy", "pandas")},
            "processor": platform.machine(),
            "cores": cores(),
        }
        write_whole(self.folder / f"{experiment}.json", (json.dumps(description, indent=1) + "\n").encode())


def _write_frame(path: Path, frame: pd.DataFrame) -> None:
    """Write a table as Parquet, whole or not at all."""
    content = BytesIO()
    frame.to_parquet(content, index=False)
    write_whole(path, content.getvalue())


def _run_rows(results: Results, policy: int) -> pd.DataFrame:
    """Return a row per run of a policy, with curves if the results have more than one bin."""
    regret, optimal = results.regret_bins[policy], results.optimal_bins[policy]
    runs = np.arange(len(regret))
    values = {
        "draw": results.first + runs // results.repeats,
        "repeat": runs % results.repeats,
        "regret": regret.sum(axis=1),
        "optimal": optimal @ (np.diff(results.edges) / results.horizon),
        **{name: results.counts[name][policy] for name in COUNTS},
    }
    if regret.shape[1] > 1:
        values |= {"regret_curve": list(regret.astype(np.float32)), "optimal_curve": list(optimal.astype(np.float32))}
    return pd.DataFrame(values)


def _describe(path: Path) -> Description | None:
    """Return the description of an experiment, None if it is damaged."""
    try:
        about = cast(Description, json.loads(path.read_bytes()))
        valid = about.keys() == Description.__annotations__.keys() and math.isfinite(about["seconds"])
        valid = valid and isinstance(about["rounds"], int) and isinstance(about["code"], str) and about["size"] in SIZES
    except (OSError, ValueError, AttributeError, TypeError, RecursionError):
        return None
    return about if valid else None

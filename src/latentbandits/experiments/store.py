"""Results on disk: found again by content, written whole or not at all, checked when read."""

import hashlib
import json
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from latentbandits import __version__
from latentbandits.experiments.case import Case
from latentbandits.files import write_whole
from latentbandits.simulation.batch import cores, simulate
from latentbandits.simulation.loop import COUNTS

Progress = Callable[[int, int], None]


def code_of(cases: Sequence[Case]) -> str:
    """Return a digest of all that the results of some cases depend on: settings, sizes, seeds and code."""
    return hashlib.sha256("".join(case.key(label) for case in cases for label in case.policies).encode()).hexdigest()[
        :24
    ]


class Store:
    """A folder of results.

    `cells/` holds one file per policy and case, named by content (settings, sizes, seed, code of the policy): whatever is there already
    is not computed again, and a file that is damaged is. The tables for people, one row per run, are put together from the cells.
    """

    def __init__(self, folder: Path, read_only: bool = False) -> None:
        self.folder = folder
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
            raise ValueError(
                f"reproduce: out is {str(folder)!r} but must be a folder that can be written to"
            ) from problem

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
            for i, label in enumerate(wanted):
                counts = np.stack([results.counts[name][i] for name in COUNTS], axis=1)
                content = BytesIO()
                spent = np.array((time.perf_counter() - begin) / len(wanted))
                parts = {"regret": results.regret_bins[i], "optimal": results.optimal_bins[i], "counts": counts}
                np.savez_compressed(content, **parts, seconds=spent)
                write_whole(self._path(case, label), content.getvalue())
        return wanted

    def rows(self, cases: Sequence[Case], quick: bool = False) -> pd.DataFrame:
        """Return the results of all cases, one row per run; curves are lists of floats where a case keeps them."""
        frames = [self._frame(case, label) for case in cases for label in case.policies]
        return pd.concat(frames, ignore_index=True).assign(quick=quick)

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
            raise ValueError(
                f"report: {path} is missing but must be a folder that `latentbandits reproduce` has filled"
            )
        try:
            return pd.read_parquet(path)
        except Exception as problem:
            raise ValueError(
                f"report: {path} is damaged but must be one that `latentbandits reproduce` writes anew"
            ) from problem

    @property
    def manifest(self) -> dict[str, Any]:
        """What was run: settings, seeds, versions, machine, seconds; empty where it is missing or damaged."""
        try:
            found = json.loads((self.folder / "manifest.json").read_text())
            if all({"rounds", "seconds"} <= set(about) for about in found["experiments"].values()):
                return dict(found)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            pass
        return {"experiments": {}}

    def note(self, experiment: str, cases: Sequence[Case], quick: bool) -> None:
        """Enter an experiment into the manifest; its seconds are those of all its cells, whenever they were computed."""
        manifest = self.manifest
        manifest |= {
            "latentbandits": __version__,
            "python": platform.python_version(),
            "packages": {name: version(name) for name in ("numba", "numpy", "scipy", "pandas")},
            "machine": {"processor": platform.machine(), "system": platform.system(), "cores": cores()},
        }
        cells = [self._read(case, label) for case in cases for label in case.policies]
        manifest["experiments"][experiment] = {
            "quick": quick,
            "finished": time.strftime("%Y-%m-%d %H:%M", time.gmtime()) + " UTC",
            "seconds": round(sum(float(cell["seconds"]) for cell in cells if cell is not None), 2),
            "rounds": sum(case.rounds for case in cases),
            "code": code_of(cases),
            "cases": [case.about() for case in cases],
        }
        write_whole(self.folder / "manifest.json", (json.dumps(manifest, indent=1) + "\n").encode())

    def _path(self, case: Case, label: str) -> Path:
        return self.folder / "cells" / f"{case.key(label)}.npz"

    def _read(self, case: Case, label: str) -> dict[str, np.ndarray] | None:
        runs = case.draws * case.repeats
        bins = min(case.bins, case.horizon)
        shapes = {"regret": (runs, bins), "optimal": (runs, bins), "counts": (runs, len(COUNTS)), "seconds": ()}
        try:
            with np.load(BytesIO(self._path(case, label).read_bytes()), allow_pickle=False) as file:
                found = {name: file[name] for name in shapes}
        except Exception:  # not there, or damaged: an archive fails in a dozen ways
            return None
        sound = {name: part.shape for name, part in found.items()} == shapes
        return found if sound and all(np.isfinite(part).all() for part in found.values()) else None

    def _frame(self, case: Case, label: str) -> pd.DataFrame:
        found = self._read(case, label)
        if found is None:
            raise ValueError(
                f"reproduce: results of {label} on {case.name} are missing but must be to compute them first"
            )
        runs = np.arange(case.draws * case.repeats)
        edges = np.arange(found["optimal"].shape[1] + 1) * case.horizon // found["optimal"].shape[1]
        frame = pd.DataFrame(
            {
                "case": case.name,
                "policy": label,
                "draw": runs // case.repeats,
                "repeat": runs % case.repeats,
                "regret": found["regret"].sum(axis=1),
                "optimal": found["optimal"] @ (np.diff(edges) / case.horizon),
            }
        )
        for i, name in enumerate(COUNTS):
            frame[name] = found["counts"][:, i]
        if case.bins > 1:
            frame["regret_curve"] = list(found["regret"].astype(np.float32))
            frame["optimal_curve"] = list(found["optimal"].astype(np.float32))
        return frame

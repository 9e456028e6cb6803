"""Write the folder of results that every later version must open: ``python -m tests.golden_results``."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from latentbandits_studies.experiments.case import Case
from latentbandits_studies.experiments.registry import experiment
from latentbandits_studies.experiments.reproduce import reproduce

FOLDER = Path(__file__).parent / "golden" / "results"
NAME = "many-arms"  # the smallest
CELL = FOLDER / "cells" / "first.npz"


def first() -> tuple[Case, str]:
    """Return the case and the label of the cell that is kept."""
    case = experiment(NAME).cases(True)[0]
    return case, next(iter(case.policies))


def write() -> None:
    """Run the experiment, and keep its table and its description; the cell is one that an earlier version wrote."""
    with TemporaryDirectory() as made:
        reproduce([NAME], Path(made), quick=True)
        for suffix in ("parquet", "json"):
            shutil.copy(Path(made) / f"{NAME}.{suffix}", FOLDER)


if __name__ == "__main__":
    write()

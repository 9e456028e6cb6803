"""A comparison as a run of MLflow (``pip install mlflow-skinny``): copy `log` into your program.

The words of the problem are the parameters, every number of the table is a metric named COLUMN/POLICY, and the table, everything as JSON
and the figure are artifacts.
"""

import re
import tempfile
from pathlib import Path

import mlflow
import numpy as np

import latentbandits as lb


def log(comparison: lb.Comparison) -> str:
    """Log what `compare` returned and return the id of the run; in an active run it is a nested one."""
    numbers = comparison.table.select_dtypes("number").stack()
    metrics = {f"{column}/{re.sub('[^a-z0-9:-]', '_', row)}": value for (row, column), value in numbers.items()}
    with mlflow.start_run(run_name="compare", nested=mlflow.active_run() is not None) as run:
        mlflow.set_tag("latentbandits", comparison.headline)
        mlflow.log_params(comparison.values()["problem"])
        mlflow.log_metrics({name: value for name, value in metrics.items() if np.isfinite(value)})
        with tempfile.TemporaryDirectory() as folder:
            for suffix in (".csv", ".json", ".svg"):
                comparison.save(Path(folder) / f"compare{suffix}")
            mlflow.log_artifacts(folder)
    return str(run.info.run_id)


if __name__ == "__main__":
    log(lb.compare(lb.Problem(horizon=1000, runs=20), ["state-library", "ucb1", "ts"]))

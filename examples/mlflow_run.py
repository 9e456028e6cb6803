"""What `compare`, `advise` or `tune` returns as a run of MLflow, to copy: numbers as metrics, files as artifacts.

Needs `pip install mlflow-skinny` and `latentbandits[report]`.
"""

import tempfile
from pathlib import Path
from typing import Any

import mlflow
import numpy as np


def log_result(result: Any, name: str) -> str:
    """Log a result and return the id of its run; a metric is named COLUMN/POLICY, as far as MLflow takes the name."""
    with mlflow.start_run(run_name=name) as run:
        mlflow.set_tag("latentbandits", result.headline)
        for row, values in result.table.select_dtypes("number").iterrows():
            label = "".join(sign if sign.isalnum() or sign in "_-. :/" else "_" for sign in str(row))
            mlflow.log_metrics({f"{column}/{label}": value for column, value in values.items() if np.isfinite(value)})
        with tempfile.TemporaryDirectory() as folder:
            for suffix in (".csv", ".json", ".svg"):
                result.save(Path(folder, f"{name}{suffix}"))
            mlflow.log_artifacts(folder)
    return str(run.info.run_id)

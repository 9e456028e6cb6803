"""What `compare`, `advise` and `tune` return, as a run of MLflow."""

import tempfile
from pathlib import Path
from typing import Any

import mlflow
import numpy as np

from latentbandits.advice.result import FIGURES, Result, problem_values
from latentbandits.settings import Refusal

LONGEST = 500  # characters of a parameter


def log(result: Result, name: str | None = None) -> str:
    """Log a result to MLflow and return the id of the run.

    The words of the problem are the parameters; every number of the table is a metric named ``COLUMN/POLICY``; the table, everything as
    JSON and the figure are artifacts. In an active run it is a nested one.

    Examples
    --------
    >>> import tempfile, mlflow
    >>> import latentbandits as lb
    >>> from latentbandits.neighbours.mlflow import log
    >>> comparison = lb.compare(lb.Problem(horizon=200, runs=4), ["ucb1", "ts"])
    >>> folder = tempfile.mkdtemp()
    >>> mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
    >>> experiment = mlflow.set_experiment(experiment_id=mlflow.create_experiment("offers", artifact_location=folder))
    >>> run = log(comparison, "first")
    >>> mlflow.get_run(run).data.params["horizon"]
    '200'
    """
    if not isinstance(result, Result):
        raise Refusal("mlflow.log", "result", result, "what compare, advise or tune returns")
    described: Any = getattr(result, "problem", None)
    words = {} if described is None else problem_values(described)
    with mlflow.start_run(run_name=name or result.owner, nested=mlflow.active_run() is not None) as run:
        mlflow.set_tag("latentbandits", result.headline)
        mlflow.log_params({word: str(value)[:LONGEST] for word, value in words.items()})
        mlflow.log_metrics(metrics(result))
        with tempfile.TemporaryDirectory() as folder:
            for suffix in (".csv", ".json", FIGURES[0]):
                path = Path(folder) / f"{result.owner}{suffix}"
                path.write_bytes(result.content(suffix))
                mlflow.log_artifact(str(path))
    return str(run.info.run_id)


def metrics(result: Result) -> dict[str, float]:
    """Return every finite number of a result's table, by column and row; characters that MLflow refuses become underscores.

    Examples
    --------
    >>> import pandas as pd
    >>> from latentbandits.neighbours.mlflow import metrics
    >>> class Table:
    ...     table = pd.DataFrame({"regret": [3.0, float("nan")]}, index=["sw-ucb:window=9", "ts"])
    >>> metrics(Table())
    {'regret/sw-ucb:window_9': 3.0}
    """
    found: dict[str, float] = {}
    numbers = result.table.select_dtypes("number")
    for row, values in numbers.iterrows():
        label = "".join(sign if sign.isalnum() or sign in "_-. :/" else "_" for sign in str(row))
        found |= {f"{column}/{label}": float(value) for column, value in values.items() if np.isfinite(value)}
    return found

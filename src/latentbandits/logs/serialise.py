"""A diagnosis as plain values for JSON, and as one .npz file: arrays, and one JSON document that says where they belong."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from latentbandits.advice.result import records
from latentbandits.logs.conclusion import Conclusion
from latentbandits.logs.diagnosis import Diagnosis
from latentbandits.logs.hmm import Model
from latentbandits.logs.hypothesis import Hypothesis
from latentbandits.logs.log import Log
from latentbandits.logs.reading import Bad
from latentbandits.logs.regression import Covariate
from latentbandits.logs.series import Series
from latentbandits.logs.text import list_next_steps
from latentbandits.logs.worlds import FittedChanges, FittedDrift, FittedRegimes
from latentbandits.settings import InvalidValueError

MOST_CHANGES = 1000  # that are listed
FORMAT, VERSION = "latentbandits diagnosis", 1
RULE = "a diagnosis, as `latentbandits diagnose` writes it"
RECORDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (Bad, Conclusion, Covariate, FittedChanges, FittedDrift, FittedRegimes, Hypothesis, Log, Model, Series)
}
NOT_SAVED = (
    "table",
    "comparison",
)  # fields of a diagnosis: the first follows from the others, the second is made on demand


def to_values(d: Diagnosis) -> dict[str, object]:
    """Return everything but single rows as plain values."""
    changes = d.changes.to_dict("records")[:MOST_CHANGES] if d.regimes else []
    interval = ("point", "low", "high")
    return {
        "conclusion": d.conclusion.kind,
        "headline": d.headline,
        "sure": d.conclusion.sure,
        "margin": d.conclusion.margin if np.isfinite(d.conclusion.margin) else None,
        "needed": d.conclusion.needed,
        "settle": list_next_steps(d),
        "states": d.fit.num_states if d.regimes and d.fit is not None else None,
        "fewest_states": d.fewest if d.regimes else None,
        "at_least": d.at_least if d.regimes else None,
        "gain": dict(zip(interval, d.gain, strict=True)) if d.regimes else None,
        "useful": d.useful if d.regimes else None,
        "old_rule_regret": dict(zip(interval, d.regret, strict=True)) if d.regimes else None,
        "table": records(d.table),
        "rewards": "binary" if d.series.binary else "normal",
        "noise": d.noise.tolist(),
        "hypotheses": [
            {
                "name": h.name,
                "probability": d.probabilities[h.name],
                "score": h.score,
                "gain": h.gain,
                "num_params": h.num_params,
                "shape_gain": h.shape_gain,
            }
            for h in d.hypotheses
        ],
        "calendar": None if d.calendar is None else {"words": d.calendar[0], "share": d.calendar[1]},
        "covariates": [covariate._asdict() for covariate in d.covariates],
        "changes": [{**row, "time": str(row["time"])} if "time" in row else row for row in changes],
        "flags": list(d.flags),
        "log": {
            "rows": len(d.log),
            "arms": list(d.log.arms),
            "left_out": d.log.left_out,
            "source": d.log.source,
        },
        "comparison": None if d.comparison is None else d.comparison.values(),
    }


def encode(value: object, arrays: dict[int, np.ndarray]) -> object:
    """Return a value as JSON knows it; arrays are put aside, each once."""
    if isinstance(value, np.ndarray):
        arrays.setdefault(id(value), value)
        return {"array": list(arrays).index(id(value))}
    fields: Mapping[str, object] | None = None
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        fields = value._asdict()
    elif dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if fields is not None:
        return {"record": type(value).__name__, "fields": {name: encode(fields[name], arrays) for name in fields}}
    if isinstance(value, Mapping):
        return {"items": [[key, encode(entry, arrays)] for key, entry in value.items()]}
    if isinstance(value, list | tuple):
        return [encode(entry, arrays) for entry in value]
    return value


def decode(value: Any, arrays: Sequence[np.ndarray]) -> Any:
    """Return what `encode` was given; lists come back as tuples."""
    if isinstance(value, list):
        return tuple(decode(entry, arrays) for entry in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "items" in value:
        return {key: decode(entry, arrays) for key, entry in value["items"]}
    return RECORDS[value["record"]](**{name: decode(entry, arrays) for name, entry in value["fields"].items()})


def to_npz(d: Diagnosis) -> bytes:
    """Return the content of a file."""
    arrays: dict[int, np.ndarray] = {}
    names = [field.name for field in dataclasses.fields(d) if field.name not in NOT_SAVED]
    fields = {name: encode(getattr(d, name), arrays) for name in names}
    about = json.dumps({"format": FORMAT, "version": VERSION, "fields": fields}).encode()
    content = BytesIO()
    np.savez_compressed(content, *arrays.values(), about=np.frombuffer(about, np.uint8))
    return content.getvalue()


def from_npz(path: Path) -> Diagnosis:
    """Return the diagnosis in a file, or refuse it."""
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(file["about"].tobytes())
            arrays = [file[f"arr_{number}"] for number in range(len(file.files) - 1)]
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InvalidValueError("diagnosis", "file", str(path), f"{RULE} ({reason})") from None
    except (ValueError, KeyError):
        raise InvalidValueError("diagnosis", "file", str(path), f"{RULE} (it is no such file)") from None
    if about.get("format") != FORMAT or about.get("version") != VERSION:
        raise InvalidValueError("diagnosis", "file", str(path), f"{RULE}, version {VERSION}")
    fields = {name: decode(value, arrays) for name, value in about["fields"].items()}
    return Diagnosis(**fields)

"""A diagnosis as plain values, for JSON."""

from typing import TYPE_CHECKING, Any

import numpy as np

from latentbandits.advice.result import records
from latentbandits.logs.text import list_next_steps

if TYPE_CHECKING:
    from latentbandits.logs.diagnosis import Diagnosis

MOST_CHANGES = 1000  # that are listed


def values(d: "Diagnosis") -> dict[str, Any]:
    """Return everything but single rows as plain values."""
    loss = dict(zip(("point", "low", "high"), d.regret, strict=True))
    return {
        "conclusion": d.conclusion.kind,
        "headline": d.headline,
        "sure": d.conclusion.sure,
        "margin": _finite(d.conclusion.margin),
        "needed": d.conclusion.needed,
        "settle": list_next_steps(d),
        "states": d.fit.num_states if d.regimes and d.fit is not None else None,
        "fewest_states": d.fewest if d.regimes else None,
        "at_least": d.at_least if d.regimes else None,
        "gain": dict(zip(("point", "low", "high"), d.gain, strict=True)) if d.regimes else None,
        "useful": d.useful if d.regimes else None,
        "old_rule_regret": loss if d.regimes else None,
        "table": records(d.table),
        "rewards": "binary" if d.series.binary else "normal",
        "noise": d.noise.tolist(),
        "hypotheses": [
            {
                "name": each.name,
                "score": each.score,
                "gain": each.gain,
                "num_params": each.num_params,
                "shape_gain": each.shape_gain,
            }
            for each in d.hypotheses
        ],
        "calendar": None if d.calendar is None else {"words": d.calendar[0], "share": d.calendar[1]},
        "covariates": [each._asdict() for each in d.covariates],
        "changes": [
            {**row, "time": str(row["time"])} if "time" in row else row
            for row in d.changes.to_dict("records")[:MOST_CHANGES]
        ]
        if d.regimes
        else [],
        "flags": list(d.flags),
        "log": {
            "rows": len(d.log),
            "arms": list(d.log.arms),
            "left_out": d.log.left_out,
            "source": d.log.source,
        },
        "comparison": None if d.comparison is None else d.comparison.values(),
    }


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None

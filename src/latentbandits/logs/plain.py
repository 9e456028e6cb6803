"""A diagnosis as plain values, for JSON."""

from typing import TYPE_CHECKING, Any

import numpy as np

from latentbandits.advice.result import records
from latentbandits.logs.text import settle

if TYPE_CHECKING:
    from latentbandits.logs.diagnosis import Diagnosis

MOST_CHANGES = 1000  # that are listed


def values(d: "Diagnosis") -> dict[str, Any]:
    """Return everything but single rows as plain values."""
    loss = dict(zip(("point", "low", "high"), d.regret, strict=True))
    return {
        "verdict": d.verdict.kind,
        "headline": d.headline,
        "sure": d.verdict.sure,
        "margin": _finite(d.verdict.margin),
        "needed": d.verdict.needed,
        "settle": settle(d),
        "states": d.fit.states if d.regimes and d.fit is not None else None,
        "fewest_states": d.fewest if d.regimes else None,
        "at_least": d.at_least if d.regimes else None,
        "gain": dict(zip(("point", "low", "high"), d.gain, strict=True)) if d.regimes else None,
        "useful": d.useful if d.regimes else None,
        "old_rule_regret": loss if d.regimes else None,
        "table": records(d.table),
        "rewards": "binary" if d.series.binary else "normal",
        "noise": d.noise.tolist(),
        "explanations": [
            {"name": one.name, "score": one.score, "gain": one.gain, "numbers": one.numbers, "shape": one.shape}
            for one in d.explanations
        ],
        "calendar": None if d.calendar is None else {"words": d.calendar[0], "share": d.calendar[1]},
        "covariates": [one._asdict() for one in d.covariates],
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

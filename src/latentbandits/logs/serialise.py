"""A diagnosis as plain values for JSON, and as one .npz file: the log, the fit, and what it leaves open."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from latentbandits.advice.result import records
from latentbandits.logs.conclusion import conclude
from latentbandits.logs.diagnose import fill_table
from latentbandits.logs.diagnosis import Diagnosis
from latentbandits.logs.hmm import Model
from latentbandits.logs.hypotheses import Hypothesis
from latentbandits.logs.log import Log
from latentbandits.logs.posterior import Samples, arm_table
from latentbandits.logs.reading import Bad
from latentbandits.logs.regression import Covariate
from latentbandits.logs.series import Series
from latentbandits.logs.text import list_next_steps
from latentbandits.logs.worlds import FittedChanges, FittedDrift, FittedRegimes, FittedWorld
from latentbandits.settings import InvalidValueError

MOST_CHANGES = 1000  # that are listed
FORMAT, VERSION = "latentbandits diagnosis", 1
RULE = "a diagnosis, as `latentbandits diagnose` writes it"
WORLDS = {kind.__name__: kind for kind in (FittedRegimes, FittedDrift, FittedChanges)}
STORED = Hypothesis._fields.index("detail")  # fields of a hypothesis that a file has: those before what was fitted


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
            {"name": h.name, "score": h.score, "gain": h.gain, "num_params": h.num_params, "shape_gain": h.shape_gain}
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


def to_npz(d: Diagnosis) -> bytes:
    """Return the content of a file: arrays, and one JSON document about them."""
    log = d.log
    groups: dict[str, dict[str, Any]] = {
        "log": {
            "played": log.played,
            "rewards": log.rewards,
            "times": log.times,
            "subjects": log.subjects,
            "propensities": log.propensities,
            "gaps": log.gaps,
        },
        "context": dict(log.context),
        "series": d.series._asdict(),
        "fit": {} if d.fit is None else d.fit._asdict(),
        "samples": {} if d.samples is None else d.samples._asdict(),
        **{f"worlds/{kind}": {**vars(world), "class": type(world).__name__} for kind, world in d.worlds.items()},
    }
    arrays = {"offsets": d.offsets}
    plain: dict[str, dict[str, object]] = {}
    for group, fields in groups.items():
        arrays |= {f"{group}/{name}": value for name, value in fields.items() if isinstance(value, np.ndarray)}
        plain[group] = {name: value for name, value in fields.items() if not isinstance(value, np.ndarray)}
    about = {
        "format": FORMAT,
        "version": VERSION,
        "plain": plain,
        "arms": list(log.arms),
        "columns": dict(log.columns),
        "guessed": list(log.guessed),
        "bad": log.bad,
        "sorted": log.sorted,
        "source": log.source,
        "hypotheses": [h[:STORED] for h in d.hypotheses],
        "scores": {str(states): score for states, score in d.scores.items()},
        "calendar": d.calendar,
        "covariates": d.covariates,
        "worlds": list(d.worlds),
        "flags": list(d.flags),
        "seed": d.seed,
    }
    content = BytesIO()
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def from_npz(path: Path) -> Diagnosis:
    """Return the diagnosis in a file, or refuse it."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        about = json.loads(arrays.pop("about").tobytes())
    except OSError as error:
        raise InvalidValueError(
            "diagnosis", "file", str(path), f"{RULE} ({(error.strerror or str(error)).lower()})"
        ) from None
    except (ValueError, KeyError):
        raise InvalidValueError("diagnosis", "file", str(path), f"{RULE} (it is no such file)") from None
    if about.get("format") != FORMAT or about.get("version") != VERSION:
        raise InvalidValueError("diagnosis", "file", str(path), f"{RULE}, version {VERSION}")

    def group(name: str) -> dict[str, Any]:
        start = f"{name}/"
        own = {key.removeprefix(start): value for key, value in arrays.items() if key.startswith(start)}
        return {**own, **about["plain"][name]}

    def world(kind: str) -> FittedWorld:
        fields = group(f"worlds/{kind}")
        return WORLDS[fields.pop("class")](**fields)

    fit = group("fit")
    hypotheses = tuple(Hypothesis(*fields) for fields in about["hypotheses"])
    log = Log(
        tuple(about["arms"]),
        **group("log"),
        context=group("context"),
        columns=about["columns"],
        guessed=tuple(about["guessed"]),
        bad=tuple(Bad(reason, count, tuple(lines)) for reason, count, lines in about["bad"]),
        sorted=about["sorted"],
        source=about["source"],
    )
    return fill_table(
        Diagnosis(
            arm_table(log),
            log,
            hypotheses,
            conclude(hypotheses),
            Model(**fit) if fit else None,
            Samples(**group("samples")) if fit else None,
            Series(**group("series")),
            arrays["offsets"],
            {int(states): score for states, score in about["scores"].items()},
            None if about["calendar"] is None else tuple(about["calendar"]),
            tuple(Covariate(*fields) for fields in about["covariates"]),
            {kind: world(kind) for kind in about["worlds"]},
            tuple(about["flags"]),
            about["seed"],
        )
    )

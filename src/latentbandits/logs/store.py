"""A diagnosis as one file: the log, the fit, what it leaves open, and what was found, as arrays and one JSON document."""

import dataclasses
import json
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latentbandits.logs.columns import Bad
from latentbandits.logs.conclusion import conclude
from latentbandits.logs.covariates import Covariate
from latentbandits.logs.hypotheses import Hypothesis
from latentbandits.logs.log import Log
from latentbandits.logs.model import Model
from latentbandits.logs.posterior import Samples
from latentbandits.logs.series import Series
from latentbandits.logs.worlds import FittedChanges, FittedDrift, FittedRegimes, FittedWorld
from latentbandits.settings import Refusal

if TYPE_CHECKING:
    from latentbandits.logs.diagnosis import Diagnosis

FORMAT, VERSION = "latentbandits diagnosis", 1
WORLDS = {kind.__name__: kind for kind in (FittedRegimes, FittedDrift, FittedChanges)}
LOG_ARRAYS = ("played", "rewards", "times", "units", "propensities", "gaps")
SAID = Hypothesis._fields.index("detail")  # what comes before it is what a hypothesis says
FIT = ("means", "exit_prob", "entry_prob", "noise", "components", "tried")


def to_npz(d: "Diagnosis") -> bytes:
    """Return the content of a file."""
    arrays: dict[str, np.ndarray] = {"offsets": d.offsets}
    for name in LOG_ARRAYS:
        if getattr(d.log, name) is not None:
            arrays[f"log/{name}"] = getattr(d.log, name)
    arrays |= {f"context/{name}": column for name, column in d.log.context.items()}
    arrays |= {
        f"series/{name}": getattr(d.series, name) for name in ("arms", "values", "gaps", "noise", "logit_offset")
    }
    if d.fit is not None and d.samples is not None:
        arrays |= {f"fit/{name}": getattr(d.fit, name) for name in FIT}
        arrays |= {f"samples/{name}": part for name, part in d.samples._asdict().items()}
    worlds = {}
    for kind, world in d.worlds.items():
        fields = {field.name: getattr(world, field.name) for field in dataclasses.fields(world)}
        worlds[kind] = {"class": type(world).__name__} | {
            k: v for k, v in fields.items() if not isinstance(v, np.ndarray)
        }
        arrays |= {f"worlds/{kind}/{name}": value for name, value in fields.items() if isinstance(value, np.ndarray)}
    about: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "arms": list(d.log.arms),
        "columns": dict(d.log.columns),
        "guessed": list(d.log.guessed),
        "bad": [list(bad) for bad in d.log.bad],
        "sorted": d.log.sorted,
        "source": d.log.source,
        "binary": d.series.binary,
        "family": None if d.fit is None else d.fit.family,
        "ar_coef": 0.0 if d.fit is None else d.fit.ar_coef,
        "likelihood": None if d.fit is None else [d.fit.log_lik, d.fit.objective],
        "hypotheses": [list(each[:SAID]) for each in d.hypotheses],
        "scores": {str(states): score for states, score in d.scores.items()},
        "calendar": d.calendar,
        "covariates": [list(each) for each in d.covariates],
        "worlds": worlds,
        "flags": list(d.flags),
        "seed": d.seed,
        "context": list(d.log.context),
    }
    content = BytesIO()
    save: Any = np.savez_compressed
    save(content, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)
    return content.getvalue()


def from_npz(cls: Any, path: Path) -> Any:
    """Return the diagnosis in a file, or refuse it."""
    rule = "a diagnosis, as `latentbandits diagnose` writes it"
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        about = json.loads(arrays.pop("about").tobytes())
    except (OSError, ValueError, KeyError) as problem:
        reason = getattr(problem, "strerror", None) or "it is no such file"
        raise Refusal("diagnosis", "file", str(path), f"{rule} ({reason.lower()})") from None
    if about.get("format") != FORMAT or about.get("version") != VERSION:
        raise Refusal("diagnosis", "file", str(path), f"{rule}, version {VERSION}")
    from latentbandits.logs.assembly import arm_table, state_table

    columns: dict[str, Any] = {name: arrays.get(f"log/{name}") for name in LOG_ARRAYS}
    log = Log(
        tuple(about["arms"]),
        **columns,
        context={name: arrays[f"context/{name}"] for name in about["context"]},
        columns=about["columns"],
        guessed=tuple(about["guessed"]),
        bad=tuple(Bad(reason, count, tuple(lines)) for reason, count, lines in about["bad"]),
        sorted=about["sorted"],
        source=about["source"],
    )
    parts = {name: arrays[f"series/{name}"] for name in ("arms", "values", "gaps", "noise", "logit_offset")}
    series = Series(**parts, binary=about["binary"])
    fit, samples = None, None
    if about["family"] is not None:
        log_lik, objective = about["likelihood"]
        named = {name: arrays[f"fit/{name}"] for name in FIT}
        ar_coef = about["ar_coef"]
        fit = Model(about["family"], **named, log_lik=log_lik, objective=objective, ar_coef=ar_coef)
        samples = Samples(*(arrays[f"samples/{name}"] for name in Samples._fields))
    hypotheses = tuple(Hypothesis(*each) for each in about["hypotheses"])
    diagnosis: Diagnosis = cls(
        arm_table(log), log, hypotheses, conclude(hypotheses), fit, samples, series, arrays["offsets"],
        {int(states): score for states, score in about["scores"].items()},
        None if about["calendar"] is None else tuple(about["calendar"]),
        tuple(Covariate(*each) for each in about["covariates"]),
        {kind: _world(kind, dict(plain), arrays) for kind, plain in about["worlds"].items()},
        tuple(about["flags"]), about["seed"],
    )  # fmt: skip
    if diagnosis.regimes and diagnosis.model is not None and diagnosis.samples is not None:
        table = state_table(log, diagnosis.model, diagnosis.samples, diagnosis.means_sampled)
        diagnosis = dataclasses.replace(diagnosis, table=table)
    return diagnosis


def _world(kind: str, plain: dict[str, Any], arrays: dict[str, np.ndarray]) -> FittedWorld:
    world_class: Any = WORLDS[plain.pop("class")]
    begin = f"worlds/{kind}/"
    own = {name.removeprefix(begin): value for name, value in arrays.items() if name.startswith(begin)}
    world: FittedWorld = world_class(**plain, **own)
    return world

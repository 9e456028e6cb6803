"""A diagnosis as one file: the log, the fit, what it leaves open, and what was found, as arrays and one JSON document."""

import dataclasses
import json
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latentbandits.logs.columns import Bad
from latentbandits.logs.covariates import Covariate
from latentbandits.logs.explanations import Explanation
from latentbandits.logs.log import Log
from latentbandits.logs.model import Model
from latentbandits.logs.posterior import Samples
from latentbandits.logs.series import Series
from latentbandits.logs.verdict import judged
from latentbandits.logs.worlds import FittedChanges, FittedDrift, FittedRegimes, FittedWorld
from latentbandits.settings import Refusal

if TYPE_CHECKING:
    from latentbandits.logs.diagnosis import Diagnosis

FORMAT, VERSION = "latentbandits diagnosis", 1
WORLDS = {kind.__name__: kind for kind in (FittedRegimes, FittedDrift, FittedChanges)}
LOG_ARRAYS = ("played", "rewards", "times", "units", "propensities", "gaps")
SAID = Explanation._fields.index("detail")  # what comes before it is what an explanation says
FIT = ("means", "leave", "enter", "noise", "shape", "tried")


def packed(d: "Diagnosis") -> bytes:
    """Return the content of a file."""
    arrays: dict[str, np.ndarray] = {"offsets": d.offsets}
    for name in LOG_ARRAYS:
        if getattr(d.log, name) is not None:
            arrays[f"log/{name}"] = getattr(d.log, name)
    arrays |= {f"context/{name}": column for name, column in d.log.context.items()}
    arrays |= {f"series/{name}": getattr(d.series, name) for name in ("arms", "values", "gaps", "noise", "odds")}
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
        "memory": 0.0 if d.fit is None else d.fit.memory,
        "likelihood": None if d.fit is None else [d.fit.likelihood, d.fit.objective],
        "explanations": [list(one[:SAID]) for one in d.explanations],
        "scores": {str(states): score for states, score in d.scores.items()},
        "calendar": d.calendar,
        "covariates": [list(one) for one in d.covariates],
        "worlds": worlds,
        "flags": list(d.flags),
        "seed": d.seed,
        "context": list(d.log.context),
    }
    content = BytesIO()
    save: Any = np.savez_compressed
    save(content, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)
    return content.getvalue()


def loaded(cls: Any, path: Path) -> Any:
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
    parts = {name: arrays[f"series/{name}"] for name in ("arms", "values", "gaps", "noise", "odds")}
    series = Series(**parts, binary=about["binary"])
    fit, samples = None, None
    if about["family"] is not None:
        likelihood, objective = about["likelihood"]
        named = {name: arrays[f"fit/{name}"] for name in FIT}
        memory = about.get("memory", 0.0)
        fit = Model(about["family"], **named, likelihood=likelihood, objective=objective, memory=memory)
        samples = Samples(*(arrays[f"samples/{name}"] for name in Samples._fields))
    found = tuple(Explanation(*one) for one in about["explanations"])
    made: Diagnosis = cls(
        arm_table(log), log, found, judged(found), fit, samples, series, arrays["offsets"],
        {int(states): score for states, score in about["scores"].items()},
        None if about["calendar"] is None else tuple(about["calendar"]),
        tuple(Covariate(*one) for one in about["covariates"]),
        {kind: _world(kind, dict(plain), arrays) for kind, plain in about["worlds"].items()},
        tuple(about["flags"]), about["seed"],
    )  # fmt: skip
    if made.regimes and made.model is not None and made.samples is not None:
        table = state_table(log, made.model, made.samples, made.means_sampled)
        made = dataclasses.replace(made, table=table)
    return made


def _world(kind: str, plain: dict[str, Any], arrays: dict[str, np.ndarray]) -> FittedWorld:
    made: Any = WORLDS[plain.pop("class")]
    begin = f"worlds/{kind}/"
    own = {name.removeprefix(begin): value for name, value in arrays.items() if name.startswith(begin)}
    world: FittedWorld = made(**plain, **own)
    return world

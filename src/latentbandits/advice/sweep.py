"""Many problems: advice on each, or settings for each, kept one by one in a folder that several machines may share."""

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from latentbandits.advice.advise import admitted, advise
from latentbandits.advice.problem import as_problem
from latentbandits.advice.result import problem_values
from latentbandits.advice.tune import prepare, tune
from latentbandits.experiments.cells import Cells, differing
from latentbandits.experiments.folders import Folder, LocalFolder, folder_at
from latentbandits.experiments.store import Shard
from latentbandits.settings import Refusal, whole
from latentbandits.simulation.blocks import package_code
from latentbandits.simulation.build import probe, this_build

OWNER = "sweep"


class Sweep(NamedTuple):
    """What is there of a sweep.

    Attributes
    ----------
    table : a row per problem that is done: its file and what came of it
    left : the files of the problems that are not done
    builds : the builds that computed it, whose probes agree
    """

    table: pd.DataFrame
    left: list[str]
    builds: list[str]


def sweep(
    problems: Sequence[str | Path],
    folder: str | Path,
    *,
    policies: Sequence[str] | None = None,
    flips: bool = True,
    tuned: str | None = None,
    trials: int = 60,
    shard: Shard | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], None] | None = None,
    finished: Callable[[str, str], None] | None = None,
    strict: bool = False,
) -> Sweep:
    r"""Advise on many problems, or tune a policy for each of them, and keep what is finished.

    Results are named by content (the problem, the options, the code), so that the same call goes on where another was stopped, and
    calls for several shards, on any machines, fill one folder.

    Parameters
    ----------
    problems : sequence of path
        TOML files, as `latentbandits.advise` takes them.
    folder : path or str
        Where results are kept, a path or an address such as ``s3://bucket/folder``.
    policies : sequence of str, optional
        The candidates, as `latentbandits.advise` takes them.
    flips : bool
        Whether to look for when the advice would flip.
    tuned : str, optional
        Tune this policy for each problem instead.
    trials : int
        Number of trials of each tuning.
    shard : Shard, optional
        Compute only this share of the problems.
    workers, executor, progress
        As in `latentbandits.advise`; progress is that of the problem under way.
    finished : callable, optional
        Called with the file of a problem and its headline as soon as it is done.
    strict : bool
        Refuse results that several builds have computed, even if the probes of their engines agree; if they do not, a result is another.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from latentbandits.advice.sweep import sweep
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for states in (2, 3):
    ...         _ = Path(folder, f"{states}.toml").write_text(f"states = {states}\nhorizon = 300\nruns = 8\n")
    ...     files = sorted(Path(folder).glob("*.toml"))
    ...     found = sweep(files, Path(folder, "out"), policies=["ucb1", "sw-ucb"], flips=False)
    >>> found.table["policy"].isin(["ucb1", "sw-ucb"]).tolist(), found.left
    ([True, True], [])
    """
    options: dict[str, Any] = {"tuned": tuned, "trials": trials} if tuned else {"policies": policies, "flips": flips}
    described = {str(path): as_problem(path) for path in problems}
    if not described:
        raise Refusal(OWNER, "problems", [], "at least one TOML file")
    whole(OWNER, "trials", trials, least=1)
    for path, problem in described.items():  # all are checked before anything is computed
        with _of(path):
            if tuned:
                prepare(problem, tuned, None, None, None, None, None, workers)
            else:
                admitted(problem, policies)
    place = folder_at(folder, OWNER)
    place.prepare()
    keys = {path: _key(problem, options) for path, problem in described.items()}
    kept = {path: found for path, key in keys.items() if (found := _kept(place, key)) is not None}
    lacking = [(i, path) for i, path in enumerate(described) if path not in kept]
    mine = [path for i, path in lacking if shard is None or shard.holds(i)]
    _builds(place, kept, strict, *([this_build().id] if mine else []))
    if mine:
        Cells(place).describe(this_build())
    for _, path in lacking:
        problem, key = described[path], keys[path]
        found = _kept(place, key)  # another file may be the same problem, another machine may have done it
        if found is None and path in mine:
            with _of(path):
                if tuned:
                    found = _tuned(problem, tuned, trials, _study(place, key), workers, executor)
                else:
                    found = _advised(problem, policies, flips, workers, executor, progress)
            found = {"build": this_build().id, **found}
            _keep(place, key, found)
            if finished is not None:
                finished(path, found["headline"])
        if found is not None:
            kept[path] = found
    builds = _builds(place, kept, strict)
    table = pd.DataFrame([{"problem": path, **kept[path]["row"]} for path in described if path in kept])
    left = [path for path in described if path not in kept]
    if not left:
        place.write("sweep.csv", table.to_csv(index=False, float_format="%.6g").encode())
    return Sweep(table, left, builds)


@contextlib.contextmanager
def _of(path: str) -> Iterator[None]:
    """Say of which file a refusal is."""
    try:
        yield
    except Refusal as refusal:
        raise refusal.at(owner=f"{path}: {refusal.owner}") from refusal


def _key(problem: Any, options: Mapping[str, Any]) -> str:
    content = {
        "problem": problem_values(problem),
        "own": problem.policies,
        **options,
        "code": package_code(),
        "probe": probe(),
    }
    if problem.kind == "recorded":
        content["rows"] = hashlib.sha256(repr(problem._rows).encode()).hexdigest()
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]


def _builds(place: Folder, kept: Mapping[str, Mapping[str, Any]], strict: bool, *more: str) -> list[str]:
    """Return the builds of results, or refuse several if this is strict."""
    builds = sorted({found["build"] for found in kept.values()} | {*more})
    if strict and len(builds) > 1:
        raise Refusal(OWNER, "builds of results", builds, f"one, since this is strict ({differing(place, builds)})")
    return builds


def _keep(place: Folder, key: str, found: Mapping[str, Any]) -> None:
    """Write what came of a problem, with its own key and a checksum over all of it."""
    content = {"checksum": _checksum(key, found), "key": key, **found}
    place.write(f"sweep/{key}.json", (json.dumps(content, indent=1) + "\n").encode())


def _kept(place: Folder, key: str) -> dict[str, Any] | None:
    """Return what was kept of a problem, None if it is not there, damaged, edited or of another problem."""
    try:
        found: dict[str, Any] = json.loads(place.read(f"sweep/{key}.json") or b"")
        said = found.pop("checksum"), found.pop("key")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return found if said == (_checksum(key, found), key) else None


def _checksum(key: str, found: Mapping[str, Any]) -> str:
    return hashlib.sha256((key + json.dumps(found)).encode()).hexdigest()[:24]


def _study(place: Folder, key: str) -> Path | None:
    """Return the file that stores the trials, so that not even one problem begins again; none where results are at an address."""
    if not isinstance(place, LocalFolder):
        return None
    folder = Path(place.where) / "sweep"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{key}.study"


def _advised(
    problem: Any, policies: Sequence[str] | None, flips: bool, workers: int | None, executor: Executor | None, progress: Any
) -> dict[str, Any]:  # fmt: skip
    advice = advise(problem, policies, sweep=flips, workers=workers, executor=executor, progress=progress)
    regret = advice.comparison.table.loc[advice.winner]
    row = {
        "policy": advice.winner,
        "sure": float(advice.sure),
        "worth": advice.worth.verdict,
        "runner_up": advice.runner_up,
        "regret": float(regret["regret"]),
        "low": float(regret["low"]),
        "high": float(regret["high"]),
        "flips": sum(len(one.flips) for one in advice.sweeps) + len(advice.other_kinds),
    }
    return {"headline": advice.headline, "row": row, "values": advice.values()}


def _tuned(
    problem: Any, policy: str, trials: int, study: Path | None, workers: int | None, executor: Executor | None
) -> dict[str, Any]:
    tuning = tune(problem, policy, trials=trials, study=study, workers=workers, executor=executor)
    settings = ",".join(f"{name}={value}" for name, value in tuning.found.items())
    row = {
        "policy": policy,
        "gain": float(tuning.gain),
        "low": float(tuning.gain_low),
        "high": float(tuning.gain_high),
        "recommended": bool(tuning.recommended),
        "settings": settings,
    }
    values = {
        name: value for name, value in tuning.values().items() if name != "python"
    }  # which names the study's file
    return {"headline": tuning.headline, "row": row, "values": values}

"""Agents in files: a zip archive of NumPy arrays and one JSON document that describes them."""

import json
import os
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from latentbandits import __version__
from latentbandits.agent.contents import COUNTS, Contents
from latentbandits.agent.decision import is_id
from latentbandits.agent.mixing import CONTROL, FLOOR, POLICY, Mixing
from latentbandits.agent.names import as_name
from latentbandits.files import locked, write_whole
from latentbandits.memories import replaced, saved
from latentbandits.nesting import all_settings
from latentbandits.policies import registry
from latentbandits.protocols import Choice, Policy
from latentbandits.settings import Refusal, describe
from latentbandits.specs import split, wrapper

FORMAT, VERSION = "latentbandits agent", 1


def packed(contents: Contents, revision: str) -> bytes:
    """Return the content of an agent's file."""
    policy, mixing = contents.policy, contents.mixing
    description = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"latentbandits {__version__}",
        "revision": revision,
        "policy": plain(policy),
        "arms": contents.names,
        "retired": [contents.names[arm] for arm in contents.retired],
        "floor": mixing.floor,
        "holdback": mixing.holdback,
        "control": None if mixing.control < 0 else contents.names[mixing.control],
        "salt": mixing.salt.hex(),
        "max_open": contents.max_open,
        "regimes": {str(number): name for number, name in contents.regimes.items()},
        "counts": dict(contents.counts),
        "newest": contents.newest,
        "open": list(contents.open),
        "by": list(contents.open.values()),
    }
    arrays = {f"memory/{name}": part for name, part in saved(policy, contents.memory).items()}
    arrays |= {"random": contents.random, "mixing": mixing.random}
    arrays |= {f"open/{part}": rows for part, rows in contents.choices._asdict().items()}
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("agent.json", json.dumps(description))
        for name, value in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, np.asarray(value), allow_pickle=False)
    return content.getvalue()


def read(path: Path, expected: Policy | type | str | None) -> tuple[Contents, str | None]:
    """Return the agent in a file and the file's revision, or refuse it."""
    return opened(path.read_bytes(), path, expected)


def opened(content: bytes, path: str | Path, expected: Policy | type | str | None) -> tuple[Contents, str | None]:
    """Return the agent in the content of a file and its revision, or refuse it; `path` says where it comes from."""
    try:
        description = described(content)
        version = description["version"]
        if type(version) is not int or version < 1:
            raise KeyError("version")
    except Exception as problem:  # a damaged archive fails in a dozen ways
        raise damaged(path) from problem
    if version != VERSION:
        field = f"format version of {path} (written by {description.get('written_by')})"
        raise Refusal("Agent", field, version, f"{VERSION}, as this latentbandits has it")
    try:
        arrays = unpacked(content)
        kind, settings = str(description["policy"]["class"]), dict(description["policy"]["settings"])
    except Exception as problem:
        raise damaged(path) from problem
    policy = restored(kind, settings, expected)
    try:
        return taken(policy, description, arrays), description["revision"]
    except (IndexError, KeyError, TypeError, ValueError) as problem:
        raise damaged(path) from problem


def taken(policy: Any, description: dict[str, Any], arrays: dict[str, np.ndarray]) -> Contents:
    """Return what a file holds, all of which must fit the policy."""
    names = [as_name(name) for name in description["arms"]]
    known = {name: arm for arm, name in enumerate(names)}
    retired = sorted(known[name] for name in description["retired"])
    counts = {name: int(description["counts"][name]) for name in COUNTS}
    ids, by = [str(known) for known in description["open"]], [str(one) for one in description["by"]]
    control = description["control"]
    mixing = Mixing(
        float(description["floor"]),
        float(description["holdback"]),
        -1 if control is None else known[control],
        bytes.fromhex(description["salt"]),
        fitting(arrays, "mixing", np.zeros(1, np.uint64)),
    )
    fresh: Any = policy.init()
    memory = {name: fitting(arrays, f"memory/{name}", like) for name, like in saved(policy, fresh).items()}
    blank = Choice.blank(policy)
    choices = Choice(
        *(
            fitting(arrays, f"open/{part}", np.empty((len(ids), len(like)), like.dtype))
            for part, like in blank._asdict().items()
        )
    )
    contents = Contents(
        policy,
        replaced(fresh, memory),
        fitting(arrays, "random", np.zeros(1, np.uint64)),
        names,
        retired,
        mixing,
        int(description["max_open"]),
        {int(number): str(name) for number, name in description["regimes"].items()},
        counts,
        str(description["newest"]),
        dict(zip(ids, by, strict=True)),
        choices,
    )
    if not consistent(contents, len(known), len(ids)):
        raise KeyError("contents")
    return contents


def consistent(contents: Contents, names: int, ids: int) -> bool:
    """Return whether the parts of a file fit each other."""
    arms, policy, mixing = contents.choices.arms, contents.policy, contents.mixing
    return (
        names == len(contents.names) == policy.arms
        and len(contents.retired) == len(set(contents.retired)) < policy.arms
        and not ((arms < 0) | (arms >= policy.arms)).any()
        and ids == len(contents.open) <= contents.max_open
        and set(contents.open.values()) <= {POLICY, FLOOR, CONTROL}
        and (is_id(contents.newest) or not any(map(is_id, (contents.newest, *contents.open))))
        and all(known <= contents.newest for known in contents.open if is_id(known))
        and min(contents.counts.values()) >= 0
        and 0 <= mixing.floor <= 1
        and 0 <= mixing.holdback <= 1
        and (mixing.holdback == 0 or mixing.control >= 0)
        and (policy.units == 1 or not mixing.active)
    )


def write(path: Path, contents: Contents, revisions: Mapping[Path, str | None], overwrite: bool) -> str:
    """Write an agent's file and return its revision; refuse if the file is not the one that the agent knows by its path."""
    revision = os.urandom(8).hex()
    content = packed(contents, revision)
    with locked(path.with_name(f".{path.name}.lock"), keep=False):
        if not overwrite and path.exists():
            if path not in revisions:
                rule = "new, or one that this agent has read or written (load it, or save with overwrite=True)"
                raise Refusal("Agent", "file", str(path), rule)
            if revision_of(path) != revisions[path]:
                raise Refusal(
                    "Agent",
                    "file",
                    str(path),
                    "as this agent last read or wrote it (another one has saved there since: give each process a path of its own, "
                    "or keep the agent in one process and load the file again)",
                )
        write_whole(path, content)
    return revision


def revision_of(path: Path) -> str | None:
    """Return the revision of an agent's file; None for a file that has none, or for no file."""
    try:
        return str(described(path.read_bytes())["revision"])
    except Exception:  # whatever it is, it is no agent of this version
        return None


def plain(policy: Any) -> dict[str, Any]:
    """Return the class and the settings of a policy as plain values, with those of a policy within it."""
    settings = {key: plain(value) if isinstance(value, Policy) else value for key, value in describe(policy).items()}
    return {"class": class_name(type(policy)), "settings": settings}


def class_name(kind: type) -> str:
    """Return the name of a policy class in a file: short for the package's own, with its module for others."""
    return kind.__name__ if registry.CLASSES.get(kind.__name__) is kind else f"{kind.__module__}:{kind.__qualname__}"


def damaged(path: str | os.PathLike[str]) -> Refusal:
    """Return the refusal of a file that cannot be read."""
    return Refusal("Agent", "file", os.fspath(path), "a file written by save (it is damaged, or something else)")


def restored(name: str, settings: dict[str, Any], expected: Policy | type | str | None) -> Any:
    """Return the policy of a file, or refuse it."""
    known: dict[str, Any] = dict(registry.CLASSES)
    within: Any = expected.inner if isinstance(expected, tuple) and hasattr(expected, "inner") else None
    if isinstance(expected, str):
        outer, rest = wrapper(split(expected)[0])
        within = rest if outer and rest else None
        expected = registry.registration(outer or expected).make
    if expected is not None:
        kind = expected if isinstance(expected, type) else type(expected)
        wanted = class_name(kind)
        if wanted != name:
            raise Refusal("Agent", "policy of the file", name, f"the expected {wanted}")
        known = {wanted: kind}
    if "inner" in settings:
        inner = settings["inner"]
        settings = settings | {"inner": restored(str(inner["class"]), dict(inner["settings"]), within)}
    if name not in known or not hasattr(known[name], "choose"):
        raise Refusal(
            "Agent",
            "policy of the file",
            name,
            "one of this package, or its class given by Agent.load(path, policy=...)",
        )
    made = known[name](**settings)
    if expected is not None and not isinstance(expected, type):
        wanted_settings = all_settings(expected)
        differ = {
            key: value for key, value in all_settings(made).items() if value != wanted_settings[key] and key != "arms"
        }
        if differ:  # arms may have been added
            raise Refusal("Agent", "policy of the file", differ, f"the expected {expected}")
    return made


def fitting(arrays: dict[str, np.ndarray], name: str, like: np.ndarray) -> np.ndarray:
    """Return a saved array that has the right shape and type; files keep the fields of a record but not its type."""
    found = arrays[name]
    if found.shape != like.shape or found.dtype.descr != like.dtype.descr:
        raise KeyError(name)
    return np.asarray(found, order="C").view(like.dtype)


def described(content: bytes) -> dict[str, Any]:
    """Return the description in an agent's file."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        description: dict[str, Any] = json.loads(archive.read("agent.json"))
    if description["format"] != FORMAT:
        raise KeyError("format")
    return description


def unpacked(content: bytes) -> dict[str, np.ndarray]:
    """Return the arrays in an agent's file."""
    arrays: dict[str, np.ndarray] = {}
    with zipfile.ZipFile(BytesIO(content)) as archive:
        for name in archive.namelist():
            if name.endswith(".npy"):
                member = BytesIO(archive.read(name))
                arrays[name.removesuffix(".npy")] = np.lib.format.read_array(member, allow_pickle=False)
    return arrays
